// Half-precision numbers, and as floats.
#pragma once
#include <string.h>

#include "vec.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

struct Half {
    uint16_t bits;
    explicit operator float() const;
};
struct Brain {
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

inline Brain::operator float() const { return float_of((uint32_t)bits << 16); }
inline Half::operator float() const {
    // The exponent moved to its place; what was subnormal is made normal by the subtraction.
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, size = (uint32_t)(bits & 0x7fff) << 13;
    const float normal = float_of(size + ((127 - 15) << 23)), small = float_of(size + (113 << 23)) - float_of(113 << 23);
    const float large = float_of(size | 0x7f800000);
    const float found = size >= 0x0f800000 ? large : size < 0x00800000 ? small : normal;
    return float_of(bits_of(found) | sign);
}

// Rounded to even
inline Brain brain_of(float x) {
    const uint32_t bits = bits_of(x), even = bits + 0x7fff + (bits >> 16 & 1);
    return {(uint16_t)((x != x ? (bits | 0x7fffffff) & 0xffc00000 : even) >> 16)};
}

inline void floats_from(const Brain* x, float* out, int64_t n) {
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
#pragma GCC ivdep
    for (; i < n; i++) out[i] = (float)x[i];
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
