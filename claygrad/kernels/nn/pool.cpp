// Max and average pooling, a row of windows at a time: one pass over the row for each kernel element. 2 x 2 windows with stride 2 have
// a form of their own (nn/max_pool_2x2.hpp).
#include <string.h>

#include "platform/table.hpp"
#include "simd/lines.hpp"
#include "nn/max_pool_2x2.hpp"
#include "platform/scratch.hpp"
#include "nn/pool.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

thread_local Room rows;

// The windows q of n in which the kernel element at offset `at` meets the input: mostly all of them
struct Met {
    int64_t low = 0, high;
    Met(int64_t at, int64_t stride, int64_t n, int64_t size) : high(n) {
        if (at >= 0 && at + (n - 1) * stride < size) return;
        low = at < 0 ? ceil_div(-at, stride) : 0;
        high = size - at <= 0 ? 0 : ceil_div(size - at, stride);
        if (high > n) high = n;
        if (low > high) low = high;
    }
};


// An element has the width of its index, so that loops over both vectorise.
template <class T> struct PlaceOf { using type = int64_t; };
template <> struct PlaceOf<float> { using type = int32_t; };

// STEP: the stride if known at compile time, else 0
template <class T, int STEP>
void larger_of(const T* x, int64_t stride, int64_t count, typename PlaceOf<T>::type place, T* best,
               typename PlaceOf<T>::type* indices) {
    using P = typename PlaceOf<T>::type;
    const int64_t step = STEP ? STEP : stride;
#pragma GCC ivdep
    for (int64_t q = 0; q < count; q++) {
        const T value = x[q * step];
        const bool takes = (value > best[q]) | (value != value);
        best[q] = takes ? value : best[q];
        indices[q] = takes ? (P)(place + q * step) : indices[q];
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

// Compares the maxima of the same windows with other values and their indices, which may be smaller than those found so far
template <class T, int STEP>
void merge(const T* x, const typename PlaceOf<T>::type* from, int64_t stride, int64_t count, T* best,
           typename PlaceOf<T>::type* indices) {
    const int64_t step = STEP ? STEP : stride;
#pragma GCC ivdep
    for (int64_t q = 0; q < count; q++) {
        const T value = x[q * step], top = best[q];
        const auto place = from[q * step], at = indices[q];
        const bool equal = (value == top) & (place < at), lost = (value != value) & ((top == top) | (place > at));
        const bool takes = (value > top) | equal | lost;
        best[q] = takes ? value : top;
        indices[q] = takes ? place : at;
    }
}

// The maximum of each column over some rows, with its index; each row of `w` elements begins at an index of its own
template <class T> struct Columns {
    using P = typename PlaceOf<T>::type;
    T* best;
    P* indices;
    bool any = false;

    static size_t bytes(int64_t w) { return w * (sizeof(T) + sizeof(P)); }
    Columns(void* memory, int64_t w) : best((T*)memory), indices((P*)(best + w)) {}
    void add(const T* x, int64_t first, int64_t w) {
        if (any) return larger_of<T, 1>(x + first, 1, w, (P)first, best, indices);
        for (int64_t i = 0; i < w; i++) best[i] = x[first + i], indices[i] = (P)(first + i);
        any = true;
    }
};

// The cost of `count` loops over n elements, in the units of each_task; an element costs `each`
int64_t passes(int64_t count, int64_t n, int64_t each) { return count * (64 + n * each); }

// The first element of a window that is not padding, along an axis
int64_t start_of(int64_t q, int64_t stride, int64_t pad, int64_t dilation) {
    const int64_t at = q * stride - pad;
    return at < 0 ? at + round_up(-at, dilation) : at;
}

// The maxima of row r of windows in layer d; `found`: scratch for their indices and for columns
template <class T>
void max_row(const Pooling& s, const T* x, int64_t d, int64_t r, T* best, typename PlaceOf<T>::type* found, int64_t* indices) {
    using P = typename PlaceOf<T>::type;
    const int64_t front = start_of(d, s.stride_t, s.pad_t, s.dilation_t), top = start_of(r, s.stride_h, s.pad_h, s.dilation_h);
    const int64_t first = (front * s.h + top) * s.w;
    const bool folds = s.kt * s.kh > 1;                 // down the columns first, then along the row
    Columns<T> columns(found + (s.ow + 1) / 2 * 2, s.w);
    for (int64_t q = 0; q < s.ow; q++) best[q] = -__builtin_inf();
    if (indices || folds)
        for (int64_t q = 0; q < s.ow; q++) found[q] = (P)(first + start_of(q, s.stride_w, s.pad_w, s.dilation_w));
    for (int64_t u = 0; u < s.kt; u++) {
        const int64_t layer = d * s.stride_t - s.pad_t + u * s.dilation_t;
        if (layer < 0 || layer >= s.t) continue;
        for (int64_t y = 0; y < s.kh; y++) {
            const int64_t row = r * s.stride_h - s.pad_h + y * s.dilation_h;
            if (row < 0 || row >= s.h) continue;
            if (folds) {
                columns.add(x, (layer * s.h + row) * s.w, s.w);
                continue;
            }
            for (int64_t z = 0; z < s.kw; z++) {
                const int64_t at = z * s.dilation_w - s.pad_w;
                const Met met(at, s.stride_w, s.ow, s.w);
                const int64_t place = (layer * s.h + row) * s.w + at + met.low * s.stride_w, count = met.high - met.low;
                if (!indices)
                    (s.stride_w == 1 ? largest_of<T, 1> : s.stride_w == 2 ? largest_of<T, 2> : largest_of<T, 0>)(
                        x + place, s.stride_w, count, best + met.low);
                else
                    (s.stride_w == 1 ? larger_of<T, 1> : s.stride_w == 2 ? larger_of<T, 2> : larger_of<T, 0>)(
                        x + place, s.stride_w, count, (P)place, best + met.low, found + met.low);
            }
        }
    }
    for (int64_t z = 0; columns.any && z < s.kw; z++) {
        const int64_t at = z * s.dilation_w - s.pad_w;
        const Met met(at, s.stride_w, s.ow, s.w);
        const int64_t place = at + met.low * s.stride_w, count = met.high - met.low;
        (s.stride_w == 1 ? merge<T, 1> : s.stride_w == 2 ? merge<T, 2> : merge<T, 0>)(
            columns.best + place, columns.indices + place, s.stride_w, count, best + met.low, found + met.low);
    }
    if (indices)
        for (int64_t q = 0; q < s.ow; q++) indices[q] = found[q];
}

// The same where the last axis has channels, whose windows are of one channel: a pass over all channels for each kernel element
template <class T>
void max_channels(const Pooling& s, const T* x, int64_t d, int64_t r, T* best, typename PlaceOf<T>::type* found, int64_t* indices) {
    using P = typename PlaceOf<T>::type;
    const int64_t front = start_of(d, s.stride_t, s.pad_t, s.dilation_t), top = start_of(r, s.stride_h, s.pad_h, s.dilation_h);
    for (int64_t q = 0; q < s.w; q++) best[q] = -__builtin_inf();
    if (indices)
        for (int64_t q = 0; q < s.w; q++) found[q] = (P)(front * s.h + top);
    for (int64_t u = 0; u < s.kt; u++) {
        const int64_t layer = d * s.stride_t - s.pad_t + u * s.dilation_t;
        if (layer < 0 || layer >= s.t) continue;
        for (int64_t y = 0; y < s.kh; y++) {
            const int64_t row = r * s.stride_h - s.pad_h + y * s.dilation_h;
            if (row < 0 || row >= s.h) continue;
            const P place = (P)(layer * s.h + row);
            const T* from = x + (layer * s.h + row) * s.w;
            if (!indices) {
                largest_of<T, 1>(from, 1, s.w, best);
                continue;
            }
#pragma GCC ivdep
            for (int64_t q = 0; q < s.w; q++) {
                const bool takes = (from[q] > best[q]) | (from[q] != from[q]);
                best[q] = takes ? from[q] : best[q];
                found[q] = takes ? place : found[q];
            }
        }
    }
    if (indices)
        for (int64_t q = 0; q < s.w; q++) indices[q] = found[q];
}

template <class T> bool max_pool(const Pooling* shape, const void* a, void* out, int64_t* indices) {
    using P = typename PlaceOf<T>::type;
    const Pooling& s = *shape;
    if (sizeof(P) == 4 && s.t * s.h * s.w > INT32_MAX) return false;
    volatile bool short_of_memory = false;
    const bool quads = Quads<T>::take(s);
    const int64_t work = quads ? passes(s.oh, s.w, 4) : s.ot * s.oh * passes(s.kt * s.kh * s.kw, s.ow, indices ? 6 : 4);
    each_task(s.planes, work, [&](int64_t plane) {
        const T* x = (const T*)a + plane * s.t * s.h * s.w;
        if (quads) {
            for (int64_t r = 0, to = plane * s.oh * s.ow; r < s.oh; r++, to += s.ow)
                Quads<T>::row(x + 2 * r * s.w, s.w, s.ow, 2 * r * s.w, (T*)out + to, indices ? indices + to : nullptr);
            return;
        }
        P* found = (P*)rows.get((s.ow + 1) * sizeof(P) + Columns<T>::bytes(s.w));
        if (!found) {
            short_of_memory = true;
            return;
        }
        for (int64_t d = 0; d < s.ot; d++)
            for (int64_t r = 0; r < s.oh; r++) {
                const int64_t line = ((plane * s.ot + d) * s.oh + r) * s.ow;
                (s.channels ? max_channels<T> : max_row<T>)(s, x, d, r, (T*)out + line, found, indices ? indices + line : nullptr);
            }
    });
    return !short_of_memory;
}

template <class T> bool max_back(const Pooling* shape, const void* a, void* out, int64_t* indices) {
    const Pooling& s = *shape;
    const int64_t inside = s.t * s.h * s.w, many = s.ot * s.oh * s.ow;
    volatile bool astray = false;
    const bool quads = s.t == 1 && 2 * s.oh == s.h && 2 * s.ow == s.w;     // perhaps 2 x 2 windows; the indices decide
    each_task(s.planes, quads ? passes(s.oh, s.w, 6) : inside + 16 * many, [&](int64_t plane) {
        const T* g = (const T*)a + plane * many;
        const int64_t* place = indices + plane * many;
        T* dx = (T*)out + plane * inside;
        if (quads && Quads<T>::spread(g, place, s.w, s.oh, s.ow, dx)) return;
        memset(dx, 0, inside * sizeof(T));
        for (int64_t i = 0; i < many; i++) {
            if ((uint64_t)place[i] >= (uint64_t)inside) astray = true;
            else dx[place[i]] += g[i];
        }
    });
    return !astray;
}

// The divisor of a window's sum; 0 if the window lies in the padding
int64_t divisor_of(const Pooling& s, int64_t d, int64_t r, int64_t q) {
    const int64_t front = d * s.stride_t - s.pad_t, back = min(front + s.kt, s.t + s.pad_t);
    const int64_t deep = min(back, s.t) - max(front, 0);
    const int64_t top = r * s.stride_h - s.pad_h, left = q * s.stride_w - s.pad_w;
    const int64_t bottom = min(top + s.kh, s.h + s.pad_h), right = min(left + s.kw, s.w + s.pad_w);
    const int64_t high = min(bottom, s.h) - max(top, 0), wide = min(right, s.w) - max(left, 0);
    if (deep <= 0 || high <= 0 || wide <= 0) return 0;
    return s.divisor ? s.divisor : s.counted ? (back - front) * (bottom - top) * (right - left) : deep * high * wide;
}

// Divides a row of sums by their divisors; 0 for windows in the padding. Windows fully inside have the same divisor.
template <class T> void divide(const Pooling& s, int64_t d, int64_t r, const T* x, T* out) {
    int64_t low = 0, high = s.ow;
    if (s.pad_w || (s.ow - 1) * s.stride_w + s.kw > s.w) {
        low = min(ceil_div(s.pad_w, s.stride_w), s.ow);
        high = s.w + s.pad_w < s.kw ? low : max(low, min((s.w + s.pad_w - s.kw) / s.stride_w + 1, s.ow));
    }
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

// The sum of several rows, in `total`; a single row is used in place.
template <class T> const T* with_row(const T* sum, const T* row, int64_t n, T* total) {
    if (!sum) return row;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) total[i] = sum[i] + row[i];
    return total;
}

// A plain sum for few elements, a pairwise sum for many
template <class T> T sum_of(const T* x, int64_t n) {
    if (n >= 32) return reduce_row<SumOf, T>(x, n);
    T sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

template <class T, int STEP> void add_back(const T* g, int64_t stride, int64_t count, T* dx) {
    const int64_t step = STEP ? STEP : stride;
#pragma GCC ivdep
    for (int64_t q = 0; q < count; q++) dx[q * step] += g[q];
}

// f(index of a row's first element) for the rows that row r of windows in layer d covers
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

// f(index in a row, first window, number of windows) for each element along a row of the kernel
template <class F> void each_tap(const Pooling& s, F f) {
    for (int64_t z = 0; z < s.kw; z++) {
        const Met met(z - s.pad_w, s.stride_w, s.ow, s.w);
        f(z - s.pad_w + met.low * s.stride_w, met.low, met.high - met.low);
    }
}

int64_t work_of_means(const Pooling& s) {
    return s.ot * s.oh * (passes(s.kw, s.ow, 3) + passes(s.kt * s.kh, s.w, 1) + passes(1, s.ow, 4));
}

// The rows that windows cover are added first, then the elements of each window in that sum.
template <class T> bool mean(const Pooling* shape, const void* a, void* out, int64_t*) {
    const Pooling& s = *shape;
    volatile bool short_of_memory = false;
    each_task(s.planes, work_of_means(s), [&](int64_t plane) {
        const T* x = (const T*)a + plane * s.t * s.h * s.w;
        T* total = (T*)rows.get(s.w * sizeof(T));
        if (!total) return (void)(short_of_memory = true);
        for (int64_t line = 0; line < s.ot * s.oh; line++) {
            const int64_t d = line / s.oh, r = line % s.oh;
            T* sum = (T*)out + (plane * s.ot * s.oh + line) * s.ow;
            memset(sum, 0, s.ow * sizeof(T));
            const T* from = nullptr;
            each_row(s, d, r, [&](int64_t first) { from = with_row(from, x + first, s.w, total); });
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

template <class T> bool mean_back(const Pooling* shape, const void* a, void* out, int64_t*) {
    const Pooling& s = *shape;
    volatile bool short_of_memory = false;
    each_task(s.planes, work_of_means(s), [&](int64_t plane) {
        const T* g = (const T*)a + plane * s.ot * s.oh * s.ow;
        T *dx = (T*)out + plane * s.t * s.h * s.w, *share = (T*)rows.get((s.ow + s.w) * sizeof(T)), *total = share + s.ow;
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

// --- adaptive pooling: windows that divide an axis into parts of about the same size ------------------------------------
struct Share {
    int64_t begin, end;
    Share(int64_t i, int64_t n, int64_t of) : begin(i * n / of), end(((i + 1) * n + of - 1) / of) {}
    int64_t size() const { return end - begin; }
};

// For every row of windows of a plane: row(along t, along h, first output), which fills the outputs from there on
template <class F> void each_line(const Pooling& s, F line) {
    for (int64_t d = 0; d < s.ot; d++)
        for (int64_t r = 0; r < s.oh; r++) line(Share(d, s.t, s.ot), Share(r, s.h, s.oh), (d * s.oh + r) * s.ow);
}

// Windows of equal size, few elements wide, are ordinary pooling.
bool windows_are_equal(const Pooling& s, Pooling& windows) {
    if (s.t % s.ot || s.h % s.oh || s.w % s.ow || s.w / s.ow > 8) return false;
    windows = s;
    windows.kt = windows.stride_t = s.t / s.ot, windows.kh = windows.stride_h = s.h / s.oh;
    windows.kw = windows.stride_w = s.w / s.ow;
    windows.pad_t = windows.pad_h = windows.pad_w = 0;
    windows.dilation_t = windows.dilation_h = windows.dilation_w = 1;
    windows.counted = true, windows.divisor = 0;
    return true;
}

// Reduces rows first, then each window of the resulting row; an element costs `each`
int64_t work_of_shares(const Pooling& s, int64_t each) {
    return passes(s.t * s.h, s.w, 2) + passes(s.ot * s.oh, s.w, each) + passes(s.ot * s.oh * s.ow, 1, each);
}

template <class T> bool shared_mean(const Pooling* shape, const void* a, void* result, int64_t* none) {
    const Pooling& s = *shape;
    Pooling windows;
    if (windows_are_equal(s, windows)) return mean<T>(&windows, a, result, none);
    volatile bool short_of_memory = false;
    each_task(s.planes, work_of_shares(s, 8), [&](int64_t plane) {
        const T* x = (const T*)a + plane * s.t * s.h * s.w;
        T *out = (T*)result + plane * s.ot * s.oh * s.ow, *total = (T*)rows.get(s.w * sizeof(T));
        if (!total) return (void)(short_of_memory = true);
        each_line(s, [&](Share d, Share r, int64_t number) {
            const T* from = nullptr;
            for (int64_t u = d.begin; u < d.end; u++)
                for (int64_t y = r.begin; y < r.end; y++) from = with_row(from, x + (u * s.h + y) * s.w, s.w, total);
            for (int64_t i = 0; i < s.ow; i++) {
                const Share q(i, s.w, s.ow);
                out[number + i] = sum_of(from + q.begin, q.size()) / (T)(d.size() * r.size() * q.size());
            }
        });
    });
    return !short_of_memory;
}

template <class T> bool shared_mean_back(const Pooling* shape, const void* a, void* out, int64_t* none) {
    const Pooling& s = *shape;
    Pooling windows;
    if (windows_are_equal(s, windows)) return mean_back<T>(&windows, a, out, none);
    volatile bool short_of_memory = false;
    each_task(s.planes, work_of_shares(s, 8), [&](int64_t plane) {
        const T* g = (const T*)a + plane * s.ot * s.oh * s.ow;
        T *dx = (T*)out + plane * s.t * s.h * s.w, *total = (T*)rows.get(s.w * sizeof(T));
        if (!total) return (void)(short_of_memory = true);
        memset(dx, 0, s.t * s.h * s.w * sizeof(T));
        each_line(s, [&](Share d, Share r, int64_t number) {
            memset(total, 0, s.w * sizeof(T));
            for (int64_t i = 0; i < s.ow; i++) {
                const Share q(i, s.w, s.ow);
                const T share = g[number + i] / (T)(d.size() * r.size() * q.size());
                for (int64_t z = q.begin; z < q.end; z++) total[z] += share;
            }
            for (int64_t u = d.begin; u < d.end; u++)
                for (int64_t y = r.begin; y < r.end; y++) add_row<T, 1>(total, 1, s.w, dx + (u * s.h + y) * s.w);
        });
    });
    return !short_of_memory;
}

// The maximum of `best` and the elements of a row, with its index: the first of equals, the last NaN. For a long row the value is
// found first, then its index.
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

template <class T> bool shared_max(const Pooling* shape, const void* a, void* out, int64_t* indices) {
    using P = typename PlaceOf<T>::type;
    const Pooling& s = *shape;
    Pooling windows;
    const bool whole = s.ow == 1;         // one window per row; rows are contiguous
    if (sizeof(P) == 4 && s.t * s.h * s.w > INT32_MAX) return false;
    if (!whole && windows_are_equal(s, windows)) return max_pool<T>(&windows, a, out, indices);
    volatile bool short_of_memory = false;
    each_task(s.planes, work_of_shares(s, whole ? 4 : 32), [&](int64_t plane) {
        const T* x = (const T*)a + plane * s.t * s.h * s.w;
        void* memory = rows.get(Columns<T>::bytes(s.w));
        if (!memory) return (void)(short_of_memory = true);
        each_line(s, [&](Share d, Share r, int64_t number) {
            const int64_t to = plane * s.ot * s.oh * s.ow + number;
            const bool single = d.size() * r.size() == 1;
            Columns<T> columns(memory, s.w);
            for (int64_t u = d.begin; u < d.end && !whole && !single; u++)
                for (int64_t y = r.begin; y < r.end; y++) columns.add(x, (u * s.h + y) * s.w, s.w);
            for (int64_t i = 0; i < s.ow; i++) {
                const Share q(i, s.w, s.ow);
                int64_t place = (d.begin * s.h + r.begin) * s.w + q.begin;
                T best = -__builtin_inf();
                if (columns.any) {
                    P at = (P)place;
                    for (int64_t z = q.begin; z < q.end; z++) merge<T, 1>(columns.best + z, columns.indices + z, 1, 1, &best, &at);
                    place = at;
                } else {
                    const int64_t more = (r.size() - 1) * s.w;
                    for (int64_t u = d.begin, first = place; u < d.end; u++, first += s.h * s.w)
                        take_largest(x, first, first + more + q.size(), best, place);
                }
                ((T*)out)[to + i] = best;
                indices[to + i] = s.channels ? place / s.w : place;
            }
        });
    });
    return !short_of_memory;
}

// --- max unpooling --------------------------------------------------------------------------------------------------------
template <class T> bool put_at(const Pooling* shape, const void* a, void* result, int64_t* indices) {
    const Pooling& s = *shape;
    const int64_t inside = s.t * s.h * s.w, many = s.ot * s.oh * s.ow;
    volatile bool astray = false;
    each_task(s.planes, 16 + inside * 2 + many * 16, [&](int64_t plane) {
        const T* x = (const T*)a + plane * many;
        const int64_t* place = indices + plane * many;
        T* out = (T*)result + plane * inside;
        for (int64_t i = 0; i < inside; i++) out[i] = 0;
        for (int64_t i = 0; i < many; i++) {
            if ((uint64_t)place[i] >= (uint64_t)inside) astray = true;
            else out[place[i]] = x[i];
        }
    });
    return !astray;
}

#define BOTH(name, f) {name, F32, (void*)f<float>}, {name, F64, (void*)f<double>}

}  // namespace

const Kernel windows_kernels[] = {BOTH("max", max_pool), BOTH("max_back", max_back), BOTH("mean", mean),
                                  BOTH("mean_back", mean_back), BOTH("shared_max", shared_max),
                                  BOTH("shared_mean", shared_mean), BOTH("shared_mean_back", shared_mean_back),
                                  BOTH("put", put_at)};
CLAY_COUNT(windows)

}  // namespace CLAY_ISA
}  // namespace clay
