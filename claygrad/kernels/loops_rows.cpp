// The softmax family: each row of n elements on its own.
#include "families.hpp"
#include "reduce.hpp"
#include "threads.hpp"
#include "vmath.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// out[i] = f(x[i], y[i])
template <class T, class F> void map(const T* x, const T* y, T* out, int64_t n, F f) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    int64_t i = 0;
    for (; i + W <= n; i += W) store<V>(out + i, f(load<V>(x + i), load<V>(y + i)));
    if (W > 1 && i < n) store_part<V>(out + i, f(load_part<V>(x + i, n - i), load_part<V>(y + i, n - i)), n - i);
}

constexpr int64_t BLOCK = 1024;

// sum of f(x[i], y[i]) without room for all the terms
template <class T, class F> T sum_of(const T* x, const T* y, int64_t n, F f) {
    T terms[BLOCK], sum = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t size = n - i < BLOCK ? n - i : BLOCK;
        map(x + i, y + i, terms, size, f);
        sum += reduce_row<SumOf, T>(terms, size);
    }
    return sum;
}

template <class T> void softmax_row(const T* x, T* out, int64_t n) {
    using V = vec<T>;
    if (n < Lanes<V>::width) {           // a row in one register
        V v = load_part<V>(x, n, splat<V>(MaxOf::identity)), top = folded<MaxOf>(v);
        v = exp(part(v, n, top) - top);
        store_part<V>(out, v / folded<SumOf>(part(v, n, splat<V>(0))), n);
        return;
    }
    const V top = splat<V>(reduce_row<MaxOf, T>(x, n));
    map(x, x, out, n, [top](V v, V) { return exp(v - top); });
    const V sum = splat<V>(reduce_row<SumOf, T>(out, n));
    map(out, out, out, n, [sum](V v, V) { return v / sum; });
}

template <class T> void log_softmax_row(const T* x, T* out, int64_t n) {
    using V = vec<T>;
    if (n < Lanes<V>::width) {
        V v = load_part<V>(x, n, splat<V>(MaxOf::identity)), top = folded<MaxOf>(v);
        v = part(v, n, top) - top;
        store_part<V>(out, v - log(folded<SumOf>(part(exp(v), n, splat<V>(0)))), n);
        return;
    }
    const V top = splat<V>(reduce_row<MaxOf, T>(x, n));
    const V log_sum = splat<V>(log(sum_of(x, x, n, [top](V v, V) { return exp(v - top); })));
    map(x, x, out, n, [top, log_sum](V v, V) { return v - top - log_sum; });
}

template <class T> void softmax_backward_row(const T* g, const T* out, T* dx, int64_t n) {
    using V = vec<T>;
    const V sum = splat<V>(sum_of(g, out, n, [](V a, V b) { return a * b; }));
    map(g, out, dx, n, [sum](V a, V b) { return (a - sum) * b; });
}

template <class T> void log_softmax_backward_row(const T* g, const T* out, T* dx, int64_t n) {
    using V = vec<T>;
    const V sum = splat<V>(reduce_row<SumOf, T>(g, n));
    map(g, out, dx, n, [sum](V a, V b) { return a - exp(b) * sum; });
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
