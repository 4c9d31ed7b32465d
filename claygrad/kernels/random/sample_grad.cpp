// The derivative of a gamma or Dirichlet draw with respect to its shape at a fixed quantile: dx/da = -(dF/da) / (dF/dx) for the
// distribution function F. Series where they converge, saddle-point approximations for large shapes, fitted rational functions in
// between. The regions and the fits are PyTorch's, so gradients agree with it much more closely than the error of the fits.
#include <cmath>

#include "platform/dtypes.hpp"
#include "random/random.hpp"

namespace clay {
namespace {

double digamma(double x) {
    double sum = 0;
    for (; x < 10; x += 1) sum -= 1 / x;
    const double z = 1 / (x * x);
    const double tail = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132
                        - z * (691.0 / 32760 - z / 12))))));
    return sum + std::log(x) - 0.5 / x - tail;
}

// c[0] + c[1] x + ... of `terms` coefficients.
template <int terms> double polynomial(const double* c, double x) {
    double sum = c[terms - 1];
    for (int i = terms - 2; i >= 0; i--) sum = c[i] + x * sum;
    return sum;
}

double or_zero(double x) { return std::isnan(x) ? 0.0 : x; }

// ---------------------------------------------------------------- gamma

double gamma_series(double a, double x) {
    double power = 1, first = 1 / a, second = 1 / (a * a);      // sums of (-x)^i / i! / (a + i) and / (a + i)^2
    for (int i = 1; i <= 5; i++) {
        power *= -x / i;
        first += power / (a + i);
        second += power / ((a + i) * (a + i));
    }
    const double x_to_a = std::pow(x, a), density = std::pow(x, a - 1) * std::exp(-x);
    return or_zero(-((std::log(x) - digamma(a)) * x_to_a * first - x_to_a * second) / density);
}

double gamma_saddle(double a, double x) {
    if (0.9 * a <= x && x <= 1.1 * a) {                         // the general form is singular at x = a
        const double left = 1 + 24 * a * (1 + 12 * a);
        const double right = 1440 * (a * a) + 6 * x * (53 - 120 * x) - 65 * x * x / a + a * (107 + 3600 * x);
        return left * right / (1244160 * (a * a) * (a * a));
    }
    const double root = std::sqrt(8 * a), log_ratio = std::log(x / a);
    const double pull = std::pow(x - a - a * log_ratio, -1.5);
    const double slope = root / (a - x) + (x < a ? -pull : pull);
    const double term = log_ratio * slope - std::sqrt(2 / a) * (a + x) / ((a - x) * (a - x));
    const double stirling = 1 + 1 / (12 * a) * (1 + 1 / (24 * a));
    return -stirling * x * term / root;
}

// exp(p / q) with p and q cubic in log(a), whose coefficients are quadratic in log(x / a).
double gamma_fit(double a, double x) {
    static const double p[4][3] = {{0.16009398, 0.53487893, 0.040121004},
                                   {-0.094634809, 0.1298071, -0.0065914022},
                                   {0.025146376, 0.065735949, -0.0026286047},
                                   {-0.0030648343, -0.0015649758, -0.0013441777}};
    static const double q[4][3] = {{1, 0.16639465, 0.017050642},
                                   {0.32668115, 0.020070113, -0.0021309326},
                                   {0.10406089, -0.0035938915, 0.00085092367},
                                   {0.0014179084, -0.00058392623, -1.5247877e-07}};
    const double u = std::log(x / a), v = std::log(a);
    double top[4], bottom[4];
    for (int i = 0; i < 4; i++) {
        top[i] = polynomial<3>(p[i], u);
        bottom[i] = polynomial<3>(q[i], u);
    }
    return std::exp(polynomial<4>(top, v) / polynomial<4>(bottom, v));
}

double one_gamma_grad(double a, double x) {
    if (x < 0.8f) return gamma_series(a, x);
    return a > 8 ? gamma_saddle(a, x) : gamma_fit(a, x);
}

// ---------------------------------------------------------------- Dirichlet, through the beta of one against the rest

// By the first shape, for x near 0. (PyTorch sums these series in float for floats, and loses up to three digits.)
double beta_series_first(double x, double a, double b) {
    const double factor = digamma(a) - digamma(a + b) - std::log(x);
    double power = 1, sum = (factor + 1 / a) / a;
    for (int i = 1; i <= 10; i++) {
        power *= (i - b) * x / i;
        sum += power / (a + i) * (factor + 1 / (a + i));
    }
    return or_zero(x * std::pow(1 - x, -b) * sum);
}

