// Two-dimensional convolution: what the compiled core hands to the kernels of family "conv".
#pragma once
#include <stdint.h>

namespace clay {

// Input (n, c, h, w), weight (o, c / groups, kh, kw), output (n, o, oh, ow); all contiguous.
struct Convolution {
    int64_t n, c, h, w, o, kh, kw, oh, ow;
    int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
    const void* bias;                 // (o), added by forward; or null
};

// forward: a = input, b = weight, made = output; input_grad: a = gradient, b = weight, made = input's gradient;
// weight_grad: a = input, b = gradient, made = weight's gradient. False: no memory, or not this kernel's case.
using convolution_fn = bool (*)(const Convolution* shape, const void* a, const void* b, void* made);

}  // namespace clay
