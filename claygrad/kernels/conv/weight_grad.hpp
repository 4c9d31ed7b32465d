// The gradient of a convolution's weight.
//
// Note [Shares of a weight's gradient]
// The images are divided into shares. Each share has its own sums, in the layout of the packed weight; they are added at the end. A
// large gradient is divided by its panels instead. The number of shares depends on the shape alone, so the result does not depend
// on the number of threads.
#pragma once
#include "conv/tiles.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> struct WeightJob {
    const Volume& s;
    Axis deep, high, wide;
    int64_t c, o, depth;              // per group; depth = kernel elements times c
    Panels panels;
    const T *x, *g;

    static constexpr int W = Lanes<vec<T>>::width;

    // The copy of a block's inputs, and its gradient
    struct Copies {
        Block place;
        int64_t rows, columns, channels, layers, layer;      // of the copy; its number of layers, and the first layer
        int64_t image() const { return layers * rows * columns * channels; }
    };

    // For each image: products of the gradient's rows (rows, columns, N vectors) with the inputs of one kernel element
    template <int M, int N> __attribute__((noinline)) void tile(const Copies& k, const T* from, const T* of, T* into) const {
        using V = vec<T>;
        V sum[M][N];
        zero(sum);
        const int64_t pixels = k.place.columns * N * W;
        for (int64_t i = 0; i < k.place.images; i++)
            for (int64_t r = 0; r < k.place.rows; r++)
                multiply<T, M, N>(sum, k.place.columns, from + i * k.image() + r * high.step * k.columns * k.channels, 1,
                                  wide.step * k.channels, of + (i * k.place.rows + r) * pixels, N * W);
#pragma GCC unroll 16
        for (int i = 0; i < M; i++)
            for (int v = 0; v < N; v++) {
                T* to = into + (i * N + v) * W;
                store<V>(to, load<V>(to) + sum[i][v]);
            }
    }

    // Panel `i` of a group: transposes its gradient into scratch, then adds to its sums
    template <int N> void panel(const Copies& k, int64_t group, int64_t i, const T* copy, T* room, T* into) const {
        const Block& p = k.place;
        const int64_t plane = s.out[1] * s.out[2], first = panels.first(i) * W, real = min(N * W, o - first);
        T* to = room;
        if (real < N * W) memset(room, 0, p.images * p.rows * p.columns * N * W * sizeof(T));
        for (int64_t image = p.image; image < p.image + p.images; image++) {
            const T* of = g + ((image * s.o + group * o + first) * s.out[0] + p.layer) * plane + p.row * s.out[2] + p.column;
            const int64_t together = p.columns == s.out[2] ? p.rows : 1;       // contiguous rows
            for (int64_t r = 0; r < p.rows; r += together, of += s.out[2], to += together * p.columns * N * W)
                transpose(of, s.out[0] * plane, to, N * W, real, together * p.columns);
        }
        const bool joined = wide.dilation == 1 && k.channels == c;
        const int64_t run = joined ? s.kernel[2] * c : c, runs = joined ? 1 : s.kernel[2];
        into += first * depth + k.layer * s.kernel[1] * s.kernel[2] * c * N * W;
        for (int64_t u = 0; u < k.layers; u++)
            for (int64_t y = 0; y < s.kernel[1]; y++)
                for (int64_t z = 0; z < runs; z++, into += run * N * W) {
                    const T* from = copy + ((u * k.rows + y * high.dilation) * k.columns + z * wide.dilation) * k.channels;
                    in_tiles(run, [&](int64_t j, auto m) { tile<m, N>(k, from + j, room, into + j * N * W); });
                }
    }

    // Panels begin .. end, counted over all groups, for one block
    void add(const Block& p, int64_t begin, int64_t end, T* copy, T* room, T* sums) const {
        const int64_t of_group = panels.of_group(), first = begin / of_group, groups = (end - 1) / of_group + 1 - first;
        Copies k{p, high.length(p.row, p.row + p.rows), wide.length(p.column, p.column + p.columns), groups * c, 0, 0};
        const int64_t layer = p.layer * deep.step - deep.before, apart = s.size[0] * s.size[1] * s.size[2];
        const auto outside = [&](int64_t u) { return layer + u * deep.dilation < 0 || layer + u * deep.dilation >= s.size[0]; };
        while (k.layer < s.kernel[0] && outside(k.layer)) k.layer++;
        while (k.layer + k.layers < s.kernel[0] && !outside(k.layer + k.layers)) k.layers++;
        if (!k.layers) return;
        T* to = copy;
        for (int64_t image = p.image; image < p.image + p.images; image++)
            for (int64_t u = 0; u < k.layers; u++, to += k.rows * k.columns * k.channels)
                fill(high, wide, x + (image * s.c + first * c) * apart + (layer + (k.layer + u) * deep.dilation) * s.size[1] * s.size[2],
                     k.channels, apart, high.first(p.row), k.rows, wide.first(p.column), k.columns, to);
        for (int64_t i = begin; i < end; i++) {
            const int64_t group = i / of_group, of = i % of_group;
            T* into = sums + group * depth * panels.vectors * W;
            if (panels.size(of) == WIDE) panel<WIDE>(k, group, of, copy + (group - first) * c, room, into);
            else panel<1>(k, group, of, copy + (group - first) * c, room, into);
        }
    }

    // Add the shares of vector v of a group's outputs and write them as (o, c, *kernel)
    void unpack(const T* sums, int64_t size, int64_t shares, int64_t v, T* out) const {
        using V = vec<T>;
        T block[W * W];
        const int64_t taps = depth / c, i = panels.holds(v), lanes = panels.size(i) * W, real = min(W, o - v * W);
        const T* from = sums + panels.first(i) * W * depth + (v - panels.first(i)) * W;
        for (int64_t k = 0; k < depth; k += W) {
            const int64_t count = min(W, depth - k);
            for (int64_t n = 0; n < count; n++) {
                const T* at = from + ((k + n) % taps * c + (k + n) / taps) * lanes;
                V sum = load<V>(at);
                for (int64_t share = 1; share < shares; share++) sum = sum + load<V>(at + share * size);
                store<V>(block + n * W, sum);
            }
            transpose(block, W, out + v * W * depth + k, depth, count, real);
        }
    }
};

