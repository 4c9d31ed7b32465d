// Depthwise convolution: every channel on its own, a vector of neighbouring windows at a time.
//
// Note [Lines in phases]
// A plane is copied with its padding. Each row of the copy is split into as many parts ("phases") as the horizontal stride: column c
// lies at c / phases in part c % phases. The inputs that neighbouring windows multiply by one kernel element are then contiguous,
// whatever the stride. The padding is zeroed once for all planes of a thread.
#include <string.h>

#include "conv/conv.hpp"
#include "platform/table.hpp"
#include "platform/scratch.hpp"
#include "simd/vec.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

thread_local Room room;

template <class T> void copy_line(const T* from, T* to, int64_t n) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    int64_t i = 0;
    for (; i + W <= n; i += W) store<V>(to + i, load<V>(from + i));
    if (W > 1 && i < n) store_part<V>(to + i, load_part<V>(from + i, n - i), n - i);
}

// `oh` by `ow` windows with strides `step_h` and `phases` over a padded plane, and the scratch memory they need.
template <class T> struct Windows {
    using V = vec<T>;
    static constexpr int W = Lanes<V>::width;
    int64_t oh, ow, kh, kw, step_h, phases, dilation_h, dilation_w;
    int64_t rows, columns, pitch, line;
    T *plane, *weight, *sums;            // sums: a vector for each kernel element
    int64_t* place;                      // for each kernel column, its offset in a row of the copy

    Windows(int64_t oh_, int64_t ow_, const Convolution& s, int64_t stride_h, int64_t stride_w)
        : oh(oh_), ow(ow_), kh(s.kh), kw(s.kw), step_h(stride_h), phases(stride_w), dilation_h(s.dilation_h),
          dilation_w(s.dilation_w) {
        rows = (oh - 1) * step_h + dilation_h * (kh - 1) + 1;
        columns = (ow - 1) * phases + dilation_w * (kw - 1) + 1;
        pitch = ceil_div(columns, phases);
        line = pitch * phases;
    }

    bool get_room() {
        const int64_t size = (rows * line + 2 * W + 15) / 16 * 16, taps = (kh * kw + 15) / 16 * 16;
        char* block = (char*)room.get((size + taps + taps * W) * sizeof(T) + kw * sizeof(int64_t));
        if (!block) return false;
        plane = (T*)block, weight = plane + size, sums = weight + taps, place = (int64_t*)(sums + taps * W);
        memset(plane, 0, size * sizeof(T));
        for (int64_t z = 0; z < kw; z++) place[z] = z * dilation_w % phases * pitch + z * dilation_w / phases;
        return true;
    }

    // Copy x (h, w), with its elements `step` apart, to row `top` and column `left` of the plane (cropped if negative)
    void fill(const T* x, int64_t h, int64_t w, int64_t top, int64_t left, int64_t step_r, int64_t step_q) const {
        int64_t low = left < 0 ? ceil_div(-left, step_q) : 0;
        int64_t high = columns > left ? ceil_div(columns - left, step_q) : 0;
        if (high > w) high = w;
        for (int64_t r = 0; r < h; r++) {
            const int64_t row = top + r * step_r;
            if (row < 0 || row >= rows || low >= high) continue;
            T* to = plane + row * line;
            const T* from = x + r * w;
            if (phases == 1 && step_q == 1) copy_line(from + low, to + left + low, high - low);
            else if (phases == 1)
                for (int64_t q = low; q < high; q++) to[left + q * step_q] = from[q];
            else
                for (int64_t first = low; first < low + phases && first < high; first++) {     // here step_q is 1
                    T* part = to + (left + first) % phases * pitch + (left + first) / phases;
                    for (int64_t q = first; q < high; q += phases) *part++ = from[q];
                }
        }
    }

    // K: the kernel is K by K, or of any size if 0; R rows of windows at a time
    template <int K, int R> void correlate_rows(int64_t r, T* out, bool add, V more) const {
        const int64_t tall = K ? K : kh, wide = K ? K : kw;
        const T* x = plane + r * step_h * line;
        out += r * ow;
        for (int64_t q = 0; q < ow; q += W) {
            V sum[R];
            for (int i = 0; i < R; i++) sum[i] = splat<V>(0);
#pragma GCC unroll 3
            for (int64_t y = 0; y < tall; y++)
#pragma GCC unroll 3
                for (int64_t z = 0; z < wide; z++) {
                    const V factor = splat<V>(weight[y * wide + z]);
                    const T* from = x + y * dilation_h * line + place[z] + q;
#pragma GCC unroll 4
                    for (int i = 0; i < R; i++) sum[i] = multiply_add(factor, load<V>(from + i * step_h * line), sum[i]);
                }
            const bool whole = ow - q >= W;
            for (int i = 0; i < R; i++) {
                T* to = out + i * ow + q;
                if (whole) store<V>(to, sum[i] + (add ? load<V>(to) : more));
                else store_part<V>(to, sum[i] + (add ? load_part<V>(to, ow - q) : more), ow - q);
            }
        }
    }

    template <int K> void correlate_all(T* out, bool add, V more) const {
        int64_t r = 0;
        for (; r + 4 <= oh; r += 4) correlate_rows<K, 4>(r, out, add, more);
        for (; r < oh; r++) correlate_rows<K, 1>(r, out, add, more);
    }

    // out (oh, ow) = windows times kernel, plus the old out (add) or plus a number
    void correlate(T* out, bool add, T number) const {
        if (kh == 3 && kw == 3) correlate_all<3>(out, add, splat<V>(number));
        else correlate_all<0>(out, add, splat<V>(number));
    }

    // sums += g times the inputs of kernel elements y0 .. y0 + Y by z0 .. z0 + Z. Lanes past the end of a row are read as
    // zeros in both operands: the memory there may hold infinities.
    template <int Y, int Z> void add_products(const T* g, int64_t y0, int64_t z0) const {
        V total[Y][Z];
        for (int y = 0; y < Y; y++)
            for (int z = 0; z < Z; z++) total[y][z] = splat<V>(0);
        for (int64_t r = 0; r < oh; r++, g += ow) {
            const T* x = plane + (r * step_h + y0 * dilation_h) * line;
            int64_t q = 0;
            for (; q + W <= ow; q += W) {
                const V of = load<V>(g + q);
#pragma GCC unroll 3
                for (int y = 0; y < Y; y++)
#pragma GCC unroll 3
                    for (int z = 0; z < Z; z++)
                        total[y][z] = multiply_add(of, load<V>(x + y * dilation_h * line + place[z0 + z] + q), total[y][z]);
            }
            if (W == 1 || q == ow) continue;
            const V zero = splat<V>(0), of = load_part<V>(g + q, ow - q, zero);
#pragma GCC unroll 3
            for (int y = 0; y < Y; y++)
#pragma GCC unroll 3
                for (int z = 0; z < Z; z++)
                    total[y][z] = multiply_add(
                        of, load_part<V>(x + y * dilation_h * line + place[z0 + z] + q, ow - q, zero), total[y][z]);
        }
        for (int y = 0; y < Y; y++)
            for (int z = 0; z < Z; z++) {
                T* to = sums + ((y0 + y) * kw + z0 + z) * W;
                store<V>(to, load<V>(to) + total[y][z]);
            }
    }

    void add_all_products(const T* g) const {
        if (kh == 3 && kw == 3) return add_products<3, 3>(g, 0, 0);
        for (int64_t y = 0; y < kh; y++) {
            int64_t z = 0;
            for (; z + 3 <= kw; z += 3) add_products<1, 3>(g, y, z);
            for (; z < kw; z++) add_products<1, 1>(g, y, z);
        }
    }
};

