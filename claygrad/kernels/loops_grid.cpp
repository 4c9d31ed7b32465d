// Samples of planes at the points of a grid, a block of points at a time: indices and weights of their neighbours along each
// axis first, which serve all channels. claygrad/ops/grid.py says what they are, step by step.
#include "grid.hpp"

#include <math.h>
#include <string.h>

#include "families.hpp"
#include "scratch.hpp"
#include "vec.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr int B = 64;                    // points at a time
enum { LINEAR, NEAREST, CUBIC };
enum { ZEROS, BORDER, REFLECTION };

// An index is as wide as a number, so that loops over both stay in step.
template <class T> struct IndexOf { using type = int64_t; };
template <> struct IndexOf<float> { using type = int32_t; };

// The neighbours of the points of a block along an axis
template <class T> struct AxisOf {
    using I = typename IndexOf<T>::type;
    I index[4][B], valid[4][B];          // 0 and -1
    T weight[4][B], steep[4][B];         // and the weight's derivative
};

template <class T> void reflect(T* at, T* turn, int64_t n, bool align) {
    const T low = align ? (T)0 : (T)-0.5, span = align ? (T)(n - 1) : (T)n;
    for (int j = 0; j < B; j++) {
        if (span == 0) {
            at[j] = turn[j] = 0;
            continue;
        }
        T away = at[j] - low;
        T sign = away < 0 ? (T)-1 : (T)1;
        away = away < 0 ? -away : away;
        const T rest = std::fmod(away, span), flips = std::floor(away / span);
        const bool odd = std::fmod(flips, (T)2) == 1;
        at[j] = (odd ? span - rest : rest) + low;
        turn[j] = odd ? -sign : sign;
    }
}

// Moved into the plane as the padding says; slope: by how much they still follow the grid.
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

