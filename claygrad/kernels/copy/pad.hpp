// Padding of up to three axes.
#pragma once
#include <stdint.h>

namespace clay {

enum PadMode : int { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

// `outer` blocks of size[0] x size[1] x size[2] elements; negative padding crops (not for circular padding).
struct Padding {
    int64_t outer, size[3], before[3], after[3];
    int mode;
};

// x, contiguous, into out; `value`: the constant, one element
void pad_lines(const void* x, void* out, const Padding* shape, int64_t item_size, const void* value);
// The transpose of reflect, replicate and circular padding: gradients of copied elements are added to their source. float32, float64.
void pad_back(int dtype, const void* grad, void* out, const Padding* shape);

}  // namespace clay
