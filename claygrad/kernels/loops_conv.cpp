// Convolution without unrolled windows.
//
// Note [Channels last]
// Input and gradient are copied so that the channels of a pixel lie together, with the padding around them. A window is then
// reached by address alone, and the sum over channels is a row of multiply-adds: one number of a pixel, broadcast, times a
// vector of output channels (forward), or times a vector of the gradient's channels (weight). A tile of up to TALL such numbers
// by WIDE vectors stays in registers throughout. Output channels are filled up to whole vectors and come in panels of WIDE of
// them. Rows are taken in blocks whose copies fit the cache; no result depends on how they are cut, or on the threads.
#include <string.h>

#include <type_traits>

#include "conv.hpp"
#include "families.hpp"
#include "scratch.hpp"
#include "transpose.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int TALL = 14, WIDE = 2;
#elif defined(__AVX2__)
constexpr int TALL = 6, WIDE = 2;
#else
constexpr int TALL = 4, WIDE = 1;
#endif

#if defined(__GNUC__)
#define KEEP(pointer) asm("" : "+r"(pointer))                 // a register of its own, whatever it could be computed from
#else
#define KEEP(pointer)
#endif

constexpr int64_t NEAR = 1 << 18;     // bytes of a copy that is read again and again
constexpr int64_t LINES = 1 << 14;    // bytes of output that are turned over at once
constexpr int64_t TASKS = 16;         // as many at least, if there are rows enough

int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }
int64_t most(int64_t x, int64_t y) { return x > y ? x : y; }
int64_t parts(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }
int64_t whole(int64_t n, int64_t unit) { return parts(n, unit) * unit; }

thread_local Room shared, own;        // what all threads read, held by the one that asked; what each needs for itself

// f(count) for a count known to the compiler, 1 <= n <= M
template <int M, class F> inline __attribute__((always_inline)) void with_count(int64_t n, F f) {
    if constexpr (M > 1) {
        if (n < M) return with_count<M - 1>(n, f);
    }
    f(std::integral_constant<int, M>());
}

// f(first, count) over n in pieces of at most TALL, as equal as can be
template <class F> inline __attribute__((always_inline)) void in_tiles(int64_t n, F f) {
    const int64_t pieces = parts(n, TALL);
    for (int64_t i = 0; i < pieces; i++) {
        const int64_t first = i * n / pieces, count = (i + 1) * n / pieces - first;
        with_count<TALL>(count, [&](auto m) { f(first, m); });
    }
}

// sum[i][v] += a[i a_i + k a_k] * b[k b_k + v W] over k. Four rows share an address and reach theirs by the step: an address for
// each, which compilers like to make, would not fit the registers.
template <class T, int M, int N>
inline __attribute__((always_inline)) void multiply(vec<T> (&sum)[M][N], int64_t count, const T* a, int64_t a_i,
                                                    int64_t a_k, const T* b, int64_t b_k) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width, QUADS = (M + 3) / 4;
    const T* at[QUADS];
    for (int j = 0; j < QUADS; j++) at[j] = a + 4 * j * a_i;
    for (int64_t k = 0; k < count; k++, b += b_k) {
        V row[N];
#pragma GCC unroll 4
        for (int v = 0; v < N; v++) row[v] = load<V>(b + v * W);
#pragma GCC unroll 16
        for (int i = 0; i < M; i++) {
            const V x = splat<V>(at[i / 4][i % 4 * a_i]);
#pragma GCC unroll 4
            for (int v = 0; v < N; v++) sum[i][v] = multiply_add(x, row[v], sum[i][v]);
        }
#pragma GCC unroll 4
        for (int j = 0; j < QUADS; j++) {
            at[j] += a_k;
            KEEP(at[j]);
        }
    }
}

template <class V, int M, int N> inline __attribute__((always_inline)) void zero(V (&sum)[M][N]) {
#pragma GCC unroll 16
    for (int i = 0; i < M; i++)
        for (int v = 0; v < N; v++) sum[i][v] = splat<V>(0);
}

// --- rows begin .. end of x (c, h, w) as (rows, columns, c): padding around them, elements spread by steps ---------------
struct Spread {
    int64_t rows, columns, top, left, step_h, step_w;

