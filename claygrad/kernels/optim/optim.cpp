// Optimizer steps. Each functor is the step of one element, with the same order of roundings as the tensor operations in
// claygrad/optim. The loop runs it over all tensors, in equal shares for the threads.
#include <stdlib.h>

#include "platform/table.hpp"
#include "simd/lines.hpp"
#include "optim/optim.hpp"
#include "platform/threads.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// start + weight * (end - start), computed from the nearer end
template <class V> struct Lerp {
    V weight, rest;
    bool near_start;
    explicit Lerp(double w) : weight(splat<V>(w)), rest(splat<V>(1) - splat<V>(w)), near_start(w < 0.5) {}
    V operator()(V start, V end) const {
        return near_start ? multiply_add(weight, end - start, start) : multiply_add(-rest, end - start, end);
    }
};

// The gradient to descend, with maximize and weight decay
template <class V> struct Slope {
    V decay;
    bool maximize, decays;
    Slope(const StepOptions& o)
        : decay(splat<V>(o.decay)), maximize(o.maximize != 0), decays(o.decay != 0 && !o.decoupled) {}
    V operator()(V param, V grad) const {
        if (maximize) grad = -grad;
        return decays ? multiply_add(decay, param, grad) : grad;
    }
};

// state[0]: the momentum buffer, if any
template <class V> struct Sgd {
    Slope<V> slope;
    V size, momentum, fresh;
    bool nesterov;
    Sgd(const StepTensor& t, const StepOptions& o)
        : slope(o), size(splat<V>(t.size)), momentum(splat<V>(o.momentum)), fresh(splat<V>(1 - o.damping)),
          nesterov(o.nesterov != 0) {}
    template <int states> void operator()(V& param, V grad, V* state) const {
        V g = slope(param, grad);
        if (states == 1) {
            state[0] = multiply_add(fresh, g, state[0] * momentum);
            g = nesterov ? multiply_add(momentum, state[0], g) : state[0];
        }
        param = multiply_add(size, g, param);
    }
};

// state[0], state[1]: averages of the gradient and of its square. Decoupled weight decay scales the parameter first.
template <class V> struct Moments {
    Slope<V> slope;
    Lerp<V> average;
    V shrink, keep, fresh, eps;
    bool shrinks;
    Moments(const StepOptions& o)
        : slope(o), average(1 - o.beta1), shrink(splat<V>(o.shrink)), keep(splat<V>(o.beta2)), fresh(splat<V>(1 - o.beta2)),
          eps(splat<V>(o.eps)), shrinks(o.decoupled && o.decay != 0) {}
    V updated(V& param, V grad, V* state) const {
        const V g = slope(param, grad);
        if (shrinks) param = param * shrink;
        state[0] = average(state[0], g);
        state[1] = multiply_add(fresh * g, g, state[1] * keep);
        return g;
    }
};

// state[2]: the largest average square (amsgrad), if any
template <class V> struct Adam : Moments<V> {
    V size, bias;
    Adam(const StepTensor& t, const StepOptions& o) : Moments<V>(o), size(splat<V>(t.size)), bias(splat<V>(t.bias)) {}
    template <int states> void operator()(V& param, V grad, V* state) const {
        this->updated(param, grad, state);
        if (states == 3) state[2] = maximum(state[2], state[1]);
        param = param + size * state[0] / (sqrt(state[states - 1]) / bias + this->eps);
    }
};

// state: the average of the square; then that of the gradient, if centered; then the momentum buffer, if any
template <class V> struct RmsProp {
    Slope<V> slope;
    Lerp<V> average;
    V size, keep, fresh, momentum, eps;
    bool centered;
    RmsProp(const StepTensor& t, const StepOptions& o)
        : slope(o), average(1 - o.beta2), size(splat<V>(t.size)), keep(splat<V>(o.beta2)),
          fresh(splat<V>(1 - o.beta2)), momentum(splat<V>(o.momentum)), eps(splat<V>(o.eps)), centered(o.centered != 0) {}
    template <int states> void operator()(V& param, V grad, V* state) const {
        const V g = slope(param, grad);
        V square = state[0] = multiply_add(fresh * g, g, state[0] * keep);
        if (states > 1 && centered) {
            state[1] = average(state[1], g);
            square = multiply_add(-state[1], state[1], square);
        }
        const V deviation = sqrt(square) + eps;
        if (states == 3 || (states == 2 && !centered)) {
            V& buffer = state[states - 1];
            buffer = buffer * momentum + g / deviation;
            param = multiply_add(size, buffer, param);
        } else {
            param = param + size * g / deviation;
        }
    }
};

