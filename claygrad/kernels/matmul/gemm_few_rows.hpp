// Products of few rows, and functions that all products share.
//
// Note [Products of few rows]
// Their time is that of reading b from memory, so b is read once and in order: a transposed b row by row, with dot products of each
// row and all rows of a (by_dots); any other b a few rows at a time, into sums of all columns (by_streams).
#pragma once
#include <string.h>

#include <type_traits>

#include "matmul/gemm_common.hpp"
#include "simd/transpose.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> constexpr int W = Lanes<vec<T>>::width;
template <class T> constexpr int C = W<T> > 1 ? 2 : 4;       // vectors of a panel
template <class T> constexpr int WIDE = C<T> * W<T>;

// Adds up the lanes of each of n vectors, n a power of two up to the width: the sum of v[i] is in lane i * width / n.
template <class T, int n> vec<T> sums_of(vec<T>* v) {
#pragma GCC unroll 16
    for (int half = n / 2; half > 0; half /= 2)
#pragma GCC unroll 16
        for (int i = 0; i < half; i++) {
            vec<T> low, high;
            interleave(v[i], v[i + half], low, high);
            v[i] = low + high;
        }
#pragma GCC unroll 16
    for (int i = n; i < W<T>; i *= 2) {
        vec<T> low, high;
        interleave(v[0], v[0], low, high);
        v[0] = low + high;
    }
    return v[0];
}

constexpr int power_above(int n) { return n <= 1 ? 1 : 2 * power_above((n + 1) / 2); }

// R rows of x by J rows of y; prefetches the next rows of y.
template <class T> struct InVectors {
    static constexpr int64_t LENGTH = 4096;
    template <int R, int J> static inline void dots(const Dots<T>& s);
};
template <class T> template <int R, int J> inline void InVectors<T>::dots(const Dots<T>& s) {
    using V = vec<T>;
    constexpr int ALL = power_above(R * J), AT_ONCE = ALL < W<T> ? ALL : W<T>;
    V acc[ALL];
#pragma GCC unroll 16
    for (int i = 0; i < ALL; i++) acc[i] = splat<V>(0);
    int64_t p = 0;
    const auto step = [&](auto read) {
        V y[J];
#pragma GCC unroll 16
        for (int j = 0; j < J; j++) {
            if (J > 1) __builtin_prefetch(s.y + (j + J) * s.ldy + p);
            y[j] = read(s.y + j * s.ldy);
        }
#pragma GCC unroll 16
        for (int r = 0; r < R; r++) {
            const V x = read(s.x + r * s.ldx);
#pragma GCC unroll 16
            for (int j = 0; j < J; j++) acc[r * J + j] = multiply_add(x, y[j], acc[r * J + j]);
        }
    };
    for (; p + W<T> <= s.k; p += W<T>) step([p](const T* row) { return load<V>(row + p); });
    if (W<T> > 1 && p < s.k) step([p, &s](const T* row) { return load_part<V>(row + p, s.k - p, splat<V>(0)); });
    T sums[ALL * W<T> / AT_ONCE];
#pragma GCC unroll 16
    for (int i = 0; i < ALL; i += AT_ONCE) store<V>(sums + i * W<T> / AT_ONCE, sums_of<T, AT_ONCE>(acc + i));
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 16
        for (int j = 0; j < J; j++) {
            const T sum = sums[(r * J + j) * (W<T> / AT_ONCE)];
            s.out[r * s.step_r + j * s.step_j] = s.start ? s.start[r * s.start_r + j * s.start_j] + sum : sum;
        }
}

// Few rows times a b that is not transposed: BATCH rows of b at a time are read from end to end, into sums that stay in the cache.
#if defined(__AVX512F__)
constexpr int BATCH = 8;
#else
constexpr int BATCH = 4;
#endif
constexpr int64_t SUMS = 1 << 14;        // bytes of these sums

template <class T, int P, int N, bool PART>
inline void stream(int64_t m, const T* a, int64_t a_i, int64_t a_p, const T* b, int64_t ldb, T* sum, int64_t step, int64_t last) {
    using V = vec<T>;
    V row[P][N];
#pragma GCC unroll 16
    for (int p = 0; p < P; p++)
#pragma GCC unroll 16
        for (int v = 0; v < N; v++) {
            const T* from = b + p * ldb + v * W<T>;
            row[p][v] = PART && v == N - 1 ? load_part<V>(from, last, splat<V>(0)) : load<V>(from);
        }
    const auto go = [&](auto rows) {
        constexpr int R = rows;
        V acc[R][N];
#pragma GCC unroll 16
        for (int r = 0; r < R; r++)
#pragma GCC unroll 16
            for (int v = 0; v < N; v++) acc[r][v] = splat<V>(0);                     // partial sums of P terms, to bound the rounding error
#pragma GCC unroll 16
        for (int p = 0; p < P; p++)
#pragma GCC unroll 16
            for (int r = 0; r < R; r++) {
                const V scale = splat<V>(a[r * a_i + p * a_p]);
#pragma GCC unroll 16
                for (int v = 0; v < N; v++) acc[r][v] = multiply_add(scale, row[p][v], acc[r][v]);
            }
#pragma GCC unroll 16
        for (int r = 0; r < R; r++)
#pragma GCC unroll 16
            for (int v = 0; v < N; v++) store<V>(sum + r * step + v * W<T>, load<V>(sum + r * step + v * W<T>) + acc[r][v]);
        a += R * a_i, sum += R * step;
    };
    for (; m >= 4; m -= 4) go(std::integral_constant<int, 4>());
    for (; m > 0; m--) go(std::integral_constant<int, 1>());
}

template <class T, int P> void stream_rows(const GemmJob<T>& job, int64_t p, int64_t j, int64_t width, T* sums, int64_t step) {
    const T *a = job.a + p * job.a_p, *b = job.b + p * job.ldb + j;
    int64_t i = 0;
    if (P > 1)
        for (; i + WIDE<T> <= width; i += WIDE<T>)
            stream<T, P, C<T>, false>(job.m, a, job.a_i, job.a_p, b + i, job.ldb, sums + i, step, W<T>);
    for (; i + W<T> <= width; i += W<T>) stream<T, P, 1, false>(job.m, a, job.a_i, job.a_p, b + i, job.ldb, sums + i, step, W<T>);
    if (i < width) stream<T, P, 1, true>(job.m, a, job.a_i, job.a_p, b + i, job.ldb, sums + i, step, width - i);
}

template <class T> void by_streams(const GemmJob<T>& job) {
    constexpr int64_t room = SUMS / sizeof(T);
    alignas(64) T sums[room];
    const int64_t largest = room / job.m / WIDE<T> * WIDE<T>;
    for (int64_t j = 0; j < job.n; j += largest) {
        const int64_t width = job.n - j < largest ? job.n - j : largest, step = (width + W<T> - 1) / W<T> * W<T>;
        memset(sums, 0, job.m * step * sizeof(T));
        int64_t p = 0;
        for (; p + BATCH <= job.k; p += BATCH) stream_rows<T, BATCH>(job, p, j, width, sums, step);
        for (; p < job.k; p++) stream_rows<T, 1>(job, p, j, width, sums, step);
        for (int64_t r = 0; r < job.m; r++) {
            T *to = job.c + r * job.ldc + j, *from = sums + r * step;
            if (job.start)
                for (int64_t i = 0; i < width; i++) to[i] = from[i] + job.start[r * job.start_i + j + i];
            else memcpy(to, from, width * sizeof(T));
        }
    }
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
