// Resampling of an axis by taps, and its transpose.
#include <string.h>

#include "platform/table.hpp"
#include "nn/interpolate.hpp"
#include "platform/scratch.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

int64_t work_of(const Resampling& s) { return (s.n + s.out * s.taps) * s.inner; }

// TAPS: their number if known at compile time, else 0
template <class T, int TAPS> void apply_line(const Resampling& s, const T* x, T* result) {
    const int64_t taps = TAPS ? TAPS : s.taps;
    const T* weight = (const T*)s.weight;
    for (int64_t i = 0; i < s.out; i++) {
        if (!weight) {
            result[i] = x[s.index[i]];
            continue;
        }
        T sum = weight[i * taps] * x[s.index[i * taps]];
        for (int64_t j = 1; j < taps; j++) sum += weight[i * taps + j] * x[s.index[i * taps + j]];
        result[i] = sum;
    }
}

template <class T> void apply_rows(const Resampling& s, const T* x, T* result) {
    const T* weight = (const T*)s.weight;
    for (int64_t i = 0; i < s.out; i++) {
        T* out = result + i * s.inner;
        const int64_t* at = s.index + i * s.taps;
        if (!weight) {
            memcpy(out, x + at[0] * s.inner, s.inner * sizeof(T));
            continue;
        }
        const T* w = weight + i * s.taps;
        if (s.taps == 2) {
            const T *a = x + at[0] * s.inner, *b = x + at[1] * s.inner, u = w[0], v = w[1];
#pragma GCC ivdep
            for (int64_t k = 0; k < s.inner; k++) out[k] = u * a[k] + v * b[k];
            continue;
        }
        const T* a = x + at[0] * s.inner;
#pragma GCC ivdep
        for (int64_t k = 0; k < s.inner; k++) out[k] = w[0] * a[k];
        for (int64_t j = 1; j < s.taps; j++) {
            const T *b = x + at[j] * s.inner, v = w[j];
#pragma GCC ivdep
            for (int64_t k = 0; k < s.inner; k++) out[k] += v * b[k];
        }
    }
}

template <class T> void apply(const Resampling* axis, const void* x, void* result) {
    const Resampling& s = *axis;
    each_task(s.outer, work_of(s), [&](int64_t o) {
        const T* from = (const T*)x + o * s.n * s.inner;
        T* to = (T*)result + o * s.out * s.inner;
        if (s.inner > 1) apply_rows(s, from, to);
        else if (s.taps == 2) apply_line<T, 2>(s, from, to);
        else if (s.taps == 4) apply_line<T, 4>(s, from, to);
        else apply_line<T, 0>(s, from, to);
    });
}

template <class T> void back_line(const Resampling& s, const T* g, T* to) {
    const T* weight = (const T*)s.weight;
    const int64_t* at = s.index;
    if (!weight)
        for (int64_t i = 0; i < s.out; i++) to[at[i]] += g[i];
    else if (s.taps == 2)
        for (int64_t i = 0; i < s.out; i++) to[at[2 * i]] += weight[2 * i] * g[i], to[at[2 * i + 1]] += weight[2 * i + 1] * g[i];
    else
        for (int64_t i = 0; i < s.out; i++)
            for (int64_t j = 0; j < s.taps; j++) to[at[i * s.taps + j]] += weight[i * s.taps + j] * g[i];
}

template <class T> void back(const Resampling* axis, const void* x, void* result) {
    const Resampling& s = *axis;
    const T* weight = (const T*)s.weight;
    each_task(s.outer, work_of(s), [&](int64_t o) {
        const T* g = (const T*)x + o * s.out * s.inner;
        T* to = (T*)result + o * s.n * s.inner;
        memset(to, 0, s.n * s.inner * sizeof(T));
        if (s.inner == 1) return back_line(s, g, to);
        for (int64_t i = 0; i < s.out; i++)
            for (int64_t j = 0; j < s.taps; j++) {
                const T w = weight ? weight[i * s.taps + j] : 1, *from = g + i * s.inner;
                T* into = to + s.index[i * s.taps + j] * s.inner;
#pragma GCC ivdep
                for (int64_t k = 0; k < s.inner; k++) into[k] += w * from[k];
            }
    });
}

#define BOTH(name, f) {name, F32, (void*)f<float>}, {name, F64, (void*)f<double>}

}  // namespace

const Kernel resample_kernels[] = {BOTH("apply", apply), BOTH("back", back)};
CLAY_COUNT(resample)

}  // namespace CLAY_ISA
}  // namespace clay
