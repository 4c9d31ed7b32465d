// Convolution with kernels of 3 x 3 in steps of one, by 16 products where there would be 36.
//
// Note [Winograd]
// Tiles of 2 x 2 outputs see 4 x 4 inputs. Both, and the kernel, are turned into 4 x 4 numbers by a few additions, and their products
// summed over the channels are the 16 numbers that the outputs are made of (Lavin and Gray, "Fast algorithms for convolutional neural
// networks", 2015). The sums over channels of all tiles at hand are 16 products of matrices.
//
// An output is made of what its window sees alone, and its error goes by the largest product in it, as that of a plain sum does; that of a
// kernel's gradient by the largest of its nine. But what is added and taken away again is not there any more if it was infinite: a
// convolution with a result that is no number is left to the windows.
#pragma once
#include "conv/tiles.hpp"
#include "platform/api.hpp"
#include "simd/lines.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr double NOT_EVEN = 1e300;

// Note [Even enough]
// The error of an output goes by the largest element and the largest tap that it sees, that of a plain sum by the sizes of all its
// products. So where the largest are far above the mean, the tiles are not worth their error: that of a sum of `terms` products is to
// stay about as large as it would be without them.
template <class T> double largest_over_mean(const T* x, int64_t n) {
    using V = vec<T>;
    V most = splat<V>(0);
    T total, largest = 0;
    sums<1, T>(0, n, &total, [&](int64_t i, int64_t m, V* term) {
        term[0] = abs(get<V>(x + i, m));
        most = larger(most, m == Lanes<V>::width ? term[0] : part(term[0], m, splat<V>(0)));
    });
    T lanes[Lanes<V>::width];
    store<V>(lanes, most);
    for (T lane : lanes) largest = lane > largest ? lane : largest;
    return total > 0 ? (double)largest * n / total : total == 0 ? 1 : NOT_EVEN;
}
template <class T> bool even_enough(const T* x, int64_t n, const T* w, int64_t count, int64_t terms) {
    const double of_w = largest_over_mean(w, count);
    return of_w <= 2.0 * terms && of_w * largest_over_mean(x, n) <= 2.0 * terms;
}