// By the second shape, for x near 0.
double beta_series_second(double x, double a, double b) {
    const double factor = digamma(a + b) - digamma(b);
    double power = 1, strictly_row_major = 1, slope = 0, sum = factor / a;
    for (int i = 1; i <= 8; i++) {
        power *= -x / i;
        slope = slope * (b - i) + strictly_row_major;
        strictly_row_major *= b - i;
        sum += power / (a + i) * (slope + factor * strictly_row_major);
    }
    return or_zero(-std::pow(1 - x, 1 - b) * sum);
}

// By the first shape, for large shapes.
double beta_saddle(double x, double a, double b) {
    const double total = a + b, mean = a / total, deviation = std::sqrt(a * b / (total + 1)) / total;
    if (mean - 0.1 * deviation <= x && x <= mean + 0.1 * deviation) {     // the general form is singular at the mean
        const double bb = b * b;
        const double in_a[5] = {47 * x * bb * bb, (43 + 20 * (16 + 27 * b) * x) * bb * b,
                                3 * (59 + 180 * b - 90 * x) * bb, (453 + 1620 * b * (1 - x) - 455 * x) * b,
                                8 * (1 - x) * (135 * b - 11)};
        const double top = (1 + 12 * a) * (1 + 12 * b) / (total * total);
        const double bottom = 12960 * a * a * a * bb * (1 + 12 * total);
        return top / (1 - x) * polynomial<5>(in_a, a) / bottom;
    }
    auto stirling = [](double z) { return 1 + 1 / (12 * z) + 1 / (288 * z * z); };
    const double off = a * (x - 1) + b * x;
    const double first = (2 * (a * a) * (x - 1) + a * b * (x - 1) - x * (b * b))
                         / (std::sqrt(2 * a / b) * std::pow(total, 1.5) * off * off);
    const double log_ratio = std::log(a / (total * x));
    const double pull = std::pow(b * std::log(b / (total * (1 - x))) + a * log_ratio, -1.5);
    const double sum = first + 0.5 * log_ratio * (std::sqrt(8 * a * b / total) / off + (x < mean ? pull : -pull));
    return stirling(a) * stirling(b) / stirling(total) * (-x / std::sqrt(2 * a * b / total)) * sum;
}

// x (psi(total) - psi(a)) / b, corrected by a quotient of polynomials: [power of log x][power of log(a / x)][power of
// log(total x / a)].
double beta_fit(double x, double a, double b) {
    static const double p[3][3][4] = {{{1.003668233, -0.01061107488, -0.0657888334, 0.01201642863},
                                       {0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033},
                                       {-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013}},
                                      {{0.221950385, -0.3187676331, 0.01799915743, 0.01074823814},
                                       {-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057},
                                       {0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05}},
                                      {{-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565},
                                       {0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181},
                                       {0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05}}};
    static const double q[3][3][4] = {{{1, -0.02924021934, -0.04438342661, 0.007285809825},
                                       {0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521},
                                       {-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149}},
                                      {{0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273},
                                       {0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956},
                                       {-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05}},
                                      {{0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05},
                                       {0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05},
                                       {-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06}}};
    const double total = a + b, u = std::log(x), v = std::log(a) - u, w = std::log(total) - v;
    double top = 0, bottom = 0, u_power = 1;
    for (int i = 0; i < 3; i++, u_power *= u) {
        double power = u_power;
        for (int j = 0; j < 3; j++, power *= v) {
            top += power * polynomial<4>(p[i][j], w);
            bottom += power * polynomial<4>(q[i][j], w);
        }
    }
    return top / bottom * x * (digamma(total) - digamma(a)) / b;
}

double one_dirichlet_grad(double x, double a, double total) {
    const double b = total - a, from_ends = total * x * (1 - x);
    if (x <= 0.5 && from_ends < 2.5) return beta_series_first(x, a, b);
    if (x >= 0.5 && from_ends < 0.75) return -beta_series_second(1 - x, b, a);
    return a > 6 && b > 6 ? beta_saddle(x, a, b) : beta_fit(x, a, b);
}

template <class F> void with_wide(int dtype, F f) { dtype == F64 ? f(double{}) : f(float{}); }

}  // namespace

void gamma_grad(int dtype, const void* shape, const void* x, void* out, int64_t n) {
    with_wide(dtype, [&](auto type) {
        using T = decltype(type);
        for (int64_t i = 0; i < n; i++)
            static_cast<T*>(out)[i] = T(one_gamma_grad(static_cast<const T*>(shape)[i], static_cast<const T*>(x)[i]));
    });
}

void dirichlet_grad(int dtype, const void* x, const void* shape, const void* total, void* out, int64_t n) {
    with_wide(dtype, [&](auto type) {
        using T = decltype(type);
        for (int64_t i = 0; i < n; i++)
            static_cast<T*>(out)[i] = T(one_dirichlet_grad(
                static_cast<const T*>(x)[i], static_cast<const T*>(shape)[i], static_cast<const T*>(total)[i]));
    });
}

}  // namespace clay
