// Max and average pooling, a row of windows at a time: one pass over the row for every element of the kernel. Windows of 2 by 2
// side by side, the most common ones, stay in registers.
#include <string.h>

#include "families.hpp"
#include "lines.hpp"
#include "scratch.hpp"
#include "transpose.hpp"
#include "windows.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

thread_local Room rows;

// Which windows q of n meet the input with an element of their kernel that lies `at` after their start
struct Met {
    int64_t low, high;
    Met(int64_t at, int64_t stride, int64_t n, int64_t size) {
        low = at < 0 ? (-at + stride - 1) / stride : 0;
        high = size - at <= 0 ? 0 : (size - at + stride - 1) / stride;
        if (high > n) high = n;
        if (low > high) low = high;
    }
};

int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }
int64_t most(int64_t x, int64_t y) { return x > y ? x : y; }

// A number is as wide as its place, so that loops over both stay in step.
template <class T> struct PlaceOf { using type = int64_t; };
template <> struct PlaceOf<float> { using type = int32_t; };

// STEP: the stride if it is known beforehand, 0 if not
template <class T, int STEP>
void larger_of(const T* x, int64_t stride, int64_t count, typename PlaceOf<T>::type place, T* best,
               typename PlaceOf<T>::type* places) {
    using P = typename PlaceOf<T>::type;
    const int64_t step = STEP ? STEP : stride;
#pragma GCC ivdep
    for (int64_t q = 0; q < count; q++) {
        const T value = x[q * step];
        const bool takes = (value > best[q]) | (value != value);
        best[q] = takes ? value : best[q];
        places[q] = takes ? (P)(place + q * step) : places[q];
    }
}

template <class T, int STEP> void largest_of(const T* x, int64_t stride, int64_t count, T* best) {
    const int64_t step = STEP ? STEP : stride;
#pragma GCC ivdep
    for (int64_t q = 0; q < count; q++) {
        const T value = x[q * step];
        best[q] = (value > best[q]) | (value != value) ? value : best[q];
    }
}

// The first element of a window along an axis that is not padding
int64_t start_of(int64_t q, int64_t stride, int64_t pad, int64_t dilation) {
    const int64_t at = q * stride - pad;
    return at < 0 ? at + (-at + dilation - 1) / dilation * dilation : at;
}

