// Arithmetic of one to three operands: bounds, remainders, sums of products, logarithms of sums.
#include <string.h>

#include "each_loops.hpp"
#include "unary.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// Bounds; NaN wins, and of two equal zeros the element's own sign
CLAY_EACH_3(ClampBoth, minimum(z, maximum(y, x)))
CLAY_EACH_2(ClampMin, maximum(y, x))
CLAY_EACH_2(ClampMax, minimum(y, x))
// What passes to an element from its gradient x: all where it lies within the bounds
struct ClampBackward : Taking4 {
    template <class V> V operator()(V g, V x, V low, V high) const { return pick((x >= low) & (x <= high), g, splat<V>(0)); }
};
CLAY_EACH_3(Lerp, pick(abs(z) < CLAY_IS(0.5), x + z * (y - x), y - (y - x) * (CLAY_IS(1) - z)))
CLAY_EACH_3(AddCMul, x + CLAY_VALUE(0) * y * z)
CLAY_EACH_3(AddCDiv, x + CLAY_VALUE(0) * y / z)
CLAY_EACH_2(ReverseSub, y - x)
CLAY_EACH_2(CopySign, copysign(x, y))
// A number wins over NaN, the first of two equal ones
CLAY_EACH_2(FMax, (pick(x != x, y, pick(y != y, x, pick(y > x, y, x)))))
CLAY_EACH_2(FMin, (pick(x != x, y, pick(y != y, x, pick(y < x, y, x)))))
CLAY_EACH_2(Heaviside, (pick(x == CLAY_IS(0), y, pick(x > CLAY_IS(0), CLAY_IS(1), CLAY_IS(0)))))
CLAY_EACH_1(Frac, x - trunc(x))
CLAY_EACH_1(ToRadians, x * CLAY_IS(3.141592653589793 / 180))
CLAY_EACH_1(ToDegrees, x * CLAY_IS(180 / 3.141592653589793))
CLAY_EACH_1(Angle, (pick(x < CLAY_IS(0), CLAY_IS(3.141592653589793), pick(x != x, x, CLAY_IS(0)))))
CLAY_EACH_1(Scaled, x * CLAY_VALUE(0))
CLAY_EACH_1(Divided, x / CLAY_VALUE(0))

struct NanToNum : Taking1 {
    template <class V> V operator()(V x) const {
        const V most = splat<V>(sizeof(typename Lanes<V>::T) == 4 ? 3.4028234663852886e38 : 1.7976931348623157e308);
        const V up = numbers.given & 2 ? splat<V>(numbers.value[1]) : most;
        const V down = numbers.given & 4 ? splat<V>(numbers.value[2]) : -most;
        const V inf = splat<V>(__builtin_inf());
        return pick(x != x, splat<V>(numbers.given & 1 ? numbers.value[0] : 0), pick(x == inf, up, pick(x == -inf, down, x)));
    }
};

// Rounded to a number of decimals; a negative one counts the zeros before the point
struct RoundDecimals : Taking1 {
    template <class V> V operator()(V x) const {
        double power = 1;
        const double decimals = numbers.value[0];
        for (double k = decimals < 0 ? -decimals : decimals; k > 0; k--) power *= 10;
        const V ten = splat<V>(power);
        return decimals < 0 ? rint(x / ten) * ten : rint(x * ten) / ten;
    }
};

// Logarithms of sums: the larger, and a logarithm between 0 and log 2. Equal infinities are their own.
struct LogAddExp : Taking2 {
    template <class V> V operator()(V x, V y) const {
        const V gap = abs(x - y), top = maximum(x, y);
        return pick(x == y, x + splat<V>(0.693147180559945309417), top + log1p_of_part(exp(-gap)));
    }
};
struct LogAddExp2 : Taking2 {
    template <class V> V operator()(V x, V y) const {
        const V gap = abs(x - y), top = maximum(x, y);
        return pick(x == y, x + splat<V>(1), top + log1p_of_part(exp2(-gap)) * splat<V>(1.44269504088896340736));
    }
};
CLAY_EACH_2(XLogY, (pick((x == CLAY_IS(0)) & (y == y), CLAY_IS(0), x * log(y))))
CLAY_EACH_2(XLog1PY, (pick((x == CLAY_IS(0)) & (y == y), CLAY_IS(0), x * log1p(y))))
CLAY_EACH_1(Entropy, (pick(x > CLAY_IS(0), -x * log(pick(x > CLAY_IS(0), x, CLAY_IS(1))), pick(x == CLAY_IS(0), CLAY_IS(0),
                                                             pick(x < CLAY_IS(0), CLAY_IS(-__builtin_inf()), x)))))