    template <class T> void fill(const T* x, T* out, int64_t begin, int64_t end, int64_t c, int64_t h, int64_t w) const {
        const int64_t low = left < 0 ? parts(-left, step_w) : 0, high = least(w, columns > left ? parts(columns - left, step_w) : 0);
        const int64_t line = columns * c, before = most(left + low * step_w, 0) * c;
        for (int64_t row = begin; row < end; row++, out += line) {
            const int64_t r = (row - top) / step_h;
            if (row < top || (row - top) % step_h || r >= h || low >= high) {
                memset(out, 0, line * sizeof(T));
                continue;
            }
            if (step_w == 1) {
                memset(out, 0, before * sizeof(T));
                memset(out + (left + high) * c, 0, (columns - left - high) * c * sizeof(T));
            } else memset(out, 0, line * sizeof(T));
            transpose(x + r * w + low, h * w, out + before, step_w * c, c, high - low);
        }
    }
};

// A convolution of stride and dilation over such copies.
template <class T> struct Windows {
    Spread spread;
    int64_t groups, channels, many;   // channels of a group, and its outputs
    int64_t oh, ow, kh, kw, stride_h, stride_w, dilation_h, dilation_w;
    const T* weight;                  // of each group (panels, kh, kw, channels, WIDE vectors)
    const T* bias;                    // of each group (outputs)

    static constexpr int W = Lanes<vec<T>>::width;
    int64_t outputs() const { return whole(many, W); }
    int64_t wide() const { return groups * channels; }

    // x: the copy, where the window of the first output pixel begins; w: a panel of N vectors. Long sums are made of sums of
    // at most STRETCH terms: their error is that of the stretches.
    template <int M, int N> __attribute__((noinline)) void tile(const T* x, const T* w, const T* more, T* out) const {
        using V = vec<T>;
        constexpr int64_t STRETCH = 128;
        V sum[M][N];
        zero(sum);
        const int64_t line = outputs();
        const T* before = more;                                        // what the sums are added to: the bias, then themselves
        int64_t step = 0;
        auto flush = [&]() __attribute__((always_inline)) {
#pragma GCC unroll 16
            for (int i = 0; i < M; i++)
                for (int v = 0; v < N; v++)
                    store<V>(out + i * line + v * W, sum[i][v] + load<V>(before + i * step + v * W));
        };
        const bool joined = dilation_w == 1 && groups == 1;            // a row of the window lies together
        const int64_t run = joined ? kw * channels : channels, runs = joined ? 1 : kw;
        int64_t terms = 0;
        for (int64_t y = 0; y < kh; y++)
            for (int64_t z = 0; z < runs; z++) {
                const T* from = x + (y * dilation_h * spread.columns + z * dilation_w) * wide();
                for (int64_t k = 0, n; k < run; k += n, w += n * N * W, terms += n) {
                    n = least(STRETCH, run - k);
                    if (terms + n > STRETCH) flush(), zero(sum), before = out, step = line, terms = 0;
                    multiply<T, M, N>(sum, n, from + k, stride_w * wide(), 1, w, N * W);
                }
            }
        flush();
    }

    template <int N> void panel(const T* x, const T* w, const T* more, T* out) const {
        in_tiles(ow, [&](int64_t q, auto m) { tile<m, N>(x + q * stride_w * wide(), w, more, out + q * outputs()); });
    }

    // One row of the output of a group, (ow, outputs).
    void row(const T* x, int64_t group, T* out) const {
        const int64_t vectors = outputs() / W, depth = kh * kw * channels;
        const T *w = weight + group * depth * outputs(), *more = bias + group * outputs();
        int64_t v = 0;
        for (; v + WIDE <= vectors; v += WIDE) panel<WIDE>(x, w + v * W * depth, more + v * W, out + v * W);
        for (; v < vectors; v++) panel<1>(x, w + v * W * depth, more + v * W, out + v * W);
    }

    // a (n, c, h, w) to out (n, groups * many, oh, ow)
    bool run(const T* a, T* out, int64_t n, int64_t h, int64_t w) const {
        const int64_t reach = dilation_h * (kh - 1) + 1, line = spread.columns * wide();
        const int64_t fitting = most(1, (NEAR / (int64_t)(line * sizeof(T)) - reach) / stride_h);
        const int64_t high = most(1, least(fitting, parts(oh * n, TASKS))), blocks = parts(oh, high);
        const size_t copy = whole(((least(high, oh) - 1) * stride_h + reach) * line * sizeof(T), 64);
        const int64_t together = most(1, least(high, LINES / (int64_t)(ow * outputs() * sizeof(T))));   // rows turned over at once
        const size_t size = copy + together * ow * outputs() * sizeof(T);
        volatile bool short_of_memory = false;
        each_task(n * blocks, high * ow * outputs() * groups * kh * kw * channels, [&](int64_t i) {
            char* room = (char*)own.get(size);
            if (!room) {
                short_of_memory = true;
                return;
            }
            T *x = (T*)room, *made = (T*)(room + copy);
            const int64_t image = i / blocks, begin = i % blocks * high, end = least(begin + high, oh);
            spread.fill(a + image * wide() * h * w, x, begin * stride_h, (end - 1) * stride_h + reach, wide(), h, w);
            for (int64_t r = begin; r < end; r += together)
                for (int64_t g = 0; g < groups; g++) {
                    const int64_t rows = least(together, end - r);
                    for (int64_t k = 0; k < rows; k++)
                        row(x + (r + k - begin) * stride_h * line + g * channels, g, made + k * ow * outputs());
                    transpose(made, outputs(), out + (((image * groups + g) * many) * oh + r) * ow, oh * ow, rows * ow, many);
                }
            own.give_back();
        });
        return !short_of_memory;
    }
};

