// out = f(x, y): the binary functors that have loops for half types as well as for floats.
#pragma once
#include "elementwise/unary_ops.hpp"

namespace clay {
namespace CLAY_ISA {

#define CLAY_BINARY(Name, Cost, expression)                                        \
    struct Name : Cost {                                                           \
        template <class V> V operator()(V x, V y) const { return expression; }     \
    };

CLAY_BINARY(Add, Cheap, x + y)
CLAY_BINARY(Sub, Cheap, x - y)
CLAY_BINARY(Mul, Cheap, x * y)
CLAY_BINARY(Div, Cheap, x / y)
CLAY_BINARY(Maximum, Cheap, maximum(x, y))
CLAY_BINARY(Minimum, Cheap, minimum(x, y))

// Derivatives: the incoming gradient, then the saved output or input.
#define CLAY_BACKWARD(Name, Cost, saved, expression)                                   \
    struct Name : Cost {                                                               \
        template <class V> V operator()(V g, V saved) const { return expression; }     \
    };

CLAY_BACKWARD(TanhBackward, Cheap, out, g * (CLAY_NUMBER(1) - out * out))
CLAY_BACKWARD(SigmoidBackward, Cheap, out, g * (CLAY_NUMBER(1) - out) * out)
CLAY_BACKWARD(ReluBackward, Cheap, out, select(out <= CLAY_NUMBER(0), CLAY_NUMBER(0), g))

}  // namespace CLAY_ISA
}  // namespace clay