// f(begin, end) over n tasks of `work` products each; false if any call returned false
template <class F> bool shared_out(int64_t n, int64_t work, F f) {
    struct Job {
        F& f;
        volatile bool failed;
    } job{f, false};
    parallel_for(n, 1 + 262144 / (work + 1), [](void* data, int64_t begin, int64_t end) {
        Job& job = *(Job*)data;
        if (!job.f(begin, end)) job.failed = true;
        room.give_back();
    }, &job);
    return !job.failed;
}

template <class T> bool forward(const Convolution* shape, const void* a, const void* b, void* out) {
    const Convolution& s = *shape;
    const int64_t each = s.o / s.c, taps = s.kh * s.kw;
    return shared_out(s.n * s.c, s.oh * s.ow * taps * each, [&](int64_t begin, int64_t end) {
        Windows<T> windows(s.oh, s.ow, s, s.stride_h, s.stride_w);
        if (!windows.get_room()) return false;
        for (int64_t i = begin; i < end; i++) {
            windows.fill((const T*)a + i * s.h * s.w, s.h, s.w, s.pad_h, s.pad_w, 1, 1);
            for (int64_t k = 0; k < each; k++) {
                const int64_t o = i % s.c * each + k;
                memcpy(windows.weight, (const T*)b + o * taps, taps * sizeof(T));
                windows.correlate((T*)out + (i * each + k) * s.oh * s.ow, false, s.bias ? ((const T*)s.bias)[o] : 0);
            }
        }
        return true;
    });
}

