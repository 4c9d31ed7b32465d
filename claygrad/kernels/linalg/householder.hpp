// Householder reflections, for QR, tridiagonal and bidiagonal forms.
#pragma once
#include "linalg/small_matrix.hpp"
#include "simd/math.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> T* zeros(T* x, int64_t n) { return (T*)memset(x, 0, (size_t)n * sizeof(T)); }

// --- reflections H = I - tau v v^T, v[0] = 1 -----------------------------------------------------------------------------------
// The reflection that maps x[0..n) to (beta, 0, ...). v replaces x, except for its first element, which becomes beta. Further elements
// not larger than `nothing` count as zeros.
template <class T> T reflection(T* x, int64_t n, double nothing = 0) {
    using V = vec<T>;
    constexpr double HUGE_ONE = sizeof(T) == 4 ? 1e15 : 1e100, LONG = 64;
    double largest = 0, sum = 0;
    int64_t i = 1;
    if (n >= LONG) {
        V larger_ones = splat<V>(0);
        for (; i + LANES<T> <= n; i += LANES<T>) {
            const V size = abs(load<V>(x + i));
            larger_ones = select(size > larger_ones, size, larger_ones);
        }
        T each[LANES<T>];
        store<V>(each, larger_ones);
        for (const T one : each) largest = one > largest ? one : largest;
    }
    for (; i < n; i++) largest = abs((double)x[i]) > largest ? abs((double)x[i]) : largest;
    if (largest <= nothing) {
        zeros(x + 1, n - 1);
        return 0;
    }
    const bool plain = largest < HUGE_ONE && largest > 1 / HUGE_ONE;
    const double scale = plain ? 1 : largest, head = x[0] / scale;
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
    const double inverse = 1 / (head - beta);
    for (i = 1; i < n; i++) x[i] = (T)(plain ? x[i] * inverse : x[i] / scale * inverse);
    x[0] = (T)(beta * scale);
    return (T)((beta - head) / beta);
}

// Rows 0..m of a, columns from..length: a -= tau v (v^T a). Columns before `from` in the same vector may be overwritten.
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

// R rows times x, from a column on; long rows in chunks, to bound the rounding error
template <int R, class T> void dots(const T* rows, int64_t ld, const T* x, int64_t begin, int64_t end, T* out) {
    using V = vec<T>;
    constexpr int64_t STRETCH = 128 * LANES<T>;
    V sum[R];
    for (int r = 0; r < R; r++) sum[r] = splat<V>(0);
    for (int64_t at = begin; at < end; at += STRETCH) {
        const int64_t to = end - at < STRETCH ? end : at + STRETCH;
        V part[R];
        for (int r = 0; r < R; r++) part[r] = splat<V>(0);
        for (int64_t j = at; j < to; j += LANES<T>)
            for (int r = 0; r < R; r++) part[r] = multiply_add(load<V>(rows + r * ld + j), load<V>(x + j), part[r]);
        for (int r = 0; r < R; r++) sum[r] = sum[r] + part[r];
    }
    for (int r = 0; r < R; r++) out[r] = first_lane(folded<SumOf>(sum[r]));
}

template <int R, class T> void reflect_some(T* x, int64_t ld, const T* v, T tau, int64_t begin, int64_t end) {
    using V = vec<T>;
    T along[R];
    V by[R];
    dots<R>(x, ld, v, begin, end, along);
    for (int r = 0; r < R; r++) by[r] = splat<V>(-tau * along[r]);
    for (int64_t j = begin; j < end; j += LANES<T>)
        for (int r = 0; r < R; r++) store<V>(x + r * ld + j, multiply_add(by[r], load<V>(v + j), load<V>(x + r * ld + j)));
}

// Reflects each row x of a matrix: x -= tau (x v) v. v is zero before `from`.
template <class T> void reflect_rows(T* x, int64_t ld, int64_t rows, const T* v, T tau, int64_t from, int64_t end) {
    const int64_t begin = from / LANES<T> * LANES<T>;
    int64_t i = 0;
    if (tau == 0) return;
    for (; i + 4 <= rows; i += 4) reflect_some<4>(x + i * ld, ld, v, tau, begin, end);
    for (; i < rows; i++) reflect_some<1>(x + i * ld, ld, v, tau, begin, end);
}

