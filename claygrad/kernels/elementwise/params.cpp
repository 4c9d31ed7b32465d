// Elementwise operations with scalar parameters: gradients with slopes and bounds, and losses.
#include <stdlib.h>

#include "platform/table.hpp"
#include "simd/lines.hpp"
#include "elementwise/params.hpp"
#include "elementwise/unary_ops.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// f(a, b): the incoming gradient and the saved input, or input and target of a loss
#define CLAY_TWO(Name, Cost, a, b, expression)                                     \
    struct Name : Cost {                                                           \
        static constexpr int operands = 2;                                         \
        template <class V> V operator()(V a, V b, V) const { return expression; }  \
    };
#define CLAY_THREE(Name, Cost, a, b, c, expression)                                  \
    struct Name : Cost {                                                             \
        static constexpr int operands = 3;                                           \
        template <class V> V operator()(V a, V b, V c) const { return expression; }  \
    };

CLAY_TWO(LeakyReluBackward, Cheap, g, x, select(x > CLAY_NUMBER(0), g, g * CLAY_NUMBER(p)))
CLAY_TWO(EluBackward, Costly, g, x, select(x > CLAY_NUMBER(0), g, g * (CLAY_NUMBER(p) * exp(x))))
CLAY_TWO(CeluBackward, Costly, g, x, select(x > CLAY_NUMBER(0), g, g * exp(x * CLAY_NUMBER(1 / p))))
CLAY_TWO(SoftplusBackward, Costly, g, x,
         select(x * CLAY_NUMBER(p) > CLAY_NUMBER(q), g, g / sigmoid_divisor(x * CLAY_NUMBER(p))))
CLAY_TWO(InsideBackward, Cheap, g, x, select((x <= CLAY_NUMBER(p)) | (x >= CLAY_NUMBER(q)), CLAY_NUMBER(0), g))
CLAY_TWO(OutsideBackward, Cheap, g, x, select((x >= CLAY_NUMBER(-p)) & (x <= CLAY_NUMBER(p)), CLAY_NUMBER(0), g))
CLAY_TWO(ThresholdBackward, Cheap, g, x, select(x <= CLAY_NUMBER(p), CLAY_NUMBER(0), g))
CLAY_TWO(PowBackward, Costly, g, x, g * (CLAY_NUMBER(p) * pow(x, CLAY_NUMBER(p - 1))))
CLAY_TWO(SquareBackward, Cheap, g, x, g * (CLAY_NUMBER(2) * x))
CLAY_TWO(CubeBackward, Cheap, g, x, g * (CLAY_NUMBER(3) * (x * x)))
CLAY_TWO(RootBackward, Cheap, g, x, g * (CLAY_NUMBER(0.5) * (CLAY_NUMBER(1) / sqrt(x))))
CLAY_TWO(ReciprocalBackward, Cheap, g, x, g * (CLAY_NUMBER(-1) * (CLAY_NUMBER(1) / (x * x))))
CLAY_TWO(Pow1_5Backward, Cheap, g, x, g * (CLAY_NUMBER(1.5) * sqrt(x)))
CLAY_THREE(PreluToInput, Cheap, g, x, weight, select(x > CLAY_NUMBER(0), g, g * weight))

// Losses of x and target y, and their gradient in x times g
CLAY_TWO(Squared, Cheap, x, y, (x - y) * (x - y))
CLAY_THREE(SquaredBackward, Cheap, g, x, y, (x - y) * (g * CLAY_NUMBER(2)))
struct Smooth : Cheap {
    static constexpr int operands = 2;
    template <class V> V operator()(V x, V y, V) const {
        const V size = abs(x - y);
        return select(size < splat<V>(p), size * size * splat<V>(0.5 / p), size - splat<V>(0.5 * p));
    }
};
CLAY_THREE(SmoothBackward, Cheap, g, x, y, (Clamp{{-1, 1}}((x - y) / CLAY_NUMBER(p)) * g))
struct Huber : Cheap {
    static constexpr int operands = 2;
    template <class V> V operator()(V x, V y, V) const {
        const V size = abs(x - y);
        return select(size <= splat<V>(p), splat<V>(0.5) * size * size, splat<V>(p) * (size - splat<V>(0.5 * p)));
    }
};
CLAY_THREE(HuberBackward, Cheap, g, x, y, (Clamp{{-p, p}}(x - y) * g))
CLAY_TWO(Logits, Costly, x, y, (CLAY_NUMBER(1) - y) * x + log_of_exp_and_1(-x))
CLAY_THREE(LogitsBackward, Costly, g, x, y, g * (sigmoid(x) - y))

