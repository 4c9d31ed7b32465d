// Orthogonal polynomials by their recurrences (claygrad/ops/_polynomials.py), and the incomplete gamma functions.
#include <cmath>
#include <type_traits>

#include "special/math.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// The degree as an integer, rounded towards zero; negative if it does not fit.
template <class T> int64_t degree_of(T n) { return n - n == 0 && abs(n) < (T)9223372036854775808.0 ? (int64_t)n : -1; }

// a * b - c with one rounding where the processor has the instruction: PyTorch's loops use it, and the recurrences magnify the difference.
#if defined(__FMA__)
inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, -c); }
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, -c); }
#else
inline float fused(float a, float b, float c) { return (float)((double)a * b - c); }
inline double fused(double a, double b, double c) { return a * b - c; }
#endif

// The polynomial of degree n: first, second, then step(k, q, p) from degrees k - 1 and k - 2, until NaN
template <class T, class F> T climb(int64_t n, T first, T second, F step) {
    if (n < 0) return 0;
    if (n == 0) return first;
    T p = first, q = second;
    for (int64_t k = 2; k <= n && q == q; k++) {
        const T next = step(k, q, p);
        p = q;
        q = next;
    }
    return q;
}

// The four kinds of Chebyshev polynomials inside -1 .. 1, from angles. In double precision, because n times a rounded angle has n times
// its error.
template <char KIND> double closed(double x, int64_t n, double sign, double twice) {
    const double angle = __builtin_acos(x), m = (double)n;
    if (KIND == 't') return cos(m * angle);
    if (KIND == 'u') {
        const double sine = sin(angle);
        return sine != 0 ? sin((m + 1) * angle) / sine : (m + 1) * cos((m + 1) * angle) / x;
    }
    if (KIND == 'v') return sin(angle / 2) != 1 ? cos((m + 0.5) * angle) / cos(angle / 2) : sign * twice;
    return cos(angle / 2) != 1 ? sin((m + 0.5) * angle) / sin(angle / 2) : x > 0 ? twice : sign;
}

template <char KIND, bool SHIFTED> struct Chebyshev : Taking2 {
    static constexpr int64_t LIMIT = SHIFTED ? KIND == 'w' ? 4 : 6 : KIND == 't' ? 6 : 8;
    static constexpr int64_t largest() { return LIMIT; }
    template <class V> static V moved(V given) { return SHIFTED ? given + given - splat<V>(1) : given; }
    template <class V> static V second(V given) {
        const V x = moved(given), one = splat<V>(1);
        return KIND == 't' ? x : KIND == 'u' ? x + x : KIND == 'v' ? x + x - one : x + x + one;
    }
    template <class V> static V step(V given, double, V q, V p) { return multiply_add(moved(given) + moved(given), q, -p); }
    template <class T> T operator()(T given, T degree) const {
        const int64_t n = degree_of(degree);
        if (n < 0) return 0;
        const T x = SHIFTED ? given + given - 1 : given, sign = n % 2 ? -1 : 1, twice = (T)((uint64_t)n + (uint64_t)n + 1);
        if (given == 1) return KIND == 'u' ? (T)(n + 1) : KIND == 'w' ? twice : 1;
        if (given == (SHIFTED ? 0 : -1)) return KIND == 'u' ? sign * (T)(n + 1) : KIND == 'v' ? sign * twice : sign;
        if (n > LIMIT && abs(x) < 1) return (T)closed<KIND>(x, n, sign, twice);
        const T two = x + x;
        return climb<T>(n, 1, KIND == 't' ? x : KIND == 'u' ? two : KIND == 'v' ? two - 1 : two + 1,
                        [two](int64_t, T q, T p) { return fused(two, q, p); });
    }
};

