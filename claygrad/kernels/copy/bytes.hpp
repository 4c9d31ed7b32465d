// Copying bytes.
#pragma once
#include <stdint.h>

namespace clay {

// memcpy, fast on every processor: see Note [Page offsets].
void copy_bytes(void* to, const void* from, int64_t n);

// Fill with n copies of an element of `size` bytes
void fill_bytes(void* to, const void* element, int64_t n, int64_t size);

// Rows of at most so many bytes are copied by two moves each; so many rows at a time stay in the first-level cache.
constexpr int64_t FEW_BYTES = 64, ACROSS = 256;

// `rows` rows of n bytes each; the steps between rows are in bytes
void copy_rows(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t n, int64_t rows);

// Concatenate rows: out[r] = parts[0][r] parts[1][r] ... Part k has lengths[k] bytes per row.
void join_rows(const char* const* parts, const int64_t* lengths, int64_t count, char* out, int64_t rows);

}  // namespace clay
