// Variance and mean over an axis, in two passes. Squares of single precision are added in double: PyTorch's error, half an ulp.
#include <stdlib.h>

#include <limits>

#include "platform/table.hpp"
#include "simd/lines.hpp"
#include "nn/norm.hpp"
#include "platform/threads.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> struct VarianceJob {
    const T* x_oni;
    T *variance_oi, *mean_oi, *partial;
    double* squares;                     // of the parts of one long row
    int64_t n, inner, part, parts;
    T freedom;
};

// Equal elements have variance 0, even if their rounded mean differs from them; so equality is checked where it is likely.
template <class T> void settle(const T* x, int64_t n, int64_t step, T* mean, T* variance) {
    const T near = std::numeric_limits<T>::epsilon() * (T)n * *mean;
    if (!(*variance > 0 && *variance <= near * near)) return;
    for (int64_t i = 1; i < n; i++)
        if (x[i * step] != x[0]) return;
    *mean = x[0];
    *variance = 0;
}

constexpr int WIDE = sizeof(vec<double>) / 8 > 1 ? sizeof(vec<double>) / 8 : 2;
typedef float floats __attribute__((vector_size(4 * WIDE), aligned(4)));
typedef double doubles __attribute__((vector_size(8 * WIDE)));

inline __attribute__((always_inline)) doubles square_of(const float* x, doubles mean) {
    const doubles d = __builtin_convertvector(*(const floats*)x, doubles) - mean;
    return d * d;
}
inline double square_of(float x, double mean) { return ((double)x - mean) * ((double)x - mean); }

inline double squares_of(const float* x, int64_t n, float mean) {
    const doubles middle = doubles{} + (double)mean;
    doubles acc[4] = {};
    int64_t i = 0;
    for (; i + 4 * WIDE <= n; i += 4 * WIDE)
        for (int k = 0; k < 4; k++) acc[k] += square_of(x + i + k * WIDE, middle);
    for (; i + WIDE <= n; i += WIDE) acc[0] += square_of(x + i, middle);
    const doubles all = (acc[0] + acc[1]) + (acc[2] + acc[3]);
    double sum = 0;
    for (int k = 0; k < WIDE; k++) sum += all[k];
    for (; i < n; i++) sum += square_of(x[i], (double)mean);
    return sum;
}
inline double squares_of(const double* x, int64_t n, double mean) { return squares_about(x, n, mean); }

// The same for columns, some rows at a time, so that they stay in the cache.
inline void squares_of_columns(const float* x, int64_t n, int64_t step, int64_t width, const float* mean, double* squares) {
    for (int64_t i = 0; i < width; i++) squares[i] = 0;
    for (int64_t begin = 0; begin < n; begin += LEAF_ROWS) {
        const int64_t end = n - begin < LEAF_ROWS ? n : begin + LEAF_ROWS;
        int64_t i = 0;
        for (; i + 2 * WIDE <= width; i += 2 * WIDE) {
            const doubles left = __builtin_convertvector(*(const floats*)(mean + i), doubles);
            const doubles right = __builtin_convertvector(*(const floats*)(mean + i + WIDE), doubles);
            doubles a = {}, b = {};
            for (int64_t r = begin; r < end; r++) {
                a += square_of(x + r * step + i, left);
                b += square_of(x + r * step + i + WIDE, right);
            }
            for (int k = 0; k < WIDE; k++) squares[i + k] += a[k], squares[i + WIDE + k] += b[k];
        }
        for (; i < width; i++) {
            double sum = 0;
            for (int64_t r = begin; r < end; r++) sum += square_of(x[r * step + i], (double)mean[i]);
            squares[i] += sum;
        }
    }
}
inline void squares_of_columns(const double* x, int64_t n, int64_t step, int64_t width, const double* mean, double* squares) {
    using V = vec<double>;
    double sums[1][TILE];
    sums_of_columns<1, double>(0, n, width, sums, [=](int64_t r, int64_t i, int64_t m, V* term) {
        const V d = get<V>(x + r * step + i, m) - get<V>(mean + i, m);
        term[0] = d * d;
    });
    for (int64_t i = 0; i < width; i++) squares[i] = sums[0][i];
}

