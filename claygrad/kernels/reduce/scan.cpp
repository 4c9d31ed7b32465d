// Cumulative sums, products, maxima and minima, and logsumexp; floats are accumulated in double precision.
#include <cmath>

#include "platform/table.hpp"
#include "simd/doubles.hpp"
#include "simd/lanes.hpp"
#include "simd/lines.hpp"
#include "nn/norm.hpp"
#include "reduce/scan.hpp"
#include "reduce/softmax_short.hpp"
#include "platform/scratch.hpp"
#include "simd/math.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> struct Wide { using type = double; };
template <> struct Wide<int64_t> { using type = uint64_t; };       // wraps around

template <class T> struct ScanJob {
    const T* x_oni;
    T* out_oni;
    int64_t n, inner;
    bool reverse;
};

#if defined(CLAY_VECTOR_BYTES)
// The part that fills whole vectors. The chain of additions has one step per vector, not per element.
template <class T, int step> int64_t by_vectors(const T* x, T* out, int64_t n, double& sum) {
    constexpr int W = Lanes<f64v>::width;
    f64v before = splat<f64v>(0);
    int64_t i = 0;
    for (; i + W <= n; i += W) {
        const int64_t at = step > 0 ? i : -i - W + 1;
        const f64v v = load_wide<f64v>(x + at), sums = running(step > 0 ? v : reversed(v));
        const f64v here = before + sums;
        store_wide<f64v>(out + at, step > 0 ? here : reversed(here));
        before = before + last_of(sums);
    }
    if (i) sum = first_lane(before);
    return i;
}
#else
template <class T, int step> int64_t by_vectors(const T*, T*, int64_t, double&) { return 0; }
#endif
// Integers, four at a time: the chain of additions has one step per four.
template <class T, int step> int64_t by_vectors(const T* x, T* out, int64_t n, uint64_t& sum) {
    uint64_t before = sum;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const uint64_t a = (uint64_t)x[i * step], b = a + (uint64_t)x[(i + 1) * step], c = b + (uint64_t)x[(i + 2) * step];
        const uint64_t d = c + (uint64_t)x[(i + 3) * step];
        out[i * step] = (T)(before + a), out[(i + 1) * step] = (T)(before + b), out[(i + 2) * step] = (T)(before + c);
        out[(i + 3) * step] = (T)(before += d);
    }
    sum = before;
    return i;
}

template <class T, int step> void rows_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(ScanJob<T>*)data;
    const int64_t n = job.n;
    for (int64_t r = begin; r < end; r++) {
        const T* x = job.x_oni + r * n + (step < 0 ? n - 1 : 0);
        T* out = job.out_oni + r * n + (step < 0 ? n - 1 : 0);
        typename Wide<T>::type sum = 0;
        for (int64_t i = by_vectors<T, step>(x, out, n, sum); i < n; i++)
            out[i * step] = (T)(sum += (typename Wide<T>::type)x[i * step]);
    }
}

// Columns, in tiles with their sums side by side.
template <class T> void columns_range(void* data, int64_t begin, int64_t end) {
    using A = typename Wide<T>::type;
    auto& job = *(ScanJob<T>*)data;
    const int64_t tiles = (job.inner + TILE - 1) / TILE;
    for (int64_t task = begin; task < end; task++) {
        const int64_t i0 = task % tiles * TILE, width = job.inner - i0 < TILE ? job.inner - i0 : TILE;
        const int64_t base = task / tiles * job.n * job.inner + i0;
        A acc[TILE] = {0};
        for (int64_t r = 0; r < job.n; r++) {
            const int64_t at = base + (job.reverse ? job.n - 1 - r : r) * job.inner;
            const T* x = job.x_oni + at;
            T* out = job.out_oni + at;
#pragma GCC ivdep
            for (int64_t i = 0; i < width; i++) acc[i] += (A)x[i], out[i] = (T)acc[i];
        }
    }
}

template <class T> void scan(const void* x_oni, void* out_oni, int64_t outer, int64_t n, int64_t inner, bool reverse) {
    ScanJob<T> job{(const T*)x_oni, (T*)out_oni, n, inner, reverse};
    if (inner > 1) {
        const int64_t width = inner < TILE ? inner : TILE;
        parallel_for(outer * ((inner + TILE - 1) / TILE), COSTLY_ROWS / (n * width + 1) + 1, columns_range<T>, &job);
        return;
    }
    parallel_for(outer, COSTLY_ROWS / (n + 1) + 1, reverse ? rows_range<T, -1> : rows_range<T, 1>, &job);
}

