// Special functions, as kernels of the family "unary".
#pragma once
#include <stdint.h>

namespace clay {
namespace CLAY_ISA {

#define CLAY_SPECIAL(name)                                                            \
    void name##_f32(const void* x, void* out, int64_t n, double p, double q);         \
    void name##_f64(const void* x, void* out, int64_t n, double p, double q);
CLAY_SPECIAL(lgamma)
CLAY_SPECIAL(digamma)
CLAY_SPECIAL(erfinv)
#undef CLAY_SPECIAL

}  // namespace CLAY_ISA
}  // namespace clay