// --- blocks of reflections ------------------------------------------------------------------------------------------------------
// Note [Reflections by blocks]
// The product of a few reflections H1 H2 ... Hb, H = I - tau v v^T, is I - V t V^T with a triangular t. So they are
// applied to a matrix by three matrix products. The vectors are rows with leading zeros.
constexpr int64_t TOGETHER = 32;            // reflections per block
constexpr int64_t WORTH = 96;            // min number of reflections, and of columns, for which blocks pay

// Scratch that `apply` needs, for so many columns
template <class T> int64_t room_of(int64_t columns) { return 2 * TOGETHER * TOGETHER + 2 * TOGETHER * row_length<T>(columns); }

// The triangle t of `count` vectors of length m: t[i, i] = tau[i], t[0..i, i] = -tau[i] t[0..i, 0..i] (V^T v_i)
template <class T> void triangle_of(const T* v, int64_t ldv, int64_t m, int64_t count, const T* tau, T* t, T* products) {
    gemm(CODE<T>, false, true, count, count, m, v, ldv, v, ldv, products, TOGETHER, false);
    for (int64_t i = 0; i < count; i++) {
        for (int64_t r = 0; r < i; r++) {
            T sum = 0;
            for (int64_t c = r; c < i; c++) sum += t[r * TOGETHER + c] * products[c * TOGETHER + i];
            t[r * TOGETHER + i] = -tau[i] * sum;
        }
        t[i * TOGETHER + i] = tau[i];
        for (int64_t c = 0; c < i; c++) t[i * TOGETHER + c] = 0;
    }
}

// a = (H1 ... Hb) a, or its transpose times a: m rows, `columns` columns
template <class T>
void apply(const T* v, int64_t ldv, int64_t m, int64_t count, const T* tau, T* a, int64_t ld, int64_t columns, bool transposed, T* memory) {
    T *t = memory, *first = t + 2 * TOGETHER * TOGETHER, *second = first + TOGETHER * row_length<T>(columns);
    const int64_t ldw = row_length<T>(columns);
    triangle_of(v, ldv, m, count, tau, t, t + TOGETHER * TOGETHER);
    for (int64_t i = 0; i < TOGETHER * TOGETHER; i++) t[i] = -t[i];
    gemm(CODE<T>, false, false, count, columns, m, v, ldv, a, ld, first, ldw, false);
    gemm(CODE<T>, transposed, false, count, columns, count, t, TOGETHER, first, ldw, second, ldw, false);
    gemm(CODE<T>, true, false, m, columns, count, v, ldv, second, ldw, a, ld, true);
}

// Rows of length m times H1 ... Hb, or times Hb ... H1
template <class T>
void apply_to_rows(const T* v, int64_t ldv, int64_t m, int64_t count, const T* tau, T* x, int64_t ld, int64_t rows, bool backwards,
                   T* memory) {
    T *t = memory, *first = t + 2 * TOGETHER * TOGETHER, *second = first + TOGETHER * rows;
    triangle_of(v, ldv, m, count, tau, t, t + TOGETHER * TOGETHER);
    for (int64_t i = 0; i < TOGETHER * TOGETHER; i++) t[i] = -t[i];
    gemm(CODE<T>, false, true, rows, count, m, x, ld, v, ldv, first, TOGETHER, false);
    gemm(CODE<T>, false, backwards, rows, count, count, first, TOGETHER, t, TOGETHER, second, TOGETHER, false);
    gemm(CODE<T>, false, false, rows, m, count, second, TOGETHER, v, ldv, x, ld, true);
}

// All reflections, m long, from the last block to the first, or (transposed) from the first to the last. Reflection k does not touch the
// first k rows. On the identity, as many columns stay zero, and `before` more.
template <class T>
void apply_all(const T* v, int64_t ldv, int64_t m, int64_t count, const T* tau, T* a, int64_t ld, int64_t columns, bool transposed,
               bool of_identity, int64_t before, T* memory) {
    const int64_t blocks = ceil_div(count, TOGETHER);
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t at = (transposed ? b : blocks - 1 - b) * TOGETHER, size = count - at < TOGETHER ? count - at : TOGETHER;
        const int64_t from = of_identity ? at + before : 0;
        apply(v + at * ldv + at, ldv, m - at, size, tau + at, a + at * ld + from, ld, columns - from, transposed, memory);
    }
}

