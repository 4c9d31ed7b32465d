// Fourier transforms of a few points, one in each lane of the vectors: the building blocks of the passes in fft/passes.hpp.
#pragma once
#include "simd/transpose.hpp"

namespace clay {
namespace CLAY_ISA {

#define CLAY_INLINE inline __attribute__((always_inline))

// Complex numbers, with real and imaginary parts in separate vectors
template <class V> struct Complex { V r, i; };
template <class V> CLAY_INLINE Complex<V> operator+(Complex<V> x, Complex<V> y) { return {x.r + y.r, x.i + y.i}; }
template <class V> CLAY_INLINE Complex<V> operator-(Complex<V> x, Complex<V> y) { return {x.r - y.r, x.i - y.i}; }

// x * y - z and z - x * y
template <class T> CLAY_INLINE T multiply_minus(T x, T y, T z) { return x * y - z; }
template <class T> CLAY_INLINE T minus_multiply(T x, T y, T z) { return z - x * y; }
#if defined(__AVX512F__)
CLAY_INLINE f32v multiply_minus(f32v x, f32v y, f32v z) { return _mm512_fmsub_ps(x, y, z); }
CLAY_INLINE f64v multiply_minus(f64v x, f64v y, f64v z) { return _mm512_fmsub_pd(x, y, z); }
CLAY_INLINE f32v minus_multiply(f32v x, f32v y, f32v z) { return _mm512_fnmadd_ps(x, y, z); }
CLAY_INLINE f64v minus_multiply(f64v x, f64v y, f64v z) { return _mm512_fnmadd_pd(x, y, z); }
CLAY_INLINE f32v reversed(f32v x) {
    return _mm512_permutexvar_ps(_mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), x);
}
CLAY_INLINE f64v reversed(f64v x) { return _mm512_permutexvar_pd(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), x); }
CLAY_INLINE void separate_reversed(f32v x, f32v y, f32v& even, f32v& odd) {
    const __m512i from = _mm512_setr_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    even = _mm512_permutex2var_ps(x, from, y);
    odd = _mm512_permutex2var_ps(x, _mm512_add_epi32(from, _mm512_set1_epi32(1)), y);
}
CLAY_INLINE void separate_reversed(f64v x, f64v y, f64v& even, f64v& odd) {
    even = _mm512_permutex2var_pd(x, _mm512_setr_epi64(14, 12, 10, 8, 6, 4, 2, 0), y);
    odd = _mm512_permutex2var_pd(x, _mm512_setr_epi64(15, 13, 11, 9, 7, 5, 3, 1), y);
}
CLAY_INLINE void interleave_reversed(f32v x, f32v y, f32v& low, f32v& high) {
    const __m512i from = _mm512_setr_epi32(15, 31, 14, 30, 13, 29, 12, 28, 11, 27, 10, 26, 9, 25, 8, 24);
    low = _mm512_permutex2var_ps(x, from, y);
    high = _mm512_permutex2var_ps(x, _mm512_sub_epi32(from, _mm512_set1_epi32(8)), y);
}
CLAY_INLINE void interleave_reversed(f64v x, f64v y, f64v& low, f64v& high) {
    low = _mm512_permutex2var_pd(x, _mm512_setr_epi64(7, 15, 6, 14, 5, 13, 4, 12), y);
    high = _mm512_permutex2var_pd(x, _mm512_setr_epi64(3, 11, 2, 10, 1, 9, 0, 8), y);
}
#elif defined(__AVX2__)
CLAY_INLINE f32v multiply_minus(f32v x, f32v y, f32v z) { return _mm256_fmsub_ps(x, y, z); }
CLAY_INLINE f64v multiply_minus(f64v x, f64v y, f64v z) { return _mm256_fmsub_pd(x, y, z); }
CLAY_INLINE f32v minus_multiply(f32v x, f32v y, f32v z) { return _mm256_fnmadd_ps(x, y, z); }
CLAY_INLINE f64v minus_multiply(f64v x, f64v y, f64v z) { return _mm256_fnmadd_pd(x, y, z); }
CLAY_INLINE f32v reversed(f32v x) { return _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0)); }
CLAY_INLINE f64v reversed(f64v x) { return _mm256_permute4x64_pd(x, 0x1b); }
#elif defined(CLAY_VECTOR_BYTES)
CLAY_INLINE f32v multiply_minus(f32v x, f32v y, f32v z) { return multiply_add(x, y, -z); }
CLAY_INLINE f64v multiply_minus(f64v x, f64v y, f64v z) { return multiply_add(x, y, -z); }
CLAY_INLINE f32v minus_multiply(f32v x, f32v y, f32v z) { return multiply_add(-x, y, z); }
CLAY_INLINE f64v minus_multiply(f64v x, f64v y, f64v z) { return multiply_add(-x, y, z); }
CLAY_INLINE f32v reversed(f32v x) { return __builtin_shuffle(x, bits32v{3, 2, 1, 0}); }
CLAY_INLINE f64v reversed(f64v x) { return __builtin_shuffle(x, bits64v{1, 0}); }
#endif
#if defined(CLAY_VECTOR_BYTES) && !defined(__AVX512F__)
template <class V> CLAY_INLINE void separate_reversed(V x, V y, V& even, V& odd) {
    separate(x, y, even, odd);
    even = reversed(even), odd = reversed(odd);
}
template <class V> CLAY_INLINE void interleave_reversed(V x, V y, V& low, V& high) {
    interleave(reversed(x), reversed(y), low, high);
}
#endif

