#include "families.hpp"
#include "gemm.hpp"
#include "reduce.hpp"
#include "threads.hpp"
#include "vec.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr int64_t DEPTH = 256;           // of a panel of b: fits the first-level cache

template <class T> struct GemmJob {
    int64_t m, n, k;
    const T* a;
    int64_t a_i, a_p;
    const T* b;
    int64_t ldb;
    bool b_is_nk;
    T* c;
    int64_t ldc;
    bool accumulate;
};

// R rows by C vectors of c, over `depth` products. PART: the last vector has `last` columns only.
template <class T, int R, int C, bool PART>
void block(int64_t depth, int64_t last, const T* a, int64_t a_i, int64_t a_p, const T* b, int64_t ldb, T* c,
           int64_t ldc, bool accumulate) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const V zero = splat<V>(0);
    V acc[R][C];
    for (int r = 0; r < R; r++)
        for (int v = 0; v < C; v++) acc[r][v] = zero;
    for (int64_t p = 0; p < depth; p++) {
        V row[C];
        for (int v = 0; v < C; v++)
            row[v] = PART && v == C - 1 ? load_part<V>(b + p * ldb + v * W, last, zero) : load<V>(b + p * ldb + v * W);
        for (int r = 0; r < R; r++) {
            V scale = splat<V>(a[r * a_i + p * a_p]);
            for (int v = 0; v < C; v++) acc[r][v] = multiply_add(scale, row[v], acc[r][v]);
        }
    }
    for (int r = 0; r < R; r++)
        for (int v = 0; v < C; v++) {
            T* to = c + r * ldc + v * W;
            const V sum = acc[r][v];
            if (PART && v == C - 1) store_part<V>(to, accumulate ? load_part<V>(to, last, zero) + sum : sum, last);
            else store<V>(to, accumulate ? load<V>(to) + sum : sum);
        }
}

// Rows at once: as many sums as the registers hold.
#if defined(__AVX512F__)
constexpr int ROWS = 8;
#elif defined(__AVX2__)
constexpr int ROWS = 6;
#else
constexpr int ROWS = 4;
#endif

template <class T, int C, bool PART>
void strip(const GemmJob<T>& job, int64_t begin, int64_t end, int64_t p, int64_t depth, const T* b, int64_t ldb,
           int64_t j, int64_t last, bool accumulate) {
    const T* a = job.a + p * job.a_p;
    T* c = job.c + j;
    const int64_t a_i = job.a_i, a_p = job.a_p, ldc = job.ldc;
    int64_t i = begin;
    for (; i + ROWS <= end; i += ROWS)
        block<T, ROWS, C, PART>(depth, last, a + i * a_i, a_i, a_p, b, ldb, c + i * ldc, ldc, accumulate);
    for (; i + 2 <= end; i += 2)
        block<T, 2, C, PART>(depth, last, a + i * a_i, a_i, a_p, b, ldb, c + i * ldc, ldc, accumulate);
    if (i < end) block<T, 1, C, PART>(depth, last, a + i * a_i, a_i, a_p, b, ldb, c + i * ldc, ldc, accumulate);
}

template <class T> void gemm_range(void* data, int64_t begin, int64_t end) {
    constexpr int W = Lanes<vec<T>>::width, C = W > 1 ? 2 : 4;
    auto& job = *(GemmJob<T>*)data;
    T panel[DEPTH * C * W];
    for (int64_t p = 0; p < job.k; p += DEPTH) {
        const int64_t depth = job.k - p < DEPTH ? job.k - p : DEPTH;
        const bool accumulate = job.accumulate || p > 0;
        for (int64_t j = 0; j < job.n;) {
            // Whole vectors by twos, one, then what is left.
            const int64_t left = job.n - j, width = left >= C * W ? C * W : left >= W ? W : left;
            const T* b = job.b + p * job.ldb + j;
            int64_t ldb = job.ldb;
            if (job.b_is_nk) {
                b = job.b + j * job.ldb + p;
                for (int64_t v = 0; v < width; v++)
                    for (int64_t d = 0; d < depth; d++) panel[d * width + v] = b[v * job.ldb + d];
                b = panel, ldb = width;
            }
            if (width == C * W) strip<T, C, false>(job, begin, end, p, depth, b, ldb, j, W, accumulate);
            else if (width == W) strip<T, 1, false>(job, begin, end, p, depth, b, ldb, j, W, accumulate);
            else strip<T, 1, true>(job, begin, end, p, depth, b, ldb, j, width, accumulate);
            j += width;
        }
    }
}

template <class T> T dot(const T* x_k, const T* y_k, int64_t k) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    V first = splat<V>(0), second = first;
    int64_t p = 0;
    for (; p + 2 * W <= k; p += 2 * W) {
        first = multiply_add(load<V>(x_k + p), load<V>(y_k + p), first);
        second = multiply_add(load<V>(x_k + p + W), load<V>(y_k + p + W), second);
    }
    for (; p + W <= k; p += W) first = multiply_add(load<V>(x_k + p), load<V>(y_k + p), first);
    if (W > 1 && p < k) {
        const V zero = splat<V>(0);
        second = multiply_add(load_part<V>(x_k + p, k - p, zero), load_part<V>(y_k + p, k - p, zero), second);
    }
    return first_lane(folded<SumOf>(first + second));
}

// out[i] (+)= dot of row i of x and y
template <class T>
void dots(const T* x_ik, int64_t ldx, const T* y_k, T* out, int64_t step, int64_t n, int64_t k, bool accumulate) {
    for (int64_t i = 0; i < n; i++) {
        T sum = dot(x_ik + i * ldx, y_k, k);
        out[i * step] = accumulate ? out[i * step] + sum : sum;
    }
}

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, const void* a, int64_t a_i, int64_t a_p, const void* b, int64_t ldb,
          bool b_is_nk, void* c, int64_t ldc, bool accumulate) {
    if (k == 1 && b_is_nk && ldb == 1) b_is_nk = false, ldb = n;      // one row, either way
    GemmJob<T> job{m, n, k, (const T*)a, a_i, a_p, (const T*)b, ldb, b_is_nk, (T*)c, ldc, accumulate};
    const int64_t b_p = b_is_nk ? 1 : ldb;
    if (n == 1 && a_p == 1 && b_p == 1) return dots(job.a, a_i, job.b, job.c, ldc, m, k, accumulate);
    if (m == 1 && a_p == 1 && b_is_nk) return dots(job.b, ldb, job.a, job.c, 1, n, k, accumulate);
    if (n == 1 && a_i == 1 && ldc == 1)          // a column is a row of the transposed product
        job = {1, m, k, (const T*)b, 1, b_p, (const T*)a, a_p, false, (T*)c, m, accumulate};
    if (m * n * k < 1 << 22) gemm_range<T>(&job, 0, job.m);
    else parallel_for(job.m, (1 << 21) / (job.n * k) + ROWS, gemm_range<T>, &job);
}

}  // namespace

const Kernel gemm_kernels[] = {{"gemm", F32, (void*)gemm<float>}, {"gemm", F64, (void*)gemm<double>}};
CLAY_COUNT(gemm)

}  // namespace CLAY_ISA
}  // namespace clay
