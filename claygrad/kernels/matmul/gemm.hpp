// Our own matrix product, of one thread: faster than a BLAS call up to a few hundred rows and columns, and the stand-in where
// there is no BLAS.
#pragma once
#include <stdint.h>

namespace clay {

// c[m, n] = op(a)[m, k] @ op(b)[k, n] (+ start); a is read at a[i * a_i + p * a_p], of which one is 1; b_is_nk: b is stored
// transposed.
// start: null, or a matrix of rows start_i apart: c itself to add to it, 0 apart for one row that is added to all.
using gemm_fn = void (*)(int64_t m, int64_t n, int64_t k, const void* a, int64_t a_i, int64_t a_p,
                         const void* b, int64_t ldb, bool b_is_nk, void* c, int64_t ldc, const void* start, int64_t start_i);

}  // namespace clay
