// Floats read into vectors of doubles and written back, rounded.
#pragma once
#include "simd/vec.hpp"

namespace clay {
namespace CLAY_ISA {

template <class V> V load_wide(const double* p) { return load<V>(p); }
template <class V> void store_wide(double* p, V v) { store<V>(p, v); }
#if defined(__AVX512F__)
template <class V> V load_wide(const float* p) { return (V)_mm512_cvtps_pd(_mm256_loadu_ps(p)); }
template <class V> void store_wide(float* p, V v) { _mm256_storeu_ps(p, _mm512_cvtpd_ps(v)); }
#elif defined(__AVX2__)
template <class V> V load_wide(const float* p) { return (V)_mm256_cvtps_pd(_mm_loadu_ps(p)); }
template <class V> void store_wide(float* p, V v) { _mm_storeu_ps(p, _mm256_cvtpd_ps(v)); }
#elif defined(CLAY_VECTOR_BYTES)
template <class V> V load_wide(const float* p) { return V{p[0], p[1]}; }
template <class V> void store_wide(float* p, V v) { p[0] = (float)v[0], p[1] = (float)v[1]; }
#else
template <class V> V load_wide(const float* p) { return *p; }
template <class V> void store_wide(float* p, V v) { *p = (float)v; }
#endif

}  // namespace CLAY_ISA
}  // namespace clay
