#include "elementwise/binary_ops.hpp"
#include "platform/table.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

CLAY_BINARY(Power, Costly, pow(x, y))
CLAY_BINARY(Atan2, Costly, atan2(x, y))

CLAY_BACKWARD(SqrtBackward, Cheap, out, g / (CLAY_NUMBER(2) * out))

CLAY_BACKWARD(GeluBackward, Costly, x, g * gelu_slope(x))

struct GeluTanhBackward : Costly {
    template <class V> V operator()(V g, V x) const {
        V one = splat<V>(1), half = splat<V>(0.5), slope = splat<V>(SQRT_2_OVER_PI), cubic = splat<V>(GELU_CUBIC);
        V t = tanh(slope * (x + cubic * (x * x * x)));
        V inner = slope * (one + splat<V>(3) * cubic * (x * x));
        return g * (half * (one + t) + half * x * (one - t * t) * inner);
    }
};

struct SiluBackward : Costly {
    template <class V> V operator()(V g, V x) const {
        V one = splat<V>(1), s = sigmoid(x);
        return g * s * (one + x * (one - s));
    }
};

CLAY_BACKWARD(AbsBackward, Cheap, x, (g * Sign{}(x)))
CLAY_BACKWARD(AtanBackward, Cheap, x, g / (x * x + CLAY_NUMBER(1)))
CLAY_BACKWARD(ErfBackward, Costly, x, g * exp(-x * x) * CLAY_NUMBER(2 * SQRT_HALF * SQRT_2_OVER_PI))
CLAY_BACKWARD(LogSigmoidBackward, Costly, x, g / sigmoid_divisor(-x))
CLAY_BACKWARD(SeluBackward, Costly, x, select(x > CLAY_NUMBER(0), g * CLAY_NUMBER(SELU_SCALE),
                                            g * (exp(x) * CLAY_NUMBER(SELU_ALPHA * SELU_SCALE))))
CLAY_BACKWARD(HardSigmoidBackward, Cheap, x, select((x > CLAY_NUMBER(-3)) & (x < CLAY_NUMBER(3)), g / CLAY_NUMBER(6),
                                                  CLAY_NUMBER(0)))
CLAY_BACKWARD(HardSwishBackward, Cheap, x, select(x <= CLAY_NUMBER(-3), CLAY_NUMBER(0),
                                                select(x >= CLAY_NUMBER(3), g,
                                                     g * (x / CLAY_NUMBER(3) + CLAY_NUMBER(0.5)))))

// mish backward: tanh(log(1 + e)) + x * e / (1 + e) * (1 - its square); x * 0 propagates NaN
struct MishBackward : Costly {
    template <class V> V operator()(V g, V x) const {
        V one = splat<V>(1), low = select(x > splat<V>(40), splat<V>(40), x), e = exp(low), n = e * (e + splat<V>(2));
        V d = one / (n + splat<V>(2));
        return g * (n * d + splat<V>(4) * low * (e * d) * ((one + e) * d) + x * splat<V>(0));
    }
};

// prelu, and the gradient of its weight
CLAY_BINARY(Prelu, Cheap, select(x > CLAY_NUMBER(0), x, y * x))
CLAY_BACKWARD(PreluToWeight, Cheap, x, select(x > CLAY_NUMBER(0), CLAY_NUMBER(0), g * x))
CLAY_BINARY(Glu, Costly, times_sigmoid(x, y))

template <class T> struct BinaryJob {
    const T* x;
    const T* y;
    T* out_n;
};

// x and y are full blocks, or a single element if X / Y is false.
template <class F, class T, bool X, bool Y> void binary_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    auto& job = *(BinaryJob<T>*)data;
    const T *x = job.x, *y = job.y;
    T* out = job.out_n;
    const F f{};
    const V one_x = splat<V>(*x), one_y = splat<V>(*y);
    int64_t i = begin;
#pragma GCC ivdep
    for (; i + W <= end; i += W) store<V>(out + i, f(X ? load<V>(x + i) : one_x, Y ? load<V>(y + i) : one_y));
    if (W > 1 && i < end) {
        V last_x = X ? load_part<V>(x + i, end - i) : one_x, last_y = Y ? load_part<V>(y + i, end - i) : one_y;
        store_part<V>(out + i, f(last_x, last_y), end - i);
    }
}

// Integers and bools: scalar code, which the compiler vectorises.
template <class F, class T, bool X, bool Y> void scalar_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(BinaryJob<T>*)data;
    const T *x = job.x, *y = job.y;
    T* out = job.out_n;
    const F f;
    const T one_x = *x, one_y = *y;
#pragma GCC ivdep
    for (int64_t i = begin; i < end; i++) out[i] = f(X ? x[i] : one_x, Y ? y[i] : one_y);
}

