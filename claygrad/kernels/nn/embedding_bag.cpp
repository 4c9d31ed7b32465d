// embedding_bag: sums, means and maxima of bags of rows, and their gradient.
#include <string.h>

#include "nn/embedding_bag.hpp"
#include "platform/table.hpp"
#include "simd/lines.hpp"
#include "platform/threads.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

enum { SUM, MEAN, MAX };

constexpr int MAX_VECTORS = sizeof(vec<float>) == 64 ? 16 : 8;        // vectors summed in registers

template <class T> void add_times(T* __restrict to, const T* __restrict row, T by, int64_t n) {
    for (int64_t k = 0; k < n; k++) to[k] += row[k] * by;
}

// Sums the entries of one bag over m columns from k on (at most N vectors) in registers.
template <class T, int N> void sum_of(const Bags& s, const T* table, int64_t begin, int64_t end, int64_t k, int64_t m, T by, T* out) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const T* weight = (const T*)s.weight;
    V sum[N];
    for (int v = 0; v < N; v++) sum[v] = splat<V>(0);
    for (int64_t i = begin; i < end; i++) {
        if (s.index[i] == s.padding) continue;
        const T* row = table + s.index[i] * s.width + k;
        if (i + 2 < s.entries) ahead(table + s.index[i + 2] * s.width + k);
        const V by_weight = splat<V>(weight ? weight[i] : (T)1);
        for (int v = 0; v < N; v++) {
            const V x = N == 1 ? get<V>(row, m) : load<V>(row + v * W);
            sum[v] = multiply_add(x, by_weight, sum[v]);
        }
    }
    for (int v = 0; v < N; v++) {
        if (by > 1) sum[v] = sum[v] / splat<V>(by);
        if (N == 1) put<V>(out + k, sum[v], m);
        else store<V>(out + k + v * W, sum[v]);
    }
}

// The columns from k on, as many at a time as possible, so that rows are read in long pieces. The last piece may overlap the one before.
template <class T, int N> void sum_columns(const Bags& s, const T* table, int64_t begin, int64_t end, int64_t k, T by, T* out) {
    constexpr int64_t W = Lanes<vec<T>>::width, piece = N * W;
    for (; k + piece <= s.width; k += piece) sum_of<T, N>(s, table, begin, end, k, W, by, out);
    if (k == s.width) return;
    if (s.width >= piece && s.width - k > piece / 2) sum_of<T, N>(s, table, begin, end, s.width - piece, W, by, out);
    else if constexpr (N > 1) sum_columns<T, N / 2>(s, table, begin, end, k, by, out);
    else sum_of<T, 1>(s, table, begin, end, k, s.width - k, by, out);
}

// The first maximum, or the first NaN; during the comparison `best` holds entry numbers.
template <class T> void largest_of(const Bags& s, const T* table, int64_t begin, int64_t end, int64_t k, int64_t m, T* out, int64_t* best) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    typedef decltype(V{} + V{} > V{}) Mask;
    bool first = true;
    V top = splat<V>(0), from = splat<V>(0);                           // entry numbers as floats, exact up to the mantissa
    for (int64_t i = begin; i < end; i++) {
        if (s.index[i] == s.padding) continue;
        const V x = get<V>(table + s.index[i] * s.width + k, m);
        const Mask takes = (x > top) | ((x != x) & (top == top));
        top = first ? x : select(takes, x, top);
        from = first ? splat<V>((double)(i - begin)) : select(takes, splat<V>((double)(i - begin)), from);
        first = false;
    }
    T at[W];
    store<V>(at, from);
    put<V>(out + k, top, m);
    for (int64_t j = 0; j < m; j++) best[k + j] = first ? 0 : s.index[begin + (int64_t)at[j]];
}

template <class T> void fill_bag(const Bags& s, const T* table, int64_t b, int64_t begin, int64_t end, T* out) {
    constexpr int64_t EXACT = 1 << 24;                                 // a float cannot count more entries exactly
    int64_t size = end - begin;
    if (s.padding >= 0)
        for (int64_t i = begin; i < end; i++) size -= s.index[i] == s.padding;
    s.sizes[b] = size;
    T* to = out + b * s.width;
    if (s.mode == MAX && end - begin <= EXACT) {
        along<T>(s.width, [&](int64_t i, int64_t m) { largest_of(s, table, begin, end, i, m, to, s.best + b * s.width); });
        return;
    }
    if (s.mode == MAX) {
        int64_t* best = s.best + b * s.width;
        for (int64_t k = 0; k < s.width; k++) to[k] = 0, best[k] = 0;
        bool first = true;
        for (int64_t i = begin; i < end; i++) {
            if (s.index[i] == s.padding) continue;
            const T* row = table + s.index[i] * s.width;
            for (int64_t k = 0; k < s.width; k++) {
                const bool takes = first | (row[k] > to[k]) | ((row[k] != row[k]) & (to[k] == to[k]));
                to[k] = takes ? row[k] : to[k];
                best[k] = takes ? s.index[i] : best[k];
            }
            first = false;
        }
        return;
    }
    const T by = s.mode == MEAN ? (T)size : 1;
    sum_columns<T, MAX_VECTORS>(s, table, begin, end, 0, by, to);
}

template <class T> struct FillJob {
    const Bags& s;
    const T* table;
    T* out;
};

template <class T> void fill_range(void* data, int64_t first, int64_t last) {
    const FillJob<T>& job = *(FillJob<T>*)data;
    const Bags& s = job.s;
    for (int64_t b = first; b < last; b++)
        fill_bag(s, job.table, b, s.starts[b], b + 1 < s.bags ? s.starts[b + 1] : s.entries, job.out);
}

template <class T> void fill(const Bags* job, const void* from, void* out) {
    FillJob<T> all{*job, (const T*)from, (T*)out};
    const int64_t work = job->entries / job->bags * job->width + job->width;
    parallel_for(job->bags, CHEAP_ROWS / work + 1, fill_range<T>, &all);
}

template <class T> void empty(const Bags* job, const void* from, void* result) {
    const Bags& s = *job;
    const T* g = (const T*)from;
    T* out = (T*)result;
    memset(out, 0, (size_t)(s.rows * s.width) * sizeof(T));
    if (s.mode == MAX) {
        for (int64_t b = 0; b < s.bags; b++)
            for (int64_t k = 0; s.sizes[b] && k < s.width; k++) {
                const int64_t at = b * s.width + k;
                out[s.best[at] * s.width + k] += g[at];
            }
        return;
    }
    for (int64_t i = 0; i < s.entries; i++) {
        if (s.index[i] == s.padding) continue;
        const T share = s.mode == MEAN ? 1 / (T)s.sizes[s.bag[i]] : 1, by = s.weight ? share * ((const T*)s.weight)[i] : share;
        add_times(out + s.index[i] * s.width, g + s.bag[i] * s.width, by, s.width);
    }
}

#define BOTH(name, f) {name, F32, (void*)(bags_fn)f<float>}, {name, F64, (void*)(bags_fn)f<double>}

}  // namespace

const Kernel bags_kernels[] = {BOTH("fill", fill), BOTH("empty", empty)};
CLAY_COUNT(bags)

}  // namespace CLAY_ISA
}  // namespace clay
