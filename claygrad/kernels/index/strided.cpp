// Gather and scatter with index tensors of any strides, for few elements: nothing is planned ahead.
#include "index/strided.hpp"

#include <math.h>
#include <string.h>

#include "simd/item_size.hpp"
#include "copy/bytes.hpp"
#include "platform/dtypes.hpp"
#include "platform/threads.hpp"

namespace clay {
namespace {

// f(offset in x without its indexed axis, offset in the index, offset in the other tensor, length) for every row along the last axis
template <class F> void each_line(const IndexWalk& p, F f) {
    int64_t at[INDEX_DIMS] = {0};
    const int last = p.ndim - 1;
    int64_t x = 0, index = 0, other = 0;
    for (;;) {
        f(x, index, other);
        int d = last - 1;
        for (; d >= 0; d--) {
            x += p.x[d], index += p.index[d], other += p.other[d];
            if (++at[d] < p.shape[d]) break;
            x -= p.x[d] * p.shape[d], index -= p.index[d] * p.shape[d], other -= p.other[d] * p.shape[d];
            at[d] = 0;
        }
        if (d < 0) return;
    }
}

template <class F> void each_place(const IndexWalk& p, const int64_t* index, F f) {
    const int last = p.ndim - 1;
    const int64_t n = p.shape[last], by_x = p.x[last], by_index = p.index[last], by_other = p.other[last], step = p.step;
    if (by_x == 0 && by_index == 1 && by_other == 1) {       // indices along the last axis, as they lie
        each_line(p, [=](int64_t x, int64_t at, int64_t other) {
            for (int64_t i = 0; i < n; i++) f(x + index[at + i] * step, other + i);
        });
        return;
    }
    each_line(p, [=](int64_t x, int64_t at, int64_t other) {
        for (int64_t i = 0; i < n; i++) f(x + i * by_x + index[at + i * by_index] * step, other + i * by_other);
    });
}

template <class T> void reduced(int how, const IndexWalk& p, T* x, const int64_t* index, const T* other) {
    switch (how) {
    case REDUCE_SUM: return each_place(p, index, [=](int64_t a, int64_t b) { x[a] += other[b]; });
    case REDUCE_PROD: return each_place(p, index, [=](int64_t a, int64_t b) { x[a] *= other[b]; });
    case REDUCE_MAX:                                     // NaN propagates
        return each_place(p, index, [=](int64_t a, int64_t b) { if (other[b] > x[a] || other[b] != other[b]) x[a] = other[b]; });
    case REDUCE_MIN:
        return each_place(p, index, [=](int64_t a, int64_t b) { if (other[b] < x[a] || other[b] != other[b]) x[a] = other[b]; });
    }
}

// f(offset in x, element number in the entry) for runs along the last axis, or for single elements
template <class F> void each_block(const Blocks& b, const int64_t* offsets, F f) {
    int64_t at[2 * INDEX_DIMS] = {0}, inside[INDEX_DIMS], lines = 1, outer = 1;
    const int64_t* shape = b.shape + b.before;
    const int64_t* strides = b.strides + b.before;
    const int64_t length = b.after ? shape[b.after - 1] : 1, by = b.after ? strides[b.after - 1] : 1;
    for (int d = 0; d + 1 < b.after; d++) lines *= shape[d];
    for (int d = 0; d < b.before; d++) outer *= b.shape[d];
    int64_t base = 0, done = 0;
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t c = 0; c < b.count; c++) {
            int64_t x = base + offsets[c];
            for (int d = 0; d + 1 < b.after; d++) inside[d] = 0;
            for (int64_t k = 0; k < lines; k++) {
                f(x, done, length, by);
                done += length;
                for (int d = b.after - 2; d >= 0; d--) {
                    x += strides[d];
                    if (++inside[d] < shape[d]) break;
                    x -= strides[d] * shape[d], inside[d] = 0;
                }
            }
        }
        for (int d = b.before - 1; d >= 0; d--) {
            base += b.strides[d];
            if (++at[d] < b.shape[d]) break;
            base -= b.strides[d] * b.shape[d], at[d] = 0;
        }
    }
}

