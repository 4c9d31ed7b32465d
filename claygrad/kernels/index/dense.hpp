// Elements chosen by masks, numbers and rank. Blocks are contiguous; a mask has one byte per element, 0 or 1.
#pragma once
#include <stdint.h>

namespace clay {

// How many elements of each stretch of a mask are true: counts has room for stretches(n), and then says where the elements
// of each begin. The sum.
constexpr int64_t STRETCH = 4096;
inline int64_t stretches(int64_t n) { return (n + STRETCH - 1) / STRETCH; }
int64_t count_mask(const uint8_t* mask_n, int64_t n, int64_t* counts);
// out = x[mask], elements of 1, 2, 4, 8 or 16 bytes
void pick_by_mask(const void* x_n, const uint8_t* mask_n, void* out, int64_t n, const int64_t* counts, int64_t item_size);
// out = x, but out[mask] = source
void place_by_mask(const void* x_n, const uint8_t* mask_n, const void* source, void* out_n, int64_t n, const int64_t* counts,
                   int64_t item_size);
// The places of true elements, one axis after the other: out (ndim, total)
void places_of_mask(const uint8_t* mask, const int64_t* shape, int ndim, int64_t* out, int64_t n, int64_t total,
                    const int64_t* counts);

// out[o, j, :] = x[o, index[j], :] for entries of `bytes`
void select_along(const void* x_on, const int64_t* index_m, void* out_om, int64_t outer, int64_t n, int64_t m, int64_t bytes);
// The same of numbers that may be wrong: false, and nothing is to be read from out
bool select_inside(const void* x_on, const int64_t* index_m, void* out_om, int64_t outer, int64_t n, int64_t m, int64_t bytes);
// out[o, index[j], i] += source[o, j, i] for float and double
void add_along(int dtype, void* out_oni, const int64_t* index_m, const void* source_omi, int64_t outer, int64_t n, int64_t m,
               int64_t inner);

// For each of m values the first place of a sorted row whose element is not below it (right: above it); one row for all
// values (rows 1), or one for m / rows values each.
using search_fn = void (*)(const void* sorted_rn, const void* values_m, int64_t* out_m, int64_t rows, int64_t n, int64_t m,
                           bool right);
search_fn find_search(int dtype);

}  // namespace clay