template <class V> CLAY_INLINE Complex<V> operator*(Complex<V> x, Complex<V> w) {
    return {multiply_minus(x.r, w.r, x.i * w.i), multiply_add(x.r, w.i, x.i * w.r)};
}
template <class V> CLAY_INLINE Complex<V> times_minus_i(Complex<V> x) { return {x.i, -x.r}; }
// Times exp(-pi i / 4), without its factor sqrt(1/2)
template <class V> CLAY_INLINE Complex<V> rotated_eighth(Complex<V> x) { return {x.r + x.i, x.i - x.r}; }

constexpr double COS_8 = 0.70710678118654752440, COS_16 = 0.92387953251128675613, SIN_16 = 0.38268343236508977173;

template <int R> struct Points;

template <> struct Points<1> {
    template <class V> CLAY_INLINE static void transform(Complex<V>*) {}
};

template <> struct Points<2> {
    template <class V> CLAY_INLINE static void transform(Complex<V>* x) {
        const Complex<V> a = x[0];
        x[0] = a + x[1];
        x[1] = a - x[1];
    }
};

template <> struct Points<4> {
    template <class V> CLAY_INLINE static void transform(Complex<V>* x) {
        const Complex<V> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = x[1] - x[3];
        x[0] = a + c;
        x[2] = a - c;
        x[1] = {b.r + d.i, b.i - d.r};
        x[3] = {b.r - d.i, b.i + d.r};
    }
};

template <> struct Points<8> {
    template <class V> CLAY_INLINE static void transform(Complex<V>* x) {
        const V h = splat<V>(COS_8);
        Complex<V> even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
        Points<4>::transform(even);
        Points<4>::transform(odd);
        const Complex<V> b = rotated_eighth(odd[1]), d = rotated_eighth(odd[3]);      // odd[3] is rotated by three eighths
        x[0] = even[0] + odd[0];
        x[4] = even[0] - odd[0];
        x[1] = {multiply_add(b.r, h, even[1].r), multiply_add(b.i, h, even[1].i)};
        x[5] = {minus_multiply(b.r, h, even[1].r), minus_multiply(b.i, h, even[1].i)};
        x[2] = {even[2].r + odd[2].i, even[2].i - odd[2].r};
        x[6] = {even[2].r - odd[2].i, even[2].i + odd[2].r};
        x[3] = {multiply_add(d.i, h, even[3].r), minus_multiply(d.r, h, even[3].i)};
        x[7] = {minus_multiply(d.i, h, even[3].r), multiply_add(d.r, h, even[3].i)};
    }
};

