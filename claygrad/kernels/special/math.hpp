// Shared by several special functions, in double precision: V is a number or a vector.
#pragma once
#include <math.h>

#include "elementwise/loops.hpp"
#include "special/tables.hpp"

namespace clay {
namespace CLAY_ISA {

constexpr double PI = 3.141592653589793238463, SQRT_PI = 1.7724538509055160273, HALF_LOG_TWO_PI = 0.91893853320467274178;
constexpr double NAN_ = __builtin_nan(""), INF = __builtin_inf();

// A Chebyshev series in t as even + t * odd, two series of half the length in u = 2 t^2 - 1, which the processor computes at the same
// time. Single precision needs fewer terms.
template <int N> struct Split { double even[N / 2 + 1], odd[N / 2 + 1]; };
template <int N> constexpr int needed(const double (&c)[N], bool single) {
    double largest = 0;
    for (double x : c) largest = x > largest ? x : -x > largest ? -x : largest;
    int n = N;
    while (single && n > 2 && c[n - 1] < largest * 1e-10 && c[n - 1] > -largest * 1e-10) n--;
    return n;
}
template <int N, int M> constexpr Split<N> split(const double (&c)[M]) {
    Split<N> out{};
    for (int k = 0; k < N; k++) (k % 2 ? out.odd : out.even)[k / 2] = c[k];
    // t T_k(u) is half the sum of T_(2k+1)(t) and T_(2k-1)(t).
    double above = 0;
    for (int k = N / 2; k > 0; k--) above = out.odd[k] = 2 * out.odd[k] - above;
    out.odd[0] -= above / 2;
    return out;
}
template <int COUNT, class V> V clenshaw(const double* c, V t) {
    const V twice = t + t;
    V old = splat<V>(c[COUNT - 1]), older = splat<V>(0);
    for (int k = COUNT - 2; k > 0; k--) {
        const V next = multiply_add(twice, old, splat<V>(c[k]) - older);
        older = old;
        old = next;
    }
    return COUNT == 1 ? old : multiply_add(t, old, splat<V>(c[0]) - older);
}
template <bool SINGLE, const auto& TABLE, class V> V chebyshev(V t) {
    constexpr int N = needed(TABLE, SINGLE), EVEN = (N + 1) / 2, ODD = N / 2;
    static constexpr Split<N> parts = split<N>(TABLE);
    const V u = multiply_add(t + t, t, splat<V>(-1));
    return multiply_add(t, clenshaw<ODD>(parts.odd, u), clenshaw<EVEN>(parts.even, u));
}

template <int N, class T, class V> V polynomial(const T (&c)[N], V x) {       // the highest power first
    V sum = splat<V>(c[0]);
    for (int k = 1; k < N; k++) sum = multiply_add(sum, x, splat<V>(c[k]));
    return sum;
}

// The same as even + x * odd: two sums of half the length, which the processor computes at the same time
template <int N, class V> V polynomial_in_two(const double (&c)[N], V x) {
    const V square = x * x;
    V first = splat<V>(c[0]), second = splat<V>(c[1]);
    for (int k = 2; k < N; k += 2) first = multiply_add(first, square, splat<V>(c[k]));
    for (int k = 3; k < N; k += 2) second = multiply_add(second, square, splat<V>(c[k]));
    return N % 2 ? multiply_add(second, x, first) : multiply_add(first, x, second);
}

// --- the error function ---------------------------------------------------------------------------------------------------
// exp(x^2) erfc(x) for x >= 0
template <bool S, class V> V scaled_tail(V x) {
    const V far = splat<V>(3.75), one = splat<V>(1);
    const V series = chebyshev<S, ERFCX_SERIES>((x - far) / (x + far)) / (one + x + x);
    return select(x == splat<V>(INF), splat<V>(0), series);
}

// exp(sign x^2) to full precision: x is split so that the square of its head is exact
template <class V> V exp_of_square(V x, double sign) {
    const V size = select(abs(x) > splat<V>(40), splat<V>(40), abs(x));
    const V head = rint(size * splat<V>(1024)) * splat<V>(1.0 / 1024), s = splat<V>(sign);
    return select(x != x, x, exp(s * head * head) * exp(s * (size - head) * (size + head)));
}

// --- the gamma function ------------------------------------------------------------------------------------------------------
const double STIRLING[] = {1.0 / 156, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12};
const double DIGAMMA[] = {1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12};

// log(gamma(z)) - (z - 1/2) log(z) + z - log(2 pi) / 2 for z >= 10
template <class V> V stirling_rest(V z) {
    const V inverse = splat<V>(1) / z;
    return polynomial(STIRLING, inverse * inverse) * inverse;
}
template <class V> V stirling(V z) {
    return (z - splat<V>(0.5)) * log(z) - z + (splat<V>(HALF_LOG_TWO_PI) + stirling_rest(z));
}

// log(gamma(x)) for x > 0. Below 10 the argument is reduced to 1 .. 3; the logarithm of the product of the factors has no cancellation.
template <bool S, class V> V positive_lgamma(V x) {
    const V one = splat<V>(1), three = splat<V>(3), ten = splat<V>(10), zero = splat<V>(0);
    V out = x;
    if (any(x < ten)) {
        V y = select(x < ten, x, one), factors = one;
        for (int k = 0; k < 7 && any(y >= three); k++) {
            const V less = y - one;
            factors = select(y >= three, factors * less, factors);
            y = select(y >= three, less, y);
        }
        // For small x, gamma(x + 1) is computed without forming x + 1, which would be rounded.
        const V t = select(y < one, y - one, y - one - one);
        out = select(y < one, y, y - one) * t * chebyshev<S, LGAMMA_SERIES>(t) + zero;
        const V logs = log(select(y < one, y, factors));
        out = select(y < one, out - logs, out + logs);
    }
    if (any(x >= ten)) {
        const V far = stirling(select(x < ten, ten, select(x > splat<V>(1e306), splat<V>(1e306), x)));
        out = select(x >= ten, select(x == splat<V>(INF), x, far), out);
    }
    return select(x != x, x, out);
}

// log |gamma(x)| for a single-precision result: the digits of double precision allow a difference of two numbers near 1 and 2, where
// the result is small. So the series is evaluated at x + 10, minus one logarithm of all factors, with the sine of a reflection among them.
template <class V> V short_log_gamma(V x) {
    const V zero = splat<V>(0), one = splat<V>(1), ten = splat<V>(10), inf = splat<V>(INF), largest = splat<V>(1e306);
    const auto below = x <= zero;
    const V y = select(below, one - x, x), small = select(y < ten, y, one), both = small * (small + splat<V>(9));
    const V series = stirling(select(y < ten, small + ten, select(y > largest, largest, y)));
    V factors = both * (both + splat<V>(8)) * ((both + splat<V>(14)) * (both + splat<V>(18))) * (both + splat<V>(20));
    factors = select(y < ten, factors, one);
    if (any(below)) factors = select(below, splat<V>(PI) * factors / abs(sin(splat<V>(PI) * (x - rint(x)))), factors);
    const V rest = series - log(factors);
    return select(x != x, x, select(abs(x) == inf, inf, select(below, -rest, select((x == one) | (x == splat<V>(2)), zero, rest))));
}

// log |gamma(x)|. sin(pi x) is computed from the distance of x from a whole number, which is exact.
template <bool S, class V> V log_gamma(V x) {
    if constexpr (S) return short_log_gamma(x);
    const V zero = splat<V>(0), one = splat<V>(1);
    const V above = positive_lgamma<S>(select(x > zero, x, one - x));
    if (!any(x <= zero)) return select(x != x, x, above);
    // For negative x a reflection would lose digits near the roots (one between any two poles): the C library handles them.
    const V below = lanes_of(select(x <= zero, x, one), [](double y) { int sign; return lgamma_r(y, &sign); });
    return select(x != x, x, select(x <= zero, below, above));
}

// digamma: below 10 the argument is reduced to 1 .. 2, where the sum of the 1/x in between has one sign; beyond 10 the asymptotic series.
template <class V> V positive_digamma(V x) {
    const V zero = splat<V>(0), one = splat<V>(1), two = splat<V>(2), ten = splat<V>(10);
    V out = x;
    if (any(x < ten)) {
        const V given = select(x < ten, x, one);
        V y = select(given < one, given + one, given), sum = select(given < one, -one / given, zero);
        for (int k = 0; k < 4 && any(y >= two + one); k++) {                       // two terms: 1/(y - 1) + 1/(y - 2)
            const V less = y - one, both = (less + less - one) / (less * (less - one));
            sum = select(y >= two + one, sum + both, sum);
            y = select(y >= two + one, y - two, y);
        }
        if (any(y >= two)) {
            sum = select(y >= two, sum + one / (y - one), sum);
            y = select(y >= two, y - one, y);
        }
        const V s = y - splat<V>(1.4616321449683622) - splat<V>(9.549995429965697e-17);
        out = multiply_add(s, polynomial(DIGAMMA_ROOT, s), sum);
    }
    if (any(x >= ten)) {
        const V z = select(x < ten, ten, x), inverse = one / (z * z);
        out = select(x >= ten, log(z) - splat<V>(0.5) / z - polynomial(DIGAMMA, inverse) * inverse, out);
    }
    return select(x != x, x, out);
}
template <class V> V digamma_of(V x) {
    const V zero = splat<V>(0);
    const V above = positive_digamma(select(x > zero, x, splat<V>(1) - x));
    if (!any(x <= zero)) return select(x != x, x, above);
    const V part = x - rint(x);
    V below = above - splat<V>(PI) / tan(splat<V>(PI) * part);
    for (const auto& root : DIGAMMA_BELOW) {
        const auto beside = abs(x - splat<V>(root[0])) < splat<V>(0.05);
        if (!any(beside)) continue;
        const V s = x - splat<V>(root[0]) - splat<V>(root[1]);
        V sum = splat<V>(root[2]);
        for (int k = 3; k < 18; k++) sum = multiply_add(sum, s, splat<V>(root[k]));
        below = select(beside, s * sum, below);
    }
    const V at_whole = select(x == zero, copysign(splat<V>(INF), -x), splat<V>(NAN_));
    return select(x > zero, above, select(part == zero, at_whole, below));
}

}  // namespace CLAY_ISA
}  // namespace clay
