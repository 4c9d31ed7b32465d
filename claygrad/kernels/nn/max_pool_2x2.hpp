// Max pooling with 2 x 2 windows and stride 2, the most common case, in registers.
#pragma once
#include "simd/transpose.hpp"
#include "simd/vec.hpp"
#include "nn/pool.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {


#if defined(CLAY_VECTOR_BYTES)
template <class T> struct Quads {
    using V = vec<T>;
    using P = decltype(V{} > V{});                    // indices, as wide as elements
    using L = decltype(f64v{} > f64v{});              // as wide as they are stored
    static constexpr int W = Lanes<V>::width, WL = Lanes<f64v>::width;

    static bool take(const Pooling& s) {
        return s.t == 1 && s.kt == 1 && !s.pad_t && s.kh == 2 && s.kw == 2 && s.stride_h == 2 && s.stride_w == 2 &&
               !s.pad_h && !s.pad_w && s.dilation_h == 1 && s.dilation_w == 1 && 2 * s.oh <= s.h && 2 * s.ow <= s.w;
    }

    // The even and odd elements of 2 m <= 2 W numbers
    static void pairs(const T* x, int64_t m, V& even, V& odd) {
        const V zero = splat<V>(0);
        if (m == W) return separate(load<V>(x), load<V>(x + W), even, odd);
        if (2 * m <= W) return separate(2 * m == W ? load<V>(x) : load_part<V>(x, 2 * m, zero), zero, even, odd);
        separate(load<V>(x), load_part<V>(x + W, 2 * m - W, zero), even, odd);
    }

    static void scatter_strided(const P& p, int64_t m, int64_t* out) {
        int64_t wide[W] __attribute__((aligned(64)));
        for (int i = 0; i < W; i++) wide[i] = p[i];
        for (int64_t i = 0; i < m; i += WL) {
            const f64v part = load<f64v>((const double*)wide + i);
            if (m - i >= WL) store<f64v>((double*)out + i, part);
            else store_part<f64v>((double*)out + i, part, m - i);
        }
    }

    static void row(const T* x, int64_t w, int64_t ow, int64_t first, T* best, int64_t* indices) {
        P steps;
        for (int i = 0; i < W; i++) steps[i] = 2 * i;
        for (int64_t q = 0; q < ow; q += W) {
            const int64_t m = min(W, ow - q);
            V value[4];
            pairs(x + 2 * q, m, value[0], value[1]);
            pairs(x + w + 2 * q, m, value[2], value[3]);
            V top = value[0];
            P place = steps + (int)(first + 2 * q);
            const P at = place;
#pragma GCC unroll 3
            for (int i = 1; i < 4; i++) {
                const P takes = (value[i] > top) | (value[i] != value[i]);
                top = takes ? value[i] : top;
                place = takes ? at + (int)((i / 2) * w + i % 2) : place;
            }
            if (m == W) store<V>(best + q, top);
            else store_part<V>(best + q, top, m);
            if (indices) scatter_strided(place, m, indices + q);
        }
    }

    // indices[i] - (first + 2 i), and -1 in `lost` where that is out of range
    static P offsets(const int64_t* indices, int64_t m, int64_t first, P& lost) {
        L after[W / WL];
        for (int k = 0; k < W / WL; k++) {
            L steps;
            for (int i = 0; i < WL; i++) steps[i] = 2 * (k * WL + i);
            const int64_t left = min(WL, m - k * WL);
            if (left <= 0) after[k] = L{};
            else if (left == WL) after[k] = (L)load<f64v>((const double*)indices + k * WL) - (steps + first);
            else after[k] = (L)load_part<f64v>((const double*)indices + k * WL, left, (f64v)(steps + first)) - (steps + first);
        }
        if constexpr (sizeof(T) == 8) return after[0];
        else {
            V low, high;
            separate((V)after[0], (V)after[1], low, high);
            lost = lost | ((P)high != 0);
            return (P)low;
        }
    }

    static void put_pairs(V even, V odd, int64_t m, T* out) {
        V low, high;
        interleave(even, odd, low, high);
        if (2 * m >= W) store<V>(out, low);
        else store_part<V>(out, low, 2 * m);
        if (2 * m <= W) return;
        if (m == W) store<V>(out + W, high);
        else store_part<V>(out + W, high, 2 * m - W);
    }

    // Each row of gradients to two rows; false if an index is outside its window
    static bool spread(const T* g, const int64_t* indices, int64_t w, int64_t oh, int64_t ow, T* dx) {
        P lost = {};
        for (int64_t r = 0; r < oh; r++, g += ow, indices += ow)
            for (int64_t q = 0; q < ow; q += W) {
                const int64_t m = min(W, ow - q), first = 2 * (r * w + q);
                const V of = m == W ? load<V>(g + q) : load_part<V>(g + q, m), zero = splat<V>(0);
                const P at = offsets(indices + q, m, first, lost);
                const P found[4] = {at == 0, at == 1, at == (int)w, at == (int)w + 1};
                lost = lost | ~(found[0] | found[1] | found[2] | found[3]);
                put_pairs(found[0] ? of : zero, found[1] ? of : zero, m, dx + first);
                put_pairs(found[2] ? of : zero, found[3] ? of : zero, m, dx + first + w);
            }
        for (int i = 0; i < W; i++)
            if (lost[i]) return false;
        return true;
    }
};
#else
template <class T> struct Quads {
    static bool take(const Pooling&) { return false; }
    static void row(const T*, int64_t, int64_t, int64_t, T*, int64_t*) {}
    static bool spread(const T*, const int64_t*, int64_t, int64_t, int64_t, T*) { return false; }
};
#endif

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
