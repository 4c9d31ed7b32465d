// Distances between all rows of two matrices.
#include "platform/table.hpp"
#include "platform/api.hpp"
#include "simd/lines.hpp"
#include "reduce/scan.hpp"
#include "platform/scratch.hpp"
#include "simd/transpose.hpp"
#include "simd/math.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// 1 if the elements differ, else 0; inf - inf gives NaN
template <class V> V counted(V gap) { return select(gap == gap, select(gap == splat<V>(0), splat<V>(0), splat<V>(1)), gap); }

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
    if (p == 0) return total(x, y, k, [](V gap) { return counted(gap); });
    if (p == 1) return total(x, y, k, [](V gap) { return gap; });
    if (p == 2) return sqrt(total(x, y, k, [](V gap) { return gap * gap; }));
    if (p == __builtin_inf()) return largest(x, y, k);
    const V power = splat<V>(p);
    return pow(total(x, y, k, [=](V gap) { return pow(gap, power); }), (T)(1 / p));
}

// --- by blocks of rows: for p 0, 1 or 2 -------------------------------------------------------------------------------------------
constexpr int64_t ROWS = 64, COLUMNS = 256;      // a block that stays in the cache
constexpr int64_t SHORT_ROWS = 24;               // longer rows use a matrix product

template <int P, class V> V add_gap(V sum, V gap) {
    if constexpr (P == 2) return multiply_add(gap, gap, sum);
    else if constexpr (P == 1) return sum + abs(gap);
    else return sum + counted(gap);
}

// R rows of x and the columns of y transposed, from their differences
template <int P, int R, class T>
inline void differences(const T* x, int64_t k, const T* transposed, int64_t columns, T* out, int64_t n) {
    using V = vec<T>;
    along<T>(columns, [&](int64_t j, int64_t m) {
        V sum[R];
        for (int r = 0; r < R; r++) sum[r] = splat<V>(0);
        for (int64_t p = 0; p < k; p++) {
            const V y = load<V>(transposed + p * COLUMNS + j);
            for (int r = 0; r < R; r++) sum[r] = add_gap<P>(sum[r], splat<V>(x[r * k + p]) - y);
        }
        for (int r = 0; r < R; r++) put<V>(out + r * n + j, P == 2 ? sqrt(sum[r]) : sum[r], m);
    });
}

template <int P, class T> bool by_differences(const T* x, const T* y, T* out, int64_t rows, int64_t n, int64_t k, Room& room) {
    T* transposed = (T*)room.get((size_t)(k * COLUMNS) * sizeof(T));
    if (!transposed) return false;
    for (int64_t j = 0; j < n; j += COLUMNS) {
        const int64_t columns = n - j < COLUMNS ? n - j : COLUMNS;
        transpose(y + j * k, k, transposed, COLUMNS, columns, k);
        int64_t i = 0;
        for (; i + 4 <= rows; i += 4) differences<P, 4>(x + i * k, k, transposed, columns, out + i * n + j, n);
        for (; i < rows; i++) differences<P, 1>(x + i * k, k, transposed, columns, out + i * n + j, n);
    }
    return true;
}

// |a - b|^2 = |a|^2 - 2 a b + |b|^2. Results below this fraction of |a|^2 + |b|^2 have lost too many digits to cancellation.
constexpr double CLOSE = 1.0 / 1024;

template <class T> T square(const T* x, int64_t k) {
    using V = vec<T>;
    T sum;
    sums<1, T>(0, k, &sum, [=](int64_t i, int64_t m, V* term) { const V v = get<V>(x + i, m); term[0] = v * v; });
    return sum;
}

template <class T>
void by_product(const T* x, const T* y, const T* squares, T* out, int64_t rows, int64_t n, int64_t k) {
    using V = vec<T>;
    gemm(sizeof(T) == 4 ? F32 : F64, false, true, rows, n, k, x, k, y, k, out, n, false);
    for (int64_t i = 0; i < rows; i++) {
        const V own = splat<V>(square(x + i * k, k)), share = splat<V>(CLOSE), zero = splat<V>(0), one = splat<V>(1);
        T* row = out + i * n;
        bool near = false;
        along<T>(n, [&](int64_t j, int64_t m) {
            const V both = own + get<V>(squares + j, m);
            const V gap = multiply_add(splat<V>(-2), get<V>(row + j, m), both);
            const V close = part(select(gap < both * share, one, zero), m, zero);
            near |= first_lane(folded<MaxOf>(close)) > 0;
            put<V>(row + j, select(gap < both * share, splat<V>(-1), sqrt(gap)), m);
        });
        for (int64_t j = 0; near && j < n; j++)
            if (row[j] == -1) row[j] = distance(x + i * k, y + j * k, k, 2);
    }
}