// --- maxima of windows of 2 by 2, side by side ---------------------------------------------------------------------------
#if defined(__AVX2__)
template <class T> struct Quads {
    using V = vec<T>;
    using P = decltype(V{} > V{});                    // places, as wide as numbers
    using L = decltype(f64v{} > f64v{});              // as wide as they are kept
    static constexpr int W = Lanes<V>::width, WL = Lanes<f64v>::width;

    static bool take(const Pooling& s) {
        return s.t == 1 && s.kt == 1 && !s.pad_t && s.kh == 2 && s.kw == 2 && s.stride_h == 2 && s.stride_w == 2 &&
               !s.pad_h && !s.pad_w && s.dilation_h == 1 && s.dilation_w == 1 && 2 * s.oh <= s.h && 2 * s.ow <= s.w;
    }

    // The even and odd ones of 2 m <= 2 W numbers
    static void pairs(const T* x, int64_t m, V& even, V& odd) {
        const V zero = splat<V>(0);
        if (m == W) return separate(load<V>(x), load<V>(x + W), even, odd);
        if (2 * m <= W) return separate(2 * m == W ? load<V>(x) : load_part<V>(x, 2 * m, zero), zero, even, odd);
        separate(load<V>(x), load_part<V>(x + W, 2 * m - W, zero), even, odd);
    }

    static void put_places(const P& p, int64_t m, int64_t* out) {
        int64_t wide[W] __attribute__((aligned(64)));
        for (int i = 0; i < W; i++) wide[i] = p[i];
        for (int64_t i = 0; i < m; i += WL) {
            const f64v part = load<f64v>((const double*)wide + i);
            if (m - i >= WL) store<f64v>((double*)out + i, part);
            else store_part<f64v>((double*)out + i, part, m - i);
        }
    }

    static void row(const T* x, int64_t w, int64_t ow, int64_t first, T* best, int64_t* places) {
        P steps;
        for (int i = 0; i < W; i++) steps[i] = 2 * i;
        for (int64_t q = 0; q < ow; q += W) {
            const int64_t m = least(W, ow - q);
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
            if (places) put_places(place, m, places + q);
        }
    }

    // -1 where places[i] == first + 2 i
    static P matches(const int64_t* places, int64_t m, int64_t first) {
        L found[W / WL];
        for (int k = 0; k < W / WL; k++) {
            L steps;
            for (int i = 0; i < WL; i++) steps[i] = first + 2 * (k * WL + i);
            const int64_t left = least(WL, m - k * WL);
            if (left <= 0) found[k] = L{};
            else found[k] = (L)(left == WL ? load<f64v>((const double*)places + k * WL)
                                           : load_part<f64v>((const double*)places + k * WL, left)) == steps;
        }
        if constexpr (sizeof(T) == 8) return found[0];
        else {
            V even, odd;
            separate((V)found[0], (V)found[1], even, odd);
            return (P)even;
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

    // A row of gradients to two rows; false if a place is none of its window's
    static bool spread(const T* g, const int64_t* places, int64_t w, int64_t ow, int64_t first, T* dx) {
        for (int64_t q = 0; q < ow; q += W) {
            const int64_t m = least(W, ow - q);
            const V of = m == W ? load<V>(g + q) : load_part<V>(g + q, m), zero = splat<V>(0);
            P found[4], any = {};
            for (int i = 0; i < 4; i++) {
                found[i] = matches(places + q, m, first + 2 * q + (i / 2) * w + i % 2);
                any = any | found[i];
            }
            P lanes;
            for (int i = 0; i < W; i++) lanes[i] = i < m ? -1 : 0;
            const P lost = lanes & ~any;
            for (int i = 0; i < W; i++)
                if (lost[i]) return false;
            put_pairs(found[0] ? of : zero, found[1] ? of : zero, m, dx + 2 * q);
            put_pairs(found[2] ? of : zero, found[3] ? of : zero, m, dx + w + 2 * q);
        }
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

// The maxima of row r of windows in layer d; `found` is room for their places
template <class T>
void max_row(const Pooling& s, const T* x, int64_t d, int64_t r, T* best, typename PlaceOf<T>::type* found, int64_t* places) {
    using P = typename PlaceOf<T>::type;
    const int64_t front = start_of(d, s.stride_t, s.pad_t, s.dilation_t), top = start_of(r, s.stride_h, s.pad_h, s.dilation_h);
    const int64_t first = (front * s.h + top) * s.w;
    for (int64_t q = 0; q < s.ow; q++) best[q] = -__builtin_inf();
    if (places)
        for (int64_t q = 0; q < s.ow; q++) found[q] = (P)(first + start_of(q, s.stride_w, s.pad_w, s.dilation_w));
    for (int64_t u = 0; u < s.kt; u++) {
        const int64_t layer = d * s.stride_t - s.pad_t + u * s.dilation_t;
        if (layer < 0 || layer >= s.t) continue;
        for (int64_t y = 0; y < s.kh; y++) {
            const int64_t row = r * s.stride_h - s.pad_h + y * s.dilation_h;
            if (row < 0 || row >= s.h) continue;
            for (int64_t z = 0; z < s.kw; z++) {
                const int64_t at = z * s.dilation_w - s.pad_w;
                const Met met(at, s.stride_w, s.ow, s.w);
                const int64_t place = (layer * s.h + row) * s.w + at + met.low * s.stride_w, count = met.high - met.low;
                if (!places)
                    (s.stride_w == 1 ? largest_of<T, 1> : s.stride_w == 2 ? largest_of<T, 2> : largest_of<T, 0>)(
                        x + place, s.stride_w, count, best + met.low);
                else
                    (s.stride_w == 1 ? larger_of<T, 1> : s.stride_w == 2 ? larger_of<T, 2> : larger_of<T, 0>)(
                        x + place, s.stride_w, count, (P)place, best + met.low, found + met.low);
            }
        }
    }
    if (places)
        for (int64_t q = 0; q < s.ow; q++) places[q] = found[q];
}

template <class T> bool max(const Pooling* shape, const void* a, void* made, int64_t* places) {
    using P = typename PlaceOf<T>::type;
    const Pooling& s = *shape;
    if (sizeof(P) == 4 && s.t * s.h * s.w > INT32_MAX) return false;
    volatile bool short_of_memory = false;
    const bool quads = Quads<T>::take(s);
    each_task(s.planes, s.ot * s.oh * s.ow * s.kt * s.kh * s.kw * 2, [&](int64_t plane) {
        const T* x = (const T*)a + plane * s.t * s.h * s.w;
        if (quads) {
            for (int64_t r = 0, to = plane * s.oh * s.ow; r < s.oh; r++, to += s.ow)
                Quads<T>::row(x + 2 * r * s.w, s.w, s.ow, 2 * r * s.w, (T*)made + to, places ? places + to : nullptr);
            return;
        }
        P* found = (P*)rows.get(s.ow * sizeof(P));
        if (!found) {
            short_of_memory = true;
            return;
        }
        for (int64_t d = 0; d < s.ot; d++)
            for (int64_t r = 0; r < s.oh; r++) {
                const int64_t line = ((plane * s.ot + d) * s.oh + r) * s.ow;
                max_row(s, x, d, r, (T*)made + line, found, places ? places + line : nullptr);
            }
    });
    return !short_of_memory;
}

template <class T> bool max_back(const Pooling* shape, const void* a, void* made, int64_t* places) {
    const Pooling& s = *shape;
    const int64_t inside = s.t * s.h * s.w, many = s.ot * s.oh * s.ow;
    volatile bool astray = false;
    const bool quads = s.t == 1 && 2 * s.oh == s.h && 2 * s.ow == s.w;     // maybe: the places tell
    each_task(s.planes, inside + 2 * many, [&](int64_t plane) {
        const T* g = (const T*)a + plane * many;
        const int64_t* place = places + plane * many;
        T* dx = (T*)made + plane * inside;
        int64_t r = 0;
        if (quads)
            while (r < s.oh && Quads<T>::spread(g + r * s.ow, place + r * s.ow, s.w, s.ow, 2 * r * s.w, dx + 2 * r * s.w)) r++;
        if (quads && r == s.oh) return;
        memset(dx, 0, inside * sizeof(T));
        for (int64_t i = 0; i < many; i++) {
            if ((uint64_t)place[i] >= (uint64_t)inside) astray = true;
            else dx[place[i]] += g[i];
        }
    });
    return !astray;
}

// By how much the sum of a window is divided; 0 if nothing of it lies inside
int64_t divisor_of(const Pooling& s, int64_t d, int64_t r, int64_t q) {
    const int64_t front = d * s.stride_t - s.pad_t, back = least(front + s.kt, s.t + s.pad_t);
    const int64_t deep = least(back, s.t) - most(front, 0);
    const int64_t top = r * s.stride_h - s.pad_h, left = q * s.stride_w - s.pad_w;
    const int64_t bottom = least(top + s.kh, s.h + s.pad_h), right = least(left + s.kw, s.w + s.pad_w);
    const int64_t high = least(bottom, s.h) - most(top, 0), wide = least(right, s.w) - most(left, 0);
    if (deep <= 0 || high <= 0 || wide <= 0) return 0;
    return s.divisor ? s.divisor : s.counted ? (back - front) * (bottom - top) * (right - left) : deep * high * wide;
}

// A row of windows over their divisors, 0 where nothing lies inside; those that lie inside as a whole have the same one.
template <class T> void divide(const Pooling& s, int64_t d, int64_t r, const T* x, T* out) {
    const int64_t low = least((s.pad_w + s.stride_w - 1) / s.stride_w, s.ow);
    const int64_t high = s.w + s.pad_w < s.kw ? low : most(low, least((s.w + s.pad_w - s.kw) / s.stride_w + 1, s.ow));
    for (int64_t q = 0; q < s.ow; q++) {
        if (q == low && low < high) {
            const int64_t by = divisor_of(s, d, r, q);
            const T whole = by ? (T)by : 1;
            for (; q < high; q++) out[q] = by ? x[q] / whole : 0;
            if (q >= s.ow) break;
        }
        const int64_t by = divisor_of(s, d, r, q);
        out[q] = by ? x[q] / (T)by : 0;
    }
}

template <class T, int STEP> void add_row(const T* x, int64_t stride, int64_t count, T* sum) {
    const int64_t step = STEP ? STEP : stride;
#pragma GCC ivdep
    for (int64_t q = 0; q < count; q++) sum[q] += x[q * step];
}

template <class T, int STEP> void add_back(const T* g, int64_t stride, int64_t count, T* dx) {
    const int64_t step = STEP ? STEP : stride;
#pragma GCC ivdep
    for (int64_t q = 0; q < count; q++) dx[q * step] += g[q];
}

// f(first place of a row of the plane) for the rows that row r of windows in layer d meets
template <class F> void each_row(const Pooling& s, int64_t d, int64_t r, F f) {
    for (int64_t u = 0; u < s.kt; u++) {
        const int64_t layer = d * s.stride_t - s.pad_t + u;
        if (layer < 0 || layer >= s.t) continue;
        for (int64_t y = 0; y < s.kh; y++) {
            const int64_t row = r * s.stride_h - s.pad_h + y;
            if (row >= 0 && row < s.h) f((layer * s.h + row) * s.w);
        }
    }
}

// f(place in a row, first window, count of windows) for every element along a row of the kernel
template <class F> void each_tap(const Pooling& s, F f) {
    for (int64_t z = 0; z < s.kw; z++) {
        const Met met(z - s.pad_w, s.stride_w, s.ow, s.w);
        f(z - s.pad_w + met.low * s.stride_w, met.low, met.high - met.low);
    }
}

// The rows that windows meet are added up as they are, then what a window has of the sum.
template <class T> bool mean(const Pooling* shape, const void* a, void* made, int64_t*) {
    const Pooling& s = *shape;
    volatile bool short_of_memory = false;
    each_task(s.planes, s.ot * s.oh * (s.ow * s.kw + s.w * s.kt * s.kh), [&](int64_t plane) {
        const T* x = (const T*)a + plane * s.t * s.h * s.w;
        T* total = (T*)rows.get(s.w * sizeof(T));
        if (!total) return (void)(short_of_memory = true);
        for (int64_t line = 0; line < s.ot * s.oh; line++) {
            const int64_t d = line / s.oh, r = line % s.oh;
            T* sum = (T*)made + (plane * s.ot * s.oh + line) * s.ow;
            memset(sum, 0, s.ow * sizeof(T));
            const T* from = nullptr;                    // one row needs no adding up
            each_row(s, d, r, [&](int64_t first) {
                if (!from) from = x + first;
                else if (from != total) {
#pragma GCC ivdep
                    for (int64_t i = 0; i < s.w; i++) total[i] = from[i] + x[first + i];
                    from = total;
                } else add_row<T, 1>(x + first, 1, s.w, total);
            });
            if (!from) continue;
            each_tap(s, [&](int64_t place, int64_t low, int64_t count) {
                (s.stride_w == 1 ? add_row<T, 1> : s.stride_w == 2 ? add_row<T, 2> : add_row<T, 0>)(
                    from + place, s.stride_w, count, sum + low);
            });
            divide(s, d, r, sum, sum);
        }
    });
    return !short_of_memory;
}

template <class T> bool mean_back(const Pooling* shape, const void* a, void* made, int64_t*) {
    const Pooling& s = *shape;
    volatile bool short_of_memory = false;
    each_task(s.planes, s.ot * s.oh * (s.ow * s.kw + s.w * s.kt * s.kh), [&](int64_t plane) {
        const T* g = (const T*)a + plane * s.ot * s.oh * s.ow;
        T *dx = (T*)made + plane * s.t * s.h * s.w, *share = (T*)rows.get((s.ow + s.w) * sizeof(T)), *total = share + s.ow;
        if (!share) {
            short_of_memory = true;
            return;
        }
        memset(dx, 0, s.t * s.h * s.w * sizeof(T));
        for (int64_t line = 0; line < s.ot * s.oh; line++) {
            const int64_t d = line / s.oh, r = line % s.oh;
            divide(s, d, r, g + line * s.ow, share);
            memset(total, 0, s.w * sizeof(T));
            each_tap(s, [&](int64_t place, int64_t low, int64_t count) {
                (s.stride_w == 1 ? add_back<T, 1> : s.stride_w == 2 ? add_back<T, 2> : add_back<T, 0>)(
                    share + low, s.stride_w, count, total + place);
            });
            each_row(s, d, r, [&](int64_t first) { add_row<T, 1>(total, 1, s.w, dx + first); });
        }
    });
    return !short_of_memory;
}

// --- windows that share an axis out, of about the same size -----------------------------------------------------------
struct Share {
    int64_t begin, end;
    Share(int64_t i, int64_t n, int64_t of) : begin(i * n / of), end(((i + 1) * n + of - 1) / of) {}
    int64_t size() const { return end - begin; }
};

// f(number, along t, along h, along w) for every window of a plane
template <class F> void each_share(const Pooling& s, F f) {
    int64_t number = 0;
    for (int64_t d = 0; d < s.ot; d++)
        for (int64_t r = 0; r < s.oh; r++)
            for (int64_t q = 0; q < s.ow; q++) f(number++, Share(d, s.t, s.ot), Share(r, s.h, s.oh), Share(q, s.w, s.ow));
}

// Shares that are all of one size, and few elements wide, are windows that slide.
bool alike(const Pooling& s, Pooling& windows) {
    if (s.t % s.ot || s.h % s.oh || s.w % s.ow || s.w / s.ow > 8) return false;
    windows = s;
    windows.kt = windows.stride_t = s.t / s.ot, windows.kh = windows.stride_h = s.h / s.oh;
    windows.kw = windows.stride_w = s.w / s.ow;
    windows.pad_t = windows.pad_h = windows.pad_w = 0;
    windows.dilation_t = windows.dilation_h = windows.dilation_w = 1;
    windows.counted = true, windows.divisor = 0;
    return true;
}

int64_t work_of_shares(const Pooling& s) { return s.t * s.h * s.w * 2 + s.ot * s.oh * s.ow * 4; }

template <class T> bool shared_mean(const Pooling* shape, const void* a, void* made, int64_t* none) {
    const Pooling& s = *shape;
    Pooling windows;
    if (alike(s, windows)) return mean<T>(&windows, a, made, none);
    each_task(s.planes, work_of_shares(s), [&](int64_t plane) {
        const T* x = (const T*)a + plane * s.t * s.h * s.w;
        T* out = (T*)made + plane * s.ot * s.oh * s.ow;
        each_share(s, [&](int64_t number, Share d, Share r, Share q) {
            T sum = 0;
            for (int64_t u = d.begin; u < d.end; u++)
                for (int64_t y = r.begin; y < r.end; y++) {
                    const T* row = x + (u * s.h + y) * s.w;
                    for (int64_t z = q.begin; z < q.end; z++) sum += row[z];
                }
            out[number] = sum / (T)(d.size() * r.size() * q.size());
        });
    });
    return true;
}

template <class T> bool shared_mean_back(const Pooling* shape, const void* a, void* made, int64_t* none) {
    const Pooling& s = *shape;
    Pooling windows;
    if (alike(s, windows)) return mean_back<T>(&windows, a, made, none);
    each_task(s.planes, work_of_shares(s), [&](int64_t plane) {
        const T* g = (const T*)a + plane * s.ot * s.oh * s.ow;
        T* dx = (T*)made + plane * s.t * s.h * s.w;
        memset(dx, 0, s.t * s.h * s.w * sizeof(T));
        each_share(s, [&](int64_t number, Share d, Share r, Share q) {
            const T share = g[number] / (T)(d.size() * r.size() * q.size());
            for (int64_t u = d.begin; u < d.end; u++)
                for (int64_t y = r.begin; y < r.end; y++) {
                    T* row = dx + (u * s.h + y) * s.w;
                    for (int64_t z = q.begin; z < q.end; z++) row[z] += share;
                }
        });
    });
    return true;
}

// The larger of `best` and the elements of a row, with its place: the first of equals, the last NaN. Of a long row the largest is
// found first, then where it is.
template <class T> void take_largest(const T* x, int64_t begin, int64_t end, T& best, int64_t& place) {
    constexpr int64_t LONG = 6;
    if (end - begin < LONG) {
        for (int64_t at = begin; at < end; at++) {
            const bool takes = (x[at] > best) | (x[at] != x[at]);
            best = takes ? x[at] : best;
            place = takes ? at : place;
        }
        return;
    }
    const T top = reduce_row<MaxOf, T>(x + begin, end - begin);
    if (top != top) {
        for (place = end - 1; x[place] == x[place];) place--;
        best = x[place];
    } else if (top > best) {
        for (place = begin; x[place] != top;) place++;
        best = x[place];
    }
}

template <class T> bool shared_max(const Pooling* shape, const void* a, void* made, int64_t* places) {
    const Pooling& s = *shape;
    Pooling windows;
    const bool whole = s.ow == 1;         // rows, which lie side by side
    if (!whole && alike(s, windows) && max<T>(&windows, a, made, places)) return true;
    each_task(s.planes, work_of_shares(s), [&](int64_t plane) {
        const T* x = (const T*)a + plane * s.t * s.h * s.w;
        const int64_t to = plane * s.ot * s.oh * s.ow;
        each_share(s, [&](int64_t number, Share d, Share r, Share q) {
            int64_t place = (d.begin * s.h + r.begin) * s.w + q.begin;
            T best = -__builtin_inf();
            for (int64_t u = d.begin; u < d.end; u++)
                for (int64_t y = r.begin, next; y < r.end; y = next) {
                    const int64_t row = (u * s.h + y) * s.w;
                    next = whole ? r.end : y + 1;
                    take_largest(x, row + q.begin, row + (next - y - 1) * s.w + q.end, best, place);
                }
            ((T*)made)[to + number] = best;
            places[to + number] = place;
        });
    });
    return true;
}

#define BOTH(name, f) {name, F32, (void*)f<float>}, {name, F64, (void*)f<double>}

}  // namespace

const Kernel windows_kernels[] = {BOTH("max", max), BOTH("max_back", max_back), BOTH("mean", mean),
                                  BOTH("mean_back", mean_back), BOTH("shared_max", shared_max),
                                  BOTH("shared_mean", shared_mean), BOTH("shared_mean_back", shared_mean_back)};
CLAY_COUNT(windows)

}  // namespace CLAY_ISA
}  // namespace clay
