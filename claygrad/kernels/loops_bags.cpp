// Sums, means and maxima of bags of rows, and the gradient of that.
#include <string.h>

#include "bags.hpp"
#include "families.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

enum { SUM, MEAN, MAX };

template <class T> void add(T* __restrict to, const T* __restrict row, int64_t n) {
    for (int64_t k = 0; k < n; k++) to[k] += row[k];
}

template <class T> void add_times(T* __restrict to, const T* __restrict row, T by, int64_t n) {
    for (int64_t k = 0; k < n; k++) to[k] += row[k] * by;
}

template <class T> void fill(const Bags* job, const void* from, void* made) {
    const Bags& s = *job;
    const T* table = (const T*)from;
    T* out = (T*)made;
    memset(out, 0, (size_t)(s.bags * s.width) * sizeof(T));
    memset(s.sizes, 0, (size_t)s.bags * sizeof(int64_t));
    if (s.mode == MAX) memset(s.best, 0, (size_t)(s.bags * s.width) * sizeof(int64_t));
    for (int64_t i = 0; i < s.entries; i++) {
        if (s.index[i] == s.padding) continue;
        const T* row = table + s.index[i] * s.width;
        T* to = out + s.bag[i] * s.width;
        const bool first = s.sizes[s.bag[i]]++ == 0;
        if (s.mode == MAX) {
            int64_t* best = s.best + s.bag[i] * s.width;
            for (int64_t k = 0; k < s.width; k++) {
                const bool takes = first | (row[k] > to[k]) | ((row[k] != row[k]) & (to[k] == to[k]));
                to[k] = takes ? row[k] : to[k];
                best[k] = takes ? s.index[i] : best[k];
            }
        } else if (s.weight) add_times(to, row, ((const T*)s.weight)[i], s.width);
        else add(to, row, s.width);
    }
    for (int64_t b = 0; s.mode == MEAN && b < s.bags; b++)
        if (s.sizes[b] > 1)
            for (int64_t k = 0; k < s.width; k++) out[b * s.width + k] /= (T)s.sizes[b];
}

template <class T> void empty(const Bags* job, const void* from, void* made) {
    const Bags& s = *job;
    const T* g = (const T*)from;
    T* out = (T*)made;
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
