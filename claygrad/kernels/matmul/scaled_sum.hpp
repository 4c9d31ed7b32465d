// Scaled sums: alpha * product + beta * start. Family "combine"; out is contiguous (m, n).
#pragma once
#include <stdint.h>

namespace clay {

// out = alpha * out + beta * start; start may be null, for zero
using combine_fn = void (*)(void* out_mn, const void* start, int64_t start_i, int64_t start_j, int64_t m, int64_t n, double alpha,
                            double beta);
// out = alpha * (x[i] * y[j]) + beta * start
using outer_fn = void (*)(const void* x_m, const void* y_n, void* out_mn, const void* start, int64_t start_i, int64_t start_j,
                          int64_t m, int64_t n, double alpha, double beta);

// out[o, k, i] = x[o, k, i] * scale[k]
using scale_fn = void (*)(const void* x_oki, const void* scale_k, void* out_oki, int64_t outer, int64_t n, int64_t inner);
// the sum of x[i] * y[i]
using dot_fn = void (*)(const void* x_n, const void* y_n, void* out, int64_t n);

}  // namespace clay