template <class T> bool beyond(int64_t n) { return n > (sizeof(T) == 4 ? 128 : 512); }      // where PyTorch gives up
struct HermiteH : Taking2 {
    static constexpr int64_t largest() { return 128; }
    template <class V> static V second(V x) { return x + x; }
    template <class V> static V step(V x, double k, V q, V p) { return multiply_add(x + x, q, splat<V>(2 - 2 * k) * p); }
    template <class T> T operator()(T x, T degree) const {
        const int64_t n = degree_of(degree);
        if (beyond<T>(n)) return (T)NAN_;
        const T two = x + x;
        return climb<T>(n, 1, two, [two](int64_t k, T q, T p) { return fused(two, q, (T)(2 * k - 2) * p); });
    }
};
struct HermiteHe : Taking2 {
    static constexpr int64_t largest() { return 128; }
    template <class V> static V second(V x) { return x; }
    template <class V> static V step(V x, double k, V q, V p) { return multiply_add(x, q, splat<V>(1 - k) * p); }
    template <class T> T operator()(T x, T degree) const {
        const int64_t n = degree_of(degree);
        if (beyond<T>(n)) return (T)NAN_;
        return climb<T>(n, 1, x, [x](int64_t k, T q, T p) { return fused(x, q, (T)(k - 1) * p); });
    }
};
struct Laguerre : Taking2 {
    static constexpr int64_t largest() { return 4096; }
    template <class V> static V second(V x) { return splat<V>(1) - x; }
    template <class V> static V step(V x, double k, V q, V p) {
        return multiply_add(splat<V>(2 * k - 2) + (splat<V>(1) - x), q, splat<V>(1 - k) * p) / splat<V>(k);
    }
    template <class T> T operator()(T x, T degree) const {
        const int64_t n = degree_of(degree);
        if (n >= 0 && x == 0) return 1;
        const T start = 1 - x;
        return climb<T>(n, 1, start, [start](int64_t k, T q, T p) {
            const T m = (T)(k - 1);
            return fused((m + m) + start, q, m * p) / (m + 1);
        });
    }
};
struct Legendre : Taking2 {
    static constexpr int64_t largest() { return 4096; }
    template <class V> static V second(V x) { return x; }
    template <class V> static V step(V x, double k, V q, V p) {
        return multiply_add(splat<V>(2 * k - 1) * x, q, splat<V>(1 - k) * p) / splat<V>(k);
    }
    template <class T> T operator()(T x, T degree) const {
        const int64_t n = degree_of(degree);
        if (n >= 0 && abs(x) == 1) return x == 1 || n % 2 == 0 ? 1 : -1;
        return climb<T>(n, 1, x, [x](int64_t k, T q, T p) {
            const T m = (T)(k - 1);
            return fused((m + m + 1) * x, q, m * p) / (m + 1);
        });
    }
};

// The same for one degree and vectors of x. -1 and 1 need no special case: the recurrences are exact there.
template <class F, class T> bool by_degree(const void* const* in, void* out_n, int64_t n, const Numbers& numbers) {
    using V = vec<T>;
    const T *x = (const T*)in[0], *degrees = (const T*)in[1];
    const int64_t degree = n ? degree_of(degrees[0]) : -1;
    int others = Lanes<V>::width == 1 || degree < 1 || degree > F::largest();
    for (int64_t i = 1; i < n; i++) others |= degrees[i] != degrees[0];
    if (others) return each_number<F, T, T>(in, out_n, n, numbers);
    along<T>(n, [=](int64_t i, int64_t m) {
        const V given = get<V>((const T*)x + i, m);
        V p = splat<V>(1), q = F::second(given);
        for (int64_t k = 2; k <= degree; k++) {
            const V next = F::step(given, (double)k, q, p);
            p = q;
            q = next;
        }
        put<V>((T*)out_n + i, q, m);
    });
    return true;
}

// --- the incomplete gamma functions -------------------------------------------------------------------------------------------------
// SINGLE: series may stop at the digits of single precision.
template <bool SINGLE> constexpr double NEGLIGIBLE = SINGLE ? 1e-10 : 1e-17;

double log_gamma_of_1_and(double a) {                            // log(gamma(1 + a)), exact for a small a
    return a < 2 ? a * (a - 1) * chebyshev<false, LGAMMA_SERIES>(a - 1) : positive_lgamma<false>(a + 1);
}

double gamma_of_1_and(double a) {                                // for a < 12
    double factors = 1;
    for (; a >= 1; a--) factors *= a;
    return factors * exp(log_gamma_of_1_and(a));
}

// x ** a * exp(-x) / gamma(a + 1). Exponents of several hundred need the digits of a long double, or the result loses accuracy.
template <bool SINGLE> double lead(double a, double x) {
    using Wide = std::conditional_t<SINGLE, double, long double>;
    if (!SINGLE && a < 12 && x < 600) return pow(x, a) * exp(-x) / gamma_of_1_and(a);
    if (a < 12) return (double)std::exp((Wide)a * std::log((Wide)x) - x - (Wide)log_gamma_of_1_and(a));
    const Wide ratio = ((Wide)x - a) / a;                         // from it, or where it cancels from x / a
    const Wide logs = ratio < -0.5 ? std::log((Wide)x / a) : std::log1p(ratio);
    return (double)std::exp(a * (logs - ratio) - stirling_rest(a)) / sqrt(2 * PI * a);
}
template <bool SINGLE> double lower_series(double a, double x) {
    double term = 1, sum = 1;
    for (double n = a + 1; term > NEGLIGIBLE<SINGLE> * sum; n++) sum += term *= x / n;
    return lead<SINGLE>(a, x) * sum;
}
template <bool SINGLE> double upper_series(double a, double x) {
    double factor = 1, sum = 0;
    for (int n = 1; n < 2000; n++) {
        factor *= -x / n;
        const double term = factor / (a + n);
        sum += term;
        if (abs(term) <= NEGLIGIBLE<SINGLE> * abs(sum)) break;
    }
    const double power = a * log(x) - log_gamma_of_1_and(a);
    return -__builtin_expm1(power) - exp(power) * a * sum;
}
// Legendre's continued fraction as a sum of differences (Steed's algorithm). Errors do not accumulate: each difference is a fraction of
// the one before.
template <bool SINGLE> double upper_fraction(double a, double x) {
    double b = x + 1 - a, d = 1 / b, step = d, sum = d;
    for (int n = 1; n < 100000; n++) {
        const double rise = n * (n - a) * d;                     // what the numerator takes away from b
        b += 2;
        d = 1 / (b - rise);
        step *= rise * d;
        sum += step;
        if (abs(step) < 10 * NEGLIGIBLE<SINGLE> * sum) break;
    }
    return lead<SINGLE>(a, x) * a * sum;
}