// Windows of stride 1 over the gradient, dilated by the stride, with the flipped kernel.
template <class T> bool input_grad(const Convolution* shape, const void* a, const void* b, void* out) {
    const Convolution& s = *shape;
    const int64_t each = s.o / s.c, taps = s.kh * s.kw;
    return shared_out(s.n * s.c, s.h * s.w * taps * each, [&](int64_t begin, int64_t end) {
        Windows<T> windows(s.h, s.w, s, 1, 1);
        if (!windows.get_room()) return false;
        const int64_t top = s.dilation_h * (s.kh - 1) - s.pad_h, left = s.dilation_w * (s.kw - 1) - s.pad_w;
        for (int64_t i = begin; i < end; i++)
            for (int64_t k = 0; k < each; k++) {
                const T* w = (const T*)b + (i % s.c * each + k) * taps;
                for (int64_t t = 0; t < taps; t++) windows.weight[t] = w[taps - 1 - t];
                windows.fill((const T*)a + (i * each + k) * s.oh * s.ow, s.oh, s.ow, top, left, s.stride_h, s.stride_w);
                windows.correlate((T*)out + i * s.h * s.w, k > 0, 0);
            }
        return true;
    });
}

template <class T> bool weight_grad(const Convolution* shape, const void* a, const void* b, void* out) {
    const Convolution& s = *shape;
    const int64_t each = s.o / s.c, taps = s.kh * s.kw;
    return shared_out(s.o, s.n * s.oh * s.ow * taps, [&](int64_t begin, int64_t end) {
        constexpr int W = Windows<T>::W;
        Windows<T> windows(s.oh, s.ow, s, s.stride_h, s.stride_w);
        if (!windows.get_room()) return false;
        for (int64_t o = begin; o < end; o++) {
            memset(windows.sums, 0, taps * W * sizeof(T));
            for (int64_t image = 0; image < s.n; image++) {
                windows.fill((const T*)a + (image * s.c + o / each) * s.h * s.w, s.h, s.w, s.pad_h, s.pad_w, 1, 1);
                windows.add_all_products((const T*)b + (image * s.o + o) * s.oh * s.ow);
            }
            for (int64_t t = 0; t < taps; t++) {
                T sum = 0;
                for (int k = 0; k < W; k++) sum += windows.sums[t * W + k];
                ((T*)out)[o * taps + t] = sum;
            }
        }
        return true;
    });
}

#define BOTH(name, f) {name, F32, (void*)f<float>}, {name, F64, (void*)f<double>}

}  // namespace

const Kernel depthwise_kernels[] = {BOTH("forward", forward), BOTH("input_grad", input_grad),
                                    BOTH("weight_grad", weight_grad)};
CLAY_COUNT(depthwise)

}  // namespace CLAY_ISA
}  // namespace clay
