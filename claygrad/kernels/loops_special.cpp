// Special functions that no vector library has: claygrad/ops/_special.py says what they compute.
#include "special.hpp"

#include <math.h>

#include "threads.hpp"
#include "vmath.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr double PI = 3.141592653589793, SQRT_PI = 1.772453850905516;

// out[i] = f(x[i]), vector by vector of V
template <class V, class F> void each(const void* x_n, void* out_n, int64_t n, int64_t grain, F f) {
    using T = typename Lanes<V>::T;
    struct Job {
        const T* x;
        T* out;
        F f;
    } job{(const T*)x_n, (T*)out_n, f};
    parallel_for(n, grain, [](void* data, int64_t begin, int64_t end) {
        constexpr int W = Lanes<V>::width;
        const Job& j = *(const Job*)data;
        int64_t i = begin;
        for (; i + W <= end; i += W) store<V>(j.out + i, j.f(load<V>(j.x + i)));
        if (W > 1 && i < end) store_part<V>(j.out + i, j.f(load_part<V>(j.x + i, end - i)), end - i);
    }, &job);
}

float log_gamma(float x) {
    int sign;
    return lgammaf_r(x, &sign);
}
double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

// The terms 1/x + 1/(x + 1) + ... below the asymptotic series at 10 or more
double positive_digamma(double x) {
    double sum = 0;
    for (; x < 10; x++) sum += 1 / x;
    const double inverse = 1 / (x * x);
    const double series = inverse * (1.0 / 12 - inverse * (1.0 / 120 - inverse * (1.0 / 252 - inverse * (1.0 / 240 - inverse *
                          (1.0 / 132 - inverse * (691.0 / 32760 - inverse / 12))))));
    return __builtin_log(x) - 0.5 / x - series - sum;
}
double digamma_of(double x) {
    if (x == 0) return __builtin_copysign(__builtin_inf(), -x);
    if (x > 0) return positive_digamma(x);
    const double part = x - __builtin_rint(x);
    return part == 0 ? __builtin_nan("") : positive_digamma(1 - x) - PI / __builtin_tan(PI * part);
}

// --- the inverse of erf ------------------------------------------------------------------------------------------------------
template <class V> V with_sign(V size, V x) { return pick(x < splat<V>(0), -size, pick(x == splat<V>(0), x, size)); }

// Winitzki's approximation, then two steps of Halley; near 1 the residual comes from erfc.
template <class V> V inverse_erf(V x) {
    const V size = abs(x), one = splat<V>(1), logs = log1p(-size * size), a = splat<V>(0.147);
    const V half = splat<V>(2 / (PI * 0.147)) + logs * splat<V>(0.5);
    V y = sqrt(sqrt(half * half - logs / a) - half);
    for (int step = 0; step < 2; step++) {
        const V gap = pick(size > splat<V>(0.5), one - size - erfc(y), erf(y) - size);
        const V error = gap * splat<V>(SQRT_PI / 2) * exp(y * y);
        y = y - error / (one + y * error);
    }
    y = pick(size == one, splat<V>(__builtin_inf()), pick(size > one, splat<V>(__builtin_nan("")), y));
    return with_sign(y, x);
}

// Giles' polynomials in log(1 - x^2): single precision needs no more.
template <class V> V polynomial(V x, const double* c, int n) {
    V sum = splat<V>(c[0]);
    for (int i = 1; i < n; i++) sum = multiply_add(sum, x, splat<V>(c[i]));
    return sum;
}
const double CENTRE[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                         -0.00125372503, -0.00417768164, 0.246640727, 1.50140941};
const double TAIL[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                       -0.0076224613, 0.00943887047, 1.00167406, 2.83297682};
template <class V> V quick_inverse_erf(V x) {
    const V one = splat<V>(1), size = abs(x), w = -log((one - size) * (one + size));
    const V centre = polynomial(w - splat<V>(2.5), CENTRE, 9), tail = polynomial(sqrt(w) - splat<V>(3), TAIL, 9);
    const V y = size * pick(w < splat<V>(5), centre, tail);
    return with_sign(pick(size == one, splat<V>(__builtin_inf()), y), x);
}

constexpr int64_t GRAIN = 4096;

}  // namespace

void lgamma_f32(const void* x, void* out, int64_t n, double, double) {
    each<float>(x, out, n, GRAIN, [](float v) { return log_gamma(v); });
}
void lgamma_f64(const void* x, void* out, int64_t n, double, double) {
    each<double>(x, out, n, GRAIN, [](double v) { return log_gamma(v); });
}
void digamma_f32(const void* x, void* out, int64_t n, double, double) {
    each<float>(x, out, n, GRAIN, [](float v) { return (float)digamma_of(v); });
}
void digamma_f64(const void* x, void* out, int64_t n, double, double) {
    each<double>(x, out, n, GRAIN, [](double v) { return digamma_of(v); });
}
void erfinv_f32(const void* x, void* out, int64_t n, double, double) {
    using V = vec<float>;
    each<V>(x, out, n, COSTLY, [](V v) { return quick_inverse_erf(v); });
}
void erfinv_f64(const void* x, void* out, int64_t n, double, double) {
    using V = vec<double>;
    each<V>(x, out, n, 2 * GRAIN, [](V v) { return inverse_erf(v); });
}

}  // namespace CLAY_ISA
}  // namespace clay
