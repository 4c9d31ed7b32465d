// Max or min of each row, with its first index.
#include <stdlib.h>

#include <type_traits>

#include "sort/sort.hpp"
#include "platform/table.hpp"
#include "reduce/tree.hpp"
#include "platform/threads.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <bool LARGEST, class T> bool beats(T x, T best) {
    return (LARGEST ? x > best : x < best) | ((x != x) & (best == best));
}

template <bool LARGEST, class T> T extreme_of(const T* x_n, int64_t n) {
    if constexpr (std::is_floating_point<T>::value) return reduce_row<std::conditional_t<LARGEST, MaxOf, MinOf>, T>(x_n, n);
    T best = x_n[0];
    for (int64_t i = 1; i < n; i++) best = (LARGEST ? x_n[i] > best : x_n[i] < best) ? x_n[i] : best;
    return best;
}

// The index of the first element equal to a value that is known to occur; NaN equals NaN. Compares many elements per branch.
template <class T> int64_t first_among(const T* x, int64_t n, T value) {
    constexpr int64_t CHUNK = 64;
    const bool unknown = value != value;
    int64_t at = 0;
    for (; at + CHUNK <= n; at += CHUNK) {
        int found = 0;
        if (unknown)
            for (int64_t i = 0; i < CHUNK; i++) found |= x[at + i] != x[at + i];
        else
            for (int64_t i = 0; i < CHUNK; i++) found |= x[at + i] == value;
        if (found) break;
    }
    while (unknown ? x[at] == x[at] : x[at] != value) at++;
    return at;
}

constexpr int64_t BLOCK = 2048, SHORT = 24;

template <bool LARGEST, class T> int64_t place_in_row(const T* x, int64_t n) {
    int64_t at = 0;
    T best = x[0];
    if (n <= SHORT) {
        for (int64_t i = 1; i < n; i++) {                // by masks: a branch would be mispredicted
            const int64_t better = -(int64_t)beats<LARGEST>(x[i], x[at]);
            at ^= (at ^ i) & better;
        }
        return at;
    }
    for (int64_t i = 0; i < n && best == best; i += BLOCK) {
        const T top = extreme_of<LARGEST>(x + i, n - i < BLOCK ? n - i : BLOCK);
        if (i == 0 || beats<LARGEST>(top, best)) best = top, at = i;
    }
    return at + first_among(x + at, n - at, best);
}

template <class T> struct Job {
    const T* x_oni;
    T* values_oi;
    int64_t* indices_oi;
    int64_t n, inner, part;
};

template <bool LARGEST, class T> void rows_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(Job<T>*)data;
    for (int64_t r = begin; r < end; r++) {
        const T* x = job.x_oni + r * job.n;
        const int64_t at = place_in_row<LARGEST>(x, job.n);
        if (job.indices_oi) job.indices_oi[r] = at;
        if (job.values_oi) job.values_oi[r] = x[at];
    }
}

// Parts of one long row, an index for each.
template <bool LARGEST, class T> void parts_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(Job<T>*)data;
    for (int64_t p = begin; p < end; p++) {
        const int64_t first = p * job.part, size = job.n - first < job.part ? job.n - first : job.part;
        job.indices_oi[p] = first + place_in_row<LARGEST>(job.x_oni + first, size);
    }
}

constexpr int64_t WIDE = 256;            // columns compared at a time
template <class T> using PlaceOf = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

// Max or min of each of `width` <= WIDE columns, and its row; rows are `step` elements apart.
template <bool LARGEST, class T>
void best_of_columns(const T* x, int64_t rows, int64_t step, int64_t width, T* best, PlaceOf<T>* at) {
    for (int64_t i = 0; i < width; i++) best[i] = x[i], at[i] = 0;
    for (int64_t r = 1; r < rows; r++) {
        const T* row = x + r * step;
#pragma GCC ivdep
        for (int64_t i = 0; i < width; i++) {
            const T value = row[i], old = best[i];
            const bool better = beats<LARGEST>(value, old);
            best[i] = better ? value : old;
            at[i] = better ? (PlaceOf<T>)r : at[i];
        }
    }
}

template <bool LARGEST, class T> void columns_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(Job<T>*)data;
    const int64_t step = job.inner, tiles = (step + WIDE - 1) / WIDE;
    T best[WIDE];
    PlaceOf<T> at[WIDE];
    for (int64_t task = begin; task < end; task++) {
        const int64_t o = task / tiles, first = task % tiles * WIDE, width = step - first < WIDE ? step - first : WIDE;
        best_of_columns<LARGEST>(job.x_oni + o * job.n * step + first, job.n, step, width, best, at);
        if (job.indices_oi)
            for (int64_t i = 0; i < width; i++) job.indices_oi[o * step + first + i] = at[i];
        if (job.values_oi)
            for (int64_t i = 0; i < width; i++) job.values_oi[o * step + first + i] = best[i];
    }
}

