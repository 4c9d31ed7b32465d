// bfloat16 in pairs of 32 bits, for the instructions of AVX-512 that multiply both and add the two products to a float.
#pragma once
#include "simd/half.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

typedef uint32_t Pair;
using Numbers = __m512i;                 // 32 of bfloat16, or 16 pairs

inline __mmask32 first(int64_t n) { return n >= 32 ? ~(__mmask32)0 : (__mmask32)((1u << n) - 1); }
inline Numbers load_bf16(const Bf16* x) { return _mm512_loadu_si512(x); }
inline Numbers load_bf16(const Bf16* x, int64_t n) { return _mm512_maskz_loadu_epi16(first(n), x); }

// Two products in every lane, added to the sum
inline f32v pairs_added(Numbers x, Numbers y, f32v sum) { return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)y); }

// Numbers of x with those of y, as pairs: of the first sixteen, and of the others
inline void paired(Numbers x, Numbers y, Numbers& low, Numbers& high) {
    const Numbers step = _mm512_set_epi32(0x2f000f, 0x2e000e, 0x2d000d, 0x2c000c, 0x2b000b, 0x2a000a, 0x290009, 0x280008, 0x270007,
                                          0x260006, 0x250005, 0x240004, 0x230003, 0x220002, 0x210001, 0x200000);
    low = _mm512_permutex2var_epi16(x, step, y);
    high = _mm512_permutex2var_epi16(x, _mm512_add_epi16(step, _mm512_set1_epi16(16)), y);
}
inline Numbers pair_in_all(Pair pair) { return _mm512_set1_epi32((int)pair); }

// 16 pairs, at a multiple of 64 bytes
inline Numbers load_pairs(const Pair* from) { return _mm512_load_si512(from); }
inline void store_pairs(Pair* to, Numbers x) { _mm512_store_si512(to, x); }
// Eight to one address and eight to another
inline void store_apart(Pair* low, Pair* high, Numbers x) {
    _mm256_storeu_si256((__m256i*)low, _mm512_castsi512_si256(x));
    _mm256_storeu_si256((__m256i*)high, _mm512_extracti64x4_epi64(x, 1));
}

// The first n numbers of a result of either type
inline f32v floats(const float* x, int64_t n) { return _mm512_maskz_loadu_ps((__mmask16)first(n), x); }
inline f32v floats(const Bf16* x, int64_t n) {
    return (f32v)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16((__mmask16)first(n), x)), 16);
}
inline void put(float* to, f32v v, int64_t n) {
    if (n >= 16) _mm512_storeu_ps(to, v);
    else _mm512_mask_storeu_ps(to, (__mmask16)first(n), v);
}
inline void put(Bf16* to, f32v v, int64_t n) {
    const __m256i out = (__m256i)_mm512_cvtneps_pbh(v);
    if (n >= 16) _mm256_storeu_si256((__m256i*)to, out);
    else _mm256_mask_storeu_epi16(to, (__mmask16)first(n), out);
}
inline f32v sum_in_all(f32v x) { return _mm512_set1_ps(_mm512_reduce_add_ps(x)); }

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
