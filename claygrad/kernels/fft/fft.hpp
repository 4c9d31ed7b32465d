// Arguments of the Fourier kernels (family "fft").
#pragma once
#include <stdint.h>

namespace clay {

enum FourierKind : int { COMPLEX, TO_HALF, TO_WHOLE, FROM_HALF };      // complex; real to spectrum; half a spectrum to real

// A transform of a contiguous array along some axes, the last of which is the real one. prepare finds (or makes) the plans of
// its axes; run may then be called without the interpreter lock; release gives the plans back.
struct Fourier {
    static constexpr int MAX_AXES = 32;
    int kind;
    bool backward;
    double scale;
    int ndim, axes;
    int64_t shape[MAX_AXES];                 // of the input
    int axis[MAX_AXES];
    int64_t last;                        // the length of the signal along the last axis
    void* plans[MAX_AXES];                   // one for each axis
};

using fourier_prepare_fn = bool (*)(Fourier*);                         // false: no memory, or no plan for such a length
// `work`: as large as the input, for spectra that become real along several axes; else unused
using fourier_run_fn = bool (*)(const Fourier*, const void* in, void* work, void* out);
using fourier_release_fn = void (*)(Fourier*);

}  // namespace clay