template <class T> void add_each(const Blocks& b, T* x, const int64_t* offsets, const T* values) {
    each_block(b, offsets, [=](int64_t at, int64_t k, int64_t n, int64_t by) {
        for (int64_t i = 0; i < n; i++) x[at + i * by] += values[k + i];
    });
}

template <class T> void mask_of(const T* x, uint8_t* out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = x[i] != 0;
}

template <class T> void cross(const T* x, const T* y, T* out, int64_t outer, int64_t inner) {
    for (int64_t o = 0; o < outer; o++, x += 3 * inner, y += 3 * inner, out += 3 * inner) {
        const T *x1 = x + inner, *x2 = x1 + inner, *y1 = y + inner, *y2 = y1 + inner;
        T *out1 = out + inner, *out2 = out1 + inner;
        for (int64_t i = 0; i < inner; i++) {
            const T a = x[i], b = x1[i], c = x2[i], d = y[i], e = y1[i], f = y2[i];
            out[i] = b * f - c * e, out1[i] = c * d - a * f, out2[i] = a * e - b * d;
        }
    }
}

template <class T> void bins_of(const T* x, T* out, int64_t n, int64_t bins, T low, T high) {
    for (int64_t i = 0; i < n; i++)
        if (x[i] >= low && x[i] <= high) {
            T place = x[i] - low;
            place *= (T)bins;
            place /= high - low;
            const int64_t k = (int64_t)place;
            out[k < bins - 1 ? k : bins - 1] += 1;
        }
}

// The bin of a value between the first edge and the last
template <class T> int64_t box_of(T x, const T* edges, int64_t boxes, bool even) {
    int64_t low = 0;
    if (even) {
        const T guess = (x - edges[0]) * ((T)boxes / (edges[boxes] - edges[0]));
        low = guess >= 0 ? guess < (T)boxes ? (int64_t)guess : boxes - 1 : 0;        // NaN was excluded
        while (low > 0 && x < edges[low]) low--;
        while (low < boxes - 1 && x >= edges[low + 1]) low++;
        return low;
    }
    for (int64_t count = boxes; count > 1;) {            // binary search for the last edge that is not above the value
        const int64_t half = count / 2;
        low += edges[low + half] <= x ? half : 0;
        count -= half;
    }
    return low;
}

template <class T>
void boxes_of(const T* x, int64_t n, int64_t axes, const T* const* edges, const int64_t* boxes, const T* weights, bool even, double* sums) {
    for (int64_t i = 0; i < n; i++, x += axes) {
        int64_t place = 0, d = 0;
        for (; d < axes && x[d] >= edges[d][0] && x[d] <= edges[d][boxes[d]]; d++)
            place = place * boxes[d] + box_of(x[d], edges[d], boxes[d], even);
        if (d == axes) sums[place] += weights ? (double)weights[i] : 1;
    }
}

template <class T> bool same(const T* x, const T* y, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!(x[i] == y[i])) return false;
    return true;
}

template <class T> void found_in(const T* x, const T* others, uint8_t* out, int64_t n, int64_t m, bool invert) {
    for (int64_t i = 0; i < n; i++) {
        bool there = false;
        for (int64_t k = 0; k < m; k++) there |= x[i] == others[k];
        out[i] = there != invert;
    }
}

template <class F> void each_range(int64_t n, int64_t grain, F f) {
    parallel_for(n, grain, [](void* job, int64_t begin, int64_t end) { (*(F*)job)(begin, end); }, &f);
}

