// Convolution without unrolled windows.
//
// Note [Channels last]
// The input (or gradient) is copied to channels-last order, with its padding. A window is then found by address alone, and the
// sum over channels is a series of multiply-adds: one element of a pixel, broadcast, times a vector of output channels (forward)
// or of the gradient's channels (weight gradient). A tile of up to TALL pixels by WIDE vectors stays in registers. Output
// channels are padded to whole vectors and grouped into panels of WIDE vectors. Outputs are computed in blocks whose copies fit
// the cache. The result does not depend on the blocks or on the number of threads.
#include "conv/few_outputs.hpp"
#include "conv/tiles.hpp"
#include "conv/weight_grad.hpp"
#include "conv/winograd_weight_grad.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr int64_t LINES = 1 << 16;    // bytes of output computed before they are transposed back
constexpr int64_t TASKS = 16;         // at least so many, if there are enough rows
constexpr int64_t LARGE_WEIGHT = 1 << 19;      // bytes of a weight that is read once for several images

// The weight of all groups in the order in which windows read it, and the biases (or zeros). `weight` is null if there is no
// memory. Layout, for each group and each of its phases: (panels, taps, channels, outputs of a panel).
template <class T> struct Packed {
    static constexpr int W = Lanes<vec<T>>::width;
    Axis axes[3];
    int64_t taps;                     // elements of one kernel
    int64_t* taps_before = nullptr;   // for each phase, the taps of all phases before it
    T *weight = nullptr, *bias = nullptr;

    struct Tap {
        int64_t before, taps, index;  // taps of earlier phases, taps of its own phase, and its index among these
    };

    // The weight is (o, c, *kernel) for each group. If transposed, input and output channels are swapped.
    Packed(const Volume& s, const T* w, const T* more, bool transposed) {
        const int64_t c = s.c / s.groups, o = s.o / s.groups;
        taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
        const int64_t channels = transposed ? o : c, out_channels = transposed ? c : o, outputs = round_up(out_channels, W), size = taps * channels * outputs;
        int64_t phases[3], all = 1, total = 0;
        for (int i = 0; i < 3; i++) phases[i] = transposed ? s.stride[i] : 1, all *= phases[i], total += phases[i];
        const size_t numbers = round_up((s.groups * (size + outputs)) * sizeof(T), 64);
        char* block = (char*)shared.get(numbers + total * sizeof(Phase) + all * sizeof(int64_t) + taps * sizeof(Tap));
        if (!block) return;
        Phase* phase = (Phase*)(block + numbers);
        taps_before = (int64_t*)(phase + total);
        Tap* tap = (Tap*)(taps_before + all);
        for (int i = 0; i < 3; phase += phases[i++]) axes[i] = transposed ? backward_axis(s, i, phase) : forward_axis(s, i, phase);
        const Axis &deep = axes[0], &high = axes[1], &wide = axes[2];
        int64_t before = 0;
        for (int64_t i = 0; i < all; i++) {
            const Phase &d = deep.phase[i / (phases[1] * phases[2])], &h = high.phase[i / phases[2] % phases[1]];
            const Phase &q = wide.phase[i % phases[2]];
            const int64_t count = d.taps * h.taps * q.taps;
            for (int64_t k = 0; k < count; k++) {
                const int64_t u = d.tap + k / (h.taps * q.taps) * d.tap_step, y = h.tap + k / q.taps % h.taps * h.tap_step;
                tap[(u * s.kernel[1] + y) * s.kernel[2] + q.tap + k % q.taps * q.tap_step] = {before, count, k};
            }
            taps_before[i] = before;
            before += count;
        }
        weight = (T*)block, bias = weight + s.groups * size;
        memset(bias, 0, s.groups * outputs * sizeof(T));
        for (int64_t g = 0; more && g < s.groups; g++) memcpy(bias + g * outputs, more + g * out_channels, out_channels * sizeof(T));
        const Panels panels{outputs / W};
        each_task(s.groups * panels.vectors, size / panels.vectors * 4, [&](int64_t i) {
            const int64_t g = i / panels.vectors, v = i % panels.vectors;
            const T* from = w + g * o * c * taps + v * W * (transposed ? taps : c * taps);
            for (int64_t k = 0; k < (transposed ? o : 1); k++)
                pack(from + k * c * taps, transposed ? taps : c * taps, min(W, out_channels - v * W), tap, taps, channels, k, panels, v,
                     weight + g * size);
        });
    }

    // Pack `real` output channels (at most one vector), `length` elements each: all taps of a channel, channel after channel
    static void pack(const T* w, int64_t length, int64_t real, const Tap* tap, int64_t taps, int64_t channels, int64_t channel,
                     const Panels& panels, int64_t v, T* out) {
        T block[W * W];
        const int64_t panel = panels.holds(v), lanes = panels.size(panel) * W, first = panels.first(panel) * W;
        if (real < W) memset(block, 0, sizeof block);
        for (int64_t k = 0; k < length; k += W) {
            const int64_t count = min(W, length - k);
            transpose(w + k, length, block, W, real, count);
            for (int64_t n = 0; n < count; n++) {
                const Tap& t = tap[(k + n) % taps];
                T* to = out + (t.before * panels.vectors * W + first * t.taps) * channels + v * W - first;
                store<vec<T>>(to + (t.index * channels + channel + (k + n) / taps) * lanes, load<vec<T>>(block + n * W));
            }
        }
    }
};

