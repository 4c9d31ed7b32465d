// Elementwise operations with scalar parameters, losses that are summed as they are computed, gates, casts, and operands with
// contiguous rows.
#pragma once
#include "platform/api.hpp"

namespace clay {

// out[i] = f(a[i], b[i], c[i]; p, q). `ones` says which operands are a single element: 1 for a, 2 for b, 4 for c; b never is.
// Operations of two operands leave c alone.
using shaped_fn = void (*)(const void* a, const void* b, const void* c, void* out, int64_t n, int ones, double p, double q);
// out[0] = factor * the sum of f(a[i], b[i]; p, q), by pairwise summation
using total_fn = void (*)(const void* a, const void* b, void* out, int64_t n, double factor, double p, double q);
// dx[r, :n] and dx[r, n:] from g[r, :n] and x[r, :2n]
using gate_fn = void (*)(const void* g_rn, const void* x_r2n, void* dx_r2n, int64_t rows, int64_t n);
// out[i] = x[i] in another type; found by the name of that type in the family "cast"
using cast_fn = void (*)(const void* x_n, void* out_n, int64_t n);

// out = f(x, y), row-major, of operands with contiguous or broadcast rows: strides in elements, 0 or 1 in the last axis.
void binary_by_lines(binary_fn f, const void* x, const int64_t* x_strides, const void* y, const int64_t* y_strides, void* out,
                     const int64_t* shape, int ndim, int64_t in_size, int64_t out_size);
// out = x with zeros above (or, if upper, below) the diagonal of each matrix
void triangle(const void* x, void* out, int64_t count, int64_t rows, int64_t columns, int64_t diagonal, bool upper,
              int64_t item_size);

}  // namespace clay
