// The softmax family: each row, or column, of n elements on its own.
#include "families.hpp"
#include "lines.hpp"
#include "short_rows.hpp"
#include "threads.hpp"
#include "vmath.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// Note [Fetched rows]
// A row is gone over two or three times, and only the first time waits for memory. So the loads for what comes next are spread
// over all of them: what will be written early, the next row late.

// The largest element, of which a NaN may not be one: it is found in the sum that follows. f(i) for every vector of the row
template <class T, class F> vec<T> top_of(const T* x, int64_t n, F f) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width, U = 4;
    V acc[U];
    for (int u = 0; u < U; u++) acc[u] = splat<V>(MaxOf::identity);
    int64_t i = 0;
    for (; i + U * W <= n; i += U * W)
        for (int u = 0; u < U; u++) {
            f(i + u * W);
            acc[u] = larger(acc[u], load<V>(x + i + u * W));
        }
    for (; i + W <= n; i += W) {
        f(i);
        acc[0] = larger(acc[0], load<V>(x + i));
    }
    if (W > 1 && i < n) {
        f(i);
        acc[1] = larger(acc[1], load_part<V>(x + i, n - i, splat<V>(MaxOf::identity)));
    }
    return folded<MaxOf>(larger(larger(acc[0], acc[1]), larger(acc[2], acc[3])));
}

// exp(x) for x <= 0, the subnormal ones too: their logarithm may be asked for.
template <class V> V share_of(V x) { return exp(x); }
#if defined(__AVX2__) && !defined(__AVX512F__)
// Without a branch: 2**24 times as much is no subnormal number.
inline f32v share_of(f32v x) { return exp_times<24>(x) * splat<f32v>(1.0 / (1 << 24)); }
#endif

template <class T> void softmax_row(const T* x, T* out, int64_t n) {
    using V = vec<T>;
    if (n < Lanes<V>::width) {           // a row in one register
        V v = load_part<V>(x, n, splat<V>(MaxOf::identity)), top = folded<MaxOf>(v);
        v = exp(part(v, n, top) - top);
        store_part<V>(out, v / folded<SumOf>(part(v, n, splat<V>(0))), n);
        return;
    }
    T* written = soon(out, x, n);
    const T* next = soon(x + n, x, n);
    const V top = top_of(x, n, [=](int64_t i) { ahead_to_write(written + i); });
    T sum;
    sums<1, T>(0, n, &sum, [=](int64_t i, int64_t m, V* term) {
        ahead(next + i);
        term[0] = share_of(get<V>(x + i, m) - top);
        put<V>(out + i, term[0], m);
    });
    const V scale = splat<V>(1 / sum);
    along<T>(n, [=](int64_t i, int64_t m) { put<V>(out + i, get<V>(out + i, m) * scale, m); });
}

template <class T> void log_softmax_row(const T* x, T* out, int64_t n) {
    using V = vec<T>;
    if (n < Lanes<V>::width) {
        V v = load_part<V>(x, n, splat<V>(MaxOf::identity)), top = folded<MaxOf>(v);
        v = part(v, n, top) - top;
        store_part<V>(out, v - log(folded<SumOf>(part(exp(v), n, splat<V>(0)))), n);
        return;
    }
    T* written = soon(out, x, n);
    const T* next = soon(x + n, x, n);
    const V top = top_of(x, n, [=](int64_t i) { ahead_to_write(written + i); });
    T sum;
    sums<1, T>(0, n, &sum, [=](int64_t i, int64_t m, V* term) {
        ahead(next + i);
        term[0] = exp_down(get<V>(x + i, m) - top);
    });
    const V log_sum = splat<V>(log(sum));
    along<T>(n, [=](int64_t i, int64_t m) { put<V>(out + i, get<V>(x + i, m) - top - log_sum, m); });
}