// Rounded as in PyTorch, which computes two vectors at a time and the rest one by one.
template <int LANES, bool FUSED, class T> void count(T* out, double start, double step, int64_t n) {
    const auto at = [=](double from, int64_t i) { return (T)(FUSED ? fma(step, (double)i, from) : from + step * (double)i); };
    const int64_t pairs = n / (2 * LANES);
    each_range(pairs, COSTLY_ROWS / (2 * LANES), [=](int64_t begin, int64_t end) {
        for (int64_t i = begin * 2 * LANES; i < end * 2 * LANES; i += LANES) {
            const double first = (double)at(start, i);
            for (int lane = 0; lane < LANES; lane++) out[i + lane] = at(first, lane);
        }
    });
    for (int64_t i = pairs * 2 * LANES; i < n; i++) out[i] = at(start, i);
}

// From both ends to the middle. 32-bit indices are converted to floating point by vectors; they are exact in either precision.
template <class Index> void line_between(float* out, double first, double last, double step, Index begin, Index end, Index n) {
    const Index half = n / 2, middle = half < begin ? begin : half > end ? end : half;
    for (Index i = begin; i < middle; i++) out[i] = (float)(first + step * (double)(float)i);
    for (Index i = middle; i < end; i++) out[i] = (float)(last - step * (double)(float)(n - 1 - i));
}

}  // namespace

bool all_inside(const IndexWalk* p, const int64_t* index) {
    const int last = p->ndim - 1;
    const int64_t n = p->shape[last], by = p->index[last], largest = p->n - 1;
    int64_t below = 0;
    each_line(*p, [&, index](int64_t, int64_t at, int64_t) {
        if (by == 1) {
            if (!inside(index + at, n, largest + 1)) below = -1;
        } else {
            for (int64_t i = 0; i < n; i++) below |= index[at + i * by] | (largest - index[at + i * by]);
        }
    });
    return below >= 0;
}

bool vector_inside(const int64_t* numbers, int64_t count, int64_t n) { return inside(numbers, count, n); }

void gather_strided(const IndexWalk* p, const void* x, const int64_t* index, void* other, int64_t item_size) {
    by_size(item_size, [=](auto item) {
        using T = decltype(item);
        each_place(*p, index, [=](int64_t a, int64_t b) { ((T*)other)[b] = ((const T*)x)[a]; });
    });
}

void scatter_strided(const IndexWalk* p, void* x, const int64_t* index, const void* other, int64_t item_size) {
    by_size(item_size, [=](auto item) {
        using T = decltype(item);
        each_place(*p, index, [=](int64_t a, int64_t b) { ((T*)x)[a] = ((const T*)other)[b]; });
    });
}

bool scatter_reduce_strided(int dtype, int how, const IndexWalk* p, void* x, const int64_t* index, const void* other) {
    if (dtype == F32) reduced(how, *p, (float*)x, index, (const float*)other);
    else if (dtype == F64) reduced(how, *p, (double*)x, index, (const double*)other);
    else if (dtype == I64) reduced(how, *p, (int64_t*)x, index, (const int64_t*)other);
    else return false;
    return true;
}

void count_strided(const IndexWalk* p, int64_t* x, const int64_t* index) {
    each_place(*p, index, [=](int64_t a, int64_t) { x[a]++; });
}

void move_blocks(const Blocks* b, void* x, const int64_t* offsets, void* out, int64_t item_size, bool back) {
    by_size(item_size, [=](auto item) {
        using T = decltype(item);
        T *here = (T*)x, *there = (T*)out;
        each_block(*b, offsets, [=](int64_t at, int64_t k, int64_t n, int64_t by) {
            if (by == 1 && n > 8) {
                if (back) memcpy((void*)(here + at), (const void*)(there + k), (size_t)n * sizeof(T));
                else memcpy((void*)(there + k), (const void*)(here + at), (size_t)n * sizeof(T));
            } else if (back) {
                for (int64_t i = 0; i < n; i++) here[at + i * by] = there[k + i];
            } else {
                for (int64_t i = 0; i < n; i++) there[k + i] = here[at + i * by];
            }
        });
    });
}

