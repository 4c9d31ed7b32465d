// Arguments of the convolution kernels (families "conv" and "depthwise").
#pragma once
#include <stdint.h>

namespace clay {

// Input (n, c, *size), weight (o, c / groups, *kernel), output (n, o, *out), all contiguous. With fewer than three axes the first have
// size 1.
struct Volume {
    int64_t n, c, o, groups;
    int64_t size[3], kernel[3], out[3], stride[3], pad[3], dilation[3];
    const void* bias;                 // added by forward (o) and input_grad (c); or null
};

// forward: a = input, b = weight, result = output; input_grad: a = gradient, b = weight, result = gradient of the input;
// weight_grad: a = input, b = gradient, result = gradient of the weight. False: no memory, or the kernel does not apply.
using volume_fn = bool (*)(const Volume* shape, const void* a, const void* b, void* out);

// Depthwise convolution over two axes. Its input_grad takes no bias.
struct Convolution {
    int64_t n, c, h, w, o, kh, kw, oh, ow;
    int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
    const void* bias;
};
using convolution_fn = bool (*)(const Convolution* shape, const void* a, const void* b, void* out);

// For few elements: nothing is packed. Its input_grad takes no bias.
enum ConvolutionPass { FORWARD, TO_INPUT, TO_WEIGHT };
bool convolve_small(int dtype, const Volume* shape, ConvolutionPass pass, const void* a, const void* b, void* out);

void add_bias(int dtype, void* out, int64_t n, int64_t c, int64_t length, const void* bias);       // to (n, c, length)

}  // namespace clay
