// Convolution to few outputs a group: vectors of neighbouring outputs instead of output channels.
//
// Note [Flat planes]
// A plane is copied with the padding around it, and cut by the stride: row r, column q lies at (r / step, q / step) of the part
// (r % step, q % step), so that what neighbouring windows see of one element of the kernel lies side by side. Lines of windows go on
// into the next, over the few elements that belong to no window: a vector is full wherever a line ends. What those elements give is
// not taken over.
#pragma once
#include "conv/tiles.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> struct Planes {
    using V = vec<T>;
    static constexpr int W = Lanes<V>::width, TOGETHER = 4;            // outputs from the same copies
    static constexpr int64_t LONGEST = 128;                            // terms of a sum before it is added to the others

    const Volume& s;
    bool turned;
    Axis high, wide;
    int64_t groups, channels, many;   // channels of a group, and its outputs
    const T *x, *w;
    T* out;

    int64_t taps = s.kernel[1] * s.kernel[2];
    int64_t to_output = turned ? taps : channels * taps, to_channel = turned ? many * taps : taps;    // in the weight
    int64_t rows = 0, pitch = 0, apart = 0;                            // of a part of a copy; elements of a copy

    struct Tap {
        int64_t place, weight;        // in the copy, for the first window; in the weight
    };

    static constexpr int vectors_of(int outputs) {
#if defined(__AVX512F__)
        return outputs == 1 ? 8 : 4;
#else
        return outputs == 1 ? 8 : outputs == 2 ? 4 : 2;
#endif
    }

    // of all vectors, if the plane is not cut
    int64_t lanes() const {
        const int64_t down = parts(high.out, high.phases), across = parts(wide.out, wide.phases);
        const int64_t flat = (down - 1) * parts(wide.length(0, wide.out), wide.step) + across;
        return high.phases * wide.phases * whole(flat, W);
    }

    // R vectors of windows, M outputs, some channels: added to what is there, or to the biases
    template <int M, int R>
    __attribute__((noinline)) void tile(const Tap* tap, int64_t count, const T* from, const T* weight, int64_t some, const T* bias, T* made,
                                        int64_t line) const {
        V sum[M][R];
        zero(sum);
        for (int64_t c = 0; c < some; c++, from += apart, weight += to_channel)
            for (int64_t t = 0; t < count; t++) {
                const T *at = from + tap[t].place, *by = weight + tap[t].weight;
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
                T* to = made + i * line + v * W;
                store<V>(to, sum[i][v] + (bias ? splat<V>(bias[i]) : load<V>(to)));
            }
    }

    void copy_line(const T* from, T* to, int64_t n) const {
        int64_t i = 0;
        for (; i + W <= n; i += W) store<V>(to + i, load<V>(from + i));
        if (W > 1 && i < n) store_part<V>(to + i, load_part<V>(from + i, n - i), n - i);
    }

    // The part of a plane that a place sees, around it zeros already
    void fill_plane(const Place& p, const T* plane, T* copy) const {
        const int64_t top = high.first(p.row) - high.before, left = wide.first(p.column) - wide.before;
        const int64_t end = least(high.size, top + high.length(p.row, p.row + p.rows)), first = most(0, left);
        const int64_t last = least(wide.size, left + wide.length(p.column, p.column + p.columns));
        if (first >= last) return;
        for (int64_t part = 0; part < high.step; part++, copy += wide.step * rows * pitch) {
            const int64_t before = top + part < 0 ? parts(-top - part, high.step) : 0;       // rows of padding
            T* to = copy + before * pitch;
            for (int64_t r = top + part + before * high.step; r < end; r += high.step, to += pitch) {
                const T* from = plane + r * wide.size;
                if (wide.step == 1) copy_line(from + first, to + first - left, last - first);
                else
                    for (int64_t begin = first; begin < least(first + wide.step, last); begin++) {
                        T* at = to + (begin - left) % wide.step * rows * pitch + (begin - left) / wide.step;
                        for (int64_t q = begin; q < last; q += wide.step) *at++ = from[q];
                    }
            }
        }
    }

    template <int M> void outputs(const Place& p, int64_t group, int64_t first, const T* bias, const Tap* tap, const T* copy, T* made) const {
        constexpr int MOST = vectors_of(M);
        const int64_t line = rows * pitch + MOST * W;
        const T* weight = w + group * many * channels * taps + first * to_output;
        T* to = out + (p.image * many + first) * high.out * wide.out + p.row * wide.out + p.column;
        for (int64_t ph = 0; ph < high.phases; ph++)
            for (int64_t pw = 0; pw < wide.phases; pw++) {
                const int64_t count = high.phase[ph].taps * wide.phase[pw].taps, some = most(1, LONGEST / most(1, count));
                const int64_t down = parts(p.rows - ph, high.phases), across = parts(p.columns - pw, wide.phases);
                if (down > 0 && across > 0) {
                    const int64_t vectors = parts((down - 1) * pitch + across, W);
                    for (int64_t v = 0; v < vectors; v += MOST)
                        with_count<MOST>(least(MOST, vectors - v), [&](auto r) {
                            for (int64_t c = 0; c < channels; c += some)
                                tile<M, r>(tap, count, copy + c * apart + v * W, weight + c * to_channel, least(some, channels - c),
                                           c ? nullptr : bias, made + v * W, line);
                        });
                    for (int i = 0; i < M; i++)
                        for (int64_t r = 0; r < down; r++) {
                            const T* from = made + i * line + r * pitch;
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
        const Places places = in_pieces(n * groups, deep, high, wide, channels * sizeof(T), TOGETHER * sizeof(T), NEAR, tasks, false);
        rows = parts(high.length(0, places.rows), high.step), pitch = parts(wide.length(0, places.columns), wide.step);
        apart = rows * pitch * high.step * wide.step;
        const int64_t copies = channels * apart + 8 * W, lines = TOGETHER * (rows * pitch + 8 * W), pieces = places.count() / (n * groups);
        Tap* tap = (Tap*)shared.get(taps * sizeof(Tap) + many * groups * sizeof(T));
        if (!tap) return false;
        T* biases = (T*)(tap + taps);
        for (int64_t i = 0; i < many * groups; i++) biases[i] = bias ? bias[i] : 0;
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
            const Places& places;
            const Tap* tap;
            const T* biases;
            int64_t copies, lines, pieces;
            volatile bool short_of_memory;
        } job{*this, places, tap, biases, copies, lines, pieces, false};
        const int64_t work = high.out * wide.out / pieces * many * channels * taps / (high.phases * wide.phases);
        parallel_for(places.count(), 1 + 65536 / (work + 1), [](void* data, int64_t begin, int64_t end) {
            Job& j = *(Job*)data;
            const Planes& self = j.self;
            T* copy = (T*)own.get((j.copies + j.lines) * sizeof(T));
            if (!copy) {
                j.short_of_memory = true;
                return;
            }
            for (int64_t i = begin; i < end; i++) {
                const Place p = j.pieces > 1 ? j.places.at(i) : Place{i, 1, 0, 0, self.high.out, 0, self.wide.out};
                const int64_t group = p.image % self.groups;
                if (i == begin || j.pieces > 1) memset(copy, 0, j.copies * sizeof(T));       // the padding of all planes is the same
                for (int64_t c = 0; c < self.channels; c++)
                    self.fill_plane(p, self.x + (p.image * self.channels + c) * self.high.size * self.wide.size, copy + c * self.apart);
                for (int64_t first = 0; first < self.many; first += TOGETHER)
                    with_count<TOGETHER>(least(TOGETHER, self.many - first), [&](auto m) {
                        self.template outputs<m>(p, group, first, j.biases + group * self.many + first, j.tap, copy, copy + j.copies);
                    });
            }
            own.give_back();
        }, &job);
        shared.give_back();
        return !job.short_of_memory;
    }
};

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
