// Arguments of the grid_sample kernels (family "grid").
#pragma once
#include <stdint.h>

namespace clay {

// Planes of up to three axes (depth 1 for two), contiguous, and points (batch, points, x y [z]) in them from -1 to 1.
struct GridShape {
    int64_t batch, channels, points;
    int64_t size[3];                     // depth, height, width
    int axes;                            // 2 or 3
    int mode, padding;                   // 0 linear, 1 nearest, 2 cubic; 0 zeros, 1 border, 2 reflection
    bool align;
};

// sample: a = input, result = samples; spread: a = gradient of the samples, result = gradient of the input;
// slope: a = gradient of the samples, b = input, result = gradient of the grid. False: planes too large for the indices.
using grid_fn = bool (*)(const GridShape* shape, const void* grid, const void* a, const void* b, void* out);

}  // namespace clay
