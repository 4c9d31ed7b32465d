// Vectors of the instruction set that this file is compiled for. In the set "base" a vector is one number, so its functors are the
// scalar specification of all others. CLAY_VECTOR_BYTES is the size of a vector, undefined for "base"; sets without intrinsics of
// their own have 16 bytes (simd/vec_portable.hpp). Everything is in the namespace of the set, so that the linker never uses code of
// one set for another.
#pragma once
#include <stdint.h>
#if defined(__AVX2__)
#include "simd/intrinsics.hpp"
#endif

namespace clay {
namespace CLAY_ISA {

// Plain numbers
template <class V> struct Lanes { using T = V; static constexpr int width = 1; };
template <class T> struct VecOf { using type = T; };

inline float sqrt(float x) { return __builtin_sqrtf(x); }
inline double sqrt(double x) { return __builtin_sqrt(x); }
inline float floor(float x) { return __builtin_floorf(x); }
inline double floor(double x) { return __builtin_floor(x); }
inline float ceil(float x) { return __builtin_ceilf(x); }
inline double ceil(double x) { return __builtin_ceil(x); }
inline float trunc(float x) { return __builtin_truncf(x); }
inline double trunc(double x) { return __builtin_trunc(x); }
inline float rint(float x) { return __builtin_rintf(x); }
inline double rint(double x) { return __builtin_rint(x); }
inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }
inline float larger(float x, float y) { return x > y ? x : y; }
inline double larger(double x, double y) { return x > y ? x : y; }
inline float smaller(float x, float y) { return x < y ? x : y; }
inline double smaller(double x, double y) { return x < y ? x : y; }
inline bool any_nan(float x, float y) { return x != x || y != y; }
inline bool any_nan(double x, double y) { return x != x || y != y; }
inline float copysign(float x, float y) { return __builtin_copysignf(x, y); }
inline double copysign(double x, double y) { return __builtin_copysign(x, y); }
inline bool any(bool x) { return x; }
// x * y + z, x * y - z and z - x * y
template <class T> T multiply_add(T x, T y, T z) { return x * y + z; }
template <class T> T multiply_minus(T x, T y, T z) { return x * y - z; }
template <class T> T minus_multiply(T x, T y, T z) { return z - x * y; }
template <class Op> float folded(float x) { return x; }
template <class Op> double folded(double x) { return x; }

template <class V> struct Memory {
    static V load(const V* p) { return *p; }
    static void store(V* p, V v) { *p = v; }
    static V load_part(const V* p, int64_t, V) { return *p; }
    static V part(V v, int64_t, V) { return v; }
    static void store_part(V* p, V v, int64_t) { *p = v; }
    static V splat(V value) { return value; }
};

#if defined(__AVX512F__)
#define CLAY_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define CLAY_VECTOR_BYTES 32
#endif

#if defined(CLAY_VECTOR_BYTES)
typedef float f32v __attribute__((vector_size(CLAY_VECTOR_BYTES)));
typedef double f64v __attribute__((vector_size(CLAY_VECTOR_BYTES)));

template <> struct Lanes<f32v> { using T = float; static constexpr int width = CLAY_VECTOR_BYTES / 4; };
template <> struct Lanes<f64v> { using T = double; static constexpr int width = CLAY_VECTOR_BYTES / 8; };
template <> struct VecOf<float> { using type = f32v; };
template <> struct VecOf<double> { using type = f64v; };

#if defined(__AVX512F__)
inline f32v sqrt(f32v x) { return _mm512_sqrt_ps(x); }
inline f64v sqrt(f64v x) { return _mm512_sqrt_pd(x); }
inline f32v floor(f32v x) { return _mm512_roundscale_ps(x, 0x09); }
inline f64v floor(f64v x) { return _mm512_roundscale_pd(x, 0x09); }
inline f32v ceil(f32v x) { return _mm512_roundscale_ps(x, 0x0a); }
inline f64v ceil(f64v x) { return _mm512_roundscale_pd(x, 0x0a); }
inline f32v trunc(f32v x) { return _mm512_roundscale_ps(x, 0x0b); }
inline f64v trunc(f64v x) { return _mm512_roundscale_pd(x, 0x0b); }
inline f32v rint(f32v x) { return _mm512_roundscale_ps(x, 0x08); }
inline f64v rint(f64v x) { return _mm512_roundscale_pd(x, 0x08); }
inline f32v abs(f32v x) { return _mm512_abs_ps(x); }
inline f64v abs(f64v x) { return _mm512_abs_pd(x); }
// The second operand when either is NaN or both are zeros
inline f32v larger(f32v x, f32v y) { return _mm512_max_ps(x, y); }
inline f64v larger(f64v x, f64v y) { return _mm512_max_pd(x, y); }
inline f32v smaller(f32v x, f32v y) { return _mm512_min_ps(x, y); }
inline f64v smaller(f64v x, f64v y) { return _mm512_min_pd(x, y); }
inline unsigned any_nan(f32v x, f32v y) { return _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q); }
inline unsigned any_nan(f64v x, f64v y) { return _mm512_cmp_pd_mask(x, y, _CMP_UNORD_Q); }
inline f32v multiply_add(f32v x, f32v y, f32v z) { return _mm512_fmadd_ps(x, y, z); }
inline f64v multiply_add(f64v x, f64v y, f64v z) { return _mm512_fmadd_pd(x, y, z); }
inline f32v multiply_minus(f32v x, f32v y, f32v z) { return _mm512_fmsub_ps(x, y, z); }
inline f64v multiply_minus(f64v x, f64v y, f64v z) { return _mm512_fmsub_pd(x, y, z); }
inline f32v minus_multiply(f32v x, f32v y, f32v z) { return _mm512_fnmadd_ps(x, y, z); }
inline f64v minus_multiply(f64v x, f64v y, f64v z) { return _mm512_fnmadd_pd(x, y, z); }
inline f32v copysign(f32v x, f32v y) { return _mm512_or_ps(abs(x), _mm512_and_ps(y, _mm512_set1_ps(-0.0f))); }
inline f64v copysign(f64v x, f64v y) { return _mm512_or_pd(abs(x), _mm512_and_pd(y, _mm512_set1_pd(-0.0))); }
// Whether a comparison holds in any lane
template <class M> bool any(M mask) { return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask); }

