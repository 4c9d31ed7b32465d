// grid_sample, a block of points at a time: first the indices and weights of each point's neighbours along each axis, which serve all
// channels. claygrad/ops/grid.py defines them step by step.
#include "nn/grid_sample.hpp"

#include <math.h>
#include <string.h>

#include "platform/table.hpp"
#include "platform/scratch.hpp"
#include "simd/gather.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr int B = 64;                    // points at a time
enum { LINEAR, NEAREST, CUBIC };
enum { ZEROS, BORDER, REFLECTION };

// The neighbours of the points of a block along an axis
template <class T> struct AxisOf {
    using I = typename IndexOf<T>::type;
    I index[4][B], valid[4][B];          // 0 and -1
    T weight[4][B], steep[4][B];         // derivative of the weight
};

template <class T> void reflect(T* at, T* turn, int64_t n, bool align) {
    const T low = align ? (T)0 : (T)-0.5, span = align ? (T)(n - 1) : (T)n, far = span * 65536;
    if (span == 0) {
        for (int j = 0; j < B; j++) at[j] = turn[j] = 0;
        return;
    }
    T rest[B];
    int beyond = 0;
    for (int j = 0; j < B; j++) {
        const T away = at[j] - low, size = away < 0 ? -away : away, flips = std::floor(size / span);
        const bool odd = flips - 2 * std::floor(flips / 2) == 1;
        rest[j] = odd ? (flips + 1) * span - size : size - flips * span;
        turn[j] = (away < 0) != odd ? (T)-1 : (T)1;
        beyond += !(size < far);
    }
    if (beyond)                                       // if the products above are not exact
        for (int j = 0; j < B; j++) {
            const T away = at[j] - low, size = away < 0 ? -away : away, left = std::fmod(size, span);
            if (!(size < far)) rest[j] = std::fmod(std::floor(size / span), (T)2) == 1 ? span - left : left;
        }
    for (int j = 0; j < B; j++) at[j] = rest[j] + low;
}

// Coordinates moved into the plane by the padding mode; slope: their derivative.
template <class T> void move_inside(T* at, T* slope, int64_t n, bool align, int padding) {
    if (padding == ZEROS) return;
    if (padding == REFLECTION) {
        T turn[B];
        reflect(at, turn, n, align);
        for (int j = 0; j < B; j++) slope[j] *= turn[j];
    }
    const T last = (T)(n - 1);
    for (int j = 0; j < B; j++) {
        slope[j] = (at[j] > 0) & (at[j] < last) ? slope[j] : (T)0;
        T x = at[j] != at[j] ? (T)0 : at[j];
        x = x < 0 ? (T)0 : x;
        at[j] = x > last ? last : x;
    }
}

template <class T> void bound(const T* at, int64_t n, typename IndexOf<T>::type* index, typename IndexOf<T>::type* valid) {
    using I = typename IndexOf<T>::type;
    const T last = (T)(n - 1);
    for (int j = 0; j < B; j++) {
        const bool in = (at[j] >= 0) & (at[j] <= last);
        index[j] = (I)(in ? at[j] : (T)0);
        valid[j] = in ? (I)-1 : (I)0;
    }
}

// The kernel of cubic convolution and its derivative
template <class T> void cubic(T x, T* value, T* steep) {
    const T a = (T)-0.75, side = x < 0 ? (T)-1 : (T)1;
    x = x < 0 ? -x : x;
    const bool far = x > 1;
    *value = far ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : ((a + 2) * x - (a + 3)) * x * x + 1;
    *steep = side * (far ? (3 * a * x - 10 * a) * x + 8 * a : (3 * (a + 2) * x - 2 * (a + 3)) * x);
}

