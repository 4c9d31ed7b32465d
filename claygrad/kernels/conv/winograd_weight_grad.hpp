// The gradient of 3 x 3 kernels: see Note [Winograd] and Note [Shares of a weight's gradient].
#pragma once
#include "conv/winograd.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// The transforms are transposed, and the products are summed over the tiles instead of the channels.
template <class T> struct WinogradWeight : FourByFour<T> {
    using Base = FourByFour<T>;
    using typename Base::V;
    using Base::W, Base::high, Base::wide, Base::channels, Base::out_channels, Base::across;
    static constexpr int64_t SHARES = 8;

    const T* g;
    T* out;
    int64_t kernel = 16 * channels * out_channels;
    int64_t shares = min(min(this->count, SHARES), max(2, Base::LARGE / (int64_t)(kernel * sizeof(T))));

    WinogradWeight(const Base& base, const T* g, T* out) : Base(base), g(g), out(out) {}

    // Transform a 2 x 2 tile of the gradient to 16 numbers.
    void transform_gradient(const T* from, int64_t line, T* to, int64_t apart) const {
        along<T>(out_channels, [&](int64_t o, int64_t m) {
            V d[4][2];
#pragma GCC unroll 2
            for (int z = 0; z < 2; z++) {
                const V k = get<V>(from + z * out_channels + o, m), next = get<V>(from + line + z * out_channels + o, m);
                d[0][z] = k, d[1][z] = k + next, d[2][z] = k - next, d[3][z] = -next;
            }
#pragma GCC unroll 4
            for (int y = 0; y < 4; y++) {
                const V row[4] = {d[y][0], d[y][0] + d[y][1], d[y][0] - d[y][1], -d[y][1]};
#pragma GCC unroll 4
                for (int z = 0; z < 4; z++) put<V>(to + (y * 4 + z) * apart + o, row[z], m);
            }
        });
    }

    int64_t copied() const { return max(Base::copied(), 4 * this->rows * across * out_channels); }

    void add(const typename Base::Task& k, T* room, T* sums, bool first) const {
        T *inputs = room + copied(), *gradients = inputs + 16 * k.tiles * channels;
        this->transform_inputs(k, room, inputs);
        Phase once{1, 0, 0, 1};
        const Axis down{high.out, high.out, 1, 1, 1, 0, 1, &once}, along_line{wide.out, wide.out, 1, 1, 1, 0, 1, &once};
        const int64_t plane = high.out * wide.out, line = 2 * across * out_channels;
        T* to = gradients;
        for (int64_t i = 0; i < k.images; i++) {
            fill(down, along_line, g + (k.image + i) * out_channels * plane, out_channels, plane, 2 * k.row, 2 * k.rows, 0, 2 * across, room);
            for (int64_t t = 0; t < k.rows * across; t++, to += out_channels)
                transform_gradient(room + t / across * 2 * line + t % across * 2 * out_channels, line, to, k.tiles * out_channels);
        }
        for (int64_t i = 0; i < 16; i++)
            gemm(Base::CODE, true, false, channels, out_channels, k.tiles, inputs + i * k.tiles * channels, channels, gradients + i * k.tiles * out_channels,
                 out_channels, sums + i * channels * out_channels, out_channels, !first);
    }

    // The kernels of channel c from the sums of all shares; returns 0 if all are finite
    T inverse_transform_kernels(const T* sums, int64_t c) const {
        alignas(64) T block[9 * W];
        V rest = splat<V>(0);
        along<T>(out_channels, [&](int64_t o, int64_t m) {
            const V half = splat<V>(0.5);
            V columns_done[3][4];
            for (int z = 0; z < 4; z++) {
                V k[4];
                for (int y = 0; y < 4; y++) {
                    const T* from = sums + ((y * 4 + z) * channels + c) * out_channels + o;
                    k[y] = get<V>(from, m);
                    for (int64_t share = 1; share < shares; share++) k[y] = k[y] + get<V>(from + share * kernel, m);
                }
                const V middle = (k[1] + k[2]) * half;
                columns_done[0][z] = k[0] + middle, columns_done[1][z] = (k[1] - k[2]) * half, columns_done[2][z] = middle + k[3];
            }
            for (int y = 0; y < 3; y++) {
                const V *k = columns_done[y], middle = (k[1] + k[2]) * half;
                const V row[3] = {k[0] + middle, (k[1] - k[2]) * half, middle + k[3]};
                const V checked = (row[0] + row[1] + row[2]) * splat<V>(0);
                rest = rest + (m == W ? checked : part(checked, m, splat<V>(0)));
                for (int z = 0; z < 3; z++) store<V>(block + (y * 3 + z) * W, row[z]);
            }
            transpose(block, W, out + (o * channels + c) * 9, channels * 9, 9, m);
        });
        return first_lane(folded<SumOf>(rest));
    }

    // False: no memory, or a result is not finite
    bool run() const {
        const int64_t tiles = this->images * this->rows * across, count = this->count;
        T* sums = (T*)shared.get((shares * kernel + channels) * sizeof(T));
        if (!sums) return false;
        T* rest = sums + shares * kernel;
        const size_t room = (copied() + tiles * 16 * (channels + out_channels)) * sizeof(T);
        volatile bool out_of_memory = false;
        each_task(shares, tiles * kernel, [&](int64_t share) {
            T* mine = (T*)own.get(room);
            if (!mine) {
                out_of_memory = true;
                return;
            }
            const int64_t begin = count * share / shares, end = count * (share + 1) / shares;
            for (int64_t i = begin; i < end; i++) add(this->task(i), mine, sums + share * kernel, i == begin);
            own.give_back();
        });
        if (!out_of_memory) each_task(channels, shares * 16 * out_channels, [&](int64_t c) { rest[c] = inverse_transform_kernels(sums, c); });
        const bool good = !out_of_memory && this->all_zero(rest, channels);
        shared.give_back();
        return good;
    }
};

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
