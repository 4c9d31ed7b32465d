// Elements selected by a mask or by bounds; rows added by index.
#include <string.h>

#include "platform/table.hpp"
#include "simd/lines.hpp"
#include "nn/norm.hpp"
#include "platform/scratch.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> struct WhereJob {
    const uint8_t* mask;
    const T *x, *y;
    T* out;
    int64_t x_step, y_step;
};

template <class T, int xs, int ys> void where_run(const WhereJob<T>& job, int64_t begin, int64_t end) {
    const uint8_t* mask = job.mask;
    const T *x = job.x, *y = job.y;
    T* out = job.out;
    const T one_x = x[0], one_y = y[0];
#pragma GCC ivdep
    for (int64_t i = begin; i < end; i++) {
        const T yes = xs ? x[i] : one_x, no = ys ? y[i] : one_y;
        out[i] = mask[i] ? yes : no;
    }
}

template <class T> void where_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(WhereJob<T>*)data;
    if (job.x_step && job.y_step) where_run<T, 1, 1>(job, begin, end);
    else if (job.x_step) where_run<T, 1, 0>(job, begin, end);
    else if (job.y_step) where_run<T, 0, 1>(job, begin, end);
    else where_run<T, 0, 0>(job, begin, end);
}

template <class T>
void where(const uint8_t* mask, const void* x, const void* y, void* out, int64_t n, int64_t x_step, int64_t y_step) {
    WhereJob<T> job{mask, (const T*)x, (const T*)y, (T*)out, x_step, y_step};
    parallel_for(n, CHEAP, where_range<T>, &job);
}

// The values of each row are linked into a list, in their order; then every row is written once.
template <class T> struct AddRowsJob {
    const T* values;
    T* out;
    const int32_t *first, *next;         // the first value of each row; the next value after each value
    int64_t count, width;
};

template <class T> void add_rows_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    auto& job = *(AddRowsJob<T>*)data;
    constexpr int64_t AHEAD = 8;
    const int64_t width = job.width;
    for (int64_t row = begin; row < end; row++) {
        T* into = job.out + row * width;
        int32_t k = job.first[row];
        if (row + AHEAD < job.count && job.first[row + AHEAD] >= 0)
            for (int64_t i = 0; i < width * (int64_t)sizeof(T); i += 64)
                ahead((const char*)(job.values + job.first[row + AHEAD] * width) + i);
        if (k < 0) {
            along<T>(width, [=](int64_t i, int64_t m) { put<V>(into + i, splat<V>(0), m); });
            continue;
        }
        const T* from = job.values + k * width;
        along<T>(width, [=](int64_t i, int64_t m) { put<V>(into + i, splat<V>(0) + get<V>(from + i, m), m); });
        while ((k = job.next[k]) >= 0) {
            from = job.values + k * width;
            along<T>(width, [=](int64_t i, int64_t m) { put<V>(into + i, get<V>(into + i, m) + get<V>(from + i, m), m); });
        }
    }
}

thread_local Room chains;

template <class T>
bool add_rows(const void* values, const int64_t* numbers, void* out, int64_t n, int64_t count, int64_t width) {
    if (n > INT32_MAX || count > INT32_MAX) return false;
    int32_t* first = (int32_t*)chains.get((size_t)(count + n) * sizeof(int32_t));
    if (!first) return false;
    int32_t* next = first + count;
    memset(first, -1, (size_t)count * sizeof(int32_t));
    for (int64_t k = n - 1; k >= 0; k--) {
        next[k] = first[numbers[k]];
        first[numbers[k]] = (int32_t)k;
    }
    AddRowsJob<T> job{(const T*)values, (T*)out, first, next, count, width};
    parallel_for(count, CHEAP_ROWS / 2 / (width + 1) + 1, add_rows_range<T>, &job);
    chains.give_back();
    return true;
}

}  // namespace

bool inside(const int64_t* index_m, int64_t m, int64_t n) {
    int64_t below = 0;                   // negative if any index, or n - 1 minus any index, is negative
    for (int64_t i = 0; i < m; i++) below |= index_m[i] | (int64_t)((uint64_t)(n - 1) - (uint64_t)index_m[i]);
    return below >= 0;
}

const Kernel select_kernels[] = {
    {"where", U8, (void*)(where_fn)where<uint8_t>},   {"where", I16, (void*)(where_fn)where<uint16_t>},
    {"where", F32, (void*)(where_fn)where<uint32_t>}, {"where", F64, (void*)(where_fn)where<uint64_t>},
    {"add_rows", F32, (void*)(add_rows_fn)add_rows<float>}, {"add_rows", F64, (void*)(add_rows_fn)add_rows<double>},
};
CLAY_COUNT(select)

}  // namespace CLAY_ISA
}  // namespace clay