template <class T> void softmax_backward_row(const T* g, const T* out, T* dx, int64_t n) {
    using V = vec<T>;
    T sum, *written = soon(dx, g, n);
    const T *next_g = soon(g + n, g, n), *next_out = soon(out + n, g, n);
    sums<1, T>(0, n, &sum, [=](int64_t i, int64_t m, V* term) {
        ahead_to_write(written + i);
        term[0] = get<V>(g + i, m) * get<V>(out + i, m);
    });
    const V along_out = splat<V>(sum);
    along<T>(n, [=](int64_t i, int64_t m) {
        ahead(next_g + i), ahead(next_out + i);
        put<V>(dx + i, (get<V>(g + i, m) - along_out) * get<V>(out + i, m), m);
    });
}

template <class T> void log_softmax_backward_row(const T* g, const T* out, T* dx, int64_t n) {
    using V = vec<T>;
    T total, *written = soon(dx, g, n);
    const T *next_g = soon(g + n, g, n), *next_out = soon(out + n, g, n);
    sums<1, T>(0, n, &total, [=](int64_t i, int64_t m, V* term) {
        ahead_to_write(written + i);
        term[0] = get<V>(g + i, m);
    });
    const V sum = splat<V>(total);
    along<T>(n, [=](int64_t i, int64_t m) {
        ahead(next_g + i), ahead(next_out + i);
        put<V>(dx + i, get<V>(g + i, m) - exp(get<V>(out + i, m)) * sum, m);
    });
}

// --- along any other axis: (outer, n, inner), a vector of neighbouring columns at a time -----------------------------------------
enum { SOFTMAX, LOG_SOFTMAX, SOFTMAX_BACKWARD, LOG_SOFTMAX_BACKWARD };

// The sum of what f(k) gives, in stretches, so that its error is theirs
template <class V, class F> inline __attribute__((always_inline)) V sum_along(int64_t n, F f) {
    constexpr int64_t STRETCH = 64;
    V all = splat<V>(0);
    for (int64_t begin = 0; begin < n; begin += STRETCH) {
        const int64_t end = begin + STRETCH < n ? begin + STRETCH : n;
        V sum = splat<V>(0);
        for (int64_t k = begin; k < end; k++) sum = sum + f(k);
        all = all + sum;
    }
    return all;
}

// x: scores, or the gradient of the result y. m columns, `step` from one element of each to the next.
template <class T, int WAY> void column(const T* x, const T* y, T* out, int64_t n, int64_t step, int64_t m) {
    using V = vec<T>;
    if constexpr (WAY == SOFTMAX || WAY == LOG_SOFTMAX) {
        V top = splat<V>(MaxOf::identity);
        for (int64_t k = 0; k < n; k++) top = MaxOf::combine(top, get<V>(x + k * step, m));
        const V sum = sum_along<V>(n, [=](int64_t k) {
            const V below = get<V>(x + k * step, m) - top, e = WAY == SOFTMAX ? share_of(below) : exp_down(below);
            if (WAY == SOFTMAX) put<V>(out + k * step, e, m);
            return e;
        });
        const V last = WAY == SOFTMAX ? splat<V>(1) / sum : log(sum);
        for (int64_t k = 0; k < n; k++)
            put<V>(out + k * step, WAY == SOFTMAX ? get<V>(out + k * step, m) * last : get<V>(x + k * step, m) - top - last, m);
    } else {
        const V sum = sum_along<V>(n, [=](int64_t k) {
            const V g = get<V>(x + k * step, m);
            return WAY == SOFTMAX_BACKWARD ? g * get<V>(y + k * step, m) : g;
        });
        for (int64_t k = 0; k < n; k++) {
            const V g = get<V>(x + k * step, m), r = get<V>(y + k * step, m);
            put<V>(out + k * step, WAY == SOFTMAX_BACKWARD ? (g - sum) * r : g - exp(r) * sum, m);
        }
    }
}

template <class T> struct ColumnsJob {
    const T *x, *y;
    T* out;
    int64_t n, inner;
};

template <class T, int WAY> void columns_range(void* data, int64_t begin, int64_t end) {
    constexpr int W = Lanes<vec<T>>::width;
    const ColumnsJob<T>& job = *(ColumnsJob<T>*)data;
    const int64_t tiles = (job.inner + W - 1) / W;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i % tiles * W, at = i / tiles * job.n * job.inner + first;
        const int64_t m = job.inner - first < W ? job.inner - first : W;
        column<T, WAY>(job.x + at, job.y ? job.y + at : nullptr, job.out + at, job.n, job.inner, m);
    }
}