// state[0]: the sum of the squares
template <class V> struct Adagrad {
    Slope<V> slope;
    V size, eps;
    Adagrad(const StepTensor& t, const StepOptions& o)
        : slope(o), size(splat<V>(t.size)), eps(splat<V>(o.eps)) {}
    template <int states> void operator()(V& param, V grad, V* state) const {
        const V g = slope(param, grad);
        state[0] = state[0] + g * g;
        param = param + size * g / (sqrt(state[0]) + eps);
    }
};

// state: averages of the squares of gradient and step
template <class V> struct Adadelta {
    Slope<V> slope;
    V size, keep, fresh, eps;
    Adadelta(const StepTensor& t, const StepOptions& o)
        : slope(o), size(splat<V>(t.size)), keep(splat<V>(o.beta2)), fresh(splat<V>(1 - o.beta2)), eps(splat<V>(o.eps)) {}
    template <int states> void operator()(V& param, V grad, V* state) const {
        const V g = slope(param, grad);
        state[0] = state[0] * keep + fresh * g * g;
        const V delta = sqrt(state[1] + eps) / sqrt(state[0] + eps) * g;
        state[1] = state[1] * keep + fresh * delta * delta;
        param = param + size * delta;
    }
};

// state: the average of the gradient; its decaying infinity norm
template <class V> struct Adamax {
    Slope<V> slope;
    Lerp<V> average;
    V size, keep, eps;
    Adamax(const StepTensor& t, const StepOptions& o)
        : slope(o), average(1 - o.beta1), size(splat<V>(t.size)), keep(splat<V>(o.beta2)), eps(splat<V>(o.eps)) {}
    template <int states> void operator()(V& param, V grad, V* state) const {
        const V g = slope(param, grad);
        state[0] = average(state[0], g);
        state[1] = maximum(state[1] * keep, abs(g) + eps);
        param = param + size * state[0] / state[1];
    }
};

// `size`: the step of the gradient itself; `numbers`: the step of its average
template <class V> struct Nadam : Moments<V> {
    V size, along, bias;
    Nadam(const StepTensor& t, const StepOptions& o)
        : Moments<V>(o), size(splat<V>(t.size)), along(splat<V>(t.numbers[0])), bias(splat<V>(t.bias)) {}
    template <int states> void operator()(V& param, V grad, V* state) const {
        const V g = this->updated(param, grad, state), deviation = sqrt(state[1] / bias) + this->eps;
        param = param + size * g / deviation;
        param = param + along * state[0] / deviation;
    }
};

// `bias`: bias correction of the first average; `numbers`: root of the second's correction, and the rectification (0: none)
template <class V> struct Radam : Moments<V> {
    V size, bias, root, rectified;
    bool rectifies;
    Radam(const StepTensor& t, const StepOptions& o)
        : Moments<V>(o), size(splat<V>(t.size)), bias(splat<V>(t.bias)), root(splat<V>(t.numbers[0])),
          rectified(splat<V>(t.numbers[1])), rectifies(t.numbers[1] != 0) {}
    template <int states> void operator()(V& param, V grad, V* state) const {
        this->updated(param, grad, state);
        V update = state[0] / bias * size;
        if (rectifies) update = update * (root / (sqrt(state[1]) + this->eps)) * rectified;
        param = param - update;
    }
};

// state[0]: the average of the parameter; `numbers`: the parameter's decay factor, and its weight in the average
template <class V> struct Asgd {
    Slope<V> slope;
    V size, left, share;
    bool whole;
    Asgd(const StepTensor& t, const StepOptions& o)
        : slope(o), size(splat<V>(t.size)), left(splat<V>(t.numbers[0])), share(splat<V>(t.numbers[1])), whole(t.numbers[1] == 1) {}
    template <int states> void operator()(V& param, V grad, V* state) const {
        const V g = slope(param, grad);
        param = param * left;
        param = multiply_add(size, g, param);
        state[0] = whole ? param : state[0] + (param - state[0]) * share;
    }
};

// state: the previous gradient; the step size. beta1 and beta2: its factors where the sign changed, and where it did not
template <class V> struct Rprop {
    Slope<V> slope;
    V shrink, grow, min_step, max_step;
    Rprop(const StepTensor&, const StepOptions& o)
        : slope(o), shrink(splat<V>(o.beta1)), grow(splat<V>(o.beta2)), min_step(splat<V>(o.min_step)), max_step(splat<V>(o.max_step)) {}
    template <int states> void operator()(V& param, V grad, V* state) const {
        const V zero = splat<V>(0), one = splat<V>(1);
        V g = slope(param, grad);
        const V agreement = g * state[0];
        const V factor = select(agreement > zero, grow, select(agreement < zero, shrink, one));
        state[1] = minimum(maximum(state[1] * factor, min_step), max_step);
        g = select(agreement < zero, zero, g);
        param = param + select(g > zero, -state[1], select(g < zero, state[1], zero));
        state[0] = g;
    }
};

