// What vmath_f32.hpp promises, with the instructions of AVX-512: powers of two in one, and tables of 32 in another.
#pragma once
#include "vmath_tables.hpp"

namespace clay {
namespace CLAY_ISA {

// x * 2**n for whole n, subnormal results rounded once
inline f32v times_power_of_two(f32v x, f32v n) { return _mm512_scalef_ps(x, n); }

inline f32v bounded_exponent(f32v x) {                                 // beyond it is 0 or inf; a NaN passes through
    return larger(splat<f32v>(-104), smaller(splat<f32v>(89), x));
}

inline f32v exp(f32v x) {
    x = bounded_exponent(x);
    const f32v n = rint(x * splat<f32v>(LOG2_E));
    return times_power_of_two(exponential(x, n) + splat<f32v>(1), n);
}

inline f32v expm1(f32v x) {
    using V = f32v;
    const V bounded = bounded_exponent(x), n = rint(bounded * splat<V>(LOG2_E));
    const V half = times_power_of_two(splat<V>(0.5), n);               // half of the power: the whole may be too large
    const V sum = multiply_add(half, exponential(bounded, n), half - splat<V>(0.5));
    return pick(abs(x) < splat<V>(1e-8), x, sum + sum);
}

// An odd function that is constant from 15 on, by the polynomial of the interval that x lies in (tools/fit_tables.py): two registers
// hold a coefficient for all 32 intervals, and one instruction looks 16 of them up.
inline f32v by_table(const float (&table)[7][32], f32v x) {
    const f32v size = smaller(splat<f32v>(15), abs(x));
    const __m512i first = _mm512_set1_epi32(492);
    const __m512i interval = _mm512_max_epi32(_mm512_srli_epi32(_mm512_castps_si512(size), 21), first);
    const __mmask16 beyond = _mm512_cmpgt_epi32_mask(interval, first);
    const f32v t = size - _mm512_castsi512_ps(_mm512_maskz_slli_epi32(beyond, interval, 21));
    auto coefficient = [&](int power) {
        return (f32v)_mm512_permutex2var_ps(_mm512_load_ps(table[power]), interval, _mm512_load_ps(table[power] + 16));
    };
    f32v p = coefficient(6);
    for (int power = 5; power > 0; power--) p = multiply_add(p, t, coefficient(power));
    return with_sign(multiply_add(p, t, _mm512_mask_mov_ps(size, beyond, coefficient(0))), x);
}

inline f32v tanh(f32v x) { return by_table(TANH_TABLE, x); }
inline f32v erf(f32v x) { return by_table(ERF_TABLE, x); }
// the derivative of gelu; NaN at infinity, where its formula has 0 * inf
inline f32v gelu_slope(f32v x) { return multiply_add(x, splat<f32v>(0), splat<f32v>(0.5)) + by_table(GELU_SLOPE_TABLE, x); }

}  // namespace CLAY_ISA
}  // namespace clay
