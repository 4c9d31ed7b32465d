// Elementary functions of single-precision vectors, inlined into their loops: a call per vector costs more than the function.
// Coefficients are minimax fits of this project's own; every function stays within 2 ulp (tests/kernels/simd/test_accuracy.py).
#pragma once
#include "simd/math_f32_logs.hpp"

#if defined(CLAY_VECTOR_BYTES)
namespace clay {
namespace CLAY_ISA {

// `size`, which is not negative, with the sign of x
inline f32v with_sign(f32v size, f32v x) {
    return (f32v)((i32v)size | ((i32v)x & (int32_t)0x80000000));
}

// e**r - 1 for r = x - n ln 2, n a whole number
inline f32v exponential(f32v x, f32v n) {
    using V = f32v;
    V r = multiply_add(n, splat<V>(-0.693145751953125), x);            // ln 2 is split in two parts: n times the first is exact
    r = multiply_add(n, splat<V>(-1.42860682030941723e-6), r);
    V p = splat<V>(0.0013814599861502698);
    p = multiply_add(p, r, splat<V>(0.008368715411742372));
    p = multiply_add(p, r, splat<V>(0.04166838792986327));
    p = multiply_add(p, r, splat<V>(0.16666520643272886));
    p = multiply_add(p, r, splat<V>(0.49999993448491575));
    return multiply_add(p, r * r, r);
}
constexpr double LOG2_E = 1.44269504088896341;

}  // namespace CLAY_ISA
}  // namespace clay
#if defined(__AVX512F__)
#include "simd/math_avx512.hpp"
#else
#include "simd/math_plain.hpp"
#endif
#include "simd/math_f32_angles.hpp"
#endif
