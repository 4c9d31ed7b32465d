// One step of an optimizer over all its parameters: what the compiled core hands to the kernels of family "optim".
#pragma once
#include <stdint.h>

namespace clay {

// A parameter, its gradient and its state, all dense and in the same order. What the pointers and numbers of a state mean
// is said at each kernel.
struct StepTensor {
    void* param;
    const void* grad;
    void* state[3];
    int64_t n;
    double size;          // how far this tensor goes, with the sign of the update
    double bias;          // what the root of its second moment is divided by
    double numbers[2];    // what else a kernel asks for
};

// Options that all the tensors share.
struct StepOptions {
    double decay;         // weight decay: a share of the parameter in the gradient
    double shrink;        // decoupled: the factor of the parameter itself
    double beta1, beta2;  // of the running averages
    double momentum, damping;
    double eps;
    double least, most;   // of a step
    int maximize, nesterov, decoupled;
    int states;           // how many of the state's pointers are set
    int centered;
};

using step_fn = void (*)(const StepTensor* tensors, int64_t count, const StepOptions* options);

// Gradients kept within bounds.
struct Gradient {
    void* values;
    int64_t n;
};
using norms_fn = bool (*)(const Gradient* grads, int64_t count, double order, double* out);       // false: no memory
using bound_fn = void (*)(const Gradient* grads, int64_t count, double number);

}  // namespace clay
