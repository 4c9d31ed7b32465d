// Recurrent layers, step by step. Sequences are independent: each thread takes some of them through all steps.
#include <string.h>

#include "nn/rnn_weights.hpp"
#include "platform/scratch.hpp"
#include "simd/lines.hpp"
#include "simd/math.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class V> V slope(V gate) { return gate * (splat<V>(1) - gate); }       // derivative of a sigmoid, from its value

// The rows of sequences begin .. end at step k, and the row of each sequence's previous state.
template <class T> struct Rows {
    const Sequence& s;
    int64_t begin, end;
    int64_t count(int64_t k) const { return (s.size[k] < end ? s.size[k] : end) - begin; }
    T* at(void* block, int64_t k, int64_t width) const { return (T*)block + (s.first[k] + begin) * width; }
    const T* at(const void* block, int64_t k, int64_t width) const { return at((void*)block, k, width); }
    T* state(void* block) const { return (T*)block + begin * s.width; }
    const T* before(const void* after, int64_t k, int64_t row) const {
        const bool began = k > 0 && begin + row < s.size[k - 1];
        return began ? at(after, k - 1, s.width) + row * s.width : (const T*)s.start + (begin + row) * s.width;
    }
};

// The states of some sequences, and the gates of a step, with their row strides.
template <class T> struct Near {
    T* h;
    int64_t h_row;
    const T* sums;
};

// --- out = act(gates + h @ weight) ---------------------------------------------------------------------------------
template <class T> struct Rnn {
    static constexpr int gates = 1, kept = 1;
    static constexpr bool one_sum = true;
    static void forward(Rows<T> rows, int64_t k, int64_t n, Near<T> near) {
        using V = vec<T>;
        const Sequence& s = rows.s;
        T *out = rows.at(s.out, k, s.width), *h = near.h;
        for (int64_t r = 0; r < n; r++, out += s.width, h += near.h_row, near.sums += s.width)
            along<T>(s.width, [&](int64_t i, int64_t m) {
                const V x = get<V>(near.sums + i, m);
                const V y = s.relu ? select(x < splat<V>(0), splat<V>(0), x) : tanh(x);
                put<V>(out + i, y, m);
                put<V>(h + i, y, m);
            });
    }
    static void backward(Rows<T> rows, int64_t k, int64_t n) {
        using V = vec<T>;
        const Sequence& s = rows.s;
        const T *out = rows.at((const void*)s.out, k, s.width), *g = s.g_out ? rows.at(s.g_out, k, s.width) : nullptr;
        T *h = rows.state(s.h), *result = rows.at(s.g_gates, k, s.width);
        along<T>(n * s.width, [&](int64_t i, int64_t m) {
            V dh = get<V>(h + i, m), y = get<V>(out + i, m);
            if (g) dh = dh + get<V>(g + i, m);
            put<V>(result + i, s.relu ? select(y > splat<V>(0), dh, splat<V>(0)) : dh * (splat<V>(1) - y * y), m);
        });
        gemm(code<T>, false, false, n, s.width, s.width, result, s.width, s.weight, s.width, h, s.width, false);
    }
};

