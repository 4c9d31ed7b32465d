// Reductions of half types to float: blocks that fit the first-level cache are converted to float and reduced.
#include "simd/half.hpp"
#include "reduce/loops.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// Not inlined: both half types share it.
template <class R> __attribute__((noinline)) void floats_tile(const float* x_ni, int64_t n, int64_t width, float* out_i) {
    R::tile(x_ni, n, width, width, out_i);
}

template <class R, class H> struct OfHalf {
    using In = H;
    using Out = float;
    using Op = typename R::Op;
    using Merge = R;
    static constexpr int SEVERAL_ROWS = R::SEVERAL_ROWS, BY_NUMBERS = R::BY_NUMBERS;
    static constexpr bool IN_STREAMS = false;
    static constexpr int64_t ROOM = 4096;

    static void rows(const H* const* x_rn, int64_t n, int64_t count, float* out_r) {
        alignas(64) float out[SEVERAL_ROWS * FEW_ELEMENTS];
        const float* floats[SEVERAL_ROWS];
        for (int64_t r = 0; r < count; r++) floats_from(x_rn[r], out + r * FEW_ELEMENTS, n), floats[r] = out + r * FEW_ELEMENTS;
        R::rows(floats, n, count, out_r);
    }
    // x: n rows of so many elements, at most ROOM in all
    static __attribute__((noinline)) void convert(const H* x_ni, int64_t n, int64_t stride, int64_t width, float* out) {
        if (stride == width) return floats_from(x_ni, out, n * width);
        for (int64_t r = 0; r < n; r++) floats_from(x_ni + r * stride, out + r * width, width);
    }
    static void short_rows(const H* x_rn, int64_t n, int64_t leap, int64_t count, float* out_r) {
        alignas(64) float out[ROOM];
        for (int64_t r = 0, some; r < count; r += some) {
            some = count - r < ROOM / n ? count - r : ROOM / n;
            convert(x_rn + r * leap, some, leap, n, out);
            R::short_rows(out, n, n, some, out_r + r);
        }
    }
    static __attribute__((noinline)) void few(const H* x_ni, int64_t n, int64_t stride, int64_t width, float* out_i) {
        alignas(64) float out[ROOM];
        convert(x_ni, n, stride, width, out);
        floats_tile<R>(out, n, width, out_i);
    }
    static void tile(const H* x_ni, int64_t n, int64_t stride, int64_t width, float* out_i) {
        const int64_t largest = ROOM / width;                           // rows at a time
        if (n <= largest) return few(x_ni, n, stride, width, out_i);
        const int64_t half = (n + 2 * largest - 1) / (2 * largest) * largest;
        float right_i[TILE];
        tile(x_ni, half, stride, width, out_i);
        tile(x_ni + half * stride, n - half, stride, width, right_i);
        for (int64_t i = 0; i < width; i++) out_i[i] = Op::combine(out_i[i], right_i[i]);
    }
};

#define HALF_TYPES(name, Op)                                                \
    {name, F16, (void*)reduce<OfHalf<Floats<Op, float>, Half>>},       \
    {name, BF16, (void*)reduce<OfHalf<Floats<Op, float>, Bf16>>}

}  // namespace

const Kernel reduce_half_kernels[] = {HALF_TYPES("sum", SumOf), HALF_TYPES("prod", ProdOf), HALF_TYPES("amax", MaxOf), HALF_TYPES("amin", MinOf),
                                        {"mean", F16, (void*)mean<OfHalf<Floats<SumOf, float>, Half>>},
                                        {"mean", BF16, (void*)mean<OfHalf<Floats<SumOf, float>, Bf16>>}};
CLAY_COUNT(reduce_half)

}  // namespace CLAY_ISA
}  // namespace clay
