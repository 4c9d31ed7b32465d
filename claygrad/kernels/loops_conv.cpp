// Convolution without unrolled windows.
//
// Note [Channels last]
// Input and gradient are copied once so that the channels of a pixel lie together, with the padding around them. A window
// is then reached by address alone, and the sum over channels is a row of multiply-adds: one number of a pixel, broadcast,
// times a vector of output channels (forward), or times a vector of the gradient's channels (weight). A tile of TALL such
// numbers by WIDE vectors stays in registers for a whole row of the kernel. Output channels are filled up to whole vectors.
#include <stdlib.h>
#include <string.h>

#include "conv.hpp"
#include "families.hpp"
#include "threads.hpp"
#include "vec.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int TALL = 12, WIDE = 2;
#elif defined(__AVX2__)
constexpr int TALL = 6, WIDE = 2;
#else
constexpr int TALL = 4, WIDE = 1;
#endif

int64_t whole(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// Memory for the copies, kept for the next call unless it is large.
struct Scratch {
    void* block = nullptr;
    size_t size = 0;
    ~Scratch() { free(block); }
    void* get(size_t bytes) {
        if (bytes > size) {
            free(block);
            block = nullptr;
            size = 0;
            if (posix_memalign(&block, 64, whole(bytes, 64))) return block = nullptr;
            size = bytes;
        }
        return block;
    }
    void give_back() {
        if (size < (size_t)1 << 26) return;
        free(block);
        block = nullptr;
        size = 0;
    }
};
thread_local Scratch scratch;

template <class F> void each(int64_t n, int64_t grain, F f) {
    parallel_for(n, grain, [](void* job, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) (*(F*)job)(i);
    }, &f);
}

// sum[i][v] += a[i a_i + k a_k] * b[k b_k + v W] over k
template <class T, int M, int N>
inline __attribute__((always_inline)) void multiply(vec<T> (&sum)[M][N], int64_t count, const T* a, int64_t a_i,
                                                    int64_t a_k, const T* b, int64_t b_k) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    for (int64_t k = 0; k < count; k++, a += a_k, b += b_k) {
        V row[N];
#pragma GCC unroll 4
        for (int v = 0; v < N; v++) row[v] = load<V>(b + v * W);
#pragma GCC unroll 16
        for (int i = 0; i < M; i++) {
            const V x = splat<V>(a[i * a_i]);
#pragma GCC unroll 4
            for (int v = 0; v < N; v++) sum[i][v] = multiply_add(x, row[v], sum[i][v]);
        }
    }
}

// --- x (n, c, h, w) with its channels last, `top` and `left` zeros before, spread by steps, in (n, rows, columns, wide) ----
template <class T> struct Spread {
    int64_t rows, columns, wide, top, left, step_h, step_w;
    size_t bytes(int64_t n) const { return (size_t)(n * rows * columns * wide) * sizeof(T); }

    void fill(const T* x, T* out, int64_t n, int64_t c, int64_t h, int64_t w) const {
        const bool full = c == wide && step_h == 1 && step_w == 1 && top == 0 && left == 0 && rows == h && columns == w;
        each(n, 1 + 65536 / (rows * columns * wide + 1), [&](int64_t i) {
            T* to = out + i * rows * columns * wide;
            if (!full) memset(to, 0, rows * columns * wide * sizeof(T));
            for (int64_t r = 0; r < h; r++) {
                const int64_t row = top + r * step_h;
                if (row < 0 || row >= rows) continue;
                T* line = to + row * columns * wide;
                const T* from = x + (i * c * h + r) * w;
                constexpr int64_t TILE = 16;                  // both sides of the transpose stay in the first cache
                for (int64_t k0 = 0; k0 < c; k0 += TILE) {
                    const int64_t k1 = k0 + TILE < c ? k0 + TILE : c;
                    for (int64_t q = 0; q < w; q++) {
                        const int64_t column = left + q * step_w;
                        if (column < 0 || column >= columns) continue;
                        for (int64_t k = k0; k < k1; k++) line[column * wide + k] = from[k * h * w + q];
                    }
                }
            }
        });
    }
};