// Note [Pairs]
// The two neighbours along the last axis are contiguous and are read together. If one of them is outside the plane, the nearest pair
// inside is read instead; the valid neighbour is then the other element of that pair.
template <class T> void as_pair(int64_t n, AxisOf<T>& out, int a) {
    using I = typename IndexOf<T>::type;
    const int b = a + 1;
    for (int j = 0; j < B; j++) {
        const bool before = !out.valid[a][j] & (out.valid[b][j] != 0), behind = (out.valid[a][j] != 0) & !out.valid[b][j];
        const T first = out.weight[a][j], second = out.weight[b][j], steep = out.steep[a][j], next = out.steep[b][j];
        out.index[a][j] = behind ? (I)(n - 2) : before ? (I)0 : out.index[a][j];
        out.index[b][j] = out.index[a][j] + 1;
        out.valid[a][j] = behind ? (I)0 : before ? (I)-1 : out.valid[a][j];
        out.valid[b][j] = behind ? (I)-1 : before ? (I)0 : out.valid[b][j];
        out.weight[a][j] = before | behind ? second : first;
        out.weight[b][j] = before | behind ? first : second;
        out.steep[a][j] = before | behind ? next : steep;
        out.steep[b][j] = before | behind ? steep : next;
    }
}

// Whether neighbours moved by padding are still contiguous
template <class T> bool in_pairs(const AxisOf<T>& of) {
    int apart = 0;
    for (int j = 0; j < B; j++) apart += (of.index[1][j] != of.index[0][j] + 1) | (of.index[3][j] != of.index[2][j] + 1);
    return apart == 0;
}

// Splits the coordinates of points by axis, x first; the last block may have fewer points.
template <class T> void coordinates(const T* points, int count, int axes, T (*at)[B]) {
#if defined(CLAY_VECTOR_BYTES)
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    if (count == B && axes == 2) {
        for (int j = 0; j < B; j += W) {
            V x, y;
            separate(load<V>(points + 2 * j), load<V>(points + 2 * j + W), x, y);
            store<V>(at[0] + j, x), store<V>(at[1] + j, y);
        }
        return;
    }
#endif
    for (int j = 0; j < B; j++)
        for (int d = 0; d < axes; d++) at[d][j] = j < count ? points[j * axes + d] : (T)0;
}

template <class T> void neighbours(T* at, int64_t n, const GridShape& s, AxisOf<T>& out) {
    T slope[B], part[B], first[B];
    const T half = s.align ? (T)((double)(n - 1) / 2) : (T)((double)n / 2);
    for (int j = 0; j < B; j++) {
        const T x = at[j];
        at[j] = s.align ? (x + 1) * half : ((x + 1) * (T)n - 1) * (T)0.5;
        slope[j] = half;
    }
    if (s.mode != CUBIC) move_inside(at, slope, n, s.align, s.padding);
    if (s.mode == NEAREST) {
        for (int j = 0; j < B; j++) first[j] = std::rint(at[j]);
        return bound(first, n, out.index[0], out.valid[0]);
    }
    for (int j = 0; j < B; j++) first[j] = std::floor(at[j]), part[j] = at[j] - first[j];
    if (s.mode == LINEAR) {
        bound(first, n, out.index[0], out.valid[0]);
        for (int j = 0; j < B; j++) {
            first[j] += 1;
            out.weight[0][j] = 1 - part[j], out.weight[1][j] = part[j];
            out.steep[0][j] = -slope[j], out.steep[1][j] = slope[j];
        }
        return bound(first, n, out.index[1], out.valid[1]);
    }
    for (int i = 0; i < 4; i++) {
        T moved[B], unused[B];
        for (int j = 0; j < B; j++) {
            moved[j] = first[j] + (T)(i - 1), unused[j] = 1;
            cubic(part[j] - (T)(i - 1), &out.weight[i][j], &out.steep[i][j]);
            out.steep[i][j] *= slope[j];
        }
        move_inside(moved, unused, n, s.align, s.padding);
        bound(moved, n, out.index[i], out.valid[i]);
    }
}

// Note [Small images]
// Images with few points are processed together, so that blocks are full: their points are concatenated, and indices count from the
// first of these images.
int64_t images_per_task(const GridShape& s) {
    constexpr int64_t FULL = 16 * B, FAR = 1 << 24;
    const int64_t many = FULL / s.points + 1, largest = FAR / (s.channels * s.size[0] * s.size[1] * s.size[2]), n = many < largest ? many : largest;
    return n < 1 || s.points >= FULL ? 1 : n < s.batch ? n : s.batch;
}

