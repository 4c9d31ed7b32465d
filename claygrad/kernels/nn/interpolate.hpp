// Arguments of the interpolation kernels (family "resample").
#pragma once
#include <stdint.h>

namespace clay {

// The middle axis of (outer, n, inner) becomes (outer, out, inner): element i is the sum over j of weight[i, j] * old[index[i, j]].
struct Resampling {
    int64_t outer, n, out, inner, taps;
    const int64_t* index;                // (out, taps)
    const void* weight;                  // the same, or null: ones
};

// apply: from x (outer, n, inner) to the result (outer, out, inner); back: its transpose, from the latter shape to the former.
using resample_fn = void (*)(const Resampling* axis, const void* x, void* out);

}  // namespace clay
