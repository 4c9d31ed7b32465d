// What convolutions are made of: tiles of sums in registers, windows along an axis, copies with the channels last.
#pragma once
#include <string.h>

#include <type_traits>

#include "conv/conv.hpp"
#include "platform/table.hpp"
#include "platform/scratch.hpp"
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
#define KEEP(pointer) asm("" : "+r"(pointer))                 // a register of its own, whatever it could be computed from
#else
#define KEEP(pointer)
#endif

constexpr int64_t NEAR = 1 << 18;     // bytes of a copy that is read again and again

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

// --- windows along an axis -------------------------------------------------------------------------------------------------
// Note [Phases]
// Where a gradient goes back through a stride, neighbouring outputs meet other elements of the kernel, in turn: those of one
// phase, an output in every `phases`, have windows one step apart, all over the same elements. So nothing is multiplied by the
// zeros that a gradient spread by the stride would have between its elements.
struct Phase {
    int64_t taps, at;                 // elements of the kernel, and where the first window begins in the copy
    int64_t tap, tap_step;            // the first of them in the kernel, and from there to the next
};

struct Axis {
    int64_t out, size;                // outputs; elements of what is copied
    int64_t phases, step, dilation;   // in the copy, from window to window of a phase, and between its elements
    int64_t before, reach;            // padding in the copy (negative: cut off); what a window of any phase covers at most
    Phase* phase;

    // what windows of the outputs begin .. end read of the copy, from `first(begin)` on
    int64_t first(int64_t begin) const { return begin / phases * step; }
    int64_t length(int64_t begin, int64_t end) const { return first(end - 1) - first(begin) + reach; }
};

inline Axis forward_axis(const Volume& s, int i, Phase* phase) {
    *phase = {s.kernel[i], 0, 0, 1};
    return {s.out[i], s.size[i], 1, s.stride[i], s.dilation[i], s.pad[i], s.dilation[i] * (s.kernel[i] - 1) + 1, phase};
}

// Of the gradient of the input, from that of the output; stride[i] phases.
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
        axis.reach = most(axis.reach, phase[p].at + dilation * (phase[p].taps - 1) + 1);
    }
    return axis;
}

// --- copies: part of a plane of x, its channels `apart`, as (rows, columns, c) with the padding around it --------------------
template <class T>
void fill(const Axis& high, const Axis& wide, const T* x, int64_t c, int64_t apart, int64_t row, int64_t rows, int64_t column,
          int64_t columns, T* out) {
    const int64_t left = wide.before - column;                         // where column 0 lies
    const int64_t from = left < 0 ? -left : 0, to = least(wide.size, columns - left), line = columns * c;
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

// --- pieces ---------------------------------------------------------------------------------------------------------------------
// Outputs that are made from one copy: of some images a layer, and of that some rows and columns.
struct Place {
    int64_t image, images, layer, row, rows, column, columns;
};

struct Places {
    int64_t n, deep, high, wide;      // of all outputs
    int64_t images, rows, columns;    // of a piece
    int64_t count() const { return parts(n, images) * deep * parts(high, rows) * parts(wide, columns); }
    Place at(int64_t i) const {
        const int64_t across = parts(wide, columns), down = parts(high, rows), q = i % across * columns, r = i / across % down * rows;
        const int64_t layer = i / (across * down) % deep, image = i / (across * down * deep) * images;
        return {image, least(images, n - image), layer, r, least(rows, high - r), q, least(columns, wide - q)};
    }
};

// In pieces whose copies, and `beside` bytes for every output, fit into `near` bytes: at least `tasks`, if there are rows enough.
// joined: of as many whole images as fit.
inline Places in_pieces(int64_t n, const Axis& deep, const Axis& high, const Axis& wide, int64_t pixel, int64_t beside, int64_t near,
                        int64_t tasks, bool joined) {
    constexpr int64_t LONG = 64;                                       // outputs of a line that is not cut
    int64_t layers = 1;
    for (int64_t p = 0; p < deep.phases; p++) layers = most(layers, deep.phase[p].taps);
    const auto bytes = [&](int64_t rows, int64_t columns) {
        return layers * high.length(0, rows) * wide.length(0, columns) * pixel + rows * columns * beside;
    };
    const auto cut = [](int64_t all, int64_t share, int64_t unit) {    // equal shares of whole units
        return least(all, whole(parts(all, parts(all, most(1, share))), unit));
    };
    const int64_t least_rows = least(high.out, high.phases);
    int64_t columns = wide.out, rows = high.out, images = 1;
    while (columns > most(LONG, 2 * wide.phases) && bytes(least_rows, columns) > near)
        columns = cut(wide.out, columns / 2, wide.phases);
    rows = most(least_rows, least(rows, cut(high.out, parts(high.out * n * deep.out, tasks), high.phases)));
    const int64_t one = bytes(high.phases, columns), more = bytes(2 * high.phases, columns) - one;
    rows = least(rows, cut(high.out, high.phases * (1 + most(0, near - one) / more), high.phases));
    if (joined && rows == high.out && columns == wide.out) images = cut(n, least(near / bytes(rows, columns), parts(n, tasks)), 1);
    return {n, deep.out, high.out, wide.out, images, most(1, rows), most(1, columns)};
}

// The outputs of all groups by panels of WIDE vectors; vectors left over are panels of their own.
struct Panels {
    int64_t vectors;                  // of a group
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
