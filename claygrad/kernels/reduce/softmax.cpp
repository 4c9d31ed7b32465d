// softmax, log_softmax and their gradients, over rows or columns of n elements.
#include "platform/table.hpp"
#include "reduce/softmax_pipeline.hpp"
#include "reduce/softmax_short.hpp"
#include "platform/threads.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// --- row by row: for rows too long for the pipeline ---------------------------------------------------------------------
// Note [Prefetched rows]
// There are two or three passes over a row, and only the first waits for memory. So prefetches are spread over all passes: first for
// the output, later for the next row.
template <class T, bool LOG> void softmax_row(const T* x, T* out, int64_t n) {
    using V = vec<T>;
    T* written = soon(out, x, n);
    const T* next = soon(x + n, x, n);
    Tally<T> tops(MaxOf::identity);
    along_unrolled<V>(n, [&](int u, int64_t i, int64_t m) {
        ahead_to_write(written + i);
        tops.of[u] = top_with(tops.of[u], x + i, m);
    });
    const V top = tops.top();
    T sum;
    sums<1, T>(0, n, &sum, [=](int64_t i, int64_t m, V* term) {
        ahead(next + i);
        const V below = get<V>(x + i, m) - top;
        term[0] = LOG ? exp_down(below) : share_of(below);
        if (!LOG) put<V>(out + i, term[0], m);
    });
    const V last = splat<V>(LOG ? log(sum) : 1 / sum);
    along<T>(n, [=](int64_t i, int64_t m) { put<V>(out + i, LOG ? get<V>(x + i, m) - top - last : get<V>(out + i, m) * last, m); });
}

template <class T, bool LOG> void softmax_backward_row(const T* g, const T* out, T* dx, int64_t n) {
    using V = vec<T>;
    T sum, *written = soon(dx, g, n);
    const T *next_g = soon(g + n, g, n), *next_out = soon(out + n, g, n);
    sums<1, T>(0, n, &sum, [=](int64_t i, int64_t m, V* term) {
        ahead_to_write(written + i);
        term[0] = LOG ? get<V>(g + i, m) : get<V>(g + i, m) * get<V>(out + i, m);
    });
    const V all = splat<V>(sum);
    along<T>(n, [=](int64_t i, int64_t m) {
        ahead(next_g + i), ahead(next_out + i);
        const V r = get<V>(out + i, m);
        put<V>(dx + i, LOG ? get<V>(g + i, m) - share_of(r) * all : (get<V>(g + i, m) - all) * r, m);
    });
}

// --- along any other axis: (outer, n, inner), a vector of neighbouring columns at a time -----------------------------------------
enum { SOFTMAX, LOG_SOFTMAX, SOFTMAX_BACKWARD, LOG_SOFTMAX_BACKWARD };

// The sum of f(k), in chunks to bound the rounding error
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

// x: scores, or the gradient of the result y. m columns; the elements of a column are `step` apart.
template <class T, int KIND> void column(const T* x, const T* y, T* out, int64_t n, int64_t step, int64_t m) {
    using V = vec<T>;
    if constexpr (KIND == SOFTMAX || KIND == LOG_SOFTMAX) {
        V top = splat<V>(MaxOf::identity);
        for (int64_t k = 0; k < n; k++) top = MaxOf::combine(top, get<V>(x + k * step, m));
        const V sum = sum_along<V>(n, [=](int64_t k) {
            const V below = get<V>(x + k * step, m) - top, e = KIND == SOFTMAX ? share_of(below) : exp_down(below);
            if (KIND == SOFTMAX) put<V>(out + k * step, e, m);
            return e;
        });
        const V last = KIND == SOFTMAX ? splat<V>(1) / sum : log(sum);
        for (int64_t k = 0; k < n; k++)
            put<V>(out + k * step, KIND == SOFTMAX ? get<V>(out + k * step, m) * last : get<V>(x + k * step, m) - top - last, m);
    } else {
        const V sum = sum_along<V>(n, [=](int64_t k) {
            const V g = get<V>(x + k * step, m);
            return KIND == SOFTMAX_BACKWARD ? g * get<V>(y + k * step, m) : g;
        });
        for (int64_t k = 0; k < n; k++) {
            const V g = get<V>(x + k * step, m), r = get<V>(y + k * step, m);
            put<V>(out + k * step, KIND == SOFTMAX_BACKWARD ? (g - sum) * r : g - exp(r) * sum, m);
        }
    }
}

template <class T> struct ColumnsJob {
    const T *x, *y;
    T* out;
    int64_t n, inner;
};

template <class T, int KIND> void columns_range(void* data, int64_t begin, int64_t end) {
    constexpr int W = Lanes<vec<T>>::width;
    const ColumnsJob<T>& job = *(ColumnsJob<T>*)data;
    const int64_t tiles = (job.inner + W - 1) / W;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i % tiles * W, at = i / tiles * job.n * job.inner + first;
        const int64_t m = job.inner - first < W ? job.inner - first : W;
        column<T, KIND>(job.x + at, job.y ? job.y + at : nullptr, job.out + at, job.n, job.inner, m);
    }
}