// Few columns: several rows are treated as one wide row, whose lanes are compared at the end. Indices count from x.
template <bool LARGEST, class T> void narrow_columns(const T* x, int64_t n, int64_t inner, int64_t* indices) {
    const int64_t together = WIDE / inner, rounds = n / together;
    T best[WIDE];
    PlaceOf<T> at[WIDE];
    best_of_columns<LARGEST>(x, rounds, together * inner, together * inner, best, at);
    for (int64_t c = 0; c < inner; c++) {
        T top = best[c];
        int64_t place = at[c] * together;
        for (int64_t k = 1; k < together; k++) {
            const T value = best[k * inner + c];
            const int64_t here = at[k * inner + c] * together + k;
            if (beats<LARGEST>(value, top) || (!beats<LARGEST>(top, value) && here < place)) top = value, place = here;
        }
        for (int64_t r = rounds * together; r < n; r++)
            if (beats<LARGEST>(x[r * inner + c], top)) top = x[r * inner + c], place = r;
        indices[c] = place;
    }
}

template <class T> struct NarrowJob {
    const T* x_oni;
    int64_t n, inner, parts, *indices_opi;        // indices_opi: an index for each part of a column
    int64_t begin(int64_t part) const { return n / parts * part; }
    int64_t end(int64_t part) const { return part + 1 < parts ? begin(part + 1) : n; }
};

template <bool LARGEST, class T> void narrow_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(NarrowJob<T>*)data;
    for (int64_t task = begin; task < end; task++) {
        const int64_t o = task / job.parts, p = task % job.parts, first = job.begin(p);
        int64_t* indices = job.indices_opi + task * job.inner;
        narrow_columns<LARGEST>(job.x_oni + (o * job.n + first) * job.inner, job.end(p) - first, job.inner, indices);
        for (int64_t c = 0; c < job.inner; c++) indices[c] += first;
    }
}

// False: no memory
template <bool LARGEST, class T> bool narrow(const Job<T>& job, int64_t outer) {
    const int64_t n = job.n, inner = job.inner, largest = n * inner / (CHEAP_ROWS / 4) + 1, parts = outer > 8 ? 1 : largest < 8 ? largest : 8;
    NarrowJob<T> all{job.x_oni, n, inner, parts, (int64_t*)malloc((size_t)(outer * parts * inner) * sizeof(int64_t))};
    if (!all.indices_opi) return false;
    parallel_for(outer * parts, CHEAP_ROWS / 4 / (n * inner / parts) + 1, narrow_range<LARGEST, T>, &all);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t c = 0; c < inner; c++) {
            const T* x = job.x_oni + o * n * inner + c;
            const int64_t* indices = all.indices_opi + o * parts * inner + c;
            int64_t at = indices[0];
            for (int64_t p = 1; p < parts; p++)
                if (beats<LARGEST>(x[indices[p * inner] * inner], x[at * inner])) at = indices[p * inner];
            if (job.indices_oi) job.indices_oi[o * inner + c] = at;
            if (job.values_oi) job.values_oi[o * inner + c] = x[at * inner];
        }
    free(all.indices_opi);
    return true;
}

template <bool LARGEST, class T>
void extreme(const void* x_oni, void* values_oi, int64_t* indices_oi, int64_t outer, int64_t n, int64_t inner) {
    Job<T> job{(const T*)x_oni, (T*)values_oi, indices_oi, n, inner, CHEAP_ROWS / 2};
    if (inner > 1 && inner <= WIDE / 8 && n >= 4 * WIDE && narrow<LARGEST>(job, outer)) return;
    if (inner > 1) {
        const int64_t tasks = outer * ((inner + WIDE - 1) / WIDE), width = inner < WIDE ? inner : WIDE;
        parallel_for(tasks, CHEAP_ROWS / 4 / (n * width + 1) + 1, columns_range<LARGEST, T>, &job);
        return;
    }
    const int64_t parts = (n + job.part - 1) / job.part;
    if (outer == 1 && parts > 4) {
        if (auto best = (int64_t*)malloc((size_t)parts * sizeof(int64_t))) {
            const T* x = job.x_oni;
            int64_t at = 0;
            job.indices_oi = best;
            parallel_for(parts, 2, parts_range<LARGEST, T>, &job);
            for (int64_t p = 0; p < parts; p++)
                if (p == 0 || beats<LARGEST>(x[best[p]], x[at])) at = best[p];
            free(best);
            if (indices_oi) *indices_oi = at;
            if (values_oi) *(T*)values_oi = x[at];
            return;
        }
    }
    parallel_for(outer, CHEAP_ROWS / 2 / (n + 1) + 1, rows_range<LARGEST, T>, &job);
}

}  // namespace

#define BOTH(T, code)                                      \
    {"max", code, (void*)(extreme_fn)extreme<true, T>},   \
    {"min", code, (void*)(extreme_fn)extreme<false, T>}

const Kernel extreme_kernels[] = {BOTH(float, F32), BOTH(double, F64), BOTH(int64_t, I64), BOTH(int32_t, I32),
                                  BOTH(int16_t, I16), BOTH(int8_t, I8), BOTH(uint8_t, U8)};
CLAY_COUNT(extreme)

}  // namespace CLAY_ISA
}  // namespace clay
