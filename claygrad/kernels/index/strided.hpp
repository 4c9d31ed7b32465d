// Gather and scatter with index tensors of any strides. All strides are in elements.
#pragma once
#include <stdint.h>

#include "platform/dtypes.hpp"

namespace clay {

constexpr int INDEX_DIMS = 16;

// Iteration over an index tensor: the element of x that it selects, and the matching element of the other tensor.
struct IndexWalk {
    int ndim;
    int64_t shape[INDEX_DIMS];          // of the index
    int64_t x[INDEX_DIMS];              // strides of x; 0 along the indexed axis
    int64_t index[INDEX_DIMS];
    int64_t other[INDEX_DIMS];
    int64_t step;                        // stride of x along the indexed axis
    int64_t n;                           // and the length of that axis
};

enum Reduction : int { REDUCE_SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN };

// Whether all indices are from 0 to n - 1: of a vector, of an iteration
inline bool inside(const int64_t* numbers, int64_t count, int64_t n) {
    constexpr int64_t SHORT = 64;
    if (count > SHORT) return current_isa().inside(numbers, count, n);
    for (int64_t i = 0; i < count; i++)
        if ((uint64_t)numbers[i] >= (uint64_t)n) return false;
    return true;
}
bool vector_inside(const int64_t* numbers, int64_t count, int64_t n);
bool all_inside(const IndexWalk* p, const int64_t* index);
// other = x[index] and x[index] = other, elements of 1, 2, 4, 8 or 16 bytes; if indices repeat, the last value wins
void gather_strided(const IndexWalk* p, const void* x, const int64_t* index, void* other, int64_t item_size);
void scatter_strided(const IndexWalk* p, void* x, const int64_t* index, const void* other, int64_t item_size);
// x[index] = x[index] op other for float, double and int64; false for others
bool scatter_reduce_strided(int dtype, int how, const IndexWalk* p, void* x, const int64_t* index, const void* other);
// x[index] += 1
void count_strided(const IndexWalk* p, int64_t* x, const int64_t* index);

// Entries selected by the offsets of their first elements: out[b, c, :] = x[b + offsets[c], :]. b and the elements of an entry are
// given by strides of x. With `back`: x[b + offsets[c], :] = out[b, c, :].
struct Blocks {
    int before, after;                   // axes before and after the offsets
    int64_t shape[2 * INDEX_DIMS];      // the axes before, then those after
    int64_t strides[2 * INDEX_DIMS];
    int64_t count;                       // number of offsets
};
void move_blocks(const Blocks* b, void* x, const int64_t* offsets, void* out, int64_t item_size, bool back);
// The same with one value for all, or added
void fill_blocks(const Blocks* b, void* x, const int64_t* offsets, const void* value, int64_t item_size);
bool add_blocks(int dtype, const Blocks* b, void* x, const int64_t* offsets, const void* values);

// out[i] = x[i] != 0 for every dtype but half precision and complex numbers; false for those
bool nonzero_mask(int dtype, const void* x, uint8_t* out, int64_t n);
// Fill n elements with one value
void fill_elements(void* out, const void* element, int64_t n, int64_t item_size);
// arange: start + i * step for float and double with PyTorch's rounding: every eighth element (fourth for double) is computed from
// start, the others from it. linspace: n values from start to end, the second half computed back from the end
bool count_up(int dtype, void* out, double start, double step, int64_t n);
bool count_between(int dtype, void* out, double start, double end, int64_t n);
// logspace: base to powers from start to end
bool powers_between(int dtype, void* out, double start, double end, double base, int64_t n);

// histc: counts the elements in bins of equal width from low to high, float and double
bool count_bins(int dtype, const void* x, void* out, int64_t n, int64_t bins, double low, double high);
// histogramdd: counts the rows of x (n, axes), or adds their weights, in bins between edges; float and double. The last edge belongs
// to the last bin. `even`: the edges are equidistant, so that a division gives the bin, or one next to it.
bool count_boxes(int dtype, const void* x, int64_t n, int64_t axes, const void* const* edges, const int64_t* boxes, const void* weights,
                 bool even, double* sums);
// Whether the elements of two blocks are equal: NaN is not, -0 is 0; no half precision
bool equal_elements(int dtype, const void* x, const void* y, int64_t n);
bool comparable(int dtype);
// isin: out[i] = whether x[i] is among m others
bool among(int dtype, const void* x, const void* others, uint8_t* out, int64_t n, int64_t m, bool invert);

// The cross product along an axis of 3, float and double: x (outer, 3, inner)
bool cross_lines(int dtype, const void* x, const void* y, void* out, int64_t outer, int64_t inner);

}  // namespace clay