template <> struct Points<16> {
    // Times exp(-2 pi i / 16 * (1 or 3)): cosine c and sine s
    template <class V> CLAY_INLINE static Complex<V> rotated(Complex<V> x, V c, V s) {
        return {multiply_add(x.i, s, x.r * c), minus_multiply(x.r, s, x.i * c)};
    }
    template <class V> CLAY_INLINE static void transform(Complex<V>* x) {
        const V h = splat<V>(COS_8), c = splat<V>(COS_16), s = splat<V>(SIN_16);
        Complex<V> y[4][4];
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            Complex<V> column[4] = {x[j], x[j + 4], x[j + 8], x[j + 12]};
            Points<4>::transform(column);
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) y[k][j] = column[k];
        }
        y[1][1] = rotated(y[1][1], c, s);
        Complex<V> e = rotated_eighth(y[1][2]);
        y[1][2] = {e.r * h, e.i * h};
        y[1][3] = rotated(y[1][3], s, c);
        e = rotated_eighth(y[2][1]);
        y[2][1] = {e.r * h, e.i * h};
        y[2][2] = times_minus_i(y[2][2]);
        e = rotated_eighth(y[2][3]);
        y[2][3] = {e.i * h, -(e.r * h)};
        y[3][1] = rotated(y[3][1], s, c);
        e = rotated_eighth(y[3][2]);
        y[3][2] = {e.i * h, -(e.r * h)};
        const Complex<V> last = rotated(y[3][3], c, s);                             // by nine sixteenths
        y[3][3] = {-last.r, -last.i};
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            Points<4>::transform(y[k]);
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) x[k + 4 * j] = y[k][j];
        }
    }
};

// Cosine and sine of 2 pi k / R for the odd ones
template <int R> struct Circle;
template <> struct Circle<3> {
    static constexpr double c[3] = {1, -0.5, -0.5}, s[3] = {0, 0.86602540378443864676, -0.86602540378443864676};
};
template <> struct Circle<5> {
    static constexpr double c[5] = {1, 0.30901699437494742410, -0.80901699437494742410, -0.80901699437494742410,
                                    0.30901699437494742410};
    static constexpr double s[5] = {0, 0.95105651629515357212, 0.58778525229247312917, -0.58778525229247312917,
                                    -0.95105651629515357212};
};
template <> struct Circle<7> {
    static constexpr double c[7] = {1, 0.62348980185873353053, -0.22252093395631440429, -0.90096886790241912624,
                                    -0.90096886790241912624, -0.22252093395631440429, 0.62348980185873353053};
    static constexpr double s[7] = {0, 0.78183148246802980871, 0.97492791218182360702, 0.43388373911755812048,
                                    -0.43388373911755812048, -0.97492791218182360702, -0.78183148246802980871};
};

// An odd number of points: x[k] and x[R - k] have the same cosine, and sines of opposite sign.
template <int R> struct Points {
    template <class V> CLAY_INLINE static void transform(Complex<V>* x) {
        constexpr int H = R / 2;
        Complex<V> sum[H], gap[H], all = x[0];
#pragma GCC unroll 8
        for (int k = 0; k < H; k++) {
            sum[k] = x[k + 1] + x[R - 1 - k];
            gap[k] = x[k + 1] - x[R - 1 - k];
            all = all + sum[k];
        }
#pragma GCC unroll 8
        for (int j = 1; j <= H; j++) {
            Complex<V> even = x[0], odd = {gap[0].r * splat<V>(Circle<R>::s[j]), gap[0].i * splat<V>(Circle<R>::s[j])};
#pragma GCC unroll 8
            for (int k = 0; k < H; k++) {
                const V c = splat<V>(Circle<R>::c[j * (k + 1) % R]), s = splat<V>(Circle<R>::s[j * (k + 1) % R]);
                even = {multiply_add(sum[k].r, c, even.r), multiply_add(sum[k].i, c, even.i)};
                if (k > 0) odd = {multiply_add(gap[k].r, s, odd.r), multiply_add(gap[k].i, s, odd.i)};
            }
            x[j] = {even.r + odd.i, even.i - odd.r};
            x[R - j] = {even.r - odd.i, even.i + odd.r};
        }
        x[0] = all;
    }
};