template <class T> bool weight_grad(const Volume* shape, const void* a, const void* b, void* result) {
    const Volume& s = *shape;
    constexpr int W = Lanes<vec<T>>::width;
    constexpr int64_t SHARES = 8, LARGE_WEIGHT = 1 << 19;              // bytes
    Phase phases[3];
    const int64_t c = s.c / s.groups, o = s.o / s.groups, depth = s.kernel[0] * s.kernel[1] * s.kernel[2] * c;
    const Panels panels{ceil_div(o, W)};
    const WeightJob<T> job{s, forward_axis(s, 0, phases), forward_axis(s, 1, phases + 1), forward_axis(s, 2, phases + 2), c, o, depth,
                           panels, (const T*)a, (const T*)b};
    const int64_t size = s.groups * depth * panels.vectors * W, all = s.groups * panels.of_group();
    const bool large = size * (int64_t)sizeof(T) > LARGE_WEIGHT;
    const int64_t chunks = large ? min(all, SHARES) : 1;
    const Blocks blocks = in_blocks(s.n, job.deep, job.high, job.wide, s.c * sizeof(T), WIDE * W * sizeof(T), large ? 4 * CACHE_BYTES : CACHE_BYTES,
                                    ceil_div(SHARES, chunks), large);
    const int64_t count = blocks.count(), shares = min(count, ceil_div(SHARES, chunks));
    const int64_t rows = job.high.length(0, blocks.rows), columns = job.wide.length(0, blocks.columns);
    const size_t copy = round_up(blocks.images * s.kernel[0] * rows * columns * s.c * sizeof(T), 64);
    const size_t transposed = blocks.images * blocks.rows * blocks.columns * WIDE * W * sizeof(T);
    T* sums = (T*)shared.get(shares * size * sizeof(T));
    if (!sums) return false;
    volatile bool out_of_memory = false;
    each_task(shares * chunks, s.n * s.out[0] * s.out[1] * s.out[2] / shares * (size / chunks), [&](int64_t i) {
        const int64_t share = i / chunks, begin = i % chunks * all / chunks, end = (i % chunks + 1) * all / chunks;
        T* into = sums + share * size;
        char* room = (char*)own.get(copy + transposed);
        if (!room) {
            out_of_memory = true;
            return;
        }
        const auto from = [&](int64_t k) {
            return (k / panels.of_group() * panels.vectors + panels.first(k % panels.of_group())) * W * depth;
        };
        memset(into + from(begin), 0, (from(end) - from(begin)) * sizeof(T));
        for (int64_t k = share * count / shares; k < (share + 1) * count / shares; k++)
            job.add(blocks.at(k), begin, end, (T*)room, (T*)(room + copy), into);
        own.give_back();
    });
    if (out_of_memory) return false;
    each_task(s.groups * panels.vectors, W * depth, [&](int64_t i) {
        const int64_t group = i / panels.vectors;
        job.unpack(sums + group * depth * panels.vectors * W, size, shares, i % panels.vectors, (T*)result + group * o * depth);
    });
    shared.give_back();
    return true;
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