template <class T, int WAY> void columns(const void* x, const void* y, void* out, int64_t outer, int64_t n, int64_t inner) {
    constexpr int W = Lanes<vec<T>>::width;
    ColumnsJob<T> job{(const T*)x, (const T*)y, (T*)out, n, inner};
    parallel_for(outer * ((inner + W - 1) / W), COSTLY / (n * W) + 1, columns_range<T, WAY>, &job);
}

// --- rows -------------------------------------------------------------------------------------------------------------
template <class T, int WAY> void rows_abreast(const T* x_rn, const T* y_rn, T* out_rn, int64_t count, int64_t n) {
    each_abreast<T>(count, n, [=](int64_t r, int64_t m) {
        RowsAbreast<T> x, y;
        x.take(x_rn + r * n, n, m);
        if (y_rn) y.take(y_rn + r * n, n, m);
        column<T, WAY>(x.at, y.at, x.at, n, x.W, m);
        x.put(out_rn + r * n, n, m);
    });
}

template <class T> struct RowsJob {
    const T* x_rn;
    const T* y_rn;
    T* out_rn;
    int64_t n;
};

template <class T, void (*f)(const T*, T*, int64_t)> void rows_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(RowsJob<T>*)data;
    for (int64_t r = begin; r < end; r++) f(job.x_rn + r * job.n, job.out_rn + r * job.n, job.n);
}

template <class T, void (*f)(const T*, const T*, T*, int64_t)>
void rows2_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(RowsJob<T>*)data;
    for (int64_t r = begin; r < end; r++)
        f(job.x_rn + r * job.n, job.y_rn + r * job.n, job.out_rn + r * job.n, job.n);
}

template <class T, int WAY, void (*f)(const T*, T*, int64_t)>
void rows(const void* x_rn, void* out_rn, int64_t count, int64_t n) {
    RowsJob<T> job{(const T*)x_rn, nullptr, (T*)out_rn, n};
    if (n <= 0) return;
    if (short_rows<T>(n)) return rows_abreast<T, WAY>(job.x_rn, nullptr, job.out_rn, count, n);
    parallel_for(count, COSTLY / n + 1, rows_range<T, f>, &job);
}

template <class T, int WAY, void (*f)(const T*, const T*, T*, int64_t)>
void rows2(const void* g_rn, const void* out_rn, void* dx_rn, int64_t count, int64_t n) {
    RowsJob<T> job{(const T*)g_rn, (const T*)out_rn, (T*)dx_rn, n};
    if (n <= 0) return;
    if (short_rows<T>(n)) return rows_abreast<T, WAY>(job.x_rn, job.y_rn, job.out_rn, count, n);
    parallel_for(count, COSTLY / n + 1, rows2_range<T, f>, &job);
}

#define COLUMNS(name, way) {name, F32, (void*)columns<float, way>}, {name, F64, (void*)columns<double, way>}
#define ROWS(name, way, f) {name, F32, (void*)rows<float, way, f<float>>}, {name, F64, (void*)rows<double, way, f<double>>}
#define ROWS2(name, way, f) {name, F32, (void*)rows2<float, way, f<float>>}, {name, F64, (void*)rows2<double, way, f<double>>}

}  // namespace

const Kernel rows_kernels[] = {ROWS("softmax", SOFTMAX, softmax_row), ROWS("log_softmax", LOG_SOFTMAX, log_softmax_row),
                               COLUMNS("softmax_columns", SOFTMAX), COLUMNS("log_softmax_columns", LOG_SOFTMAX)};
CLAY_COUNT(rows)

const Kernel rows2_kernels[] = {
    ROWS2("softmax_backward", SOFTMAX_BACKWARD, softmax_backward_row),
    ROWS2("log_softmax_backward", LOG_SOFTMAX_BACKWARD, log_softmax_backward_row),
    COLUMNS("softmax_backward_columns", SOFTMAX_BACKWARD), COLUMNS("log_softmax_backward_columns", LOG_SOFTMAX_BACKWARD),
};
CLAY_COUNT(rows2)

}  // namespace CLAY_ISA
}  // namespace clay