// A convolution that reads windows from channels-last copies.
template <class T> struct Windows {
    const Packed<T>& packed;
    int64_t groups, channels, out_channels;   // input and output channels of a group
    const T* x;
    T* out;

    static constexpr int W = Lanes<vec<T>>::width;
    const Axis &deep = packed.axes[0], &high = packed.axes[1], &wide = packed.axes[2];
    const Panels panels{ceil_div(out_channels, W)};

    // Note [Chunks of a sum]
    // A window is a number of contiguous runs: one per row and layer of the kernel. Long sums are cut into chunks of at most CHUNK
    // terms. That bounds the rounding error, and the weights of a chunk stay in the first-level cache while all rows of outputs use
    // them.
    struct Reads {
        int64_t rows, runs, run, layer_step, row_step, run_step, step, line;       // step, line: from output to output, in the copy and in the result
    };
    struct Chunk {
        int64_t first, count, from, terms;                                         // first run and number of runs; first term and number of terms of each run
    };
    static constexpr int64_t CHUNK = 128;

    // x: the first window in the copy; w: N vectors per term; before: what the sums are added to
    template <int M, int N>
    static __attribute__((noinline)) void tile(const Reads& s, const Chunk& of, const T* x, const T* w, const T* before, int64_t step,
                                               T* out) {
        using V = vec<T>;
        V sum[M][N];
        zero(sum);
        int64_t z = of.first % s.runs, y = of.first / s.runs % s.rows, u = of.first / (s.runs * s.rows);
        for (int64_t i = 0; i < of.count; i++, w += of.terms * N * W) {
            multiply<T, M, N>(sum, of.terms, x + u * s.layer_step + y * s.row_step + z * s.run_step + of.from, s.step, 1, w, N * W);
            if (++z == s.runs) z = 0, y++;
            if (y == s.rows) y = 0, u++;
        }
#pragma GCC unroll 16
        for (int i = 0; i < M; i++)
            for (int v = 0; v < N; v++)
                store<V>(out + i * s.line + v * W, sum[i][v] + load<V>(before + i * step + v * W));
    }

    // The copy for a block of outputs, and the kernel layers that lie inside the input
    struct Copies {
        Block place;
        int64_t rows, columns, layers, layer;
    };

    // Rows begin .. end of the outputs, counted over all images of the block, as (rows, columns, N vectors)
    template <int N>
    void rows(const Copies& k, int64_t begin, int64_t end, int64_t group, int64_t v, const T* copy, T* result) const {
        const int64_t pixel = groups * channels, line = k.columns * pixel, image = k.layers * k.rows * line;
        const int64_t outputs = panels.vectors * W, taps_deep = deep.phase[k.place.layer % deep.phases].taps;
        const T *w = packed.weight + group * packed.taps * channels * outputs, *more = packed.bias + group * outputs + v * W;
        const bool joined = wide.dilation == 1 && groups == 1;
        const auto each = [&](int64_t index, const Phase& h, const Phase& q, int64_t ph, int64_t pw) {
            const Reads reads{max(1, h.taps), joined ? 1 : max(1, q.taps), joined ? q.taps * channels : channels, k.rows * line,
                              high.dilation * line, wide.dilation * pixel, wide.step * pixel, wide.phases * N * W};
            const T* panel = w + (packed.taps_before[index] * outputs + v * W * taps_deep * h.taps * q.taps) * channels;
            panel += k.layer * h.taps * q.taps * channels * N * W;
            const int64_t all = h.taps && q.taps ? k.layers * h.taps * reads.runs : 0;
            const int64_t together = max(1, CHUNK / max(1, reads.run));
            const int64_t max_terms = ceil_div(reads.run, max(1, ceil_div(reads.run, CHUNK)));
            Chunk s{0, 0, 0, 0};
            for (bool first = true; first || s.first < all; first = false) {
                s.count = min(together, all - s.first), s.terms = min(max_terms, reads.run - s.from);
                for (int64_t i = begin; i < end; i++) {
                    const int64_t r = i % k.place.rows;
                    if (r % high.phases != ph) continue;
                    const T* from = copy + i / k.place.rows * image + (high.first(r) + h.at) * line + q.at * pixel + group * channels;
                    T* to = result + ((i - begin) * k.place.columns + pw) * N * W;
                    in_tiles(ceil_div(k.place.columns - pw, wide.phases), [&](int64_t j, auto m) {
                        T* at = to + j * reads.line;
                        tile<m, N>(reads, s, from + j * reads.step, panel, first ? more : at, first ? 0 : reads.line, at);
                    });
                }
                panel += s.count * s.terms * N * W;
                s.from += s.terms;
                if (s.from >= reads.run) s.from = 0, s.first += s.count;
            }
        };
        for (int64_t ph = 0; ph < min(high.phases, k.place.rows); ph++)
            for (int64_t pw = 0; pw < min(wide.phases, k.place.columns); pw++)
                each((k.place.layer % deep.phases * high.phases + ph) * wide.phases + pw, high.phase[ph], wide.phase[pw], ph, pw);
    }

    // One panel of a group
    template <int N> void piece(const Copies& k, int64_t group, int64_t v, const T* copy, T* result) const {
        const Block& p = k.place;
        const int64_t plane = high.out * wide.out, real = min(N * W, out_channels - v * W), all = p.images * p.rows;
        const int64_t together = max(1, LINES / (int64_t)(p.columns * N * W * sizeof(T)));
        T* to = out + ((p.image * groups + group) * out_channels + v * W) * deep.out * plane + p.layer * plane + p.row * wide.out + p.column;
        for (int64_t begin = 0; begin < all; begin += together) {
            const int64_t end = min(begin + together, all);
            rows<N>(k, begin, end, group, v, copy, result);
            for (int64_t i = begin, count; i < end; i += count) {
                const int64_t r = i % p.rows;
                count = p.columns == wide.out ? min(p.rows - r, end - i) : 1;        // contiguous rows
                transpose(result + (i - begin) * p.columns * N * W, N * W, to + i / p.rows * groups * out_channels * deep.out * plane + r * wide.out,
                          deep.out * plane, count * p.columns, real);
            }
        }
    }

    void fill_block(Copies& k, T* copy) const {
        const Block& p = k.place;
        const Phase& d = deep.phase[p.layer % deep.phases];
        const int64_t layer = deep.first(p.layer) + d.at - deep.before, plane = high.size * wide.size, apart = deep.size * plane;
        const auto outside = [&](int64_t u) { return layer + u * deep.dilation < 0 || layer + u * deep.dilation >= deep.size; };
        k.rows = high.length(p.row, p.row + p.rows), k.columns = wide.length(p.column, p.column + p.columns);
        while (k.layer < d.taps && outside(k.layer)) k.layer++;
        while (k.layer + k.layers < d.taps && !outside(k.layer + k.layers)) k.layers++;
        for (int64_t image = p.image; image < p.image + p.images; image++)
            for (int64_t u = 0; u < k.layers; u++, copy += k.rows * k.columns * groups * channels)
                fill(high, wide, x + image * groups * channels * apart + (layer + (k.layer + u) * deep.dilation) * plane, groups * channels,
                     apart, high.first(p.row), k.rows, wide.first(p.column), k.columns, copy);
    }

    bool run(int64_t n) const {
        const int64_t taps = packed.taps, all = groups * panels.of_group(), pixel = groups * channels * sizeof(T);
        const bool large = groups * panels.vectors * W * taps * channels * (int64_t)sizeof(T) > LARGE_WEIGHT;
        const int64_t tasks = large ? ceil_div(TASKS / 2, all) : TASKS;
        const Blocks blocks = in_blocks(n, deep, high, wide, pixel, 0, large ? 4 * CACHE_BYTES : CACHE_BYTES, tasks, large);
        const int64_t count = blocks.count(), chunks = min(all, ceil_div(TASKS / 2, count));
        int64_t layers = 1;
        for (int64_t p = 0; p < deep.phases; p++) layers = max(layers, deep.phase[p].taps);
        const size_t copy = round_up(blocks.images * layers * high.length(0, blocks.rows) * wide.length(0, blocks.columns) * pixel, 64);
        const size_t result = max(LINES, blocks.columns * WIDE * W * (int64_t)sizeof(T));
        volatile bool out_of_memory = false;
        const int64_t outputs = n * deep.out * high.out * wide.out / count * groups * panels.vectors * W / chunks;
        each_task(count * chunks, outputs * taps * channels / (deep.phases * high.phases * wide.phases), [&](int64_t i) {
            char* room = (char*)own.get(copy + result);
            if (!room) {
                out_of_memory = true;
                return;
            }
            Copies k{blocks.at(i / chunks), 0, 0, 0, 0};
            fill_block(k, (T*)room);
            for (int64_t j = i % chunks * all / chunks; j < (i % chunks + 1) * all / chunks; j++) {
                const int64_t group = j / panels.of_group(), of = j % panels.of_group();
                if (panels.size(of) == WIDE) piece<WIDE>(k, group, panels.first(of), (T*)room, (T*)(room + copy));
                else piece<1>(k, group, panels.first(of), (T*)room, (T*)(room + copy));
            }
            own.give_back();
        });
        return !out_of_memory;
    }
};