template <int P, class T>
void by_blocks(const void* x_bmk, const void* y_bnk, void* out_bmn, int64_t batch, int64_t m, int64_t n, int64_t k, double) {
    const int64_t blocks = ceil_div(m, ROWS);
    each_task(batch * blocks, ROWS * n * (k + 8), [=](int64_t task) {
        static thread_local Room room;
        const int64_t b = task / blocks, i = task % blocks * ROWS, rows = m - i < ROWS ? m - i : ROWS;
        const T *x = (const T*)x_bmk + (b * m + i) * k, *y = (const T*)y_bnk + b * n * k;
        T* out = (T*)out_bmn + (b * m + i) * n;
        if ((k <= SHORT_ROWS || P != 2) && by_differences<P>(x, y, out, rows, n, k, room)) return;
        T* squares = k > SHORT_ROWS && P == 2 ? (T*)room.get((size_t)n * sizeof(T)) : nullptr;
        for (int64_t j = 0; squares && j < n; j++) squares[j] = square(y + j * k, k);
        if (squares) return by_product(x, y, squares, out, rows, n, k);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t j = 0; j < n; j++) out[r * n + j] = distance(x + r * k, y + j * k, k, P);
    });
}

template <class T>
void distances(const void* x_bmk, const void* y_bnk, void* out_bmn, int64_t batch, int64_t m, int64_t n, int64_t k, double p) {
    if (p == 0) return by_blocks<0, T>(x_bmk, y_bnk, out_bmn, batch, m, n, k, p);
    if (p == 1 && k <= SHORT_ROWS) return by_blocks<1, T>(x_bmk, y_bnk, out_bmn, batch, m, n, k, p);        // long sums in parts
    each_task(batch * m, (p == 1 || p == __builtin_inf() ? 1 : 32) * n * k, [=](int64_t task) {
        const T *x = (const T*)x_bmk + task * k, *y = (const T*)y_bnk + task / m * n * k;
        T* out = (T*)out_bmn + task * n;
        for (int64_t j = 0; j < n; j++) out[j] = distance(x, y + j * k, k, p);
    });
}

// --- gradients, for p 1 or 2 --------------------------------------------------------------------------------------------------
// `weight`: for each pair the gradient of its distance (divided by the distance if p is 2). The difference (p 2) or its sign (p 1),
// times the weight, is added to one row's gradient and subtracted from the other's. Here: one row x and `count` rows y.
template <class T, bool SIGNS>
void one_back(const T* x, const T* y, const T* weight, int64_t count, int64_t k, T* to_x, T* to_y) {
    using V = vec<T>;
    const V zero = splat<V>(0);
    along<T>(k, [=](int64_t e, int64_t m) {
        const V own = get<V>(x + e, m);
        V sum = zero;
        for (int64_t j = 0; j < count; j++) {
            const V by = splat<V>(weight[j]), gap = own - get<V>(y + j * k + e, m);
            const V part = SIGNS ? select(gap > zero, by, select(gap < zero, -by, gap * zero)) : gap * by;
            sum = sum + part;
            if (to_y) put<V>(to_y + j * k + e, get<V>(to_y + j * k + e, m) - part, m);
        }
        if (to_x) put<V>(to_x + e, get<V>(to_x + e, m) + sum, m);
    });
}

template <class T> void clear(T* out, int64_t n) {
    along<T>(out ? n : 0, [=](int64_t i, int64_t m) { put<vec<T>>(out + i, splat<vec<T>>(0), m); });
}

// Of the distances between the rows i < j of x (m, k)
template <class T> void pairs_back(const void* x_mk, const void* weights, void* out_mk, int64_t, int64_t m, int64_t, int64_t k, double p) {
    const T *x = (const T*)x_mk, *weight = (const T*)weights;
    T* out = (T*)out_mk;
    clear(out, m * k);
    for (int64_t i = 0; i < m; weight += m - 1 - i, i++)
        (p == 1 ? one_back<T, true> : one_back<T, false>)(x + i * k, x + (i + 1) * k, weight, m - 1 - i, k, out + i * k, out + (i + 1) * k);
}

// Of the distances of all rows of x (batch, m, k) from those of y (batch, n, k): to_x or to_y may be null
template <class T>
void between_back(const void* x_bmk, const void* y_bnk, const void* weights_bmn, void* to_x, void* to_y, int64_t batch, int64_t m,
                  int64_t n, int64_t k, double p) {
    each_task(batch, 2 * m * n * k, [=](int64_t b) {
        const T *x = (const T*)x_bmk + b * m * k, *y = (const T*)y_bnk + b * n * k, *weight = (const T*)weights_bmn + b * m * n;
        T *dx = to_x ? (T*)to_x + b * m * k : nullptr, *dy = to_y ? (T*)to_y + b * n * k : nullptr;
        clear(dx, m * k), clear(dy, n * k);
        for (int64_t i = 0; i < m; i++, weight += n)
            (p == 1 ? one_back<T, true> : one_back<T, false>)(x + i * k, y, weight, n, k, dx ? dx + i * k : nullptr, dy);
    });
}

}  // namespace

const Kernel distance_kernels[] = {{"norm", F32, (void*)(distances_fn)distances<float>},
                                   {"norm", F64, (void*)(distances_fn)distances<double>},
                                   {"euclidean", F32, (void*)(distances_fn)by_blocks<2, float>},
                                   {"euclidean", F64, (void*)(distances_fn)by_blocks<2, double>},
                                   {"between_back", F32, (void*)between_back<float>},
                                   {"between_back", F64, (void*)between_back<double>},
                                   {"pairs_back", F32, (void*)(distances_fn)pairs_back<float>},
                                   {"pairs_back", F64, (void*)(distances_fn)pairs_back<double>}};
CLAY_COUNT(distance)

}  // namespace CLAY_ISA
}  // namespace clay
