// The C library's functions, one number or one vector at a time. The vector forms are libmvec's, looked up at run time;
// where it lacks one (musl, macOS, old glibc) the vector form calls the scalar one lane by lane.
#pragma once
#include "vec.hpp"
#include "vmath_f32.hpp"

#define CLAY_MATH_INLINE(F) F(exp) F(expm1) F(tanh) F(erf)
#define CLAY_MATH_CALLED(F) F(exp2) F(log) F(log2) F(log10) F(log1p) F(sin) F(cos) F(tan) \
    F(asin) F(acos) F(atan) F(sinh) F(cosh) F(asinh) F(acosh) F(atanh) F(erfc)
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

#if defined(__AVX2__)
struct VectorMath {
#define CLAY_SLOT_1(name) f32v (*name##_f32)(f32v); f64v (*name##_f64)(f64v);
#define CLAY_SLOT_2(name) f32v (*name##_f32)(f32v, f32v); f64v (*name##_f64)(f64v, f64v);
    CLAY_MATH_1(CLAY_SLOT_1)
    CLAY_MATH_2(CLAY_SLOT_2)
#undef CLAY_SLOT_1
#undef CLAY_SLOT_2
};
extern VectorMath vector_math;

#define CLAY_VECTOR_1(name)                                                \
    inline f32v name(f32v x) { return vector_math.name##_f32(x); }         \
    inline f64v name(f64v x) { return vector_math.name##_f64(x); }
#define CLAY_VECTOR_F64(name) inline f64v name(f64v x) { return vector_math.name##_f64(x); }
#define CLAY_VECTOR_2(name)                                                        \
    inline f32v name(f32v x, f32v y) { return vector_math.name##_f32(x, y); }      \
    inline f64v name(f64v x, f64v y) { return vector_math.name##_f64(x, y); }
CLAY_MATH_CALLED(CLAY_VECTOR_1)
CLAY_MATH_INLINE(CLAY_VECTOR_F64)        // single precision: vmath_f32.hpp
CLAY_MATH_2(CLAY_VECTOR_2)
#undef CLAY_VECTOR_1
#undef CLAY_VECTOR_F64
#undef CLAY_VECTOR_2
#endif

// exp(x) for x <= 0; what would be subnormal may be 0
template <class V> V exp_down(V x) { return exp(x); }

// 1 + exp(-x), what a sigmoid divides by
template <class V> V sigmoid_divisor(V x) { return splat<V>(1) + exp(-x); }
template <class V> V sigmoid(V x) { return splat<V>(1) / sigmoid_divisor(x); }

// log(1 + x) for 0 <= x <= 1
template <class V> V log1p_of_part(V x) { return log1p(x); }

}  // namespace CLAY_ISA
}  // namespace clay
