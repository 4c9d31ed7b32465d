// Vectors whose lanes are read from indices.
#pragma once
#include "simd/lanes.hpp"

namespace clay {
namespace CLAY_ISA {

// An index has the width of an element, so that loops over both vectorise.
template <class T> struct IndexOf { using type = int64_t; };
template <> struct IndexOf<float> { using type = int32_t; };

// from[index[i]] in lane i
template <class T> CLAY_INLINE vec<T> gather(const T* from, const typename IndexOf<T>::type* index) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) return (vec<T>)_mm512_i32gather_ps(_mm512_loadu_si512(index), from, 4);
    else return (vec<T>)_mm512_i64gather_pd(_mm512_loadu_si512(index), from, 8);
#elif defined(__AVX2__)
    const __m256i at = _mm256_loadu_si256((const __m256i*)index), all = _mm256_set1_epi64x(-1);
    if constexpr (sizeof(T) == 4) return (vec<T>)_mm256_mask_i32gather_ps(_mm256_setzero_ps(), from, at, _mm256_castsi256_ps(all), 4);
    else return (vec<T>)_mm256_mask_i64gather_pd(_mm256_setzero_pd(), from, at, _mm256_castsi256_pd(all), 8);
#elif defined(CLAY_VECTOR_BYTES)
    vec<T> out;
    for (int i = 0; i < Lanes<vec<T>>::width; i++) out[i] = from[index[i]];
    return out;
#else
    return from[*index];
#endif
}

// from[index[i]] in lane i of x, from[index[i] + 1] in lane i of y
template <class T> CLAY_INLINE void gather_pairs(const T* from, const typename IndexOf<T>::type* index, vec<T>* x, vec<T>* y) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
        const __m256i first = _mm256_loadu_si256((const __m256i*)index), second = _mm256_loadu_si256((const __m256i*)(index + 8));
        const V low = (V)_mm512_i32gather_pd(first, (const double*)from, 4), high = (V)_mm512_i32gather_pd(second, (const double*)from, 4);
        separate(low, high, *x, *y);
        return;
    }
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4) {
        const __m128i first = _mm_loadu_si128((const __m128i*)index), second = _mm_loadu_si128((const __m128i*)(index + 4));
        const __m256d none = _mm256_setzero_pd(), all = _mm256_castsi256_pd(_mm256_set1_epi64x(-1));
        const V low = (V)_mm256_mask_i32gather_pd(none, (const double*)from, first, all, 4);
        const V high = (V)_mm256_mask_i32gather_pd(none, (const double*)from, second, all, 4);
        separate(low, high, *x, *y);
        return;
    }
#elif defined(CLAY_VECTOR_BYTES)
    if constexpr (sizeof(T) == 4) {                      // a pair is half a vector
        const V low = load_two<V>(from + index[0], from + index[1]), high = load_two<V>(from + index[2], from + index[3]);
        separate(low, high, *x, *y);
        return;
    }
#endif
    T one[W], two[W];
    for (int i = 0; i < W; i++) one[i] = from[index[i]], two[i] = from[index[i] + 1];
    *x = load<V>(one);
    *y = load<V>(two);
}

}  // namespace CLAY_ISA
}  // namespace clay
