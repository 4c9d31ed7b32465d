// softmax, log_softmax and their gradients on rows of medium length.
//
// Note [Rows in a pipeline]
// There are two or three passes over a row, and each needs the sum or maximum of the one before. Between passes the processor waits for
// that reduction, and some passes are bound by memory while others are bound by arithmetic. So the last pass over one row, the middle
// pass over the next row and the first pass over the row after that run in one loop.
#pragma once
#include <type_traits>

#include "simd/lines.hpp"
#include "simd/math.hpp"

namespace clay {
namespace CLAY_ISA {

// exp(x) for x <= 0, with subnormal results: log_softmax may take their logarithm.
template <class V> V share_of(V x) { return exp(x); }
#if defined(__AVX512F__)
inline f32v share_of(f32v x) { return exp_down(x); }
#elif defined(CLAY_VECTOR_BYTES)
// Without a branch: scaled by 2**24 it is not subnormal.
inline f32v share_of(f32v x) { return exp_times<24>(x) * splat<f32v>(1.0 / (1 << 24)); }
#endif

// The sum of a row, in the same order as `sums`: the same row gives the same bits.
template <class T> struct Tally {
    using V = vec<T>;
    V of[UNROLLED<V>];

    explicit Tally(double first) {
        for (V& v : of) v = splat<V>(first);
    }
    T sum() {
        for (int half = UNROLLED<V> / 2; half > 0; half /= 2)
            for (int u = 0; u < half; u++) of[u] = of[u] + of[u + half];
        return first_lane(folded<SumOf>(of[0]));
    }
    V top() {
        for (int half = UNROLLED<V> / 2; half > 0; half /= 2)
            for (int u = 0; u < half; u++) of[u] = larger(of[u], of[u + half]);
        return folded<MaxOf>(of[0]);
    }
};

template <class T> bool in_pipeline(int64_t n) { return Lanes<vec<T>>::width > 1 && n <= TREE_BLOCK<vec<T>>; }

// The maximum, which may ignore a NaN: the sum that follows shows it.
template <class V> V top_with(V top, const typename Lanes<V>::T* x, int64_t m) {
    return larger(top, m == Lanes<V>::width ? load<V>(x) : load_part<V>(x, m, splat<V>(MaxOf::identity)));
}

// Note [4K aliasing]
// A processor mistakes a load for one of a recent store, and waits, if both addresses agree in their last twelve bits. Loads from the
// next row and stores into this row do that if rows are a little shorter than a multiple of 4096 bytes. In that case rows are taken in
// reverse order.
template <class T> int64_t row_step(int64_t n) {
    constexpr int64_t PAGE = 4096;
    return n * (int64_t)sizeof(T) % PAGE > PAGE / 2 ? -n : n;
}

template <class T, bool LOG> void softmax_rows(const T* x_rn, T* out_rn, int64_t rows, int64_t n) {
    using V = vec<T>;
    const int64_t step = row_step<T>(n), begin = step > 0 ? 0 : (rows - 1) * n;
    x_rn += begin, out_rn += begin;
    Tally<T> first(MaxOf::identity);
    along_unrolled<V>(n, [&](int u, int64_t i, int64_t m) { first.of[u] = top_with(first.of[u], x_rn + i, m); });
    V top = first.top(), last_top = top, last = top;             // the maximum of this row, and of the row before it
    const auto finish = [&](int64_t r, int64_t i, int64_t m) {
        T* out = out_rn + r * step + i;
        put<V>(out, LOG ? get<V>(x_rn + r * step + i, m) - last_top - last : get<V>(out, m) * last, m);
    };
    const auto one_row = [&](int64_t r, auto begun) {
        const T *x = x_rn + r * step, *next = r + 1 < rows ? x + step : x;
        T* out = out_rn + r * step;
        Tally<T> sum(0), tops(MaxOf::identity);
        along_unrolled<V>(n, [&](int u, int64_t i, int64_t m) {
            tops.of[u] = top_with(tops.of[u], next + i, m);
            const V below = get<V>(x + i, m) - top, e = LOG ? exp_down(below) : share_of(below);
            sum.of[u] = sum.of[u] + (m == Lanes<V>::width ? e : part(e, m, splat<V>(0)));
            if (!LOG) put<V>(out + i, e, m);
            if (begun) finish(r - 1, i, m);
        });
        const T all = sum.sum();
        last_top = top, last = splat<V>(LOG ? log(all) : 1 / all), top = tops.top();
    };
    one_row(0, std::false_type());
    for (int64_t r = 1; r < rows; r++) one_row(r, std::true_type());
    along_unrolled<V>(n, [&](int, int64_t i, int64_t m) { finish(rows - 1, i, m); });
}

template <class T, bool LOG> void softmax_backward_rows(const T* g_rn, const T* out_rn, T* dx_rn, int64_t rows, int64_t n) {
    using V = vec<T>;
    const int64_t step = row_step<T>(n);
    const auto term = [&](int64_t at, int64_t m) {
        const V g = get<V>(g_rn + at, m), v = LOG ? g : g * get<V>(out_rn + at, m);
        return m == Lanes<V>::width ? v : part(v, m, splat<V>(0));
    };
    int64_t at = step > 0 ? 0 : (rows - 1) * n;
    Tally<T> first(0);
    along_unrolled<V>(n, [&](int u, int64_t i, int64_t m) { first.of[u] = first.of[u] + term(at + i, m); });
    V sum = splat<V>(first.sum());
    const auto finish = [&](int64_t i, int64_t m) {
        const V g = get<V>(g_rn + at + i, m), out = get<V>(out_rn + at + i, m);
        put<V>(dx_rn + at + i, LOG ? g - share_of(out) * sum : (g - sum) * out, m);
    };
    for (int64_t r = 1; r < rows; r++, at += step) {
        Tally<T> next(0);
        along_unrolled<V>(n, [&](int u, int64_t i, int64_t m) {
            next.of[u] = next.of[u] + term(at + step + i, m);
            finish(i, m);
        });
        sum = splat<V>(next.sum());
    }
    along_unrolled<V>(n, [&](int, int64_t i, int64_t m) { finish(i, m); });
}

}  // namespace CLAY_ISA
}  // namespace clay