struct Logit : Taking1 {
    template <class V> V operator()(V x) const {
        const V one = splat<V>(1);
        if (numbers.given && numbers.value[0] >= 0)
            x = minimum(splat<V>(1 - numbers.value[0]), maximum(splat<V>(numbers.value[0]), x));
        return log(x / (one - x));
    }
};

// --- quotients and remainders ----------------------------------------------------------------------------------------------
inline float single_rest(float x, float y) { return __builtin_fmodf(x, y); }
inline double single_rest(double x, double y) { return __builtin_fmod(x, y); }
inline float fmod_of(float x, float y) { return single_rest(x, y); }
inline double fmod_of(double x, double y) { return single_rest(x, y); }

#if defined(__AVX2__)
inline f32v minus_product(f32v q, f32v y, f32v x) { return multiply_add(-q, y, x); }
inline f64v minus_product(f64v q, f64v y, f64v x) { return multiply_add(-q, y, x); }
// The rounded quotient is at most one too large, never too small, and what is left after it is exact by the fused product.
template <class V> V vector_rest(V x, V y, double limit) {
    using T = typename Lanes<V>::T;
    const V a = abs(x), b = abs(y), q = trunc(a / b), inf = splat<V>(__builtin_inf());
    if (__builtin_expect(any((q >= splat<V>(limit)) | (q != q) | (b == inf)), 0)) {      // NaN, zeros, infinities, huge quotients
        V out = x;
        for (int i = 0; i < Lanes<V>::width; i++) out[i] = single_rest((T)x[i], (T)y[i]);
        return out;
    }
    const V rest = minus_product(q, b, a);
    return copysign(pick(rest < splat<V>(0), rest + b, rest), x);
}
inline f32v fmod_of(f32v x, f32v y) { return vector_rest(x, y, 4194304.0); }
inline f64v fmod_of(f64v x, f64v y) { return vector_rest(x, y, 2251799813685248.0); }
#endif

CLAY_EACH_2(FMod, fmod_of(x, y))
struct Remainder : Taking2 {
    template <class V> V operator()(V x, V y) const {
        const V rest = fmod_of(x, y), zero = splat<V>(0);
        // its sign is not the divisor's
        return pick((rest > zero) & (y < zero), rest + y, pick((rest < zero) & (y >= zero), rest + y, rest));
    }
};
CLAY_EACH_2(DivTrunc, trunc(x / y))
// Whole multiples of y in x: from the remainder, so that rounding x / y cannot go past a whole number
struct FloorDivide : Taking2 {
    template <class V> V operator()(V x, V y) const {
        const V zero = splat<V>(0), one = splat<V>(1), rest = fmod_of(x, y), ratio = x / y;
        V whole = (x - rest) / y;
        whole = pick(((rest > zero) & (y < zero)) | ((rest < zero) & (y > zero)), whole - one, whole);
        V low = floor(whole);
        low = pick(whole - low > splat<V>(0.5), low + one, low);
        return pick(y == zero, ratio, pick(whole == zero, copysign(zero, ratio), low));
    }
};

