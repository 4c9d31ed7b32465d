// Cross entropy of rows of scores with the right classes. The scores are read once forward and once backward; nothing of
// their size is kept between.
#include "families.hpp"
#include "lines.hpp"
#include "rows.hpp"
#include "threads.hpp"
#include "vmath.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> void forward_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    const CrossEntropy& s = *(const CrossEntropy*)data;
    const int64_t n = s.classes;
    T *loss = (T*)s.loss, *tops = (T*)s.kept, *logs = tops + s.rows;
    for (int64_t r = begin; r < end; r++) {
        const T* x = (const T*)s.x + r * n;
        const T top = reduce_row<MaxOf, T>(x, n);
        const V highest = splat<V>(top);
        T sum;
        sums<1, T>(0, n, &sum, [=](int64_t i, int64_t m, V* term) {
            ahead(x + n + i);
            term[0] = exp(get<V>(x + i, m) - highest);
        });
        tops[r] = top, logs[r] = log(sum);
        loss[r] = s.target[r] == s.ignored ? 0 : logs[r] - (x[s.target[r]] - top);
    }
}

template <class T> void backward_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    const CrossEntropy& s = *(const CrossEntropy*)data;
    const int64_t n = s.classes;
    const T *tops = (const T*)s.kept, *logs = tops + s.rows;
    for (int64_t r = begin; r < end; r++) {
        const T* x = (const T*)s.x + r * n;
        T* dx = (T*)s.to_x + r * n;
        if (s.target[r] == s.ignored) {
            along<T>(n, [=](int64_t i, int64_t m) { put<V>(dx + i, splat<V>(0), m); });
            continue;
        }
        const T factor = ((const T*)s.scale)[s.one_scale ? 0 : r];
        const V top = splat<V>(tops[r]), log_sum = splat<V>(logs[r]), scale = splat<V>(factor);
        along<T>(n, [=](int64_t i, int64_t m) { put<V>(dx + i, exp(get<V>(x + i, m) - top - log_sum) * scale, m); });
        dx[s.target[r]] -= factor;
    }
}

template <class T> void forward(const CrossEntropy* s) {
    parallel_for(s->rows, COSTLY / s->classes + 1, forward_range<T>, (void*)s);
}
template <class T> void backward(const CrossEntropy* s) {
    parallel_for(s->rows, COSTLY / s->classes + 1, backward_range<T>, (void*)s);
}

#define BOTH(name, f) {name, F32, (void*)(cross_entropy_fn)f<float>}, {name, F64, (void*)(cross_entropy_fn)f<double>}

}  // namespace

const Kernel loss_kernels[] = {BOTH("forward", forward), BOTH("backward", backward)};
CLAY_COUNT(loss)

}  // namespace CLAY_ISA
}  // namespace clay
