// Our own matrix product: faster than a BLAS call for small sizes, and the stand-in where there is no BLAS.
#pragma once
#include <stdint.h>

namespace clay {

// c[m, n] (+)= op(a)[m, k] @ op(b)[k, n]; a is read at a[i * a_i + p * a_p]; b_is_nk: b is stored transposed.
using gemm_fn = void (*)(int64_t m, int64_t n, int64_t k, const void* a, int64_t a_i, int64_t a_p,
                         const void* b, int64_t ldb, bool b_is_nk, void* c, int64_t ldc, bool accumulate);

}  // namespace clay
