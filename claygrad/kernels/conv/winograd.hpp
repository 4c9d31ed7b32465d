// Convolution with 3 x 3 kernels and stride 1, with 16 multiplications per tile instead of 36.
//
// Note [Winograd]
// A tile of 2 x 2 outputs depends on 4 x 4 inputs. Inputs and kernel are transformed to 4 x 4 numbers each, by a few additions.
// The elementwise products, summed over the channels, are transformed back to the 4 outputs (Lavin and Gray, "Fast algorithms for
// convolutional neural networks", 2015). For all tiles together these sums are 16 matrix products.
//
// The rounding error of an output grows with the largest product in its window; that of a kernel's gradient with the largest of
// its nine elements. The transforms add values and subtract them again, which gives NaN for infinities: a convolution with a result
// that is not finite is computed again by the direct form.
#pragma once
#include "conv/tiles.hpp"
#include "platform/api.hpp"
#include "simd/lines.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr double NOT_EVEN = 1e300;

// Note [Accuracy of Winograd]
// The error of Winograd's form grows with the largest input and the largest weight, that of a direct sum with the mean size of the
// products. Where the largest are far above the mean, Winograd's form is not used: for a sum of `terms` products its error must stay
// about as large as that of the direct form.
template <class T> double largest_over_mean(const T* x, int64_t n) {
    using V = vec<T>;
    V largest_lanes = splat<V>(0);
    T total, largest = 0;
    sums<1, T>(0, n, &total, [&](int64_t i, int64_t m, V* term) {
        term[0] = abs(get<V>(x + i, m));
        largest_lanes = larger(largest_lanes, m == Lanes<V>::width ? term[0] : part(term[0], m, splat<V>(0)));
    });
    T lanes[Lanes<V>::width];
    store<V>(lanes, largest_lanes);
    for (T lane : lanes) largest = lane > largest ? lane : largest;
    return total > 0 ? (double)largest * n / total : total == 0 ? 1 : NOT_EVEN;
}
template <class T> bool accurate_enough(const T* x, int64_t n, const T* w, int64_t count, int64_t terms) {
    const double of_w = largest_over_mean(w, count);
    return of_w <= 2.0 * terms && of_w * largest_over_mean(x, n) <= 2.0 * terms;
}