// Integers refuse a divisor of 0; -1 would overflow the one number without an opposite.
template <class F> bool integer_division(const void* const* in, void* out_n, int64_t n, const Numbers&) {
    const int64_t *x = (const int64_t*)in[0], *y = (const int64_t*)in[1];
    int64_t* out = (int64_t*)out_n;
    bool zero = false;
    for (int64_t i = 0; i < n; i++) zero |= y[i] == 0;
    if (zero) return false;
    for (int64_t i = 0; i < n; i++) {
        const int64_t a = x[i], b = y[i];
        if (b == -1) {
            out[i] = F::quotient ? (int64_t)(0 - (uint64_t)a) : 0;
            continue;
        }
        int64_t q, rest;
        if (((uint64_t)a | (uint64_t)b) >> 32 == 0) {            // narrow division takes a fraction of the time
            q = (int64_t)((uint32_t)a / (uint32_t)b), rest = (int64_t)((uint32_t)a % (uint32_t)b);
        } else {
            q = a / b, rest = a % b;
        }
        const bool down = F::floored && rest != 0 && (rest < 0) != (b < 0);
        out[i] = F::quotient ? q - down : rest + (down ? b : 0);
    }
    return true;
}
struct Floored { static constexpr bool quotient = true, floored = true; };
struct Cut { static constexpr bool quotient = true, floored = false; };
struct FlooredRest { static constexpr bool quotient = false, floored = true; };
struct CutRest { static constexpr bool quotient = false, floored = false; };
#define CLAY_INTEGERS(name, F) {name, I64, (void*)integer_division<F>, -1, DEAR}

// --- integers ----------------------------------------------------------------------------------------------------------------
struct ClampInt : Taking3 {
    int64_t operator()(int64_t x, int64_t low, int64_t high) const {
        const int64_t raised = x < low ? low : x;
        return raised > high ? high : raised;
    }
};
struct ClampMinInt : Taking2 { int64_t operator()(int64_t x, int64_t low) const { return x < low ? low : x; } };
struct ClampMaxInt : Taking2 { int64_t operator()(int64_t x, int64_t high) const { return x > high ? high : x; } };
struct ReverseSubInt : Taking2 { uint64_t operator()(uint64_t x, uint64_t y) const { return y - x; } };
struct HeavisideInt : Taking2 { int64_t operator()(int64_t x, int64_t y) const { return x == 0 ? y : x > 0; } };
struct SameInt : Taking1 { int64_t operator()(int64_t x) const { return x; } };
struct NotInt : Taking1 { int64_t operator()(int64_t x) const { return ~x; } };
struct NotBool : Taking1 { uint8_t operator()(uint8_t x) const { return !x; } };
#define CLAY_LONG(name, F) {name, I64, (void*)each_number<F, int64_t, int64_t>, -1, CHEAP}

// --- left to the C library ------------------------------------------------------------------------------------------------------
// The bits of a number count up with its distance from zero.
template <class T, class Bits> T next_after(T x, T y) {
    Bits bits;
    memcpy(&bits, &x, sizeof bits);
    bits += (x < y) == (x > 0) ? 1 : -1;
    const Bits least = 1;
    T moved, first;
    memcpy(&moved, &bits, sizeof moved);
    memcpy(&first, &least, sizeof first);
    moved = x == 0 ? copysign(first, y) : moved;
    return x != x || y != y ? x + y : x == y ? y : moved;
}
struct NextAfter : Taking2 {
    float operator()(float x, float y) const { return next_after<float, int32_t>(x, y); }
    double operator()(double x, double y) const { return next_after<double, int64_t>(x, y); }
};
// In double precision the squares of single numbers do not overflow; those of doubles may.
template <bool SINGLE> struct Hypot : Taking2 {
    template <class V> V operator()(V x, V y) const {
        const V a = abs(x), b = abs(y), inf = splat<V>(__builtin_inf()), root = sqrt(a * a + b * b);
        if (SINGLE) return pick((a == inf) | (b == inf), inf, root);
        const V most = pick(a > b, a, b);
        if (__builtin_expect(any((most > splat<V>(1e150)) | (most < splat<V>(1e-140)) | (root != root)), 0))
            return pick((a == inf) | (b == inf), inf, each_hypot(a, b));
        return root;
    }
    static double each_hypot(double a, double b) { return __builtin_hypot(a, b); }
#if defined(__AVX2__)
    static f64v each_hypot(f64v a, f64v b) {
        for (int i = 0; i < Lanes<f64v>::width; i++) a[i] = __builtin_hypot((double)a[i], (double)b[i]);
        return a;
    }
#endif
};

// x * 2 ** y for whole y: without the power, which may overflow where the product does not
template <class T> bool times_power_of_two(const void* const* in, void* out, int64_t n, const Numbers&) {
    const T *x = (const T*)in[0], *y = (const T*)in[1];
    for (int64_t i = 0; i < n; i++)
        if (y[i] != rint(y[i])) return false;
    for (int64_t i = 0; i < n; i++) {
        const int power = y[i] < -5000 ? -5000 : y[i] > 5000 ? 5000 : (int)y[i];
        ((T*)out)[i] = y[i] - y[i] == 0 ? (T)__builtin_ldexp((double)x[i], power) : x[i] * exp2(y[i]);
    }
    return true;
}