template <class T> void neighbours(const T* points, int64_t stride, int count, int64_t n, const GridShape& s, AxisOf<T>& out) {
    T at[B], slope[B], part[B], first[B];
    const T half = s.align ? (T)((double)(n - 1) / 2) : (T)((double)n / 2);
    for (int j = 0; j < B; j++) {
        const T x = points[(j < count ? j : 0) * stride];
        at[j] = s.align ? (x + 1) * half : ((x + 1) * (T)n - 1) * (T)0.5;
        slope[j] = half;
    }
    if (s.mode != CUBIC) move_inside(at, slope, n, s.align, s.padding);
    if (s.mode == NEAREST) {
        for (int j = 0; j < B; j++) first[j] = std::rint(at[j]), out.weight[0][j] = 1, out.steep[0][j] = 0;
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

// All neighbours of the points of a block: K of them
template <class T, int K> struct Block {
    using I = typename IndexOf<T>::type;
    AxisOf<T> axis[3];
    I index[K][B], valid[K][B];
    T weight[K][B];
    int number[K][3];                    // of a neighbour along each axis

    void find(const T* points, int count, const GridShape& s) {
        const int each = s.mode == NEAREST ? 1 : s.mode == LINEAR ? 2 : 4, lead = 3 - s.axes;
        for (int d = lead; d < 3; d++) neighbours<T>(points + (2 - d), s.axes, count, s.size[d], s, axis[d]);
        for (int k = 0; k < K; k++) {
            for (int d = 2, left = k; d >= lead; d--, left /= each) number[k][d] = left % each;
            const AxisOf<T>&first = axis[lead], &second = axis[lead + 1], &third = axis[2];
            const int a = number[k][lead], b = number[k][lead + 1], c = number[k][2];
            const I height = (I)s.size[lead + 1], width = (I)s.size[2];
            for (int j = 0; j < B; j++) {
                index[k][j] = first.index[a][j] * height + second.index[b][j];
                valid[k][j] = first.valid[a][j] & second.valid[b][j];
                weight[k][j] = first.weight[a][j] * second.weight[b][j];
            }
            if (s.axes == 3)
                for (int j = 0; j < B; j++) {
                    index[k][j] = index[k][j] * width + third.index[c][j];
                    valid[k][j] &= third.valid[c][j];
                    weight[k][j] *= third.weight[c][j];
                }
        }
    }
};

template <class T, int K> void sample_block(const Block<T, K>& b, const T* plane, T* out, int count, bool all) {
    T sum[B];
    for (int j = 0; j < B; j++) {
        T total = 0;
#pragma GCC unroll 16
        for (int k = 0; k < K; k++) {
            const T value = plane[b.index[k][j]];
            total += (all || b.valid[k][j] ? value : (T)0) * b.weight[k][j];
        }
        sum[j] = total;
    }
    memcpy(out, sum, sizeof(T) * (size_t)count);
}

template <class T, int K> void sampled(const GridShape& s, const T* grid, const T* input, T* out) {
    const int64_t plane = s.size[0] * s.size[1] * s.size[2], blocks = (s.points + B - 1) / B;
    each_task(s.batch * blocks, B * K * (s.channels + 16), [=](int64_t task) {
        const int64_t n = task / blocks, first = task % blocks * B;
        const int count = (int)(s.points - first < B ? s.points - first : B);
        Block<T, K> b;
        b.find(grid + (n * s.points + first) * s.axes, count, s);
        for (int64_t c = 0; c < s.channels; c++) {
            const T* from = input + (n * s.channels + c) * plane;
            T* to = out + (n * s.channels + c) * s.points + first;
            if (s.padding == ZEROS) sample_block<T, K>(b, from, to, count, false);
            else sample_block<T, K>(b, from, to, count, true);
        }
    });
}

template <class T, int K> void spread_out(const GridShape& s, const T* grid, const T* g, T* made) {
    const int64_t plane = s.size[0] * s.size[1] * s.size[2], some = 8, parts = (s.channels + some - 1) / some;
    each_task(s.batch * parts, s.points * K * some * 4, [=](int64_t task) {
        const int64_t n = task / parts, low = task % parts * some, high = low + some < s.channels ? low + some : s.channels;
        memset((void*)(made + (n * s.channels + low) * plane), 0, sizeof(T) * (size_t)((high - low) * plane));
        Block<T, K> b;
        for (int64_t first = 0; first < s.points; first += B) {
            const int count = (int)(s.points - first < B ? s.points - first : B);
            b.find(grid + (n * s.points + first) * s.axes, count, s);
            for (int64_t c = low; c < high; c++) {
                const T* from = g + (n * s.channels + c) * s.points + first;
                T* to = made + (n * s.channels + c) * plane;
                for (int j = 0; j < count; j++)
#pragma GCC unroll 16
                    for (int k = 0; k < K; k++)
                        if (b.valid[k][j]) to[b.index[k][j]] += b.weight[k][j] * from[j];
            }
        }
    });
}

template <class T, int K> void along_channel(const Block<T, K>& b, const T* plane, const T* g, T (*along)[B]) {
    for (int j = 0; j < B; j++)
#pragma GCC unroll 16
        for (int k = 0; k < K; k++) {
            const T value = plane[b.index[k][j]];
            along[k][j] += (b.valid[k][j] ? value : (T)0) * g[j];
        }
}

template <class T, int K> void slopes(const GridShape& s, const T* grid, const T* g, const T* input, T* made) {
    const int64_t plane = s.size[0] * s.size[1] * s.size[2], blocks = (s.points + B - 1) / B;
    each_task(s.batch * blocks, B * K * (s.channels + 16), [=](int64_t task) {
        const int64_t n = task / blocks, first = task % blocks * B;
        const int count = (int)(s.points - first < B ? s.points - first : B), lead = 3 - s.axes;
        Block<T, K> b;
        b.find(grid + (n * s.points + first) * s.axes, count, s);
        T along[K][B] = {}, values[B] = {};
        for (int64_t c = 0; c < s.channels; c++) {
            memcpy(values, g + (n * s.channels + c) * s.points + first, sizeof(T) * (size_t)count);
            along_channel<T, K>(b, input + (n * s.channels + c) * plane, values, along);
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
            T* to = made + (n * s.points + first) * s.axes + (2 - d);
            for (int j = 0; j < count; j++) to[j * s.axes] = sum[j];
        }
    });
}

enum Work { SAMPLE, SPREAD, SLOPE };

template <class T, int K> void work(int what, const GridShape& s, const T* grid, const T* a, const T* b, T* made) {
    if (what == SAMPLE) sampled<T, K>(s, grid, a, made);
    else if (what == SPREAD) spread_out<T, K>(s, grid, a, made);
    else slopes<T, K>(s, grid, a, b, made);
}

template <class T, int WHAT> bool run(const GridShape* s, const void* grid, const void* a, const void* b, void* made) {
    const int64_t plane = s->size[0] * s->size[1] * s->size[2];
    if (plane > (int64_t)1 << (sizeof(T) == 4 ? 24 : 30)) return false;             // numbers count elements exactly up to there
    const T *points = (const T*)grid, *x = (const T*)a, *y = (const T*)b;
    T* out = (T*)made;
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
