// Cumulative max, min and logsumexp: kernels of family "scan" (its sums are in nn/norm.hpp). All blocks are contiguous.
#pragma once
#include <stdint.h>

namespace clay {

// Cumulative max or min along the middle axis of x (outer, n, inner), and its last index; n > 0.
using extremes_fn = void (*)(const void* x_oni, void* out_oni, int64_t* indices_oni, int64_t outer, int64_t n, int64_t inner);
// log(sum(exp(x))) of each row, and its gradient g * exp(x - out)
using log_sums_fn = void (*)(const void* x_rn, void* out_r, int64_t rows, int64_t n);
using log_slope_fn = void (*)(const void* g_r, const void* x_rn, const void* out_r, void* to_x_rn, int64_t rows, int64_t n);
// Cumulative logsumexp of each row; false: not applicable to these values
using running_logs_fn = bool (*)(const void* x_rn, void* out_rn, int64_t rows, int64_t n);

// Family "distance": the p-norm of the difference of every row of x (batch, m, k) and of y (batch, n, k).
using distances_fn = void (*)(const void* x_bmk, const void* y_bnk, void* out_bmn, int64_t batch, int64_t m, int64_t n,
                              int64_t k, double p);
// The gradients of such distances, p 1 or 2, given a weight for each pair; null: not wanted.
using between_back_fn = void (*)(const void* x_bmk, const void* y_bnk, const void* weights_bmn, void* to_x, void* to_y, int64_t batch,
                                 int64_t m, int64_t n, int64_t k, double p);

}  // namespace clay
