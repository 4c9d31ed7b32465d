// Convolution with few output channels per group: a vector holds neighbouring outputs instead of output channels.
//
// Note [Flat planes]
// A plane is copied with its padding and split by the stride: row r, column q lies at (r / step, q / step) of part
// (r % step, q % step). The inputs that neighbouring windows multiply by one kernel element are then contiguous. A vector may run past
// the end of a row of windows into the next row, so all vectors are full; the few results between the rows are dropped.
#pragma once
#include "conv/tiles.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> struct Planes {
    using V = vec<T>;
    static constexpr int W = Lanes<V>::width, TOGETHER = 4;            // output channels computed from one copy
    static constexpr int64_t LONGEST = 128;                            // terms per partial sum, to bound the rounding error

    const Volume& s;
    bool transposed;
    Axis high, wide;
    int64_t groups, channels, out_channels;   // input and output channels of a group
    const T *x, *w;
    T* out;

    int64_t taps = s.kernel[1] * s.kernel[2];
    int64_t to_output = transposed ? taps : channels * taps, to_channel = transposed ? out_channels * taps : taps;    // strides of the weight
    int64_t rows = 0, pitch = 0, apart = 0;                            // rows and row length of one part; elements of the copy of one channel

    struct Tap {
        int64_t copy, weight;         // offsets: of the first window's element in the copy, and in the weight
    };

    static constexpr int vectors_of(int outputs) {
#if defined(__AVX512F__)
        return outputs == 1 ? 8 : 4;
#else
        return outputs == 1 ? 8 : outputs == 2 ? 4 : 2;
#endif
    }

    // lanes of all vectors together, if the plane is one block
    int64_t lanes() const {
        const int64_t down = ceil_div(high.out, high.phases), across = ceil_div(wide.out, wide.phases);
        const int64_t flat = (down - 1) * ceil_div(wide.length(0, wide.out), wide.step) + across;
        return high.phases * wide.phases * round_up(flat, W);
    }

    // R vectors of windows, M output channels, `some` input channels: added to the result, or to the biases
    template <int M, int R>
    __attribute__((noinline)) void tile(const Tap* tap, int64_t count, const T* from, const T* weight, int64_t some, const T* bias, T* result,
                                        int64_t line) const {
        V sum[M][R];
        zero(sum);
        for (int64_t c = 0; c < some; c++, from += apart, weight += to_channel)
            for (int64_t t = 0; t < count; t++) {
                const T *at = from + tap[t].copy, *by = weight + tap[t].weight;
                V row[R];
#pragma GCC unroll 8
                for (int v = 0; v < R; v++) row[v] = load<V>(at + v * W);
#pragma GCC unroll 4
                for (int i = 0; i < M; i++) {
                    const V factor = splat<V>(by[i * to_output]);
#pragma GCC unroll 8
                    for (int v = 0; v < R; v++) sum[i][v] = multiply_add(factor, row[v], sum[i][v]);
                }
            }
#pragma GCC unroll 4
        for (int i = 0; i < M; i++)
#pragma GCC unroll 8
            for (int v = 0; v < R; v++) {
                T* to = result + i * line + v * W;
                store<V>(to, sum[i][v] + (bias ? splat<V>(bias[i]) : load<V>(to)));
            }
    }

    void copy_line(const T* from, T* to, int64_t n) const {
        int64_t i = 0;
        for (; i + W <= n; i += W) store<V>(to + i, load<V>(from + i));
        if (W > 1 && i < n) store_part<V>(to + i, load_part<V>(from + i, n - i), n - i);
    }

    // Copy the part of a plane that a block reads; the padding is zero already
    void fill_plane(const Block& p, const T* plane, T* copy) const {
        const int64_t top = high.first(p.row) - high.before, left = wide.first(p.column) - wide.before;
        const int64_t end = min(high.size, top + high.length(p.row, p.row + p.rows)), first = max(0, left);
        const int64_t last = min(wide.size, left + wide.length(p.column, p.column + p.columns));
        if (first >= last) return;
        for (int64_t part = 0; part < high.step; part++, copy += wide.step * rows * pitch) {
            const int64_t before = top + part < 0 ? ceil_div(-top - part, high.step) : 0;       // rows of padding
            T* to = copy + before * pitch;
            for (int64_t r = top + part + before * high.step; r < end; r += high.step, to += pitch) {
                const T* from = plane + r * wide.size;
                if (wide.step == 1) copy_line(from + first, to + first - left, last - first);
                else
                    for (int64_t begin = first; begin < min(first + wide.step, last); begin++) {
                        T* at = to + (begin - left) % wide.step * rows * pitch + (begin - left) / wide.step;
                        for (int64_t q = begin; q < last; q += wide.step) *at++ = from[q];
                    }
            }
        }
    }

    template <int M> void outputs(const Block& p, int64_t group, int64_t first, const T* bias, const Tap* tap, const T* copy, T* result) const {
        constexpr int MAX_VECTORS = vectors_of(M);
        const int64_t line = rows * pitch + MAX_VECTORS * W;
        const T* weight = w + group * out_channels * channels * taps + first * to_output;
        T* to = out + (p.image * out_channels + first) * high.out * wide.out + p.row * wide.out + p.column;
        for (int64_t ph = 0; ph < high.phases; ph++)
            for (int64_t pw = 0; pw < wide.phases; pw++) {
                const int64_t count = high.phase[ph].taps * wide.phase[pw].taps, some = max(1, LONGEST / max(1, count));
                const int64_t down = ceil_div(p.rows - ph, high.phases), across = ceil_div(p.columns - pw, wide.phases);
                if (down > 0 && across > 0) {
                    const int64_t vectors = ceil_div((down - 1) * pitch + across, W);
                    for (int64_t v = 0; v < vectors; v += MAX_VECTORS)
                        with_count<MAX_VECTORS>(min(MAX_VECTORS, vectors - v), [&](auto r) {
                            for (int64_t c = 0; c < channels; c += some)
                                tile<M, r>(tap, count, copy + c * apart + v * W, weight + c * to_channel, min(some, channels - c),
                                           c ? nullptr : bias, result + v * W, line);
                        });
                    for (int i = 0; i < M; i++)
                        for (int64_t r = 0; r < down; r++) {
                            const T* from = result + i * line + r * pitch;
                            T* at = to + (i * high.out + ph + r * high.phases) * wide.out + pw;
                            if (wide.phases == 1) copy_line(from, at, across);
                            else
                                for (int64_t q = 0; q < across; q++) at[q * wide.phases] = from[q];
                        }
                }
                tap += count;
            }
    }

    bool run(int64_t n, const T* bias, int64_t tasks) {
        Phase once{1, 0, 0, 1};
        const Axis deep{1, 1, 1, 1, 1, 0, 1, &once};
        const Blocks blocks = in_blocks(n * groups, deep, high, wide, channels * sizeof(T), TOGETHER * sizeof(T), CACHE_BYTES, tasks, false);
        rows = ceil_div(high.length(0, blocks.rows), high.step), pitch = ceil_div(wide.length(0, blocks.columns), wide.step);
        apart = rows * pitch * high.step * wide.step;
        const int64_t copies = channels * apart + 8 * W, lines = TOGETHER * (rows * pitch + 8 * W), pieces = blocks.count() / (n * groups);
        Tap* tap = (Tap*)shared.get(taps * sizeof(Tap) + out_channels * groups * sizeof(T));
        if (!tap) return false;
        T* biases = (T*)(tap + taps);
        for (int64_t i = 0; i < out_channels * groups; i++) biases[i] = bias ? bias[i] : 0;
        Tap* next = tap;
        for (int64_t ph = 0; ph < high.phases; ph++)
            for (int64_t pw = 0; pw < wide.phases; pw++) {
                const Phase &h = high.phase[ph], &q = wide.phase[pw];
                for (int64_t y = 0; y < h.taps; y++)
                    for (int64_t z = 0; z < q.taps; z++) {
                        const int64_t r = h.at + y * high.dilation, c = q.at + z * wide.dilation;
                        *next++ = {(r % high.step * wide.step + c % wide.step) * rows * pitch + r / high.step * pitch + c / wide.step,
                                   (h.tap + y * h.tap_step) * s.kernel[2] + q.tap + z * q.tap_step};
                    }
            }
        struct Job {
            const Planes& self;
            const Blocks& blocks;
            const Tap* tap;
            const T* biases;
            int64_t copies, lines, pieces;
            volatile bool out_of_memory;
        } job{*this, blocks, tap, biases, copies, lines, pieces, false};
        const int64_t work = high.out * wide.out / pieces * out_channels * channels * taps / (high.phases * wide.phases);
        parallel_for(blocks.count(), 1 + 65536 / (work + 1), [](void* data, int64_t begin, int64_t end) {
            Job& j = *(Job*)data;
            const Planes& self = j.self;
            T* copy = (T*)own.get((j.copies + j.lines) * sizeof(T));
            if (!copy) {
                j.out_of_memory = true;
                return;
            }
            for (int64_t i = begin; i < end; i++) {
                const Block p = j.pieces > 1 ? j.blocks.at(i) : Block{i, 1, 0, 0, self.high.out, 0, self.wide.out};
                const int64_t group = p.image % self.groups;
                if (i == begin || j.pieces > 1) memset(copy, 0, j.copies * sizeof(T));       // zeroed once if all planes have the same padding
                for (int64_t c = 0; c < self.channels; c++)
                    self.fill_plane(p, self.x + (p.image * self.channels + c) * self.high.size * self.wide.size, copy + c * self.apart);
                for (int64_t first = 0; first < self.out_channels; first += TOGETHER)
                    with_count<TOGETHER>(min(TOGETHER, self.out_channels - first), [&](auto m) {
                        self.template outputs<m>(p, group, first, j.biases + group * self.out_channels + first, j.tap, copy, copy + j.copies);
                    });
            }
            own.give_back();
        }, &job);
        shared.give_back();
        return !job.out_of_memory;
    }
};

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