// binary_cross_entropy, with logarithms clamped at -100
CLAY_TWO(BinaryCrossEntropy, Costly, x, y,
         (y - CLAY_NUMBER(1)) * maximum(log1p(-x), CLAY_NUMBER(-100)) - y * maximum(log(x), CLAY_NUMBER(-100)))
CLAY_TWO(SoftMargin, Costly, x, y, log1p(exp(-y * x)))
CLAY_THREE(BinaryCrossEntropyBackward, Cheap, g, x, y, g * (x - y) / maximum((CLAY_NUMBER(1) - x) * x, CLAY_NUMBER(1e-12)))

template <class F, class T> struct ShapedJob {
    const T *a, *b, *c;
    T* out;
    F f;
};

// A and C: full blocks, or a single element
template <class F, class T, bool A, bool C> void shaped_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    const auto& job = *(const ShapedJob<F, T>*)data;
    const T *a = job.a + (A ? begin : 0), *b = job.b + begin, *c = job.c + (C ? begin : 0);
    T* out = job.out + begin;
    const F f = job.f;
    const V one_a = splat<V>(*a), one_c = F::operands == 3 ? splat<V>(*c) : one_a;
    along<T>(end - begin, [=](int64_t i, int64_t m) {
        put<V>(out + i, f(A ? get<V>(a + i, m) : one_a, get<V>(b + i, m),
                          F::operands == 3 && C ? get<V>(c + i, m) : one_c), m);
    });
}

template <class F, class T>
void shaped(const void* a, const void* b, const void* c, void* out, int64_t n, int ones, double p, double q) {
    if (n <= 0) return;
    ShapedJob<F, T> job{(const T*)a, (const T*)b, (const T*)c, (T*)out, F{{p, q}}};
    const bool full_a = !(ones & 1), full_c = F::operands == 3 && !(ones & 4);
    const range_body body = full_a ? full_c ? shaped_range<F, T, true, true> : shaped_range<F, T, true, false>
                                   : full_c ? shaped_range<F, T, false, true> : shaped_range<F, T, false, false>;
    if (n < 2 * F::grain) body(&job, 0, n);
    else parallel_for(n, F::grain, body, &job);
}

// Exponents that need no call of pow
template <class T>
void pow_backward(const void* g, const void* x, const void* c, void* out, int64_t n, int ones, double p, double q) {
    const shaped_fn f = p == 2 ? shaped<SquareBackward, T> : p == 3 ? shaped<CubeBackward, T>
                      : p == 0.5 ? shaped<RootBackward, T> : p == -1 ? shaped<ReciprocalBackward, T>
                      : p == 1.5 ? shaped<Pow1_5Backward, T> : shaped<PowBackward, T>;
    f(g, x, c, out, n, ones, p, q);
}

constexpr int64_t PIECE = 4096;          // elements of a loss per partial sum

template <class F, class T> struct TotalJob {
    const T *a, *b;
    T* sums;
    int64_t n;
    F f;
};

template <class F, class T> T piece_sum(const TotalJob<F, T>& job, int64_t piece) {
    using V = vec<T>;
    const T *a = job.a, *b = job.b;
    const F f = job.f;
    const int64_t first = piece * PIECE, count = job.n - first < PIECE ? job.n - first : PIECE;
    T sum;
    sums<1, T>(first, count, &sum, [=](int64_t i, int64_t m, V* term) {
        const V x = get<V>(a + i, m);
        term[0] = f(x, get<V>(b + i, m), x);
    });
    return sum;
}