// sin(pi x) / (pi x)
struct Sinc : Taking1 {
    template <class V> V operator()(V x) const {
        const V angle = splat<V>(3.141592653589793) * pick(x == splat<V>(0), splat<V>(1e-20), x);
        return sin(angle) / angle;
    }
};

}  // namespace

const Kernel each_kernels[] = {
    CLAY_VECTORS("clamp_both", ClampBoth, CHEAP), CLAY_VECTORS("clamp_min", ClampMin, CHEAP), CLAY_VECTORS("clamp_max", ClampMax, CHEAP),
    CLAY_VECTORS("lerp", Lerp, CHEAP), CLAY_VECTORS("addcmul", AddCMul, CHEAP), CLAY_VECTORS("addcdiv", AddCDiv, CHEAP),
    CLAY_VECTORS("rsub", ReverseSub, CHEAP), CLAY_VECTORS("copysign", CopySign, CHEAP), CLAY_VECTORS("fmax", FMax, CHEAP),
    CLAY_VECTORS("fmin", FMin, CHEAP), CLAY_VECTORS("heaviside", Heaviside, CHEAP), CLAY_VECTORS("frac", Frac, CHEAP),
    CLAY_VECTORS("deg2rad", ToRadians, CHEAP), CLAY_VECTORS("rad2deg", ToDegrees, CHEAP), CLAY_VECTORS("angle", Angle, CHEAP),
    CLAY_VECTORS("scaled", Scaled, CHEAP), CLAY_VECTORS("divided", Divided, CHEAP), CLAY_VECTORS("nan_to_num", NanToNum, CHEAP),
    CLAY_VECTORS("round_decimals", RoundDecimals, CHEAP), CLAY_VECTORS("logaddexp", LogAddExp, DEAR),
    CLAY_VECTORS("logaddexp2", LogAddExp2, DEAR), CLAY_VECTORS("xlogy", XLogY, COSTLY), CLAY_VECTORS("xlog1py", XLog1PY, COSTLY),
    CLAY_VECTORS("entr", Entropy, COSTLY), CLAY_VECTORS("logit", Logit, COSTLY), CLAY_VECTORS("fmod", FMod, COSTLY),
    CLAY_VECTORS("remainder", Remainder, COSTLY), CLAY_VECTORS("div_trunc", DivTrunc, CHEAP),
    CLAY_VECTORS("floor_divide", FloorDivide, COSTLY), CLAY_VECTORS("sinc", Sinc, COSTLY),
    CLAY_NUMBERS("nextafter", NextAfter, DEAR), CLAY_WIDE("hypot", Hypot, COSTLY),
    {"ldexp", F32, (void*)times_power_of_two<float>, -1, DEAR}, {"ldexp", F64, (void*)times_power_of_two<double>, -1, DEAR},
    CLAY_VECTORS("clamp_backward", ClampBackward, CHEAP),
    CLAY_INTEGERS("floor_divide", Floored), CLAY_INTEGERS("div_trunc", Cut), CLAY_INTEGERS("remainder", FlooredRest),
    CLAY_INTEGERS("fmod", CutRest),
    CLAY_LONG("clamp_both", ClampInt), CLAY_LONG("clamp_min", ClampMinInt), CLAY_LONG("clamp_max", ClampMaxInt),
    CLAY_LONG("rsub", ReverseSubInt), CLAY_LONG("heaviside", HeavisideInt), CLAY_LONG("nan_to_num", SameInt),
    CLAY_LONG("floor", SameInt), CLAY_LONG("ceil", SameInt), CLAY_LONG("trunc", SameInt), CLAY_LONG("round", SameInt),
    CLAY_LONG("bitwise_not", NotInt),
    {"bitwise_not", BOOL, (void*)each_number<NotBool, uint8_t, uint8_t>, -1, CHEAP},
};
CLAY_COUNT(each)

}  // namespace CLAY_ISA
}  // namespace clay
