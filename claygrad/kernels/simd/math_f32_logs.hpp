// Logarithms of single-precision vectors, within 1 ulp. log10 is exact at powers of ten, because only the last sum rounds noticeably.
#pragma once
#include "simd/vec.hpp"

#if defined(CLAY_VECTOR_BYTES)
namespace clay {
namespace CLAY_ISA {

typedef int32_t i32v __attribute__((vector_size(CLAY_VECTOR_BYTES)));
typedef uint32_t u32v __attribute__((vector_size(CLAY_VECTOR_BYTES)));

// Whether a comparison of float vectors, or of their bits, holds anywhere
inline bool anywhere(i32v mask) {
#if defined(__AVX512F__)
    return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask);
#elif defined(__AVX2__)
    return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#else
    return any_set((bits64v)mask);
#endif
}

constexpr int32_t ROOT_HALF_BITS = 0x3f3504f3;           // sqrt(1/2) as a float

// (log(1 + r) - r) / r^2, from sqrt(1/2) - 1 to sqrt(2) - 1
inline f32v log_rest(f32v r) {
    using V = f32v;
    V p = splat<V>(-0.07633718103170395);
    p = multiply_add(p, r, splat<V>(0.127613827586174));
    p = multiply_add(p, r, splat<V>(-0.1316036731004715));
    p = multiply_add(p, r, splat<V>(0.14201796054840088));
    p = multiply_add(p, r, splat<V>(-0.16623343527317047));
    p = multiply_add(p, r, splat<V>(0.20001225173473358));
    p = multiply_add(p, r, splat<V>(-0.250008225440979));
    p = multiply_add(p, r, splat<V>(0.3333333134651184));
    return multiply_add(p, r, splat<V>(-0.5));
}

// The logarithm of 2**e * (1 + r) to the base BASE, where 0 is the natural one. Constants are split in two parts; the first part of
// those that are multiplied by e has few digits, so that the product is exact.
template <int BASE> f32v log_of_parts(f32v r, f32v e) {
    using V = f32v;
    const V rest = r * r * log_rest(r);
    if (BASE == 10) {
        const V head = splat<V>(0.434294492006301879883), tail = splat<V>(-1.01030511895706e-8);
        const V small = multiply_add(r, tail, multiply_add(rest, head, e * splat<V>(4.60503891098e-6)));
        return multiply_add(e, splat<V>(0.301025390625), multiply_add(r, head, small));
    }
    return multiply_add(e, splat<V>(0.693145751953125), r + multiply_add(e, splat<V>(1.42860682030941723e-6), rest));
}

template <int BASE> f32v log_of_normal(f32v x, f32v more = splat<f32v>(0)) {
    const i32v above = (i32v)x - ROOT_HALF_BITS;
    const f32v mantissa = (f32v)((above & 0x7fffff) + ROOT_HALF_BITS), e = __builtin_convertvector(above >> 23, f32v);
    return log_of_parts<BASE>(mantissa - splat<f32v>(1), e + more);
}
template <int BASE> inline __attribute__((noinline, cold)) f32v log_of_any(f32v x) {
    const f32v zero = splat<f32v>(0), inf = splat<f32v>(__builtin_inf());
    const i32v small = x < splat<f32v>(0x1p-126);
    const f32v out = log_of_normal<BASE>(select(small, x * splat<f32v>(0x1p23), x), select(small, splat<f32v>(-23), zero));
    return select(x > zero, select(x == inf, x, out), select(x == zero, -inf, select(x != x, x, splat<f32v>(__builtin_nan("")))));
}
template <int BASE> f32v logarithm(f32v x) {
    const i32v unusual = (u32v)((i32v)x - 0x00800000) >= 0x7f000000u;          // not a normal number above zero
    return __builtin_expect(anywhere(unusual), 0) ? log_of_any<BASE>(x) : log_of_normal<BASE>(x);
}
inline f32v log(f32v x) { return logarithm<0>(x); }
inline f32v log10(f32v x) { return logarithm<10>(x); }

// log(1 + x) for 0 <= x <= 1
inline f32v log1p_of_part(f32v x) {
    using V = f32v;
    const auto large = x > splat<V>(0.41421356);
    const V r = select(large, multiply_add(x, splat<V>(0.5), splat<V>(-0.5)), x), e = select(large, splat<V>(1), splat<V>(0));
    return log_of_parts<0>(r, e);
}

}  // namespace CLAY_ISA
}  // namespace clay
#endif
