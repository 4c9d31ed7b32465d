// Gradients of x * share(x) from the input and the result: the share is their quotient, which costs less than computing it again.
#include "each_loops.hpp"
#include "unary.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// 1/2 about zero, where the result may be a subnormal number of few digits
template <class V> V share_of(V x, V result) { return pick(abs(x) < splat<V>(1e-30), splat<V>(0.5), result / x); }

struct SiluFrom : Taking3 {
    template <class V> V operator()(V g, V x, V result) const {
        const V s = share_of(x, result);
        return g * (s + result * (splat<V>(1) - s));
    }
};
struct GeluFrom : Taking3 {
    template <class V> V operator()(V g, V x, V result) const { return g * gelu_slope(x, share_of(x, result)); }
};
struct GeluTanhFrom : Taking3 {                                  // 1 - t * t is 4 s * (1 - s) for the share s of (1 + t) / 2
    template <class V> V operator()(V g, V x, V result) const {
        const V one = splat<V>(1), s = share_of(x, result);
        const V bend = splat<V>(2 * SQRT_2_OVER_PI) + splat<V>(6 * SQRT_2_OVER_PI * GELU_CUBIC) * (x * x);
        return g * s * (one + x * (one - s) * bend);
    }
};

}  // namespace

const Kernel slope_kernels[] = {
    CLAY_VECTORS("silu_from", SiluFrom, CHEAP), CLAY_VECTORS("gelu_from", GeluFrom, COSTLY),
    CLAY_VECTORS("gelu_tanh_from", GeluTanhFrom, CHEAP),
};
CLAY_COUNT(slope)

}  // namespace CLAY_ISA
}  // namespace clay
