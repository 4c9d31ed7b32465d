// float16 and bfloat16: conversion to float and back, rounded to nearest even.
#pragma once
#include <string.h>

#include <type_traits>

#include "simd/vec.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

struct Half {
    uint16_t bits;
    explicit operator float() const;
};
struct Bf16 {
    uint16_t bits;
    explicit operator float() const;
};

inline uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

inline Bf16::operator float() const { return float_of((uint32_t)bits << 16); }
inline Half::operator float() const {
    // Moves the exponent to its position in a float; the subtraction normalizes subnormal numbers.
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, size = (uint32_t)(bits & 0x7fff) << 13;
    const float normal = float_of(size + ((127 - 15) << 23)), small = float_of(size + (113 << 23)) - float_of(113 << 23);
    const float large = float_of(size | 0x7f800000);
    const float found = size >= 0x0f800000 ? large : size < 0x00800000 ? small : normal;
    return float_of(bits_of(found) | sign);
}

// Rounded to even
inline Bf16 bf16_of(float x) {
    const uint32_t bits = bits_of(x), even = bits + 0x7fff + (bits >> 16 & 1);
    return {(uint16_t)((x != x ? (bits | 0x7fffffff) & 0xffc00000 : even) >> 16)};
}
inline Half half_of(float x) {
    const uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return {(uint16_t)(sign | 0x7e00)};
    if (size >= 0x477ff000) return {(uint16_t)(sign | 0x7c00)};
    // Results below the smallest normal number are rounded by an addition, chosen so that the sum's last bit is that of the result.
    if (size < 0x38800000) return {(uint16_t)(sign | (bits_of(float_of(size) + 0.5f) - 0x3f000000))};
    return {(uint16_t)(sign | ((size - ((127 - 15) << 23) + 0xfff + (size >> 13 & 1)) >> 13))};
}

// A vector to floats and back; or the first n < width lanes, the others undefined.
#if defined(__AVX512F__)
inline f32v widened(__m256i x, Half) { return _mm512_cvtph_ps(x); }
inline f32v widened(__m256i x, Bf16) { return (f32v)_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16); }
inline __m256i narrowed(f32v x, Half) { return _mm512_cvtps_ph(x, 0); }
inline __m256i narrowed(f32v x, Bf16) {
    const __m512i bits = (__m512i)x, odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i even = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __m512i nan = _mm512_and_si512(_mm512_or_si512(bits, _mm512_set1_epi32(0x7fffffff)), _mm512_set1_epi32((int)0xffc00000));
    const __m512i selected = _mm512_mask_mov_epi32(even, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), nan);
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(selected, 16));
}
template <class V, class H> V get_half(const H* p, int64_t n) {
    return widened(n == 16 ? _mm256_loadu_si256((const __m256i*)p) : _mm256_maskz_loadu_epi16((__mmask16)((1u << n) - 1), p), H{});
}
template <class V, class H> void put_half(H* p, V v, int64_t n) {
    if (n == 16) _mm256_storeu_si256((__m256i*)p, narrowed(v, H{}));
    else _mm256_mask_storeu_epi16(p, (__mmask16)((1u << n) - 1), narrowed(v, H{}));
}
#elif defined(__AVX2__)
inline f32v widened(__m128i x, Half) { return _mm256_cvtph_ps(x); }
inline f32v widened(__m128i x, Bf16) { return (f32v)_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16); }
inline __m128i narrowed(f32v x, Half) { return _mm256_cvtps_ph(x, 0); }
inline __m128i narrowed(f32v x, Bf16) {
    const __m256i bits = (__m256i)x, odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i even = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i nan = _mm256_and_si256(_mm256_or_si256(bits, _mm256_set1_epi32(0x7fffffff)), _mm256_set1_epi32((int)0xffc00000));
    const __m256i selected = _mm256_srli_epi32(_mm256_blendv_epi8(even, nan, (__m256i)_mm256_cmp_ps(x, x, _CMP_UNORD_Q)), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(selected), _mm256_extracti128_si256(selected, 1));
}
template <class V, class H> V get_half(const H* p, int64_t n) {
    __m128i x = _mm_setzero_si128();
    if (n == 8) x = _mm_loadu_si128((const __m128i*)p);
    else memcpy(&x, p, (size_t)n * 2);
    return widened(x, H{});
}
template <class V, class H> void put_half(H* p, V v, int64_t n) {
    const __m128i x = narrowed(v, H{});
    if (n == 8) _mm_storeu_si128((__m128i*)p, x);
    else memcpy(p, &x, (size_t)n * 2);
}
#elif defined(CLAY_VECTOR_BYTES)
inline Half narrow(float x, Half) { return half_of(x); }
inline Bf16 narrow(float x, Bf16) { return bf16_of(x); }
template <class V, class H> V get_half(const H* p, int64_t n) {
    V out = splat<V>(0);
#if defined(__ARM_NEON)
    if (std::is_same<H, Half>::value && n == 4) return (V)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&p->bits)));
