// Bessel functions and Airy's: series near zero, and beyond it the factors of their exponentials or waves.
#include "special/math.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr double HALF_EXP_EULER = 0.890536208995099, HALF_EXP_EULER_REST = -6.379012009918789e-18;      // exp(Euler's constant) / 2

// log(x/2) plus Euler's constant. What the product loses as one number is added to its logarithm.
template <class V> V log_and_euler(V x) {
    const auto tiny = x < splat<V>(1e-280);                      // what is subnormal would lose more
    const V given = select(tiny, x * splat<V>(0x1p200), x), c = splat<V>(HALF_EXP_EULER), product = given * c;
    const V lost = multiply_add(given, c, -product) + given * splat<V>(HALF_EXP_EULER_REST), logs = log(product) + lost / product;
    return select(tiny, logs - splat<V>(200 * 0.69314718055994530942), logs);
}

// --- modified, of the first kind ------------------------------------------------------------------------------------------------
// exp(-x) I(x) for x >= 0, or that over x if `odd`
template <bool S, const auto& NEAR, const auto& FAR, class V> V scaled_first(V x, bool odd) {
    const V eight = splat<V>(8), one = splat<V>(1);
    V out = x;
    if (any(x <= eight)) {
        const V small = select(x <= eight, x, eight);
        out = chebyshev<S, NEAR>(small * splat<V>(0.25) - one);
        if (odd) out = out * small;
    }
    if (any(x > eight)) {
        const V large = select(x > eight, x, eight);
        out = select(x > eight, chebyshev<S, FAR>(splat<V>(16) / large - one) / sqrt(large), out);
    }
    return select(x != x, x, out);
}
// y times exp(|x|), which overflows before the product does
template <class V> V times_exp(V y, V x) {
    const V size = abs(x), large = splat<V>(700);
    if (!any(size > large)) return y * exp(size);
    const V e = exp(size * splat<V>(0.5));
    return select(size > large, y * e * e, y * exp(select(size > large, large, size)));
}

// In double precision up to 8 by a sum of positive terms
template <class V> V near_i0(V x) { const V t = x * x * splat<V>(0.25); return multiply_add(polynomial(I0_SERIES, t), t, splat<V>(1)); }
template <class V> V near_i1(V x) {
    const V t = x * x * splat<V>(0.25), half = x * splat<V>(0.5);
    return multiply_add(polynomial(I1_SERIES, t) * t, half, half);
}
template <bool S, class V> V scaled_i0(V x) {
    const V size = abs(x), eight = splat<V>(8);
    if constexpr (S) return scaled_first<S, I0_NEAR, I0_FAR>(size, false);
    const V near = select(size > eight, eight, size), out = any(size <= eight) ? near_i0(near) * exp(-near) : size;
    return any(size > eight) ? select(size > eight, scaled_first<S, I0_NEAR, I0_FAR>(select(size > eight, size, eight + eight), false), out) : out;
}
template <bool S, class V> V scaled_i1(V x) {
    const V size = abs(x), eight = splat<V>(8);
    if constexpr (S) return copysign(scaled_first<S, I1_NEAR, I1_FAR>(size, true), x);
    const V near = select(size > eight, eight, size), out = any(size <= eight) ? near_i1(near) * exp(-near) : size;
    return copysign(any(size > eight) ? select(size > eight, scaled_first<S, I1_NEAR, I1_FAR>(select(size > eight, size, eight + eight), true), out) : out, x);
}
template <bool S, class V> V whole_i0(V x) {
    const V size = abs(x), eight = splat<V>(8);
    if (S) return times_exp(scaled_i0<S>(x), x);
    const V out = near_i0(select(size > eight, eight, size));
    return any(size > eight) ? select(size > eight, times_exp(scaled_i0<S>(x), x), out) : out;
}
template <bool S, class V> V whole_i1(V x) {
    const V size = abs(x), eight = splat<V>(8);
    if (S) return times_exp(scaled_i1<S>(x), x);
    const V out = copysign(near_i1(select(size > eight, eight, size)), x);
    return any(size > eight) ? select(size > eight, times_exp(scaled_i1<S>(x), x), out) : out;
}
template <bool S> struct I0e : Taking1 { template <class V> V operator()(V x) const { return scaled_i0<S>(x); } };
template <bool S> struct I1e : Taking1 { template <class V> V operator()(V x) const { return scaled_i1<S>(x); } };
template <bool S> struct I0 : Taking1 { template <class V> V operator()(V x) const { return whole_i0<S>(x); } };
template <bool S> struct I1 : Taking1 { template <class V> V operator()(V x) const { return whole_i1<S>(x); } };