// --- i, f, o = σ, g = tanh; c = f c + i g, h = o tanh(c) --------------------------------------------------------------
template <class T> struct Lstm {
    static constexpr int gates = 4, kept = 4;
    static constexpr bool one_sum = true;
    static void forward(Rows<T> rows, int64_t k, int64_t n, Near<T> near) {
        using V = vec<T>;
        const Sequence& s = rows.s;
        const int64_t H = s.width;
        T *gate = rows.at(s.gates, k, 4 * H), *out = rows.at(s.out, k, H), *cell = rows.at(s.cells, k, H), *c = rows.state(s.c);
        // Two loops: in one loop the tanh would wait for the cell.
        for (int64_t r = 0; r < n; r++)
            along<T>(H, [&](int64_t j, int64_t m) {
                const T* from = near.sums + r * 4 * H + j;
                T *at = gate + r * 4 * H + j, *kept = c + r * H + j;
                const V i = sigmoid(get<V>(from, m)), f = sigmoid(get<V>(from + H, m)), g = tanh(get<V>(from + 2 * H, m));
                const V o = sigmoid(get<V>(from + 3 * H, m)), next = f * get<V>(kept, m) + i * g;
                put<V>(at, i, m);
                put<V>(at + H, f, m);
                put<V>(at + 2 * H, g, m);
                put<V>(at + 3 * H, o, m);
                put<V>(kept, next, m);
            });
        for (int64_t r = 0; r < n; r++)
            along<T>(H, [&](int64_t j, int64_t m) {
                const V now = get<V>(c + r * H + j, m), y = get<V>(gate + (r * 4 + 3) * H + j, m) * tanh(now);
                put<V>(cell + r * H + j, now, m);
                put<V>(near.h + r * near.h_row + j, y, m);
                put<V>(out + r * H + j, y, m);
            });
    }
    static void backward(Rows<T> rows, int64_t k, int64_t n) {
        using V = vec<T>;
        const Sequence& s = rows.s;
        const int64_t H = s.width;
        const T *gate = rows.at((const void*)s.gates, k, 4 * H), *cell = rows.at((const void*)s.cells, k, H);
        const T* g_out = s.g_out ? rows.at(s.g_out, k, H) : nullptr;
        T *result = rows.at(s.g_gates, k, 4 * H), *h = rows.state(s.h), *c = rows.state(s.c);
        const V one = splat<V>(1);
        for (int64_t r = 0; r < n; r++) {
            const T *a = gate + r * 4 * H, *previous = rows.before(s.cells, k, r);
            T* to = result + r * 4 * H;
            along<T>(H, [&](int64_t j, int64_t m) {
                const V i = get<V>(a + j, m), f = get<V>(a + H + j, m), g = get<V>(a + 2 * H + j, m);
                const V o = get<V>(a + 3 * H + j, m), squashed = tanh(get<V>(cell + r * H + j, m));
                V dh = get<V>(h + r * H + j, m);
                if (g_out) dh = dh + get<V>(g_out + r * H + j, m);
                const V dc = get<V>(c + r * H + j, m) + dh * o * (one - squashed * squashed);
                put<V>(to + j, dc * g * slope(i), m);
                put<V>(to + H + j, dc * get<V>(previous + j, m) * slope(f), m);
                put<V>(to + 2 * H + j, dc * i * (one - g * g), m);
                put<V>(to + 3 * H + j, dh * squashed * slope(o), m);
                put<V>(c + r * H + j, dc * f, m);
            });
        }
        gemm(code<T>, false, false, n, H, 4 * H, result, 4 * H, s.weight, H, h, H, false);
    }
};

// --- r, z = σ, n = tanh(x + r hn); h = n + z (h - n) ----------------------------------------------------------------
template <class T> struct Gru {
    static constexpr int gates = 3, kept = 4;
    static constexpr bool one_sum = false;       // n needs the state's part separately
    static void forward(Rows<T> rows, int64_t k, int64_t n, Near<T> near) {
        using V = vec<T>;
        const Sequence& s = rows.s;
        const int64_t H = s.width;
        T *kept = rows.at(s.gates, k, 4 * H), *out = rows.at(s.out, k, H), *h = near.h;
        const T *of_h = near.sums, *bias = (const T*)s.bias;
        for (int64_t row = 0; row < n; row++, kept += 4 * H, out += H, h += H, of_h += 3 * H)
            along<T>(H, [&](int64_t j, int64_t m) {
                V hr = get<V>(of_h + j, m), hz = get<V>(of_h + H + j, m), hn = get<V>(of_h + 2 * H + j, m);
                if (bias) {
                    hr = hr + get<V>(bias + j, m);
                    hz = hz + get<V>(bias + H + j, m);
                    hn = hn + get<V>(bias + 2 * H + j, m);
                }
                const V r = sigmoid(get<V>(kept + j, m) + hr), z = sigmoid(get<V>(kept + H + j, m) + hz);
                const V new_ = tanh(get<V>(kept + 2 * H + j, m) + r * hn);
                const V y = new_ + z * (get<V>(h + j, m) - new_);
                put<V>(kept + j, r, m);
                put<V>(kept + H + j, z, m);
                put<V>(kept + 2 * H + j, new_, m);
                put<V>(kept + 3 * H + j, hn, m);
                put<V>(h + j, y, m);
                put<V>(out + j, y, m);
            });
    }
    static void backward(Rows<T> rows, int64_t k, int64_t n) {
        using V = vec<T>;
        const Sequence& s = rows.s;
        const int64_t H = s.width;
        const T *kept = rows.at((const void*)s.gates, k, 4 * H), *g_out = s.g_out ? rows.at(s.g_out, k, H) : nullptr;
        T *result = rows.at(s.g_gates, k, 3 * H), *beside = rows.at(s.beside, k, H), *h = rows.state(s.h);
        const V one = splat<V>(1);
        for (int64_t row = 0; row < n; row++) {
            const T *a = kept + row * 4 * H, *previous = rows.before(s.out, k, row);
            T* to = result + row * 3 * H;
            along<T>(H, [&](int64_t j, int64_t m) {
                const V r = get<V>(a + j, m), z = get<V>(a + H + j, m), x = get<V>(a + 2 * H + j, m);
                V dh = get<V>(h + row * H + j, m);
                if (g_out) dh = dh + get<V>(g_out + row * H + j, m);
                const V dn = dh * (one - z) * (one - x * x);
                put<V>(to + j, dn * get<V>(a + 3 * H + j, m) * slope(r), m);
                put<V>(to + H + j, dh * (get<V>(previous + j, m) - x) * slope(z), m);
                put<V>(to + 2 * H + j, dn * r, m);
                put<V>(beside + row * H + j, dn, m);
                put<V>(h + row * H + j, dh * z, m);
            });
        }
        gemm(code<T>, false, false, n, H, 3 * H, result, 3 * H, s.weight, H, h, H, true);
    }
};