// (o, c, kh, kw) of one group as panels of WIDE vectors (panels, kh, kw, c, outputs of a panel), or turned about and with its
// channels swapped.
template <class T> void pack(const T* w, T* out, int64_t o, int64_t c, int64_t kh, int64_t kw, bool turned) {
    constexpr int W = Lanes<vec<T>>::width;
    const int64_t taps = kh * kw, depth = taps * (turned ? o : c), outputs = turned ? c : o, vectors = parts(outputs, W);
    memset(out, 0, depth * vectors * W * sizeof(T));
    for (int64_t i = 0; i < o; i++)
        for (int64_t j = 0; j < c; j++)
            for (int64_t t = 0; t < taps; t++) {
                const int64_t to = turned ? j : i, row = turned ? (taps - 1 - t) * o + i : t * c + j;
                const int64_t v = to / W / WIDE * WIDE, lanes = least(WIDE, vectors - v) * W;
                // the vectors left over are panels of their own
                if (lanes == WIDE * W) out[v * W * depth + row * lanes + to - v * W] = w[(i * c + j) * taps + t];
                else out[to / W * W * depth + row * W + to % W] = w[(i * c + j) * taps + t];
            }
}

// The kernels of all groups, and their biases or zeros; null: no memory
template <class T> struct Packed {
    const T *weight = nullptr, *bias = nullptr;

    Packed(const Convolution& s, const T* w, bool turned) {
        constexpr int W = Lanes<vec<T>>::width;
        const int64_t c = s.c / s.groups, o = s.o / s.groups, taps = s.kh * s.kw, many = turned ? c : o, outputs = whole(many, W);
        const int64_t size = taps * (turned ? o : c) * outputs;
        T* block = (T*)shared.get(s.groups * (size + outputs) * sizeof(T));
        if (!block) return;
        T* more = block + s.groups * size;
        memset(more, 0, s.groups * outputs * sizeof(T));
        for (int64_t g = 0; g < s.groups; g++) {
            pack(w + g * o * c * taps, block + g * size, o, c, s.kh, s.kw, turned);
            if (s.bias && !turned) memcpy(more + g * outputs, (const T*)s.bias + g * o, o * sizeof(T));
        }
        weight = block, bias = more;
    }
};