// Tries conv/few_outputs.hpp. It is faster if vectors of output channels would have more empty lanes, or if the sum for each output
// is short: with panels of a single vector, loading takes twice as long as multiplying.
template <class T, bool TRANSPOSED>
bool by_flat_planes(const Volume& s, int64_t channels, int64_t out_channels, const T* x, const T* w, T* out) {
    constexpr int64_t W = Lanes<vec<T>>::width, MAX_STRIDE = 64, SHORT = 16;                         // largest stride; longest sum that counts as short
    if (s.size[0] * s.kernel[0] * s.out[0] != 1 || s.pad[0] || s.stride[1] > MAX_STRIDE || s.stride[2] > MAX_STRIDE) return false;
    Phase phases[2][MAX_STRIDE];
    const auto axis = [&](int i) { return TRANSPOSED ? backward_axis(s, i, phases[i - 1]) : forward_axis(s, i, phases[i - 1]); };
    Planes<T> planes{s, TRANSPOSED, axis(1), axis(2), s.groups, channels, out_channels, x, w, out};
    const bool few = out_channels <= W && 4 * out_channels * planes.lanes() <= 5 * W * planes.high.out * planes.wide.out;
    return (few || channels * s.kernel[1] * s.kernel[2] <= SHORT) && planes.run(s.n, (const T*)s.bias, TASKS);
}