// A block of `count` points, from point `first` of these images on
struct Part {
    int64_t image, images, first;
    int count;

    Part(const GridShape& s, int64_t from, int64_t together, int64_t begin) : image(from), first(begin) {
        images = s.batch - from < together ? s.batch - from : together;
        const int64_t left = images * s.points - first;
        count = left < B ? (int)(left > 0 ? left : 0) : B;
    }
    // f(image, the first point, from, to): the points of the block that lie in one image
    template <class F> void runs(const GridShape& s, F f) const {
        int64_t n = images == 1 ? 0 : first / s.points, point = first - n * s.points;
        for (int j = 0; j < count; n++, point = 0) {
            const int end = s.points - point < count - j ? j + (int)(s.points - point) : count;
            f(n, point, j, end);
            j = end;
        }
    }
    // Values of one channel at the points, between memory and the block
    template <class T> void read(const GridShape& s, const T* from, int64_t channel, T* block) const {
        runs(s, [&](int64_t n, int64_t point, int j, int end) {
            memcpy(block + j, from + ((image + n) * s.channels + channel) * s.points + point, sizeof(T) * (size_t)(end - j));
        });
    }
    template <class T> void write(const GridShape& s, T* to, int64_t channel, const T* block) const {
        runs(s, [&](int64_t n, int64_t point, int j, int end) {
            memcpy(to + ((image + n) * s.channels + channel) * s.points + point, block + j, sizeof(T) * (size_t)(end - j));
        });
    }
};

// All neighbours of the points of a block: K of them
template <class T, int K> struct Block {
    using I = typename IndexOf<T>::type;
    AxisOf<T> axis[3];
    I index[K][B], valid[K][B];
    T weight[K][B];                      // of several
    int number[K][3];                    // the neighbour's number along each axis
    bool paired;                         // index[2 k + 1] = index[2 k] + 1 (Note [Pairs])

    void find(const Part& at, const T* grid, const GridShape& s) {
        const T* points = grid + (at.image * s.points + at.first) * s.axes;
        const int each = s.mode == NEAREST ? 1 : s.mode == LINEAR ? 2 : 4, lead = 3 - s.axes;
        T place[3][B];
        coordinates(points, at.count, s.axes, place);
        for (int d = lead; d < 3; d++) neighbours<T>(place[2 - d], s.size[d], s, axis[d]);
        paired = s.mode != NEAREST && s.size[2] > 1 && (s.mode == LINEAR || s.padding == ZEROS || in_pairs(axis[2]));
        if (paired && (s.mode == LINEAR || s.padding == ZEROS))
            for (int i = 0; i < each; i += 2) as_pair(s.size[2], axis[2], i);
        for (int k = 0; k < K; k++) {
            for (int d = 2, left = k; d >= lead; d--, left /= each) number[k][d] = left % each;
            const AxisOf<T>&first = axis[lead], &second = axis[lead + 1], &third = axis[2];
            const int a = number[k][lead], b = number[k][lead + 1], c = number[k][2];
            const I height = (I)s.size[lead + 1], width = (I)s.size[2];
            for (int j = 0; j < B; j++) {
                index[k][j] = first.index[a][j] * height + second.index[b][j];
                valid[k][j] = first.valid[a][j] & second.valid[b][j];
                if (K > 1) weight[k][j] = first.weight[a][j] * second.weight[b][j];
            }
            if (s.axes == 3)
                for (int j = 0; j < B; j++) {
                    index[k][j] = index[k][j] * width + third.index[c][j];
                    valid[k][j] &= third.valid[c][j];
                    if (K > 1) weight[k][j] *= third.weight[c][j];
                }
        }
        if (at.images == 1) return;
        I image[B] = {};
        at.runs(s, [&](int64_t n, int64_t, int from, int to) {
            for (int j = from; j < to; j++) image[j] = (I)(n * s.channels * s.size[0] * s.size[1] * s.size[2]);
        });
        for (int k = 0; k < K; k++)
            for (int j = 0; j < B; j++) index[k][j] += image[j];
    }
};

