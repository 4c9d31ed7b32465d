// Recurrent layers, step after step. Sequences do not see each other: each thread takes some of them through all steps.
#include "families.hpp"
#include "kernels.hpp"
#include "recurrent.hpp"
#include "threads.hpp"
#include "transpose.hpp"
#include "vmath.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> constexpr int code = sizeof(T) == 4 ? F32 : F64;
template <class V> V sigmoid(V x) { return splat<V>(1) / (splat<V>(1) + exp(-x)); }
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

// --- out = act(gates + h @ weight) ---------------------------------------------------------------------------------
template <class T> struct Rnn {
    static constexpr int gates = 1;
    static void forward(Rows<T> rows, int64_t k, int64_t n) {
        using V = vec<T>;
        const Sequence& s = rows.s;
        T *out = rows.at(s.out, k, s.width), *h = rows.state(s.h);
        gemm(code<T>, false, false, n, s.width, s.width, h, s.width, s.turned, s.width, out, s.width, true);
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
    static constexpr int gates = 4;
    static void forward(Rows<T> rows, int64_t k, int64_t n) {
        using V = vec<T>;
        const Sequence& s = rows.s;
        const int64_t H = s.width;
        T *gate = rows.at(s.gates, k, 4 * H), *out = rows.at(s.out, k, H), *cell = rows.at(s.cells, k, H);
        T *h = rows.state(s.h), *c = rows.state(s.c);
        gemm(code<T>, false, false, n, 4 * H, H, h, H, s.turned, 4 * H, gate, 4 * H, true);
        for (int64_t r = 0; r < n; r++, gate += 4 * H, out += H, cell += H, h += H, c += H)
            along<V>(H, [&](int64_t j, int64_t m) {
                V i = get<V>(gate + j, m), f = get<V>(gate + H + j, m);
                V g = get<V>(gate + 2 * H + j, m), o = get<V>(gate + 3 * H + j, m);
                i = sigmoid(i);
                f = sigmoid(f);
                g = tanh(g);
                o = sigmoid(o);
                const V next = f * get<V>(c + j, m) + i * g, y = o * tanh(next);
                put<V>(gate + j, i, m);
                put<V>(gate + H + j, f, m);
                put<V>(gate + 2 * H + j, g, m);
                put<V>(gate + 3 * H + j, o, m);
                put<V>(c + j, next, m);
                put<V>(cell + j, next, m);
                put<V>(h + j, y, m);
                put<V>(out + j, y, m);
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
    static constexpr int gates = 3;
    static void forward(Rows<T> rows, int64_t k, int64_t n) {
        using V = vec<T>;
        const Sequence& s = rows.s;
        const int64_t H = s.width;
        T *kept = rows.at(s.gates, k, 4 * H), *out = rows.at(s.out, k, H), *h = rows.state(s.h);
        T* of_h = (T*)s.scratch + rows.begin * 3 * H;
        const T* bias = (const T*)s.bias;
        gemm(code<T>, false, false, n, 3 * H, H, h, H, s.turned, 3 * H, of_h, 3 * H, false);
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

template <template <class> class Cell, class T> void forward_range(void* job, int64_t begin, int64_t end) {
    const Rows<T> rows{*(const Sequence*)job, begin, end};
    for (int64_t k = 0; k < rows.s.steps; k++)
        if (rows.count(k) > 0) Cell<T>::forward(rows, k, rows.count(k));
}

template <template <class> class Cell, class T> void backward_range(void* job, int64_t begin, int64_t end) {
    const Rows<T> rows{*(const Sequence*)job, begin, end};
    for (int64_t k = rows.s.steps - 1; k >= 0; k--)
        if (rows.count(k) > 0) Cell<T>::backward(rows, k, rows.count(k));
}

// Large products are split by BLAS, among threads of its own; so are sequences fewer than make a product worth it.
constexpr int64_t LEAST_ROWS = 4, WORTH = 1 << 20, LARGE = 1 << 22;

template <template <class> class Cell, class T> void run(range_body body, const Sequence* s) {
    const int64_t step = s->batch * s->width * s->width * Cell<T>::gates;
    const bool share = step <= LARGE && step * s->steps >= WORTH;
    int64_t rows = (s->batch + max_threads() - 1) / max_threads();       // a share each: products of many rows are the best
    if (rows < LEAST_ROWS) rows = LEAST_ROWS;
    parallel_for(s->batch, share ? rows : s->batch, body, (void*)s);
}
template <template <class> class Cell, class T> void forward(const Sequence* s) {
    const int64_t wide = Cell<T>::gates * s->width;          // many rows go along it: turned about once
    transpose((const T*)s->weight, s->width, (T*)s->turned, wide, wide, s->width);
    run<Cell, T>(forward_range<Cell, T>, s);
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