template <class T> void run(const void* x, const void* y, void* out_n, int64_t n, int64_t grain, range_body body) {
    if (n <= 0) return;
    BinaryJob<T> job{(const T*)x, (const T*)y, (T*)out_n};
    if (n < 2 * grain) body(&job, 0, n);
    else parallel_for(n, grain, body, &job);
}

template <class F, class T> void binary(const void* x, const void* y, void* out_n, int64_t n, int mode) {
    run<T>(x, y, out_n, n, F::grain, mode == 0 ? binary_range<F, T, true, true>
                                   : mode == 1 ? binary_range<F, T, true, false> : binary_range<F, T, false, true>);
}

template <class F, class T> void plain(const void* x, const void* y, void* out_n, int64_t n, int mode) {
    run<T>(x, y, out_n, n, CHEAP, mode == 0 ? scalar_range<F, T, true, true>
                                : mode == 1 ? scalar_range<F, T, true, false> : scalar_range<F, T, false, true>);
}

// Integers wrap around: computed as unsigned, at least as wide as int (C++ would promote narrower ones to signed int).
template <class T> using Wide = decltype(T() + 0u);
struct AddInt { template <class T> T operator()(T x, T y) const { return (T)((Wide<T>)x + y); } };
struct SubInt { template <class T> T operator()(T x, T y) const { return (T)((Wide<T>)x - y); } };
struct MulInt { template <class T> T operator()(T x, T y) const { return (T)((Wide<T>)x * y); } };
struct MaximumInt { template <class T> T operator()(T x, T y) const { return x > y ? x : y; } };
struct MinimumInt { template <class T> T operator()(T x, T y) const { return x < y ? x : y; } };
struct And { template <class T> T operator()(T x, T y) const { return x & y; } };
struct Or { template <class T> T operator()(T x, T y) const { return x | y; } };
struct Xor { template <class T> T operator()(T x, T y) const { return x ^ y; } };

#define FLOATS(name, F) {name, F32, (void*)binary<F, float>}, {name, F64, (void*)binary<F, double>}
// Signed and unsigned integers have the same low bits.
#define BITS(name, F) \
    {name, I64, (void*)plain<F, uint64_t>}, {name, I32, (void*)plain<F, uint32_t>}, {name, U8, (void*)plain<F, uint8_t>}, \
    {name, I8, (void*)plain<F, uint8_t>}, {name, I16, (void*)plain<F, uint16_t>}
#define ORDER(name, F) \
    {name, I64, (void*)plain<F, int64_t>}, {name, I32, (void*)plain<F, int32_t>}, {name, U8, (void*)plain<F, uint8_t>}, \
    {name, I8, (void*)plain<F, int8_t>}, {name, I16, (void*)plain<F, int16_t>}

}  // namespace

const Kernel binary_kernels[] = {
    FLOATS("add", Add), FLOATS("sub", Sub), FLOATS("mul", Mul), FLOATS("div", Div), FLOATS("maximum", Maximum),
    FLOATS("minimum", Minimum), FLOATS("pow", Power), FLOATS("atan2", Atan2),
    FLOATS("tanh_backward", TanhBackward), FLOATS("sigmoid_backward", SigmoidBackward),
    FLOATS("relu_backward", ReluBackward), FLOATS("sqrt_backward", SqrtBackward),
    FLOATS("gelu_backward", GeluBackward), FLOATS("gelu_tanh_backward", GeluTanhBackward),
    FLOATS("silu_backward", SiluBackward), FLOATS("abs_backward", AbsBackward), FLOATS("erf_backward", ErfBackward),
    FLOATS("atan_backward", AtanBackward),
    FLOATS("log_sigmoid_backward", LogSigmoidBackward), FLOATS("selu_backward", SeluBackward),
    FLOATS("hard_sigmoid_backward", HardSigmoidBackward), FLOATS("hard_swish_backward", HardSwishBackward),
    FLOATS("mish_backward", MishBackward), FLOATS("prelu", Prelu), FLOATS("prelu_to_weight", PreluToWeight),
    FLOATS("glu", Glu),
    BITS("add", AddInt), BITS("sub", SubInt), BITS("mul", MulInt), ORDER("maximum", MaximumInt), ORDER("minimum", MinimumInt),
    BITS("bitwise_and", And), BITS("bitwise_or", Or), BITS("bitwise_xor", Xor), {"bitwise_and", BOOL, (void*)plain<And, uint8_t>},
    {"bitwise_or", BOOL, (void*)plain<Or, uint8_t>}, {"bitwise_xor", BOOL, (void*)plain<Xor, uint8_t>},
};
CLAY_COUNT(binary)

}  // namespace CLAY_ISA
}  // namespace clay
