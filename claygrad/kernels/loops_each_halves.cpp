// Functions of halves whose floats are in the families "unary" and "binary": in one pass, where casting blocks would cost more than they do.
#include "each_loops.hpp"
#include "unary.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

CLAY_EACH_2(Sum, x + y)
CLAY_EACH_2(Difference, x - y)
CLAY_EACH_2(Product, x * y)
CLAY_EACH_2(Quotient, x / y)
CLAY_EACH_2(Maximum, maximum(x, y))
CLAY_EACH_2(Minimum, minimum(x, y))
// Of the incoming gradient x and the saved result y
CLAY_EACH_2(TanhBackward, x * (CLAY_IS(1) - y * y))
CLAY_EACH_2(SigmoidBackward, x * (CLAY_IS(1) - y) * y)
CLAY_EACH_2(ReluBackward, (pick(y <= CLAY_IS(0), CLAY_IS(0), x)))

// As it is of floats
template <class F> struct Of : Taking1 {
    template <class V> V operator()(V x) const { return F{{numbers.value[0], numbers.value[1]}}(x); }
};

}  // namespace

const Kernel half_kernels[] = {
    CLAY_HALVES("add", Sum), CLAY_HALVES("sub", Difference), CLAY_HALVES("mul", Product), CLAY_HALVES("div", Quotient),
    CLAY_HALVES("maximum", Maximum), CLAY_HALVES("minimum", Minimum), CLAY_HALVES("tanh_backward", TanhBackward),
    CLAY_HALVES("sigmoid_backward", SigmoidBackward), CLAY_HALVES("relu_backward", ReluBackward),
    CLAY_HALVES("square", Of<Square>), CLAY_HALVES("sqrt", Of<Sqrt>), CLAY_HALVES("rsqrt", Of<Rsqrt>), CLAY_HALVES("reciprocal", Of<Reciprocal>),
    CLAY_HALVES("floor", Of<Floor>), CLAY_HALVES("ceil", Of<Ceil>), CLAY_HALVES("round", Of<Round>), CLAY_HALVES("trunc", Of<Trunc>),
    CLAY_HALVES("sign", Of<Sign>), CLAY_HALVES("sgn", Of<Sign>), CLAY_HALVES("relu", Of<Relu>), CLAY_HALVES("leaky_relu", Of<LeakyRelu>),
    CLAY_HALVES("clamp", Of<Clamp>), CLAY_HALVES("threshold", Of<Threshold>),
};
CLAY_COUNT(half)

}  // namespace CLAY_ISA
}  // namespace clay
