// Arithmetic of one to three operands: bounds, remainders, sums of products, logarithms of sums.
#include <string.h>

#include <type_traits>

#include "elementwise/loops.hpp"
#include "elementwise/unary_ops.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// clamp: NaN propagates; of two equal zeros the element's own sign is kept
CLAY_EACH_3(ClampBoth, minimum(z, maximum(y, x)))
CLAY_EACH_2(ClampMin, maximum(y, x))
CLAY_EACH_2(ClampMax, minimum(y, x))
// The gradient x of clamp: passed where the element is within the bounds, else 0
struct ClampBackward : Taking4 {
    template <class V> V operator()(V g, V x, V low, V high) const { return select((x >= low) & (x <= high), g, splat<V>(0)); }
};
struct Lerp : Taking3 {                                          // computed from the nearer end
    template <class V> V operator()(V x, V y, V z) const {
        const auto first = abs(z) < splat<V>(0.5);
        return multiply_add(select(first, z, -(splat<V>(1) - z)), y - x, select(first, x, y));
    }
};
CLAY_EACH_3(AddCMul, multiply_add(CLAY_VALUE(0) * y, z, x))
CLAY_EACH_3(AddCDiv, x + CLAY_VALUE(0) * y / z)
CLAY_EACH_2(ReverseSub, y - x)
CLAY_EACH_2(ReverseSubScaled, y - CLAY_VALUE(0) * x)
CLAY_EACH_2(AddScaled, multiply_add(CLAY_VALUE(0), y, x))
CLAY_EACH_2(SubScaled, multiply_add(-CLAY_VALUE(0), y, x))
CLAY_EACH_2(CopySign, copysign(x, y))
// fmax, fmin: a number wins over NaN, the first of two equal ones
CLAY_EACH_2(FMax, (select(x != x, y, select(y != y, x, select(y > x, y, x)))))
CLAY_EACH_2(FMin, (select(x != x, y, select(y != y, x, select(y < x, y, x)))))
CLAY_EACH_2(Heaviside, (select(x == CLAY_IS(0), y, select(x > CLAY_IS(0), CLAY_IS(1), CLAY_IS(0)))))
CLAY_EACH_1(Frac, x - trunc(x))
CLAY_EACH_1(ToRadians, x * CLAY_IS(3.141592653589793 / 180))
CLAY_EACH_1(ToDegrees, x * CLAY_IS(180 / 3.141592653589793))
CLAY_EACH_1(Angle, (select(x < CLAY_IS(0), CLAY_IS(3.141592653589793), select(x != x, x, CLAY_IS(0)))))
CLAY_EACH_1(Scaled, x * CLAY_VALUE(0))
CLAY_EACH_1(Divided, x / CLAY_VALUE(0))

struct NanToNum : Taking1 {
    template <class V> V operator()(V x) const {
        const V largest = splat<V>(sizeof(typename Lanes<V>::T) == 4 ? 3.4028234663852886e38 : 1.7976931348623157e308);
        const V up = numbers.given & 2 ? splat<V>(numbers.value[1]) : largest;
        const V down = numbers.given & 4 ? splat<V>(numbers.value[2]) : -largest;
        const V inf = splat<V>(__builtin_inf());
        return select(x != x, splat<V>(numbers.given & 1 ? numbers.value[0] : 0), select(x == inf, up, select(x == -inf, down, x)));
    }
};

// round(decimals=): negative decimals round to tens, hundreds, ...
struct RoundDecimals : Taking1 {
    template <class V> V operator()(V x) const {
        double power = 1;
        const double decimals = numbers.value[0];
        for (double k = decimals < 0 ? -decimals : decimals; k > 0 && power < __builtin_inf(); k--) power *= 10;
        const V ten = splat<V>(power);
        return decimals < 0 ? rint(x / ten) * ten : rint(x * ten) / ten;
    }
};

