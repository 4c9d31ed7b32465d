// The C library's functions, one number or one vector at a time. The vector forms are libmvec's, looked up at run time;
// where it lacks one (musl, macOS, old glibc) the vector form calls the scalar one lane by lane.
#pragma once
#include <string_view>

#include "simd/vec.hpp"
#include "simd/math_f32.hpp"

#define CLAY_MATH_INLINE(F) F(exp) F(exp2) F(expm1) F(tanh) F(erf) F(log) F(log10) F(sin) F(cos) F(tan) \
    F(asin) F(acos) F(atan) F(cosh)
#define CLAY_MATH_CALLED(F) F(log2) F(log1p) F(sinh) F(asinh) F(acosh) F(atanh) F(erfc)
#define CLAY_MATH_1(F) CLAY_MATH_INLINE(F) CLAY_MATH_CALLED(F)
#define CLAY_MATH_2(F) F(pow) F(atan2)

namespace clay {
namespace CLAY_ISA {

#define CLAY_SCALAR_1(name)                                            \
    inline float name(float x) { return __builtin_##name##f(x); }      \
    inline double name(double x) { return __builtin_##name(x); }
#define CLAY_SCALAR_2(name)                                                       \
    inline float name(float x, float y) { return __builtin_##name##f(x, y); }     \
    inline double name(double x, double y) { return __builtin_##name(x, y); }
CLAY_MATH_1(CLAY_SCALAR_1)
CLAY_MATH_2(CLAY_SCALAR_2)
#undef CLAY_SCALAR_1
#undef CLAY_SCALAR_2

#if defined(CLAY_VECTOR_BYTES)
struct VectorMath {
#define CLAY_SLOT_1(name) f32v (*name##_f32)(f32v); f64v (*name##_f64)(f64v);
#define CLAY_SLOT_2(name) f32v (*name##_f32)(f32v, f32v); f64v (*name##_f64)(f64v, f64v);
    CLAY_MATH_1(CLAY_SLOT_1)
    CLAY_MATH_2(CLAY_SLOT_2)
#undef CLAY_SLOT_1
#undef CLAY_SLOT_2
};
extern VectorMath vector_math;

// glibc's vector functions for ARM lose the sign of a zero, which these functions keep.
constexpr bool keeps_zero(std::string_view name) {
    for (std::string_view one : {"expm1", "tanh", "erf", "sin", "tan", "asin", "atan", "log1p", "sinh", "asinh", "atanh"})
        if (one == name) return true;
    return false;
}
template <bool kept, class V> V with_sign_of_zero(V x, V out) {
#if defined(__ARM_NEON)
    if constexpr (kept) return select(x == splat<V>(0), x, out);
#endif
    return out;
}

#define CLAY_VECTOR_F32(name) \
    inline f32v name(f32v x) { return with_sign_of_zero<keeps_zero(#name)>(x, vector_math.name##_f32(x)); }
#define CLAY_VECTOR_F64(name) \
    inline f64v name(f64v x) { return with_sign_of_zero<keeps_zero(#name)>(x, vector_math.name##_f64(x)); }
#define CLAY_VECTOR_1(name) CLAY_VECTOR_F32(name) CLAY_VECTOR_F64(name)
CLAY_MATH_CALLED(CLAY_VECTOR_1)
#define CLAY_MATH_DOUBLE(F) F(exp) F(exp2) F(expm1) F(tanh) F(erf) F(log) F(log10) F(sin) F(tan) F(asin) F(acos) F(atan) F(cosh)
CLAY_MATH_DOUBLE(CLAY_VECTOR_F64)        // single precision: simd/math_f32.hpp
inline f32v pow(f32v x, f32v y) { return vector_math.pow_f32(x, y); }
inline f64v pow(f64v x, f64v y) { return vector_math.pow_f64(x, y); }
inline f64v atan2(f64v y, f64v x) { return vector_math.atan2_f64(y, x); }

// For some small numbers libmvec's cosine is the number next to 1 instead of 1.
inline f64v cos(f64v x) { return select(abs(x) < splat<f64v>(1e-8), splat<f64v>(1), vector_math.cos_f64(x)); }

// Beyond 88 exp overflows where cosh, half of it, does not.
inline f32v cosh(f32v x) {
    const f32v size = abs(x), half = splat<f32v>(0.5), e = exp(size);
    if (__builtin_expect(anywhere(size > splat<f32v>(88)), 0)) return vector_math.cosh_f32(x);
    return multiply_add(half, e, half / e);
}
#undef CLAY_VECTOR_1
#undef CLAY_VECTOR_F32
#undef CLAY_VECTOR_F64
#undef CLAY_MATH_DOUBLE
#endif

// sqrt(x), for loops that do nothing else
template <class V> V corrected_sqrt(V x) { return sqrt(x); }
#if defined(__AVX512F__)
// From an estimate of 1 / sqrt, in half the time of the instruction: a Newton step for both, then a correction by the residual.
// Correctly rounded for all 2^32 floats, like the instruction, which handles very small, very large and negative numbers and NaN.
inline f32v corrected_sqrt(f32v x) {
    const __m512i above = _mm512_sub_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(27 << 23));          // 2^-100
    if (__builtin_expect(_mm512_cmpge_epu32_mask(above, _mm512_set1_epi32(200 << 23)), 0)) return sqrt(x);
    const f32v estimate = _mm512_rsqrt14_ps(x), half = splat<f32v>(0.5);
    const f32v root = x * estimate, inverse = estimate * half;
    const f32v error = minus_multiply(inverse, root, half);
    const f32v better = multiply_add(root, error, root);
    return multiply_add(minus_multiply(better, better, x), multiply_add(inverse, error, inverse), better);
}
#endif

// exp(x) for x <= 0; what would be subnormal may be 0
template <class V> V exp_down(V x) { return exp(x); }

// 1 + exp(-x), what a sigmoid divides by
template <class V> V sigmoid_divisor(V x) { return splat<V>(1) + exp(-x); }
template <class V> V sigmoid(V x) { return splat<V>(1) / sigmoid_divisor(x); }
template <class V> V times_sigmoid(V x, V y) { return x / sigmoid_divisor(y); }
#if defined(CLAY_VECTOR_BYTES)
// By exp(-|x|), which is at most 1: dividing by 1 + exp(-x) would double the rounding error for negative x.
inline f32v times_sigmoid(f32v x, f32v y) {
    const f32v one = splat<f32v>(1), e = exp_finest(-abs(y));
    return select(y < splat<f32v>(0), x * e, x) / (one + e);
}
inline f32v sigmoid(f32v x) {
    const f32v one = splat<f32v>(1), e = exp_finest(-abs(x));
    return select(x < splat<f32v>(0), e, one) / (one + e);
}
#endif

// log(1 + x) for 0 <= x <= 1
template <class V> V log1p_of_part(V x) { return log1p(x); }

}  // namespace CLAY_ISA
}  // namespace clay
