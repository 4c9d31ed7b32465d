// exp, expm1, tanh and erf of single-precision vectors, inlined into their loops: a call per vector costs more than the function.
// Coefficients are minimax fits of this project's own; every function stays below 2 ulp (tests/kernels/test_unary.py).
#pragma once
#include "vec.hpp"
#include "vmath_tables.hpp"

#if defined(__AVX2__)
namespace clay {
namespace CLAY_ISA {

// x * 2**n for whole n from -300 to 300, subnormal results rounded once
inline f32v times_power_of_two(f32v x, f32v n) {
#if defined(__AVX512F__)
    return _mm512_scalef_ps(x, n);
#else
    const __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1), rest = _mm256_sub_epi32(whole, half);
    const __m256i bias = _mm256_set1_epi32(127);
    const f32v first = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    const f32v second = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
    return x * first * second;
#endif
}

// A number that is not negative, with the sign of x
inline f32v with_sign(f32v size, f32v x) {
#if defined(__AVX512F__)
    return _mm512_or_ps(size, _mm512_and_ps(x, _mm512_set1_ps(-0.0f)));
#else
    return _mm256_or_ps(size, _mm256_and_ps(x, _mm256_set1_ps(-0.0f)));
#endif
}

// exp(x) = (1 + rest) * 2**power
struct Exponential { f32v rest, power; };

inline Exponential exponential(f32v x) {
    using V = f32v;
    // Beyond these the result is 0 or inf. The bound first: a NaN in x passes through.
    x = larger(splat<V>(-104), smaller(splat<V>(89), x));
    const V n = rint(x * splat<V>(1.44269504088896341));
    V r = multiply_add(n, splat<V>(-0.693145751953125), x);            // ln 2 in two parts: n times the first is exact
    r = multiply_add(n, splat<V>(-1.42860682030941723e-6), r);
    V p = splat<V>(0.0013814599861502698);
    p = multiply_add(p, r, splat<V>(0.008368715411742372));
    p = multiply_add(p, r, splat<V>(0.04166838792986327));
    p = multiply_add(p, r, splat<V>(0.16666520643272886));
    p = multiply_add(p, r, splat<V>(0.49999993448491575));
    return {multiply_add(p, r * r, r), n};
}

inline f32v exp(f32v x) {
    const Exponential e = exponential(x);
    return times_power_of_two(e.rest + splat<f32v>(1), e.power);
}

inline f32v expm1(f32v x) {
    using V = f32v;
    const Exponential e = exponential(x);
    const V half = times_power_of_two(splat<V>(0.5), e.power);         // half of the power: the whole may be too large
    const V sum = multiply_add(half, e.rest, half - splat<V>(0.5));
    return pick(abs(x) < splat<V>(1e-8), x, sum + sum);
}

// log(1 + x) for 0 <= x <= 1: twice the area tangent of x / (x + 2)
inline f32v log1p_of_part(f32v x) {
    using V = f32v;
    const V s = x / (x + splat<V>(2)), u = s * s;
    V p = splat<V>(0.11619525796845176);
    p = multiply_add(p, u, splat<V>(0.10851657374397357));
    p = multiply_add(p, u, splat<V>(0.14296291717709386));
    p = multiply_add(p, u, splat<V>(0.199998506778422));
    p = multiply_add(p, u, splat<V>(0.33333333668808984));
    const V half = multiply_add(p * u, s, s);
    return half + half;
}

#if defined(__AVX512F__)
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

#else
inline f32v tanh(f32v x) {
    using V = f32v;
    const V size = abs(x), u = x * x;
    V p = splat<V>(-0.005717036561031623);
    p = multiply_add(p, u, splat<V>(0.02065057900342049));
    p = multiply_add(p, u, splat<V>(-0.05374349526126877));
    p = multiply_add(p, u, splat<V>(0.13331491248512684));
    p = multiply_add(p, u, splat<V>(-0.3333328392359063));
    const V near = multiply_add(p * u, size, size);
    const V far = splat<V>(1) - splat<V>(2) / (exp(size + size) + splat<V>(1));
    return with_sign(pick(size < splat<V>(0.625), near, far), x);
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
    p = multiply_add(p, u, splat<V>(0.1283791657266893));              // 2 / sqrt(pi) is this and 1
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
    const V far = splat<V>(1) - exp(q);
    return with_sign(pick(size < splat<V>(1), near, far), x);
}
#endif

}  // namespace CLAY_ISA
}  // namespace clay
#endif