// All lanes combined, half by half; every lane of the result holds the same.
template <class Op> f32v folded(f32v v) {
    v = Op::combine(v, (f32v)_mm512_shuffle_f32x4(v, v, 0x4e));
    v = Op::combine(v, (f32v)_mm512_shuffle_f32x4(v, v, 0xb1));
    v = Op::combine(v, (f32v)_mm512_permute_ps(v, 0x4e));
    return Op::combine(v, (f32v)_mm512_permute_ps(v, 0xb1));
}
template <class Op> f64v folded(f64v v) {
    v = Op::combine(v, (f64v)_mm512_shuffle_f64x2(v, v, 0x4e));
    v = Op::combine(v, (f64v)_mm512_shuffle_f64x2(v, v, 0xb1));
    return Op::combine(v, (f64v)_mm512_permute_pd(v, 0x55));
}

template <> struct Memory<f32v> {
    static __mmask16 first(int64_t n) { return (__mmask16)((1u << n) - 1); }
    static f32v load(const float* p) { return _mm512_loadu_ps(p); }
    static void store(float* p, f32v v) { _mm512_storeu_ps(p, v); }
    static f32v load_part(const float* p, int64_t n, f32v rest) { return _mm512_mask_loadu_ps(rest, first(n), p); }
    static f32v part(f32v v, int64_t n, f32v rest) { return _mm512_mask_blend_ps(first(n), rest, v); }
    static void store_part(float* p, f32v v, int64_t n) { _mm512_mask_storeu_ps(p, first(n), v); }
    static f32v splat(float value) { return _mm512_set1_ps(value); }
};
template <> struct Memory<f64v> {
    static __mmask8 first(int64_t n) { return (__mmask8)((1u << n) - 1); }
    static f64v load(const double* p) { return _mm512_loadu_pd(p); }
    static void store(double* p, f64v v) { _mm512_storeu_pd(p, v); }
    static f64v load_part(const double* p, int64_t n, f64v rest) { return _mm512_mask_loadu_pd(rest, first(n), p); }
    static f64v part(f64v v, int64_t n, f64v rest) { return _mm512_mask_blend_pd(first(n), rest, v); }
    static void store_part(double* p, f64v v, int64_t n) { _mm512_mask_storeu_pd(p, first(n), v); }
    static f64v splat(double value) { return _mm512_set1_pd(value); }
};
#elif defined(__AVX2__)
inline f32v sqrt(f32v x) { return _mm256_sqrt_ps(x); }
inline f64v sqrt(f64v x) { return _mm256_sqrt_pd(x); }
inline f32v floor(f32v x) { return _mm256_round_ps(x, 0x09); }
inline f64v floor(f64v x) { return _mm256_round_pd(x, 0x09); }
inline f32v ceil(f32v x) { return _mm256_round_ps(x, 0x0a); }
inline f64v ceil(f64v x) { return _mm256_round_pd(x, 0x0a); }
inline f32v trunc(f32v x) { return _mm256_round_ps(x, 0x0b); }
inline f64v trunc(f64v x) { return _mm256_round_pd(x, 0x0b); }
inline f32v rint(f32v x) { return _mm256_round_ps(x, 0x08); }
inline f64v rint(f64v x) { return _mm256_round_pd(x, 0x08); }
inline f32v abs(f32v x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
inline f64v abs(f64v x) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), x); }
// The second operand when either is NaN or both are zeros
inline f32v larger(f32v x, f32v y) { return _mm256_max_ps(x, y); }
inline f64v larger(f64v x, f64v y) { return _mm256_max_pd(x, y); }
inline f32v smaller(f32v x, f32v y) { return _mm256_min_ps(x, y); }
inline f64v smaller(f64v x, f64v y) { return _mm256_min_pd(x, y); }
inline unsigned any_nan(f32v x, f32v y) { return _mm256_movemask_ps(_mm256_cmp_ps(x, y, _CMP_UNORD_Q)); }
inline unsigned any_nan(f64v x, f64v y) { return _mm256_movemask_pd(_mm256_cmp_pd(x, y, _CMP_UNORD_Q)); }
inline f32v multiply_add(f32v x, f32v y, f32v z) { return _mm256_fmadd_ps(x, y, z); }
inline f64v multiply_add(f64v x, f64v y, f64v z) { return _mm256_fmadd_pd(x, y, z); }
inline f32v multiply_minus(f32v x, f32v y, f32v z) { return _mm256_fmsub_ps(x, y, z); }
inline f64v multiply_minus(f64v x, f64v y, f64v z) { return _mm256_fmsub_pd(x, y, z); }
inline f32v minus_multiply(f32v x, f32v y, f32v z) { return _mm256_fnmadd_ps(x, y, z); }
inline f64v minus_multiply(f64v x, f64v y, f64v z) { return _mm256_fnmadd_pd(x, y, z); }
inline f32v copysign(f32v x, f32v y) { return _mm256_or_ps(abs(x), _mm256_and_ps(y, _mm256_set1_ps(-0.0f))); }
inline f64v copysign(f64v x, f64v y) { return _mm256_or_pd(abs(x), _mm256_and_pd(y, _mm256_set1_pd(-0.0))); }
// Whether a comparison holds in any lane
template <class M> bool any(M mask) { return !_mm256_testz_si256((__m256i)mask, (__m256i)mask); }

