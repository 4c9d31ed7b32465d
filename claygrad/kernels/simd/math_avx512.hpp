// The functions of simd/math_f32.hpp for AVX-512, which scales by a power of two, and looks up a table of 16 floats, in one instruction.
#pragma once
#include "simd/math_tables.hpp"

namespace clay {
namespace CLAY_ISA {

// x * 2**n for whole n, subnormal results rounded once
inline f32v times_power_of_two(f32v x, f32v n) { return _mm512_scalef_ps(x, n); }

inline f32v looked_up(const float (&table)[16], f32v sum) {            // the index is in the last four bits
    return _mm512_permutexvar_ps(_mm512_castps_si512(sum), _mm512_load_ps(table));
}

// Note [Sixteenths]
// Floats near 1.5 * 2**19 are multiples of 1/16. Adding that constant to x / ln 2 therefore rounds it to a multiple n of 1/16, whose
// fraction is in the last four bits of the sum. 2**n is then a table lookup for the fraction and a change of the exponent for the
// whole part. The remainder r = x - n ln 2 is at most ln 2 / 32, for which a cubic polynomial of exp(r) is exact enough.
constexpr double SIXTEENTHS = 1.5 * (1 << 19);

// e**r * 2**n for n = sum - SIXTEENTHS; subnormal results are rounded once.
// FINEST: adds the rounding errors of the table's powers
template <bool FINEST = false> f32v times_power_of_sum(f32v r, f32v sum, f32v n) {
    using V = f32v;
    const V power = looked_up(POWERS_TABLE, sum);
    const V more = multiply_add(multiply_add(r, splat<V>(1.0 / 6), splat<V>(0.5)), r * r, r);
    if (FINEST) return _mm512_scalef_ps(power + multiply_add(power, more, looked_up(POWERS_LOST, sum)), n);
    return _mm512_scalef_ps(multiply_add(power, more, power), n);        // scalef uses the whole part of n
}

// exp(x), or exp(-x), for x from -104 to 89. FINE: ln 2 is split in two parts, so that n times the first is exact. Without it the result
// is as good down to x = -20, and below that good enough for callers that add something larger.
template <bool FINE, bool NEGATIVE = false, bool FINEST = false> f32v exp_bounded(f32v x) {
    using V = f32v;
    const V sum = multiply_add(x, splat<V>(NEGATIVE ? -LOG2_E : LOG2_E), splat<V>(SIXTEENTHS)), n = sum - splat<V>(SIXTEENTHS);
    const V ln_2 = splat<V>(FINE ? 0.693145751953125 : 0.693147180559945309);
    const V r = NEGATIVE ? _mm512_fnmsub_ps(n, ln_2, x) : _mm512_fnmadd_ps(n, ln_2, x);
    return times_power_of_sum<FINEST>(FINE ? multiply_add(n, splat<V>(-1.42860682030941723e-6), r) : r, sum, n);
}

// Below -104 the result is 0, above 89 it is inf; NaN propagates.
inline f32v exp(f32v x) { return exp_bounded<true>(larger(splat<f32v>(-104), smaller(splat<f32v>(89), x))); }
inline f32v exp2(f32v x) {
    using V = f32v;
    const V bounded = larger(splat<V>(-151), smaller(splat<V>(129), x));
    const V sum = bounded + splat<V>(SIXTEENTHS), n = sum - splat<V>(SIXTEENTHS);
    return times_power_of_sum((bounded - n) * splat<V>(0.693147180559945309), sum, n);
}
inline f32v exp_finest(f32v x) { return exp_bounded<true, false, true>(larger(splat<f32v>(-104), x)); }       // for x <= 0
inline f32v exp_down(f32v x) { return exp_bounded<false>(larger(splat<f32v>(-104), x)); }        // for x <= 89
inline f32v sigmoid_divisor(f32v x) {
    return splat<f32v>(1) + exp_bounded<true, true>(larger(splat<f32v>(-89), smaller(splat<f32v>(104), x)));
}

inline f32v expm1(f32v x) {
    using V = f32v;
    const V bounded = larger(splat<V>(-104), smaller(splat<V>(89), x)), n = rint(bounded * splat<V>(LOG2_E));
    const V half = times_power_of_two(splat<V>(0.5), n);                // 2**n itself may overflow
    const V sum = multiply_add(half, exponential(bounded, n), half - splat<V>(0.5));
    return select(abs(x) < splat<V>(1e-8), x, sum + sum);
}

// An odd function that is constant beyond 15 intervals: a polynomial for each interval, around its middle (tools/fit_tables.py). A
// register holds one coefficient for all intervals, and the interval is found by rounding, as in Note [Sixteenths].
template <int N> inline f32v by_table(const float (&table)[N][16], const float (&lost)[16], float width, f32v x) {
    using V = f32v;
    constexpr double WHOLE = 1.5 * (1 << 23);
    const V size = smaller(splat<V>(15 * width), abs(x)), sum = multiply_add(size, splat<V>(1 / width), splat<V>(WHOLE));
    const V t = multiply_add(sum - splat<V>(WHOLE), splat<V>(-width), size);
    V p = looked_up(table[N - 1], sum);
    for (int power = N - 2; power > 0; power--) p = multiply_add(p, t, looked_up(table[power], sum));
    return with_sign(looked_up(table[0], sum) + multiply_add(p, t, looked_up(lost, sum)), x);
}

inline f32v tanh(f32v x) { return by_table(TANH_TABLE, TANH_LOST, TANH_WIDTH, x); }
// Near 0 the table would lose digits to cancellation, so a polynomial is used.
inline f32v erf(f32v x) {
    using V = f32v;
    const V u = x * x;
    V p = splat<V>(0.004877673927694559);
    p = multiply_add(p, u, splat<V>(-0.026815757155418396));
    p = multiply_add(p, u, splat<V>(0.11283490061759949));
    p = multiply_add(p, u, splat<V>(-0.37612631916999817));
    p = multiply_add(p, u, splat<V>(0.12837916612625122));              // 2 / sqrt(pi) - 1; the x is added at the end
    return select(abs(x) < splat<V>(0.405), multiply_add(p, x, x), by_table(ERF_TABLE, ERF_LOST, ERF_WIDTH, x));
}
// The distribution function of the normal distribution
inline f32v normal_cdf(f32v x) { return splat<f32v>(0.5) + by_table(NORMAL_TABLE, NORMAL_LOST, NORMAL_WIDTH, x); }
// The derivative of gelu; NaN at infinity, where its formula has 0 * inf
inline f32v gelu_slope(f32v x) {
    return multiply_add(x, splat<f32v>(0), splat<f32v>(0.5)) + by_table(GELU_SLOPE_TABLE, GELU_SLOPE_LOST, GELU_SLOPE_WIDTH, x);
}

}  // namespace CLAY_ISA
}  // namespace clay
