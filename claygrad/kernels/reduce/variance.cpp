// Variance and mean over an axis, in two passes.
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

template <class T> void rows_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(VarianceJob<T>*)data;
    for (int64_t r = begin; r < end; r++) {
        const T* x = job.x_oni + r * job.n;
        job.variance_oi[r] = moments_of(x, job.n, job.mean_oi + r) / job.freedom;
        settle(x, job.n, 1, job.mean_oi + r, job.variance_oi + r);
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
        job.partial[p] = squares_about(job.x_oni + first, size, job.mean_oi[0]);
    }
}

template <class T> void columns_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    auto& job = *(VarianceJob<T>*)data;
    const int64_t step = job.inner, tiles = (step + TILE - 1) / TILE;
    for (int64_t task = begin; task < end; task++) {
        const int64_t o = task / tiles, i0 = task % tiles * TILE, width = step - i0 < TILE ? step - i0 : TILE;
        const T* x = job.x_oni + o * job.n * step + i0;
        T *mean = job.mean_oi + o * step + i0, *variance = job.variance_oi + o * step + i0, squares[1][TILE];
        reduce_columns<SumOf, T>(x, job.n, step, width, mean);
        for (int64_t i = 0; i < width; i++) mean[i] /= (T)job.n;
        sums_of_columns<1, T>(0, job.n, width, squares, [=](int64_t r, int64_t i, int64_t m, V* term) {
            const V d = get<V>(x + r * step + i, m) - get<V>(mean + i, m);
            term[0] = d * d;
        });
        for (int64_t i = 0; i < width; i++) {
            if (__builtin_expect(too_narrow(squares[0][i], mean[i], job.n), 0)) {
                Distances all;
                all.add(x + i, job.n, step, mean[i]);
                all.settle(job.n, mean + i, squares[0] + i);
            }
            variance[i] = squares[0][i] / job.freedom;
            settle(x + i, job.n, step, mean + i, variance + i);
        }
    }
}

template <class T>
bool variance(const void* x_oni, void* variance_oi, void* mean_oi, int64_t outer, int64_t n, int64_t inner,
              double correction) {
    const double freedom = (double)n - correction > 0 ? (double)n - correction : 0;
    VarianceJob<T> job{(const T*)x_oni, (T*)variance_oi, (T*)mean_oi, nullptr, n, inner, CHEAP_ROWS / 2, 0, (T)freedom};
    if (inner > 1) {
        const int64_t tasks = outer * ((inner + TILE - 1) / TILE), width = inner < TILE ? inner : TILE;
        parallel_for(tasks, CHEAP_ROWS / 2 / (n * width + 1) + 1, columns_range<T>, &job);
    } else if (outer > 1 || n < 2 * CHEAP_ROWS) {
        parallel_for(outer, CHEAP_ROWS / 2 / (n + 1) + 1, rows_range<T>, &job);
    } else {                             // one long row, split by size alone, so that every run adds in the same order
        job.parts = (n + job.part - 1) / job.part;
        job.partial = (T*)malloc((size_t)job.parts * sizeof(T));
        if (!job.partial) return false;
        parallel_for(job.parts, 2, part_sums<T>, &job);
        job.mean_oi[0] = reduce_row<SumOf, T>(job.partial, job.parts) / (T)n;
        parallel_for(job.parts, 2, part_squares<T>, &job);
        T squares = reduce_row<SumOf, T>(job.partial, job.parts);
        if (too_narrow(squares, job.mean_oi[0], n)) {
            Distances all;
            all.add(job.x_oni, n, 1, job.mean_oi[0]);
            all.settle(n, job.mean_oi, &squares);
        }
        job.variance_oi[0] = squares / job.freedom;
        settle(job.x_oni, n, (int64_t)1, job.mean_oi, job.variance_oi);
        free(job.partial);
    }
    return true;
}

}  // namespace

const Kernel variance_kernels[] = {{"variance", F32, (void*)(variance_fn)variance<float>},
                                   {"variance", F64, (void*)(variance_fn)variance<double>}};
CLAY_COUNT(variance)

}  // namespace CLAY_ISA
}  // namespace clay
