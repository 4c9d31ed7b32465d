// Note [Products by panels]
// A panel is a few vectors of columns of b, DEPTH deep. ROWS rows at a time of a go along it, and their sums stay in registers.
// A panel of a transposed b is turned about on its way into a block of its own, and one that many rows go along is copied:
// its rows lie far apart and would push each other out of the cache. So would those of a transposed `a`, which is laid out
// in groups of ROWS, and those of an `a` that are a power of two apart.
#include <string.h>

#include "families.hpp"
#include "gemm.hpp"
#include "reduce.hpp"
#include "scratch.hpp"
#include "transpose.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr int64_t DEPTH = 512;
constexpr int64_t TALL = 512;            // rows of a, DEPTH long, that the second-level cache holds beside the panel
constexpr int64_t MANY = 128;            // rows that are worth a copy of the panel

// Rows at once: as many sums as the registers hold.
#if defined(__AVX512F__)
constexpr int ROWS = 8;
#elif defined(__AVX2__)
constexpr int ROWS = 6;
#else
constexpr int ROWS = 4;
#endif

template <class T> constexpr int W = Lanes<vec<T>>::width;
template <class T> constexpr int C = W<T> > 1 ? 2 : 4;       // vectors of a panel
template <class T> constexpr int WIDE = C<T> * W<T>;

template <class T> struct GemmJob {
    int64_t m, n, k;
    const T* a;
    int64_t a_i, a_p;
    const T* b;
    int64_t ldb;
    bool b_is_nk;
    T* c;
    int64_t ldc;
    const T* start;
    int64_t start_i;
};

thread_local Room room_of_a;

// R rows by N vectors of c, over `depth` products. PART: the last vector has `last` columns only.
template <class T, int R, int N, bool PART>
void block(int64_t depth, int64_t last, const T* a, int64_t a_i, int64_t a_p, const T* b, int64_t ldb, T* c,
           int64_t ldc, const T* start, int64_t start_i) {
    using V = vec<T>;
    const V zero = splat<V>(0);
    V acc[R][N];
    for (int r = 0; r < R; r++)
        for (int v = 0; v < N; v++) acc[r][v] = zero;
    for (int64_t p = 0; p < depth; p++) {
        V row[N];
        for (int v = 0; v < N; v++) {
            const T* from = b + p * ldb + v * W<T>;
            row[v] = PART && v == N - 1 ? load_part<V>(from, last, zero) : load<V>(from);
        }
        for (int r = 0; r < R; r++) {
            const V scale = splat<V>(a[r * a_i + p * a_p]);
            for (int v = 0; v < N; v++) acc[r][v] = multiply_add(scale, row[v], acc[r][v]);
        }
    }
    if (start)
        for (int r = 0; r < R; r++)
            for (int v = 0; v < N; v++) {
                const T* from = start + r * start_i + v * W<T>;
                acc[r][v] = acc[r][v] + (PART && v == N - 1 ? load_part<V>(from, last, zero) : load<V>(from));
            }
    for (int r = 0; r < R; r++)
        for (int v = 0; v < N; v++) {
            T* to = c + r * ldc + v * W<T>;
            if (PART && v == N - 1) store_part<V>(to, acc[r][v], last);
            else store<V>(to, acc[r][v]);
        }
}

// As block, for the rows that are left over: 0 <= rows <= R
template <class T, int R, int N, bool PART, class... Rest> void rest(int64_t rows, Rest... arguments) {
    if constexpr (R > 0) {
        if (rows == R) block<T, R, N, PART>(arguments...);
        else rest<T, R - 1, N, PART>(rows, arguments...);
    }
}

// Some rows of a as they are read: ROWS of them are `group` apart.
template <class T> struct Slab {
    int64_t rows, depth;
    const T* a;
    int64_t a_i, a_p, group;
};

template <class T> Slab<T> slab_of(const GemmJob<T>& job, int64_t i, int64_t p, int64_t depth) {
    const int64_t rows = job.m - i < TALL ? job.m - i : TALL;
    const Slab<T> as_it_is{rows, depth, job.a + i * job.a_i + p * job.a_p, job.a_i, job.a_p, ROWS * job.a_i};
    if (job.n <= 2 * WIDE<T> || rows < ROWS) return as_it_is;
    const T* a = as_it_is.a;
    if (job.a_i == 1 && job.a_p > ROWS) {
        // Its rows are read from end to end; the groups that they go to begin in different places of the cache.
        const int64_t group = ROWS * depth + 64 / (int64_t)sizeof(T);
        T* to = (T*)room_of_a.get((rows / ROWS + 1) * group * sizeof(T));
        if (!to) return as_it_is;
        for (int64_t d = 0; d < depth; d++) {
            const T* from = a + d * job.a_p;
            int64_t r = 0;
            for (; r + ROWS <= rows; r += ROWS) memcpy(to + r / ROWS * group + d * ROWS, from + r, ROWS * sizeof(T));
            if (r < rows) memcpy(to + r / ROWS * group + d * ROWS, from + r, (rows - r) * sizeof(T));
        }
        return {rows, depth, to, 1, ROWS, group};
    }
    if (job.a_p == 1 && job.a_i * (int64_t)sizeof(T) % 2048 == 0 && job.n > 4 * WIDE<T>) {
        const int64_t step = depth + 16;
        T* to = (T*)room_of_a.get(rows * step * sizeof(T));
        if (!to) return as_it_is;
        for (int64_t r = 0; r < rows; r++) memcpy(to + r * step, a + r * job.a_i, depth * sizeof(T));
        return {rows, depth, to, step, 1, ROWS * step};
    }
    return as_it_is;
}

