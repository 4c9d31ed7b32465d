// The softmax family: each row of n elements on its own.
#include "families.hpp"
#include "lines.hpp"
#include "threads.hpp"
#include "vmath.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// Note [Fetched rows]
// A row is gone over two or three times, and only the first time waits for memory. So the loads for what comes next are spread
// over all of them: what will be written early, the next row late.

// The largest element; f(i) for every vector of the row
template <class T, class F> vec<T> top_of(const T* x, int64_t n, F f) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width, U = 4;
    V acc[U];
    for (int u = 0; u < U; u++) acc[u] = splat<V>(MaxOf::identity);
    int64_t i = 0;
    for (; i + U * W <= n; i += U * W)
        for (int u = 0; u < U; u++) {
            f(i + u * W);
            acc[u] = MaxOf::combine(acc[u], load<V>(x + i + u * W));
        }
    for (; i + W <= n; i += W) {
        f(i);
        acc[0] = MaxOf::combine(acc[0], load<V>(x + i));
    }
    if (W > 1 && i < n) {
        f(i);
        acc[1] = MaxOf::combine(acc[1], load_part<V>(x + i, n - i, splat<V>(MaxOf::identity)));
    }
    return folded<MaxOf>(MaxOf::combine(MaxOf::combine(acc[0], acc[1]), MaxOf::combine(acc[2], acc[3])));
}

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
        term[0] = exp(get<V>(x + i, m) - top);
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
        term[0] = exp(get<V>(x + i, m) - top);
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

template <class T, void (*f)(const T*, T*, int64_t)>
void rows(const void* x_rn, void* out_rn, int64_t count, int64_t n) {
    RowsJob<T> job{(const T*)x_rn, nullptr, (T*)out_rn, n};
    if (n > 0) parallel_for(count, COSTLY / n + 1, rows_range<T, f>, &job);
}

template <class T, void (*f)(const T*, const T*, T*, int64_t)>
void rows2(const void* g_rn, const void* out_rn, void* dx_rn, int64_t count, int64_t n) {
    RowsJob<T> job{(const T*)g_rn, (const T*)out_rn, (T*)dx_rn, n};
    if (n > 0) parallel_for(count, COSTLY / n + 1, rows2_range<T, f>, &job);
}

#define ROWS(name, f) {name, F32, (void*)rows<float, f<float>>}, {name, F64, (void*)rows<double, f<double>>}
#define ROWS2(name, f) {name, F32, (void*)rows2<float, f<float>>}, {name, F64, (void*)rows2<double, f<double>>}

}  // namespace

const Kernel rows_kernels[] = {ROWS("softmax", softmax_row), ROWS("log_softmax", log_softmax_row)};
CLAY_COUNT(rows)

const Kernel rows2_kernels[] = {
    ROWS2("softmax_backward", softmax_backward_row), ROWS2("log_softmax_backward", log_softmax_backward_row),
};
CLAY_COUNT(rows2)

}  // namespace CLAY_ISA
}  // namespace clay
