// Recurrent layers, step after step. Sequences do not see each other: each thread takes some of them through all steps.
#include "families.hpp"
#include "kernels.hpp"
#include "recurrent.hpp"
#include "scratch.hpp"
#include "transpose.hpp"
#include "vmath.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> constexpr int code = sizeof(T) == 4 ? F32 : F64;
template <class V> V slope(V gate) { return gate * (splat<V>(1) - gate); }       // of a sigmoid, from its value

// f at 0, W, 2 W ...; the last time with fewer elements than a vector has
template <class V, class F> void along(int64_t n, F f) {
    constexpr int W = Lanes<V>::width;
    int64_t i = 0;
    for (; i + W <= n; i += W) f(i, (int64_t)W);
    if (i < n) f(i, n - i);
}
template <class V> V get(const typename Lanes<V>::T* p, int64_t n) {
    return n == Lanes<V>::width ? load<V>(p) : load_part<V>(p, n);
}
template <class V> void put(typename Lanes<V>::T* p, V v, int64_t n) {
    if (n == Lanes<V>::width) store<V>(p, v);
    else store_part<V>(p, v, n);
}

// The rows of sequences begin .. end at step k, and where a sequence's state before it lies.
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

// (H, G H), or as it was given, (G H, H), to be read transposed; rows are `step` apart
template <class T> struct Weight {
    const T* data;
    int64_t step;
    bool as_given;
};

// --- out = act(gates + h @ weight) ---------------------------------------------------------------------------------
template <class T> struct Rnn {
    static constexpr int gates = 1, kept = 1;
    static void forward(Rows<T> rows, int64_t k, int64_t n, Weight<T> weight) {
        using V = vec<T>;
        const Sequence& s = rows.s;
        T *out = rows.at(s.out, k, s.width), *h = rows.state(s.h);
        gemm(code<T>, false, weight.as_given, n, s.width, s.width, h, s.width, weight.data, weight.step, out, s.width, true);
        for (int64_t r = 0; r < n; r++, out += s.width, h += s.width)
            along<V>(s.width, [&](int64_t i, int64_t m) {
                const V x = get<V>(out + i, m);
                const V y = s.relu ? pick(x < splat<V>(0), splat<V>(0), x) : tanh(x);
                put<V>(out + i, y, m);
                put<V>(h + i, y, m);
            });
    }
    static void backward(Rows<T> rows, int64_t k, int64_t n) {
        using V = vec<T>;
        const Sequence& s = rows.s;
        const T *out = rows.at((const void*)s.out, k, s.width), *g = s.g_out ? rows.at(s.g_out, k, s.width) : nullptr;
        T *h = rows.state(s.h), *made = rows.at(s.made, k, s.width);
        along<V>(n * s.width, [&](int64_t i, int64_t m) {
            V dh = get<V>(h + i, m), y = get<V>(out + i, m);
            if (g) dh = dh + get<V>(g + i, m);
            put<V>(made + i, s.relu ? pick(y > splat<V>(0), dh, splat<V>(0)) : dh * (splat<V>(1) - y * y), m);
        });
        gemm(code<T>, false, false, n, s.width, s.width, made, s.width, s.weight, s.width, h, s.width, false);
    }
};

