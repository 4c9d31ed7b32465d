// A reflection of its own, for QR and for what makes two diagonals.
#pragma once
#include "matrices.hpp"
#include "vmath.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> T* zeros(T* x, int64_t n) { return (T*)memset(x, 0, (size_t)n * sizeof(T)); }

// --- reflections H = I - tau v v^T, v[0] = 1 -----------------------------------------------------------------------------------
// That which takes x[0..n) to (beta, 0, ...): v in the place of x but for its first element, which becomes beta.
template <class T> T reflection(T* x, int64_t n) {
    using V = vec<T>;
    constexpr double HUGE_ONE = sizeof(T) == 4 ? 1e15 : 1e100, LONG = 64;
    double most = 0, sum = 0;
    int64_t i = 1;
    if (n >= LONG) {
        V larger_ones = splat<V>(0);
        for (; i + LANES<T> <= n; i += LANES<T>) {
            const V size = abs(load<V>(x + i));
            larger_ones = pick(size > larger_ones, size, larger_ones);
        }
        T each[LANES<T>];
        store<V>(each, larger_ones);
        for (const T one : each) most = one > most ? one : most;
    }
    for (; i < n; i++) most = abs((double)x[i]) > most ? abs((double)x[i]) : most;
    if (most == 0) return 0;
    const bool plain = most < HUGE_ONE && most > 1 / HUGE_ONE;
    const double scale = plain ? 1 : most, head = x[0] / scale;
    if (n >= LONG && plain) {
        T squares;
        sums<1, T>(1, n - 1, &squares, [=](int64_t at, int64_t m, V* term) {
            const V one = get<V>(x + at, m);
            term[0] = one * one;
        });
        sum = squares;
    } else if (plain) {
        for (i = 1; i < n; i++) sum += (double)x[i] * x[i];
    } else {
        for (i = 1; i < n; i++) sum += x[i] / scale * (x[i] / scale);
    }
    const double length = sqrt(head * head + sum), beta = head > 0 ? -length : length;
    const double inverse = 1 / (head - beta) / scale;
    for (i = 1; i < n; i++) x[i] = (T)(x[i] * inverse);
    x[0] = (T)(beta * scale);
    return (T)((beta - head) / beta);
}

// Rows 0..m of a, columns from..length: a -= tau v (v^T a). Columns before `from` in its vector may be changed.
template <class T> void reflect(T* a, int64_t ld, const T* v, T tau, int64_t m, int64_t from, int64_t length) {
    using V = vec<T>;
    if (tau == 0) return;
    for (int64_t j = from / LANES<T> * LANES<T>; j < length; j += LANES<T>) {
        V sum = load<V>(a + j), more = splat<V>(0);
        int64_t i = 1;
        for (; i + 2 <= m; i += 2) {
            more = multiply_add(splat<V>(v[i]), load<V>(a + i * ld + j), more);
            sum = multiply_add(splat<V>(v[i + 1]), load<V>(a + (i + 1) * ld + j), sum);
        }
        if (i < m) more = multiply_add(splat<V>(v[i]), load<V>(a + i * ld + j), more);
        const V by = (sum + more) * splat<V>(-tau);
        store<V>(a + j, load<V>(a + j) + by);
        for (i = 1; i < m; i++) store<V>(a + i * ld + j, multiply_add(splat<V>(v[i]), by, load<V>(a + i * ld + j)));
    }
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