template <class T>
void multiply(const T* v, int64_t ldv, int64_t m, int64_t count, const T* tau, T* a, int64_t ld, int64_t columns, bool transposed,
              bool of_identity, int64_t before, T* memory) {
    if (count >= WORTH && columns >= WORTH / 2)
        return apply_all(v, ldv, m, count, tau, a, ld, columns, transposed, of_identity, before, memory);
    for (int64_t i = 0; i < count; i++) {
        const int64_t k = transposed ? i : count - 1 - i;
        reflect(a + k * ld, ld, v + k * ldv + k, tau[k], m - k, of_identity ? k + before : 0, columns);
    }
}

// The first columns of H1 H2 ..., m rows, in q; reflection k does not touch the first k + shift rows.
template <class T>
void product_of(T* q, int64_t ldq, int64_t m, int64_t columns, const T* v, int64_t ldv, const T* tau, int64_t count, int64_t shift,
                T* memory) {
    zeros(q, m * ldq);
    for (int64_t i = 0; i < m && i < columns; i++) q[i * ldq + i] = 1;
    multiply(v + shift, ldv, m - shift, count, tau, q + shift * ldq, ldq, columns, false, true, shift, memory);
}

// --- QR ------------------------------------------------------------------------------------------------------------------------
constexpr int64_t WORTH_OF_ROWS = 40;    // min reflections to apply to rows by blocks

// On entry the rows of v are the columns of an m x n matrix; the vectors of the reflections replace them. R goes to a; below its
// diagonal a is undefined.
template <class T> void triangulate(T* v, int64_t ldv, int64_t m, int64_t n, T* a, int64_t ld, T* tau, T* memory) {
    const int64_t count = m < n ? m : n, step = count >= WORTH_OF_ROWS ? TOGETHER : count;
    for (int64_t from = 0; from < count; from += step) {
        const int64_t to = count - from < step ? count : from + step, end = step == count ? n : to;
        for (int64_t k = from; k < to; k++) {
            T* row = v + k * ldv;
            for (int64_t i = 0; i < k; i++) a[i * ld + k] = row[i];
            zeros(row, k);
            tau[k] = reflection(row + k, m - k);
            a[k * ld + k] = row[k];
            row[k] = 1;
            reflect_rows(row + ldv, ldv, end - k - 1, row, tau[k], k, m);
        }
        if (end == n) continue;
        apply_to_rows(v + from * (ldv + 1), ldv, m - from, to - from, tau + from, v + end * ldv + from, ldv, n - end, false, memory);
    }
    for (int64_t k = count; k < n; k++)
        for (int64_t i = 0; i < count; i++) a[i * ld + k] = v[k * ldv + i];
}

// Rows of length m times H1 H2 ..., or times ... H2 H1; on the identity, reflection k does not touch the first k rows.
template <class T>
void multiply_rows(T* x, int64_t ld, int64_t rows, const T* v, int64_t ldv, int64_t m, int64_t count, const T* tau, bool backwards,
                   bool of_identity, T* memory) {
    const int64_t step = count >= WORTH_OF_ROWS && rows >= LANES<T> ? TOGETHER : 1, last = (count - 1) / step * step;
    for (int64_t s = 0; s <= last; s += step) {
        const int64_t at = backwards ? last - s : s, size = count - at < step ? count - at : step, first = of_identity ? at : 0;
        if (step == 1) reflect_rows(x + first * ld, ld, rows - first, v + at * ldv, tau[at], at, m);
        else apply_to_rows(v + at * (ldv + 1), ldv, m - at, size, tau + at, x + first * ld + at, ld, rows - first, backwards, memory);
    }
}

Matrices transposed(const Matrices& s) { return {s.data, s.step, s.column, s.row}; }

template <class T> int64_t room_for(int64_t count, int64_t rows) { return count >= WORTH_OF_ROWS ? room_of<T>(rows) : 0; }

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