// Those of the values that are there
template <class T> CLAY_INLINE vec<T> kept(vec<T> x, const typename IndexOf<T>::type* valid) {
    using V = vec<T>;
    if constexpr (Lanes<V>::width == 1) {
        return *valid ? x : (V)0;
    } else {
        typedef decltype(V{} > V{}) Mask;
        Mask m;
        memcpy(&m, valid, sizeof m);
        return (V)((Mask)x & m);
    }
}

template <class T, int K> void sample_block(const Block<T, K>& b, const T* plane, T* sum) {
    using V = vec<T>;
    for (int j = 0; j < B; j += Lanes<V>::width) {
        V total = splat<V>(0);
        if (K == 1) {
            total = kept<T>(gather<T>(plane, &b.index[0][j]), &b.valid[0][j]);
        } else if (b.paired) {
#pragma GCC unroll 8
            for (int k = 0; k < K / 2; k++) {
                V x, y;
                gather_pairs<T>(plane, &b.index[2 * k][j], &x, &y);
                total = total + kept<T>(x, &b.valid[2 * k][j]) * load<V>(&b.weight[2 * k][j]);
                total = total + kept<T>(y, &b.valid[2 * k + 1][j]) * load<V>(&b.weight[2 * k + 1][j]);
            }
        } else {
#pragma GCC unroll 16
            for (int k = 0; k < K; k++)
                total = total + kept<T>(gather<T>(plane, &b.index[k][j]), &b.valid[k][j]) * load<V>(&b.weight[k][j]);
        }
        store<V>(sum + j, total);
    }
}

template <class T, int K> void sampled(const GridShape& s, const T* grid, const T* input, T* out) {
    const int64_t plane = s.size[0] * s.size[1] * s.size[2], together = images_per_task(s);
    const int64_t groups = ceil_div(s.batch, together), blocks = ceil_div(together * s.points, B);
    each_task(groups * blocks, B * K * (s.channels + 16), [=](int64_t task) {
        const Part at(s, task / blocks * together, together, task % blocks * B);
        if (!at.count) return;
        Block<T, K> b;
        b.find(at, grid, s);
        for (int64_t c = 0; c < s.channels; c++) {
            T sum[B];
            sample_block<T, K>(b, input + (at.image * s.channels + c) * plane, sum);
            at.write(s, out, c, sum);
        }
    });
}

template <class T, int K> void spread_out(const GridShape& s, const T* grid, const T* g, T* out) {
    const int64_t plane = s.size[0] * s.size[1] * s.size[2], some = 8, parts = ceil_div(s.channels, some);
    const int64_t together = images_per_task(s), groups = ceil_div(s.batch, together);
    each_task(groups * parts, together * s.points * K * some * 4, [=](int64_t task) {
        const int64_t n = task / parts * together, low = task % parts * some, high = low + some < s.channels ? low + some : s.channels;
        const int64_t end = n + together < s.batch ? n + together : s.batch;
        for (int64_t i = n; i < end; i++)
            memset((void*)(out + (i * s.channels + low) * plane), 0, sizeof(T) * (size_t)((high - low) * plane));
        Block<T, K> b;
        for (Part at(s, n, together, 0); at.count; at = Part(s, n, together, at.first + B)) {
            b.find(at, grid, s);
            for (int64_t c = low; c < high; c++) {
                T* to = out + (n * s.channels + c) * plane;
                T value[B] = {}, part[K][B];
                at.read(s, g, c, value);
                for (int k = 0; k < K; k++)
                    for (int j = 0; j < B; j++) {
                        const T x = K > 1 ? b.weight[k][j] * value[j] : value[j];
                        part[k][j] = b.valid[k][j] ? x : (T)0;         // adding 0 is cheaper than a branch
                    }
                for (int j = 0; j < at.count; j++)
#pragma GCC unroll 16
                    for (int k = 0; k < K; k++) to[b.index[k][j]] += part[k][j];
            }
        }
    });
}

