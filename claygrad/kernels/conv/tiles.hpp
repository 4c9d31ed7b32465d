// Shared parts of the convolutions: tiles of sums in registers, windows along an axis, channels-last copies, blocks of outputs.
#pragma once
#include <string.h>

#include <type_traits>

#include "conv/conv.hpp"
#include "platform/table.hpp"
#include "platform/scratch.hpp"
#include "simd/ints.hpp"
#include "simd/transpose.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int TALL = 14, WIDE = 2;
#elif defined(CLAY_VECTOR_BYTES)
constexpr int TALL = 6, WIDE = 2;
#else
constexpr int TALL = 4, WIDE = 1;
#endif

#if defined(__GNUC__)
#define KEEP_IN_REGISTER(pointer) asm("" : "+r"(pointer))                 // do not compute it again from something else
#else
#define KEEP_IN_REGISTER(pointer)
#endif

constexpr int64_t CACHE_BYTES = 1 << 18;     // size of a copy that should stay in the cache

thread_local Room shared, own;        // read by all threads, owned by the calling one; private to each thread

// f(n) with n as a compile-time constant, 1 <= n <= M
template <int M, class F> inline __attribute__((always_inline)) void with_count(int64_t n, F f) {
    if constexpr (M > 1) {
        if (n < M) return with_count<M - 1>(n, f);
    }
    f(std::integral_constant<int, M>());
}

// f(first, count) over n elements in tiles of at most TALL, as equal in size as possible
template <class F> inline __attribute__((always_inline)) void in_tiles(int64_t n, F f) {
    const int64_t pieces = ceil_div(n, TALL);
    for (int64_t i = 0; i < pieces; i++) {
        const int64_t first = i * n / pieces, count = (i + 1) * n / pieces - first;
        with_count<TALL>(count, [&](auto m) { f(first, m); });
    }
}

// sum[i][v] += a[i a_i + k a_k] * b[k b_k + v W] over k. Four rows share one pointer and use it with an offset: one pointer
// per row, which compilers prefer, would not fit into the registers.
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
            KEEP_IN_REGISTER(at[j]);
        }
    }
}

template <class V, int M, int N> inline __attribute__((always_inline)) void zero(V (&sum)[M][N]) {
#pragma GCC unroll 16
    for (int i = 0; i < M; i++)
        for (int v = 0; v < N; v++) sum[i][v] = splat<V>(0);
}

// --- windows along an axis -------------------------------------------------------------------------------------------------
// Note [Phases]
// In the gradient of a strided convolution, neighbouring elements of the input meet different elements of the kernel. Every
// `stride`-th element (one phase) meets the same ones, in windows one step apart. Each phase is computed as a convolution of its
// own, so that nothing is multiplied by the zeros that a dilated gradient would contain.
struct Phase {
    int64_t taps, at;                 // number of kernel elements, and where the first window begins in the copy
    int64_t tap, tap_step;            // the first of them in the kernel, and the step to the next
};

struct Axis {
    int64_t out, size;                // outputs; elements of the copied input
    int64_t phases, step, dilation;   // step: between windows of a phase, in the copy; dilation: between elements of a window
    int64_t before, reach;            // padding before the input (negative: cropped); the longest window of any phase
    Phase* phase;

    // The windows of outputs begin .. end read `length` elements of the copy, from `first(begin)` on.
    int64_t first(int64_t begin) const { return begin / phases * step; }
    int64_t length(int64_t begin, int64_t end) const { return first(end - 1) - first(begin) + reach; }
};

inline Axis forward_axis(const Volume& s, int i, Phase* phase) {
    *phase = {s.kernel[i], 0, 0, 1};
    return {s.out[i], s.size[i], 1, s.stride[i], s.dilation[i], s.pad[i], s.dilation[i] * (s.kernel[i] - 1) + 1, phase};
}

// The axis for the gradient of the input, read from the gradient of the output; it has stride[i] phases.
inline Axis backward_axis(const Volume& s, int i, Phase* phase) {
    const int64_t stride = s.stride[i], kernel = s.kernel[i];
    int64_t common = stride;
    for (int64_t rest = s.dilation[i]; rest;) {
        const int64_t next = common % rest;
        common = rest, rest = next;
    }
    const int64_t every = stride / common, dilation = s.dilation[i] / common;
    Axis axis{s.size[i], s.out[i], stride, 1, dilation, 0, 1, phase};
    bool found = false;
    for (int64_t p = 0; p < stride; p++) {
        int64_t tap = 0;
        while (tap < kernel && (p + s.pad[i] - tap * s.dilation[i]) % stride) tap++;
        if (tap >= kernel) {
            phase[p] = {0, 0, 0, 0};
            continue;
        }
        const int64_t taps = (kernel - 1 - tap) / every + 1, last = tap + (taps - 1) * every;
        phase[p] = {taps, (p + s.pad[i] - last * s.dilation[i]) / stride, last, -every};
        if (!found || -phase[p].at > axis.before) axis.before = -phase[p].at;
        found = true;
    }
    for (int64_t p = 0; p < stride; p++) {
        if (!phase[p].taps) continue;
        phase[p].at += axis.before;
        axis.reach = max(axis.reach, phase[p].at + dilation * (phase[p].taps - 1) + 1);
    }
    return axis;
}

