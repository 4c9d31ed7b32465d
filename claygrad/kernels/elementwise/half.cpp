// Functors of the families "unary" and "binary" for half types, in one pass, for those where casting blocks would cost more than the
// function.
#include "elementwise/binary_ops.hpp"
#include "elementwise/loops.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// As for floats
template <class F> struct Of : Taking1 {
    template <class V> V operator()(V x) const { return F{{numbers.value[0], numbers.value[1]}}(x); }
};
template <class F> struct OfTwo : Taking2 {
    template <class V> V operator()(V x, V y) const { return F{}(x, y); }
};

}  // namespace

const Kernel half_kernels[] = {
    CLAY_HALF_TYPES("add", OfTwo<Add>), CLAY_HALF_TYPES("sub", OfTwo<Sub>), CLAY_HALF_TYPES("mul", OfTwo<Mul>), CLAY_HALF_TYPES("div", OfTwo<Div>),
    CLAY_HALF_TYPES("maximum", OfTwo<Maximum>), CLAY_HALF_TYPES("minimum", OfTwo<Minimum>), CLAY_HALF_TYPES("tanh_backward", OfTwo<TanhBackward>),
    CLAY_HALF_TYPES("sigmoid_backward", OfTwo<SigmoidBackward>), CLAY_HALF_TYPES("relu_backward", OfTwo<ReluBackward>),
    CLAY_HALF_TYPES("square", Of<Square>), CLAY_HALF_TYPES("sqrt", Of<Sqrt>), CLAY_HALF_TYPES("rsqrt", Of<Rsqrt>), CLAY_HALF_TYPES("reciprocal", Of<Reciprocal>),
    CLAY_HALF_TYPES("floor", Of<Floor>), CLAY_HALF_TYPES("ceil", Of<Ceil>), CLAY_HALF_TYPES("round", Of<Round>), CLAY_HALF_TYPES("trunc", Of<Trunc>),
    CLAY_HALF_TYPES("sign", Of<Sign>), CLAY_HALF_TYPES("sgn", Of<Sign>), CLAY_HALF_TYPES("relu", Of<Relu>), CLAY_HALF_TYPES("leaky_relu", Of<LeakyRelu>),
    CLAY_HALF_TYPES("clamp", Of<Clamp>), CLAY_HALF_TYPES("threshold", Of<Threshold>),
};
CLAY_COUNT(half)

}  // namespace CLAY_ISA
}  // namespace clay
