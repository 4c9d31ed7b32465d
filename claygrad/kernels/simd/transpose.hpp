// Transposing blocks in registers.
#pragma once
#include <string.h>

#include "simd/shuffle.hpp"
#include "simd/vec.hpp"

namespace clay {
namespace CLAY_ISA {

// Interleaves the lanes of x and y: first the lower half of each, then the upper half
#if defined(__AVX512F__)
inline void interleave(f32v x, f32v y, f32v& low, f32v& high) {
    const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i second = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    low = _mm512_permutex2var_ps(x, first, y);
    high = _mm512_permutex2var_ps(x, second, y);
}
inline void interleave(f64v x, f64v y, f64v& low, f64v& high) {
    low = _mm512_permutex2var_pd(x, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), y);
    high = _mm512_permutex2var_pd(x, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), y);
}
// The inverse: the even lanes of x and y, and the odd ones
inline void separate(f32v x, f32v y, f32v& even, f32v& odd) {
    const __m512i first = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    even = _mm512_permutex2var_ps(x, first, y);
    odd = _mm512_permutex2var_ps(x, _mm512_add_epi32(first, _mm512_set1_epi32(1)), y);
}
inline void separate(f64v x, f64v y, f64v& even, f64v& odd) {
    even = _mm512_permutex2var_pd(x, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), y);
    odd = _mm512_permutex2var_pd(x, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), y);
}
#elif defined(__AVX2__)
inline void interleave(f32v x, f32v y, f32v& low, f32v& high) {
    const __m256 even = _mm256_unpacklo_ps(x, y), odd = _mm256_unpackhi_ps(x, y);
    low = _mm256_permute2f128_ps(even, odd, 0x20);
    high = _mm256_permute2f128_ps(even, odd, 0x31);
}
inline void interleave(f64v x, f64v y, f64v& low, f64v& high) {
    const __m256d even = _mm256_unpacklo_pd(x, y), odd = _mm256_unpackhi_pd(x, y);
    low = _mm256_permute2f128_pd(even, odd, 0x20);
    high = _mm256_permute2f128_pd(even, odd, 0x31);
}
inline void separate(f32v x, f32v y, f32v& even, f32v& odd) {
    const __m256d low = _mm256_castps_pd(_mm256_shuffle_ps(x, y, 0x88)), high = _mm256_castps_pd(_mm256_shuffle_ps(x, y, 0xdd));
    even = _mm256_castpd_ps(_mm256_permute4x64_pd(low, 0xd8));
    odd = _mm256_castpd_ps(_mm256_permute4x64_pd(high, 0xd8));
}
inline void separate(f64v x, f64v y, f64v& even, f64v& odd) {
    even = _mm256_permute4x64_pd(_mm256_unpacklo_pd(x, y), 0xd8);
    odd = _mm256_permute4x64_pd(_mm256_unpackhi_pd(x, y), 0xd8);
}
#elif !defined(CLAY_VECTOR_BYTES)
template <class T> void interleave(T, T, T&, T&) {}
#endif

// 4 x 4 numbers, with portable vector code
typedef uint32_t quad32 __attribute__((vector_size(16), aligned(4)));
typedef uint64_t pair64 __attribute__((vector_size(16), aligned(8)));

inline void turn(const float* from, int64_t from_step, float* to, int64_t to_step) {
    typedef uint32_t V __attribute__((vector_size(16)));
    const V a = *(const quad32*)from, b = *(const quad32*)(from + from_step);
    const V c = *(const quad32*)(from + 2 * from_step), d = *(const quad32*)(from + 3 * from_step);
    const V ab = CLAY_SHUFFLE(V, a, b, 0, 4, 1, 5), cd = CLAY_SHUFFLE(V, c, d, 0, 4, 1, 5);
    const V ab2 = CLAY_SHUFFLE(V, a, b, 2, 6, 3, 7), cd2 = CLAY_SHUFFLE(V, c, d, 2, 6, 3, 7);
    *(quad32*)to = CLAY_SHUFFLE(V, ab, cd, 0, 1, 4, 5);
    *(quad32*)(to + to_step) = CLAY_SHUFFLE(V, ab, cd, 2, 3, 6, 7);
    *(quad32*)(to + 2 * to_step) = CLAY_SHUFFLE(V, ab2, cd2, 0, 1, 4, 5);
    *(quad32*)(to + 3 * to_step) = CLAY_SHUFFLE(V, ab2, cd2, 2, 3, 6, 7);
}

