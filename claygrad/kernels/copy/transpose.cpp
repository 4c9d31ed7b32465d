// Transposed copies of planes: rows of the source are columns of the destination.
#include "platform/table.hpp"
#include "simd/transpose.hpp"

namespace clay {
namespace CLAY_ISA {

template <class T> void transpose(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t n, int64_t m) {
    transpose_inline(from, from_step, to, to_step, n, m);
}
template void transpose(const float*, int64_t, float*, int64_t, int64_t, int64_t);
template void transpose(const double*, int64_t, double*, int64_t, int64_t, int64_t);

namespace {

template <class T> void plane(const void* from, int64_t from_step, void* to, int64_t to_step, int64_t n, int64_t m) {
    transpose((const T*)from, from_step, (T*)to, to_step, n, m);
}

}  // namespace

const Kernel plane_kernels[] = {{"transpose", F32, (void*)plane<float>}, {"transpose", F64, (void*)plane<double>}};
CLAY_COUNT(plane)

}  // namespace CLAY_ISA
}  // namespace clay
