// Functions related to the error function and to the gamma function; claygrad/ops/_special.py has the definitions.
#include "special/math.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <bool S> struct Erfcx : Taking1 {
    template <class V> V operator()(V x) const {
        const V tail = scaled_tail<S>(abs(x)), zero = splat<V>(0);
        if (!any(x < zero)) return tail;
        const V square = select(x < splat<V>(-27), splat<V>(INF), exp_of_square(select(x < splat<V>(-27), zero, x), 1));
        return select(x < zero, square + square - tail, tail);
    }
};

// The normal distribution's logarithm: of its left tail, and of one minus the right one
template <bool S> struct LogNdtr : Taking1 {
    template <class V> V operator()(V x) const {
        const V t = x * splat<V>(0.70710678118654752440), zero = splat<V>(0), left = select(x < splat<V>(-1), x, splat<V>(-1));
        const V tail = scaled_tail<S>(abs(t)), half = tail * splat<V>(0.5);
        V right = S ? exp_of_square(t, -1) * half : splat<V>(0.5) * erfc(abs(t));
        right = log1p(select(x < zero, right - splat<V>(1), -right));
        if (!any(left < splat<V>(-1))) return right;
        return select(x < splat<V>(-1), log(half) - t * t, right);
    }
};

// The inverse of erf near 0, and the normal quantile of a small probability
template <bool S, class V> V near_erfinv(V y) {
    if (!S) return y * polynomial(QUANTILE_MIDDLE, y * y);
    return y * chebyshev<S, QUANTILE_NEAR>(y * y * splat<V>(1 / 0.18) - splat<V>(1));
}
template <bool S, class V> V far_quantile(V p) {
    constexpr double FIRST = 0.16012815380508713, LAST = 0.74743509275193587;     // 1/sqrt(39), 1/sqrt(1.79)
    const V z = sqrt(splat<V>(-2) * log(p)), s = splat<V>(1) / sqrt(z);
    return z * chebyshev<S, QUANTILE_FAR>(s * splat<V>(2 / (LAST - FIRST)) - splat<V>((LAST + FIRST) / (LAST - FIRST)));
}
// One step of Newton's method for erfc(y) = wanted, which corrects the last digits of the series. Left out where either would underflow.
template <bool S, class V> V better(V y, V wanted) {
    if (S) return y;
    const auto possible = (y < splat<V>(26)) & (wanted > splat<V>(1e-290));
    const V at = select(possible, y, splat<V>(1)), slope = splat<V>(0.88622692545275801365) * exp(at * at);
    return select(possible, multiply_add(erfc(at) - wanted, slope, y), y);
}
template <bool S> struct Ndtri : Taking1 {
    template <class V> V operator()(V p) const {
        const V zero = splat<V>(0), one = splat<V>(1), half = splat<V>(0.5), side = select(p < half, p, one - p);
        const V inside = select(abs(p - half) <= splat<V>(0.3), p - half, zero);
        V out = splat<V>(1.4142135623730950488) * near_erfinv<S>(inside + inside);
        if (any(side < splat<V>(0.2))) {
            const V tail = select((side < splat<V>(0.2)) & (side > zero), side, splat<V>(0.1));
            V far = far_quantile<S>(tail);
            if (!S) far = splat<V>(1.4142135623730950488) * better<S>(far * splat<V>(0.70710678118654752440), tail + tail);
            far = select(side == zero, splat<V>(INF), select(side > zero, far, splat<V>(NAN_)));
            out = select(side < splat<V>(0.2), select(p < half, -far, far), out);
        }
        return select(p != p, p, out);
    }
};
// A polynomial in -log(1 - x^2); within 0.0013 of -1 and 1 the quantile.
template <bool S> struct Erfinv : Taking1 {
    template <class V> V operator()(V x) const {
        const V size = abs(x), one = splat<V>(1), six = splat<V>(6), w = -log((one - size) * (one + size));
        const V t = select(w <= six, w, six) - splat<V>(3);
        V out;
        if constexpr (S) out = x * polynomial_in_two(ERFINV_MIDDLE_SINGLE, t);
        else out = x * polynomial_in_two(ERFINV_MIDDLE, t);
        if (any(w > six)) {
            const V tail = select((w > six) & (size < one), (one - size) * splat<V>(0.5), splat<V>(0.1));
            const V far = better<S>(far_quantile<S>(tail) * splat<V>(0.70710678118654752440), tail + tail);
            out = select(w > six, copysign(select(size == one, splat<V>(INF), far), x), out);
        }
        return select(w == w, out, splat<V>(NAN_));
    }
};