inline void turn(const double* from, int64_t from_step, double* to, int64_t to_step) {
    typedef uint64_t V __attribute__((vector_size(16)));
    for (int i = 0; i < 4; i += 2)
        for (int j = 0; j < 4; j += 2) {
            const V a = *(const pair64*)(from + j * from_step + i), b = *(const pair64*)(from + (j + 1) * from_step + i);
            *(pair64*)(to + i * to_step + j) = CLAY_SHUFFLE(V, a, b, 0, 2);
            *(pair64*)(to + (i + 1) * to_step + j) = CLAY_SHUFFLE(V, a, b, 1, 3);
        }
}

// The first m lanes of n <= W rows, as n lanes of m rows: interleaving the first and second half of the rows log2(W) times
// transposes a W x W block.
template <class T>
inline __attribute__((always_inline)) void transpose_block(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t n,
                                                           int64_t m) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    V rows[W], next[W];
    const V zero = splat<V>(0);
#pragma GCC unroll 16
    for (int i = 0; i < W; i++)
        rows[i] = i >= n ? zero : m == W ? load<V>(from + i * from_step) : load_part<V>(from + i * from_step, m, zero);
#pragma GCC unroll 4
    for (int half = 1; half < W; half *= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < W / 2; i++) interleave(rows[i], rows[i + W / 2], next[2 * i], next[2 * i + 1]);
#pragma GCC unroll 16
        for (int i = 0; i < W; i++) rows[i] = next[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < W; i++) {
        if (i >= m) break;
        if (n == W) store<V>(to + i * to_step, rows[i]);
        else store_part<V>(to + i * to_step, rows[i], n);
    }
}

template <int n, class T> void transpose_few(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t m) {
    for (int64_t j = 0; j < m; j++)
        for (int i = 0; i < n; i++) to[j * to_step + i] = from[i * from_step + j];
}

// 4 x 4 blocks, and the remainder one by one
template <class T> void transpose_small(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t n, int64_t m) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const T* at = from + i * from_step;
        int64_t j = 0;
        for (; j + 4 <= m; j += 4) turn(at + j, from_step, to + j * to_step + i, to_step);
        transpose_few<4>(at + j, from_step, to + j * to_step + i, to_step, m - j);
    }
    const T* at = from + i * from_step;
    if (n - i == 1) transpose_few<1>(at, from_step, to + i, to_step, m);
    else if (n - i == 2) transpose_few<2>(at, from_step, to + i, to_step, m);
    else if (n - i == 3) transpose_few<3>(at, from_step, to + i, to_step, m);
}

// to[j to_step + i] = from[i from_step + j] for i < n, j < m
template <class T> void transpose_inline(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t n, int64_t m) {
    constexpr int64_t W = Lanes<vec<T>>::width;
    constexpr bool by_masks = W * sizeof(T) == 64;       // masked stores are as fast as full ones
    if (n == 1 && to_step == 1) {
        memcpy(to, from, m * sizeof(T));
        return;
    }
    if (W == 1 || n < 4 || m == 1) return transpose_small(from, from_step, to, to_step, n, m);
    const int64_t rows = by_masks ? n : n - n % W, columns = by_masks ? m : m - m % W;
    for (int64_t i = 0; i < rows; i += W)
        for (int64_t j = 0; j < columns; j += W) {
            const T* at = from + i * from_step + j;
            T* out = to + j * to_step + i;
            if (n - i >= W && m - j >= W) transpose_block<T>(at, from_step, out, to_step, W, W);
            else transpose_block<T>(at, from_step, out, to_step, n - i < W ? n - i : W, m - j < W ? m - j : W);
        }
    if (columns < m) transpose_small(from + columns, from_step, to + columns * to_step, to_step, rows, m - columns);
    if (rows < n) transpose_small(from + rows * from_step, from_step, to + rows, to_step, n - rows, m);
}
// The same for all but a few vectors: it is long and many files use it, so it is compiled once, in copy/transpose.cpp.
template <class T> void transpose(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t n, int64_t m);

}  // namespace CLAY_ISA
}  // namespace clay