template <template <class> class F, class T, int states>
void step_range(const StepTensor& t, const StepOptions& options, int64_t begin, int64_t end) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const F<V> f(t, options);
    T* param = (T*)t.param;
    const T* grad = (const T*)t.grad;
    V p, s[3];
    int64_t i = begin;
    for (; i + W <= end; i += W) {
        p = load<V>(param + i);
        for (int k = 0; k < states; k++) s[k] = load<V>((T*)t.state[k] + i);
        f.template operator()<states>(p, load<V>(grad + i), s);
        store<V>(param + i, p);
        for (int k = 0; k < states; k++) store<V>((T*)t.state[k] + i, s[k]);
    }
    if (W > 1 && i < end) {
        const int64_t n = end - i;
        p = load_part<V>(param + i, n);
        for (int k = 0; k < states; k++) s[k] = load_part<V>((T*)t.state[k] + i, n);
        f.template operator()<states>(p, load_part<V>(grad + i, n), s);
        store_part<V>(param + i, p, n);
        for (int k = 0; k < states; k++) store_part<V>((T*)t.state[k] + i, s[k], n);
    }
}

struct StepJob {
    const StepTensor* tensors;
    int64_t count;
    const StepOptions* options;
};

// Elements begin..end, counted over all tensors
template <template <class> class F, class T, int states> void steps_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(StepJob*)data;
    int64_t at = 0;
    for (int64_t k = 0; k < job.count && at < end; k++) {
        const StepTensor& t = job.tensors[k];
        const int64_t from = begin > at ? begin - at : 0, to = end - at < t.n ? end - at : t.n;
        if (from < to) step_range<F, T, states>(t, *job.options, from, to);
        at += t.n;
    }
}

int by_address(const void* a, const void* b) {
    const char *x = *(const char* const*)a, *y = *(const char* const*)b;
    return x < y ? -1 : x > y;
}

// Whether no two parameters share memory; if they do, their steps must follow each other.
bool apart(const StepTensor* tensors, int64_t count, int64_t item) {
    struct Span { const char *begin, *end; };
    Span* spans = (Span*)malloc(count * sizeof(Span));
    if (!spans) return false;
    for (int64_t k = 0; k < count; k++)
        spans[k] = {(const char*)tensors[k].param, (const char*)tensors[k].param + tensors[k].n * item};
    qsort(spans, count, sizeof(Span), by_address);
    bool good = true;
    for (int64_t k = 1; k < count; k++) good = good && spans[k - 1].end <= spans[k].begin;
    free(spans);
    return good;
}

constexpr int64_t SHARE = 12288;         // min elements per thread: each reads and writes about five arrays

template <template <class> class F, class T, int states>
void run(const StepTensor* tensors, int64_t count, const StepOptions* options) {
    StepJob job{tensors, count, options};
    int64_t total = 0;
    for (int64_t k = 0; k < count; k++) total += tensors[k].n;
    if (total >= 2 * SHARE && apart(tensors, count, sizeof(T))) {
        parallel_for(total, SHARE, steps_range<F, T, states>, &job);
        return;
    }
    for (int64_t k = 0; k < count; k++) step_range<F, T, states>(tensors[k], *options, 0, tensors[k].n);
}

template <template <class> class F, class T, int MIN, int MAX>
void step(const StepTensor* tensors, int64_t count, const StepOptions* options) {
    if (MIN == MAX || options->states == MIN) run<F, T, MIN>(tensors, count, options);
    else if (MIN + 1 == MAX || options->states == MIN + 1) run<F, T, MIN + 1>(tensors, count, options);
    else run<F, T, MAX>(tensors, count, options);
}

// --- clipping of gradients ---------------------------------------------------------------------------------------

// Pieces of tensors; the order of sums depends on their sizes alone
constexpr int64_t PIECE = 8192;