// The rows of a slab along one panel, of which the last vector has `last` columns
template <class T, int N, bool PART>
void strip(const Slab<T>& slab, int64_t last, const T* b, int64_t ldb, T* c, int64_t ldc, const T* start, int64_t start_i) {
    const T* a = slab.a;
    int64_t rows = slab.rows;
    for (; rows >= ROWS; rows -= ROWS, a += slab.group, c += ROWS * ldc) {
        block<T, ROWS, N, PART>(slab.depth, last, a, slab.a_i, slab.a_p, b, ldb, c, ldc, start, start_i);
        if (start) start += ROWS * start_i;
    }
    rest<T, ROWS - 1, N, PART>(rows, slab.depth, last, a, slab.a_i, slab.a_p, b, ldb, c, ldc, start, start_i);
}

template <class T> void by_panels(const GemmJob<T>& job) {
    alignas(64) T panel[DEPTH * WIDE<T>];
    const int64_t rounds = (job.k + DEPTH - 1) / DEPTH, share = (job.k + rounds - 1) / rounds;
    for (int64_t p = 0; p < job.k; p += share)
        for (int64_t i = 0; i < job.m; i += TALL) {
            const int64_t depth = job.k - p < share ? job.k - p : share;
            const Slab<T> slab = slab_of(job, i, p, depth);
            const T* start = p > 0 ? job.c : job.start;
            const int64_t start_i = p > 0 ? job.ldc : job.start_i;
            for (int64_t j = 0; j < job.n;) {
                const int64_t left = job.n - j;
                const int64_t width = left >= WIDE<T> ? WIDE<T> : W<T> > 1 ? left : 1;
                const T* b = job.b_is_nk ? job.b + j * job.ldb + p : job.b + p * job.ldb + j;
                int64_t ldb = job.ldb;
                if (job.b_is_nk) {
                    transpose(b, ldb, panel, WIDE<T>, width, depth);
                    b = panel, ldb = WIDE<T>;
                } else if (slab.rows >= MANY && width == WIDE<T>) {
                    for (int64_t d = 0; d < depth; d++) memcpy(panel + d * WIDE<T>, b + d * ldb, WIDE<T> * sizeof(T));
                    b = panel, ldb = WIDE<T>;
                }
                T* c = job.c + i * job.ldc + j;
                const T* from = start ? start + i * start_i + j : nullptr;
                if (width == WIDE<T>) strip<T, C<T>, false>(slab, W<T>, b, ldb, c, job.ldc, from, start_i);
                else if (width > W<T>) strip<T, C<T>, true>(slab, width - W<T>, b, ldb, c, job.ldc, from, start_i);
                else strip<T, 1, true>(slab, width, b, ldb, c, job.ldc, from, start_i);
                j += width;
            }
        }
    room_of_a.give_back();
}

template <class T> T dot(const T* x_k, const T* y_k, int64_t k) {
    using V = vec<T>;
    constexpr int width = W<T>;
    V first = splat<V>(0), second = first;
    int64_t p = 0;
    for (; p + 2 * width <= k; p += 2 * width) {
        first = multiply_add(load<V>(x_k + p), load<V>(y_k + p), first);
        second = multiply_add(load<V>(x_k + p + width), load<V>(y_k + p + width), second);
    }
    for (; p + width <= k; p += width) first = multiply_add(load<V>(x_k + p), load<V>(y_k + p), first);
    if (width > 1 && p < k) {
        const V zero = splat<V>(0);
        second = multiply_add(load_part<V>(x_k + p, k - p, zero), load_part<V>(y_k + p, k - p, zero), second);
    }
    return first_lane(folded<SumOf>(first + second));
}

// out[i] = dot of row i of x and y (+ start)
template <class T>
void dots(const T* x_ik, int64_t ldx, const T* y_k, T* out, int64_t step, const T* start, int64_t start_step, int64_t n, int64_t k) {
    for (int64_t i = 0; i < n; i++) {
        const T sum = dot(x_ik + i * ldx, y_k, k);
        out[i * step] = start ? start[i * start_step] + sum : sum;
    }
}

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, const void* a, int64_t a_i, int64_t a_p, const void* b, int64_t ldb,
          bool b_is_nk, void* c, int64_t ldc, const void* start, int64_t start_i) {
    if (k == 1 && b_is_nk && ldb == 1) b_is_nk = false, ldb = n;      // one row, either way
    GemmJob<T> job{m, n, k, (const T*)a, a_i, a_p, (const T*)b, ldb, b_is_nk, (T*)c, ldc, (const T*)start, start_i};
    const int64_t b_p = b_is_nk ? 1 : ldb;
    if (n == 1 && a_p == 1 && b_p == 1) return dots(job.a, a_i, job.b, job.c, ldc, job.start, start_i, m, k);
    if (m == 1 && a_p == 1 && b_is_nk) return dots(job.b, ldb, job.a, job.c, 1, job.start, 1, n, k);
    if (n == 1 && a_i == 1 && ldc == 1 && (!start || start_i == 1))   // a column is a row of the transposed product
        job = {1, m, k, (const T*)b, 1, b_p, (const T*)a, a_p, false, (T*)c, m, (const T*)start, m};
    by_panels(job);
}

}  // namespace

const Kernel gemm_kernels[] = {{"gemm", F32, (void*)gemm<float>}, {"gemm", F64, (void*)gemm<double>}};
CLAY_COUNT(gemm)

}  // namespace CLAY_ISA
}  // namespace clay
