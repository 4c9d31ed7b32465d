// Running sums, of floats in double precision.
#include "families.hpp"
#include "reduce.hpp"
#include "rows.hpp"
#include "threads.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> struct Wide { using type = double; };
template <> struct Wide<int64_t> { using type = uint64_t; };       // wraps around

template <class T> struct ScanJob {
    const T* x_oni;
    T* out_oni;
    int64_t n, inner;
    bool reverse;
};

#if defined(__AVX2__)
// Doubles of one vector: their own running sums, the last of them everywhere, the order turned round.
#if defined(__AVX512F__)
inline f64v widened(const float* p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
inline void narrowed(float* p, f64v v) { _mm256_storeu_ps(p, _mm512_cvtpd_ps(v)); }
inline f64v turned(f64v v) { return _mm512_permutexvar_pd(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), v); }
inline f64v last_of(f64v v) { return _mm512_permutexvar_pd(_mm512_set1_epi64(7), v); }
inline f64v running(f64v v) {
    v = v + (f64v)_mm512_maskz_permutexvar_pd(0xfe, _mm512_set_epi64(6, 5, 4, 3, 2, 1, 0, 0), v);
    v = v + (f64v)_mm512_maskz_permutexvar_pd(0xfc, _mm512_set_epi64(5, 4, 3, 2, 1, 0, 0, 0), v);
    return v + (f64v)_mm512_maskz_permutexvar_pd(0xf0, _mm512_set_epi64(3, 2, 1, 0, 0, 0, 0, 0), v);
}
#else
inline f64v widened(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
inline void narrowed(float* p, f64v v) { _mm_storeu_ps(p, _mm256_cvtpd_ps(v)); }
inline f64v turned(f64v v) { return _mm256_permute4x64_pd(v, 0x1b); }
inline f64v last_of(f64v v) { return _mm256_permute4x64_pd(v, 0xff); }
inline f64v running(f64v v) {
    const __m256d zero = _mm256_setzero_pd();
    v = v + (f64v)_mm256_blend_pd(_mm256_permute4x64_pd(v, 0x90), zero, 1);
    return v + (f64v)_mm256_blend_pd(_mm256_permute4x64_pd(v, 0x40), zero, 3);
}
#endif
inline f64v widened(const double* p) { return load<f64v>(p); }
inline void narrowed(double* p, f64v v) { store<f64v>(p, v); }

// As far as whole vectors go. The sum so far waits for one addition per vector, not per element.
template <class T, int step> int64_t by_vectors(const T* x, T* out, int64_t n, double& sum) {
    constexpr int W = Lanes<f64v>::width;
    f64v before = splat<f64v>(0);
    int64_t i = 0;
    for (; i + W <= n; i += W) {
        const int64_t at = step > 0 ? i : -i - W + 1;
        const f64v v = widened(x + at), sums = running(step > 0 ? v : turned(v));
        const f64v here = before + sums;
        narrowed(out + at, step > 0 ? here : turned(here));
        before = before + last_of(sums);
    }
    if (i) sum = first_lane(before);
    return i;
}
template <class T, int step> int64_t by_vectors(const T*, T*, int64_t, uint64_t&) { return 0; }
#else
template <class T, int step, class A> int64_t by_vectors(const T*, T*, int64_t, A&) { return 0; }
#endif

template <class T, int step> void rows_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(ScanJob<T>*)data;
    const int64_t n = job.n;
    for (int64_t r = begin; r < end; r++) {
        const T* x = job.x_oni + r * n + (step < 0 ? n - 1 : 0);
        T* out = job.out_oni + r * n + (step < 0 ? n - 1 : 0);
        typename Wide<T>::type sum = 0;
        for (int64_t i = by_vectors<T, step>(x, out, n, sum); i < n; i++)
            out[i * step] = (T)(sum += (typename Wide<T>::type)x[i * step]);
    }
}

// Columns in tiles; the sums so far stand beside each other.
template <class T> void columns_range(void* data, int64_t begin, int64_t end) {
    using A = typename Wide<T>::type;
    auto& job = *(ScanJob<T>*)data;
    const int64_t tiles = (job.inner + TILE - 1) / TILE;
    for (int64_t task = begin; task < end; task++) {
        const int64_t i0 = task % tiles * TILE, width = job.inner - i0 < TILE ? job.inner - i0 : TILE;
        const int64_t base = task / tiles * job.n * job.inner + i0;
        A acc[TILE] = {0};
        for (int64_t r = 0; r < job.n; r++) {
            const int64_t at = base + (job.reverse ? job.n - 1 - r : r) * job.inner;
            const T* x = job.x_oni + at;
            T* out = job.out_oni + at;
#pragma GCC ivdep
            for (int64_t i = 0; i < width; i++) acc[i] += (A)x[i], out[i] = (T)acc[i];
        }
    }
}

template <class T> void scan(const void* x_oni, void* out_oni, int64_t outer, int64_t n, int64_t inner, bool reverse) {
    ScanJob<T> job{(const T*)x_oni, (T*)out_oni, n, inner, reverse};
    if (inner > 1) {
        const int64_t width = inner < TILE ? inner : TILE;
        parallel_for(outer * ((inner + TILE - 1) / TILE), COSTLY / (n * width + 1) + 1, columns_range<T>, &job);
        return;
    }
    parallel_for(outer, COSTLY / (n + 1) + 1, reverse ? rows_range<T, -1> : rows_range<T, 1>, &job);
}

}  // namespace

const Kernel scan_kernels[] = {{"sum", F32, (void*)(scan_fn)scan<float>}, {"sum", F64, (void*)(scan_fn)scan<double>},
                               {"sum", I64, (void*)(scan_fn)scan<int64_t>}};
CLAY_COUNT(scan)

}  // namespace CLAY_ISA
}  // namespace clay
