// Pooling over two axes: what the compiled core hands to the kernels of family "windows".
#pragma once
#include <stdint.h>

namespace clay {

// Planes of h by w elements, contiguous, pooled to oh by ow.
struct Pooling {
    int64_t planes, h, w, oh, ow, kh, kw;
    int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    bool counted;                        // means: padding counts
    int64_t divisor;                     // means: instead of the count, unless it is 0
};

// max: a = input, made = maxima, places (or null) their indices in a plane; max_back: a = gradient, places are read;
// mean: a = input; mean_back: a = gradient. False: a place lies outside, or planes are too large for the indices.
using pooling_fn = bool (*)(const Pooling* shape, const void* a, void* made, int64_t* places);

}  // namespace clay
