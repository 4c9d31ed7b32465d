// Vectors of 16 bytes by the compiler's vector extension, for processors without a set of intrinsics in this library, such as ARM.
// simd/vec.hpp includes this file. NEON instructions are used where the compiler would write a loop over the lanes.
#pragma once
#include <string.h>

#include "simd/shuffle.hpp"
#if defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace clay {
namespace CLAY_ISA {

#if defined(__ARM_NEON)
inline f32v sqrt(f32v x) { return (f32v)vsqrtq_f32((float32x4_t)x); }
inline f64v sqrt(f64v x) { return (f64v)vsqrtq_f64((float64x2_t)x); }
inline f32v floor(f32v x) { return (f32v)vrndmq_f32((float32x4_t)x); }
inline f64v floor(f64v x) { return (f64v)vrndmq_f64((float64x2_t)x); }
inline f32v ceil(f32v x) { return (f32v)vrndpq_f32((float32x4_t)x); }
inline f64v ceil(f64v x) { return (f64v)vrndpq_f64((float64x2_t)x); }
inline f32v trunc(f32v x) { return (f32v)vrndq_f32((float32x4_t)x); }
inline f64v trunc(f64v x) { return (f64v)vrndq_f64((float64x2_t)x); }
inline f32v rint(f32v x) { return (f32v)vrndxq_f32((float32x4_t)x); }
inline f64v rint(f64v x) { return (f64v)vrndxq_f64((float64x2_t)x); }
inline f32v multiply_add(f32v x, f32v y, f32v z) { return (f32v)vfmaq_f32((float32x4_t)z, (float32x4_t)x, (float32x4_t)y); }
inline f64v multiply_add(f64v x, f64v y, f64v z) { return (f64v)vfmaq_f64((float64x2_t)z, (float64x2_t)x, (float64x2_t)y); }
#else
#define CLAY_BY_LANES(name)                                                                             \
    inline f32v name(f32v x) { return f32v{name(x[0]), name(x[1]), name(x[2]), name(x[3])}; }           \
    inline f64v name(f64v x) { return f64v{name(x[0]), name(x[1])}; }
CLAY_BY_LANES(sqrt) CLAY_BY_LANES(floor) CLAY_BY_LANES(ceil) CLAY_BY_LANES(trunc) CLAY_BY_LANES(rint)
#undef CLAY_BY_LANES
// A fused multiply-add: the polynomials and exact remainders rely on its single rounding.
inline f32v multiply_add(f32v x, f32v y, f32v z) {
    return f32v{__builtin_fmaf(x[0], y[0], z[0]), __builtin_fmaf(x[1], y[1], z[1]), __builtin_fmaf(x[2], y[2], z[2]), __builtin_fmaf(x[3], y[3], z[3])};
}
inline f64v multiply_add(f64v x, f64v y, f64v z) { return f64v{__builtin_fma(x[0], y[0], z[0]), __builtin_fma(x[1], y[1], z[1])}; }
#endif

typedef int32_t bits32v __attribute__((vector_size(CLAY_VECTOR_BYTES)));
typedef int64_t bits64v __attribute__((vector_size(CLAY_VECTOR_BYTES)));

inline f32v abs(f32v x) { return (f32v)((bits32v)x & 0x7fffffff); }
inline f64v abs(f64v x) { return (f64v)((bits64v)x & 0x7fffffffffffffff); }
// The second operand when either is NaN or both are zeros
inline f32v larger(f32v x, f32v y) { return x > y ? x : y; }
inline f64v larger(f64v x, f64v y) { return x > y ? x : y; }
inline f32v smaller(f32v x, f32v y) { return x < y ? x : y; }
inline f64v smaller(f64v x, f64v y) { return x < y ? x : y; }
inline f32v multiply_minus(f32v x, f32v y, f32v z) { return multiply_add(x, y, -z); }
inline f64v multiply_minus(f64v x, f64v y, f64v z) { return multiply_add(x, y, -z); }
inline f32v minus_multiply(f32v x, f32v y, f32v z) { return multiply_add(-x, y, z); }
inline f64v minus_multiply(f64v x, f64v y, f64v z) { return multiply_add(-x, y, z); }
inline f32v copysign(f32v x, f32v y) { return (f32v)((bits32v)abs(x) | ((bits32v)y & (int32_t)0x80000000)); }
inline f64v copysign(f64v x, f64v y) { return (f64v)((bits64v)abs(x) | ((bits64v)y & (int64_t)0x8000000000000000)); }
// Whether a comparison holds in any lane
inline bool any_set(bits64v mask) { return (mask[0] | mask[1]) != 0; }
template <class M> bool any(M mask) { return any_set((bits64v)mask); }
inline bool any_nan(f32v x, f32v y) { return any_set((bits64v)((x != x) | (y != y))); }
inline bool any_nan(f64v x, f64v y) { return any_set((bits64v)((x != x) | (y != y))); }

// All lanes combined, half by half; every lane of the result holds the same.
template <class Op> f32v folded(f32v v) {
    v = Op::combine(v, CLAY_SHUFFLE(bits32v, v, v, 2, 3, 0, 1));
    return Op::combine(v, CLAY_SHUFFLE(bits32v, v, v, 1, 0, 3, 2));
}
template <class Op> f64v folded(f64v v) { return Op::combine(v, CLAY_SHUFFLE(bits64v, v, v, 1, 0)); }

// A part may be all of it: products ask for the last vector of a row so.
template <class V, class T> struct PortableMemory {
    static constexpr int W = CLAY_VECTOR_BYTES / sizeof(T);
    static V load(const T* p) {
        V v;
        memcpy(&v, p, sizeof v);
        return v;
    }
    static void store(T* p, V v) { memcpy(p, &v, sizeof v); }
    static V load_part(const T* p, int64_t n, V rest) {
        for (int i = 0; i < W; i++)
            if (i < n) rest[i] = p[i];
        return rest;
    }
    static V part(V v, int64_t n, V rest) {
        for (int i = 0; i < W; i++)
            if (i < n) rest[i] = v[i];
        return rest;
    }
    static void store_part(T* p, V v, int64_t n) {
        for (int i = 0; i < W; i++)
            if (i < n) p[i] = v[i];
    }
};
template <> struct Memory<f32v> : PortableMemory<f32v, float> {
    static f32v splat(float value) { return f32v{value, value, value, value}; }
};
template <> struct Memory<f64v> : PortableMemory<f64v, double> {
    static f64v splat(double value) { return f64v{value, value}; }
};

// The lanes of two vectors, in turn and apart
inline void interleave(f32v x, f32v y, f32v& low, f32v& high) {
    low = CLAY_SHUFFLE(bits32v, x, y, 0, 4, 1, 5), high = CLAY_SHUFFLE(bits32v, x, y, 2, 6, 3, 7);
}
inline void interleave(f64v x, f64v y, f64v& low, f64v& high) {
    low = CLAY_SHUFFLE(bits64v, x, y, 0, 2), high = CLAY_SHUFFLE(bits64v, x, y, 1, 3);
}
inline void separate(f32v x, f32v y, f32v& even, f32v& odd) {
    even = CLAY_SHUFFLE(bits32v, x, y, 0, 2, 4, 6), odd = CLAY_SHUFFLE(bits32v, x, y, 1, 3, 5, 7);
}
inline void separate(f64v x, f64v y, f64v& even, f64v& odd) { interleave(x, y, even, odd); }

}  // namespace CLAY_ISA
}  // namespace clay