// Products: several rows at a time, because each multiplication waits for the one before.
template <class T> void products(const void* x_oni, void* out_oni, int64_t outer, int64_t n, int64_t inner, bool) {
    using A = typename Wide<T>::type;
    constexpr int TOGETHER = 4;
    const T* from = (const T*)x_oni;
    T* into = (T*)out_oni;
    if (inner == 1) {
        each_task((outer + TOGETHER - 1) / TOGETHER, 4 * TOGETHER * n, [=](int64_t task) {
            const int64_t r = task * TOGETHER, count = outer - r < TOGETHER ? outer - r : TOGETHER;
            const T* x = from + r * n;
            T* out = into + r * n;
            if (count == TOGETHER) {
                A a = 1, b = 1, c = 1, d = 1;
                for (int64_t i = 0; i < n; i++) {
                    out[i] = (T)(a *= (A)x[i]), out[n + i] = (T)(b *= (A)x[n + i]);
                    out[2 * n + i] = (T)(c *= (A)x[2 * n + i]), out[3 * n + i] = (T)(d *= (A)x[3 * n + i]);
                }
                return;
            }
            for (int64_t k = 0; k < count; k++) {
                A a = 1;
                for (int64_t i = 0; i < n; i++) out[k * n + i] = (T)(a *= (A)x[k * n + i]);
            }
        });
        return;
    }
    const int64_t tiles = (inner + TILE - 1) / TILE;
    each_task(outer * tiles, 2 * n * (inner < TILE ? inner : TILE), [=](int64_t task) {
        const int64_t i0 = task % tiles * TILE, width = inner - i0 < TILE ? inner - i0 : TILE;
        A acc[TILE];
        for (int64_t i = 0; i < width; i++) acc[i] = 1;
        for (int64_t r = 0; r < n; r++) {
            const int64_t at = (task / tiles * n + r) * inner + i0;
#pragma GCC ivdep
            for (int64_t i = 0; i < width; i++) acc[i] *= (A)from[at + i], into[at + i] = (T)acc[i];
        }
    });
}

// Cumulative max or min and its last index. NaN propagates; its index is that of the last NaN.
template <class T, bool largest> inline bool replaces(T x, T best) {
    if (largest ? x < best : x > best) return false;
    return x != x || best == best;
}

template <class T, bool largest>
void extremes(const void* x_oni, void* out_oni, int64_t* indices_oni, int64_t outer, int64_t n, int64_t inner) {
    const T* from = (const T*)x_oni;
    T* into = (T*)out_oni;
    if (inner == 1) {
        each_task(outer, 4 * n, [=](int64_t r) {
            const T* x = from + r * n;
            T *out = into + r * n, best = x[0];
            int64_t *indices = indices_oni + r * n, place = 0;
            for (int64_t i = 0; i < n; i++) {
                if (replaces<T, largest>(x[i], best)) best = x[i], place = i;
                out[i] = best, indices[i] = place;
            }
        });
        return;
    }
    constexpr int64_t FEW = 64;
    const int64_t tiles = (inner + FEW - 1) / FEW;
    each_task(outer * tiles, 4 * n * (inner < FEW ? inner : FEW), [=](int64_t task) {
        const int64_t i0 = task % tiles * FEW, width = inner - i0 < FEW ? inner - i0 : FEW;
        const int64_t start = task / tiles * n * inner + i0;
        T best[FEW];
        int64_t place[FEW] = {0};
        for (int64_t i = 0; i < width; i++) best[i] = from[start + i];
        for (int64_t r = 0; r < n; r++) {
            const int64_t at = start + r * inner;
            for (int64_t i = 0; i < width; i++) {
                const bool better = replaces<T, largest>(from[at + i], best[i]);
                best[i] = better ? from[at + i] : best[i], place[i] = better ? r : place[i];
                into[at + i] = best[i], indices_oni[at + i] = place[i];
            }
        }
    });
}

// log(sum(exp(x))) of each row
template <class T> void log_sums(const void* x_rn, void* out_r, int64_t rows, int64_t n) {
    using V = vec<T>;
    if (short_rows<T>(n)) {
        each_interleaved<T>(rows, n, [=](int64_t r, int64_t m) {
            InterleavedRows<T> x;
            x.take((const T*)x_rn + r * n, n, m);
            V top = splat<V>(MaxOf::identity), sum = splat<V>(0);
            for (int64_t k = 0; k < n; k++) top = MaxOf::combine(top, get<V>(x.at + k * x.W, m));
            top = select(top - top == splat<V>(0), top, splat<V>(0));
            for (int64_t k = 0; k < n; k++) sum = sum + exp(get<V>(x.at + k * x.W, m) - top);
            put<V>((T*)out_r + r, log(sum) + top, m);
        });
        return;
    }
    each_task(rows, 4 * n, [=](int64_t r) {
        const T* x = (const T*)x_rn + r * n;
        T top = reduce_row<MaxOf, T>(x, n), sum;
        if (top - top != 0) top = 0;                     // an infinite maximum needs no shift
        const V highest = splat<V>(top);
        sums<1, T>(0, n, &sum, [=](int64_t i, int64_t m, V* term) { term[0] = exp(get<V>(x + i, m) - highest); });
        ((T*)out_r)[r] = log(sum) + top;
    });
}