// --- modified, of the second kind -----------------------------------------------------------------------------------------------
// K0 or K1, times exp(x) if SCALED: inf at 0, NaN below
template <int ORDER, bool SCALED, bool S> struct Second : Taking1 {
    template <class V> V operator()(V x) const {
        const V one = splat<V>(1), zero = splat<V>(0), edge = splat<V>(ORDER + 1);
        V out = x;
        if (any(x <= edge)) {
            const V small = select((x <= edge) & (x > zero), x, edge), e = exp(small);
            if (ORDER == 0) {                                    // neither part is negative
                const V t = small * small * splat<V>(0.25);
                out = polynomial(K0_SERIES, t) * t - log_and_euler(small) * near_i0(small);
            } else {
                const V t = small * small * splat<V>(0.5) - one;
                out = chebyshev<S, K1_NEAR>(t) / small + log(small * splat<V>(0.5)) * scaled_i1<S>(small) * e;
            }
            if (SCALED) out = out * e;
        }
        if (any(x > edge)) {
            const V large = select(x > edge, x, edge), t = (edge + edge) / large - one;
            V far = (ORDER == 0 ? chebyshev<S, K0_FAR>(t) : chebyshev<S, K1_FAR>(t)) / sqrt(large);
            if (!SCALED) far = far * exp(-large);
            out = select(x > edge, far, out);
        }
        return select(x == zero, splat<V>(INF), select(x < zero, splat<V>(NAN_), select(x != x, x, out)));
    }
};

template <bool S> using K0 = Second<0, false, S>;
template <bool S> using K1 = Second<1, false, S>;
template <bool S> using K0e = Second<0, true, S>;
template <bool S> using K1e = Second<1, true, S>;

// --- of the first and second kind -------------------------------------------------------------------------------------------------
// J or Y of order 0 or 1 at x >= 8: sqrt(2 / (pi x)) times a wave of slowly changing height and phase
template <int ORDER, bool Y, bool S, class V> V wave(V x) {
    const V t = splat<V>(128) / (x * x) - splat<V>(1), angle = x - splat<V>((2 * ORDER + 1) * PI / 4);
    const V p = ORDER == 0 ? chebyshev<S, P0>(t) : chebyshev<S, P1>(t), q = (ORDER == 0 ? chebyshev<S, Q0>(t) : chebyshev<S, Q1>(t)) / x;
    const V c = cos(angle), s = sin(angle);
    return sqrt(splat<V>(2 / PI) / x) * (Y ? p * s + q * c : p * c - q * s);
}
// `out`, or next to a root, of which both parts are known, a polynomial of the distance from it
template <int N, class V> V beside_root(V out, V x, const RootAt& root, const double (&powers)[N], double width = 0.3) {
    const auto beside = abs(x - splat<V>(root.head)) < splat<V>(width);
    if (!any(beside)) return out;
    const V s = x - splat<V>(root.head) - splat<V>(root.rest);
    return select(beside, s * polynomial(powers, s), out);
}
template <class V> V first_j0(V x) { return polynomial(J0_SERIES, x * x * splat<V>(0.25)); }             // |x| <= 2
template <bool S, class V> V near_j(V x, int order) {                    // 0 <= x <= 8
    const V t = x * x * splat<V>(1.0 / 32) - splat<V>(1), two = splat<V>(2);
    V out = order == 0 ? chebyshev<S, J0_NEAR>(t) : x * chebyshev<S, J1_NEAR>(t);
    if (S) return out;
    if (any(x < two)) {
        const V small = select(x < two, x, two);
        out = select(x < two, order == 0 ? first_j0(small) : polynomial(J1_SERIES, small * small * splat<V>(0.25)) * small * splat<V>(0.5), out);
    }
    if (order == 0) return beside_root(beside_root(out, x, J0_AT_1, J0_ROOT_1), x, J0_AT_2, J0_ROOT_2);
    return beside_root(beside_root(out, x, J1_AT_1, J1_ROOT_1), x, J1_AT_2, J1_ROOT_2);
}
template <class V> V first_y0(V x) {                             // 0 < x <= 2
    const V t = x * x * splat<V>(0.25);
    return splat<V>(2 / PI) * multiply_add(log_and_euler(x), first_j0(x), polynomial(Y0_SERIES, t) * t);
}
template <int ORDER, bool S> struct BesselJ : Taking1 {
    template <class V> V operator()(V x) const {
        const V eight = splat<V>(8), size = abs(x), one = splat<V>(1);
        V out = near_j<S>(select(size <= eight, size, one), ORDER);
        if (any(size > eight)) {
            const V far = wave<ORDER, false, S>(select((size > eight) & (size < splat<V>(INF)), size, eight));
            out = select(size > eight, select(size == splat<V>(INF), splat<V>(NAN_), far), out);
        }
        if (ORDER == 1) out = select(x < splat<V>(0), -out, select(x == splat<V>(0), x, out));
        return select(x != x, x, out);
    }
};
template <int ORDER, bool S> struct BesselY : Taking1 {
    template <class V> V operator()(V x) const {
        const V eight = splat<V>(8), zero = splat<V>(0), small = select((x <= eight) & (x > zero), x, eight);
        const V t = small * small * splat<V>(1.0 / 32) - splat<V>(1), share = splat<V>(2 / PI);
        V out = ORDER == 0 ? chebyshev<S, Y0_NEAR>(t) + share * log(small) * near_j<S>(small, 0)
                           : small * chebyshev<S, Y1_NEAR>(t) + share * (log(small) * near_j<S>(small, 1) - splat<V>(1) / small);
        if constexpr (!S) {
            if (ORDER == 0 && any(small < splat<V>(2)))
                out = select(small < splat<V>(2), first_y0(select(small < splat<V>(2), small, splat<V>(2))), out);
            if (ORDER == 0) {
                out = beside_root(beside_root(out, small, Y0_AT_1, Y0_ROOT_1, 0.2), small, Y0_AT_2, Y0_ROOT_2);
                out = beside_root(out, small, Y0_AT_3, Y0_ROOT_3);
            } else {
                out = beside_root(beside_root(out, small, Y1_AT_1, Y1_ROOT_1), small, Y1_AT_2, Y1_ROOT_2);
            }
        }
        if (any(x > eight)) {
            const V far = wave<ORDER, true, S>(select((x > eight) & (x < splat<V>(INF)), x, eight));
            out = select(x > eight, select(x == splat<V>(INF), splat<V>(NAN_), far), out);
        }
        return select(x == zero, splat<V>(-INF), select(x < zero, splat<V>(NAN_), select(x != x, x, out)));
    }
};
template <bool S> struct SphericalJ0 : Taking1 {
    template <class V> V operator()(V x) const {
        const V zero = splat<V>(0), finite = select(x - x == x - x, x, zero);
        const V out = select(x == zero, splat<V>(1), sin(finite) / finite);
        return select(x != x, x, select(abs(x) == splat<V>(INF), zero, out));
    }
};

