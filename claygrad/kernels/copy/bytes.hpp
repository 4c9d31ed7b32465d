// Bytes moved from one place to another.
#pragma once
#include <stdint.h>

namespace clay {

// memcpy, the quick way on every processor: see Note [Alike in their pages].
void copy_bytes(void* to, const void* from, int64_t n);

// The same element of `size` bytes n times over
void fill_bytes(void* to, const void* element, int64_t n, int64_t size);

// Rows of so few bytes are moved in two moves each; of so many rows at a time all of it stays in the first cache.
constexpr int64_t FEW_BYTES = 64, ACROSS = 256;

// `rows` rows of n bytes each, from one place to the next of both sides so many bytes
void copy_rows(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t n, int64_t rows);

// out[r] = parts[0][r] parts[1][r] ...: rows of some parts side by side. Part k has lengths[k] bytes a row.
void join_rows(const char* const* parts, const int64_t* lengths, int64_t count, char* out, int64_t rows);

}  // namespace clay
