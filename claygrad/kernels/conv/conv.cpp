// Convolution without unrolled windows.
//
// Note [Channels last]
// Input and gradient are copied so that the channels of a pixel lie together, with the padding around them. A window is then
// reached by address alone, and the sum over channels is a row of multiply-adds: one number of a pixel, broadcast, times a
// vector of output channels (forward), or times a vector of the gradient's channels (weight). A tile of up to TALL such numbers
// by WIDE vectors stays in registers throughout. Output channels are filled up to whole vectors and come in panels of WIDE of
// them. Outputs are taken in pieces whose copies fit the cache; no result depends on how they are cut, or on the threads.
#include "conv/few_outputs.hpp"
#include "conv/tiles.hpp"
#include "conv/weight_grad.hpp"
#include "conv/winograd_weight_grad.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr int64_t LINES = 1 << 16;    // bytes of output that are made at a time, before they are turned over
constexpr int64_t TASKS = 16;         // as many at least, if there are rows enough
constexpr int64_t MUCH = 1 << 19;     // bytes of kernels that are better read for many images at once

// Kernels of all groups as the windows meet them, and biases or zeros; null: no memory. Of each group and each of its phases:
// (panels, taps, channels, outputs of a panel).
template <class T> struct Packed {
    static constexpr int W = Lanes<vec<T>>::width;
    Axis axes[3];
    int64_t taps;                     // of a kernel
    int64_t* taps_before = nullptr;   // those of the phases before, of each
    T *weight = nullptr, *bias = nullptr;

    struct Tap {
        int64_t before, taps, place;  // of its phase; its place among them
    };

    // (o, c, *kernel) of each group; turned: the channels are swapped too
    Packed(const Volume& s, const T* w, const T* more, bool turned) {
        const int64_t c = s.c / s.groups, o = s.o / s.groups;
        taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
        const int64_t channels = turned ? o : c, many = turned ? c : o, outputs = whole(many, W), size = taps * channels * outputs;
        int64_t phases[3], all = 1, total = 0;
        for (int i = 0; i < 3; i++) phases[i] = turned ? s.stride[i] : 1, all *= phases[i], total += phases[i];
        const size_t numbers = whole((s.groups * (size + outputs)) * sizeof(T), 64);
        char* block = (char*)shared.get(numbers + total * sizeof(Phase) + all * sizeof(int64_t) + taps * sizeof(Tap));
        if (!block) return;
        Phase* phase = (Phase*)(block + numbers);
        taps_before = (int64_t*)(phase + total);
        Tap* tap = (Tap*)(taps_before + all);
        for (int i = 0; i < 3; phase += phases[i++]) axes[i] = turned ? backward_axis(s, i, phase) : forward_axis(s, i, phase);
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
        for (int64_t g = 0; more && g < s.groups; g++) memcpy(bias + g * outputs, more + g * many, many * sizeof(T));
        const Panels panels{outputs / W};
        each_task(s.groups * panels.vectors, size / panels.vectors * 4, [&](int64_t i) {
            const int64_t g = i / panels.vectors, v = i % panels.vectors;
            const T* from = w + g * o * c * taps + v * W * (turned ? taps : c * taps);
            for (int64_t k = 0; k < (turned ? o : 1); k++)
                pack(from + k * c * taps, turned ? taps : c * taps, least(W, many - v * W), tap, taps, channels, k, panels, v,
                     weight + g * size);
        });
    }

    // `real` lines of one vector of outputs, `length` numbers each: the taps of one channel after the other's
    static void pack(const T* w, int64_t length, int64_t real, const Tap* tap, int64_t taps, int64_t channels, int64_t channel,
                     const Panels& panels, int64_t v, T* out) {
        T block[W * W];
        const int64_t panel = panels.holds(v), lanes = panels.size(panel) * W, first = panels.first(panel) * W;
        if (real < W) memset(block, 0, sizeof block);
        for (int64_t k = 0; k < length; k += W) {
            const int64_t count = least(W, length - k);
            transpose(w + k, length, block, W, real, count);
            for (int64_t n = 0; n < count; n++) {
                const Tap& t = tap[(k + n) % taps];
                T* to = out + (t.before * panels.vectors * W + first * t.taps) * channels + v * W - first;
                store<vec<T>>(to + (t.place * channels + channel + (k + n) / taps) * lanes, load<vec<T>>(block + n * W));
            }
        }
    }
};