// All lanes combined, half by half; every lane of the result holds the same.
template <class Op> f32v folded(f32v v) {
    v = Op::combine(v, (f32v)_mm256_permute2f128_ps(v, v, 1));
    v = Op::combine(v, (f32v)_mm256_permute_ps(v, 0x4e));
    return Op::combine(v, (f32v)_mm256_permute_ps(v, 0xb1));
}
template <class Op> f64v folded(f64v v) {
    v = Op::combine(v, (f64v)_mm256_permute2f128_pd(v, v, 1));
    return Op::combine(v, (f64v)_mm256_permute_pd(v, 5));
}

static const int32_t FIRST_32[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
static const int64_t FIRST_64[8] = {-1, -1, -1, -1, 0, 0, 0, 0};

template <> struct Memory<f32v> {
    static __m256i first(int64_t n) { return _mm256_loadu_si256((const __m256i*)(FIRST_32 + 8 - n)); }
    static f32v load(const float* p) { return _mm256_loadu_ps(p); }
    static void store(float* p, f32v v) { _mm256_storeu_ps(p, v); }
    static f32v load_part(const float* p, int64_t n, f32v rest) {
        return part(_mm256_maskload_ps(p, first(n)), n, rest);
    }
    static f32v part(f32v v, int64_t n, f32v rest) { return _mm256_blendv_ps(rest, v, _mm256_castsi256_ps(first(n))); }
    static void store_part(float* p, f32v v, int64_t n) { _mm256_maskstore_ps(p, first(n), v); }
    static f32v splat(float value) { return _mm256_set1_ps(value); }
};
template <> struct Memory<f64v> {
    static __m256i first(int64_t n) { return _mm256_loadu_si256((const __m256i*)(FIRST_64 + 4 - n)); }
    static f64v load(const double* p) { return _mm256_loadu_pd(p); }
    static void store(double* p, f64v v) { _mm256_storeu_pd(p, v); }
    static f64v load_part(const double* p, int64_t n, f64v rest) {
        return part(_mm256_maskload_pd(p, first(n)), n, rest);
    }
    static f64v part(f64v v, int64_t n, f64v rest) { return _mm256_blendv_pd(rest, v, _mm256_castsi256_pd(first(n))); }
    static void store_part(double* p, f64v v, int64_t n) { _mm256_maskstore_pd(p, first(n), v); }
    static f64v splat(double value) { return _mm256_set1_pd(value); }
};
#else
}  // namespace CLAY_ISA
}  // namespace clay
#include "simd/vec_portable.hpp"
namespace clay {
namespace CLAY_ISA {
#endif
#endif

template <class T> using vec = typename VecOf<T>::type;

inline float first_lane(float x) { return x; }
inline double first_lane(double x) { return x; }
#if defined(CLAY_VECTOR_BYTES)
inline float first_lane(f32v x) { return x[0]; }
inline double first_lane(f64v x) { return x[0]; }
#endif

template <class V> V splat(double value) { return Memory<V>::splat((typename Lanes<V>::T)value); }
template <class V> V load(const typename Lanes<V>::T* p) { return Memory<V>::load(p); }
template <class V> void store(typename Lanes<V>::T* p, V v) { Memory<V>::store(p, v); }
// The first n < width lanes; the others read as `rest`. 1 is a value that no function finds special.
template <class V> V load_part(const typename Lanes<V>::T* p, int64_t n, V rest = splat<V>(1)) {
    return Memory<V>::load_part(p, n, rest);
}
template <class V> V part(V v, int64_t n, V rest) { return Memory<V>::part(v, n, rest); }
template <class V> void store_part(typename Lanes<V>::T* p, V v, int64_t n) { Memory<V>::store_part(p, v, n); }

// A comparison of numbers is a bool, of vectors a vector of 0 and -1; both choose.
template <class M, class V> V select(M condition, V yes, V no) { return condition ? yes : no; }

// NaN if either is; the second of two zeros
template <class V> V maximum(V x, V y) { return select((x > y) | (x != x), x, y); }
template <class V> V minimum(V x, V y) { return select((x < y) | (x != x), x, y); }
#if defined(CLAY_VECTOR_BYTES)
inline f32v maximum(f32v x, f32v y) { return select(x != x, x, larger(x, y)); }
inline f64v maximum(f64v x, f64v y) { return select(x != x, x, larger(x, y)); }
inline f32v minimum(f32v x, f32v y) { return select(x != x, x, smaller(x, y)); }
inline f64v minimum(f64v x, f64v y) { return select(x != x, x, smaller(x, y)); }
#endif

}  // namespace CLAY_ISA
}  // namespace clay
