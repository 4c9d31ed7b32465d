// Shared by the matrix products of all types.
#pragma once
#include <stdint.h>

namespace clay {
namespace CLAY_ISA {
namespace {

// The arguments of matmul/gemm.hpp. In: type of the factors, Out: type of the result.
template <class In, class Out = In> struct GemmJob {
    int64_t m, n, k;
    const In* a;
    int64_t a_i, a_p;
    const In* b;
    int64_t ldb;
    bool b_is_nk;
    Out* c;
    int64_t ldc;
    const Out* start;
    int64_t start_i;
};

// How many of the remaining rows to take next, at most ROWS. The last rows are divided evenly: with too few rows at a time the
// additions would wait for each other.
template <int ROWS> int64_t next_rows(int64_t left) {
    return left >= ROWS + ROWS / 2 || left == ROWS ? ROWS : left > ROWS ? (left + 1) / 2 : left;
}

// out[r, j] = the product of row r of x and row j of y (+ start)
template <class In, class Out = In> struct Dots {
    int64_t k;
    const In* x;
    int64_t ldx;
    const In* y;
    int64_t ldy;
    Out* out;
    int64_t step_r, step_j;
    const Out* start;
    int64_t start_r, start_j;
};

constexpr int ACROSS = 4;                // rows of y at a time
#if defined(__AVX512F__)
constexpr int DOWN = 4;                  // of x
#else
constexpr int DOWN = 2;
#endif

// By::dots<R, J>: R rows of x by J of y
template <class By, int R, class D> void dots_of(int64_t rows, int64_t n, D s) {
    if (R > 1 && rows < R) return dots_of<By, R == 1 ? 1 : R - 1>(rows, n, s);
    while (n > 0) {
        const int64_t j = n >= ACROSS ? ACROSS : 1;
        if (j == 1) By::template dots<R, 1>(s);
        else By::template dots<R, ACROSS>(s);
        n -= j;
        s.y += j * s.ldy, s.out += j * s.step_j;
        if (s.start) s.start += j * s.start_j;
    }
}

// Dot products of rows of x and y, By::LENGTH elements at a time, with as many rows of y at a time as stay in the cache for the next
// rows of x.
template <class By, class D> void by_dots(int64_t m, int64_t n, const D& all) {
    constexpr int64_t HIGH = 4 * ACROSS;
    const int64_t high = m <= DOWN ? n : HIGH;
    for (int64_t p = 0; p < all.k; p += By::LENGTH)
        for (int64_t j = 0; j < n; j += high)
            for (int64_t r = 0; r < m; r += DOWN) {
                D s = all;
                s.k = all.k - p < By::LENGTH ? all.k - p : By::LENGTH;
                s.x += r * s.ldx + p, s.y += j * s.ldy + p;
                s.out += r * s.step_r + j * s.step_j;
                if (p > 0) s.start = s.out, s.start_r = s.step_r, s.start_j = s.step_j;
                else if (s.start) s.start += r * s.start_r + j * s.start_j;
                dots_of<By, DOWN>(m - r < DOWN ? m - r : DOWN, n - j < high ? n - j : high, s);
            }
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
