// Many tiny matrices, interleaved: a vector holds the same element of as many matrices as it has lanes. Row exchanges are selections per
// lane.
#pragma once
#include "linalg/small_matrix.hpp"
#include "simd/math.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr int64_t MAX_INTERLEAVED = 4;      // rows, and columns

template <class T> using Cells = vec<T>[MAX_INTERLEAVED][MAX_INTERLEAVED];

template <class T> bool fits_interleaved(const LinearAlgebra& j) {
    return LANES<T> > 1 && j.count >= LANES<T> && j.m == j.n && j.n > 1 && j.n <= MAX_INTERLEAVED && j.k <= MAX_INTERLEAVED;
}

// Whether a vector's worth of matrices is contiguous
template <class T> bool in_one_piece(const Matrices& s, int64_t size, int64_t rows, int64_t columns) {
    return size == LANES<T> && s.step == rows * columns && (s.column == 1 ? s.row == columns : s.row == 1 && s.column == rows);
}

// `size` matrices from t on; remaining lanes repeat the last one
template <class T> void load_interleaved(const Matrices& s, int64_t t, int64_t size, int64_t rows, int64_t columns, Cells<T>& a, T* memory) {
    const bool whole = in_one_piece<T>(s, size, rows, columns);
    const int64_t row = whole ? s.row : columns, column = whole ? s.column : 1;
    if (whole) transpose_inline(matrix_at<T>(s, t), s.step, memory, LANES<T>, LANES<T>, s.step);
    else
        for (int64_t l = 0; l < LANES<T>; l++) {
            const T* from = matrix_at<T>(s, t + (l < size ? l : size - 1));
            for (int64_t i = 0; i < rows; i++)
                for (int64_t c = 0; c < columns; c++) memory[(i * row + c) * LANES<T> + l] = from[i * s.row + c * s.column];
        }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < columns; c++) a[i][c] = load<vec<T>>(memory + (i * row + c * column) * LANES<T>);
}

template <class T> void store_interleaved(const Matrices& s, int64_t t, int64_t size, int64_t rows, int64_t columns, const Cells<T>& a, T* memory) {
    const bool whole = in_one_piece<T>(s, size, rows, columns);
    const int64_t row = whole ? s.row : columns, column = whole ? s.column : 1;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < columns; c++) store<vec<T>>(memory + (i * row + c * column) * LANES<T>, a[i][c]);
    if (whole) return transpose_inline(memory, LANES<T>, place_at<T>(s, t), s.step, s.step, LANES<T>);
    for (int64_t l = 0; l < size; l++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t c = 0; c < columns; c++)
                place_at<T>(s, t + l)[i * s.row + c * s.column] = memory[(i * row + c) * LANES<T> + l];
}

// LU with row exchanges
template <class T> struct Interleaved {
    using V = vec<T>;
    int64_t n;
    Cells<T> a;
    V pivots[MAX_INTERLEAVED], sign, zero;  // exchanged rows, the sign of the permutation, and the first zero pivot (from 1)

    void exchange(Cells<T>& x, int64_t j, int64_t columns) const {
        for (int64_t i = j + 1; i < n; i++) {
            const auto here = pivots[j] == splat<V>((T)i);
            for (int64_t c = 0; c < columns; c++) {
                const V upper = x[j][c], lower = x[i][c];
                x[j][c] = select(here, lower, upper);
                x[i][c] = select(here, upper, lower);
            }
        }
    }

    void factor() {
        sign = splat<V>(1);
        zero = splat<V>(0);
        for (int64_t j = 0; j < n; j++) {
            V largest = abs(a[j][j]);
            pivots[j] = splat<V>((T)j);
            for (int64_t i = j + 1; i < n; i++) {
                const V size = abs(a[i][j]);
                pivots[j] = select(size > largest, splat<V>((T)i), pivots[j]);
                largest = select(size > largest, size, largest);
            }
            sign = select(pivots[j] == splat<V>((T)j), sign, -sign);
            exchange(a, j, n);
            const V pivot = a[j][j];
            const auto none = pivot == splat<V>(0);
            zero = select(none, select(zero == splat<V>(0), splat<V>((T)(j + 1)), zero), zero);
            for (int64_t i = j + 1; i < n; i++) {
                const V f = a[i][j] / pivot;
                a[i][j] = select(none, a[i][j], f);
                for (int64_t c = j + 1; c < n; c++) a[i][c] = select(none, a[i][c], multiply_add(-f, a[j][c], a[i][c]));
            }
        }
    }

    // The solution replaces the right-hand sides
    void solve(Cells<T>& x, int64_t columns) const {
        for (int64_t j = 0; j < n; j++) exchange(x, j, columns);
        for (int64_t c = 0; c < columns; c++) {
            for (int64_t i = 1; i < n; i++)
                for (int64_t j = 0; j < i; j++) x[i][c] = multiply_add(-a[i][j], x[j][c], x[i][c]);
            for (int64_t i = n - 1; i >= 0; i--) {
                for (int64_t j = i + 1; j < n; j++) x[i][c] = multiply_add(-a[i][j], x[j][c], x[i][c]);
                x[i][c] = x[i][c] / a[i][i];
            }
        }
    }
};

// The Cholesky factor replaces a; false if one of the matrices is not positive definite.
template <class T> bool cholesky_interleaved(Cells<T>& a, int64_t n) {
    using V = vec<T>;
    for (int64_t j = 0; j < n; j++) {
        const V pivot = a[j][j];
        if (first_lane(folded<SumOf>(select(pivot > splat<V>(0), splat<V>(0), splat<V>(1)))) != 0) return false;
        a[j][j] = sqrt(pivot);
        for (int64_t i = j + 1; i < n; i++) a[i][j] = a[i][j] * (splat<V>(1) / a[j][j]), a[j][i] = splat<V>(0);
        for (int64_t i = j + 1; i < n; i++)
            for (int64_t c = j + 1; c <= i; c++) a[i][c] = multiply_add(-a[i][j], a[c][j], a[i][c]);
    }
    return true;
}

// f(t, size, memory) for every vector's worth of matrices, with scratch for their elements and `more`
template <class T, class F> bool each_group(const LinearAlgebra& j, int64_t more, F f) {
    const int64_t cells = MAX_INTERLEAVED * MAX_INTERLEAVED * LANES<T>;
    return each_matrix<T>((j.count + LANES<T> - 1) / LANES<T>, 4 * cells, more > cells ? more : cells, [&](int64_t group, T* memory) {
        const int64_t t = group * LANES<T>;
        f(t, j.count - t < LANES<T> ? j.count - t : LANES<T>, memory);
    });
}

// f(t, size, factors, memory)
template <class T, class F> bool each_interleaved(const LinearAlgebra& j, F f) {
    return each_group<T>(j, 0, [&](int64_t t, int64_t size, T* memory) {
        Interleaved<T> s;
        s.n = j.n;
        load_interleaved(j.a, t, size, j.n, j.n, s.a, memory);
        s.factor();
        if (j.info) {
            store<vec<T>>(memory, s.zero);
            for (int64_t l = 0; l < size; l++) j.info[t + l] = (int32_t)memory[l];
        }
        f(t, size, s, memory);
    });
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
