// Triangular systems. With few right-hand sides the matrix is read once, in place; with many, blocks are joined by matrix products.
#pragma once
#include "linalg/small_matrix.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// --- few right-hand sides ----------------------------------------------------------------------------------------------------------
constexpr int64_t STRIP = 16;            // unknowns solved one by one before the rest is updated
constexpr int64_t TINY = 6;              // up to so many rows use scalar code

// A triangle stored by rows or by columns: one of the steps is 1.
template <class T> struct Triangle {
    const T* a;
    int64_t n, row, column;
    bool upper, unit;
    const T* at(int64_t i, int64_t j) const { return a + i * row + j * column; }
};

// Subtracts R rows (from i on) times x[from..to) from x[i].
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

// Subtracts columns from..to times their x from x[begin..end). Four columns at a time, so that additions do not wait for each other.
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

// Solves for x[begin..end) with the small diagonal triangle. Whole columns are subtracted: beyond the diagonal they change unknowns
// that are solved already and not read again.
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

// a x = b; x replaces b
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

// Whether there are few right-hand sides and the matrix can be read in place.
template <class T> bool few(const Matrices& a, int64_t k) { return (a.row == 1 || a.column == 1) && 4 * k <= LANES<T>; }

constexpr int64_t BLOCK = 64;            // columns, or rows, per block

// c -= a b, for m x k and k x n matrices in rows; transposed: b holds n rows of k
template <class T>
void subtract_product(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, bool b_transposed, T* c,
                      int64_t ldc, T* memory) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < k; j++) memory[i * k + j] = -a[i * lda + j];
    gemm(CODE<T>, false, b_transposed, m, n, k, memory, k, b, ldb, c, ldc, true);
}

template <class T> int64_t whole(int64_t k) { return (k + LANES<T> - 1) / LANES<T> * LANES<T>; }

// --- many right-hand sides: a x = b, x in the place of b -----------------------------------------------------------------------
// Rows begin..end of x; those before (for an upper triangle: after) are known.
template <class T, int R>
inline void substitute_columns(const T* a, int64_t lda, T* x, int64_t ldx, int64_t begin, int64_t end, bool upper, bool unit) {
    using V = vec<T>;
    for (int64_t s = begin; s < end; s++) {
        const int64_t i = upper ? begin + end - 1 - s : s, from = upper ? i + 1 : begin, to = upper ? end : i;
        const T* row = a + i * lda;
        V sum[R], more[R];
        for (int r = 0; r < R; r++) sum[r] = load<V>(x + i * ldx + r * LANES<T>), more[r] = splat<V>(0);
        int64_t j = from;
        for (; j + 2 <= to; j += 2) {
            const V f = splat<V>(-row[j]), g = splat<V>(-row[j + 1]);
            for (int r = 0; r < R; r++) {
                sum[r] = multiply_add(f, load<V>(x + j * ldx + r * LANES<T>), sum[r]);
                more[r] = multiply_add(g, load<V>(x + (j + 1) * ldx + r * LANES<T>), more[r]);
            }
        }
        for (; j < to; j++)
            for (int r = 0; r < R; r++) sum[r] = multiply_add(splat<V>(-row[j]), load<V>(x + j * ldx + r * LANES<T>), sum[r]);
        const V head = splat<V>(row[i]);
        for (int r = 0; r < R; r++) {
            sum[r] = sum[r] + more[r];
            store<V>(x + i * ldx + r * LANES<T>, unit ? sum[r] : sum[r] / head);
        }
    }
}

// x: n rows of `length` numbers, a multiple of the vectors'. Split in two recursively, joined by one large product.
template <class T>
void substitute(const T* a, int64_t lda, T* x, int64_t ldx, int64_t n, int64_t length, bool upper, bool unit, T* memory) {
    if (n > BLOCK) {
        const int64_t middle = round_up(n / 2, BLOCK), first = upper ? middle : 0, second = upper ? 0 : middle;
        const int64_t known = upper ? n - middle : middle, left = n - known;
        substitute(a + first * (lda + 1), lda, x + first * ldx, ldx, known, length, upper, unit, memory);
        subtract_product(left, length, known, a + second * lda + first, lda, x + first * ldx, ldx, false, x + second * ldx, ldx, memory);
        return substitute(a + second * (lda + 1), lda, x + second * ldx, ldx, left, length, upper, unit, memory);
    }
    int64_t c = 0;
    for (; c + 4 * LANES<T> <= length; c += 4 * LANES<T>) substitute_columns<T, 4>(a, lda, x + c, ldx, 0, n, upper, unit);
    for (; c < length; c += LANES<T>) substitute_columns<T, 1>(a, lda, x + c, ldx, 0, n, upper, unit);
}

template <class T> void identity(T* x, int64_t ldx, int64_t n) {
    memset(x, 0, (size_t)(n * ldx) * sizeof(T));
    for (int64_t i = 0; i < n; i++) x[i * ldx + i] = 1;
}

// The inverse of a lower triangle replaces the identity; the zeros above the diagonal stay
template <class T> void invert_lower(const T* a, int64_t lda, T* x, int64_t ldx, int64_t n, bool unit, T* memory) {
    if (n <= BLOCK) return substitute(a, lda, x, ldx, n, whole<T>(n), false, unit, memory);
    const int64_t middle = round_up(n / 2, BLOCK), left = n - middle;
    invert_lower(a, lda, x, ldx, middle, unit, memory);
    subtract_product(left, middle, middle, a + middle * lda, lda, x, ldx, false, x + middle * ldx, ldx, memory);
    substitute(a + middle * (lda + 1), lda, x + middle * ldx, ldx, left, middle, false, unit, memory);
    invert_lower(a + middle * (lda + 1), lda, x + middle * (ldx + 1), ldx, left, unit, memory);
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
