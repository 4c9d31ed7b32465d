// Elements selected by masks, indices and rank. All blocks are contiguous; a mask has one byte per element, 0 or 1.
#pragma once
#include <stdint.h>

namespace clay {

// Counts the true elements of each chunk of a mask. `counts` has stretches(n) elements and receives the offset of each chunk's first
// selected element. Returns the total.
constexpr int64_t STRETCH = 4096;
inline int64_t stretches(int64_t n) { return (n + STRETCH - 1) / STRETCH; }
int64_t count_mask(const uint8_t* mask_n, int64_t n, int64_t* counts);
// out = x[mask], elements of 1, 2, 4, 8 or 16 bytes
void select_by_mask(const void* x_n, const uint8_t* mask_n, void* out, int64_t n, const int64_t* counts, int64_t item_size);
// out = x, but out[mask] = source
void place_by_mask(const void* x_n, const uint8_t* mask_n, const void* source, void* out_n, int64_t n, const int64_t* counts,
                   int64_t item_size);
// The indices of true elements: out (ndim, total)
void indices_of_mask(const uint8_t* mask, const int64_t* shape, int ndim, int64_t* out, int64_t n, int64_t total,
                    const int64_t* counts);

// out[o, j, :] = x[o, index[j], :] for entries of `bytes`
void select_along(const void* x_on, const int64_t* index_m, void* out_om, int64_t outer, int64_t n, int64_t m, int64_t bytes);
// The same with indices that are checked: false if one is out of range; out is then undefined
bool select_inside(const void* x_on, const int64_t* index_m, void* out_om, int64_t outer, int64_t n, int64_t m, int64_t bytes);
// out[o, index[j], i] += source[o, j, i] for float, double and integers
void add_along(int dtype, void* out_oni, const int64_t* index_m, const void* source_omi, int64_t outer, int64_t n, int64_t m,
               int64_t inner);

// searchsorted: for each of m values the first index of a sorted row whose element is not below it (right: above it). One row for
// all values (rows 1), or one for each m / rows values.
using search_fn = void (*)(const void* sorted_rn, const void* values_m, int64_t* out_m, int64_t rows, int64_t n, int64_t m,
                           bool right);
search_fn find_search(int dtype);

}  // namespace clay
