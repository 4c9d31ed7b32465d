// The tables of kernels that each source file defines for the instruction set it is compiled for.
#pragma once
#include "platform/dtypes.hpp"

#define CLAY_FAMILY(name)                  \
    extern const Kernel name##_kernels[];  \
    extern const int64_t name##_count;

namespace clay {
#if defined(__AVX512F__)                   // files that are not built for this set: `shared_sources` of kernels/meson.build
namespace avx2 { CLAY_FAMILY(windows) }
#endif
namespace CLAY_ISA {

CLAY_FAMILY(unary)
CLAY_FAMILY(binary)
CLAY_FAMILY(compare)
CLAY_FAMILY(reduce)
CLAY_FAMILY(reduce_half)
CLAY_FAMILY(extreme)
CLAY_FAMILY(rows)
CLAY_FAMILY(rows2)
CLAY_FAMILY(gemm)
CLAY_FAMILY(combine)
CLAY_FAMILY(optim)
CLAY_FAMILY(conv)
CLAY_FAMILY(depthwise)
CLAY_FAMILY(recurrent)
CLAY_FAMILY(norm)
CLAY_FAMILY(variance)
CLAY_FAMILY(loss)
CLAY_FAMILY(scan)
CLAY_FAMILY(select)
CLAY_FAMILY(attention)
#if defined(__AVX512F__)
using avx2::windows_kernels;
using avx2::windows_count;
#else
CLAY_FAMILY(windows)
#endif
CLAY_FAMILY(resample)
CLAY_FAMILY(bags)
CLAY_FAMILY(shaped)
CLAY_FAMILY(plane)
CLAY_FAMILY(total)
CLAY_FAMILY(gate)
CLAY_FAMILY(cast)
CLAY_FAMILY(distance)
CLAY_FAMILY(fft)
CLAY_FAMILY(grid)
CLAY_FAMILY(linalg)
CLAY_FAMILY(each)
CLAY_FAMILY(test)
CLAY_FAMILY(complex)
CLAY_FAMILY(gamma)
CLAY_FAMILY(bessel)
CLAY_FAMILY(polynomial)
CLAY_FAMILY(slope)
CLAY_FAMILY(half)
CLAY_FAMILY(finite)
#undef CLAY_FAMILY

}  // namespace CLAY_ISA
}  // namespace clay

// Ends a table: its length, for the list of families.
#define CLAY_COUNT(name) const int64_t name##_count = sizeof name##_kernels / sizeof *name##_kernels;