// logaddexp: the larger plus a logarithm between 0 and log 2. Equal infinities give that infinity.
struct LogAddExp : Taking2 {
    template <class V> V operator()(V x, V y) const {
        const V gap = abs(x - y), top = maximum(x, y);
        return select(x == y, x + splat<V>(0.693147180559945309417), top + log1p_of_part(exp(-gap)));
    }
};
// Of nearly equal numbers it is their mean, 1 and the logarithm of a hyperbolic cosine. That has no error where the sum is next to 0.
struct LogAddExp2 : Taking2 {
    template <class V> V operator()(V x, V y) const {
        const V gap = abs(x - y), top = maximum(x, y), one = splat<V>(1), half = splat<V>(0.5), t = gap * gap;
        const V far = top + log1p_of_part(exp2(-gap)) * splat<V>(1.44269504088896340736);
        V cosine = splat<V>(COSINE[0]);
        for (int k = 1; k < 7; k++) cosine = multiply_add(cosine, t, splat<V>(COSINE[k]));
        const V near = multiply_add(gap, -half, top + one) + cosine * t;
        return select(x == y, x + one, select(gap < half, near, far));
    }
    // log2(cosh(g log(2) / 2)) by powers of g^2, the highest first, without the last g^2
    static constexpr double COSINE[7] = {1.335164654128043e-10, -3.1998614019403434e-09, 7.888016657160766e-08, -2.0257537083516973e-06,
                                       5.555649227678518e-05, -0.001734503395775674, 0.08664339756999316};
};
CLAY_EACH_2(XLogY, (select((x == CLAY_IS(0)) & (y == y), CLAY_IS(0), x * log(y))))
CLAY_EACH_2(XLog1PY, (select((x == CLAY_IS(0)) & (y == y), CLAY_IS(0), x * log1p(y))))
CLAY_EACH_1(Entropy, (select(x > CLAY_IS(0), -x * log(select(x > CLAY_IS(0), x, CLAY_IS(1))), select(x == CLAY_IS(0), CLAY_IS(0),
                                                             select(x < CLAY_IS(0), CLAY_IS(-__builtin_inf()), x)))))
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

#if defined(CLAY_VECTOR_BYTES)
inline f32v minus_product(f32v q, f32v y, f32v x) { return multiply_add(-q, y, x); }
inline f64v minus_product(f64v q, f64v y, f64v x) { return multiply_add(-q, y, x); }
// The rounded quotient is at most one too large, never too small; the remainder is exact by a fused multiply-add.
template <class V> V vector_rest(V x, V y, double limit) {
    using T = typename Lanes<V>::T;
    const V a = abs(x), b = abs(y), q = trunc(a / b), inf = splat<V>(__builtin_inf());
    if (__builtin_expect(any((q >= splat<V>(limit)) | (q != q) | (b == inf)), 0)) {      // NaN, zeros, infinities, huge quotients
        V out = x;
        for (int i = 0; i < Lanes<V>::width; i++) out[i] = single_rest((T)x[i], (T)y[i]);
        return out;
    }
    const V rest = minus_product(q, b, a);
    return copysign(select(rest < splat<V>(0), rest + b, rest), x);
}
inline f32v fmod_of(f32v x, f32v y) { return vector_rest(x, y, 4194304.0); }
inline f64v fmod_of(f64v x, f64v y) { return vector_rest(x, y, 2251799813685248.0); }
#endif

CLAY_EACH_2(FMod, fmod_of(x, y))
struct Remainder : Taking2 {
    template <class V> V operator()(V x, V y) const {
        const V rest = fmod_of(x, y), zero = splat<V>(0);
        // the remainder's sign differs from the divisor's
        return select((rest > zero) & (y < zero), rest + y, select((rest < zero) & (y >= zero), rest + y, rest));
    }
};
CLAY_EACH_2(DivTrunc, trunc(x / y))
// floor_divide: from the remainder, so that rounding x / y cannot pass an integer
struct FloorDivide : Taking2 {
    template <class V> V operator()(V x, V y) const {
        const V zero = splat<V>(0), one = splat<V>(1), rest = fmod_of(x, y), ratio = x / y;
        V whole = (x - rest) / y;
        whole = select(((rest > zero) & (y < zero)) | ((rest < zero) & (y > zero)), whole - one, whole);
        V low = floor(whole);
        low = select(whole - low > splat<V>(0.5), low + one, low);
        return select(y == zero, ratio, select(whole == zero, copysign(zero, ratio), low));
    }
};