template <class T, int KIND> void columns(const void* x, const void* y, void* out, int64_t outer, int64_t n, int64_t inner) {
    constexpr int W = Lanes<vec<T>>::width;
    ColumnsJob<T> job{(const T*)x, (const T*)y, (T*)out, n, inner};
    parallel_for(outer * ((inner + W - 1) / W), COSTLY_ROWS / (n * W) + 1, columns_range<T, KIND>, &job);
}

// --- rows -------------------------------------------------------------------------------------------------------------
template <class T, int KIND> void interleaved_rows(const T* x_rn, const T* y_rn, T* out_rn, int64_t count, int64_t n) {
    each_interleaved<T>(count, n, [=](int64_t r, int64_t m) {
        InterleavedRows<T> x, y;
        x.take(x_rn + r * n, n, m);
        if (y_rn) y.take(y_rn + r * n, n, m);
        column<T, KIND>(x.at, y.at, x.at, n, x.W, m);
        x.put(out_rn + r * n, n, m);
    });
}

template <class T> struct RowsJob {
    const T* x_rn;
    const T* y_rn;
    T* out_rn;
    int64_t n;
};

template <class T, bool LOG> void rows_range(void* data, int64_t begin, int64_t end) {
    const RowsJob<T>& job = *(RowsJob<T>*)data;
    const int64_t n = job.n;
    if (in_pipeline<T>(n)) return softmax_rows<T, LOG>(job.x_rn + begin * n, job.out_rn + begin * n, end - begin, n);
    for (int64_t at = begin * n; at < end * n; at += n) softmax_row<T, LOG>(job.x_rn + at, job.out_rn + at, n);
}

template <class T, bool LOG> void rows2_range(void* data, int64_t begin, int64_t end) {
    const RowsJob<T>& job = *(RowsJob<T>*)data;
    const T *g = job.x_rn + begin * job.n, *out = job.y_rn + begin * job.n;
    T* dx = job.out_rn + begin * job.n;
    if (in_pipeline<T>(job.n)) return softmax_backward_rows<T, LOG>(g, out, dx, end - begin, job.n);
    for (int64_t at = 0; at < (end - begin) * job.n; at += job.n) softmax_backward_row<T, LOG>(g + at, out + at, dx + at, job.n);
}

template <class T, int KIND> void rows(const void* x_rn, void* out_rn, int64_t count, int64_t n) {
    RowsJob<T> job{(const T*)x_rn, nullptr, (T*)out_rn, n};
    if (n <= 0) return;
    if (short_rows<T>(n)) return interleaved_rows<T, KIND>(job.x_rn, nullptr, job.out_rn, count, n);
    parallel_for(count, COSTLY_ROWS / n + 1, rows_range<T, KIND == LOG_SOFTMAX>, &job);
}

template <class T, int KIND> void rows2(const void* g_rn, const void* out_rn, void* dx_rn, int64_t count, int64_t n) {
    RowsJob<T> job{(const T*)g_rn, (const T*)out_rn, (T*)dx_rn, n};
    if (n <= 0) return;
    if (short_rows<T>(n)) return interleaved_rows<T, KIND>(job.x_rn, job.y_rn, job.out_rn, count, n);
    parallel_for(count, COSTLY_ROWS / n + 1, rows2_range<T, KIND == LOG_SOFTMAX_BACKWARD>, &job);
}

#define COLUMNS(name, kind) {name, F32, (void*)columns<float, kind>}, {name, F64, (void*)columns<double, kind>}
#define ROWS(name, kind) {name, F32, (void*)rows<float, kind>}, {name, F64, (void*)rows<double, kind>}
#define ROWS2(name, kind) {name, F32, (void*)rows2<float, kind>}, {name, F64, (void*)rows2<double, kind>}

}  // namespace

const Kernel rows_kernels[] = {ROWS("softmax", SOFTMAX), ROWS("log_softmax", LOG_SOFTMAX),
                               COLUMNS("softmax_columns", SOFTMAX), COLUMNS("log_softmax_columns", LOG_SOFTMAX)};
CLAY_COUNT(rows)

const Kernel rows2_kernels[] = {
    ROWS2("softmax_backward", SOFTMAX_BACKWARD), ROWS2("log_softmax_backward", LOG_SOFTMAX_BACKWARD),
    COLUMNS("softmax_backward_columns", SOFTMAX_BACKWARD), COLUMNS("log_softmax_backward_columns", LOG_SOFTMAX_BACKWARD),
};
CLAY_COUNT(rows2)

}  // namespace CLAY_ISA
}  // namespace clay