template <class T, bool TRANSPOSED> bool by_winograd(const Volume& s, int64_t channels, int64_t out_channels, const T* x, const T* w, T* out) {
    if (s.stride[1] * s.stride[2] != 1) return false;
    Phase phases[2];
    const auto axis = [&](int i) { return TRANSPOSED ? backward_axis(s, i, phases + i - 1) : forward_axis(s, i, phases + i - 1); };
    const Axis high = axis(1), wide = axis(2);
    if (!FourByFour<T>::applies(s, high, wide, channels, out_channels)) return false;
    const int64_t inputs = s.n * channels * (TRANSPOSED ? s.out[1] * s.out[2] : s.size[1] * s.size[2]);
    if (!accurate_enough(x, inputs, w, 9 * channels * out_channels, 9 * channels)) return false;
    return Winograd<T>({high, wide, s.n, channels, out_channels, x}, TRANSPOSED, w, (const T*)s.bias, out).run();
}

// The gradient of the input is a convolution too: of the output's gradient with the flipped kernel (Note [Phases]). It takes a bias
// because a transposed convolution is computed as such a gradient.
template <class T, bool TRANSPOSED> bool convolve(const Volume* shape, const void* a, const void* b, void* out) {
    const Volume& s = *shape;
    const int64_t c = s.c / s.groups, o = s.o / s.groups, channels = TRANSPOSED ? o : c, out_channels = TRANSPOSED ? c : o;
    if (by_flat_planes<T, TRANSPOSED>(s, channels, out_channels, (const T*)a, (const T*)b, (T*)out)) return true;
    if (by_winograd<T, TRANSPOSED>(s, channels, out_channels, (const T*)a, (const T*)b, (T*)out)) return true;
    const Packed<T> packed(s, (const T*)b, (const T*)s.bias, TRANSPOSED);
    if (!packed.weight) return false;
    const Windows<T> windows{packed, s.groups, channels, out_channels, (const T*)a, (T*)out};
    const bool filled = windows.run(s.n);
    shared.give_back();
    return filled;
}