// A convolution of stride and dilation over such a copy, one group of channels.
template <class T> struct Windows {
    const T* x;                       // channels last
    int64_t rows, columns, wide;      // its shape
    int64_t channels, oh, ow, kh, kw, stride_h, stride_w, dilation_h, dilation_w;
    const T* weight;                  // (kh, kw, channels, outputs)
    int64_t outputs;                  // whole vectors

    template <int M, int N> void tile(int64_t image, int64_t r, int64_t q, int64_t v0, T* line) const {
        using V = vec<T>;
        constexpr int W = Lanes<V>::width;
        V sum[M][N];
        for (int i = 0; i < M; i++)
            for (int v = 0; v < N; v++) sum[i][v] = splat<V>(0);
        for (int64_t y = 0; y < kh; y++) {
            const T* from = x + ((image * rows + r * stride_h + y * dilation_h) * columns + q * stride_w) * wide;
            for (int64_t z = 0; z < kw; z++)
                multiply<T, M, N>(sum, channels, from + z * dilation_w * wide, stride_w * wide, 1,
                                  weight + (y * kw + z) * channels * outputs + v0 * W, outputs);
        }
        for (int i = 0; i < M; i++)
            for (int v = 0; v < N; v++) store<V>(line + (q + i) * outputs + (v0 + v) * W, sum[i][v]);
    }

    template <int N> void columns_of(int64_t image, int64_t r, int64_t v, T* line) const {
        int64_t q = 0;
        for (; q + TALL <= ow; q += TALL) tile<TALL, N>(image, r, q, v, line);
        for (; q + 4 <= ow; q += 4) tile<4, N>(image, r, q, v, line);
        for (; q < ow; q++) tile<1, N>(image, r, q, v, line);
    }

    // One row of the output, (ow, outputs).
    void row(int64_t image, int64_t r, T* line) const {
        const int64_t vectors = outputs / Lanes<vec<T>>::width;
        int64_t v = 0;
        for (; v + WIDE <= vectors; v += WIDE) columns_of<WIDE>(image, r, v, line);
        for (; v < vectors; v++) columns_of<1>(image, r, v, line);
    }
};

// The output (n, o, oh, ow) of a group, `first` the channel it begins with and `many` its own number of them.
template <class T> void convolve(const Windows<T>& win, int64_t n, T* out, int64_t o, int64_t first, int64_t many, T* lines) {
    const int64_t work = win.ow * win.outputs * win.kh * win.kw * win.channels;
    each(n * win.oh, 1 + 262144 / (work + 1), [&](int64_t i) {
        const int64_t image = i / win.oh, r = i % win.oh;
        T* line = lines + i * win.ow * win.outputs;
        win.row(image, r, line);
        for (int64_t k = 0; k < many; k++) {
            T* to = out + ((image * o + first + k) * win.oh + r) * win.ow;
            for (int64_t q = 0; q < win.ow; q++) to[q] = line[q * win.outputs + k];
        }
    });
}

// (o, c, kh, kw) of one group as (kh, kw, c, outputs), or turned about and with its channels swapped: (kh, kw, o, outputs)
template <class T>
void pack(const T* w, T* out, int64_t o, int64_t c, int64_t kh, int64_t kw, int64_t outputs, bool turned) {
    memset(out, 0, (turned ? o : c) * kh * kw * outputs * sizeof(T));
    for (int64_t i = 0; i < o; i++)
        for (int64_t j = 0; j < c; j++)
            for (int64_t y = 0; y < kh; y++)
                for (int64_t z = 0; z < kw; z++) {
                    const T value = w[((i * c + j) * kh + y) * kw + z];
                    if (turned) out[(((kh - 1 - y) * kw + kw - 1 - z) * o + i) * outputs + j] = value;
                    else out[((y * kw + z) * c + j) * outputs + i] = value;
                }
}