// --- i, f, o = σ, g = tanh; c = f c + i g, h = o tanh(c) --------------------------------------------------------------
template <class T> struct Lstm {
    static constexpr int gates = 4, kept = 4;
    static void forward(Rows<T> rows, int64_t k, int64_t n, Weight<T> weight) {
        using V = vec<T>;
        const Sequence& s = rows.s;
        const int64_t H = s.width;
        T *gate = rows.at(s.gates, k, 4 * H), *out = rows.at(s.out, k, H), *cell = rows.at(s.cells, k, H);
        T *h = rows.state(s.h), *c = rows.state(s.c);
        gemm(code<T>, false, weight.as_given, n, 4 * H, H, h, H, weight.data, weight.step, gate, 4 * H, true);
        // In two goes: a tanh that waits for the cell would be waited for.
        for (int64_t r = 0; r < n; r++)
            along<V>(H, [&](int64_t j, int64_t m) {
                T *at = gate + r * 4 * H + j, *kept = c + r * H + j;
                const V i = sigmoid(get<V>(at, m)), f = sigmoid(get<V>(at + H, m)), g = tanh(get<V>(at + 2 * H, m));
                const V o = sigmoid(get<V>(at + 3 * H, m)), next = f * get<V>(kept, m) + i * g;
                put<V>(at, i, m);
                put<V>(at + H, f, m);
                put<V>(at + 2 * H, g, m);
                put<V>(at + 3 * H, o, m);
                put<V>(kept, next, m);
            });
        for (int64_t r = 0; r < n; r++)
            along<V>(H, [&](int64_t j, int64_t m) {
                const V now = get<V>(c + r * H + j, m), y = get<V>(gate + (r * 4 + 3) * H + j, m) * tanh(now);
                put<V>(cell + r * H + j, now, m);
                put<V>(h + r * H + j, y, m);
                put<V>(out + r * H + j, y, m);
            });
    }
    static void backward(Rows<T> rows, int64_t k, int64_t n) {
        using V = vec<T>;
        const Sequence& s = rows.s;
        const int64_t H = s.width;
        const T *gate = rows.at((const void*)s.gates, k, 4 * H), *cell = rows.at((const void*)s.cells, k, H);
        const T* g_out = s.g_out ? rows.at(s.g_out, k, H) : nullptr;
        T *made = rows.at(s.made, k, 4 * H), *h = rows.state(s.h), *c = rows.state(s.c);
        const V one = splat<V>(1);
        for (int64_t r = 0; r < n; r++) {
            const T *a = gate + r * 4 * H, *previous = rows.before(s.cells, k, r);
            T* to = made + r * 4 * H;
            along<V>(H, [&](int64_t j, int64_t m) {
                const V i = get<V>(a + j, m), f = get<V>(a + H + j, m), g = get<V>(a + 2 * H + j, m);
                const V o = get<V>(a + 3 * H + j, m), bent = tanh(get<V>(cell + r * H + j, m));
                V dh = get<V>(h + r * H + j, m);
                if (g_out) dh = dh + get<V>(g_out + r * H + j, m);
                const V dc = get<V>(c + r * H + j, m) + dh * o * (one - bent * bent);
                put<V>(to + j, dc * g * slope(i), m);
                put<V>(to + H + j, dc * get<V>(previous + j, m) * slope(f), m);
                put<V>(to + 2 * H + j, dc * i * (one - g * g), m);
                put<V>(to + 3 * H + j, dh * bent * slope(o), m);
                put<V>(c + r * H + j, dc * f, m);
            });
        }
        gemm(code<T>, false, false, n, H, 4 * H, made, 4 * H, s.weight, H, h, H, false);
    }
};

