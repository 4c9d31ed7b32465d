// The softmax family: each row of n elements on its own.
#include "families.hpp"
#include "lines.hpp"
#include "threads.hpp"
#include "vmath.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> void softmax_row(const T* x, T* out, int64_t n) {
    using V = vec<T>;
    if (n < Lanes<V>::width) {           // a row in one register
        V v = load_part<V>(x, n, splat<V>(MaxOf::identity)), top = folded<MaxOf>(v);
        v = exp(part(v, n, top) - top);
        store_part<V>(out, v / folded<SumOf>(part(v, n, splat<V>(0))), n);
        return;
    }
    const V top = splat<V>(reduce_row<MaxOf, T>(x, n));
    T sum;
    sums<1, T>(0, n, &sum, [=](int64_t i, int64_t m, V* term) {
        ahead(x + n + i);
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
    const V top = splat<V>(reduce_row<MaxOf, T>(x, n));
    T sum;
    sums<1, T>(0, n, &sum, [=](int64_t i, int64_t m, V* term) {
        ahead(x + n + i), ahead_to_write(out + i);
        term[0] = exp(get<V>(x + i, m) - top);
    });
    const V log_sum = splat<V>(log(sum));
    along<T>(n, [=](int64_t i, int64_t m) { put<V>(out + i, get<V>(x + i, m) - top - log_sum, m); });
}

template <class T> void softmax_backward_row(const T* g, const T* out, T* dx, int64_t n) {
    using V = vec<T>;
    T sum;
    sums<1, T>(0, n, &sum, [=](int64_t i, int64_t m, V* term) { term[0] = get<V>(g + i, m) * get<V>(out + i, m); });
    const V along_out = splat<V>(sum);
    along<T>(n, [=](int64_t i, int64_t m) { put<V>(dx + i, (get<V>(g + i, m) - along_out) * get<V>(out + i, m), m); });
}

template <class T> void log_softmax_backward_row(const T* g, const T* out, T* dx, int64_t n) {
    using V = vec<T>;
    const V sum = splat<V>(reduce_row<SumOf, T>(g, n));
    along<T>(n, [=](int64_t i, int64_t m) { put<V>(dx + i, get<V>(g + i, m) - exp(get<V>(out + i, m)) * sum, m); });
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