thread_local Room room;

// How a layer is computed; all fields but the last depend on its shape alone
struct Plan {
    const Sequence& s;
    int64_t panel;                       // columns of a panel of the weights, or 0
    bool joined;                         // one product for state and input: Note [Weights of all steps]
    bool each;                           // the inputs' part of the gates is computed at each step, not for all steps at once
};

// The part of the gates that comes from the inputs, for n rows
template <template <class> class Cell, class T> void from_inputs(const Sequence& s, int64_t first, int64_t n, Weight<T> weight) {
    const int64_t kept = Cell<T>::kept * s.width;
    weight.times(n, (const T*)s.x + first * s.features, s.features, (T*)s.gates + first * kept, kept, (const T*)s.x_bias, 0);
}

// All steps with one product each: Note [Weights of all steps]. Returns false if there is no memory.
template <template <class> class Cell, class T> bool forward_joined(const Rows<T>& rows, int64_t panel) {
    const Sequence& s = rows.s;
    const int64_t wide = Cell<T>::gates * s.width, depth = s.width + s.features, count = rows.end - rows.begin;
    const int64_t panels = panel_numbers(wide, depth, panel);
    T* weights = (T*)room.get((size_t)(panels + count * (depth + wide)) * sizeof(T));
    if (!weights) return false;
    T *sums = weights + panels, *both = sums + count * wide, *h = rows.state(s.h);
    into_panels(s.weight, wide, s.width, weights, panel, 0, depth);
    into_panels(s.x_weight, wide, s.features, weights, panel, s.width, depth);
    const Weight<T> weight{weights, wide, depth, panel};
    for (int64_t r = 0; r < count; r++) memcpy(both + r * depth, h + r * s.width, s.width * sizeof(T));
    for (int64_t k = 0; k < s.steps; k++) {
        const int64_t n = rows.count(k);
        const T* x = rows.at(s.x, k, s.features);
        for (int64_t r = 0; r < n; r++) memcpy(both + r * depth + s.width, x + r * s.features, s.features * sizeof(T));
        if (n <= 0) continue;
        weight.times(n, both, depth, sums, wide, (const T*)s.x_bias, 0);
        Cell<T>::forward(rows, k, n, {both, depth, sums});
    }
    for (int64_t r = 0; r < count; r++) memcpy(h + r * s.width, both + r * depth, s.width * sizeof(T));
    room.give_back();
    return true;
}