// g * exp(x - out) of each row
template <class T> void log_sums_slope(const void* g_r, const void* x_rn, const void* out_r, void* to_x_rn, int64_t rows, int64_t n) {
    using V = vec<T>;
    each_task(rows, 4 * n, [=](int64_t r) {
        const T* x = (const T*)x_rn + r * n;
        T* dx = (T*)to_x_rn + r * n;
        const V g = splat<V>(((const T*)g_r)[r]), all = splat<V>(((const T*)out_r)[r]);
        along<T>(n, [=](int64_t i, int64_t m) { put<V>(dx + i, exp(get<V>(x + i, m) - all) * g, m); });
    });
}

double added_logs(double x, double y) {                  // log(exp(x) + exp(y))
    if (x == y) return x + 0.69314718055994530942;       // infinities too
    const double far = x - y;
    return far > 0 ? x + std::log1p(std::exp(-far)) : far <= 0 ? y + std::log1p(std::exp(far)) : far;
}

// Cumulative logsumexp of rows: element by element; or, if the floats of a row are close enough together, as cumulative sums of
// exp(x - max) in double precision.
template <class T> bool running_logs(const void* x_rn, void* out_rn, int64_t rows, int64_t n) {
    using V = vec<double>;
    constexpr int64_t BLOCK = 256, SHORT = 8;
    each_task(rows, 16 * n, [=](int64_t r) {
        const T* x = (const T*)x_rn + r * n;
        T* out = (T*)out_rn + r * n;
        const double top = reduce_row<MaxOf, T>(x, n), low = reduce_row<MinOf, T>(x, n);
        if (sizeof(T) == 8 || !(top - low < 600)) {
            double all = x[0];
            for (int64_t i = 0; i < n; i++) out[i] = (T)(i ? all = added_logs(all, x[i]) : all);
            return;
        }
        double sum = 0, line[BLOCK];
        if (n <= SHORT) {
            for (int64_t i = 0; i < n; i++) out[i] = (T)(std::log(sum += std::exp(x[i] - top)) + top);
            return;
        }
        for (int64_t begin = 0; begin < n; begin += BLOCK) {
            const int64_t count = n - begin < BLOCK ? n - begin : BLOCK;
            for (int64_t i = 0; i < count; i++) line[i] = x[begin + i] - top;
            along<double>(count, [&](int64_t i, int64_t m) { put<V>(line + i, exp(get<V>(line + i, m)), m); });
            for (int64_t i = 0; i < count; i++) line[i] = sum += line[i];
            along<double>(count, [&](int64_t i, int64_t m) { put<V>(line + i, log(get<V>(line + i, m)), m); });
            for (int64_t i = 0; i < count; i++) out[begin + i] = (T)(line[i] + top);
        }
    });
    return true;
}

#define EACH(name, f) {name, F32, (void*)f<float>}, {name, F64, (void*)f<double>}
#define EXTREMES(T, code) {"max", code, (void*)(extremes_fn)extremes<T, true>}, {"min", code, (void*)(extremes_fn)extremes<T, false>}

}  // namespace

const Kernel scan_kernels[] = {{"sum", F32, (void*)(scan_fn)scan<float>}, {"sum", F64, (void*)(scan_fn)scan<double>},
                               {"sum", I64, (void*)(scan_fn)scan<int64_t>},
                               EACH("prod", (scan_fn)products), {"prod", I64, (void*)(scan_fn)products<int64_t>},
                               EXTREMES(float, F32), EXTREMES(double, F64), EXTREMES(int32_t, I32), EXTREMES(int64_t, I64),
                               EACH("logsumexp", (log_sums_fn)log_sums), EACH("logsumexp_slope", (log_slope_fn)log_sums_slope),
                               EACH("logcumsumexp", (running_logs_fn)running_logs)};
CLAY_COUNT(scan)

}  // namespace CLAY_ISA
}  // namespace clay
