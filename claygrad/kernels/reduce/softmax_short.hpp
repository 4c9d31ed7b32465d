// Short rows, interleaved: a vector holds the same element of as many rows as it has lanes. Nothing is reduced across lanes, and
// one logarithm or division serves all these rows.
#pragma once
#include "simd/lines.hpp"
#include "platform/threads.hpp"
#include "simd/transpose.hpp"

namespace clay {
namespace CLAY_ISA {

constexpr int64_t SHORT_ROW = 64;        // elements

template <class T> bool short_rows(int64_t n) { return Lanes<vec<T>>::width > 1 && n <= SHORT_ROW; }

// The rows of one vector, transposed: element k of row l is at k * W + l.
template <class T> struct InterleavedRows {
    static constexpr int W = Lanes<vec<T>>::width;
    alignas(64) T at[SHORT_ROW * W];

    void take(const T* x_rn, int64_t n, int64_t rows) { transpose_inline(x_rn, n, at, W, rows, n); }
    void put(T* out_rn, int64_t n, int64_t rows) const { transpose_inline(at, W, out_rn, n, n, rows); }
};

// f(r, m) for the m rows from r on, a vector of rows at a time. The grouping does not depend on the threads.
template <class T, class F> void each_interleaved(int64_t rows, int64_t n, F f) {
    constexpr int64_t W = Lanes<vec<T>>::width;
    struct Job {
        int64_t rows;
        F f;
    } job{rows, f};
    parallel_for((rows + W - 1) / W, COSTLY_ROWS / (n * W + 1) + 1, [](void* data, int64_t begin, int64_t end) {
        const Job& j = *(const Job*)data;
        for (int64_t r = begin * W; r < end * W && r < j.rows; r += W) j.f(r, j.rows - r < W ? j.rows - r : W);
    }, &job);
}

}  // namespace CLAY_ISA
}  // namespace clay