// --- forward -------------------------------------------------------------------------------------------------------
template <class T> bool forward(const Convolution* shape, const void* a, const void* b, void* made) {
    const Convolution& s = *shape;
    const Packed<T> packed(s, (const T*)b, false);
    if (!packed.weight) return false;
    const Windows<T> windows{{s.h + 2 * s.pad_h, s.w + 2 * s.pad_w, s.pad_h, s.pad_w, 1, 1}, s.groups, s.c / s.groups,
                             s.o / s.groups, s.oh, s.ow, s.kh, s.kw, s.stride_h, s.stride_w, s.dilation_h, s.dilation_w,
                             packed.weight, packed.bias};
    const bool filled = windows.run((const T*)a, (T*)made, s.n, s.h, s.w);
    shared.give_back();
    return filled;
}

// The gradient of the input is a convolution of the gradient, its pixels spread by the stride, with the turned kernel.
template <class T> bool input_grad(const Convolution* shape, const void* a, const void* b, void* made) {
    const Convolution& s = *shape;
    const int64_t reach_h = s.dilation_h * (s.kh - 1), reach_w = s.dilation_w * (s.kw - 1);
    const Packed<T> packed(s, (const T*)b, true);
    if (!packed.weight) return false;
    const Windows<T> windows{{s.h + reach_h, s.w + reach_w, reach_h - s.pad_h, reach_w - s.pad_w, s.stride_h, s.stride_w},
                             s.groups, s.o / s.groups, s.c / s.groups, s.h, s.w, s.kh, s.kw, 1, 1, s.dilation_h, s.dilation_w,
                             packed.weight, packed.bias};
    const bool filled = windows.run((const T*)a, (T*)made, s.n, s.oh, s.ow);
    shared.give_back();
    return filled;
}

// --- the gradient of the weight ------------------------------------------------------------------------------------
// Each share of the images sums into memory of its own, laid out as the packed weight; the shares are added in the end. Their
// number depends on the shape alone, so that the result does not depend on the threads.
template <class T> struct WeightJob {
    const Convolution& s;
    Spread spread;
    int64_t c, o, vectors, depth;     // of a group; depth = kh kw c

    static constexpr int W = Lanes<vec<T>>::width;

    // Rows of g, (rows, ow, N vectors), with the input that an element of the kernel sees, into M rows of sums
    template <int M, int N> __attribute__((noinline)) void tile(const T* x, const T* g, int64_t rows, T* into) const {
        using V = vec<T>;
        V sum[M][N];
        zero(sum);
        for (int64_t r = 0; r < rows; r++)
            multiply<T, M, N>(sum, s.ow, x + r * s.stride_h * spread.columns * s.c, 1, s.stride_w * s.c, g + r * s.ow * N * W,
                              N * W);
#pragma GCC unroll 16
        for (int i = 0; i < M; i++)
            for (int v = 0; v < N; v++) {
                T* to = into + (i * N + v) * W;
                store<V>(to, load<V>(to) + sum[i][v]);
            }
    }

    template <int N> void panel(const T* x, const T* g, int64_t rows, T* into) const {
        const bool joined = s.dilation_w == 1 && s.groups == 1;
        const int64_t run = joined ? s.kw * c : c, runs = joined ? 1 : s.kw;
        for (int64_t y = 0; y < s.kh; y++)
            for (int64_t z = 0; z < runs; z++, into += run * N * W) {
                const T* from = x + (y * s.dilation_h * spread.columns + z * s.dilation_w) * s.c;
                in_tiles(run, [&](int64_t i, auto m) { tile<m, N>(from + i, g, rows, into + i * N * W); });
            }
    }

    // g (o, oh, ow): N vectors of channels from v on, of `rows` rows, as (rows, ow, N vectors)
    template <int N> void add(const T* x, const T* g, int64_t v, int64_t rows, T* room, T* into) const {
        const int64_t plane = s.oh * s.ow, real = least(N * W, o - v * W);
        if (real < N * W) memset(room, 0, rows * s.ow * N * W * sizeof(T));
        transpose(g + v * W * plane, plane, room, N * W, real, rows * s.ow);
        panel<N>(x, room, rows, into + v * W * depth);
    }

    void add_image(const T* x, const T* g, int64_t high, T* copy, T* room, T* into) const {
        const int64_t reach = s.dilation_h * (s.kh - 1) + 1;
        for (int64_t r = 0; r < s.oh; r += high) {
            const int64_t rows = least(high, s.oh - r), first = r * s.stride_h;
            spread.fill(x, copy, first, first + (rows - 1) * s.stride_h + reach, s.c, s.h, s.w);
            for (int64_t group = 0; group < s.groups; group++) {
                const T *from = copy + group * c, *of = g + (group * o * s.oh + r) * s.ow;
                T* to = into + group * depth * vectors * W;
                int64_t v = 0;
                for (; v + WIDE <= vectors; v += WIDE) add<WIDE>(from, of, v, rows, room, to);
                for (; v < vectors; v++) add<1>(from, of, v, rows, room, to);
            }
        }
    }

    // The sums of a group as (o, c, kh, kw)
    void unpack(const T* sums, T* out) const {
        const int64_t taps = s.kh * s.kw;
        for (int64_t i = 0; i < o; i++) {
            const int64_t v = i / W / WIDE * WIDE, lanes = v + WIDE <= vectors ? WIDE * W : W;
            const int64_t first = (v + WIDE <= vectors ? v : i / W) * W;
            for (int64_t j = 0; j < c; j++)
                for (int64_t t = 0; t < taps; t++)
                    out[(i * c + j) * taps + t] = sums[first * depth + (t * c + j) * lanes + i - first];
        }
    }
};

