// Gather and scatter on contiguous memory: along an axis by indices, and by masks.
#include "index/dense.hpp"

#include <string.h>

#include "simd/item_size.hpp"
#include "copy/bytes.hpp"
#include "platform/dtypes.hpp"
#include "platform/api.hpp"
#include "index/strided.hpp"
#include "platform/threads.hpp"

namespace clay {
namespace {

template <class F> void each_range(int64_t n, int64_t grain, F f) {
    parallel_for(n, grain, [](void* job, int64_t begin, int64_t end) { (*(F*)job)(begin, end); }, &f);
}

// --- along an axis ----------------------------------------------------------------------------------------------------

int64_t first_outside(const int64_t* index, int64_t count, int64_t n) {
    if (inside(index, count, n)) return -1;
    for (int64_t i = 0; i < count; i++)
        if ((uint64_t)index[i] >= (uint64_t)n) return i;
    return -1;
}

template <class T>
void gather(const T* x_oni, const int64_t* index_omi, T* out_omi, int64_t outer, int64_t n, int64_t m, int64_t inner) {
    each_range(outer * m, COSTLY_ROWS / 2 / inner + 1, [=](int64_t begin, int64_t end) {
        if (inner == 1) {
            for (int64_t k = begin; k < end;) {          // row by row
                const int64_t o = k / m, stop = (o + 1) * m < end ? (o + 1) * m : end;
                const T* x = x_oni + o * n;
                for (; k < stop; k++) out_omi[k] = x[index_omi[k]];
            }
            return;
        }
        int64_t o = begin / m, j = begin % m, at = begin * inner;
        for (int64_t k = begin; k < end; k++) {
            const T* x = x_oni + o * n * inner;
            for (int64_t i = 0; i < inner; i++, at++) out_omi[at] = x[index_omi[at] * inner + i];
            if (++j == m) j = 0, o++;
        }
    });
}

// f(element) with an element of the type that sums of this dtype are computed in: integers wrap. False for others.
template <class F> bool by_sum(int dtype, F f) {
    switch (dtype) {
    case U8: case I8: f(uint8_t()); return true;
    case I16: f(uint16_t()); return true;
    case I32: f(uint32_t()); return true;
    case I64: f(uint64_t()); return true;
    case F32: f(float()); return true;
    case F64: f(double()); return true;
    }
    return false;
}

// out[index[j]] += src[j]. An addition waits for the one before it into the same cell, so of few cells there are several tables, for
// every fourth element each. Which way is taken depends on the sizes alone.
template <class T> void add_to_cells(T* out_n, const int64_t* index_m, const T* src_m, int64_t n, int64_t m) {
    constexpr int64_t FEW = 256, TABLES = 4;
    if (n > FEW || m < 16 * n) {
        for (int64_t j = 0; j < m; j++) out_n[index_m[j]] += src_m[j];
        return;
    }
    T table[TABLES * FEW];
    for (int64_t i = 0; i < TABLES * n; i++) table[i] = -T(0);             // changes nothing, not even the sign of a zero
    T *a = table, *b = a + n, *c = b + n, *d = c + n;
    int64_t j = 0;
    for (; j + TABLES <= m; j += TABLES) {
        a[index_m[j]] += src_m[j], b[index_m[j + 1]] += src_m[j + 1];
        c[index_m[j + 2]] += src_m[j + 2], d[index_m[j + 3]] += src_m[j + 3];
    }
    for (; j < m; j++) a[index_m[j]] += src_m[j];
    for (int64_t i = 0; i < n; i++) out_n[i] += a[i] + b[i] + (c[i] + d[i]);
}

// Each thread takes some columns of all rows, so that values are added in the order of the indices.
template <class T>
void scatter_add(T* out_oni, const int64_t* index_omi, const T* src_omi, int64_t outer, int64_t n, int64_t m, int64_t inner) {
    const int64_t width = inner < 64 ? inner : 64, tiles = (inner + width - 1) / width;
    each_range(outer * tiles, COSTLY_ROWS / 2 / (m * width + 1) + 1, [=](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; task++) {
            const int64_t o = task / tiles, from = task % tiles * width, to = from + width < inner ? from + width : inner;
            T* out = out_oni + o * n * inner;
            if (inner == 1) {
                add_to_cells(out, index_omi + o * m, src_omi + o * m, n, m);
                continue;
            }
            for (int64_t j = 0; j < m; j++) {
                const int64_t at = (o * m + j) * inner;
                for (int64_t i = from; i < to; i++) out[index_omi[at + i] * inner + i] += src_omi[at + i];
            }
        }
    });
}

template <class T>
void add_entries(T* out_oni, const int64_t* index_m, const T* source_omi, int64_t outer, int64_t n, int64_t m, int64_t inner) {
    if (inner == 1) {
        each_range(outer, CHEAP_ROWS / 2 / (m + 1) + 1, [=](int64_t begin, int64_t end) {
            for (int64_t o = begin; o < end; o++) add_to_cells(out_oni + o * n, index_m, source_omi + o * m, n, m);
        });
        return;
    }
    const int64_t width = inner < 256 ? inner : 256, tiles = (inner + width - 1) / width;
    each_range(outer * tiles, CHEAP_ROWS / 2 / (m * width + 1) + 1, [=](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; task++) {
            const int64_t o = task / tiles, from = task % tiles * width, count = inner - from < width ? inner - from : width;
            for (int64_t j = 0; j < m; j++) {
                const T* source = source_omi + (o * m + j) * inner + from;
                T* out = out_oni + (o * n + index_m[j]) * inner + from;
#pragma GCC ivdep
                for (int64_t i = 0; i < count; i++) out[i] += source[i];
            }
        }
    });
}

}  // namespace

