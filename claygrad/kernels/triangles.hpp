// Triangular systems with one right-hand side, or a few: the matrix is read once, where it lies.
#pragma once
#include "matrices.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr int64_t STRIP = 16;            // unknowns that are found one after the other before the rest learns of them
constexpr int64_t TINY = 6;              // rows that are not worth vectors

// A triangle in rows or in columns: one of the steps is 1.
template <class T> struct Triangle {
    const T* a;
    int64_t n, row, column;
    bool upper, unit;
    const T* at(int64_t i, int64_t j) const { return a + i * row + j * column; }
};

// R rows from i on times the x of the columns from..to, taken from x[i].
template <int R, class T> void take_known(const Triangle<T>& s, T* x, int64_t i, int64_t from, int64_t to) {
    using V = vec<T>;
    const V none = splat<V>(0);
    V sum[R], more[R];
    for (int r = 0; r < R; r++) sum[r] = more[r] = none;
    int64_t j = from;
    for (; j + 2 * LANES<T> <= to; j += 2 * LANES<T>) {
        const V u = load<V>(x + j), v = load<V>(x + j + LANES<T>);
        for (int r = 0; r < R; r++) {
            sum[r] = multiply_add(load<V>(s.at(i + r, j)), u, sum[r]);
            more[r] = multiply_add(load<V>(s.at(i + r, j) + LANES<T>), v, more[r]);
        }
    }
    for (; j < to; j += LANES<T>) {
        const int64_t m = to - j < LANES<T> ? to - j : LANES<T>;
        const V u = m == LANES<T> ? load<V>(x + j) : load_part<V>(x + j, m, none);
        for (int r = 0; r < R; r++)
            sum[r] = multiply_add(m == LANES<T> ? load<V>(s.at(i + r, j)) : load_part<V>(s.at(i + r, j), m, none), u, sum[r]);
    }
    for (int r = 0; r < R; r++) x[i + r] -= first_lane(folded<SumOf>(sum[r] + more[r]));
}

// The columns from..to times their x, taken from x[i] for begin <= i < end. Four columns at a time, or the sums would wait for
// each other.
template <class T> void tell_others(const Triangle<T>& s, T* x, int64_t from, int64_t to, int64_t begin, int64_t end) {
    using V = vec<T>;
    const V none = splat<V>(0);
    along<T>(end - begin, [&](int64_t at, int64_t m) {
        const int64_t i = begin + at;
        const auto column = [&](int64_t j) { return m == LANES<T> ? load<V>(s.at(i, j)) : load_part<V>(s.at(i, j), m, none); };
        V sum[4] = {none, none, none, none};
        int64_t j = from;
        for (; j + 4 <= to; j += 4)
            for (int r = 0; r < 4; r++) sum[r] = multiply_add(column(j + r), splat<V>(x[j + r]), sum[r]);
        for (; j < to; j++) sum[0] = multiply_add(column(j), splat<V>(x[j]), sum[0]);
        put<V>(x + i, (m == LANES<T> ? load<V>(x + i) : load_part<V>(x + i, m, none)) - ((sum[0] + sum[1]) + (sum[2] + sum[3])), m);
    });
}

// x[begin..end) of the small triangle there. Whole columns are subtracted: what lies beyond the diagonal falls on unknowns that
// have been found already, and is not looked at again.
template <class T> void find_strip(const Triangle<T>& s, T* x, int64_t begin, int64_t end) {
    using V = vec<T>;
    const int64_t size = end - begin;
    alignas(64) T columns[STRIP * STRIP], rest[STRIP];
    if (size < STRIP) memset(columns, 0, sizeof columns), memset(rest, 0, sizeof rest);
    memcpy(rest, x + begin, (size_t)size * sizeof(T));
    if (s.row == 1)
        for (int64_t j = 0; j < size; j++) memcpy(columns + j * STRIP, s.at(begin, begin + j), (size_t)size * sizeof(T));
    else
        transpose(s.at(begin, begin), s.row, columns, STRIP, size, size);
    for (int64_t c = 0; c < size; c++) {
        const int64_t j = s.upper ? size - 1 - c : c;
        const T* column = columns + j * STRIP;
        const T found = s.unit ? rest[j] : rest[j] / column[j];
        x[begin + j] = found;
        const V by = splat<V>(-found);
#pragma GCC unroll 16
        for (int64_t i = 0; i < STRIP; i += LANES<T>) store<V>(rest + i, multiply_add(by, load<V>(column + i), load<V>(rest + i)));
    }
}

// a x = b, x in the place of b
template <class T> void find_unknowns(const Triangle<T>& s, T* x) {
    if (s.n <= TINY) {
        for (int64_t c = 0; c < s.n; c++) {
            const int64_t i = s.upper ? s.n - 1 - c : c;
            T sum = x[i];
            for (int64_t j = s.upper ? i + 1 : 0; j < (s.upper ? s.n : i); j++) sum -= *s.at(i, j) * x[j];
            x[i] = s.unit ? sum : sum / *s.at(i, i);
        }
        return;
    }
    for (int64_t done = 0; done < s.n; done += STRIP) {
        const int64_t begin = s.upper ? (s.n - done < STRIP ? 0 : s.n - done - STRIP) : done;
        const int64_t end = s.upper ? s.n - done : s.n - done < STRIP ? s.n : done + STRIP;
        if (s.row != 1 && done) {
            const int64_t from = s.upper ? end : 0, to = s.upper ? s.n : begin;
            int64_t i = begin;
            for (; i + 4 <= end; i += 4) take_known<4>(s, x, i, from, to);
            for (; i < end; i++) take_known<1>(s, x, i, from, to);
        }
        find_strip(s, x, begin, end);
        if (s.row == 1) tell_others(s, x, begin, end, s.upper ? 0 : end, s.upper ? begin : s.n);
    }
}

// Whether so few right-hand sides are better served one by one, and the matrix can be read as it lies.
template <class T> bool few(const Matrices& a, int64_t k) { return (a.row == 1 || a.column == 1) && 4 * k <= LANES<T>; }

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