// A convolution over copies.
template <class T> struct Windows {
    const Packed<T>& packed;
    int64_t groups, channels, many;   // channels of a group, and its outputs
    const T* x;
    T* out;

    static constexpr int W = Lanes<vec<T>>::width;
    const Axis &deep = packed.axes[0], &high = packed.axes[1], &wide = packed.axes[2];
    const Panels panels{parts(many, W)};

    // Note [Stretches of a kernel]
    // A sum goes over the runs of a window that lie together, of each row of each layer. Long sums are made of stretches of at most
    // STRETCH terms: their error is that of the stretches, and the kernels of a stretch, which all rows of outputs at hand go along
    // before the next, stay in the first-level cache.
    struct Reads {
        int64_t rows, runs, run, layer_step, row_step, run_step, step, line;       // step, line: from output to output, and in `made`
    };
    struct Stretch {
        int64_t first, count, from, terms;                                         // runs, and of each so many terms from there on
    };
    static constexpr int64_t STRETCH = 128;

    // x: the copy, where the window of the first output pixel begins; w: N vectors of each term; before: what the sums are added to
    template <int M, int N>
    static __attribute__((noinline)) void tile(const Reads& s, const Stretch& of, const T* x, const T* w, const T* before, int64_t step,
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

    // The copies of a place, and what of the kernel lies inside
    struct Copies {
        Place place;
        int64_t rows, columns, layers, layer;
    };

    // Rows begin .. end of outputs of N vectors, those of all images after each other, as (rows, columns, N vectors)
    template <int N>
    void rows(const Copies& k, int64_t begin, int64_t end, int64_t group, int64_t v, const T* copy, T* made) const {
        const int64_t pixel = groups * channels, line = k.columns * pixel, image = k.layers * k.rows * line;
        const int64_t outputs = panels.vectors * W, taps_deep = deep.phase[k.place.layer % deep.phases].taps;
        const T *w = packed.weight + group * packed.taps * channels * outputs, *more = packed.bias + group * outputs + v * W;
        const bool joined = wide.dilation == 1 && groups == 1;
        const auto each = [&](int64_t index, const Phase& h, const Phase& q, int64_t ph, int64_t pw) {
            const Reads reads{most(1, h.taps), joined ? 1 : most(1, q.taps), joined ? q.taps * channels : channels, k.rows * line,
                              high.dilation * line, wide.dilation * pixel, wide.step * pixel, wide.phases * N * W};
            const T* panel = w + (packed.taps_before[index] * outputs + v * W * taps_deep * h.taps * q.taps) * channels;
            panel += k.layer * h.taps * q.taps * channels * N * W;
            const int64_t all = h.taps && q.taps ? k.layers * h.taps * reads.runs : 0;
            const int64_t together = most(1, STRETCH / most(1, reads.run));
            const int64_t most_terms = parts(reads.run, most(1, parts(reads.run, STRETCH)));
            Stretch s{0, 0, 0, 0};
            for (bool first = true; first || s.first < all; first = false) {
                s.count = least(together, all - s.first), s.terms = least(most_terms, reads.run - s.from);
                for (int64_t i = begin; i < end; i++) {
                    const int64_t r = i % k.place.rows;
                    if (r % high.phases != ph) continue;
                    const T* from = copy + i / k.place.rows * image + (high.first(r) + h.at) * line + q.at * pixel + group * channels;
                    T* to = made + ((i - begin) * k.place.columns + pw) * N * W;
                    in_tiles(parts(k.place.columns - pw, wide.phases), [&](int64_t j, auto m) {
                        T* at = to + j * reads.line;
                        tile<m, N>(reads, s, from + j * reads.step, panel, first ? more : at, first ? 0 : reads.line, at);
                    });
                }
                panel += s.count * s.terms * N * W;
                s.from += s.terms;
                if (s.from >= reads.run) s.from = 0, s.first += s.count;
            }
        };
        for (int64_t ph = 0; ph < least(high.phases, k.place.rows); ph++)
            for (int64_t pw = 0; pw < least(wide.phases, k.place.columns); pw++)
                each((k.place.layer % deep.phases * high.phases + ph) * wide.phases + pw, high.phase[ph], wide.phase[pw], ph, pw);
    }

    // One panel of a group
    template <int N> void piece(const Copies& k, int64_t group, int64_t v, const T* copy, T* made) const {
        const Place& p = k.place;
        const int64_t plane = high.out * wide.out, real = least(N * W, many - v * W), all = p.images * p.rows;
        const int64_t together = most(1, LINES / (int64_t)(p.columns * N * W * sizeof(T)));
        T* to = out + ((p.image * groups + group) * many + v * W) * deep.out * plane + p.layer * plane + p.row * wide.out + p.column;
        for (int64_t begin = 0; begin < all; begin += together) {
            const int64_t end = least(begin + together, all);
            rows<N>(k, begin, end, group, v, copy, made);
            for (int64_t i = begin, count; i < end; i += count) {
                const int64_t r = i % p.rows;
                count = p.columns == wide.out ? least(p.rows - r, end - i) : 1;        // rows that lie side by side
                transpose(made + (i - begin) * p.columns * N * W, N * W, to + i / p.rows * groups * many * deep.out * plane + r * wide.out,
                          deep.out * plane, count * p.columns, real);
            }
        }
    }

    void fill_place(Copies& k, T* copy) const {
        const Place& p = k.place;
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
        const bool large = groups * panels.vectors * W * taps * channels * (int64_t)sizeof(T) > MUCH;
        const int64_t tasks = large ? parts(TASKS / 2, all) : TASKS;
        const Places places = in_pieces(n, deep, high, wide, pixel, 0, large ? 4 * NEAR : NEAR, tasks, large);
        const int64_t count = places.count(), chunks = least(all, parts(TASKS / 2, count));
        int64_t layers = 1;
        for (int64_t p = 0; p < deep.phases; p++) layers = most(layers, deep.phase[p].taps);
        const size_t copy = whole(places.images * layers * high.length(0, places.rows) * wide.length(0, places.columns) * pixel, 64);
        const size_t made = most(LINES, places.columns * WIDE * W * (int64_t)sizeof(T));
        volatile bool short_of_memory = false;
        const int64_t outputs = n * deep.out * high.out * wide.out / count * groups * panels.vectors * W / chunks;
        each_task(count * chunks, outputs * taps * channels / (deep.phases * high.phases * wide.phases), [&](int64_t i) {
            char* room = (char*)own.get(copy + made);
            if (!room) {
                short_of_memory = true;
                return;
            }
            Copies k{places.at(i / chunks), 0, 0, 0, 0};
            fill_place(k, (T*)room);
            for (int64_t j = i % chunks * all / chunks; j < (i % chunks + 1) * all / chunks; j++) {
                const int64_t group = j / panels.of_group(), of = j % panels.of_group();
                if (panels.size(of) == WIDE) piece<WIDE>(k, group, panels.first(of), (T*)room, (T*)(room + copy));
                else piece<1>(k, group, panels.first(of), (T*)room, (T*)(room + copy));
            }
            own.give_back();
        });
        return !short_of_memory;
    }
};

// Whether Planes are better, and have done it: if vectors of outputs of a group would have more empty lanes, or if there is little to
// sum up for each output. A vector of them alone, as wide as a panel can be, is fed half as fast as it is multiplied.
template <class T, bool TURNED>
bool by_planes(const Volume& s, int64_t channels, int64_t many, const T* x, const T* w, T* out) {
    constexpr int64_t W = Lanes<vec<T>>::width, MOST = 64, SHORT = 16;                         // of a stride; of a sum
    if (s.size[0] * s.kernel[0] * s.out[0] != 1 || s.pad[0] || s.stride[1] > MOST || s.stride[2] > MOST) return false;
    Phase phases[2][MOST];
    const auto axis = [&](int i) { return TURNED ? backward_axis(s, i, phases[i - 1]) : forward_axis(s, i, phases[i - 1]); };
    Planes<T> planes{s, TURNED, axis(1), axis(2), s.groups, channels, many, x, w, out};
    const bool few = many <= W && 4 * many * planes.lanes() <= 5 * W * planes.high.out * planes.wide.out;
    return (few || channels * s.kernel[1] * s.kernel[2] <= SHORT) && planes.run(s.n, (const T*)s.bias, TASKS);
}

template <class T, bool TURNED> bool by_winograd(const Volume& s, int64_t channels, int64_t many, const T* x, const T* w, T* out) {
    if (s.stride[1] * s.stride[2] != 1) return false;
    Phase phases[2];
    const auto axis = [&](int i) { return TURNED ? backward_axis(s, i, phases + i - 1) : forward_axis(s, i, phases + i - 1); };
    const Axis high = axis(1), wide = axis(2);
    if (!FourByFour<T>::applies(s, high, wide, channels, many)) return false;
    const int64_t inputs = s.n * channels * (TURNED ? s.out[1] * s.out[2] : s.size[1] * s.size[2]);
    if (!even_enough(x, inputs, w, 9 * channels * many, 9 * channels)) return false;
    return Winograd<T>({high, wide, s.n, channels, many, x}, TURNED, w, (const T*)s.bias, out).run();
}

// The gradient of the input is a convolution too, of the output's gradient with the turned kernel: see Note [Phases]. A bias is added
// to either: a transposed convolution is such a gradient.
template <class T, bool TURNED> bool convolve(const Volume* shape, const void* a, const void* b, void* made) {
    const Volume& s = *shape;
    const int64_t c = s.c / s.groups, o = s.o / s.groups, channels = TURNED ? o : c, many = TURNED ? c : o;
    if (by_planes<T, TURNED>(s, channels, many, (const T*)a, (const T*)b, (T*)made)) return true;
    if (by_winograd<T, TURNED>(s, channels, many, (const T*)a, (const T*)b, (T*)made)) return true;
    const Packed<T> packed(s, (const T*)b, (const T*)s.bias, TURNED);
    if (!packed.weight) return false;
    const Windows<T> windows{packed, s.groups, channels, many, (const T*)a, (T*)made};
    const bool filled = windows.run(s.n);
    shared.give_back();
    return filled;
}

template <class T> bool to_weight(const Volume* shape, const void* a, const void* b, void* made) {
    const Volume& s = *shape;
    Phase phases[2];
    const Axis high = forward_axis(s, 1, phases), wide = forward_axis(s, 2, phases + 1);
    const int64_t inputs = s.n * s.c * s.size[1] * s.size[2], outputs = s.n * s.o * s.out[1] * s.out[2];
    if (FourByFour<T>::applies(s, high, wide, s.c, s.o) &&
        even_enough((const T*)a, inputs, (const T*)b, outputs, s.n * s.out[1] * s.out[2]) &&
        WinogradWeight<T>({high, wide, s.n, s.c, s.o, (const T*)a}, (const T*)b, (T*)made).run())
        return true;
    return weight_grad<T>(shape, a, b, made);
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
