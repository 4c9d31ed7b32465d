// Elements picked and placed along an axis by an index of the same shape: gather, and its gradient.
#include "codes.hpp"
#include "kernels.hpp"

namespace clay {
namespace {

template <class T>
int64_t gather(const T* x_oni, const int64_t* index_omi, T* out_omi, int64_t outer, int64_t n, int64_t m, int64_t inner) {
    for (int64_t o = 0, at = 0; o < outer; o++)
        for (int64_t j = 0; j < m; j++)
            for (int64_t i = 0; i < inner; i++, at++) {
                const int64_t k = index_omi[at];
                if (k < 0 || k >= n) return at;
                out_omi[at] = x_oni[(o * n + k) * inner + i];
            }
    return -1;
}

template <class T>
int64_t scatter_add(T* out_oni, const int64_t* index_omi, const T* src_omi, int64_t outer, int64_t n, int64_t m,
                    int64_t inner) {
    for (int64_t at = 0; at < outer * m * inner; at++)
        if (index_omi[at] < 0 || index_omi[at] >= n) return at;
    for (int64_t o = 0, at = 0; o < outer; o++)
        for (int64_t j = 0; j < m; j++)
            for (int64_t i = 0; i < inner; i++, at++) out_oni[(o * n + index_omi[at]) * inner + i] += src_omi[at];
    return -1;
}

}  // namespace

int64_t gather_along(const void* x, const int64_t* index, void* out, int64_t outer, int64_t n, int64_t m, int64_t inner,
                     int64_t item_size) {
    switch (item_size) {
    case 1: return gather((const int8_t*)x, index, (int8_t*)out, outer, n, m, inner);
    case 2: return gather((const int16_t*)x, index, (int16_t*)out, outer, n, m, inner);
    case 4: return gather((const int32_t*)x, index, (int32_t*)out, outer, n, m, inner);
    case 8: return gather((const int64_t*)x, index, (int64_t*)out, outer, n, m, inner);
    }
    return 0;
}

int64_t scatter_add_along(int dtype, void* out, const int64_t* index, const void* src, int64_t outer, int64_t n, int64_t m,
                          int64_t inner) {
    if (dtype == F32) return scatter_add((float*)out, index, (const float*)src, outer, n, m, inner);
    if (dtype == F64) return scatter_add((double*)out, index, (const double*)src, outer, n, m, inner);
    return 0;
}

}  // namespace clay