// --- forward -------------------------------------------------------------------------------------------------------
template <class T> bool forward(const Convolution* shape, const void* a, const void* b, void* made) {
    const Convolution& s = *shape;
    constexpr int W = Lanes<vec<T>>::width;
    const int64_t c = s.c / s.groups, o = s.o / s.groups, outputs = whole(o, W);
    const Spread<T> spread{s.h + 2 * s.pad_h, s.w + 2 * s.pad_w, s.c, s.pad_h, s.pad_w, 1, 1};
    const size_t copy = whole(spread.bytes(s.n), 64), kernel = whole(s.kh * s.kw * c * outputs * sizeof(T), 64);
    char* room = (char*)scratch.get(copy + kernel + s.n * s.oh * s.ow * outputs * sizeof(T));
    if (!room) return false;
    T *x = (T*)room, *weight = (T*)(room + copy), *lines = (T*)(room + copy + kernel);
    spread.fill((const T*)a, x, s.n, s.c, s.h, s.w);
    for (int64_t g = 0; g < s.groups; g++) {
        pack((const T*)b + g * o * c * s.kh * s.kw, weight, o, c, s.kh, s.kw, outputs, false);
        const Windows<T> win{x + g * c, spread.rows, spread.columns, s.c, c, s.oh, s.ow, s.kh, s.kw,
                             s.stride_h, s.stride_w, s.dilation_h, s.dilation_w, weight, outputs};
        convolve(win, s.n, (T*)made, s.o, g * o, o, lines);
    }
    scratch.give_back();
    return true;
}

// The gradient of the input is a convolution of the gradient, its pixels spread by the stride, with the turned kernel.
template <class T> bool input_grad(const Convolution* shape, const void* a, const void* b, void* made) {
    const Convolution& s = *shape;
    constexpr int W = Lanes<vec<T>>::width;
    const int64_t c = s.c / s.groups, o = s.o / s.groups, outputs = whole(c, W);
    const int64_t reach_h = s.dilation_h * (s.kh - 1), reach_w = s.dilation_w * (s.kw - 1);
    const Spread<T> spread{s.h + reach_h, s.w + reach_w, s.o, reach_h - s.pad_h, reach_w - s.pad_w, s.stride_h, s.stride_w};
    const size_t copy = whole(spread.bytes(s.n), 64), kernel = whole(s.kh * s.kw * o * outputs * sizeof(T), 64);
    char* room = (char*)scratch.get(copy + kernel + s.n * s.h * s.w * outputs * sizeof(T));
    if (!room) return false;
    T *x = (T*)room, *weight = (T*)(room + copy), *lines = (T*)(room + copy + kernel);
    spread.fill((const T*)a, x, s.n, s.o, s.oh, s.ow);
    for (int64_t g = 0; g < s.groups; g++) {
        pack((const T*)b + g * o * c * s.kh * s.kw, weight, o, c, s.kh, s.kw, outputs, true);
        const Windows<T> win{x + g * o, spread.rows, spread.columns, s.o, o, s.h, s.w, s.kh, s.kw,
                             1, 1, s.dilation_h, s.dilation_w, weight, outputs};
        convolve(win, s.n, (T*)made, s.c, g * c, c, lines);
    }
    scratch.give_back();
    return true;
}