// The tiles of all images, divided into tasks. The result does not depend on the number of threads.
template <class T> struct FourByFour {
    using V = vec<T>;
    static constexpr int W = Lanes<V>::width, CODE = sizeof(T) == 4 ? F32 : F64;
    static constexpr int64_t WORTH = 1 << 19, MIN_CHANNELS = 16;                // min outputs times channels; min channels, and tiles per task
    static constexpr int64_t LONGEST = 512, FEW = 48, CLOSE = 1 << 20;   // max tiles in a row; tiles and bytes of a task
    static constexpr int64_t TASKS = 8;                                  // at least so many, if each has MIN_CHANNELS tiles
    static constexpr int64_t LARGE = 1 << 23, MANY = 160;                // transformed kernels above LARGE bytes need MANY tiles

    Axis high, wide;
    int64_t n, channels, out_channels;         // images; input and output channels
    const T* x;

    int64_t down = ceil_div(high.out, 2), across = ceil_div(wide.out, 2);      // tiles per image
    int64_t close = CLOSE / (int64_t)(16 * (channels + out_channels) * sizeof(T));
    int64_t wanted = min(max(FEW, close), max(MIN_CHANNELS, n * down * across / TASKS));
    int64_t rows = min(down, max(1, ceil_div(down, ceil_div(down * across, wanted))));        // rows of tiles per task
    int64_t images = rows < down ? 1 : min(n, max(1, wanted / (down * across)));
    int64_t cuts = ceil_div(down, rows), count = ceil_div(n, images) * cuts;   // tasks per image, and in total

    static bool applies(const Volume& s, const Axis& high, const Axis& wide, int64_t channels, int64_t out_channels) {
        const int64_t tiles = s.n * ceil_div(high.out, 2) * ceil_div(wide.out, 2);
        if (W == 1 || s.groups != 1 || s.size[0] * s.kernel[0] * s.out[0] != 1 || s.pad[0] || s.kernel[1] != 3 || s.kernel[2] != 3)
            return false;
        if (s.stride[1] * s.stride[2] * s.dilation[1] * s.dilation[2] != 1 || ceil_div(wide.out, 2) > LONGEST) return false;
        if (tiles < (16 * channels * out_channels * (int64_t)sizeof(T) > LARGE ? MANY : 2 * MIN_CHANNELS)) return false;
        return channels >= MIN_CHANNELS && out_channels >= 2 * W && tiles * 4 * channels * out_channels >= WORTH;
    }

    struct Task {
        int64_t image, images, row, rows, tiles;
    };
    Task task(int64_t i) const {
        const int64_t image = i / cuts * images, row = i % cuts * rows, some = min(images, n - image), lines = min(rows, down - row);
        return {image, some, row, lines, some * lines * across};
    }

    // Transform one tile of a copy with rows of `line` elements; its 16 results are `apart` elements from each other
    void transform_tile(const T* from, int64_t line, T* to, int64_t apart) const {
        along<T>(channels, [&](int64_t c, int64_t m) {
            V d[4][4];
#pragma GCC unroll 4
            for (int z = 0; z < 4; z++) {
                V k[4];
#pragma GCC unroll 4
                for (int y = 0; y < 4; y++) k[y] = get<V>(from + y * line + z * channels + c, m);
                d[0][z] = k[0] - k[2], d[1][z] = k[1] + k[2], d[2][z] = k[2] - k[1], d[3][z] = k[1] - k[3];
            }
#pragma GCC unroll 4
            for (int y = 0; y < 4; y++) {
                const V* k = d[y];
                const V row[4] = {k[0] - k[2], k[1] + k[2], k[2] - k[1], k[1] - k[3]};
#pragma GCC unroll 4
                for (int z = 0; z < 4; z++) put<V>(to + (y * 4 + z) * apart + c, row[z], m);
            }
        });
    }

    static bool all_zero(const T* rest, int64_t n) {
        bool found = true;
        for (int64_t i = 0; i < n; i++) found = found && rest[i] == 0;
        return found;
    }

    int64_t copied() const { return (2 * rows + 2) * (2 * across + 2) * channels; }
    // Transform the inputs of a task to 16 matrices (tiles, channels); `copy` is scratch for the part of one image
    void transform_inputs(const Task& k, T* copy, T* to) const {
        const int64_t columns = 2 * across + 2, lines = 2 * k.rows + 2, line = columns * channels, plane = high.size * wide.size;
        for (int64_t i = 0; i < k.images; i++) {
            fill(high, wide, x + (k.image + i) * channels * plane, channels, plane, 2 * k.row, lines, 0, columns, copy);
            for (int64_t t = 0; t < k.rows * across; t++, to += channels)
                transform_tile(copy + t / across * 2 * line + t % across * 2 * channels, line, to, k.tiles * channels);
        }
    }
};

