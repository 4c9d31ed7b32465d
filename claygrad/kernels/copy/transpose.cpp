// Transposed copies of planes: rows of the source are columns of the destination.
#include "platform/table.hpp"
#include "simd/transpose.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> void plane(const void* from, int64_t from_step, void* to, int64_t to_step, int64_t n, int64_t m) {
    transpose((const T*)from, from_step, (T*)to, to_step, n, m);
}

}  // namespace

const Kernel plane_kernels[] = {{"transpose", F32, (void*)plane<float>}, {"transpose", F64, (void*)plane<double>}};
CLAY_COUNT(plane)

}  // namespace CLAY_ISA
}  // namespace clay
