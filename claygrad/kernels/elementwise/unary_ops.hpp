// out = f(x): the unary functors. V is a number or a vector.
#pragma once
#include "platform/threads.hpp"
#include "simd/math.hpp"

namespace clay {
namespace CLAY_ISA {

struct Cheap { double p, q; static constexpr int64_t grain = CHEAP; };
struct Costly { double p, q; static constexpr int64_t grain = COSTLY; };

#define CLAY_UNARY(Name, Cost, expression)                                     \
    struct Name : Cost {                                                       \
        template <class V> V operator()(V x) const { return expression; }      \
    };
#define CLAY_NUMBER(value) splat<V>(value)

// A single float uses the vector function.
inline float times_sigmoid(float x, float y) {
    const float e = exp(-abs(y));
    return (y < 0 ? x * e : x) / (1 + e);
}
inline float sigmoid(float x) { return times_sigmoid(1.0f, x); }

CLAY_UNARY(Neg, Cheap, -x)
CLAY_UNARY(Abs, Cheap, abs(x))
CLAY_UNARY(Square, Cheap, x * x)
CLAY_UNARY(Cube, Cheap, x * x * x)
CLAY_UNARY(Sqrt, Cheap, sqrt(x))
CLAY_UNARY(Rsqrt, Cheap, CLAY_NUMBER(1) / sqrt(x))
CLAY_UNARY(Reciprocal, Cheap, CLAY_NUMBER(1) / x)
CLAY_UNARY(SquareReciprocal, Cheap, CLAY_NUMBER(1) / (x * x))
CLAY_UNARY(Floor, Cheap, floor(x))
CLAY_UNARY(Ceil, Cheap, ceil(x))
CLAY_UNARY(Round, Cheap, rint(x))
CLAY_UNARY(Trunc, Cheap, trunc(x))
// 0 for NaN, as torch
CLAY_UNARY(Sign, Cheap, select(x > CLAY_NUMBER(0), CLAY_NUMBER(1),
                             select(x < CLAY_NUMBER(0), CLAY_NUMBER(-1), CLAY_NUMBER(0))))
CLAY_UNARY(Relu, Cheap, select(x < CLAY_NUMBER(0), CLAY_NUMBER(0), x))
CLAY_UNARY(LeakyRelu, Cheap, select(x > CLAY_NUMBER(0), x, x * CLAY_NUMBER(p)))
CLAY_UNARY(AddScalar, Cheap, x + CLAY_NUMBER(p))
CLAY_UNARY(MulScalar, Cheap, x * CLAY_NUMBER(p))

CLAY_UNARY(Exp, Costly, exp(x))
CLAY_UNARY(Exp2, Costly, exp2(x))
CLAY_UNARY(Expm1, Costly, expm1(x))
CLAY_UNARY(Log, Costly, log(x))
CLAY_UNARY(Log2, Costly, log2(x))
CLAY_UNARY(Log10, Costly, log10(x))
CLAY_UNARY(Log1p, Costly, log1p(x))
CLAY_UNARY(Sin, Costly, sin(x))
CLAY_UNARY(Cos, Costly, cos(x))
CLAY_UNARY(Tan, Costly, tan(x))
CLAY_UNARY(Asin, Costly, asin(x))
CLAY_UNARY(Acos, Costly, acos(x))
CLAY_UNARY(Atan, Costly, atan(x))
CLAY_UNARY(Sinh, Costly, sinh(x))
CLAY_UNARY(Cosh, Costly, cosh(x))
// One number at a time, where the C library's is some ulps off: in double, or by a series where x - tanh(x) cancels.
template <class V> V tanh_finest(V x) { return tanh(x); }
template <class V> V erfc_finest(V x) { return erfc(x); }
inline float tanh_finest(float x) { return (float)tanh((double)x); }
inline float erfc_finest(float x) { return (float)erfc((double)x); }
inline double tanh_finest(double x) {
    const double u = x * x;
    if (!(u < 0.0625) || x == 0) return tanh(x);           // the sum below has no sign at -0.0
    double p = 929569 / 638512875.0 - u * (6404582 / 10854718875.0 - u * (443861162 / 1856156927625.0 - u * 18888466084 / 194896477400625.0));
    p = -17 / 315.0 + u * (62 / 2835.0 - u * (1382 / 155925.0 - u * (21844 / 6081075.0 - u * p)));
    return x + x * (u * (-1 / 3.0 + u * (2 / 15.0 + u * p)));
}
CLAY_UNARY(Tanh, Costly, tanh_finest(x))
CLAY_UNARY(Asinh, Costly, asinh(x))
CLAY_UNARY(Acosh, Costly, acosh(x))
CLAY_UNARY(Atanh, Costly, atanh(x))
CLAY_UNARY(Erf, Costly, erf(x))
CLAY_UNARY(Erfc, Costly, erfc_finest(x))
CLAY_UNARY(Pow, Costly, pow(x, CLAY_NUMBER(p)))
CLAY_UNARY(Sigmoid, Costly, sigmoid(x))
CLAY_UNARY(Silu, Costly, times_sigmoid(x, x))
CLAY_UNARY(Elu, Costly, select(x <= CLAY_NUMBER(0), expm1(x) * CLAY_NUMBER(p), x))

// softplus: log(1 + e**x), from a logarithm of at most 2
template <class V> V log_of_exp_and_1(V x) {
    return maximum(x, splat<V>(0)) + log1p_of_part(exp(-abs(x)));
}
CLAY_UNARY(LogSigmoid, Costly, -log_of_exp_and_1(-x))

constexpr double SELU_ALPHA = 1.6732632423543772848170429916717, SELU_SCALE = 1.0507009873554804934193349852946;
CLAY_UNARY(Selu, Costly, select(x <= CLAY_NUMBER(0), expm1(x) * CLAY_NUMBER(SELU_ALPHA * SELU_SCALE),
                              x * CLAY_NUMBER(SELU_SCALE)))
CLAY_UNARY(Celu, Costly, select(x <= CLAY_NUMBER(0), expm1(x * CLAY_NUMBER(1 / p)) * CLAY_NUMBER(p), x))

// tanh(log(1 + e)) is n / (n + 2) with n = e * (e + 2). From 40 on it is 1, and n does not overflow.
struct Mish : Costly {
    template <class V> V operator()(V x) const {
        V e = exp(select(x > splat<V>(40), splat<V>(40), x)), n = multiply_add(e, e, e + e);
        return x * (n / (n + splat<V>(2)));
    }
};

CLAY_UNARY(HardSigmoid, Cheap, minimum(maximum(x + CLAY_NUMBER(3), CLAY_NUMBER(0)), CLAY_NUMBER(6)) / CLAY_NUMBER(6))
CLAY_UNARY(HardSwish, Cheap, x * minimum(maximum(x + CLAY_NUMBER(3), CLAY_NUMBER(0)), CLAY_NUMBER(6)) / CLAY_NUMBER(6))
CLAY_UNARY(HardShrink, Cheap, select((x >= CLAY_NUMBER(-p)) & (x <= CLAY_NUMBER(p)), CLAY_NUMBER(0), x))
CLAY_UNARY(SoftShrink, Cheap, select(x > CLAY_NUMBER(p), x - CLAY_NUMBER(p),
                                   select(x < CLAY_NUMBER(-p), x + CLAY_NUMBER(p), x * CLAY_NUMBER(0))))
CLAY_UNARY(Threshold, Cheap, select(x <= CLAY_NUMBER(p), CLAY_NUMBER(q), x))

constexpr double SQRT_HALF = 0.70710678118654752440;      // 1/sqrt(2)
constexpr double SQRT_2_OVER_PI = 0.79788456080286535588;
constexpr double GELU_CUBIC = 0.044715;

// The normal distribution function; for float see also simd/math_plain.hpp and simd/math_avx512.hpp.
template <class V> V normal_cdf(V x) { return splat<V>(0.5) * erfc(-x * splat<V>(SQRT_HALF)); }
CLAY_UNARY(Gelu, Costly, x * normal_cdf(x))

// The derivative of gelu, with the distribution function given or not; for float see also simd/math_plain.hpp and simd/math_avx512.hpp.
template <class V> V gelu_slope(V x, V share) {
    return share + x * (splat<V>(0.5 * SQRT_2_OVER_PI) * exp(splat<V>(-0.5) * x * x));
}
template <class V> V gelu_slope(V x) { return gelu_slope(x, normal_cdf(x)); }

struct GeluTanh : Costly {
    template <class V> V operator()(V x) const {
        V inner = splat<V>(SQRT_2_OVER_PI) * (x + splat<V>(GELU_CUBIC) * (x * x * x));
        if constexpr (sizeof(typename Lanes<V>::T) == 8) return times_sigmoid(x, inner + inner);     // has the digits that 1 + tanh loses
        return splat<V>(0.5) * x * (splat<V>(1) + tanh(inner));
    }
};

// softplus: log(1 + exp(beta x)) / beta; x itself above the threshold
struct Softplus : Costly {
    template <class V> V operator()(V x) const {
        V z = x * splat<V>(p);
        return select(z > splat<V>(q), x, log_of_exp_and_1(z) / splat<V>(p));
    }
};

// clamp: NaN propagates; a NaN bound makes everything NaN
struct Clamp : Cheap {
    template <class V> V operator()(V x) const {
        const V bounded = smaller(splat<V>(q), larger(splat<V>(p), x));
        return p != p || q != q ? splat<V>(__builtin_nan("")) : bounded;
    }
};

}  // namespace CLAY_ISA
}  // namespace clay
