// Elements picked and placed by index tensors, of any strides. All strides are in elements.
#pragma once
#include <stdint.h>

namespace clay {

constexpr int PLACES_DIMS = 16;

// A walk over an index tensor: which element of x it points to, and which of the other tensor goes with it.
struct Places {
    int ndim;
    int64_t shape[PLACES_DIMS];          // of the index
    int64_t x[PLACES_DIMS];              // strides; 0 along the axis that the index counts along
    int64_t index[PLACES_DIMS];
    int64_t other[PLACES_DIMS];
    int64_t step;                        // x's stride along that axis
    int64_t n;                           // and its length
};

enum Reduction : int { REDUCE_SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN };

// Whether all numbers are from 0 to n - 1: of a vector, of a walk
inline bool inside(const int64_t* numbers, int64_t count, int64_t n) {
    int64_t below = 0;                   // the sign tells: of a number, or of what is left up to the last one
    for (int64_t i = 0; i < count; i++) below |= numbers[i] | static_cast<int64_t>(uint64_t(n - 1) - uint64_t(numbers[i]));
    return below >= 0;
}
bool vector_inside(const int64_t* numbers, int64_t count, int64_t n);
bool all_inside(const Places* p, const int64_t* index);
// other = x[index] and x[index] = other, elements of 1, 2, 4, 8 or 16 bytes; where places repeat the last one stays
void pick_places(const Places* p, const void* x, const int64_t* index, void* other, int64_t item_size);
void put_places(const Places* p, void* x, const int64_t* index, const void* other, int64_t item_size);
// x[index] = x[index] op other for float, double and int64; false for others
bool reduce_places(int dtype, int how, const Places* p, void* x, const int64_t* index, const void* other);
// x[index] += 1
void count_places(const Places* p, int64_t* x, const int64_t* index);

// The entries of blocks of memory by the offsets of their first elements: out[b, c, :] = x[b + offsets[c], :], where b runs
// over strides of x, and so do the elements of an entry. With `back` the other way round.
struct Blocks {
    int before, after;                   // numbers of axes
    int64_t shape[2 * PLACES_DIMS];      // those before, then those after
    int64_t strides[2 * PLACES_DIMS];
    int64_t count;                       // of offsets
};
void move_blocks(const Blocks* b, void* x, const int64_t* offsets, void* out, int64_t item_size, bool back);
// The same with one value for all, or added
void fill_blocks(const Blocks* b, void* x, const int64_t* offsets, const void* value, int64_t item_size);
bool add_blocks(int dtype, const Blocks* b, void* x, const int64_t* offsets, const void* values);

// out[i] = x[i] != 0 for every dtype but half precision and complex numbers; false for those
bool nonzero_mask(int dtype, const void* x, uint8_t* out, int64_t n);
// One element in n places
void fill_elements(void* out, const void* element, int64_t n, int64_t item_size);
// start + i * step for float and double, as PyTorch rounds it: every eighth element (fourth of doubles) is rounded, and the
// others counted on from it; and n numbers from start to end, the second half counted back from the end
bool count_up(int dtype, void* out, double start, double step, int64_t n);
bool count_between(int dtype, void* out, double start, double end, int64_t n);
// base to powers from start to end
bool powers_between(int dtype, void* out, double start, double end, double base, int64_t n);

// Adds up in bins of one width from low to high how many elements fall into each, float and double
bool count_bins(int dtype, const void* x, void* out, int64_t n, int64_t bins, double low, double high);
// Adds up in boxes between edges how many rows of x (n, axes) fall into each, or their weights; float and double. The last edge
// belongs to the last box. `even`: the edges are at one distance, so that a division tells the box, or one beside it.
bool count_boxes(int dtype, const void* x, int64_t n, int64_t axes, const void* const* edges, const int64_t* boxes, const void* weights,
                 bool even, double* sums);
// Whether the elements of two blocks are equal: NaN is not, -0 is 0; no half precision
bool equal_elements(int dtype, const void* x, const void* y, int64_t n);
bool comparable(int dtype);
// out[i]: whether x[i] is among m others
bool among(int dtype, const void* x, const void* others, uint8_t* out, int64_t n, int64_t m, bool invert);

// The cross product along an axis of 3, float and double: x (outer, 3, inner)
bool cross_lines(int dtype, const void* x, const void* y, void* out, int64_t outer, int64_t inner);

}  // namespace clay
