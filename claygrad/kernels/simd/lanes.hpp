// The lanes of vectors in another order: reversed, apart, exchanged, added up.
#pragma once
#include <string.h>

#include "simd/transpose.hpp"

#define CLAY_INLINE inline __attribute__((always_inline))

namespace clay {
namespace CLAY_ISA {

// The lanes in reverse order; and `separate` and `interleave` of reversed vectors
#if defined(__AVX512F__)
CLAY_INLINE f32v reversed(f32v x) {
    return _mm512_permutexvar_ps(_mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), x);
}
CLAY_INLINE f64v reversed(f64v x) { return _mm512_permutexvar_pd(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), x); }
CLAY_INLINE void separate_reversed(f32v x, f32v y, f32v& even, f32v& odd) {
    const __m512i from = _mm512_setr_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    even = _mm512_permutex2var_ps(x, from, y);
    odd = _mm512_permutex2var_ps(x, _mm512_add_epi32(from, _mm512_set1_epi32(1)), y);
}
CLAY_INLINE void separate_reversed(f64v x, f64v y, f64v& even, f64v& odd) {
    even = _mm512_permutex2var_pd(x, _mm512_setr_epi64(14, 12, 10, 8, 6, 4, 2, 0), y);
    odd = _mm512_permutex2var_pd(x, _mm512_setr_epi64(15, 13, 11, 9, 7, 5, 3, 1), y);
}
CLAY_INLINE void interleave_reversed(f32v x, f32v y, f32v& low, f32v& high) {
    const __m512i from = _mm512_setr_epi32(15, 31, 14, 30, 13, 29, 12, 28, 11, 27, 10, 26, 9, 25, 8, 24);
    low = _mm512_permutex2var_ps(x, from, y);
    high = _mm512_permutex2var_ps(x, _mm512_sub_epi32(from, _mm512_set1_epi32(8)), y);
}
CLAY_INLINE void interleave_reversed(f64v x, f64v y, f64v& low, f64v& high) {
    low = _mm512_permutex2var_pd(x, _mm512_setr_epi64(7, 15, 6, 14, 5, 13, 4, 12), y);
    high = _mm512_permutex2var_pd(x, _mm512_setr_epi64(3, 11, 2, 10, 1, 9, 0, 8), y);
}
#elif defined(__AVX2__)
CLAY_INLINE f32v reversed(f32v x) { return _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0)); }
CLAY_INLINE f64v reversed(f64v x) { return _mm256_permute4x64_pd(x, 0x1b); }
#elif defined(CLAY_VECTOR_BYTES)
CLAY_INLINE f32v reversed(f32v x) { return CLAY_SHUFFLE(bits32v, x, x, 3, 2, 1, 0); }
CLAY_INLINE f64v reversed(f64v x) { return CLAY_SHUFFLE(bits64v, x, x, 1, 0); }
#endif
#if defined(CLAY_VECTOR_BYTES) && !defined(__AVX512F__)
template <class V> CLAY_INLINE void separate_reversed(V x, V y, V& even, V& odd) {
    separate(x, y, even, odd);
    even = reversed(even), odd = reversed(odd);
}
template <class V> CLAY_INLINE void interleave_reversed(V x, V y, V& low, V& high) {
    interleave(reversed(x), reversed(y), low, high);
}
#endif