// --- copies: part of x, whose channels are `apart` elements from each other, as (rows, columns, c) with padding -----------------
template <class T>
void fill(const Axis& high, const Axis& wide, const T* x, int64_t c, int64_t apart, int64_t row, int64_t rows, int64_t column,
          int64_t columns, T* out) {
    const int64_t left = wide.before - column;                         // column 0 of x in the copy
    const int64_t from = left < 0 ? -left : 0, to = min(wide.size, columns - left), line = columns * c;
    for (int64_t i = 0; i < rows; i++, out += line) {
        const int64_t r = row + i - high.before;
        if (r < 0 || r >= high.size || from >= to) {
            memset(out, 0, line * sizeof(T));
            continue;
        }
        memset(out, 0, (left + from) * c * sizeof(T));
        memset(out + (left + to) * c, 0, (columns - left - to) * c * sizeof(T));
        transpose(x + r * wide.size + from, apart, out + (left + from) * c, c, c, to - from);
    }
}

// --- blocks ---------------------------------------------------------------------------------------------------------------------
// The outputs computed from one copy: some rows and columns of one layer, of one or more images.
struct Block {
    int64_t image, images, layer, row, rows, column, columns;
};

struct Blocks {
    int64_t n, deep, high, wide;      // all outputs
    int64_t images, rows, columns;    // one block
    int64_t count() const { return ceil_div(n, images) * deep * ceil_div(high, rows) * ceil_div(wide, columns); }
    Block at(int64_t i) const {
        const int64_t across = ceil_div(wide, columns), down = ceil_div(high, rows), q = i % across * columns, r = i / across % down * rows;
        const int64_t layer = i / (across * down) % deep, image = i / (across * down * deep) * images;
        return {image, min(images, n - image), layer, r, min(rows, high - r), q, min(columns, wide - q)};
    }
};

// Blocks whose copies, plus `per_output` bytes for each output, fit into `cache_bytes`; at least `tasks` blocks if there are enough
// rows. joined: a block may hold several whole images.
inline Blocks in_blocks(int64_t n, const Axis& deep, const Axis& high, const Axis& wide, int64_t pixel, int64_t per_output, int64_t cache_bytes,
                        int64_t tasks, bool joined) {
    constexpr int64_t LONG = 64;                                       // rows of up to so many outputs are not cut
    int64_t layers = 1;
    for (int64_t p = 0; p < deep.phases; p++) layers = max(layers, deep.phase[p].taps);
    const auto bytes = [&](int64_t rows, int64_t columns) {
        return layers * high.length(0, rows) * wide.length(0, columns) * pixel + rows * columns * per_output;
    };
    const auto cut = [](int64_t all, int64_t share, int64_t unit) {    // equal shares, multiples of unit
        return min(all, round_up(ceil_div(all, ceil_div(all, max(1, share))), unit));
    };
    const int64_t min_rows = min(high.out, high.phases);
    int64_t columns = wide.out, rows = high.out, images = 1;
    while (columns > max(LONG, 2 * wide.phases) && bytes(min_rows, columns) > cache_bytes)
        columns = cut(wide.out, columns / 2, wide.phases);
    rows = max(min_rows, min(rows, cut(high.out, ceil_div(high.out * n * deep.out, tasks), high.phases)));
    const int64_t one = bytes(high.phases, columns), more = bytes(2 * high.phases, columns) - one;
    rows = min(rows, cut(high.out, high.phases * (1 + max(0, cache_bytes - one) / more), high.phases));
    if (joined && rows == high.out && columns == wide.out) images = cut(n, min(cache_bytes / bytes(rows, columns), ceil_div(n, tasks)), 1);
    return {n, deep.out, high.out, wide.out, images, max(1, rows), max(1, columns)};
}

// The output channels of a group as panels of WIDE vectors; each remaining vector is a panel of its own.
struct Panels {
    int64_t vectors;                  // per group
    int64_t of_group() const { return vectors / WIDE + vectors % WIDE; }
    int64_t first(int64_t i) const { return i <= vectors / WIDE ? i * WIDE : vectors / WIDE * WIDE + i - vectors / WIDE; }
    int64_t size(int64_t i) const { return i < vectors / WIDE ? WIDE : 1; }
    int64_t holds(int64_t vector) const {
        return vector < vectors / WIDE * WIDE ? vector / WIDE : vectors / WIDE + vector - vectors / WIDE * WIDE;
    }
};

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