template <template <class> class Cell, class T> void forward_range(void* job, int64_t begin, int64_t end) {
    const Plan& plan = *(const Plan*)job;
    const Sequence& s = plan.s;
    const Rows<T> rows{s, begin, end};
    if (Cell<T>::one_sum && plan.joined && forward_joined<Cell, T>(rows, plan.panel)) return;
    const int64_t wide = Cell<T>::gates * s.width, panel = plan.panel;
    const bool each = plan.each || plan.joined;
    Weight<T> weight{(const T*)s.weight, wide, s.width, 0}, of_x{(const T*)s.x_weight, wide, s.features, 0};
    const int64_t of_h = panel ? panel_numbers(wide, s.width, panel) : 0;
    T* to = panel ? (T*)room.get((size_t)(of_h + (each ? panel_numbers(wide, s.features, panel) : 0)) * sizeof(T)) : nullptr;
    if (to) {
        into_panels(s.weight, wide, s.width, to, panel, 0, s.width);
        weight.data = to, weight.panel = panel;
    }
    if (to && each) {
        into_panels(s.x_weight, wide, s.features, to + of_h, panel, 0, s.features);
        of_x.data = to + of_h, of_x.panel = panel;
    }
    T* h = rows.state(s.h);
    for (int64_t k = 0; k < s.steps; k++) {
        const int64_t n = rows.count(k);
        if (n <= 0) continue;
        if (each) from_inputs<Cell, T>(s, s.first[k] + begin, n, of_x);
        T* sums = Cell<T>::one_sum ? rows.at(s.gates, k, wide) : (T*)s.scratch + begin * wide;
        weight.times(n, h, s.width, sums, wide, Cell<T>::one_sum ? sums : nullptr, wide);
        Cell<T>::forward(rows, k, n, {h, s.width, sums});
    }
    room.give_back();
}

template <template <class> class Cell, class T> void backward_range(void* job, int64_t begin, int64_t end) {
    const Rows<T> rows{*(const Sequence*)job, begin, end};
    for (int64_t k = rows.s.steps - 1; k >= 0; k--)
        if (rows.count(k) > 0) Cell<T>::backward(rows, k, rows.count(k));
}

// Sequences are divided among threads if each thread gets MIN_ROWS of them and the whole layer has WORTH multiplications. Products of
// more than LARGE multiplications are divided instead.
constexpr int64_t MIN_ROWS = 4, WORTH = 1 << 20, LARGE = 1 << 22;
// Bytes of weights that stay in the cache of a core
constexpr int64_t CLOSE = 1 << 19;
constexpr int64_t FEW = 8;               // min rows, in all steps together, for which copying the weights pays

template <template <class> class Cell> int64_t multiplications(const Sequence& s) { return s.batch * s.width * s.width * Cell<float>::gates; }

template <template <class> class Cell> bool shared(const Sequence& s) {
    const int64_t step = multiplications<Cell>(s);
    return step <= LARGE && step * s.steps >= WORTH && max_threads() > 1 && s.batch >= 2 * MIN_ROWS;
}
template <template <class> class Cell> void run(range_body body, const Sequence& s, void* job) {
    int64_t rows = (s.batch + max_threads() - 1) / max_threads();        // one share per thread: large products are more efficient
    if (rows < MIN_ROWS) rows = MIN_ROWS;
    parallel_for(s.batch, shared<Cell>(s) ? rows : s.batch, body, job);
}

template <template <class> class Cell, class T> void forward(const Sequence* job) {
    const Sequence& s = *job;
    int64_t rows = 0;
    for (int64_t k = 0; k < s.steps; k++) rows += s.size[k];
    const int64_t step = multiplications<Cell>(s), wide = Cell<T>::gates * s.width;
    const bool worth = rows >= FEW && step <= LARGE && (step < WORTH || s.batch >= 2 * MIN_ROWS);
    Plan plan{s, worth ? panel_for<T>(s.batch, wide) : 0, false, false};
    const bool close = worth && wide * (s.width + s.features) * (int64_t)sizeof(T) <= CLOSE;
    plan.joined = close && Cell<T>::one_sum;
    // One product for the inputs of all steps is faster, unless its results would have to move to the cache of another core.
    plan.each = close && shared<Cell>(s);
    if (!plan.joined && !plan.each) from_inputs<Cell, T>(s, 0, rows, {(const T*)s.x_weight, wide, s.features, 0});
    run<Cell>(forward_range<Cell, T>, s, &plan);
}
template <template <class> class Cell, class T> void backward(const Sequence* s) {
    run<Cell>(backward_range<Cell, T>, *s, (void*)s);
}

#define CELL(name, Cell)                                                                             \
    {name, F32, (void*)forward<Cell, float>}, {name, F64, (void*)forward<Cell, double>},             \
        {name "_backward", F32, (void*)backward<Cell, float>}, {name "_backward", F64, (void*)backward<Cell, double>}

}  // namespace

const Kernel recurrent_kernels[] = {CELL("rnn", Rnn), CELL("lstm", Lstm), CELL("gru", Gru)};
CLAY_COUNT(recurrent)

}  // namespace CLAY_ISA
}  // namespace clay
