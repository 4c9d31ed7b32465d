// What simd/math_f32.hpp promises, with the instructions of AVX-512: powers of two in one, and tables of 16 in another.
#pragma once
#include "simd/math_tables.hpp"

namespace clay {
namespace CLAY_ISA {

// x * 2**n for whole n, subnormal results rounded once
inline f32v times_power_of_two(f32v x, f32v n) { return _mm512_scalef_ps(x, n); }

inline f32v looked_up(const float (&table)[16], f32v sum) {            // by the last four bits
    return _mm512_permutexvar_ps(_mm512_castps_si512(sum), _mm512_load_ps(table));
}

// Note [Sixteenths]
// A float of 1.5 * 2**19 has four binary digits after the point: what is added to it is rounded to sixteenths, whose number stands
// in the last bits. So x / ln 2 becomes n, its power of two comes out of a register of sixteen and from the exponent, and of
// what is left of x, at most ln 2 / 32, a cubic is enough.
constexpr double SIXTEENTHS = 1.5 * (1 << 19);

// e**r * 2**n for n = sum - SIXTEENTHS; subnormal results are rounded once.
// FINEST: with what the powers of the table lose as floats
template <bool FINEST = false> f32v times_power_of_sum(f32v r, f32v sum, f32v n) {
    using V = f32v;
    const V power = looked_up(POWERS_TABLE, sum);
    const V more = multiply_add(multiply_add(r, splat<V>(1.0 / 6), splat<V>(0.5)), r * r, r);
    if (FINEST) return _mm512_scalef_ps(power + multiply_add(power, more, looked_up(POWERS_LOST, sum)), n);
    return _mm512_scalef_ps(multiply_add(power, more, power), n);        // by its whole part
}

// exp(x), or exp(-x), for x from -104 to 89. FINE: ln 2 in two parts, of which n times the first is exact; one is as good down to -20
// and good enough below, where what is larger is added.
template <bool FINE, bool NEGATIVE = false, bool FINEST = false> f32v exp_bounded(f32v x) {
    using V = f32v;
    const V sum = multiply_add(x, splat<V>(NEGATIVE ? -LOG2_E : LOG2_E), splat<V>(SIXTEENTHS)), n = sum - splat<V>(SIXTEENTHS);
    const V ln_2 = splat<V>(FINE ? 0.693145751953125 : 0.693147180559945309);
    const V r = NEGATIVE ? _mm512_fnmsub_ps(n, ln_2, x) : _mm512_fnmadd_ps(n, ln_2, x);
    return times_power_of_sum<FINEST>(FINE ? multiply_add(n, splat<V>(-1.42860682030941723e-6), r) : r, sum, n);
}

// Beyond -104 and 89 it is 0 or inf; a NaN passes through.
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
    const V half = times_power_of_two(splat<V>(0.5), n);                // half of the power: the whole may be too large
    const V sum = multiply_add(half, exponential(bounded, n), half - splat<V>(0.5));
    return select(abs(x) < splat<V>(1e-8), x, sum + sum);
}

// An odd function that is constant from 15 intervals on, by the polynomial of the interval whose middle is next to x
// (tools/fit_tables.py): a register holds a coefficient for all of them. Found as a sixteenth is, above.
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
// In the first intervals the sum would be smaller than its terms.
inline f32v erf(f32v x) {
    using V = f32v;
    const V u = x * x;
    V p = splat<V>(0.004877673927694559);
    p = multiply_add(p, u, splat<V>(-0.026815757155418396));
    p = multiply_add(p, u, splat<V>(0.11283490061759949));
    p = multiply_add(p, u, splat<V>(-0.37612631916999817));
    p = multiply_add(p, u, splat<V>(0.12837916612625122));              // 2 / sqrt(pi) is this and 1
    return select(abs(x) < splat<V>(0.405), multiply_add(p, x, x), by_table(ERF_TABLE, ERF_LOST, ERF_WIDTH, x));
}
// The share of a normal distribution below x
inline f32v normal_cdf(f32v x) { return splat<f32v>(0.5) + by_table(NORMAL_TABLE, NORMAL_LOST, NORMAL_WIDTH, x); }
// the derivative of gelu; NaN at infinity, where its formula has 0 * inf
inline f32v gelu_slope(f32v x) {
    return multiply_add(x, splat<f32v>(0), splat<f32v>(0.5)) + by_table(GELU_SLOPE_TABLE, GELU_SLOPE_LOST, GELU_SLOPE_WIDTH, x);
}

}  // namespace CLAY_ISA
}  // namespace clay
