// Comparisons, to bytes 0 and 1. Simple loops, which the compiler vectorises.
#include "platform/table.hpp"
#include "platform/threads.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

struct Eq { template <class T> bool operator()(T x, T y) const { return x == y; } };
struct Ne { template <class T> bool operator()(T x, T y) const { return x != y; } };
struct Lt { template <class T> bool operator()(T x, T y) const { return x < y; } };
struct Le { template <class T> bool operator()(T x, T y) const { return x <= y; } };
struct Gt { template <class T> bool operator()(T x, T y) const { return x > y; } };
struct Ge { template <class T> bool operator()(T x, T y) const { return x >= y; } };

template <class T> struct CompareJob {
    const T* x;
    const T* y;
    uint8_t* out_n;
};

template <class F, class T, bool X, bool Y> void compare_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(CompareJob<T>*)data;
    const T *x = job.x, *y = job.y;
    uint8_t* out = job.out_n;
    const F f;
    const T one_x = *x, one_y = *y;
#pragma GCC ivdep
    for (int64_t i = begin; i < end; i++) out[i] = f(X ? x[i] : one_x, Y ? y[i] : one_y);
}

template <class F, class T> void compare(const void* x, const void* y, void* out_n, int64_t n, int mode) {
    if (n <= 0) return;
    CompareJob<T> job{(const T*)x, (const T*)y, (uint8_t*)out_n};
    range_body body = mode == 0 ? compare_range<F, T, true, true>
                    : mode == 1 ? compare_range<F, T, true, false> : compare_range<F, T, false, true>;
    if (n < 2 * CHEAP) body(&job, 0, n);
    else parallel_for(n, CHEAP, body, &job);
}

}  // namespace

#define ALL(name, F)                                                                      \
    {name, F32, (void*)compare<F, float>}, {name, F64, (void*)compare<F, double>},        \
    {name, I64, (void*)compare<F, int64_t>}, {name, I32, (void*)compare<F, int32_t>},       \
    {name, U8, (void*)compare<F, uint8_t>}, {name, BOOL, (void*)compare<F, uint8_t>},     \
    {name, I8, (void*)compare<F, int8_t>}, {name, I16, (void*)compare<F, int16_t>}

const Kernel compare_kernels[] = {
    ALL("eq", Eq), ALL("ne", Ne), ALL("lt", Lt), ALL("le", Le), ALL("gt", Gt), ALL("ge", Ge),
};
CLAY_COUNT(compare)

}  // namespace CLAY_ISA
}  // namespace clay
