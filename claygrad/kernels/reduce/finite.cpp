// Looking for elements that are NaN or infinite: all bits of the exponent are set.
#include <atomic>

#include "platform/table.hpp"
#include "platform/threads.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr int64_t BLOCK = 4096;          // elements between two checks of the result

template <class U> struct FiniteJob {
    const U* x;
    std::atomic<int> found;              // 1: NaN, 2: infinite
};

template <class U, U EXPONENT> bool any_odd(const U* x, int64_t n) {
    U odd = 0;
    for (int64_t i = 0; i < n; i++) odd |= (U)((x[i] & EXPONENT) == EXPONENT);
    return odd;
}

template <class U, U EXPONENT> void look(void* job, int64_t begin, int64_t end) {
    auto& j = *(FiniteJob<U>*)job;
    constexpr U fraction = (U)((EXPONENT & (U)(0 - EXPONENT)) - 1);
    for (int64_t at = begin; at < end; at += BLOCK) {
        const int64_t n = end - at < BLOCK ? end - at : BLOCK;
        if (!any_odd<U, EXPONENT>(j.x + at, n)) continue;
        int kinds = 0;
        for (int64_t i = at; i < at + n; i++)
            if ((j.x[i] & EXPONENT) == EXPONENT) kinds |= j.x[i] & fraction ? 1 : 2;
        if ((j.found.fetch_or(kinds) | kinds) == 3) return;
    }
}

template <class U, U EXPONENT> int finite(const void* x, int64_t n) {
    FiniteJob<U> job{(const U*)x, {0}};
    parallel_for(n, 4 * CHEAP, look<U, EXPONENT>, &job);
    return job.found;
}

}  // namespace

// int(const void* x, int64_t n): a bit for each kind found
const Kernel finite_kernels[] = {{"kinds", F16, (void*)finite<uint16_t, 0x7c00>}, {"kinds", BF16, (void*)finite<uint16_t, 0x7f80>},
                                 {"kinds", F32, (void*)finite<uint32_t, 0x7f800000u>},
                                 {"kinds", F64, (void*)finite<uint64_t, 0x7ff0000000000000ull>}};
CLAY_COUNT(finite)

}  // namespace CLAY_ISA
}  // namespace clay
