// Draws with parameters of their own: gamma, Poisson, binomial. See Note [Streams] in random/random.hpp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "random/random.hpp"
#include "random/mt19937.hpp"
#include "random/math.hpp"

namespace clay {
namespace {

template <class F> void with_wide(int dtype, F f) { dtype == F64 ? f(double{}) : f(float{}); }

// Marsaglia and Tsang, "A simple method for generating gamma variables": a cubed normal, accepted or not. Shapes below
// one are raised by one, and the draw is shrunk by a power of a uniform. Constants are floats, and what is computed
// from shape alone is of its type T, as in PyTorch: the sums that decide are in double.
template <class T> double one_gamma(Engine& e, T shape) {
    double scale = 1;
    if (shape < 1.0f) {
        if (shape == 0.0f) return 0;
        scale = std::pow(1 - draw_unit(e), double(1.0f / shape));
        shape += 1.0f;
    }
    const double d = shape - 1.0f / 3.0f;
    const double c = 1.0f / std::sqrt(9.0f * d);
    while (true) {
        double x, root;
        do {
            x = draw_normal(e);
            root = 1.0f + c * x;
        } while (root <= 0);
        const double v = root * root * root, u = 1 - draw_unit(e), xx = x * x;
        if (u < 1.0f - 0.0331f * xx * xx) return scale * d * v;
        if (std::log(u) < 0.5f * xx + d * (1.0f - v + std::log(v))) return scale * d * v;
    }
}

// Rates from 10: Hörmann's transformed rejection with a decision by logarithms. Below: count the uniforms whose
// product stays above exp(-rate).
double one_poisson(Engine& e, double rate) {
    if (rate == 0) return 0;
    if (rate < 10) {
        const double smallest = std::exp(-rate);
        double count = 0, product = draw_unit(e);
        for (; product > smallest; count++) product *= draw_unit(e);
        return count;
    }
    const double log_rate = std::log(rate);
    const double b = 0.931 + 2.53 * std::sqrt(rate);
    const double a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    const double tight = 0.9277 - 3.6224 / (b - 2);
    while (true) {
        const double u = draw_unit(e) - 0.5, v = draw_unit(e), us = 0.5 - std::fabs(u);
        const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= tight) return k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b)
            <= -rate + k * log_rate - std::lgamma(k + 1))
            return k;
    }
}

// log(k!) minus Stirling's approximation of it.
double stirling_rest(double k) {
    static const double small[] = {0.0810614667953272,  0.0413406959554092,  0.0276779256849983, 0.02079067210376509,
                                   0.0166446911898211,  0.0138761288230707,  0.0118967099458917, 0.0104112652619720,
                                   0.00925546218271273, 0.00833056343336287};
    if (k <= 9) return small[static_cast<size_t>(k)];
    const double square = (k + 1) * (k + 1);
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Few successes: the gaps between them are geometric.
template <class T> T binomial_by_gaps(Engine& e, T count, T chance) {
    const double log_miss = std::log1p(-chance);
    double at = 0;
    T successes = 0;
    while (true) {
        at += std::ceil(std::log(draw_unit(e)) / log_miss);
        if (at > count) return successes;
        successes = successes + 1;
    }
}

// Many: Hörmann's transformed rejection, BTRS. Needs chance <= 1/2 and count * chance >= 10.
template <class T> T binomial_by_rejection(Engine& e, T count, T chance) {
    const double deviation = std::sqrt(count * chance * (1 - chance));
    const double b = 1.15 + 2.53 * deviation;
    const double a = -0.0873 + 0.0248 * b + 0.01 * chance;
    const double centre = count * chance + 0.5;
    const double tight = 0.92 - 4.2 / b;
    const double odds = chance / (1 - chance);
    const double alpha = (2.83 + 5.1 / b) * deviation;
    const double mode = std::floor((count + 1) * chance);
    while (true) {
        const double u = draw_unit(e) - 0.5, v = draw_unit(e), us = 0.5 - std::fabs(u);
        const double k = std::floor((2 * a / us + b) * u + centre);
        if (k < 0 || k > count) continue;
        if (us >= 0.07 && v <= tight) return T(k);
        const double largest = (mode + 0.5) * std::log((mode + 1) / (odds * (count - mode + 1)))
                            + (count + 1) * std::log((count - mode + 1) / (count - k + 1))
                            + (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) + stirling_rest(mode)
                            + stirling_rest(count - mode) - stirling_rest(k) - stirling_rest(count - k);
        if (std::log(v * alpha / (a / (us * us) + b)) <= largest) return T(k);
    }
}

template <class T> T one_binomial(Engine& e, T count, T chance) {
    if (count <= 0 || chance <= 0) return 0;
    if (chance >= 1) return count;
    if (std::isnan(count) || std::isnan(chance)) return std::numeric_limits<T>::quiet_NaN();
    if (chance > 0.5) {
        T miss = T(1.0 - chance);
        return count - (count * miss >= 10.0 ? binomial_by_rejection(e, count, miss) : binomial_by_gaps(e, count, miss));
    }
    return count * chance >= 10.0 ? binomial_by_rejection(e, count, chance) : binomial_by_gaps(e, count, chance);
}

}  // namespace

void draw_gamma(Engine& e, int dtype, const void* shape, void* out, int64_t n) {
    with_wide(dtype, [&](auto type) {
        using T = decltype(type);
        for (int64_t i = 0; i < n; i++)
            static_cast<T*>(out)[i] =
                std::max(std::numeric_limits<T>::min(), T(one_gamma(e, static_cast<const T*>(shape)[i])));
    });
}

void draw_gamma_wide(Engine& e, int dtype, const void* shape, double* out, int64_t n) {
    with_wide(dtype, [&](auto type) {
        using T = decltype(type);
        for (int64_t i = 0; i < n; i++)
            out[i] = std::max(std::numeric_limits<double>::min(),
                              one_gamma<double>(e, static_cast<const T*>(shape)[i]));
    });
}

int64_t draw_poisson(Engine& e, int dtype, const void* rate, void* out, int64_t n) {
    int64_t bad = -1;
    with_float(dtype, [&](auto type) {
        using T = decltype(type);
        for (int64_t i = 0; i < n; i++) {
            double lambda = wide(static_cast<const T*>(rate)[i]);
            if (!(lambda >= 0)) {
                bad = i;
                return;
            }
            static_cast<T*>(out)[i] = cast<T>(one_poisson(e, lambda));
        }
    });
    return bad;
}

void draw_binomial(Engine& e, int dtype, const void* count, const void* chance, void* out, int64_t n) {
    with_wide(dtype, [&](auto type) {
        using T = decltype(type);
        for (int64_t i = 0; i < n; i++)
            static_cast<T*>(out)[i] =
                one_binomial(e, static_cast<const T*>(count)[i], static_cast<const T*>(chance)[i]);
    });
}

}  // namespace clay