#if defined(__FP_FAST_FMAF)              // without fused sums it would be 2.3 ulp off
// The same in single precision, at most 1.9 ulp off; near the ends in double precision.
struct ErfinvSingle : Taking1 {
    template <class V> V operator()(V x) const {
        constexpr float WHOLE = 0.8862269f, REST = 3.298144e-8f;               // sqrt(pi) / 2; neither turns the sign of -0
        const V size = abs(x), one = splat<V>(1), six = splat<V>(6), w = -log((one - size) * (one + size));
        const V rise = polynomial(ERFINV_RISE, w - splat<V>(3));
        const V out = multiply_add(x, multiply_add(w, rise, splat<V>(REST)), x * splat<V>(WHOLE));
        const auto beyond = (w > six) | (w != w);
        return any(beyond) ? select(beyond, by_doubles(x), out) : out;
    }
    template <class V> V by_doubles(V x) const {
        constexpr int W = Lanes<V>::width, HALF = Lanes<vec<double>>::width;
        float lanes[W];
        store<V>(lanes, x);
        for (int i = 0; i < W; i += HALF) store_wide<vec<double>>(lanes + i, Erfinv<true>{numbers}(load_wide<vec<double>>(lanes + i)));
        return load<V>(lanes);
    }
};
#endif

template <bool S> struct LogGamma : Taking1 { template <class V> V operator()(V x) const { return log_gamma<S>(x); } };
template <bool> struct Digamma : Taking1 { template <class V> V operator()(V x) const { return digamma_of(x); } };
template <class V> V as_single(V x) {                            // rounded as single precision would be
    float rounded[Lanes<V>::width];
    store_wide<V>(rounded, x);
    return load_wide<V>(rounded);
}

// As in PyTorch, poles are where x - k, rounded to the precision of x, is one.
template <bool SINGLE> struct MultiGamma : Taking1 {
    template <class V> V operator()(V x) const {
        const int p = (int)numbers.value[0];
        V sum = splat<V>(p * (p - 1) / 4.0 * 1.1447298858494001741);          // log(pi)
        for (int j = 0; j < p; j++) {
            const V step = x - splat<V>(j * 0.5);
            sum = sum + log_gamma<SINGLE>(SINGLE ? as_single(step) : step);
        }
        return sum;
    }
};

// --- zeta and the derivatives of digamma ------------------------------------------------------------------------------------------
const double BERNOULLI[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6, -3617.0 / 510, 43867.0 / 798,
                            -174611.0 / 330};

// The sum over k >= 0 of (q + k) ** -s for q > 0: some terms, then the Euler-Maclaurin formula. Four terms and six corrections are right
// to 1e-10, enough for single precision.
template <bool S = false, class V> V positive_zeta(V s, V q) {
    constexpr int TERMS = S ? 4 : 10, MORE = S ? 6 : 10;
    const V zero = splat<V>(0), one = splat<V>(1), z = q + splat<V>(TERMS);
    V total = zero;
    for (int k = 0; k < TERMS; k++) total = total + pow(q + splat<V>(k), -s);
    V power = pow(z, -s), rising = s;
    total = total + power * z / (s - one) + power * splat<V>(0.5);
    double factorial = 2;
    for (int k = 1; k <= MORE; k++) {
        power = power / z;
        total = total + select(power == zero, zero, splat<V>(BERNOULLI[k - 1] / factorial) * rising * power);
        rising = rising * (s + splat<V>(2 * k - 1)) * (s + splat<V>(2 * k));
        factorial *= (2 * k + 1) * (2 * k + 2);
        power = power / z;
    }
    return total;
}

