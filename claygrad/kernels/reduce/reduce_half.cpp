// Reductions of half types to float: blocks that fit the first-level cache are converted to float and reduced.
#include "simd/half.hpp"
#include "reduce/loops.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class R, class H> struct OfHalves {
    using In = H;
    using Out = float;
    using Op = typename R::Op;
    using Merge = R;
    static constexpr int SEVERAL_ROWS = R::SEVERAL_ROWS, BY_NUMBERS = R::BY_NUMBERS;
    static constexpr int64_t ROOM = 4096;

    static void rows(const H* const* x_rn, int64_t n, int64_t count, float* out_r) {
        alignas(64) float made[SEVERAL_ROWS * FEW_ELEMENTS];
        const float* floats[SEVERAL_ROWS];
        for (int64_t r = 0; r < count; r++) floats_from(x_rn[r], made + r * FEW_ELEMENTS, n), floats[r] = made + r * FEW_ELEMENTS;
        R::rows(floats, n, count, out_r);
    }
    static __attribute__((noinline)) void few(const H* x_ni, int64_t n, int64_t stride, int64_t width, float* out_i) {
        alignas(64) float made[ROOM];
        if (stride == width) floats_from(x_ni, made, n * width);
        else
            for (int64_t r = 0; r < n; r++) floats_from(x_ni + r * stride, made + r * width, width);
        R::tile(made, n, width, width, out_i);
    }
    static void tile(const H* x_ni, int64_t n, int64_t stride, int64_t width, float* out_i) {
        const int64_t most = ROOM / width;                           // rows at a time
        if (n <= most) return few(x_ni, n, stride, width, out_i);
        const int64_t half = (n + 2 * most - 1) / (2 * most) * most;
        float right_i[TILE];
        tile(x_ni, half, stride, width, out_i);
        tile(x_ni + half * stride, n - half, stride, width, right_i);
        for (int64_t i = 0; i < width; i++) out_i[i] = Op::combine(out_i[i], right_i[i]);
    }
};

#define HALVES(name, Op)                                                \
    {name, F16, (void*)reduce<OfHalves<Floats<Op, float>, Half>>},       \
    {name, BF16, (void*)reduce<OfHalves<Floats<Op, float>, Brain>>}

}  // namespace

const Kernel reduce_halves_kernels[] = {HALVES("sum", SumOf), HALVES("prod", ProdOf), HALVES("amax", MaxOf), HALVES("amin", MinOf),
                                        {"mean", F16, (void*)mean<OfHalves<Floats<SumOf, float>, Half>>},
                                        {"mean", BF16, (void*)mean<OfHalves<Floats<SumOf, float>, Brain>>}};
CLAY_COUNT(reduce_halves)

}  // namespace CLAY_ISA
}  // namespace clay
