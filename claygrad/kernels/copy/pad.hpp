// Padding of up to three axes, line by line.
#pragma once
#include <stdint.h>

namespace clay {

enum PadMode : int { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

// `outer` blocks of size[0] x size[1] x size[2] elements; negative pads cut off, but not of a circle.
struct Padding {
    int64_t outer, size[3], before[3], after[3];
    int mode;
};

// x, contiguous, into out; `value`: the constant, one element
void pad_lines(const void* x, void* out, const Padding* shape, int64_t item_size, const void* value);
// The transpose of padding with the elements of the axes: what was taken from an element is added to it. float32, float64.
void pad_back(int dtype, const void* grad, void* out, const Padding* shape);

}  // namespace clay
