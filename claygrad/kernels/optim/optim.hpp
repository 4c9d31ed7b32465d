// Arguments of the optimizer kernels (family "optim"): one step over all parameters.
#pragma once
#include <stdint.h>

namespace clay {

// A parameter, its gradient and its state, all dense and in the same order. The meaning of states and numbers
// is given at each kernel.
struct StepTensor {
    void* param;
    const void* grad;
    void* state[3];
    int64_t n;
    double size;          // step size of this tensor, with the sign of the update
    double bias;          // what the root of its second moment is divided by
    double numbers[2];    // further numbers of a kernel
};

// Options that all the tensors share.
struct StepOptions {
    double decay;         // weight decay: added to the gradient, times the parameter
    double shrink;        // decoupled weight decay: a factor of the parameter
    double beta1, beta2;  // of the running averages
    double momentum, damping;
    double eps;
    double min_step, max_step;   // bounds of the step size (Rprop)
    int maximize, nesterov, decoupled;
    int states;           // number of state pointers that are set
    int centered;
};

using step_fn = void (*)(const StepTensor* tensors, int64_t count, const StepOptions* options);

// Clipping of gradients.
struct Gradient {
    void* values;
    int64_t n;
};
using norms_fn = bool (*)(const Gradient* grads, int64_t count, double order, double* out);       // false: no memory
using bound_fn = void (*)(const Gradient* grads, int64_t count, double number);

}  // namespace clay