int64_t gather_along(const void* x, const int64_t* index, void* out, int64_t outer, int64_t n, int64_t m, int64_t inner,
                     int64_t item_size) {
    const int64_t wrong = first_outside(index, outer * m * inner, n);
    if (wrong >= 0) return wrong;
    if (outer * m * inner > 0) by_size(item_size, [=](auto item) {
        using T = decltype(item);
        gather((const T*)x, index, (T*)out, outer, n, m, inner);
    });
    return -1;
}

int64_t scatter_add_along(int dtype, void* out, const int64_t* index, const void* src, int64_t outer, int64_t n, int64_t m,
                          int64_t inner) {
    const int64_t wrong = first_outside(index, outer * m * inner, n);
    if (wrong >= 0) return wrong;
    if (outer * m * inner == 0) return -1;
    const bool added = by_sum(dtype, [=](auto item) {
        using T = decltype(item);
        scatter_add((T*)out, index, (const T*)src, outer, n, m, inner);
    });
    return added ? -1 : 0;
}

void select_along(const void* x_on, const int64_t* index_m, void* out_om, int64_t outer, int64_t n, int64_t m, int64_t bytes) {
    const char* x = (const char*)x_on;
    char* out = (char*)out_om;
    each_range(outer * m, CHEAP_ROWS * 2 / bytes + 1, [=](int64_t begin, int64_t end) {
        if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16)
            return by_size(bytes, [=](auto item) {
                using T = decltype(item);
                for (int64_t k = begin; k < end;) {      // row by row
                    const int64_t j = k % m, count = m - j < end - k ? m - j : end - k;
                    const T* from = (const T*)x + k / m * n;
                    T* to = (T*)out + k;
#pragma GCC unroll 8
                    for (int64_t i = 0; i < count; i++) to[i] = from[index_m[j + i]];
                    k += count;
                }
            });
        for (int64_t k = begin; k < end; k++)
            copy_bytes(out + k * bytes, x + (k / m * n + index_m[k % m]) * bytes, bytes);
    });
}

bool select_inside(const void* x_on, const int64_t* index_m, void* out_om, int64_t outer, int64_t n, int64_t m, int64_t bytes) {
    if (outer != 1 || bytes > 16 || (bytes & (bytes - 1))) {
        if (!inside(index_m, m, n)) return false;
        select_along(x_on, index_m, out_om, outer, n, m, bytes);
        return true;
    }
    bool wrong = false;                                  // indices are checked as they are used
    each_range(m, CHEAP_ROWS * 2 / bytes, [=, &wrong](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; j += 1024) {
            const int64_t count = end - j < 1024 ? end - j : 1024;
            if (!inside(index_m + j, count, n)) {
                wrong = true;
                return;
            }
            by_size(bytes, [=](auto item) {
                using T = decltype(item);
                const int64_t* at = index_m + j;
                const T* from = (const T*)x_on;
                T* to = (T*)out_om + j;
#pragma GCC unroll 8
                for (int64_t i = 0; i < count; i++) to[i] = from[at[i]];
            });
        }
    });
    return !wrong;
}

void add_along(int dtype, void* out_oni, const int64_t* index_m, const void* source_omi, int64_t outer, int64_t n, int64_t m,
               int64_t inner) {
    by_sum(dtype, [=](auto item) {
        using T = decltype(item);
        add_entries((T*)out_oni, index_m, (const T*)source_omi, outer, n, m, inner);
    });
}