template <class F> void each_piece(const Gradient* grads, int64_t count, F f) {
    struct Job { const Gradient* grads; int64_t count; F* f; } job{grads, count, &f};
    int64_t pieces = 0;
    for (int64_t k = 0; k < count; k++) pieces += ceil_div(grads[k].n, PIECE);
    parallel_for(pieces, 2 * SHARE / PIECE, [](void* data, int64_t begin, int64_t end) {
        auto& job = *(Job*)data;
        int64_t at = 0;
        for (int64_t k = 0; k < job.count && at < end; k++) {
            const int64_t here = ceil_div(job.grads[k].n, PIECE);
            for (int64_t i = begin > at ? begin - at : 0; i < here && at + i < end; i++)
                (*job.f)(job.grads[k], at + i, i * PIECE, job.grads[k].n - i * PIECE < PIECE ? job.grads[k].n - i * PIECE : PIECE);
            at += here;
        }
    }, &job);
}

// The norm of each tensor, of order 1, 2 or infinity
template <class T> bool norms(const Gradient* grads, int64_t count, double order, double* out) {
    using V = vec<T>;
    int64_t pieces = 0;
    for (int64_t k = 0; k < count; k++) pieces += ceil_div(grads[k].n, PIECE);
    double* parts = (double*)malloc((size_t)(pieces + 1) * sizeof(double));
    if (!parts) return false;
    each_piece(grads, count, [=](const Gradient& grad, int64_t piece, int64_t begin, int64_t n) {
        const T* x = (const T*)grad.values + begin;
        if (order > 2) {
            constexpr int W = Lanes<V>::width;
            V best = splat<V>(0);
            int64_t i = 0;
            for (; i + W <= n; i += W) best = maximum(best, abs(load<V>(x + i)));
            if (W > 1 && i < n) best = maximum(best, part(abs(load_part<V>(x + i, n - i)), n - i, splat<V>(0)));
            parts[piece] = first_lane(folded<MaxOf>(best));
            return;
        }
        T sum;
        if (order == 2) sums<1, T>(0, n, &sum, [=](int64_t i, int64_t m, V* term) {
            const V v = get<V>(x + i, m);
            term[0] = v * v;
        });
        else sums<1, T>(0, n, &sum, [=](int64_t i, int64_t m, V* term) { term[0] = abs(get<V>(x + i, m)); });
        parts[piece] = sum;
    });
    int64_t at = 0;
    for (int64_t k = 0; k < count; k++) {
        double all = 0;
        for (const int64_t end = at + ceil_div(grads[k].n, PIECE); at < end; at++)
            all = order > 2 ? (parts[at] > all || parts[at] != parts[at] ? parts[at] : all) : all + parts[at];
        out[k] = order == 2 ? (double)(T)__builtin_sqrt(all) : (double)(T)all;
    }
    free(parts);
    return true;
}

template <class T> void scale(const Gradient* grads, int64_t count, double factor) {
    using V = vec<T>;
    const V by = splat<V>(factor);
    each_piece(grads, count, [=](const Gradient& grad, int64_t, int64_t begin, int64_t n) {
        T* x = (T*)grad.values + begin;
        along<T>(n, [=](int64_t i, int64_t m) { put<V>(x + i, get<V>(x + i, m) * by, m); });
    });
}

// Between -bound and bound; NaN stays.
template <class T> void limit(const Gradient* grads, int64_t count, double bound) {
    using V = vec<T>;
    const V low = splat<V>(-bound), high = splat<V>(bound);
    each_piece(grads, count, [=](const Gradient& grad, int64_t, int64_t begin, int64_t n) {
        T* x = (T*)grad.values + begin;
        along<T>(n, [=](int64_t i, int64_t m) { put<V>(x + i, minimum(maximum(get<V>(x + i, m), low), high), m); });
    });
}

#define BOTH(name, type, f) {name, F32, (void*)(type)f<float>}, {name, F64, (void*)(type)f<double>}
#define STEP(name, F, min, max) \
    {name, F32, (void*)step<F, float, min, max>}, {name, F64, (void*)step<F, double, min, max>}

}  // namespace

const Kernel optim_kernels[] = {STEP("sgd", Sgd, 0, 1), STEP("adam", Adam, 2, 3), STEP("rmsprop", RmsProp, 1, 3),
                                STEP("adagrad", Adagrad, 1, 1), STEP("adadelta", Adadelta, 2, 2),
                                STEP("adamax", Adamax, 2, 2), STEP("nadam", Nadam, 2, 2), STEP("radam", Radam, 2, 2),
                                STEP("asgd", Asgd, 1, 1), STEP("rprop", Rprop, 2, 2),
                                BOTH("norms", norms_fn, norms), BOTH("scale", bound_fn, scale), BOTH("limit", bound_fn, limit)};
CLAY_COUNT(optim)

}  // namespace CLAY_ISA
}  // namespace clay