void fill_blocks(const Blocks* b, void* x, const int64_t* offsets, const void* value, int64_t item_size) {
    by_size(item_size, [=](auto item) {
        using T = decltype(item);
        const T given = *(const T*)value;
        each_block(*b, offsets, [=](int64_t at, int64_t, int64_t n, int64_t by) {
            for (int64_t i = 0; i < n; i++) ((T*)x)[at + i * by] = given;
        });
    });
}

bool add_blocks(int dtype, const Blocks* b, void* x, const int64_t* offsets, const void* values) {
    if (dtype == F32) add_each(*b, (float*)x, offsets, (const float*)values);
    else if (dtype == F64) add_each(*b, (double*)x, offsets, (const double*)values);
    else if (dtype == I64) add_each(*b, (int64_t*)x, offsets, (const int64_t*)values);
    else return false;
    return true;
}

bool nonzero_mask(int dtype, const void* x, uint8_t* out, int64_t n) {
    switch (dtype) {
    case BOOL: case U8: case I8: mask_of((const int8_t*)x, out, n); return true;
    case I16: mask_of((const int16_t*)x, out, n); return true;
    case I32: mask_of((const int32_t*)x, out, n); return true;
    case I64: mask_of((const int64_t*)x, out, n); return true;
    case F32: mask_of((const float*)x, out, n); return true;
    case F64: mask_of((const double*)x, out, n); return true;
    }
    return false;
}

void fill_elements(void* out, const void* element, int64_t n, int64_t item_size) {
#if defined(__x86_64__)
    if (n * item_size >= 4096 && item_size <= 8) {
        uint64_t pattern = 0;                            // long runs by `rep stos`, which does not read the lines it overwrites
        memcpy(&pattern, element, (size_t)item_size);
        for (int64_t bits = 8 * item_size; bits < 64; bits *= 2) pattern |= pattern << bits;
        const int64_t words = n * item_size / 8;
        each_range(words, CHEAP_ROWS, [=](int64_t begin, int64_t end) {
            void* to = (uint64_t*)out + begin;
            int64_t count = end - begin;
            asm volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(pattern) : "memory");
        });
        memcpy((char*)out + words * 8, &pattern, (size_t)(n * item_size - words * 8));
        return;
    }
#endif
    each_range(n, 2 * CHEAP_ROWS, [=](int64_t begin, int64_t end) {
        fill_bytes((char*)out + begin * item_size, element, end - begin, item_size);
    });
}

bool count_up(int dtype, void* out, double start, double step, int64_t n) {
    // Integers of moderate size need no fused multiply-add: nothing is rounded.
    const bool whole = floor(start) == start && floor(step) == step && fabs(start) + fabs(step) * (double)n < 4503599627370496.0;
    if (dtype == F32) whole ? count<8, false>((float*)out, start, step, n) : count<8, true>((float*)out, start, step, n);
    else if (dtype == F64) whole ? count<4, false>((double*)out, start, step, n) : count<4, true>((double*)out, start, step, n);
    else return false;
    return true;
}

bool count_between(int dtype, void* out, double start, double end, int64_t n) {
    if (dtype == F32) {
        const float first = (float)start, last = (float)end;
        const double step = n > 1 ? (double)((last - first) / (float)(n - 1)) : 0;
        float* to = (float*)out;
        each_range(n, COSTLY_ROWS, [=](int64_t from, int64_t till) {
            if (n == 1) to[0] = first;
            else if (n < 1 << 24) line_between(to, first, last, step, (int32_t)from, (int32_t)till, (int32_t)n);
            else line_between(to, first, last, step, from, till, n);
        });
    } else if (dtype == F64) {
        const double step = n > 1 ? (end - start) / (double)(n - 1) : 0;
        double* to = (double*)out;
        each_range(n, COSTLY_ROWS, [=](int64_t from, int64_t till) {
            for (int64_t i = from; i < till; i++)
                to[i] = n == 1 || i < n / 2 ? fma(step, (double)i, start) : fma(-step, (double)(n - 1 - i), end);
        });
    } else {
        return false;
    }
    return true;
}