// --- r, z = σ, n = tanh(x + r hn); h = n + z (h - n) ----------------------------------------------------------------
template <class T> struct Gru {
    static constexpr int gates = 3, kept = 4;
    static void forward(Rows<T> rows, int64_t k, int64_t n, Weight<T> weight) {
        using V = vec<T>;
        const Sequence& s = rows.s;
        const int64_t H = s.width;
        T *kept = rows.at(s.gates, k, 4 * H), *out = rows.at(s.out, k, H), *h = rows.state(s.h);
        T* of_h = (T*)s.scratch + rows.begin * 3 * H;
        const T* bias = (const T*)s.bias;
        gemm(code<T>, false, weight.as_given, n, 3 * H, H, h, H, weight.data, weight.step, of_h, 3 * H, false);
        for (int64_t row = 0; row < n; row++, kept += 4 * H, out += H, h += H, of_h += 3 * H)
            along<V>(H, [&](int64_t j, int64_t m) {
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
        T *made = rows.at(s.made, k, 3 * H), *beside = rows.at(s.beside, k, H), *h = rows.state(s.h);
        const V one = splat<V>(1);
        for (int64_t row = 0; row < n; row++) {
            const T *a = kept + row * 4 * H, *previous = rows.before(s.out, k, row);
            T* to = made + row * 3 * H;
            along<V>(H, [&](int64_t j, int64_t m) {
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
        gemm(code<T>, false, false, n, H, 3 * H, made, 3 * H, s.weight, H, h, H, true);
    }
};

thread_local Room room;

// The transpose of a matrix of weights in a thread's own memory, or the matrix itself: many rows go along it. If one thread
// made it for all, the others would fetch it from that one's cache, and it would have to take it back the next time.
template <class T> Weight<T> turned_about(const void* weight, int64_t wide, int64_t width, T* to) {
    if (!to) return {(const T*)weight, width, true};
    transpose((const T*)weight, width, to, wide, wide, width);
    return {to, wide, false};
}

// The inputs' part of the gates, of n rows
template <template <class> class Cell, class T> void from_inputs(const Sequence& s, int64_t first, int64_t n, Weight<T> weight) {
    const int64_t wide = Cell<T>::gates * s.width, kept = Cell<T>::kept * s.width;
    gemm_from(code<T>, false, weight.as_given, n, wide, s.features, (const T*)s.x + first * s.features, s.features, weight.data,
              weight.step, (T*)s.gates + first * kept, kept, s.x_bias, 0);
}

// EACH: the inputs' part is made step by step, where it is used
template <template <class> class Cell, class T, bool EACH> void forward_range(void* job, int64_t begin, int64_t end) {
    const Rows<T> rows{*(const Sequence*)job, begin, end};
    const Sequence& s = rows.s;
    const int64_t wide = Cell<T>::gates * s.width;
    T* to = (T*)room.get((size_t)(wide * (s.width + (EACH ? s.features : 0))) * sizeof(T));
    const Weight<T> weight = turned_about<T>(s.weight, wide, s.width, to);
    Weight<T> of_x = weight;
    if (EACH) of_x = turned_about<T>(s.x_weight, wide, s.features, to ? to + wide * s.width : nullptr);
    for (int64_t k = 0; k < s.steps; k++) {
        const int64_t n = rows.count(k);
        if (n <= 0) continue;
        if (EACH) from_inputs<Cell, T>(s, s.first[k] + begin, n, of_x);
        Cell<T>::forward(rows, k, n, weight);
    }
    room.give_back();
}

template <template <class> class Cell, class T> void backward_range(void* job, int64_t begin, int64_t end) {
    const Rows<T> rows{*(const Sequence*)job, begin, end};
    for (int64_t k = rows.s.steps - 1; k >= 0; k--)
        if (rows.count(k) > 0) Cell<T>::backward(rows, k, rows.count(k));
}

// Large products are split by BLAS, among threads of its own; so are sequences fewer than make a product worth it.
constexpr int64_t LEAST_ROWS = 4, WORTH = 1 << 20, LARGE = 1 << 22;
// Bytes of weights that stay in a thread's cache beside all else
constexpr int64_t CLOSE = 1 << 17;

template <template <class> class Cell, class T> bool shared(const Sequence& s) {
    const int64_t step = s.batch * s.width * s.width * Cell<T>::gates;
    return step <= LARGE && step * s.steps >= WORTH && max_threads() > 1 && s.batch >= 2 * LEAST_ROWS;
}
template <template <class> class Cell, class T> void run(range_body body, const Sequence* s) {
    int64_t rows = (s->batch + max_threads() - 1) / max_threads();       // a share each: products of many rows are the best
    if (rows < LEAST_ROWS) rows = LEAST_ROWS;
    parallel_for(s->batch, shared<Cell, T>(*s) ? rows : s->batch, body, (void*)s);
}
template <template <class> class Cell, class T> void forward(const Sequence* s) {
    // One product for all inputs is the best; but what one thread made of them, another would have to fetch.
    if (shared<Cell, T>(*s) && Cell<T>::gates * s->width * s->features * (int64_t)sizeof(T) <= CLOSE)
        return run<Cell, T>(forward_range<Cell, T, true>, s);
    int64_t rows = 0;
    for (int64_t k = 0; k < s->steps; k++) rows += s->size[k];
    from_inputs<Cell, T>(*s, 0, rows, {(const T*)s->x_weight, s->features, true});
    run<Cell, T>(forward_range<Cell, T, false>, s);
}
template <template <class> class Cell, class T> void backward(const Sequence* s) {
    run<Cell, T>(backward_range<Cell, T>, s);
}

#define CELL(name, Cell)                                                                             \
    {name, F32, (void*)forward<Cell, float>}, {name, F64, (void*)forward<Cell, double>},             \
        {name "_backward", F32, (void*)backward<Cell, float>}, {name "_backward", F64, (void*)backward<Cell, double>}

}  // namespace

const Kernel recurrent_kernels[] = {CELL("rnn", Rnn), CELL("lstm", Lstm), CELL("gru", Gru)};
CLAY_COUNT(recurrent)

}  // namespace CLAY_ISA
}  // namespace clay
