// Predicates (isnan, ...) and logical operations: bytes 0 and 1.
#include "elementwise/loops.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

#define CLAY_ASK(Name, expression) struct Name : Taking1 { template <class T> bool operator()(T x) const { return expression; } };
#define CLAY_ASK_2(Name, expression) struct Name : Taking2 { template <class T> bool operator()(T x, T y) const { return expression; } };

CLAY_ASK(IsNan, x != x)
CLAY_ASK(IsInf, (x - x != x - x) & (x == x))
CLAY_ASK(IsFinite, x - x == x - x)
CLAY_ASK(IsPosInf, x == (T)__builtin_inf())
CLAY_ASK(IsNegInf, x == (T)-__builtin_inf())
CLAY_ASK(Always, x == x || true)
CLAY_ASK(Never, x != x && false)
CLAY_ASK(Negative, x < 0)
struct SignBit : Taking1 {
    bool operator()(float x) const { return __builtin_signbitf(x) != 0; }
    bool operator()(double x) const { return __builtin_signbit(x) != 0; }
};
CLAY_ASK(Not, x == 0)
CLAY_ASK_2(And, (x != 0) & (y != 0))
CLAY_ASK_2(Or, (x != 0) | (y != 0))
CLAY_ASK_2(Xor, (x != 0) != (y != 0))

#define TEST(name, code, F, T) {name, code, (void*)each_number<F, T, uint8_t>, BOOL, CHEAP}
#define FLOATS(name, F) TEST(name, F32, F, float), TEST(name, F64, F, double)
#define WHOLE(name, F) TEST(name, I64, F, int64_t), TEST(name, BOOL, F, uint8_t)

}  // namespace

const Kernel test_kernels[] = {
    FLOATS("isnan", IsNan), FLOATS("isinf", IsInf), FLOATS("isfinite", IsFinite), FLOATS("isposinf", IsPosInf),
    FLOATS("isneginf", IsNegInf), FLOATS("isreal", Always), FLOATS("signbit", SignBit), FLOATS("logical_not", Not),
    FLOATS("logical_and", And), FLOATS("logical_or", Or), FLOATS("logical_xor", Xor),
    WHOLE("isnan", Never), WHOLE("isinf", Never), WHOLE("isfinite", Always), WHOLE("isposinf", Never),
    WHOLE("isneginf", Never), WHOLE("isreal", Always), WHOLE("signbit", Negative), WHOLE("logical_not", Not),
    WHOLE("logical_and", And), WHOLE("logical_or", Or), WHOLE("logical_xor", Xor),
};
CLAY_COUNT(test)

}  // namespace CLAY_ISA
}  // namespace clay