bool powers_between(int dtype, void* out, double start, double end, double base, int64_t n) {
    constexpr int64_t POWERS = 4096;                     // min elements per thread
    if (dtype != F32 && dtype != F64) return false;
    const double first = dtype == F32 ? (float)start : start, last = dtype == F32 ? (float)end : end;
    const double span = dtype == F32 ? (float)(last - first) : last - first;
    const double step = n > 1 ? span / (double)(n - 1) : 0;
    each_range(n, POWERS, [=](int64_t from, int64_t till) {
        for (int64_t i = from; i < till; i++) {
            const double exponent = n == 1 ? start : i < n / 2 ? first + step * (double)i : last - step * (double)(n - 1 - i);
            if (dtype == F32) ((float*)out)[i] = (float)pow(base, exponent);
            else ((double*)out)[i] = pow(base, exponent);
        }
    });
    return true;
}

bool count_bins(int dtype, const void* x, void* out, int64_t n, int64_t bins, double low, double high) {
    if (dtype == F32) bins_of((const float*)x, (float*)out, n, bins, (float)low, (float)high);
    else if (dtype == F64) bins_of((const double*)x, (double*)out, n, bins, low, high);
    else return false;
    return true;
}

bool count_boxes(int dtype, const void* x, int64_t n, int64_t axes, const void* const* edges, const int64_t* boxes, const void* weights,
                 bool even, double* sums) {
    if (dtype == F32) boxes_of((const float*)x, n, axes, (const float* const*)edges, boxes, (const float*)weights, even, sums);
    else if (dtype == F64) boxes_of((const double*)x, n, axes, (const double* const*)edges, boxes, (const double*)weights, even, sums);
    else return false;
    return true;
}

bool comparable(int dtype) { return dtype != F16 && dtype != BF16; }

bool equal_elements(int dtype, const void* x, const void* y, int64_t n) {
    switch (dtype) {
    case F32: return same((const float*)x, (const float*)y, n);
    case F64: return same((const double*)x, (const double*)y, n);
    case C64: return same((const float*)x, (const float*)y, 2 * n);
    case C128: return same((const double*)x, (const double*)y, 2 * n);
    case I16: return memcmp(x, y, (size_t)n * 2) == 0;
    case I32: return memcmp(x, y, (size_t)n * 4) == 0;
    case I64: return memcmp(x, y, (size_t)n * 8) == 0;
    }
    return memcmp(x, y, (size_t)n) == 0;
}

bool among(int dtype, const void* x, const void* others, uint8_t* out, int64_t n, int64_t m, bool invert) {
    if (dtype == F32) found_in((const float*)x, (const float*)others, out, n, m, invert);
    else if (dtype == F64) found_in((const double*)x, (const double*)others, out, n, m, invert);
    else if (dtype == I64) found_in((const int64_t*)x, (const int64_t*)others, out, n, m, invert);
    else if (dtype == I32) found_in((const int32_t*)x, (const int32_t*)others, out, n, m, invert);
    else return false;
    return true;
}

bool cross_lines(int dtype, const void* x, const void* y, void* out, int64_t outer, int64_t inner) {
    if (dtype != F32 && dtype != F64) return false;
    each_range(outer, CHEAP_ROWS / 3 / inner + 1, [=](int64_t begin, int64_t end) {
        const int64_t at = begin * 3 * inner;
        if (dtype == F32) cross((const float*)x + at, (const float*)y + at, (float*)out + at, end - begin, inner);
        else cross((const double*)x + at, (const double*)y + at, (double*)out + at, end - begin, inner);
    });
    return true;
}

}  // namespace clay
