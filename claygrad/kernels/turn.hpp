// A matrix turned about, vectors by vectors.
#pragma once
#include "vec.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// The lanes of x and y by turns: the first half of them in x, the second in y.
template <class V> void zip(V&, V&) {}
#if defined(__AVX512F__)
inline void zip(f32v& x, f32v& y) {
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    const f32v first = _mm512_permutex2var_ps(x, low, y);
    y = _mm512_permutex2var_ps(x, high, y);
    x = first;
}
inline void zip(f64v& x, f64v& y) {
    const __m512i low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    const f64v first = _mm512_permutex2var_pd(x, low, y);
    y = _mm512_permutex2var_pd(x, high, y);
    x = first;
}
#elif defined(__AVX2__)
inline void zip(f32v& x, f32v& y) {
    const f32v low = _mm256_unpacklo_ps(x, y), high = _mm256_unpackhi_ps(x, y);
    x = _mm256_permute2f128_ps(low, high, 0x20);
    y = _mm256_permute2f128_ps(low, high, 0x31);
}
inline void zip(f64v& x, f64v& y) {
    const f64v low = _mm256_unpacklo_pd(x, y), high = _mm256_unpackhi_pd(x, y);
    x = _mm256_permute2f128_pd(low, high, 0x20);
    y = _mm256_permute2f128_pd(low, high, 0x31);
}
#endif

// Column j of x becomes row j of out, for W x W numbers: a perfect shuffle of all of them, log2(W) times. Unless it is
// WHOLE, x has `rows` rows and `columns` columns: out gets as many rows, W wide, zeros where x has none.
template <class T, bool WHOLE>
void turn_square(const T* x, int64_t step, int64_t rows, int64_t columns, T* out, int64_t out_step) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const V zero = splat<V>(0);
    V v[W], next[W];
#pragma GCC unroll 16
    for (int i = 0; i < W; i++)
        v[i] = WHOLE ? load<V>(x + i * step) : i < rows ? load_part<V>(x + i * step, columns, zero) : zero;
#pragma GCC unroll 4
    for (int done = 1; done < W; done *= 2) {
#pragma GCC unroll 16
        for (int i = 0; i < W / 2; i++) {
            V a = v[i], b = v[i + W / 2];
            zip(a, b);
            next[2 * i] = a, next[2 * i + 1] = b;
        }
#pragma GCC unroll 16
        for (int i = 0; i < W; i++) v[i] = next[i];
    }
#pragma GCC unroll 16
    for (int j = 0; j < W; j++) {
        if (!WHOLE && j >= columns) return;
        store<V>(out + j * out_step, v[j]);
    }
}

// out[j, i] = x[i, j]; rows of out are filled with zeros up to whole vectors
template <class T> void turn(const T* x, int64_t step, int64_t rows, int64_t columns, T* out, int64_t out_step) {
    constexpr int W = Lanes<vec<T>>::width;
    for (int64_t i = 0; i < rows; i += W) {
        int64_t j = 0;
        if (rows - i >= W)
            for (; j + W <= columns; j += W)
                turn_square<T, true>(x + i * step + j, step, W, W, out + j * out_step + i, out_step);
        for (; j < columns; j += W)
            turn_square<T, false>(x + i * step + j, step, rows - i, columns - j < W ? columns - j : W,
                                  out + j * out_step + i, out_step);
    }
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