// --- by masks: in chunks, each of which knows the offset of its first selected element ---------------------------------

int64_t count_mask(const uint8_t* mask_n, int64_t n, int64_t* counts) {
    each_range(stretches(n), 4 * CHEAP_ROWS / STRETCH, [=](int64_t begin, int64_t end) {
        for (int64_t s = begin; s < end; s++) {
            const int64_t to = (s + 1) * STRETCH < n ? (s + 1) * STRETCH : n;
            int64_t count = 0, i = s * STRETCH;
            while (i < to) {                             // count in bytes until they could overflow
                const int64_t stop = i + 255 * 8 < to ? i + 255 * 8 : to;
                uint8_t sums[8] = {0};
                for (; i + 8 <= stop; i += 8)
                    for (int k = 0; k < 8; k++) sums[k] = (uint8_t)(sums[k] + mask_n[i + k]);
                for (; i < stop; i++) count += mask_n[i];
                for (int k = 0; k < 8; k++) count += sums[k];
            }
            counts[s] = count;
        }
    });
    int64_t total = 0;
    for (int64_t s = 0; s < stretches(n); s++) {
        const int64_t count = counts[s];
        counts[s] = total;
        total += count;
    }
    counts[stretches(n)] = total;
    return total;
}

void select_by_mask(const void* x_n, const uint8_t* mask_n, void* out, int64_t n, const int64_t* counts, int64_t item_size) {
    by_size(item_size, [=](auto item) {
        using T = decltype(item);
        each_range(stretches(n), COSTLY_ROWS / STRETCH, [=](int64_t begin, int64_t end) {
            for (int64_t s = begin; s < end; s++) {      // no branch: a random mask would be mispredicted
                const T* x = (const T*)x_n;
                T *to = (T*)out + counts[s], *stop = (T*)out + counts[s + 1];
                for (int64_t i = s * STRETCH; to < stop; i++) {
                    *to = x[i];
                    to += mask_n[i];
                }
            }
        });
    });
}

void place_by_mask(const void* x_n, const uint8_t* mask_n, const void* source, void* out_n, int64_t n, const int64_t* counts,
                   int64_t item_size) {
    by_size(item_size, [=](auto item) {
        using T = decltype(item);
        each_range(stretches(n), COSTLY_ROWS / STRETCH, [=](int64_t begin, int64_t end) {
            for (int64_t s = begin; s < end; s++) {
                const T *x = (const T*)x_n, *from = (const T*)source + counts[s], *stop = (const T*)source + counts[s + 1];
                T* out = (T*)out_n;
                const int64_t last = (s + 1) * STRETCH < n ? (s + 1) * STRETCH : n;
                int64_t i = s * STRETCH;
                for (; from < stop; i++) {
                    const T both[2] = {x[i], *from};
                    out[i] = both[mask_n[i]];
                    from += mask_n[i];
                }
                if (i < last) memcpy((void*)(out + i), (const void*)(x + i), (size_t)(last - i) * sizeof(T));
            }
        });
    });
}

void indices_of_mask(const uint8_t* mask, const int64_t* shape, int ndim, int64_t* out, int64_t n, int64_t total,
                    const int64_t* counts) {
    const int64_t width = shape[ndim - 1];
    each_range(stretches(n), COSTLY_ROWS / STRETCH, [=](int64_t begin, int64_t end) {
        for (int64_t s = begin; s < end; s++) {
            const int64_t stop = counts[s + 1];
            int64_t at[64], k = counts[s], i = s * STRETCH;
            if (k == stop) continue;
            for (int64_t d = ndim - 1, rest = i; d >= 0; d--) at[d] = rest % shape[d], rest /= shape[d];
            while (k < stop) {                           // along the last axis the other indices stay the same
                const int64_t first = k, row = width - at[ndim - 1];
                int64_t* last = out + (ndim - 1) * total;
                for (int64_t j = 0; j < row && k < stop; j++) {
                    last[k] = at[ndim - 1] + j;
                    k += mask[i + j];
                }
                i += row;
                for (int d = 0; d < ndim - 1; d++)
                    for (int64_t p = first; p < k; p++) out[d * total + p] = at[d];
                at[ndim - 1] = 0;
                for (int d = ndim - 2; d >= 0 && ++at[d] == shape[d]; d--) at[d] = 0;
            }
        }
    });
}

}  // namespace clay
