// Circular functions of single-precision vectors and their inverses, within 1.5 ulp: sines and cosines never beyond 1.
#pragma once
#include "simd/math_f32_logs.hpp"

#if defined(CLAY_VECTOR_BYTES)
namespace clay {
namespace CLAY_ISA {

// pi / 2 as the sum of three floats
constexpr double HALF_PI_A = 1.57079637050628662109, HALF_PI_B = -4.37113900018624283e-8, HALF_PI_C = -1.71512489e-15;
constexpr double TWO_OVER_PI = 0.636619772367581343, QUARTERS = 1.5 * (1 << 23);
constexpr float MANY_TURNS = 131072;                     // larger angles need more digits of pi

inline f32v flipped(f32v x, i32v sign) { return (f32v)((i32v)x ^ sign); }
inline i32v sign_of(f32v x) { return (i32v)x & (int32_t)0x80000000; }
// An estimate of the reciprocal, good to some 12 bits
inline f32v reciprocal_estimate(f32v x) {
#if defined(__AVX512F__)
    return _mm512_rcp14_ps(x);
#elif defined(__AVX2__)
    return _mm256_rcp_ps(x);
#else
    return splat<f32v>(1) / x;
#endif
}
inline f32v root_estimate(f32v x) {                      // of 1 / sqrt(x)
#if defined(__AVX512F__)
    return _mm512_rsqrt14_ps(x);
#elif defined(__AVX2__)
    return _mm256_rsqrt_ps(x);
#else
    return splat<f32v>(1) / sqrt(x);
#endif
}

template <float (*f)(float)> inline __attribute__((noinline, cold)) f32v lane_by_lane(f32v x) {
    f32v out;
    for (int i = 0; i < Lanes<f32v>::width; i++) out[i] = f(x[i]);
    return out;
}
inline float sin_of_one(float x) { return __builtin_sinf(x); }
inline float cos_of_one(float x) { return __builtin_cosf(x); }
inline float tan_of_one(float x) { return __builtin_tanf(x); }

// The number of quarter turns is in the last bits of x / (pi / 2) + QUARTERS. The remaining angle is at most 45 degrees. Its cosine is
// computed as 1 minus something, so that rounding cannot make it larger than 1.
template <int MORE> f32v wave_of(f32v size) {
    using V = f32v;
    const V sum = multiply_add(size, splat<V>(TWO_OVER_PI), splat<V>(QUARTERS)), n = sum - splat<V>(QUARTERS);
    const i32v quarter = (i32v)sum + MORE;
    V r = multiply_add(n, splat<V>(-HALF_PI_A), size);
    r = multiply_add(n, splat<V>(-HALF_PI_B), r);
    r = multiply_add(n, splat<V>(-HALF_PI_C), r);
    const V u = r * r;
    V s = splat<V>(-0.0001950306905200705);
    s = multiply_add(s, u, splat<V>(0.008332070894539356));
    s = multiply_add(s, u, splat<V>(-0.16666653752326965));
    s = multiply_add(s * u, r, r);
    V c = splat<V>(2.4419196051894687e-05);
    c = multiply_add(c, u, splat<V>(-0.0013887194218114018));
    c = multiply_add(c, u, splat<V>(0.04166664183139801));
    c = multiply_add(c, u, splat<V>(-0.5));
    c = multiply_add(c, u, splat<V>(1));
    return flipped(select((quarter & 1) != 0, c, s), (quarter & 2) << 30);
}
inline f32v sin(f32v x) {
    const f32v size = abs(x);
    if (__builtin_expect(anywhere(~(i32v)(size <= splat<f32v>(MANY_TURNS))), 0)) return lane_by_lane<sin_of_one>(x);
    return flipped(wave_of<0>(size), sign_of(x));
}
inline f32v cos(f32v x) {
    const f32v size = abs(x);
    if (__builtin_expect(anywhere(~(i32v)(size <= splat<f32v>(MANY_TURNS))), 0)) return lane_by_lane<cos_of_one>(x);
    return wave_of<1>(size);
}

// The tangent of x minus its quarter turns, corrected by the rounding error of that difference (`lost`).
inline f32v tan(f32v x) {
    using V = f32v;
    const V size = abs(x);
    if (__builtin_expect(anywhere(~(i32v)(size <= splat<V>(MANY_TURNS))), 0)) return lane_by_lane<tan_of_one>(x);
    const V sum = multiply_add(size, splat<V>(TWO_OVER_PI), splat<V>(QUARTERS)), n = sum - splat<V>(QUARTERS);
    const V first = multiply_add(n, splat<V>(-HALF_PI_A), size), less = n * splat<V>(-HALF_PI_B), r = first + less, back = r - first;
    const V rest = multiply_add(n, splat<V>(-HALF_PI_C), multiply_add(n, splat<V>(-HALF_PI_B), -less));
    const V lost = (first - (r - back)) + (less - back) + rest, u = r * r;
    V p = splat<V>(0.004584033973515034);
    p = multiply_add(p, u, splat<V>(-0.00032787691452540457));
    p = multiply_add(p, u, splat<V>(0.011161614209413528));
    p = multiply_add(p, u, splat<V>(0.021158047020435333));
    p = multiply_add(p, u, splat<V>(0.05408361181616783));
    p = multiply_add(p, u, splat<V>(0.13332457840442657));
    p = multiply_add(p, u, splat<V>(0.3333335518836975));
    const V t = r + multiply_add(p * u, r, multiply_add(lost, u, lost));
    return flipped(select(((i32v)sum & 1) != 0, splat<V>(-1) / t, t), sign_of(x));
}

// (asin(s) - s) / s for u = s^2 up to 1/4
inline f32v asin_rest(f32v u) {
    using V = f32v;
    V p = splat<V>(0.04216630384325981);
    p = multiply_add(p, u, splat<V>(0.02417951636016369));
    p = multiply_add(p, u, splat<V>(0.04547037556767464));
    p = multiply_add(p, u, splat<V>(0.07495297491550446));
    return multiply_add(p, u, splat<V>(0.16666752099990845)) * u;
}
// For x > 1/2: asin(x) = pi / 2 - 2 asin(sqrt((1 - x) / 2)). `rest` includes the rounding error of the root.
struct Halved { f32v root, rest; };
inline Halved halved(f32v size) {
    using V = f32v;
    const V z = multiply_add(size, splat<V>(-0.5), splat<V>(0.5)), root = sqrt(z);
    const V lost = multiply_add(-root, root, z) * root_estimate(larger(z, splat<V>(1e-30)));
    return {root + root, multiply_add(asin_rest(z), root + root, lost)};
}
inline f32v asin(f32v x) {
    using V = f32v;
    const V size = abs(x), near = multiply_add(asin_rest(size * size), size, size);
    const Halved h = halved(size);
    const V far = (splat<V>(HALF_PI_A) - h.root) - (h.rest - splat<V>(HALF_PI_B));
    return with_sign(select(size <= splat<V>(0.5), near, far), x);
}
inline f32v acos(f32v x) {
    using V = f32v;
    const V size = abs(x), half = splat<V>(HALF_PI_A), rest = splat<V>(HALF_PI_B);
    const V near = (half - x) - multiply_add(asin_rest(x * x), x, -rest);
    const Halved h = halved(size);
    const V above = h.root + h.rest, below = (half + half - h.root) - (h.rest - rest - rest);
    return select(size <= splat<V>(0.5), near, select(x > splat<V>(0), above, below));
}

// atan(t) - t for 0 <= t <= 1
inline f32v atan_rest(f32v t) {
    using V = f32v;
    const V u = t * t;
    V p = splat<V>(-0.0017936459043994546);
    p = multiply_add(p, u, splat<V>(0.010914705693721771));
    p = multiply_add(p, u, splat<V>(-0.03117801435291767));
    p = multiply_add(p, u, splat<V>(0.05795774608850479));
    p = multiply_add(p, u, splat<V>(-0.08403458446264267));
    p = multiply_add(p, u, splat<V>(0.10952188074588776));
    p = multiply_add(p, u, splat<V>(-0.14264242351055145));
    p = multiply_add(p, u, splat<V>(0.19998548924922943));
    p = multiply_add(p, u, splat<V>(-0.33333298563957214));
    return p * u * t;
}
inline f32v atan(f32v x) {
    using V = f32v;
    const V one = splat<V>(1), size = abs(x), inverse = one / larger(one, size);
    const V lost = multiply_add(-inverse, smaller(splat<V>(1e30), size), one) * inverse;
    const auto steep = size > one;
    const V t = select(steep, inverse, size), rest = atan_rest(t);
    const V far = (splat<V>(HALF_PI_A) - t) - (rest + (lost - splat<V>(HALF_PI_B)));
    return with_sign(select(steep, far, t + rest), x);
}

// The arc tangent of the smaller of |y| and |x| over the larger, corrected by the rounding error of the quotient; then moved to its octant.
inline f32v atan2(f32v y, f32v x) {
    using V = f32v;
    const V zero = splat<V>(0), one = splat<V>(1), half = splat<V>(HALF_PI_A), half_rest = splat<V>(HALF_PI_B);
    const V tall = abs(y), wide = abs(x), low = smaller(tall, wide), high = larger(tall, wide);
    const V t = select(high == zero, zero, select(low == high, one, low / high));
    const auto safe = (high > splat<V>(1e-20)) & (high < splat<V>(1e30)) & (low > splat<V>(1e-25));
    const V lost = select(safe, multiply_add(-t, high, low) * reciprocal_estimate(high), zero);
    const auto steep = tall > wide, left = (i32v)x < 0;
    const V rest = atan_rest(t) + lost;
    // 0 + t, pi / 2 - t, pi / 2 + t or pi - t
    const i32v turn = (i32v)(steep ^ left) & (int32_t)0x80000000;
    const V from = select(steep, half, select(left, half + half, zero));
    const V from_rest = select(steep, half_rest, select(left, half_rest + half_rest, zero));
    const V angle = (from + flipped(t, turn)) + (from_rest + flipped(rest, turn));
    return select((x != x) | (y != y), x + y, with_sign(angle, y));
}

}  // namespace CLAY_ISA
}  // namespace clay
#endif
