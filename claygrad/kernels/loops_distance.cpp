// Distances between all rows of two matrices, from the differences of their elements.
#include "families.hpp"
#include "lines.hpp"
#include "scan.hpp"
#include "scratch.hpp"
#include "vmath.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T, class F> T total(const T* x, const T* y, int64_t k, F term_of) {
    using V = vec<T>;
    T sum;
    sums<1, T>(0, k, &sum, [=](int64_t i, int64_t m, V* term) { term[0] = term_of(abs(get<V>(x + i, m) - get<V>(y + i, m))); });
    return sum;
}

template <class T> T largest(const T* x, const T* y, int64_t k) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    V best = splat<V>(0);
    int64_t i = 0;
    for (; i + W <= k; i += W) best = maximum(best, abs(load<V>(x + i) - load<V>(y + i)));
    if (W > 1 && i < k) best = maximum(best, part(abs(load_part<V>(x + i, k - i) - load_part<V>(y + i, k - i)), k - i, splat<V>(0)));
    return first_lane(folded<MaxOf>(best));
}

template <class T> T distance(const T* x, const T* y, int64_t k, double p) {
    using V = vec<T>;
    if (p == 1) return total(x, y, k, [](V gap) { return gap; });
    if (p == 2) return sqrt(total(x, y, k, [](V gap) { return gap * gap; }));
    if (p == __builtin_inf()) return largest(x, y, k);
    const V power = splat<V>(p);
    return pow(total(x, y, k, [=](V gap) { return pow(gap, power); }), (T)(1 / p));
}

template <class T>
void distances(const void* x_bmk, const void* y_bnk, void* out_bmn, int64_t batch, int64_t m, int64_t n, int64_t k, double p) {
    each_task(batch * m, (p == 1 || p == 2 || p == __builtin_inf() ? 1 : 32) * n * k, [=](int64_t task) {
        const T *x = (const T*)x_bmk + task * k, *y = (const T*)y_bnk + task / m * n * k;
        T* out = (T*)out_bmn + task * n;
        for (int64_t j = 0; j < n; j++) out[j] = distance(x, y + j * k, k, p);
    });
}

}  // namespace

const Kernel distance_kernels[] = {{"norm", F32, (void*)(distances_fn)distances<float>},
                                   {"norm", F64, (void*)(distances_fn)distances<double>}};
CLAY_COUNT(distance)

}  // namespace CLAY_ISA
}  // namespace clay