template <class F, class T> void total_range(void* data, int64_t begin, int64_t end) {
    const auto& job = *(const TotalJob<F, T>*)data;
    for (int64_t piece = begin; piece < end; piece++) job.sums[piece] = piece_sum(job, piece);
}

template <class F, class T> void total(const void* a, const void* b, void* out, int64_t n, double factor, double p, double q) {
    const int64_t pieces = (n + PIECE - 1) / PIECE;
    TotalJob<F, T> job{(const T*)a, (const T*)b, nullptr, n, F{{p, q}}};
    if (pieces > 1) job.sums = (T*)malloc((size_t)pieces * sizeof(T));
    T sum = 0;
    if (job.sums) {
        parallel_for(pieces, (F::grain + PIECE - 1) / PIECE, total_range<F, T>, &job);
        sum = reduce_row<SumOf, T>(job.sums, pieces);
        free(job.sums);
    } else {                             // one piece, or no memory
        for (int64_t piece = 0; piece < pieces; piece++) sum += piece_sum(job, piece);
    }
    *(T*)out = sum * (T)factor;
}

template <class T> struct GateJob {
    const T *g, *x;
    T* dx;
    int64_t n;
};

template <class T> void gate_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    const auto& job = *(const GateJob<T>*)data;
    const int64_t n = job.n;
    for (int64_t r = begin; r < end; r++) {
        const T *g = job.g + r * n, *a = job.x + 2 * r * n, *b = a + n;
        T* dx = job.dx + 2 * r * n;
        along<T>(n, [=](int64_t i, int64_t m) {
            const V one = splat<V>(1), gate = sigmoid(get<V>(b + i, m)), passed = get<V>(g + i, m) * gate;
            put<V>(dx + i, passed, m);
            put<V>(dx + n + i, passed * get<V>(a + i, m) * (one - gate), m);
        });
    }
}

template <class T> void glu_backward(const void* g, const void* x, void* dx, int64_t rows, int64_t n) {
    if (rows <= 0 || n <= 0) return;
    GateJob<T> job{(const T*)g, (const T*)x, (T*)dx, n};
    parallel_for(rows, COSTLY_ROWS / n + 1, gate_range<T>, &job);
}

#define SHAPED(name, F) {name, F32, (void*)shaped<F, float>}, {name, F64, (void*)shaped<F, double>}
#define TOTAL(name, F) {name, F32, (void*)total<F, float>}, {name, F64, (void*)total<F, double>}

}  // namespace

const Kernel shaped_kernels[] = {
    SHAPED("leaky_relu_backward", LeakyReluBackward), SHAPED("elu_backward", EluBackward),
    SHAPED("celu_backward", CeluBackward), SHAPED("softplus_backward", SoftplusBackward),
    SHAPED("inside_backward", InsideBackward), SHAPED("outside_backward", OutsideBackward),
    SHAPED("threshold_backward", ThresholdBackward), SHAPED("prelu_to_input", PreluToInput),
    {"pow_backward", F32, (void*)pow_backward<float>}, {"pow_backward", F64, (void*)pow_backward<double>},
    SHAPED("squared", Squared), SHAPED("squared_backward", SquaredBackward), SHAPED("smooth", Smooth),
    SHAPED("smooth_backward", SmoothBackward), SHAPED("huber", Huber), SHAPED("huber_backward", HuberBackward),
    SHAPED("logits", Logits), SHAPED("logits_backward", LogitsBackward), SHAPED("bce", BinaryCrossEntropy),
    SHAPED("soft_margin", SoftMargin),
    SHAPED("bce_backward", BinaryCrossEntropyBackward),
};
CLAY_COUNT(shaped)

const Kernel total_kernels[] = {TOTAL("squared", Squared), TOTAL("smooth", Smooth), TOTAL("huber", Huber),
                                TOTAL("logits", Logits), TOTAL("bce", BinaryCrossEntropy),
                                TOTAL("soft_margin", SoftMargin)};
CLAY_COUNT(total)

const Kernel gate_kernels[] = {{"glu", F32, (void*)glu_backward<float>}, {"glu", F64, (void*)glu_backward<double>}};
CLAY_COUNT(gate)

}  // namespace CLAY_ISA
}  // namespace clay