template <class T> bool to_weight(const Volume* shape, const void* a, const void* b, void* result) {
    const Volume& s = *shape;
    Phase phases[2];
    const Axis high = forward_axis(s, 1, phases), wide = forward_axis(s, 2, phases + 1);
    const int64_t inputs = s.n * s.c * s.size[1] * s.size[2], outputs = s.n * s.o * s.out[1] * s.out[2];
    if (FourByFour<T>::applies(s, high, wide, s.c, s.o) &&
        accurate_enough((const T*)a, inputs, (const T*)b, outputs, s.n * s.out[1] * s.out[2]) &&
        WinogradWeight<T>({high, wide, s.n, s.c, s.o, (const T*)a}, (const T*)b, (T*)result).run())
        return true;
    return weight_grad<T>(shape, a, b, result);
}

}  // namespace

const Kernel conv_kernels[] = {
    {"forward", F32, (void*)convolve<float, false>},   {"forward", F64, (void*)convolve<double, false>},
    {"input_grad", F32, (void*)convolve<float, true>}, {"input_grad", F64, (void*)convolve<double, true>},
    {"weight_grad", F32, (void*)to_weight<float>},   {"weight_grad", F64, (void*)to_weight<double>},
};
CLAY_COUNT(conv)

}  // namespace CLAY_ISA
}  // namespace clay