template <bool SINGLE> double upper(double a, double x);
template <bool SINGLE> double lower(double a, double x) { return x > 1 && x > a ? 1 - upper<SINGLE>(a, x) : lower_series<SINGLE>(a, x); }
template <bool SINGLE> double upper(double a, double x) {
    const bool by_lower = x > 1.1 ? x < a : x <= 0.5 ? -0.4 / log(x) < a : x * 1.1 < a;
    return by_lower ? 1 - lower_series<SINGLE>(a, x) : x > 1.1 ? upper_fraction<SINGLE>(a, x) : upper_series<SINGLE>(a, x);
}

template <class T> bool plain(T a, T x) { return (a > 0) & (a < (T)INF) & (x > 0) & (x < (T)INF); }

// The incomplete gamma function (`all` is 1 for the upper one) of zeros, infinities and NaN, with PyTorch's results. Selections without
// branches: later ones override earlier ones.
template <class T> T at_the_ends(T a, T x, T all) {
    const T end = (T)INF, none = (T)NAN_, rest = 1 - all;
    T out = a == end ? (x == end ? none : rest) : all;
    out = x == 0 ? rest : out;
    out = a == 0 ? (x > 0 ? all : none) : out;
    out = (a != a) | (x != x) | (a < 0) | (x < 0) ? none : out;
    out = (a == end) & (x != x) ? rest : out;
    return (x == end) & (a != a) ? all : out;
}

template <class T, bool ABOVE> bool incomplete_gamma(const void* const* in, void* out_n, int64_t n, const Numbers&) {
    const T *a = (const T*)in[0], *x = (const T*)in[1];
    T* out = (T*)out_n;
    int large = 0, some = 0;
    for (int64_t i = 0; i < n; i++) large |= (a[i] > (T)1e4) & (a[i] < (T)INF), some |= plain(a[i], x[i]);
    if (large) return false;                                    // other series are better there
    constexpr bool SINGLE = sizeof(T) == 4;
    if (some)
        for (int64_t i = 0; i < n; i++)
            out[i] = !plain(a[i], x[i]) ? at_the_ends<T>(a[i], x[i], ABOVE ? 0 : 1)
                     : (T)(ABOVE ? upper<SINGLE>(a[i], x[i]) : lower<SINGLE>(a[i], x[i]));
    else
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) out[i] = at_the_ends<T>(a[i], x[i], ABOVE ? 0 : 1);
    return true;
}

#define DEGREES(name, ...) \
    {name, F32, (void*)by_degree<__VA_ARGS__, float>, -1, DEAREST}, {name, F64, (void*)by_degree<__VA_ARGS__, double>, -1, DEAREST}
#define KIND(letter) \
    DEGREES("chebyshev_" #letter, Chebyshev<#letter[0], false>), DEGREES("shifted_chebyshev_" #letter, Chebyshev<#letter[0], true>)

}  // namespace

const Kernel polynomial_kernels[] = {
    KIND(t), KIND(u), KIND(v), KIND(w), DEGREES("hermite_h", HermiteH), DEGREES("hermite_he", HermiteHe), DEGREES("laguerre", Laguerre),
    DEGREES("legendre", Legendre),
    {"igamma", F32, (void*)incomplete_gamma<float, false>, -1, DEAREST, true},
    {"igamma", F64, (void*)incomplete_gamma<double, false>, -1, DEAREST, true},
    {"igammac", F32, (void*)incomplete_gamma<float, true>, -1, DEAREST, true},
    {"igammac", F64, (void*)incomplete_gamma<double, true>, -1, DEAREST, true},
};
CLAY_COUNT(polynomial)

}  // namespace CLAY_ISA
}  // namespace clay
