// The functions of simd/math_f32.hpp with operations that every processor's vectors have.
#pragma once

namespace clay {
namespace CLAY_ISA {

// Note [Rounding by addition]
// Floats near 1.5 * 2**23 are whole numbers. Adding that constant to x rounds x to a whole number n, which is then in the last bits of
// the sum. Shifted left by 23 these bits become an exponent. If the exponent's bias was added too, the result is the float 2**n.
struct Rounded {
    f32v n;                              // a whole number
    i32v power;                          // n + BIAS, shifted to the exponent
};
template <int BIAS> f32v far_out() { return splat<f32v>(12582912 + BIAS); }
template <int BIAS> Rounded split_sum(f32v sum) {
    return {sum - far_out<BIAS>(), (i32v)sum << 23};
}
template <int BIAS> Rounded rounded(f32v x) { return split_sum<BIAS>(x + far_out<BIAS>()); }
template <int BIAS> Rounded in_powers(f32v x) {                        // rounds x / ln 2
    return split_sum<BIAS>(multiply_add(x, splat<f32v>(LOG2_E), far_out<BIAS>()));
}

// x * 2**n for whole n from -300 to 300, subnormal results rounded once
inline f32v times_power_of_two(f32v x, f32v n) {
    const i32v whole = __builtin_convertvector(n, i32v), half = whole >> 1, rest = whole - half;
    return x * (f32v)((half + 127) << 23) * (f32v)((rest + 127) << 23);
}

// exp of any x: the result may be 0, subnormal, infinite or NaN
inline __attribute__((noinline, cold)) f32v exp_far(f32v x) {
    x = larger(splat<f32v>(-104), smaller(splat<f32v>(89), x));        // beyond these exp is 0 or inf; NaN propagates
    const f32v n = rint(x * splat<f32v>(LOG2_E));
    return times_power_of_two(exponential(x, n) + splat<f32v>(1), n);
}

// exp for x from -87 to 87: the power of two is added to the exponent.
inline f32v exp_near(f32v x) {
    const Rounded by = in_powers<0>(x);
    const f32v e = exponential(x, by.n) + splat<f32v>(1);
    return (f32v)((i32v)e + by.power);
}

inline f32v exp(f32v x) {
    const i32v far = ~(i32v)(abs(x) <= splat<f32v>(87));              // NaN too
    return __builtin_expect(anywhere(far), 0) ? exp_far(x) : exp_near(x);
}

// 2**x = 2**n exp((x - n) ln 2), where x - n is exact, so that no multiple of ln 2 has to be subtracted.
inline __attribute__((noinline, cold)) f32v exp2_far(f32v x) {
    x = larger(splat<f32v>(-151), smaller(splat<f32v>(129), x));
    const f32v n = rint(x);
    return times_power_of_two(exponential((x - n) * splat<f32v>(0.693147180559945309), splat<f32v>(0)) + splat<f32v>(1), n);
}
inline f32v exp2(f32v x) {
    if (__builtin_expect(anywhere(~(i32v)(abs(x) <= splat<f32v>(125))), 0)) return exp2_far(x);          // NaN too
    const Rounded by = rounded<0>(x);
    const f32v e = exponential((x - by.n) * splat<f32v>(0.693147180559945309), splat<f32v>(0)) + splat<f32v>(1);
    return (f32v)((i32v)e + by.power);
}

inline f32v exp_finest(f32v x) { return exp(x); }

// 2**MORE * exp(x) for results below 2**127; 0 where the result would be subnormal.
template <int MORE> inline f32v exp_times(f32v x) {
    x = larger(splat<f32v>(-88 - MORE * 2 / 3), x);
    const Rounded by = in_powers<127 + MORE>(x);
    const f32v power = (f32v)by.power;
    return multiply_add(exponential(x, by.n), power, power);
}

// For x <= 88; zero below -87.7.
inline f32v exp_down(f32v x) { return exp_times<0>(x); }

inline f32v expm1(f32v x) {
    using V = f32v;
    const V bounded = larger(splat<V>(-80), smaller(splat<V>(89), x));
    const Rounded by = in_powers<126>(bounded);
    const V half = (f32v)by.power;                                     // 2**n itself may overflow
    const V sum = multiply_add(half, exponential(bounded, by.n), half - splat<V>(0.5));
    return select(abs(x) < splat<V>(1e-8), x, sum + sum);
}

// A polynomial near 0, 1 - 2 / (exp(2 |x|) + 1) beyond: at most 1.3 ulp, and half of one where x - tanh(x) cancels.
inline f32v tanh(f32v x) {
    using V = f32v;
    const V size = abs(x), u = x * x;
    V p = splat<V>(-0.005905868485569954);
    p = multiply_add(p, u, splat<V>(0.02080538496375084));
    p = multiply_add(p, u, splat<V>(-0.053786683827638626));
    p = multiply_add(p, u, splat<V>(0.13331958651542664));
    p = multiply_add(p, u, splat<V>(-0.33333298563957214));
    const V near = multiply_add(p * u, size, size);
    const V twice = smaller(splat<V>(20), size + size);                // tanh is 1 from 10 on
    const Rounded by = in_powers<127>(twice);
    const V power = (f32v)by.power;
    const V far = splat<V>(1) - splat<V>(2) / multiply_add(exponential(twice, by.n), power, power + splat<V>(1));
    return with_sign(select(size < splat<V>(0.6), near, far), x);
}

inline f32v erf(f32v x) {
    using V = f32v;
    const V size = abs(x), u = x * x;
    V p = splat<V>(7.853857694869799e-05);
    p = multiply_add(p, u, splat<V>(-0.0008010192517422616));
    p = multiply_add(p, u, splat<V>(0.005188327559653451));
    p = multiply_add(p, u, splat<V>(-0.026853811868936667));
    p = multiply_add(p, u, splat<V>(0.1128358514702743));
    p = multiply_add(p, u, splat<V>(-0.37612625824093043));
    p = multiply_add(p, u, splat<V>(0.1283791657266893));              // 2 / sqrt(pi) - 1; the size is added at the end
    const V near = multiply_add(p, size, size);
    const V t = smaller(splat<V>(4.05), size);                         // erf is 1 from there on
    V q = splat<V>(-2.1697642142429016e-05);
    q = multiply_add(q, t, splat<V>(0.0004414729556774714));
    q = multiply_add(q, t, splat<V>(-0.004205286102326387));
    q = multiply_add(q, t, splat<V>(0.02521034289200207));
    q = multiply_add(q, t, splat<V>(-0.10842210366050986));
    q = multiply_add(q, t, splat<V>(-0.6332163939590081));
    q = multiply_add(q, t, splat<V>(-1.1295803124390638));
    q = multiply_add(q, t, splat<V>(0.0001884679105947477));
    const V far = splat<V>(1) - exp_near(q);
    return with_sign(select(size < splat<V>(1), near, far), x);
}

// Note [The normal tail]
// With a = |x|, the probability of a normal variable above a is exp(-a * a / 2) times Mills' ratio. That is a smooth function, 1/2 at
// 0, and is computed as a polynomial in a / (a + 2.64) (tools/fit_polynomials.py). gelu and its derivative use this tail rather than
// 1 minus the distribution function, so they keep their relative accuracy where they are small.

// exp(-x * x / 2), for |x| up to 13.25, where it is 0
inline f32v normal_density(f32v x) {
    using V = f32v;
    const V y = x * x * splat<V>(-0.5 * LOG2_E);
    const Rounded by = rounded<127>(y);
    const V f = y - by.n;                                              // 2**f
    V p = splat<V>(0.001326472731307149);
    p = multiply_add(p, f, splat<V>(0.009671512991189957));
    p = multiply_add(p, f, splat<V>(0.05550733581185341));
    p = multiply_add(p, f, splat<V>(0.24022242426872253));
    p = multiply_add(p, f, splat<V>(0.6931470036506653));
    p = multiply_add(p, f, splat<V>(1));
    return p * (f32v)by.power;
}

struct Tail { f32v a, density, ratio; };

inline Tail tail_of(f32v x) {
    using V = f32v;
    const V a = smaller(splat<V>(13.25), abs(x)), s = a / (a + splat<V>(1 / 0.379));
    V r = splat<V>(0.05556149035692215);
    r = multiply_add(r, s, splat<V>(-0.04887466877698898));
    r = multiply_add(r, s, splat<V>(-0.12574033439159393));
    r = multiply_add(r, s, splat<V>(-0.014986342750489712));
    r = multiply_add(r, s, splat<V>(0.6878628730773926));
    r = multiply_add(r, s, splat<V>(-1.0526186227798462));
    r = multiply_add(r, s, splat<V>(0.5));
    return {a, normal_density(a), r};
}

// f for x < 0, 1 - f for x > 0
inline f32v mirrored(f32v f, f32v x) { return select((i32v)x < 0, f, splat<f32v>(1) - f); }

// The distribution function of the normal distribution
inline f32v normal_cdf(f32v x) {
    const Tail tail = tail_of(x);
    return mirrored(tail.density * tail.ratio, x);
}

// The derivative of gelu; NaN at infinity, where its formula has 0 * inf
inline f32v gelu_slope(f32v x) {
    const Tail tail = tail_of(x);
    const f32v f = tail.density * multiply_add(tail.a, splat<f32v>(-0.39894228040143268), tail.ratio);
    return multiply_add(x, splat<f32v>(0), mirrored(f, x));
}

// The same, given the distribution function of x
inline f32v gelu_slope(f32v x, f32v share) {
    const f32v a = smaller(splat<f32v>(13.25), abs(x));
    return multiply_add(x, normal_density(a) * splat<f32v>(0.39894228040143268), share);
}

}  // namespace CLAY_ISA
}  // namespace clay
