#include "platform/table.hpp"
#include "elementwise/unary_ops.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class F, class T> struct UnaryJob {
    const T* x_n;
    T* out_n;
    F f;
};

template <class F, class T> void unary_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    auto& job = *(UnaryJob<F, T>*)data;
    const T* x = job.x_n;
    T* out = job.out_n;
    const F f = job.f;
    int64_t i = begin;
#pragma GCC ivdep
    for (; i + W <= end; i += W) store<V>(out + i, f(load<V>(x + i)));
    // The remainder uses the same vector function: a result does not depend on the element's index.
    if (W > 1 && i < end) store_part<V>(out + i, f(load_part<V>(x + i, end - i)), end - i);
}

template <class F, class T> void unary(const void* x_n, void* out_n, int64_t n, double p, double q) {
    UnaryJob<F, T> job{(const T*)x_n, (T*)out_n, F{{p, q}}};
    if (n < 2 * F::grain) unary_range<F, T>(&job, 0, n);
    else parallel_for(n, F::grain, unary_range<F, T>, &job);
}

CLAY_UNARY(Same, Cheap, x)

CLAY_UNARY(Root, Cheap, corrected_sqrt(x))

// Exponents that torch computes without pow, with its values: sqrt(-inf) is NaN, pow(-inf, 0.5) would be inf.
template <class T> void unary_pow(const void* x_n, void* out_n, int64_t n, double p, double q) {
    if (p == 2) unary<Square, T>(x_n, out_n, n, p, q);
    else if (p == 3) unary<Cube, T>(x_n, out_n, n, p, q);
    else if (p == 1) unary<Same, T>(x_n, out_n, n, p, q);
    else if (p == 0.5) unary<Sqrt, T>(x_n, out_n, n, p, q);
    else if (p == -1) unary<Reciprocal, T>(x_n, out_n, n, p, q);
    else if (p == -0.5) unary<Rsqrt, T>(x_n, out_n, n, p, q);
    else if (p == -2) unary<SquareReciprocal, T>(x_n, out_n, n, p, q);
    else unary<Pow, T>(x_n, out_n, n, p, q);
}

// Integers wrap around, as torch's do.
struct NegInt { template <class T> T operator()(T x) const { return (T)(0 - (uint64_t)x); } };
struct AbsInt { template <class T> T operator()(T x) const { return x < 0 ? (T)(0 - (uint64_t)x) : x; } };
struct SignInt { template <class T> T operator()(T x) const { return (T)((x > 0) - (x < 0)); } };
struct SquareInt { template <class T> T operator()(T x) const { return (T)((uint64_t)x * (uint64_t)x); } };
struct NotBool { uint8_t operator()(uint8_t x) const { return !x; } };

template <class F, class T> void scalar_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(UnaryJob<F, T>*)data;
    const T* x = job.x_n;
    T* out = job.out_n;
    const F f;
#pragma GCC ivdep
    for (int64_t i = begin; i < end; i++) out[i] = f(x[i]);
}

template <class F, class T> void plain(const void* x_n, void* out_n, int64_t n, double, double) {
    UnaryJob<F, T> job{(const T*)x_n, (T*)out_n, F{}};
    if (n < 2 * CHEAP) scalar_range<F, T>(&job, 0, n);
    else parallel_for(n, CHEAP, scalar_range<F, T>, &job);
}

#define FLOATS(name, F) {name, F32, (void*)unary<F, float>}, {name, F64, (void*)unary<F, double>}
#define WHOLE(name, F) \
    {name, I64, (void*)plain<F, int64_t>}, {name, I32, (void*)plain<F, int32_t>}, {name, U8, (void*)plain<F, uint8_t>}, \
    {name, I8, (void*)plain<F, int8_t>}, {name, I16, (void*)plain<F, int16_t>}

}  // namespace

const Kernel unary_kernels[] = {
    FLOATS("neg", Neg), FLOATS("abs", Abs), FLOATS("square", Square), {"sqrt", F32, (void*)unary<Root, float>}, {"sqrt", F64, (void*)unary<Sqrt, double>}, FLOATS("rsqrt", Rsqrt),
    FLOATS("reciprocal", Reciprocal), FLOATS("floor", Floor), FLOATS("ceil", Ceil), FLOATS("round", Round),
    FLOATS("trunc", Trunc), FLOATS("sign", Sign), FLOATS("sgn", Sign), FLOATS("relu", Relu), FLOATS("leaky_relu", LeakyRelu),
    FLOATS("add_scalar", AddScalar), FLOATS("mul_scalar", MulScalar), FLOATS("clamp", Clamp),
    FLOATS("exp", Exp), FLOATS("exp2", Exp2), FLOATS("expm1", Expm1), FLOATS("log", Log), FLOATS("log2", Log2),
    FLOATS("log10", Log10), FLOATS("log1p", Log1p), FLOATS("sin", Sin), FLOATS("cos", Cos), FLOATS("tan", Tan),
    FLOATS("asin", Asin), FLOATS("acos", Acos), FLOATS("atan", Atan), FLOATS("sinh", Sinh), FLOATS("cosh", Cosh),
    FLOATS("tanh", Tanh), FLOATS("asinh", Asinh), FLOATS("acosh", Acosh), FLOATS("atanh", Atanh), FLOATS("erf", Erf),
    FLOATS("erfc", Erfc), FLOATS("sigmoid", Sigmoid), FLOATS("silu", Silu), FLOATS("elu", Elu), FLOATS("gelu", Gelu),
    FLOATS("gelu_tanh", GeluTanh), FLOATS("softplus", Softplus), FLOATS("log_sigmoid", LogSigmoid), FLOATS("selu", Selu),
    FLOATS("celu", Celu), FLOATS("mish", Mish), FLOATS("hard_sigmoid", HardSigmoid), FLOATS("hard_swish", HardSwish),
    FLOATS("hard_shrink", HardShrink), FLOATS("soft_shrink", SoftShrink), FLOATS("threshold", Threshold),
    {"pow", F32, (void*)unary_pow<float>}, {"pow", F64, (void*)unary_pow<double>},
    WHOLE("neg", NegInt), WHOLE("abs", AbsInt), WHOLE("sign", SignInt), WHOLE("sgn", SignInt), WHOLE("square", SquareInt),
    {"logical_not", BOOL, (void*)plain<NotBool, uint8_t>},
};
CLAY_COUNT(unary)

}  // namespace CLAY_ISA
}  // namespace clay