// The variance from the sum of squares about a mean of `step` apart elements, by Note [Rounded means]; settles that mean.
template <class T> T variance_of(const VarianceJob<T>& job, const T* x, int64_t step, double squares, T* mean) {
    if (__builtin_expect(too_narrow((T)squares, *mean, job.n), 0)) {
        Distances all;
        all.add(x, job.n, step, *mean);
        all.settle(job.n, mean, &squares);
    }
    T variance = (T)(squares / (double)job.freedom);
    settle(x, job.n, step, mean, &variance);
    return variance;
}

template <class T> void rows_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(VarianceJob<T>*)data;
    for (int64_t r = begin; r < end; r++) {
        const T* x = job.x_oni + r * job.n;
        T* mean = job.mean_oi + r;
        *mean = mean_of(x, job.n);
        job.variance_oi[r] = variance_of(job, x, 1, squares_of(x, job.n, *mean), mean);
    }
}

// Parts of one long row: sums, then sums of squared differences from the mean.
template <class T> void part_sums(void* data, int64_t begin, int64_t end) {
    auto& job = *(VarianceJob<T>*)data;
    for (int64_t p = begin; p < end; p++) {
        const int64_t first = p * job.part, size = job.n - first < job.part ? job.n - first : job.part;
        job.partial[p] = reduce_row<SumOf, T>(job.x_oni + first, size);
    }
}
template <class T> void part_squares(void* data, int64_t begin, int64_t end) {
    auto& job = *(VarianceJob<T>*)data;
    for (int64_t p = begin; p < end; p++) {
        const int64_t first = p * job.part, size = job.n - first < job.part ? job.n - first : job.part;
        job.squares[p] = squares_of(job.x_oni + first, size, job.mean_oi[0]);
    }
}

template <class T> void columns_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(VarianceJob<T>*)data;
    const int64_t step = job.inner, tiles = (step + TILE - 1) / TILE;
    for (int64_t task = begin; task < end; task++) {
        const int64_t o = task / tiles, i0 = task % tiles * TILE, width = step - i0 < TILE ? step - i0 : TILE;
        const T* x = job.x_oni + o * job.n * step + i0;
        T *mean = job.mean_oi + o * step + i0, *variance = job.variance_oi + o * step + i0;
        double squares[TILE];
        reduce_columns<SumOf, T>(x, job.n, step, width, mean);
        for (int64_t i = 0; i < width; i++) mean[i] /= (T)job.n;
        squares_of_columns(x, job.n, step, width, mean, squares);
        for (int64_t i = 0; i < width; i++) variance[i] = variance_of(job, x + i, step, squares[i], mean + i);
    }
}

template <class T>
bool variance(const void* x_oni, void* variance_oi, void* mean_oi, int64_t outer, int64_t n, int64_t inner,
              double correction) {
    const double freedom = (double)n - correction > 0 ? (double)n - correction : 0;
    VarianceJob<T> job{(const T*)x_oni, (T*)variance_oi, (T*)mean_oi, nullptr, nullptr, n, inner, CHEAP_ROWS / 2, 0, (T)freedom};
    if (inner > 1) {
        const int64_t tasks = outer * ((inner + TILE - 1) / TILE), width = inner < TILE ? inner : TILE;
        parallel_for(tasks, CHEAP_ROWS / 2 / (n * width + 1) + 1, columns_range<T>, &job);
    } else if (outer > 1 || n < 2 * CHEAP_ROWS) {
        parallel_for(outer, CHEAP_ROWS / 2 / (n + 1) + 1, rows_range<T>, &job);
    } else {                             // one long row, split by size alone, so that every run adds in the same order
        job.parts = (n + job.part - 1) / job.part;
        job.squares = (double*)malloc((size_t)job.parts * sizeof(double));
        if (!job.squares) return false;
        job.partial = (T*)job.squares;   // its sums come first
        parallel_for(job.parts, 2, part_sums<T>, &job);
        job.mean_oi[0] = reduce_row<SumOf, T>(job.partial, job.parts) / (T)n;
        parallel_for(job.parts, 2, part_squares<T>, &job);
        const double squares = reduce_row<SumOf, double>(job.squares, job.parts);
        job.variance_oi[0] = variance_of(job, job.x_oni, 1, squares, job.mean_oi);
        free(job.squares);
    }
    return true;
}

}  // namespace

const Kernel variance_kernels[] = {{"variance", F32, (void*)(variance_fn)variance<float>},
                                   {"variance", F64, (void*)(variance_fn)variance<double>}};
CLAY_COUNT(variance)

}  // namespace CLAY_ISA
}  // namespace clay
