// max, min, median, mode, kthvalue and sort along the middle axis of x (outer, n, inner). NaN sorts as the largest element; it is both
// max and min.
#pragma once
#include <stdint.h>

namespace clay {

// Family "extreme", names "max" and "min": value and first index for each row; either may be null.
using extreme_fn = void (*)(const void* x_oni, void* values_oi, int64_t* indices_oi, int64_t outer, int64_t n, int64_t inner);

// What is selected: kthvalue; median (NaN if there is one); nanmedian; mode (the smallest of the most frequent, its last index); or
// the first k in ascending or descending order.
enum Choice : int { RANK, MEDIAN, NANMEDIAN, MODE, ASCENDING, DESCENDING };
// values and indices: (outer, k, inner) for orders, else (outer, inner); indices may be null for kthvalue and medians. False: no memory, or rows too long.
using choose_fn = bool (*)(const void* x_oni, void* values, int64_t* indices, int64_t outer, int64_t n, int64_t inner, int64_t k,
                           int what);
choose_fn find_choice(int dtype);        // null: none for this type

}  // namespace clay