// PyTorch rounds every intermediate result to the half type, unless the divisor is a single number.
template <class H, class V> V rounded(V x) {
    constexpr int W = Lanes<V>::width;
    H held[W];
    put_half(held, x, W);
    return get_half<V>(held, W);
}
template <class H> struct HalfDivTrunc : Taking2 {
    template <class V> V operator()(V x, V y) const { return trunc(rounded<H>(x / y)); }
};
template <class H> struct HalfFloorDivide : Taking2 {
    template <class V> V operator()(V x, V y) const {
        const V zero = splat<V>(0), one = splat<V>(1), inf = splat<V>(__builtin_inff()), rest = fmod_of(x, y), ratio = rounded<H>(x / y);
        const V multiple = select((abs(ratio) == inf) & (abs(x) < inf), x, rounded<H>(x - rest));
        V whole = rounded<H>(multiple / y);
        whole = select(((rest > zero) & (y < zero)) | ((rest < zero) & (y > zero)), rounded<H>(whole - one), whole);
        V low = floor(whole);
        low = select(whole - low > splat<V>(0.5), rounded<H>(low + one), low);
        return select(y == zero, ratio, select(whole == zero, copysign(zero, ratio), low));
    }
};
template <template <class> class F, class ByNumber, class H>
bool half_quotients(const void* const* in, void* out, int64_t n, const Numbers& numbers, unsigned ones) {
    return (ones & 2 << NUMBER_SHIFT ? each_vector<ByNumber, H> : each_vector<F<H>, H>)(in, out, n, numbers, ones);
}
#define HALF_QUOTIENTS(name, F, ByNumber, grain) \
    {name, F16, (void*)half_quotients<F, ByNumber, Half>, -1, grain, false, true}, \
    {name, BF16, (void*)half_quotients<F, ByNumber, Bf16>, -1, grain, false, true}

// Integers refuse a divisor of 0; dividing the smallest integer by -1 would overflow.
template <class F, class T> void divide_integers(const T* x, const T* y, T* out, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t a = x[i], b = y[i];
        if (b == -1) {
            out[i] = F::quotient ? (T)(0 - (uint64_t)a) : 0;
            continue;
        }
        int64_t q, rest;
        if (((uint64_t)a | (uint64_t)b) >> 32 == 0) {            // narrow division takes a fraction of the time
            q = (int64_t)((uint32_t)a / (uint32_t)b), rest = (int64_t)((uint32_t)a % (uint32_t)b);
        } else {
            q = a / b, rest = a % b;
        }
        const bool down = F::floored && rest != 0 && (rest < 0) != (b < 0);
        out[i] = (T)(F::quotient ? q - down : rest + (down ? b : 0));
    }
}
#if defined(CLAY_VECTOR_BYTES)
// In double precision, by vectors: below 2^52 a quotient that is not an integer is not rounded to one.
template <class F, class T> void divide_by_floats(const T* x, const T* y, T* out, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) {
        const double a = (double)x[i], b = (double)y[i], q = F::floored ? floor(a / b) : trunc(a / b);
        if (F::quotient) out[i] = (int64_t)y[i] == -1 ? (T)(0 - (uint64_t)x[i]) : (T)q;
        else out[i] = (T)(a - q * b);
    }
}
#endif
template <class F, class T> bool integer_division(const void* const* in, void* out_n, int64_t n, const Numbers&) {
    const T *x = (const T*)in[0], *y = (const T*)in[1];
    bool zero = false, large = false;
    for (int64_t i = 0; i < n; i++) {
        zero |= y[i] == 0;
        if (sizeof(T) == 8) {                                    // from |x| = 2^51 on
            const uint64_t half = 1ull << 51;
            large |= ((uint64_t)x[i] + half) >> 52 != 0 || ((uint64_t)y[i] + half) >> 52 != 0;
        }
    }
    if (zero) return false;
#if defined(CLAY_VECTOR_BYTES)
    if (!large) {
        divide_by_floats<F>(x, y, (T*)out_n, n);
        return true;
    }
#endif
    divide_integers<F>(x, y, (T*)out_n, n);
    return true;
}
struct Floored { static constexpr bool quotient = true, floored = true; };
struct Cut { static constexpr bool quotient = true, floored = false; };
struct FlooredRest { static constexpr bool quotient = false, floored = true; };
struct CutRest { static constexpr bool quotient = false, floored = false; };
#define CLAY_INTEGERS(name, F) \
    {name, I64, (void*)integer_division<F, int64_t>, -1, DEAR, true}, {name, I32, (void*)integer_division<F, int32_t>, -1, DEAR, true}, \
    {name, U8, (void*)integer_division<F, uint8_t>, -1, DEAR, true}, {name, I8, (void*)integer_division<F, int8_t>, -1, DEAR, true}, \
    {name, I16, (void*)integer_division<F, int16_t>, -1, DEAR, true}

// Integers wrap around: computed as unsigned, at least as wide as int.
template <class T> using Wrapping = std::make_unsigned_t<decltype(T() + 0u)>;