double any_zeta(double s, double q) {
    if (s == 1) return INF;
    if (s < 1 || q != q) return NAN_;
    if (s == INF) return q < 1 ? s : q == 1 ? 1 : NAN_;                       // this line and the next are PyTorch's values
    if (q == INF) return NAN_;
    if (q > 0) return positive_zeta(s, q);
    if (q == floor(q)) return INF;
    if (s != floor(s)) return NAN_;
    if (q > -10) {                                               // term by term up to zero
        double sum = 0;
        for (; q < 0; q++) sum += pow(q, -s);
        return sum + positive_zeta(s, q);
    }
    // The terms below zero are a difference of two such sums, counted from zero down.
    const double part = q - floor(q), below = positive_zeta(s, 1 - part) - positive_zeta(s, 1 - q);
    return positive_zeta(s, part == 0 ? 1.0 : part) + (__builtin_fmod(s, 2) == 0 ? below : -below);
}
// Vectors where the sum applies or where s alone decides; other elements one by one.
template <bool S, class V> V zeta_of(V s, V q) {
    const V zero = splat<V>(0), one = splat<V>(1), inf = splat<V>(INF);
    const decltype(s <= one) low = s <= one, sum = (s > one) & (s < inf) & (q > zero) & (q < inf);
    V out = select(s == one, inf, splat<V>(NAN_));
    if (any(sum)) out = select(sum, positive_zeta<S>(select(sum, s, one + one), select(sum, q, one)), out);
    const V rest = select(low, one, select(sum, one, s));
    if (__builtin_expect(any(rest != one), 0))
        out = select(rest != one, lanes_of(rest, q, [](double a, double b) { return any_zeta(a, b); }), out);
    return out;
}
template <bool S> struct Zeta : Taking2 { template <class V> V operator()(V s, V q) const { return zeta_of<S>(s, q); } };

const double TRIGAMMA[] = {7.0 / 6, -691.0 / 2730, 5.0 / 66, -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6};
// 1/x^2 + ... below the asymptotic series at 10 and more
template <class V> V positive_trigamma(V x) {
    const V ten = splat<V>(10), one = splat<V>(1), small = select(x < ten, x, ten);
    V sum = splat<V>(0);
    if (any(x < ten)) {
        for (int k = 0; k < 10; k++) {
            const V inverse = one / (small + splat<V>(k));
            sum = sum + inverse * inverse;
        }
        sum = select(x < ten, sum, splat<V>(0));
    }
    const V z = select(x < ten, small + ten, x), inverse = one / z, square = inverse * inverse;
    return sum + inverse + square * splat<V>(0.5) + polynomial(TRIGAMMA, square) * square * inverse;
}

// polygamma of order n. The first derivative below 1/2 is computed by reflection, with a sine in the precision of x, as in PyTorch, which
// gives the same poles.
template <bool SINGLE> struct Polygamma : Taking1 {
    template <class V> V operator()(V x) const {
        const double n = numbers.value[0];
        if (n == 0) return digamma_of(x);
        if (n == 1) {
            const V half = splat<V>(0.5), upper = positive_trigamma(select(x < half, splat<V>(1) - x, x));
            V out = upper;
            if (any(x < half)) {
                V sine = sin(splat<V>(PI) * x);
                if (SINGLE && any(x < splat<V>(-0.5)))                    // between 0 and the next pole nothing need be as in PyTorch
                    sine = select(x < splat<V>(-0.5), as_single(sin(as_single(splat<V>((double)(float)PI) * x))), sine);
                out = select(x < half, splat<V>(PI * PI) / (sine * sine) - upper, upper);
            }
            return select(x == splat<V>(INF), splat<V>(0), select(x == splat<V>(-INF), splat<V>(NAN_), out));
        }
        const double factorial = n <= 170 ? __builtin_tgamma(n + 1) : INF;
        return zeta_of<SINGLE>(splat<V>(n + 1), x) * splat<V>(__builtin_fmod(n, 2) == 1 ? factorial : -factorial);
    }
};

}  // namespace

const Kernel gamma_kernels[] = {
    CLAY_WIDE("erfcx", Erfcx, DEAR), CLAY_WIDE("log_ndtr", LogNdtr, DEAR), CLAY_WIDE("ndtri", Ndtri, DEAR),
#if defined(__FP_FAST_FMAF)
    {"erfinv", F32, (void*)each_vector<ErfinvSingle, float>, -1, DEAR, false, true},
    {"erfinv", F64, (void*)each_wide<Erfinv<false>, double>, -1, DEAR},
#else
    CLAY_WIDE("erfinv", Erfinv, DEAR),
#endif
    CLAY_WIDE("lgamma", LogGamma, DEAR), CLAY_WIDE("digamma", Digamma, DEAR), CLAY_WIDE("mvlgamma", MultiGamma, DEAR),
    CLAY_WIDE("zeta", Zeta, DEAREST),
    CLAY_WIDE("polygamma", Polygamma, DEAREST),
};
CLAY_COUNT(gamma)

}  // namespace CLAY_ISA
}  // namespace clay
