// Arguments of the kernels for normalisation, losses, cumulative sums and selection. All blocks are contiguous.
#pragma once
#include <stdint.h>

namespace clay {

// Family "norm". x, g (the gradient of out), out and to_x: (examples, channels, positions). Moments: for each example ("layer",
// where `channels` counts all elements of one), for each example and group ("group"), or for each channel ("batch").
// Null is allowed for weight, bias, mean (layer: the elements are not centred), variance, and results that are not wanted.
struct Norm {
    int64_t examples, channels, positions, groups;
    const void *x, *g, *weight, *bias;
    void *out, *mean, *rstd, *variance;
    void *to_x, *to_weight, *to_bias;
    double eps;
    bool given;                          // batch: the moments are given
};
using norm_fn = bool (*)(const Norm* norm);                       // false: no memory

// Variance sum / max(n - correction, 0) and mean over the middle axis of x (outer, n, inner).
using variance_fn = bool (*)(const void* x_oni, void* variance_oi, void* mean_oi, int64_t outer, int64_t n, int64_t inner,
                             double correction);

// Family "loss": cross entropy of rows of scores with a class each. `kept` holds, for each row, the largest score and the
// logarithm of the sum of exp(score - largest).
struct CrossEntropy {
    int64_t rows, classes, ignored;
    const void* x;                       // (rows, classes)
    const int64_t* target;               // (rows)
    void *loss, *kept;                   // (rows), (2, rows); an ignored row has the loss 0
    const void* scale;                   // backward: of each row, or the same for all
    bool one_scale;
    void* to_x;                          // (rows, classes): scale * (softmax(x) - target)
};
using cross_entropy_fn = void (*)(const CrossEntropy* job);

// CTC: alignments of labels with frames (claygrad/ops/ctc.py), in log space.
struct Alignment {
    int64_t frames, examples, classes, positions;
    const void* log_probs;               // (frames, examples, classes)
    const int64_t* labels;               // (examples, states): the class of every state
    const uint8_t* skips;                // (examples, states): whether the state before may be skipped
    const int64_t *spans, *lengths;      // (examples): number of frames, and of states: 2 * labels + 1
    void *loss, *alpha;                  // (examples), (examples, frames, states)
    const void* g;                       // (examples): backward
    void* to_log_probs;
    bool zero_infinity;
};
using alignment_fn = bool (*)(const Alignment* job);              // false: no memory

// Family "scan": cumulative sums along the middle axis of x (outer, n, inner), floats in double precision; from the end if `reverse`.
using scan_fn = void (*)(const void* x_oni, void* out_oni, int64_t outer, int64_t n, int64_t inner, bool reverse);

// Family "select", by size of element: out[i] = mask[i] ? x[i] : y[i]; x_step and y_step are 0 for a single element, else 1.
using where_fn = void (*)(const uint8_t* mask, const void* x, const void* y, void* out, int64_t n, int64_t x_step,
                          int64_t y_step);
// out[j, :] = the sum of values[i, :] where numbers[i] == j, out (count, width); false: no memory, or too many rows.
using add_rows_fn = bool (*)(const void* values, const int64_t* numbers, void* out, int64_t n, int64_t count, int64_t width);

}  // namespace clay
