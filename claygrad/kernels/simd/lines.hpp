// Loops along rows, with sums: every sum is a tree of blocks, so its rounding error grows with the logarithm of its length, and the
// result does not depend on the number of threads.
#pragma once
#include "reduce/tree.hpp"

namespace clay {
namespace CLAY_ISA {

// A vector, or the first n elements of one; the other lanes read as 1.
template <class V> V get(const typename Lanes<V>::T* p, int64_t n) {
    return n == Lanes<V>::width ? load<V>(p) : load_part<V>(p, n);
}
template <class V> void put(typename Lanes<V>::T* p, V v, int64_t n) {
    if (n == Lanes<V>::width) store<V>(p, v);
    else store_part<V>(p, v, n);
}

// Prefetch for reading; harmless past the end of an array.
inline void ahead(const void* p) { __builtin_prefetch(p, 0, 2); }
// Prefetch for writing.
inline void ahead_to_write(void* p) { __builtin_prefetch(p, 1, 3); }

// The row to prefetch while row `here` is computed; `here` itself if rows are so long that it would be evicted.
template <class P, class T> P* soon(P* line, const T* here, int64_t n) {
    constexpr int64_t LONG = 32768;
    return n * (int64_t)sizeof(T) <= LONG ? line : (P*)here;
}

// f(i, m) at 0, W, 2 W ...; the last time for m < W elements.
template <class T, class F> inline __attribute__((always_inline)) void along(int64_t n, F f) {
    constexpr int W = Lanes<vec<T>>::width;
    int64_t i = 0;
    for (; i + W <= n; i += W) f(i, (int64_t)W);
    if (W > 1 && i < n) f(i, n - i);
}

// The same with enough independent sums to keep the adders busy: f(u, i, m), where u is the sum for the terms from i on.
template <class V> constexpr int UNROLLED = Lanes<V>::width > 1 ? 4 : 8;
template <class V> constexpr int64_t TREE_BLOCK = 32 * UNROLLED<V> * Lanes<V>::width;        // elements per block of a sum
template <class V, class F> inline __attribute__((always_inline)) void along_unrolled(int64_t n, F f) {
    constexpr int W = Lanes<V>::width, U = UNROLLED<V>;
    int64_t i = 0;
    for (; i + U * W <= n; i += U * W)
#pragma GCC unroll 8
        for (int u = 0; u < U; u++) f(u, i + u * W, (int64_t)W);
    for (; i + W <= n; i += W) f(0, i, (int64_t)W);
    if (W > 1 && i < n) f(1, i, n - i);
}

// out[k] = the sum of the terms that f(i, m, term) gives for the m elements from i on, begin <= i < begin + n.
template <int K, class T, class F> void sums(int64_t begin, int64_t n, T* out, F f) {
    using V = vec<T>;
    constexpr int U = UNROLLED<V>;
    constexpr int64_t BLOCK = TREE_BLOCK<V>;
    if (n > BLOCK) {
        T right[K];
        int64_t half = (n + 2 * BLOCK - 1) / (2 * BLOCK) * BLOCK;
        sums<K, T>(begin, half, out, f);
        sums<K, T>(begin + half, n - half, right, f);
        for (int k = 0; k < K; k++) out[k] += right[k];
        return;
    }
    V acc[U][K], term[K];
    for (int u = 0; u < U; u++)
        for (int k = 0; k < K; k++) acc[u][k] = splat<V>(0);
    along_unrolled<V>(n, [&](int u, int64_t i, int64_t m) {
        f(begin + i, m, term);
        for (int k = 0; k < K; k++) acc[u][k] = acc[u][k] + (m == Lanes<V>::width ? term[k] : part(term[k], m, splat<V>(0)));
    });
    for (int half = U / 2; half > 0; half /= 2)
        for (int u = 0; u < half; u++)
            for (int k = 0; k < K; k++) acc[u][k] = acc[u][k] + acc[u + half][k];
    for (int k = 0; k < K; k++) out[k] = first_lane(folded<SumOf>(acc[0][k]));
}

// out[r * K + k] = the sum of the terms that f(r, i, m, term) gives for row r, as `sums` adds them up; all rows interleaved if a row
// fits one block.
template <int R, int K, class T, class F> inline __attribute__((always_inline)) void sums_of_rows(int64_t n, T* out, F f) {
    using V = vec<T>;
    constexpr int U = UNROLLED<V>;
    if (R == 1 || n > TREE_BLOCK<V>) {
        for (int r = 0; r < R; r++) sums<K, T>(0, n, out + r * K, [=](int64_t i, int64_t m, V* term) { f(r, i, m, term); });
        return;
    }
    V acc[U][R * K], term[K];
    for (int u = 0; u < U; u++)
        for (int k = 0; k < R * K; k++) acc[u][k] = splat<V>(0);
    along_unrolled<V>(n, [&](int u, int64_t i, int64_t m) {
#pragma GCC unroll 4
        for (int r = 0; r < R; r++) {
            f(r, i, m, term);
            for (int k = 0; k < K; k++)
                acc[u][r * K + k] = acc[u][r * K + k] + (m == Lanes<V>::width ? term[k] : part(term[k], m, splat<V>(0)));
        }
    });
    for (int half = U / 2; half > 0; half /= 2)
        for (int u = 0; u < half; u++)
            for (int k = 0; k < R * K; k++) acc[u][k] = acc[u][k] + acc[u + half][k];
#pragma GCC unroll 8
    for (int k = 0; k < R * K; k++) out[k] = first_lane(folded<SumOf>(acc[0][k]));
}

// out[k] = the sum over the lines begin <= line < end of what f(line, sums) gives.
template <int K, class T, class F> void sums_of_lines(int64_t begin, int64_t end, T* out, F f) {
    T right[K];
    if (end - begin > 8) {
        int64_t middle = begin + (end - begin) / 2;
        sums_of_lines<K, T>(begin, middle, out, f);
        sums_of_lines<K, T>(middle, end, right, f);
        for (int k = 0; k < K; k++) out[k] += right[k];
        return;
    }
    for (int k = 0; k < K; k++) out[k] = 0;
    for (int64_t line = begin; line < end; line++) {
        f(line, right);
        for (int k = 0; k < K; k++) out[k] += right[k];
    }
}

// out[k][i] = the sum over the rows of the terms that f(row, i, m, term) gives, for each column i < width <= TILE.
template <int K, class T, class F>
void sums_of_columns(int64_t begin, int64_t end, int64_t width, T (*out)[TILE], F f) {
    using V = vec<T>;
    if (end - begin > LEAF_ROWS) {
        T right[K][TILE];
        int64_t middle = begin + (end - begin) / 2;
        sums_of_columns<K, T>(begin, middle, width, out, f);
        sums_of_columns<K, T>(middle, end, width, right, f);
        for (int k = 0; k < K; k++)
            for (int64_t i = 0; i < width; i++) out[k][i] += right[k][i];
        return;
    }
    along<T>(width, [&](int64_t i, int64_t m) {
        V acc[K], term[K];
        for (int k = 0; k < K; k++) acc[k] = splat<V>(0);
        for (int64_t row = begin; row < end; row++) {
            f(row, i, m, term);
            for (int k = 0; k < K; k++) acc[k] = acc[k] + term[k];
        }
        for (int k = 0; k < K; k++) put<V>(out[k] + i, acc[k], m);
    });
}

// Note [Rounded means]
// Squared differences from a rounded mean are too large by the square of its error. If the spread is so small compared to the mean that
// this matters, the sum is computed again in double precision, together with the sum of differences, which gives that error.
template <class T> bool too_narrow(T squares, T mean, int64_t n) {
    return squares < 64 * __FLT_EPSILON__ * (sizeof(T) == 4 ? 1 : 0x1p-29) * (double)mean * mean * n;
}
struct Distances {
    double sum = 0, squares = 0;
    template <class T> void add(const T* x, int64_t n, int64_t step, T mean) {
        for (int64_t i = 0; i < n; i++) {
            const double d = (double)x[i * step] - (double)mean;
            sum += d, squares += d * d;
        }
    }
    template <class T, class S> void settle(int64_t n, T* mean, S* about_it) const {
        const double less = squares - sum * (sum / n);
        *about_it = less > 0 ? less : 0, *mean = *mean + sum / n;
    }
};

// Mean, and sum of squared differences from it, of one row.
template <class T> T mean_of(const T* x_n, int64_t n) { return reduce_row<SumOf, T>(x_n, n) / (T)n; }
template <class T> T squares_about(const T* x_n, int64_t n, T mean) {
    using V = vec<T>;
    const V middle = splat<V>(mean);
    T sum;
    sums<1, T>(0, n, &sum, [=](int64_t i, int64_t m, V* term) {
        const V d = get<V>(x_n + i, m) - middle;
        term[0] = d * d;
    });
    return sum;
}
// Both, by Note [Rounded means]
template <class T> T moments_of(const T* x, int64_t n, T* mean) {
    *mean = mean_of(x, n);
    T squares = squares_about(x, n, *mean);
    if (__builtin_expect(too_narrow(squares, *mean, n), 0)) {
        Distances all;
        all.add(x, n, 1, *mean);
        all.settle(n, mean, &squares);
    }
    return squares;
}

}  // namespace CLAY_ISA
}  // namespace clay
