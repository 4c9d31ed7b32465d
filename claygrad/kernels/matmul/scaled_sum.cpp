// Scaled sums: alpha * product + beta * start.
#include "matmul/scaled_sum.hpp"
#include "platform/table.hpp"
#include "simd/lines.hpp"
#include "platform/threads.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> struct Job {
    const T *x, *y, *start;
    T* out;
    int64_t start_i, start_j, n;
    T alpha, beta;
};

template <class T, bool OUTER> void range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    auto& job = *(Job<T>*)data;
    const V alpha = splat<V>(job.alpha), beta = splat<V>(job.beta);
    for (int64_t i = begin; i < end; i++) {
        T* out = job.out + i * job.n;
        const T* start = job.start ? job.start + i * job.start_i : nullptr;
        const V factor = splat<V>(OUTER ? job.x[i] : 1), one = splat<V>(start && !job.start_j ? *start : 0) * beta;
        const bool line = start && job.start_j == 1;
        if (start && job.start_j > 1) {                  // a column of a transposed matrix
            for (int64_t j = 0; j < job.n; j++) {
                const T result = OUTER ? job.x[i] * job.y[j] : out[j];
                out[j] = result * job.alpha + start[j * job.start_j] * job.beta;
            }
            continue;
        }
        along<T>(job.n, [=](int64_t j, int64_t m) {
            const V result = OUTER ? factor * get<V>(job.y + j, m) : get<V>(out + j, m);
            put<V>(out + j, result * alpha + (line ? get<V>(start + j, m) * beta : one), m);
        });
    }
}

template <class T>
void combine(void* out_mn, const void* start, int64_t start_i, int64_t start_j, int64_t m, int64_t n, double alpha, double beta) {
    Job<T> job{nullptr, nullptr, (const T*)start, (T*)out_mn, start_i, start_j, n, (T)alpha, (T)beta};
    parallel_for(m, CHEAP_ROWS / 2 / (n + 1) + 1, range<T, false>, &job);
}

template <class T>
void outer(const void* x_m, const void* y_n, void* out_mn, const void* start, int64_t start_i, int64_t start_j, int64_t m, int64_t n,
           double alpha, double beta) {
    Job<T> job{(const T*)x_m, (const T*)y_n, (const T*)start, (T*)out_mn, start_i, start_j, n, (T)alpha, (T)beta};
    parallel_for(m, CHEAP_ROWS / 2 / (n + 1) + 1, range<T, true>, &job);
}

template <class T> struct ScaleJob {
    const T *x, *scale;
    T* out;
    int64_t n, inner;
};

template <class T> void scale_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    auto& job = *(ScaleJob<T>*)data;
    for (int64_t line = begin; line < end; line++) {
        const T* x = job.x + line * job.inner;
        T* out = job.out + line * job.inner;
        const V by = splat<V>(job.scale[line % job.n]);
        along<T>(job.inner, [=](int64_t i, int64_t m) { put<V>(out + i, get<V>(x + i, m) * by, m); });
    }
}

template <class T> void scale(const void* x_oki, const void* scale_k, void* out_oki, int64_t outer, int64_t n, int64_t inner) {
    ScaleJob<T> job{(const T*)x_oki, (const T*)scale_k, (T*)out_oki, n, inner};
    if (inner > 1) return parallel_for(outer * n, CHEAP_ROWS / 2 / (inner + 1) + 1, scale_range<T>, &job);
    for (int64_t o = 0; o < outer; o++)
#pragma GCC ivdep
        for (int64_t k = 0; k < n; k++) job.out[o * n + k] = job.x[o * n + k] * job.scale[k];
}

template <class T> struct DotJob {
    const T *x, *y;
    T* sums;
    int64_t n, part;
};

template <class T> void dot_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    auto& job = *(DotJob<T>*)data;
    for (int64_t p = begin; p < end; p++) {
        const int64_t first = p * job.part, size = job.n - first < job.part ? job.n - first : job.part;
        const T *x = job.x + first, *y = job.y + first;
        sums<1, T>(0, size, job.sums + p, [=](int64_t i, int64_t m, V* term) { term[0] = get<V>(x + i, m) * get<V>(y + i, m); });
    }
}

// Divided by size alone, so that every run adds in the same order: equal parts, a multiple of eight.
template <class T> void dot(const void* x_n, const void* y_n, void* out, int64_t n) {
    constexpr int64_t PART = CHEAP_ROWS / 2, MAX_PARTS = 256, TEAM = 8;
    T sums[MAX_PARTS];
    int64_t parts = n <= 2 * CHEAP_ROWS ? 1 : (n + PART * TEAM - 1) / (PART * TEAM) * TEAM;
    if (parts > MAX_PARTS) parts = MAX_PARTS;
    const int64_t part = (n / parts + 64) / 64 * 64;         // whole vectors
    DotJob<T> job{(const T*)x_n, (const T*)y_n, sums, n, part};
    parts = ceil_div(n, part);
    parallel_for(parts, parts / TEAM + 1, dot_range<T>, &job);
    *(T*)out = reduce_row<SumOf, T>(sums, parts);
}

}  // namespace

const Kernel combine_kernels[] = {
    {"sum", F32, (void*)(combine_fn)combine<float>}, {"sum", F64, (void*)(combine_fn)combine<double>},
    {"scale", F32, (void*)(scale_fn)scale<float>}, {"scale", F64, (void*)(scale_fn)scale<double>},
    {"dot", F32, (void*)(dot_fn)dot<float>}, {"dot", F64, (void*)(dot_fn)dot<double>},
    {"outer", F32, (void*)(outer_fn)outer<float>}, {"outer", F64, (void*)(outer_fn)outer<double>},
};
CLAY_COUNT(combine)

}  // namespace CLAY_ISA
}  // namespace clay