template <class T> bool weight_grad(const Convolution* shape, const void* a, const void* b, void* made) {
    const Convolution& s = *shape;
    constexpr int W = Lanes<vec<T>>::width;
    constexpr int64_t SHARES = 8;
    const int64_t c = s.c / s.groups, o = s.o / s.groups, vectors = parts(o, W), depth = s.kh * s.kw * c;
    const WeightJob<T> job{s, {s.h + 2 * s.pad_h, s.w + 2 * s.pad_w, s.pad_h, s.pad_w, 1, 1}, c, o, vectors, depth};
    const int64_t shares = least(s.n, SHARES), size = s.groups * depth * vectors * W;
    const int64_t reach = s.dilation_h * (s.kh - 1) + 1, line = job.spread.columns * s.c;
    const int64_t each = (s.stride_h * line + s.ow * WIDE * W) * sizeof(T);
    const int64_t high = least(s.oh, most(1, (NEAR - reach * line * (int64_t)sizeof(T)) / each));
    const size_t copy = whole(((high - 1) * s.stride_h + reach) * line * sizeof(T), 64);
    T* sums = (T*)shared.get(shares * size * sizeof(T));
    if (!sums) return false;
    volatile bool short_of_memory = false;
    each_task(shares, s.n / shares * s.oh * s.ow * size, [&](int64_t share) {
        char* room = (char*)own.get(copy + high * s.ow * WIDE * W * sizeof(T));
        if (!room) {
            short_of_memory = true;
            return;
        }
        memset(sums + share * size, 0, size * sizeof(T));
        for (int64_t i = share * s.n / shares; i < (share + 1) * s.n / shares; i++)
            job.add_image((const T*)a + i * s.c * s.h * s.w, (const T*)b + i * s.o * s.oh * s.ow, high, (T*)room,
                          (T*)(room + copy), sums + share * size);
        own.give_back();
    });
    if (short_of_memory) return false;
    for (int64_t share = 1; share < shares; share++)
        for (int64_t i = 0; i < size; i++) sums[i] += sums[share * size + i];
    for (int64_t g = 0; g < s.groups; g++) job.unpack(sums + g * depth * vectors * W, (T*)made + g * o * depth);
    shared.give_back();
    return true;
}

#define BOTH(name, f) {name, F32, (void*)f<float>}, {name, F64, (void*)f<double>}

}  // namespace

const Kernel conv_kernels[] = {BOTH("forward", forward), BOTH("input_grad", input_grad), BOTH("weight_grad", weight_grad)};
CLAY_COUNT(conv)

}  // namespace CLAY_ISA
}  // namespace clay