// --- the gradient of the weight ------------------------------------------------------------------------------------
// Each share of the images sums into memory of its own, as (kh, kw, c, outputs); the shares are added in the end. Their
// number depends on the shape alone, so that the result does not depend on the threads.
template <class T> struct WeightJob {
    const T *x, *g;                   // channels last
    const Convolution& s;
    int64_t rows, columns, wide, outputs, c;

    template <int M, int N> void tile(int64_t image, int64_t y, int64_t z, int64_t c0, int64_t v0, T* into) const {
        using V = vec<T>;
        constexpr int W = Lanes<V>::width;
        V sum[M][N];
        T* at = into + ((y * s.kw + z) * c + c0) * outputs + v0 * W;
        for (int i = 0; i < M; i++)
            for (int v = 0; v < N; v++) sum[i][v] = load<V>(at + i * outputs + v * W);
        for (int64_t r = 0; r < s.oh; r++) {
            const T* from = x + ((image * rows + r * s.stride_h + y * s.dilation_h) * columns + z * s.dilation_w) * wide + c0;
            multiply<T, M, N>(sum, s.ow, from, 1, s.stride_w * wide,
                              g + (image * s.oh + r) * s.ow * outputs + v0 * W, outputs);
        }
        for (int i = 0; i < M; i++)
            for (int v = 0; v < N; v++) store<V>(at + i * outputs + v * W, sum[i][v]);
    }

    template <int N> void channels(int64_t image, int64_t y, int64_t z, int64_t v, T* into) const {
        int64_t i = 0;
        for (; i + TALL <= c; i += TALL) tile<TALL, N>(image, y, z, i, v, into);
        for (; i + 4 <= c; i += 4) tile<4, N>(image, y, z, i, v, into);
        for (; i < c; i++) tile<1, N>(image, y, z, i, v, into);
    }

    void add(int64_t image, T* into) const {
        const int64_t vectors = outputs / Lanes<vec<T>>::width;
        for (int64_t y = 0; y < s.kh; y++)
            for (int64_t z = 0; z < s.kw; z++) {
                int64_t v = 0;
                for (; v + WIDE <= vectors; v += WIDE) channels<WIDE>(image, y, z, v, into);
                for (; v < vectors; v++) channels<1>(image, y, z, v, into);
            }
    }
};

template <class T> bool weight_grad(const Convolution* shape, const void* a, const void* b, void* made) {
    const Convolution& s = *shape;
    constexpr int W = Lanes<vec<T>>::width;
    constexpr int64_t SHARES = 8;
    const int64_t c = s.c / s.groups, o = s.o / s.groups, outputs = whole(o, W), taps = s.kh * s.kw;
    const int64_t shares = s.n < SHARES ? s.n : SHARES, size = taps * c * outputs;
    const Spread<T> spread{s.h + 2 * s.pad_h, s.w + 2 * s.pad_w, s.c, s.pad_h, s.pad_w, 1, 1};
    const Spread<T> plain{s.oh, s.ow, outputs, 0, 0, 1, 1};
    const size_t copy = whole(spread.bytes(s.n), 64), gradient = whole(plain.bytes(s.n), 64);
    char* room = (char*)scratch.get(copy + gradient + shares * size * sizeof(T));
    if (!room) return false;
    T *x = (T*)room, *g = (T*)(room + copy), *sums = (T*)(room + copy + gradient), *out = (T*)made;
    spread.fill((const T*)a, x, s.n, s.c, s.h, s.w);
    for (int64_t group = 0; group < s.groups; group++) {
        if (s.groups == 1) plain.fill((const T*)b, g, s.n, s.o, s.oh, s.ow);
        else
            for (int64_t i = 0; i < s.n; i++)
                plain.fill((const T*)b + (i * s.o + group * o) * s.oh * s.ow, g + i * s.oh * s.ow * outputs, 1, o, s.oh, s.ow);
        const WeightJob<T> job{x + group * c, g, s, spread.rows, spread.columns, s.c, outputs, c};
        memset(sums, 0, shares * size * sizeof(T));
        each(shares, 1 + 262144 / (s.n / shares * s.oh * s.ow * size + 1), [&](int64_t share) {
            for (int64_t i = share * s.n / shares; i < (share + 1) * s.n / shares; i++) job.add(i, sums + share * size);
        });
        for (int64_t i = 0; i < o; i++)
            for (int64_t k = 0; k < c; k++)
                for (int64_t t = 0; t < taps; t++) {
                    T total = 0;
                    for (int64_t share = 0; share < shares; share++) total += sums[share * size + (t * c + k) * outputs + i];
                    out[((group * o + i) * c + k) * taps + t] = total;
                }
    }
    scratch.give_back();
    return true;
}

#define BOTH(name, f) {name, F32, (void*)f<float>}, {name, F64, (void*)f<double>}

}  // namespace

const Kernel conv_kernels[] = {
    BOTH("forward", forward), BOTH("input_grad", input_grad), BOTH("weight_grad", weight_grad),
};
CLAY_COUNT(conv)

}  // namespace CLAY_ISA
}  // namespace clay