// --- integers ----------------------------------------------------------------------------------------------------------------
struct ClampInt : Taking3 {
    template <class T> T operator()(T x, T low, T high) const {
        const T raised = x < low ? low : x;
        return raised > high ? high : raised;
    }
};
struct ClampMinInt : Taking2 { template <class T> T operator()(T x, T low) const { return x < low ? low : x; } };
struct ClampMaxInt : Taking2 { template <class T> T operator()(T x, T high) const { return x > high ? high : x; } };
struct ReverseSubInt : Taking2 { template <class T> T operator()(T x, T y) const { return (T)((Wrapping<T>)y - x); } };
struct HeavisideInt : Taking2 { int64_t operator()(int64_t x, int64_t y) const { return x == 0 ? y : x > 0; } };
struct SameInt : Taking1 { int64_t operator()(int64_t x) const { return x; } };
// A negative or too large shift moves all bits out; the sign remains in right shifts.
struct ShiftLeft : Taking2 {
    template <class T> T operator()(T x, T by) const {
        return by < 0 || by >= (T)(8 * sizeof(T)) ? 0 : (T)((Wrapping<T>)x << by);
    }
};
struct ShiftRight : Taking2 {
    template <class T> T operator()(T x, T by) const {
        const T all = (T)(8 * sizeof(T) - 1);
        if ((T)-1 < 0) return (T)(x >> (by < 0 || by > all ? all : by));
        return by > all ? 0 : (T)(x >> by);
    }
};
// The difference of two odd numbers is even, and its factors of 2 divide neither.
inline uint64_t common_divisor(int64_t x, int64_t y) {
    uint64_t a = x < 0 ? 0 - (uint64_t)x : (uint64_t)x, b = y < 0 ? 0 - (uint64_t)y : (uint64_t)y;
    if (a == 0 || b == 0) return a | b;
    const int twos = __builtin_ctzll(a | b);
    a >>= __builtin_ctzll(a);
    do {
        b >>= __builtin_ctzll(b);
        const uint64_t less = a < b ? a : b;
        b = a < b ? b - a : a - b;
        a = less;
    } while (b);
    return a << twos;
}
struct Gcd : Taking2 { int64_t operator()(int64_t x, int64_t y) const { return (int64_t)common_divisor(x, y); } };
struct Lcm : Taking2 {
    int64_t operator()(int64_t x, int64_t y) const {
        const uint64_t divisor = common_divisor(x, y), a = x < 0 ? 0 - (uint64_t)x : (uint64_t)x, b = y < 0 ? 0 - (uint64_t)y : (uint64_t)y;
        return divisor ? (int64_t)(a / divisor * b) : 0;
    }
};
// With an integer intermediate, which wraps around as well
#define CLAY_SCALED(Name, Base, parameters, expression) \
    struct Name : Base { \
        template <class T> T operator() parameters const { \
            using U = Wrapping<T>; \
            const U by = (U)(int64_t)numbers.value[0]; \
            return (T)(expression); \
        } \
    };
CLAY_SCALED(AddCMulInt, Taking3, (T x, T y, T z), (U)x + by * (U)y * (U)z)
CLAY_SCALED(AddScaledInt, Taking2, (T x, T y), (U)x + by * (U)y)
CLAY_SCALED(SubScaledInt, Taking2, (T x, T y), (U)x - by * (U)y)
CLAY_SCALED(ReverseSubScaledInt, Taking2, (T x, T y), (U)y - by * (U)x)
struct NotInt : Taking1 { template <class T> T operator()(T x) const { return (T)~x; } };
// Half types as bit patterns: the sign is the first bit.
struct NegHalf : Taking1 { uint16_t operator()(uint16_t x) const { return x ^ 0x8000; } };
struct AbsHalf : Taking1 { uint16_t operator()(uint16_t x) const { return x & 0x7fff; } };
#define CLAY_BITS(name, F) \
    {name, F16, (void*)each_number<F, uint16_t, uint16_t>, -1, CHEAP}, {name, BF16, (void*)each_number<F, uint16_t, uint16_t>, -1, CHEAP}
struct NotBool : Taking1 { uint8_t operator()(uint8_t x) const { return !x; } };
#define CLAY_EVERY(name, F) \
    {name, I64, (void*)each_number<F, int64_t, int64_t>, -1, CHEAP}, {name, I32, (void*)each_number<F, int32_t, int32_t>, -1, CHEAP}, \
    {name, U8, (void*)each_number<F, uint8_t, uint8_t>, -1, CHEAP}, {name, I16, (void*)each_number<F, int16_t, int16_t>, -1, CHEAP}, \
    {name, I8, (void*)each_number<F, int8_t, int8_t>, -1, CHEAP}
