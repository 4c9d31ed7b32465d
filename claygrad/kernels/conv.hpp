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

// The same over three axes, for few elements: input (n, c, *size), weight (o, c / groups, *kernel), output (n, o, *out).
struct Volume {
    int64_t n, c, o, groups;
    int64_t size[3], kernel[3], out[3], stride[3], pad[3], dilation[3];
    const void* bias;
};
enum ConvolutionWay { FORWARD, TO_INPUT, TO_WEIGHT };             // a, b and made as above
bool convolve_small(int dtype, const Volume* shape, ConvolutionWay way, const void* a, const void* b, void* made);

// For one over two axes: the layers of the input x that the windows of each output layer meet, as channels
// (n, out[0], c, kernel[0], *size[1:]); and such channels added up at the layers that they came from.
void layers_as_channels(const Volume* shape, int64_t item, const void* x, void* made);
void layers_from_channels(int dtype, const Volume* shape, const void* from, void* made);
void add_bias(int dtype, void* out, int64_t n, int64_t c, int64_t length, const void* bias);       // to (n, c, length)
void swap_axes(const void* from, void* made, int64_t n, int64_t a, int64_t b, int64_t bytes);       // (n, a, b) to (n, b, a)

}  // namespace clay