template <class T, int K> void along_channel(const Block<T, K>& b, const T* plane, const T* g, T (*along)[B]) {
    using V = vec<T>;
    auto add = [&](int k, int j, V x) {
        store<V>(&along[k][j], load<V>(&along[k][j]) + kept<T>(x, &b.valid[k][j]) * load<V>(g + j));
    };
    for (int j = 0; j < B; j += Lanes<V>::width)
        if (K > 1 && b.paired) {
#pragma GCC unroll 8
            for (int k = 0; k < K / 2; k++) {
                V x, y;
                gather_pairs<T>(plane, &b.index[2 * k][j], &x, &y);
                add(2 * k, j, x), add(2 * k + 1, j, y);
            }
        } else {
            for (int k = 0; k < K; k++) add(k, j, gather<T>(plane, &b.index[k][j]));
        }
}

template <class T, int K> void slopes(const GridShape& s, const T* grid, const T* g, const T* input, T* out) {
    if (s.mode == NEAREST) {                          // nearest: the gradient is zero
        memset((void*)out, 0, sizeof(T) * (size_t)(s.batch * s.points * s.axes));
        return;
    }
    const int64_t plane = s.size[0] * s.size[1] * s.size[2], together = images_per_task(s);
    const int64_t groups = ceil_div(s.batch, together), blocks = ceil_div(together * s.points, B);
    each_task(groups * blocks, B * K * (s.channels + 16), [=](int64_t task) {
        const Part at(s, task / blocks * together, together, task % blocks * B);
        if (!at.count) return;
        const int lead = 3 - s.axes;
        Block<T, K> b;
        b.find(at, grid, s);
        T along[K][B] = {}, values[B] = {};
        for (int64_t c = 0; c < s.channels; c++) {
            at.read(s, g, c, values);
            along_channel<T, K>(b, input + (at.image * s.channels + c) * plane, values, along);
        }
        for (int d = lead; d < 3; d++) {
            T sum[B] = {};
            for (int k = 0; k < K; k++) {
                T weight[B];
                for (int j = 0; j < B; j++) weight[j] = b.axis[d].steep[b.number[k][d]][j];
                for (int e = lead; e < 3; e++)
                    if (e != d)
                        for (int j = 0; j < B; j++) weight[j] *= b.axis[e].weight[b.number[k][e]][j];
                for (int j = 0; j < B; j++) sum[j] += along[k][j] * weight[j];
            }
            T* to = out + (at.image * s.points + at.first) * s.axes + (2 - d);
            for (int j = 0; j < at.count; j++) to[j * s.axes] = sum[j];
        }
    });
}

enum Work { SAMPLE, SPREAD, SLOPE };

template <class T, int K> void work(int what, const GridShape& s, const T* grid, const T* a, const T* b, T* out) {
    if (what == SAMPLE) sampled<T, K>(s, grid, a, out);
    else if (what == SPREAD) spread_out<T, K>(s, grid, a, out);
    else slopes<T, K>(s, grid, a, b, out);
}

template <class T, int WHAT> bool run(const GridShape* s, const void* grid, const void* a, const void* b, void* result) {
    const int64_t plane = s->size[0] * s->size[1] * s->size[2];
    if (plane > (int64_t)1 << (sizeof(T) == 4 ? 24 : 30)) return false;             // indices are exact up to there
    const T *points = (const T*)grid, *x = (const T*)a, *y = (const T*)b;
    T* out = (T*)result;
    if (s->mode == NEAREST) work<T, 1>(WHAT, *s, points, x, y, out);
    else if (s->mode == CUBIC) work<T, 16>(WHAT, *s, points, x, y, out);
    else if (s->axes == 2) work<T, 4>(WHAT, *s, points, x, y, out);
    else work<T, 8>(WHAT, *s, points, x, y, out);
    return true;
}

}  // namespace

const Kernel grid_kernels[] = {
    {"sample", F32, (void*)(grid_fn)run<float, SAMPLE>}, {"sample", F64, (void*)(grid_fn)run<double, SAMPLE>},
    {"spread", F32, (void*)(grid_fn)run<float, SPREAD>}, {"spread", F64, (void*)(grid_fn)run<double, SPREAD>},
    {"slope", F32, (void*)(grid_fn)run<float, SLOPE>},   {"slope", F64, (void*)(grid_fn)run<double, SLOPE>},
};
CLAY_COUNT(grid)

}  // namespace CLAY_ISA
}  // namespace clay
