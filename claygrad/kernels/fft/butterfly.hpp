// Fourier transforms of a few points, one in each lane of the vectors: the building blocks of the passes in fft/passes.hpp.
#pragma once
#include "simd/lanes.hpp"

namespace clay {
namespace CLAY_ISA {

// Complex numbers, with real and imaginary parts in separate vectors
template <class V> struct Complex { V r, i; };
template <class V> CLAY_INLINE Complex<V> operator+(Complex<V> x, Complex<V> y) { return {x.r + y.r, x.i + y.i}; }
template <class V> CLAY_INLINE Complex<V> operator-(Complex<V> x, Complex<V> y) { return {x.r - y.r, x.i - y.i}; }

template <class V> CLAY_INLINE Complex<V> operator*(Complex<V> x, Complex<V> w) {
    return {multiply_minus(x.r, w.r, x.i * w.i), multiply_add(x.r, w.i, x.i * w.r)};
}
template <class V> CLAY_INLINE Complex<V> with_sign(Complex<V> x, V sign) { return {x.r, x.i * sign}; }
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