#endif
    for (int i = 0; i < 4; i++)
        if (i < n) out[i] = (float)p[i];
    return out;
}
template <class V, class H> void put_half(H* p, V v, int64_t n) {
#if defined(__ARM_NEON)
    if (std::is_same<H, Half>::value && n == 4) return vst1_u16(&p->bits, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)v)));
#endif
    for (int i = 0; i < 4; i++)
        if (i < n) p[i] = narrow(v[i], H{});
}
#else
template <class V, class H> V get_half(const H* p, int64_t) { return (float)*p; }
template <class V> void put_half(Half* p, V v, int64_t) { *p = half_of(v); }
template <class V> void put_half(Bf16* p, V v, int64_t) { *p = bf16_of(v); }
#endif

inline void floats_from(const Bf16* x, float* out, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = (float)x[i];
}
inline void floats_from(const Half* x, float* out, int64_t n) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16) _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)(x + i))));
#endif
#if defined(__AVX2__)
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(x + i))));
#endif
#if defined(CLAY_VECTOR_BYTES) && defined(__ARM_NEON)
    for (; i + 4 <= n; i += 4) vst1q_f32(out + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&x[i].bits))));
#endif
#pragma GCC ivdep
    for (; i < n; i++) out[i] = (float)x[i];
}

inline void half_from(const float* x, Half* out, int64_t n) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16) _mm256_storeu_si256((__m256i*)(out + i), _mm512_cvtps_ph(_mm512_loadu_ps(x + i), 0));
#endif
#if defined(__AVX2__)
    for (; i + 8 <= n; i += 8) _mm_storeu_si128((__m128i*)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), 0));
#elif defined(CLAY_VECTOR_BYTES) && defined(__ARM_NEON)
    for (; i + 4 <= n; i += 4) put_half<f32v>(out + i, load<f32v>(x + i), 4);
#endif
    for (; i < n; i++) out[i] = half_of(x[i]);
}

#if defined(__AVX2__)
// The upper 16 bits, rounded to nearest even; NaN, which rounding could turn into infinity, is handled separately.
inline __m256i upper_bits(__m256 x) {
    const __m256i bits = _mm256_castps_si256(x), odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
}
#endif
inline void half_from(const float* x, Bf16* out, int64_t n) {
    int64_t i = 0;
#if defined(__AVX2__)
    for (; i + 16 <= n; i += 16) {
        const __m256 a = _mm256_loadu_ps(x + i), b = _mm256_loadu_ps(x + i + 8);
        if (__builtin_expect(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q)), 0)) {
            for (int64_t k = i; k < i + 16; k++) out[k] = bf16_of(x[k]);
            continue;
        }
        const __m256i both = _mm256_packus_epi32(upper_bits(a), upper_bits(b));     // quarters of a and b alternate
        _mm256_storeu_si256((__m256i*)(out + i), _mm256_permute4x64_epi64(both, 0xd8));
    }
#endif
#pragma GCC ivdep
    for (; i < n; i++) out[i] = bf16_of(x[i]);
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