// Two vectors exchange lanes: lane i of x with bit B set in i is exchanged with lane i - B of y.
#if defined(__AVX512F__)
template <int B> CLAY_INLINE void exchange(f32v& x, f32v& y) {
    const __m512 a = x, b = y;
    if (B == 1) {
        x = _mm512_mask_moveldup_ps(a, 0xaaaa, b);
        y = _mm512_mask_movehdup_ps(b, 0x5555, a);
    } else if (B == 2) {
        x = (f32v)_mm512_unpacklo_pd((__m512d)a, (__m512d)b);
        y = (f32v)_mm512_unpackhi_pd((__m512d)a, (__m512d)b);
    } else if (B == 4) {
        x = _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27), b);
        y = _mm512_permutex2var_ps(a, _mm512_setr_epi32(4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31), b);
    } else {
        x = _mm512_shuffle_f32x4(a, b, 0x44);
        y = _mm512_shuffle_f32x4(a, b, 0xee);
    }
}
template <int B> CLAY_INLINE void exchange(f64v& x, f64v& y) {
    const __m512d a = x, b = y;
    if (B == 1) {
        x = _mm512_unpacklo_pd(a, b);
        y = _mm512_unpackhi_pd(a, b);
    } else if (B == 2) {
        x = _mm512_permutex2var_pd(a, _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), b);
        y = _mm512_permutex2var_pd(a, _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), b);
    } else {
        x = _mm512_shuffle_f64x2(a, b, 0x44);
        y = _mm512_shuffle_f64x2(a, b, 0xee);
    }
}
#elif defined(__AVX2__)
template <int B> CLAY_INLINE void exchange(f32v& x, f32v& y) {
    const __m256 a = x, b = y;
    if (B == 1) {
        x = _mm256_blend_ps(a, _mm256_moveldup_ps(b), 0xaa);
        y = _mm256_blend_ps(_mm256_movehdup_ps(a), b, 0xaa);
    } else if (B == 2) {
        x = (f32v)_mm256_unpacklo_pd((__m256d)a, (__m256d)b);
        y = (f32v)_mm256_unpackhi_pd((__m256d)a, (__m256d)b);
    } else {
        x = _mm256_permute2f128_ps(a, b, 0x20);
        y = _mm256_permute2f128_ps(a, b, 0x31);
    }
}
template <int B> CLAY_INLINE void exchange(f64v& x, f64v& y) {
    const __m256d a = x, b = y;
    x = B == 1 ? _mm256_unpacklo_pd(a, b) : _mm256_permute2f128_pd(a, b, 0x20);
    y = B == 1 ? _mm256_unpackhi_pd(a, b) : _mm256_permute2f128_pd(a, b, 0x31);
}
#elif defined(CLAY_VECTOR_BYTES)
template <int B> CLAY_INLINE void exchange(f32v& x, f32v& y) {
    const f32v a = x, b = y;
    x = B == 1 ? CLAY_SHUFFLE(bits32v, a, b, 0, 4, 2, 6) : CLAY_SHUFFLE(bits32v, a, b, 0, 1, 4, 5);
    y = B == 1 ? CLAY_SHUFFLE(bits32v, a, b, 1, 5, 3, 7) : CLAY_SHUFFLE(bits32v, a, b, 2, 3, 6, 7);
}
template <int B> CLAY_INLINE void exchange(f64v& x, f64v& y) {
    const f64v a = x, b = y;
    x = CLAY_SHUFFLE(bits64v, a, b, 0, 2), y = CLAY_SHUFFLE(bits64v, a, b, 1, 3);
}
#else
template <int B, class T> void exchange(T&, T&) {}
#endif

// For a vector of doubles: the cumulative sums of its lanes, and the last lane broadcast to all
#if defined(__AVX512F__)
inline f64v last_of(f64v v) { return _mm512_permutexvar_pd(_mm512_set1_epi64(7), v); }
inline f64v running(f64v v) {
    v = v + (f64v)_mm512_maskz_permutexvar_pd(0xfe, _mm512_set_epi64(6, 5, 4, 3, 2, 1, 0, 0), v);
    v = v + (f64v)_mm512_maskz_permutexvar_pd(0xfc, _mm512_set_epi64(5, 4, 3, 2, 1, 0, 0, 0), v);
    return v + (f64v)_mm512_maskz_permutexvar_pd(0xf0, _mm512_set_epi64(3, 2, 1, 0, 0, 0, 0, 0), v);
}
#elif defined(__AVX2__)
inline f64v last_of(f64v v) { return _mm256_permute4x64_pd(v, 0xff); }
// Within each 128 bits first: instructions that cross them take twice as long.
inline f64v running(f64v v) {
    v = v + (f64v)_mm256_unpacklo_pd(_mm256_setzero_pd(), v);
    const __m256d lower = _mm256_permute2f128_pd(v, v, 0x08);              // the lower half in the upper one, zeros in the lower
    return v + (f64v)_mm256_unpackhi_pd(lower, lower);
}
#elif defined(CLAY_VECTOR_BYTES)
inline f64v last_of(f64v v) { return f64v{v[1], v[1]}; }
inline f64v running(f64v v) { return v + f64v{0, v[0]}; }
#endif

// A vector of half a vector from each of two addresses
template <class V> CLAY_INLINE V load_two(const void* x, const void* y) {
#if defined(__AVX512F__)
    const __m512d low = _mm512_castpd256_pd512(_mm256_loadu_pd((const double*)x));
    return (V)_mm512_insertf64x4(low, _mm256_loadu_pd((const double*)y), 1);
#elif defined(__AVX2__)
    return (V)_mm256_loadu2_m128d((const double*)y, (const double*)x);
#else
    V both;
    memcpy(&both, x, sizeof both / 2), memcpy((char*)&both + sizeof both / 2, y, sizeof both / 2);
    return both;
#endif
}

}  // namespace CLAY_ISA
}  // namespace clay
