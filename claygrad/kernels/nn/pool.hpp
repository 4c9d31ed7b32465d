// Arguments of the pooling kernels (family "windows"), over up to three axes.
#pragma once
#include <stdint.h>

namespace clay {

// Planes (or volumes) of t by h by w elements, contiguous, pooled to ot by oh by ow.
struct Pooling {
    int64_t planes, t, h, w, ot, oh, ow, kt, kh, kw;
    int64_t stride_t, stride_h, stride_w, pad_t, pad_h, pad_w, dilation_t, dilation_h, dilation_w;
    bool counted;                        // average: count_include_pad
    int64_t divisor;                     // average: divisor_override, or 0
    bool channels;                       // the last axis has channels: windows have one, and indices count elements of one
};

// max: a = input, out = maxima, indices (or null) their indices in a plane; max_back: a = gradient, indices are read;
// mean: a = input; mean_back: a = gradient. shared_max, shared_mean and shared_mean_back: the same for adaptive
// pooling, which reads only the sizes. put: max unpooling of the values a. False: an index is out of range, or planes are too large
// for the indices.
using pooling_fn = bool (*)(const Pooling* shape, const void* a, void* out, int64_t* indices);

}  // namespace clay
