// Pooling over up to three axes: what the compiled core hands to the kernels of family "windows".
#pragma once
#include <stdint.h>

namespace clay {

// Planes (or volumes) of t by h by w elements, contiguous, pooled to ot by oh by ow.
struct Pooling {
    int64_t planes, t, h, w, ot, oh, ow, kt, kh, kw;
    int64_t stride_t, stride_h, stride_w, pad_t, pad_h, pad_w, dilation_t, dilation_h, dilation_w;
    bool counted;                        // means: padding counts
    int64_t divisor;                     // means: instead of the count, unless it is 0
};

// max: a = input, made = maxima, places (or null) their indices in a plane; max_back: a = gradient, places are read;
// mean: a = input; mean_back: a = gradient. shared_max, shared_mean and shared_mean_back: the same for windows that share
// an axis out, for which the sizes alone count. put: a = values, put at places among zeros. False: a place lies outside, or
// planes are too large for the indices.
using pooling_fn = bool (*)(const Pooling* shape, const void* a, void* made, int64_t* places);

}  // namespace clay