template <class T> struct Winograd : FourByFour<T> {
    using Base = FourByFour<T>;
    using typename Base::V;
    using Base::W, Base::high, Base::wide, Base::channels, Base::out_channels, Base::across;

    bool transposed;                       // the kernel is (channels, out_channels, 3, 3)
    const T *w, *bias;
    T* out;

    Winograd(const Base& base, bool transposed, const T* w, const T* bias, T* out) : Base(base), transposed(transposed), w(w), bias(bias), out(out) {}

    // G k G' as (16, channels, out_channels), where the rows of G are (1, 0, 0), (1, 1, 1) / 2, (1, -1, 1) / 2 and (0, 0, 1)
    void transform_kernels(T* to) const {
        const int64_t vectors = ceil_div(out_channels, W), all = channels * out_channels;
        each_task(channels, out_channels * 64, [&](int64_t c) {
            alignas(64) T block[9 * W];
            const Phase &h = high.phase[0], &q = wide.phase[0];
            const V half = splat<V>(0.5);
            for (int64_t v = 0; v < vectors; v++) {
                const int64_t real = min(W, out_channels - v * W);
                transpose(w + (transposed ? c * out_channels + v * W : v * W * channels + c) * 9, transposed ? 9 : channels * 9, block, W, real, 9);
                V columns_done[4][3];
                for (int z = 0; z < 3; z++) {
                    V k[3];
                    for (int y = 0; y < 3; y++)
                        k[y] = get<V>(block + ((h.tap + y * h.tap_step) * 3 + q.tap + z * q.tap_step) * W, real);
                    const V ends = k[0] + k[2];
                    columns_done[0][z] = k[0], columns_done[1][z] = (ends + k[1]) * half, columns_done[2][z] = (ends - k[1]) * half, columns_done[3][z] = k[2];
                }
                for (int y = 0; y < 4; y++) {
                    const V *k = columns_done[y], ends = k[0] + k[2];
                    const V row[4] = {k[0], (ends + k[1]) * half, (ends - k[1]) * half, k[2]};
                    for (int z = 0; z < 4; z++) put<V>(to + (y * 4 + z) * all + c * out_channels + v * W, row[z], real);
                }
            }
        });
    }

    // The outputs of one tile, in rows of `line` elements
    void inverse_transform(const T* from, int64_t apart, T* to, int64_t line, V& rest) const {
        along<T>(out_channels, [&](int64_t o, int64_t m) {
            V columns_done[2][4];
#pragma GCC unroll 4
            for (int z = 0; z < 4; z++) {
                V k[4];
#pragma GCC unroll 4
                for (int y = 0; y < 4; y++) k[y] = get<V>(from + (y * 4 + z) * apart + o, m);
                columns_done[0][z] = k[0] + k[1] + k[2], columns_done[1][z] = k[1] - k[2] - k[3];
            }
            const V more = bias ? get<V>(bias + o, m) : splat<V>(0), zero = splat<V>(0);
#pragma GCC unroll 2
            for (int y = 0; y < 2; y++) {
                const V *k = columns_done[y], left = k[0] + k[1] + k[2], right = k[1] - k[2] - k[3];
                const V checked = (left + right) * zero;                 // NaN if one is not finite, else 0
                rest = rest + (m == W ? checked : part(checked, m, zero));
                put<V>(to + y * line + o, left + more, m);
                put<V>(to + y * line + out_channels + o, right + more, m);
            }
        });
    }

    // Returns 0 if all outputs are finite. `room`: scratch for a copy of the inputs, 16 matrices of inputs and of outputs, and two rows
    T outputs_of(const typename Base::Task& k, const T* kernels, T* room) const {
        T *inputs = room + this->copied(), *result = inputs + 16 * k.tiles * channels, *pair = result + 16 * k.tiles * out_channels;
        V rest = splat<V>(0);
        this->transform_inputs(k, room, inputs);
        for (int64_t i = 0; i < 16; i++)
            gemm(Base::CODE, false, false, k.tiles, out_channels, channels, inputs + i * k.tiles * channels, channels, kernels + i * channels * out_channels,
                 out_channels, result + i * k.tiles * out_channels, out_channels, false);
        const int64_t plane = high.out * wide.out, length = 2 * across * out_channels;
        for (int64_t r = 0; r < k.images * k.rows; r++) {
            for (int64_t t = 0; t < across; t++) inverse_transform(result + (r * across + t) * out_channels, k.tiles * out_channels, pair + t * 2 * out_channels, length, rest);
            const int64_t top = 2 * (k.row + r % k.rows);
            T* to = out + (k.image + r / k.rows) * out_channels * plane + top * wide.out;
            for (int64_t y = 0; y < 2 && top + y < high.out; y++) transpose(pair + y * length, out_channels, to + y * wide.out, plane, wide.out, out_channels);
        }
        return first_lane(folded<SumOf>(rest));
    }

    // False: no memory, or an output is not finite. Outputs may be written even then.
    bool run() const {
        const int64_t kernel = 16 * channels * out_channels, tiles = this->images * this->rows * across, count = this->count;
        T* kernels = (T*)shared.get((kernel + count) * sizeof(T));
        if (!kernels) return false;
        T* rest = kernels + kernel;
        transform_kernels(kernels);
        const size_t room = (this->copied() + tiles * 16 * (channels + out_channels) + 4 * across * out_channels) * sizeof(T);
        volatile bool out_of_memory = false;
        each_task(count, tiles * kernel, [&](int64_t i) {
            if (T* mine = (T*)own.get(room)) rest[i] = outputs_of(this->task(i), kernels, mine), own.give_back();
            else out_of_memory = true;
        });
        const bool good = !out_of_memory && this->all_zero(rest, count);
        shared.give_back();
        return good;
    }
};

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