template <bool S> using J0 = BesselJ<0, S>;
template <bool S> using J1 = BesselJ<1, S>;
template <bool S> using Y0 = BesselY<0, S>;
template <bool S> using Y1 = BesselY<1, S>;

// --- Airy's -----------------------------------------------------------------------------------------------------------------------
double airy(double x) {
    if (x != x || x - x != 0) return NAN_;
    if (x > 103.892) return 0;
    if (x >= -2 && x <= 2) return chebyshev<false, AIRY_NEAR>(x * 0.5);
    if (x >= -7 && x < -2) return chebyshev<false, AIRY_LEFT>((x + 4.5) / 2.5);
    const double size = abs(x), root = sqrt(size), z = 2.0 / 3 * size * root, quarter = sqrt(root);
    if (x > 0) return exp(-z) / quarter * chebyshev<false, AIRY_RIGHT>(2 * 1.8856180831641267317 / z - 1);
    const double ratio = 12.346839451634756 / z, t = 2 * ratio * ratio - 1, angle = z - PI / 4;
    return (cos(angle) * chebyshev<false, AIRY_P>(t) + sin(angle) * chebyshev<false, AIRY_Q>(t) / z) / (SQRT_PI * quarter);
}
struct Airy : Taking1 {
    float operator()(float x) const { return (float)airy(x); }
    double operator()(double x) const { return airy(x); }
};

}  // namespace

const Kernel bessel_kernels[] = {
    CLAY_WIDE("i0", I0, DEAR), CLAY_WIDE("i1", I1, DEAR), CLAY_WIDE("i0e", I0e, DEAR), CLAY_WIDE("i1e", I1e, DEAR),
    CLAY_WIDE("k0", K0, DEAR), CLAY_WIDE("k1", K1, DEAR), CLAY_WIDE("k0e", K0e, DEAR), CLAY_WIDE("k1e", K1e, DEAR),
    CLAY_WIDE("j0", J0, DEAR), CLAY_WIDE("j1", J1, DEAR), CLAY_WIDE("y0", Y0, DEAR),
    CLAY_WIDE("y1", Y1, DEAR), CLAY_WIDE("spherical_j0", SphericalJ0, DEAR), CLAY_NUMBERS("airy", Airy, DEAREST),
};
CLAY_COUNT(bessel)

}  // namespace CLAY_ISA
}  // namespace clay
