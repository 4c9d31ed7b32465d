// The largest, the smallest, the middle and the most frequent element of lines, and orders of them. Lines are the middle axis
// of x (outer, n, inner); NaN counts as the largest, except that it is every extreme.
#pragma once
#include <stdint.h>

namespace clay {

// Family "extreme", names "max" and "min": the extreme of each line and its first place; either may be null.
using extreme_fn = void (*)(const void* x_oni, void* values_oi, int64_t* places_oi, int64_t outer, int64_t n, int64_t inner);

// What is chosen of a line: the element of rank k; the (lower) middle one, NaN if there is one; that of the numbers alone;
// the most frequent, of several the smallest, at its last place; or the first k in order, from either end.
enum Choice : int { RANK, MEDIAN, NANMEDIAN, MODE, ASCENDING, DESCENDING };
// values and places: (outer, k, inner) for orders, else (outer, inner); places may be null for ranks and medians. False: no memory, or lines too long.
using choose_fn = bool (*)(const void* x_oni, void* values, int64_t* places, int64_t outer, int64_t n, int64_t inner, int64_t k,
                           int what);
choose_fn find_choice(int dtype);        // null: none for this type

}  // namespace clay