#define CLAY_LONG(name, F) {name, I64, (void*)each_number<F, int64_t, int64_t>, -1, CHEAP}

// --- left to the C library ------------------------------------------------------------------------------------------------------
// nextafter: the bit pattern counts up with the distance from zero.
template <class T, class Bits> T next_after(T x, T y) {
    Bits bits;
    memcpy(&bits, &x, sizeof bits);
    bits += (x < y) == (x > 0) ? 1 : -1;
    const Bits smallest = 1;
    T moved, first;
    memcpy(&moved, &bits, sizeof moved);
    memcpy(&first, &smallest, sizeof first);
    moved = x == 0 ? copysign(first, y) : moved;
    return x != x || y != y ? x + y : x == y ? y : moved;
}
struct NextAfter : Taking2 {
    float operator()(float x, float y) const { return next_after<float, int32_t>(x, y); }
    double operator()(double x, double y) const { return next_after<double, int64_t>(x, y); }
};
// hypot: squares of floats do not overflow in double precision; those of doubles may.
template <bool SINGLE> struct Hypot : Taking2 {
    template <class V> V operator()(V x, V y) const {
        const V a = abs(x), b = abs(y), inf = splat<V>(__builtin_inf()), root = sqrt(a * a + b * b);
        if (SINGLE) return select((a == inf) | (b == inf), inf, root);
        const V largest = select(a > b, a, b);
        if (__builtin_expect(any((largest > splat<V>(1e150)) | (largest < splat<V>(1e-140)) | (root != root)), 0))
            return select((a == inf) | (b == inf), inf, lanes_of(a, b, [](double u, double v) { return __builtin_hypot(u, v); }));
        return root;
    }
};

// 2 ** y for integral y; inf and 0 beyond the range of the type
inline double power_of_two(double y) { return __builtin_ldexp(1.0, (int)y); }
inline float power_of_two(float y) { return (float)power_of_two((double)y); }
#if defined(CLAY_VECTOR_BYTES)
inline f32v power_of_two(f32v y) { return times_power_of_two(splat<f32v>(1), y); }
typedef int64_t i64v __attribute__((vector_size(CLAY_VECTOR_BYTES)));
inline f64v power_of_two(f64v y) {                               // as a product of two factors, each written into an exponent
    const f64v half = rint(y * splat<f64v>(0.5)), bias = splat<f64v>(6755399441055744.0 + 1023);
    return (f64v)((i64v)(half + bias) << 52) * (f64v)((i64v)(y - half + bias) << 52);
}
#endif
// ldexp: x * 2 ** y, where the power itself may be inf or 0 in the type of the result, as in torch.
struct LdExp : Taking2 {
    template <class V> V power(V y) const {
        const bool single = sizeof(typename Lanes<V>::T) == 4;
        const V largest = splat<V>(single ? 150 : 1030), smallest = splat<V>(single ? -160 : -1100), whole = rint(y);
        const auto odd = y != whole;                             // NaN too
        V power = power_of_two(select(whole > largest, largest, select(whole > smallest, whole, smallest)));
        if (any(odd)) power = select(odd, exp2(y), power);
        return power;
    }
    template <class V> V operator()(V x, V y) const { return x * power(y); }
};
CLAY_EACH_2(Product, x * y)
// One exponent for all elements: its power is computed once.
template <class T> bool ldexp_lines(const void* const* in, void* out, int64_t n, const Numbers& numbers, unsigned ones) {
    if (!(ones & 2)) return each_vector<LdExp, T>(in, out, n, numbers, ones);
    using V = vec<T>;
    const T power = first_lane(LdExp{numbers}.power(splat<V>(*(const T*)in[1])));
    const void* const factors[] = {in[0], &power};
    return each_vector<Product, T>(factors, out, n, numbers, ones);
}

// sin(pi x) / (pi x)
// The sine is taken of the distance from a whole number, which is exact.
struct Sinc : Taking1 {
    template <class V> V operator()(V x) const {
        const V pi = splat<V>(3.141592653589793), given = select(x == splat<V>(0), splat<V>(1e-20), x), n = rint(given);
        const V half = n * splat<V>(0.5), sine = sin(pi * (given - n));
        return select(rint(half) == half, sine, -sine) / (pi * given);
    }
};

}  // namespace

