// Gradients of x * share(x) (silu, gelu) from input and output: share(x) is their quotient, which is cheaper than computing it again,
// except with vectors so wide that reading one more array costs more than an exponential.
#include "elementwise/loops.hpp"
#include "elementwise/unary_ops.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

#if defined(__AVX512F__)
template <class V> constexpr bool again = sizeof(typename Lanes<V>::T) == 4;
#else
template <class V> constexpr bool again = false;
#endif

// 1/2 near zero, where the output may be subnormal and has lost digits
template <class V> V share_of(V x, V result) { return select(abs(x) < splat<V>(1e-30), splat<V>(0.5), result / x); }

struct SiluFrom : Taking3 {
    template <class V> V operator()(V g, V x, V result) const {
        const V one = splat<V>(1), s = again<V> ? sigmoid(x) : share_of(x, result);
        return g * (s + (again<V> ? x * s : result) * (one - s));
    }
};
struct GeluFrom : Taking3 {
    template <class V> V operator()(V g, V x, V result) const {
        return g * (again<V> ? gelu_slope(x) : gelu_slope(x, share_of(x, result)));
    }
};
struct GeluTanhFrom : Taking3 {                                  // 1 - t * t is 4 s * (1 - s) for the share s of (1 + t) / 2
    template <class V> V operator()(V g, V x, V result) const {
        const V one = splat<V>(1), half = splat<V>(0.5), slope = splat<V>(SQRT_2_OVER_PI), square = x * x;
        const V inner = slope * (x + splat<V>(GELU_CUBIC) * (square * x));
        const V s = again<V> ? half + half * tanh(inner) : share_of(x, result);
        const V bend = splat<V>(2) * slope + splat<V>(6 * SQRT_2_OVER_PI * GELU_CUBIC) * square;
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