// Two vectors exchange lanes: lane i of x with bit B set in i is exchanged with lane i - B of y.
#if defined(__AVX512F__)
template <int B> CLAY_INLINE void exchange(f32v& x, f32v& y) {
    const __m512 a = x, b = y;
    if (B == 1) {
        x = _mm512_mask_moveldup_ps(a, 0xaaaa, b);
        y = _mm512_mask_movehdup_ps(b, 0x5555, a);
    } else if (B == 2) {
        x = (f32v)_mm512_unpacklo_pd((__m512d)a, (__m512d)b);
        y = (f32v)_mm512_unpackhi_pd((__m512d)a, (__m512d)b);
    } else if (B == 4) {
        x = _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27), b);
        y = _mm512_permutex2var_ps(a, _mm512_setr_epi32(4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31), b);
    } else {
        x = _mm512_shuffle_f32x4(a, b, 0x44);
        y = _mm512_shuffle_f32x4(a, b, 0xee);
    }
}
template <int B> CLAY_INLINE void exchange(f64v& x, f64v& y) {
    const __m512d a = x, b = y;
    if (B == 1) {
        x = _mm512_unpacklo_pd(a, b);
        y = _mm512_unpackhi_pd(a, b);
    } else if (B == 2) {
        x = _mm512_permutex2var_pd(a, _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), b);
        y = _mm512_permutex2var_pd(a, _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), b);
    } else {
        x = _mm512_shuffle_f64x2(a, b, 0x44);
        y = _mm512_shuffle_f64x2(a, b, 0xee);
    }
}
#elif defined(__AVX2__)
template <int B> CLAY_INLINE void exchange(f32v& x, f32v& y) {
    const __m256 a = x, b = y;
    if (B == 1) {
        x = _mm256_blend_ps(a, _mm256_moveldup_ps(b), 0xaa);
        y = _mm256_blend_ps(_mm256_movehdup_ps(a), b, 0xaa);
    } else if (B == 2) {
        x = (f32v)_mm256_unpacklo_pd((__m256d)a, (__m256d)b);
        y = (f32v)_mm256_unpackhi_pd((__m256d)a, (__m256d)b);
    } else {
        x = _mm256_permute2f128_ps(a, b, 0x20);
        y = _mm256_permute2f128_ps(a, b, 0x31);
    }
}
template <int B> CLAY_INLINE void exchange(f64v& x, f64v& y) {
    const __m256d a = x, b = y;
    x = B == 1 ? _mm256_unpacklo_pd(a, b) : _mm256_permute2f128_pd(a, b, 0x20);
    y = B == 1 ? _mm256_unpackhi_pd(a, b) : _mm256_permute2f128_pd(a, b, 0x31);
}
#elif defined(CLAY_VECTOR_BYTES)
template <int B> CLAY_INLINE void exchange(f32v& x, f32v& y) {
    const f32v a = x, b = y;
    x = B == 1 ? __builtin_shuffle(a, b, bits32v{0, 4, 2, 6}) : __builtin_shuffle(a, b, bits32v{0, 1, 4, 5});
    y = B == 1 ? __builtin_shuffle(a, b, bits32v{1, 5, 3, 7}) : __builtin_shuffle(a, b, bits32v{2, 3, 6, 7});
}
template <int B> CLAY_INLINE void exchange(f64v& x, f64v& y) {
    const f64v a = x, b = y;
    x = __builtin_shuffle(a, b, bits64v{0, 2}), y = __builtin_shuffle(a, b, bits64v{1, 3});
}
#else
template <int B, class T> void exchange(T&, T&) {}
#endif

// Transposes R x R blocks: within every R lanes, lane j of vector i becomes lane i of vector j.
template <int R, class V> CLAY_INLINE void turn_over(V* rows) {
#pragma GCC unroll 16
    for (int i = 0; i < R; i++) {
        if (R > 8 && !(i & 8)) exchange<8>(rows[i], rows[i + 8]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; i++) {
        if (R > 4 && !(i & 4)) exchange<4>(rows[i], rows[i + 4]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; i++) {
        if (R > 2 && !(i & 2)) exchange<2>(rows[i], rows[i + 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; i++) {
        if (R > 1 && !(i & 1)) exchange<1>(rows[i], rows[i + 1]);
    }
}

}  // namespace CLAY_ISA
}  // namespace clay