// Tiles of all images, and how many are at hand at a time. No result depends on the threads.
template <class T> struct FourByFour {
    using V = vec<T>;
    static constexpr int W = Lanes<V>::width, CODE = sizeof(T) == 4 ? F32 : F64;
    static constexpr int64_t WORTH = 1 << 19, LEAST = 16;                // outputs times channels; channels, and tiles of a task
    static constexpr int64_t LONGEST = 512, FEW = 48, CLOSE = 1 << 20;   // tiles of a line, and of a task; bytes of a task
    static constexpr int64_t TASKS = 8;                                  // at least, if they have LEAST tiles each
    static constexpr int64_t LARGE = 1 << 23, MANY = 160;                // bytes of turned kernels for which it takes so many tiles

    Axis high, wide;
    int64_t n, channels, many;         // images; of the input, and of the output
    const T* x;

    int64_t down = parts(high.out, 2), across = parts(wide.out, 2);      // tiles of an image
    int64_t close = CLOSE / (int64_t)(16 * (channels + many) * sizeof(T));
    int64_t wanted = least(most(FEW, close), most(LEAST, n * down * across / TASKS));
    int64_t rows = least(down, most(1, parts(down, parts(down * across, wanted))));        // of tiles, of a task
    int64_t images = rows < down ? 1 : least(n, most(1, wanted / (down * across)));
    int64_t cuts = parts(down, rows), count = parts(n, images) * cuts;   // tasks: of an image, of all

    static bool applies(const Volume& s, const Axis& high, const Axis& wide, int64_t channels, int64_t many) {
        const int64_t tiles = s.n * parts(high.out, 2) * parts(wide.out, 2);
        if (W == 1 || s.groups != 1 || s.size[0] * s.kernel[0] * s.out[0] != 1 || s.pad[0] || s.kernel[1] != 3 || s.kernel[2] != 3)
            return false;
        if (s.stride[1] * s.stride[2] * s.dilation[1] * s.dilation[2] != 1 || parts(wide.out, 2) > LONGEST) return false;
        if (tiles < (16 * channels * many * (int64_t)sizeof(T) > LARGE ? MANY : 2 * LEAST)) return false;
        return channels >= LEAST && many >= 2 * W && tiles * 4 * channels * many >= WORTH;
    }

    struct Task {
        int64_t image, images, row, rows, tiles;
    };
    Task task(int64_t i) const {
        const int64_t image = i / cuts * images, row = i % cuts * rows, some = least(images, n - image), lines = least(rows, down - row);
        return {image, some, row, lines, some * lines * across};
    }

    // One tile of a copy, whose lines are `line` long: `apart` from each of its 16 numbers to the next
    void turn_tile(const T* from, int64_t line, T* to, int64_t apart) const {
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
    // The inputs of a task as 16 matrices (tiles, channels); `copy` is room for one image's part
    void turn_inputs(const Task& k, T* copy, T* to) const {
        const int64_t columns = 2 * across + 2, lines = 2 * k.rows + 2, line = columns * channels, plane = high.size * wide.size;
        for (int64_t i = 0; i < k.images; i++) {
            fill(high, wide, x + (k.image + i) * channels * plane, channels, plane, 2 * k.row, lines, 0, columns, copy);
            for (int64_t t = 0; t < k.rows * across; t++, to += channels)
                turn_tile(copy + t / across * 2 * line + t % across * 2 * channels, line, to, k.tiles * channels);
        }
    }
};

template <class T> struct Winograd : FourByFour<T> {
    using Base = FourByFour<T>;
    using typename Base::V;
    using Base::W, Base::high, Base::wide, Base::channels, Base::many, Base::across;

    bool turned;                       // the kernel is (channels, many, 3, 3)
    const T *w, *bias;
    T* out;

    Winograd(const Base& base, bool turned, const T* w, const T* bias, T* out) : Base(base), turned(turned), w(w), bias(bias), out(out) {}

    // (16, channels, many): the kernel between the rows of (1, 0, 0), (1, 1, 1) / 2, (1, -1, 1) / 2, (0, 0, 1) from both sides
    void turn_kernels(T* to) const {
        const int64_t vectors = parts(many, W), all = channels * many;
        each_task(channels, many * 64, [&](int64_t c) {
            alignas(64) T block[9 * W];
            const Phase &h = high.phase[0], &q = wide.phase[0];
            const V half = splat<V>(0.5);
            for (int64_t v = 0; v < vectors; v++) {
                const int64_t real = least(W, many - v * W);
                transpose(w + (turned ? c * many + v * W : v * W * channels + c) * 9, turned ? 9 : channels * 9, block, W, real, 9);
                V half_way[4][3];
                for (int z = 0; z < 3; z++) {
                    V k[3];
                    for (int y = 0; y < 3; y++)
                        k[y] = get<V>(block + ((h.tap + y * h.tap_step) * 3 + q.tap + z * q.tap_step) * W, real);
                    const V ends = k[0] + k[2];
                    half_way[0][z] = k[0], half_way[1][z] = (ends + k[1]) * half, half_way[2][z] = (ends - k[1]) * half, half_way[3][z] = k[2];
                }
                for (int y = 0; y < 4; y++) {
                    const V *k = half_way[y], ends = k[0] + k[2];
                    const V row[4] = {k[0], (ends + k[1]) * half, (ends - k[1]) * half, k[2]};
                    for (int z = 0; z < 4; z++) put<V>(to + (y * 4 + z) * all + c * many + v * W, row[z], real);
                }
            }
        });
    }

    // The outputs of one tile, in lines `line` long
    void turn_back(const T* from, int64_t apart, T* to, int64_t line, V& rest) const {
        along<T>(many, [&](int64_t o, int64_t m) {
            V half_way[2][4];
#pragma GCC unroll 4
            for (int z = 0; z < 4; z++) {
                V k[4];
#pragma GCC unroll 4
                for (int y = 0; y < 4; y++) k[y] = get<V>(from + (y * 4 + z) * apart + o, m);
                half_way[0][z] = k[0] + k[1] + k[2], half_way[1][z] = k[1] - k[2] - k[3];
            }
            const V more = bias ? get<V>(bias + o, m) : splat<V>(0), zero = splat<V>(0);
#pragma GCC unroll 2
            for (int y = 0; y < 2; y++) {
                const V *k = half_way[y], left = k[0] + k[1] + k[2], right = k[1] - k[2] - k[3];
                const V checked = (left + right) * zero;                 // of what is no number: NaN
                rest = rest + (m == W ? checked : part(checked, m, zero));
                put<V>(to + y * line + o, left + more, m);
                put<V>(to + y * line + many + o, right + more, m);
            }
        });
    }

    // 0, unless an output is no number. `room` for a copy of inputs, 16 matrices of inputs and of outputs, and two lines
    T outputs_of(const typename Base::Task& k, const T* kernels, T* room) const {
        T *inputs = room + this->copied(), *made = inputs + 16 * k.tiles * channels, *pair = made + 16 * k.tiles * many;
        V rest = splat<V>(0);
        this->turn_inputs(k, room, inputs);
        for (int64_t i = 0; i < 16; i++)
            gemm(Base::CODE, false, false, k.tiles, many, channels, inputs + i * k.tiles * channels, channels, kernels + i * channels * many,
                 many, made + i * k.tiles * many, many, false);
        const int64_t plane = high.out * wide.out, length = 2 * across * many;
        for (int64_t r = 0; r < k.images * k.rows; r++) {
            for (int64_t t = 0; t < across; t++) turn_back(made + (r * across + t) * many, k.tiles * many, pair + t * 2 * many, length, rest);
            const int64_t top = 2 * (k.row + r % k.rows);
            T* to = out + (k.image + r / k.rows) * many * plane + top * wide.out;
            for (int64_t y = 0; y < 2 && top + y < high.out; y++) transpose(pair + y * length, many, to + y * wide.out, plane, wide.out, many);
        }
        return first_lane(folded<SumOf>(rest));
    }

    // False: no memory, or an output is no number. They are written to in any case.
    bool run() const {
        const int64_t kernel = 16 * channels * many, tiles = this->images * this->rows * across, count = this->count;
        T* kernels = (T*)shared.get((kernel + count) * sizeof(T));
        if (!kernels) return false;
        T* rest = kernels + kernel;
        turn_kernels(kernels);
        const size_t room = (this->copied() + tiles * 16 * (channels + many) + 4 * across * many) * sizeof(T);
        volatile bool short_of_memory = false;
        each_task(count, tiles * kernel, [&](int64_t i) {
            if (T* mine = (T*)own.get(room)) rest[i] = outputs_of(this->task(i), kernels, mine), own.give_back();
            else short_of_memory = true;
        });
        const bool good = !short_of_memory && this->all_zero(rest, count);
        shared.give_back();
        return good;
    }
};

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
