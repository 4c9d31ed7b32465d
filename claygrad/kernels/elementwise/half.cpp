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
    CLAY_HALVES("add", OfTwo<Add>), CLAY_HALVES("sub", OfTwo<Sub>), CLAY_HALVES("mul", OfTwo<Mul>), CLAY_HALVES("div", OfTwo<Div>),
    CLAY_HALVES("maximum", OfTwo<Maximum>), CLAY_HALVES("minimum", OfTwo<Minimum>), CLAY_HALVES("tanh_backward", OfTwo<TanhBackward>),
    CLAY_HALVES("sigmoid_backward", OfTwo<SigmoidBackward>), CLAY_HALVES("relu_backward", OfTwo<ReluBackward>),
    CLAY_HALVES("square", Of<Square>), CLAY_HALVES("sqrt", Of<Sqrt>), CLAY_HALVES("rsqrt", Of<Rsqrt>), CLAY_HALVES("reciprocal", Of<Reciprocal>),
    CLAY_HALVES("floor", Of<Floor>), CLAY_HALVES("ceil", Of<Ceil>), CLAY_HALVES("round", Of<Round>), CLAY_HALVES("trunc", Of<Trunc>),
    CLAY_HALVES("sign", Of<Sign>), CLAY_HALVES("sgn", Of<Sign>), CLAY_HALVES("relu", Of<Relu>), CLAY_HALVES("leaky_relu", Of<LeakyRelu>),
    CLAY_HALVES("clamp", Of<Clamp>), CLAY_HALVES("threshold", Of<Threshold>),
};
CLAY_COUNT(half)

}  // namespace CLAY_ISA
}  // namespace clay