const Kernel each_kernels[] = {
    CLAY_CHEAP("clamp_both", ClampBoth), CLAY_CHEAP("clamp_min", ClampMin), CLAY_CHEAP("clamp_max", ClampMax),
    CLAY_CHEAP("lerp", Lerp), CLAY_CHEAP("addcmul", AddCMul), CLAY_CHEAP("addcdiv", AddCDiv),
    CLAY_CHEAP("add_scaled", AddScaled), CLAY_CHEAP("sub_scaled", SubScaled),
    CLAY_CHEAP("rsub", ReverseSub), CLAY_CHEAP("rsub_scaled", ReverseSubScaled),
    CLAY_CHEAP("copysign", CopySign), CLAY_CHEAP("fmax", FMax),
    CLAY_CHEAP("fmin", FMin), CLAY_CHEAP("heaviside", Heaviside), CLAY_CHEAP("frac", Frac),
    CLAY_CHEAP("deg2rad", ToRadians), CLAY_CHEAP("rad2deg", ToDegrees), CLAY_CHEAP("angle", Angle),
    CLAY_CHEAP("scaled", Scaled), CLAY_CHEAP("divided", Divided), CLAY_VECTORS("nan_to_num", NanToNum, CHEAP),
    CLAY_CHEAP("round_decimals", RoundDecimals), CLAY_VECTORS("logaddexp", LogAddExp, DEAR),
    CLAY_VECTORS("logaddexp2", LogAddExp2, DEAR), CLAY_VECTORS("xlogy", XLogY, COSTLY), CLAY_VECTORS("xlog1py", XLog1PY, COSTLY),
    CLAY_VECTORS("entr", Entropy, COSTLY), CLAY_VECTORS("logit", Logit, COSTLY), CLAY_VECTORS("fmod", FMod, COSTLY),
    CLAY_VECTORS("remainder", Remainder, COSTLY), CLAY_VECTORS("div_trunc", DivTrunc, CHEAP), HALF_QUOTIENTS("div_trunc", HalfDivTrunc, DivTrunc, CHEAP),
    CLAY_VECTORS("floor_divide", FloorDivide, COSTLY), HALF_QUOTIENTS("floor_divide", HalfFloorDivide, FloorDivide, COSTLY),
    CLAY_VECTORS("sinc", Sinc, COSTLY),
    CLAY_NUMBERS("nextafter", NextAfter, DEAR), CLAY_WIDE("hypot", Hypot, COSTLY),
    {"ldexp", F32, (void*)ldexp_lines<float>, -1, COSTLY, false, true}, {"ldexp", F64, (void*)ldexp_lines<double>, -1, COSTLY, false, true}, CLAY_EVERY("bitwise_left_shift", ShiftLeft), CLAY_EVERY("bitwise_right_shift", ShiftRight),
    {"gcd", I64, (void*)each_number<Gcd, int64_t, int64_t>, -1, DEAREST}, {"lcm", I64, (void*)each_number<Lcm, int64_t, int64_t>, -1, DEAREST},
    CLAY_CHEAP("clamp_backward", ClampBackward),
    CLAY_INTEGERS("floor_divide", Floored), CLAY_INTEGERS("div_trunc", Cut), CLAY_INTEGERS("remainder", FlooredRest),
    CLAY_INTEGERS("fmod", CutRest),
    CLAY_EVERY("clamp_both", ClampInt), CLAY_EVERY("clamp_min", ClampMinInt), CLAY_EVERY("clamp_max", ClampMaxInt),
    CLAY_EVERY("addcmul", AddCMulInt), CLAY_EVERY("add_scaled", AddScaledInt), CLAY_EVERY("sub_scaled", SubScaledInt),
    CLAY_EVERY("rsub_scaled", ReverseSubScaledInt), CLAY_EVERY("rsub", ReverseSubInt), CLAY_LONG("heaviside", HeavisideInt), CLAY_LONG("nan_to_num", SameInt),
    CLAY_LONG("floor", SameInt), CLAY_LONG("ceil", SameInt), CLAY_LONG("trunc", SameInt), CLAY_LONG("round", SameInt),
    CLAY_EVERY("bitwise_not", NotInt), CLAY_BITS("neg", NegHalf), CLAY_BITS("abs", AbsHalf),
    {"bitwise_not", BOOL, (void*)each_number<NotBool, uint8_t, uint8_t>, -1, CHEAP},
};
CLAY_COUNT(each)

}  // namespace CLAY_ISA
}  // namespace clay
