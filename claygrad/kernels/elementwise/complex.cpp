// Complex numbers: abs, angle, and arithmetic.
#include "elementwise/loops.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> struct Complex { T re, im; };

template <class T> using C = Complex<T>;

struct Join : Taking2 { template <class T> C<T> operator()(T re, T im) const { return {re, im}; } };
struct Polar : Taking2 {
    template <class T> C<T> operator()(T size, T angle) const { return {size * cos(angle), size * sin(angle)}; }
};
struct Abs : Taking1 {
    float operator()(C<float> z) const {
        const double a = z.re, b = z.im;
        const float found = (float)__builtin_sqrt(a * a + b * b);
        return found == found ? found : __builtin_hypotf(z.re, z.im);         // inf if one part is inf, even if the other is NaN
    }
    double operator()(C<double> z) const {
        const double square = z.re * z.re + z.im * z.im;
        return square > 1e-280 && square < 1e280 ? __builtin_sqrt(square) : __builtin_hypot(z.re, z.im);
    }
};
struct Add : Taking2 { template <class T> C<T> operator()(C<T> x, C<T> y) const { return {x.re + y.re, x.im + y.im}; } };
struct Sub : Taking2 { template <class T> C<T> operator()(C<T> x, C<T> y) const { return {x.re - y.re, x.im - y.im}; } };
struct Mul : Taking2 {
    template <class T> C<T> operator()(C<T> x, C<T> y) const {
        return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
    }
};
// The number as a complex one, as in PyTorch: an infinite part makes the other NaN.
#define SCALED(Name, result) \
    struct Name : Taking2 { \
        template <class T> C<T> operator()(C<T> x, C<T> y) const { \
            const C<T> by{(T)numbers.value[0], 0}; \
            return result; \
        } \
    };
SCALED(AddScaled, Add{}(x, Mul{}(y, by)))
SCALED(SubScaled, Sub{}(x, Mul{}(y, by)))
SCALED(ReverseSubScaled, Sub{}(y, Mul{}(x, by)))
struct ReverseSub : Taking2 { template <class T> C<T> operator()(C<T> x, C<T> y) const { return {y.re - x.re, y.im - x.im}; } };
struct Neg : Taking1 { template <class T> C<T> operator()(C<T> z) const { return {-z.re, -z.im}; } };
struct Conj : Taking1 { template <class T> C<T> operator()(C<T> z) const { return {z.re, -z.im}; } };

// --- vectors of real and imaginary parts, in double precision ---------------------------------------------------------------------------------
template <class T> void put_number(C<T>* to, double re, double im) { *to = {(T)re, (T)im}; }
template <class T> void put_number(T* to, double re, double) { *to = (T)re; }
// F(re, im) of vectors where F::plain says that no element is special; else F::one, from the C library, per element.
template <class F, class T, class To> bool each_parts(const void* const* in, void* out_n, int64_t n, const Numbers&) {
    using V = vec<double>;
    constexpr int W = Lanes<V>::width;
    const C<T>* z = (const C<T>*)in[0];
    To* out = (To*)out_n;
    for (int64_t i = 0; i < n; i += W) {
        double re[W], im[W];
        const int64_t m = n - i < W ? n - i : W;
        if (m == W) {                                            // no condition in the loop, so that it is vectorised
            for (int j = 0; j < W; j++) re[j] = z[i + j].re, im[j] = z[i + j].im;
        } else {
            for (int j = 0; j < W; j++) re[j] = z[j < m ? i + j : i].re, im[j] = z[j < m ? i + j : i].im;
        }
        const V a = load<V>(re), b = load<V>(im);
        if (F::template plain<T>(a, b)) {
            const C<V> result = F::of(a, b);
            store<V>(re, result.re), store<V>(im, result.im);
            if (m == W)
                for (int j = 0; j < W; j++) put_number(out + i + j, re[j], im[j]);
            else
                for (int64_t j = 0; j < m; j++) put_number(out + i + j, re[j], im[j]);
        } else {
            for (int64_t j = 0; j < m; j++) {
                const C<T> result = F::one(z[i + j]);
                put_number(out + i + j, result.re, result.im);
            }
        }
    }
    return true;
}

template <class V> bool finite(V a, V b) { return !any((a - a != a - a) | (b - b != b - b)); }
template <class V> bool within(V x, double low, double high) { return !any((x < splat<V>(low)) | (x > splat<V>(high)) | (x != x)); }

// Conversion to the C library's type and back
#define JOINED(T)                                                                                                  \
    inline __complex__ T joined(C<T> z) {                                                                          \
        __complex__ T out;                                                                                         \
        __real__ out = z.re;                                                                                       \
        __imag__ out = z.im;                                                                                       \
        return out;                                                                                                \
    }                                                                                                              \
    inline C<T> parted(__complex__ T z) { return {__real__ z, __imag__ z}; }
JOINED(float)
JOINED(double)
#define LIBRARY(name)                                                                                              \
    static C<float> one(C<float> z) { return parted(__builtin_c##name##f(joined(z))); }                     \
    static C<double> one(C<double> z) { return parted(__builtin_c##name(joined(z))); }
#define PARTS(Name, name, condition, real, imaginary)                                                              \
    struct Name {                                                                                                  \
        template <class T, class V> static bool plain(V a, V b) { return finite(a, b) && (condition); }            \
        template <class V> static C<V> of(V a, V b) { return {real, imaginary}; }                                  \
        LIBRARY(name)                                                                                              \
    };

constexpr double MAX_EXPONENT = 700;             // exp of it does not overflow
PARTS(Exp, exp, within(a, -MAX_EXPONENT, MAX_EXPONENT), exp(a) * cos(b), exp(a) * sin(b))
PARTS(Sin, sin, within(b, -MAX_EXPONENT, MAX_EXPONENT), sin(a) * cosh(b), cos(a) * sinh(b))
PARTS(Cos, cos, within(b, -MAX_EXPONENT, MAX_EXPONENT), cos(a) * cosh(b), -(sin(a) * sinh(b)))
PARTS(Sinh, sinh, within(a, -MAX_EXPONENT, MAX_EXPONENT), sinh(a) * cos(b), cosh(a) * sin(b))
PARTS(Cosh, cosh, within(a, -MAX_EXPONENT, MAX_EXPONENT), cosh(a) * cos(b), sinh(a) * sin(b))
// Near |z| = 1 and near poles double precision has enough digits only for a float result.
#define SINGLE (sizeof(T) == 4)
PARTS(Log, log, SINGLE && within(a * a + b * b, 1e-300, 1e300), log(a * a + b * b) * splat<V>(0.5), atan2(b, a))
PARTS(Tanh, tanh, SINGLE && within(a, -20, 20), sinh(a + a) / (cosh(a + a) + cos(b + b)), sin(b + b) / (cosh(a + a) + cos(b + b)))
PARTS(Tan, tan, SINGLE && within(b, -20, 20), sin(a + a) / (cosh(b + b) + cos(a + a)), sinh(b + b) / (cosh(b + b) + cos(a + a)))
PARTS(Asin, asin, false, a, b)
PARTS(Acos, acos, false, a, b)
PARTS(Atan, atan, false, a, b)
PARTS(Asinh, asinh, false, a, b)
PARTS(Acosh, acosh, false, a, b)
PARTS(Atanh, atanh, false, a, b)

struct Sqrt {
    template <class T, class V> static bool plain(V a, V b) { return finite(a, b) && within(a * a + b * b, 1e-280, 1e280); }
    template <class V> static C<V> of(V a, V b) {
        const V zero = splat<V>(0), half = splat<V>(0.5), large = sqrt((sqrt(a * a + b * b) + abs(a)) * half), small = abs(b) * half / large;
        return {select(a < zero, small, large), copysign(select(a < zero, large, small), b)};
    }
    LIBRARY(sqrt)
};
struct Angle {                           // the same for special values
    template <class T, class V> static bool plain(V, V) { return true; }
    template <class V> static C<V> of(V a, V b) { return {atan2(b, a), b}; }
    template <class T> static C<T> one(C<T> z) { return z; }
};

// --- quotients and powers -------------------------------------------------------------------------------------------------------
// Smith's algorithm, which does not overflow, as in NumPy
template <class T> C<T> quotient(C<T> x, C<T> y) {
    if (abs(y.re) >= abs(y.im)) {
        if (y.re == 0 && y.im == 0) return {x.re / abs(y.re), x.im / abs(y.re)};
        const T ratio = y.im / y.re, scale = 1 / (y.re + y.im * ratio);
        return {(x.re + x.im * ratio) * scale, (x.im - x.re * ratio) * scale};
    }
    const T ratio = y.re / y.im, scale = 1 / (y.im + y.re * ratio);
    return {(x.re * ratio + x.im) * scale, (x.im * ratio - x.re) * scale};
}
struct Div : Taking2 { template <class T> C<T> operator()(C<T> x, C<T> y) const { return quotient(x, y); } };
// Floats in double precision, where squares do not overflow; results that are not finite use Smith's algorithm.
bool divide_singles(const void* const* in, void* out_n, int64_t n, const Numbers&) {
    const C<float> *x = (const C<float>*)in[0], *y = (const C<float>*)in[1];
    C<float>* out = (C<float>*)out_n;
    float wrong = 0;
    C<float> kept[64];
    for (int64_t i = 0; i < n; i += 64, wrong = 0) {
        const int64_t m = n - i < 64 ? n - i : 64;
        for (int64_t j = 0; j < m; j++) {
            const double a = x[i + j].re, b = x[i + j].im, c = y[i + j].re, d = y[i + j].im, inverse = 1 / (c * c + d * d);
            kept[j] = {(float)((a * c + b * d) * inverse), (float)((b * c - a * d) * inverse)};
        }
        for (int64_t j = 0; j < m; j++) wrong += 0 * kept[j].re + 0 * kept[j].im;
        if (__builtin_expect(wrong != 0, 0))
            for (int64_t j = 0; j < m; j++) kept[j] = quotient(x[i + j], y[i + j]);
        for (int64_t j = 0; j < m; j++) out[i + j] = kept[j];
    }
    return true;
}
template <class T> C<T> inverse_of(C<T> z) {
    if (z.im == 0) return {1 / z.re, 0 / z.re};                 // of 0: inf + nan j, as PyTorch
    if (abs(z.im) <= abs(z.re)) {
        const T ratio = z.im / z.re, scale = z.re + z.im * ratio;
        return {1 / scale, -ratio / scale};
    }
    const T ratio = z.re / z.im, scale = z.re * ratio + z.im;
    return {ratio / scale, -1 / scale};
}
struct Reciprocal : Taking1 {
    C<double> operator()(C<double> z) const { return inverse_of(z); }
    C<float> operator()(C<float> z) const {
        const double a = z.re, b = z.im, inverse = 1 / (a * a + b * b);
        const C<float> out{(float)(a * inverse), (float)(-b * inverse)};
        return z.im != 0 && out.re - out.re == 0 && out.im - out.im == 0 ? out : inverse_of(z);
    }
};
struct ReciprocalRoot : Taking1 { template <class T> C<T> operator()(C<T> z) const { return Reciprocal{}(Sqrt::one(z)); } };
struct Square : Taking1 { template <class T> C<T> operator()(C<T> z) const { return Mul{}(z, z); } };
struct Direction : Taking1 {
    template <class T> C<T> operator()(C<T> z) const {
        const T size = Abs{}(z);
        return size == 0 ? C<T>{0, 0} : C<T>{z.re / size, z.im / size};
    }
};
struct Pow : Taking2 {
    template <class T> C<T> operator()(C<T> x, C<T> y) const {
        const Mul times{};
        if (y.im == 0) {
            if (y.re == 2) return times(x, x);
            if (y.re == 1) return x;
            if (y.re == -1) return inverse_of(x);
            if (y.re == 0) return {1, 0};
            if (y.re == 0.5 && x.re - x.re == 0 && x.im - x.im == 0) return Sqrt::one(x);
        }
        if (x.re == 0 && x.im == 0) return y.re > 0 ? C<T>{0, 0} : C<T>{(T)__builtin_nan(""), (T)__builtin_nan("")};
        if (y.im == 0 && y.re == rint(y.re) && abs(y.re) < 100) {
            C<T> power = x, out{1, 0};
            for (int n = (int)abs(y.re); n; n >>= 1, power = times(power, power))
                if (n & 1) out = times(out, power);
            return y.re < 0 ? quotient(C<T>{1, 0}, out) : out;
        }
        return library(x, y);
    }
    static C<float> library(C<float> x, C<float> y) { return parted(__builtin_cpowf(joined(x), joined(y))); }
    static C<double> library(C<double> x, C<double> y) { return parted(__builtin_cpow(joined(x), joined(y))); }
};

template <class T> bool power(const void* const* in, void* out_n, int64_t n, const Numbers& numbers) {
    const C<T> *x = (const C<T>*)in[0], *y = (const C<T>*)in[1];
    int others = 0;
    for (int64_t i = 0; i < n; i++) others |= (y[i].re != 2) | (y[i].im != 0);
    const void* twice[2] = {x, x};
    return !others ? each_number<Mul, C<T>, C<T>>(twice, out_n, n, numbers) : each_number<Pow, C<T>, C<T>>(in, out_n, n, numbers);
}

// Equality, isnan, isinf, ...
struct Eq : Taking2 { template <class T> bool operator()(C<T> x, C<T> y) const { return x.re == y.re && x.im == y.im; } };
struct Ne : Taking2 { template <class T> bool operator()(C<T> x, C<T> y) const { return x.re != y.re || x.im != y.im; } };
struct IsNan : Taking1 { template <class T> bool operator()(C<T> z) const { return z.re != z.re || z.im != z.im; } };
struct IsFinite : Taking1 { template <class T> bool operator()(C<T> z) const { return z.re - z.re == 0 && z.im - z.im == 0; } };

#define FROM_REAL(name, F)                                                                              \
    {name, F32, (void*)each_number<F, float, C<float>>, C64, DEAR},                                \
    {name, F64, (void*)each_number<F, double, C<double>>, C128, DEAR}
#define REAL(name, F)                                                                              \
    {name, C64, (void*)each_number<F, C<float>, float>, F32, DEAR},                                \
    {name, C128, (void*)each_number<F, C<double>, double>, F64, DEAR}
#define ASKED(name, F)                                                                             \
    {name, C64, (void*)each_number<F, C<float>, uint8_t>, BOOL, CHEAP},                            \
    {name, C128, (void*)each_number<F, C<double>, uint8_t>, BOOL, CHEAP}
#define BY_PARTS(name, F)                                                                          \
    {name, C64, (void*)each_parts<F, float, C<float>>, -1, DEAREST},                               \
    {name, C128, (void*)each_parts<F, double, C<double>>, -1, DEAREST}
#define SAME(name, F)                                                                              \
    {name, C64, (void*)each_number<F, C<float>, C<float>>, -1, CHEAP},                             \
    {name, C128, (void*)each_number<F, C<double>, C<double>>, -1, CHEAP}

}  // namespace

const Kernel complex_kernels[] = {
    FROM_REAL("complex", Join), FROM_REAL("polar", Polar), REAL("abs", Abs),
    {"angle", C64, (void*)each_parts<Angle, float, float>, F32, DEAR}, {"angle", C128, (void*)each_parts<Angle, double, double>, F64, DEAR},
    BY_PARTS("exp", Exp), BY_PARTS("log", Log), BY_PARTS("sqrt", Sqrt), BY_PARTS("sin", Sin), BY_PARTS("cos", Cos), BY_PARTS("tan", Tan),
    BY_PARTS("sinh", Sinh), BY_PARTS("cosh", Cosh), BY_PARTS("tanh", Tanh), BY_PARTS("asin", Asin), BY_PARTS("acos", Acos),
    BY_PARTS("atan", Atan), BY_PARTS("asinh", Asinh), BY_PARTS("acosh", Acosh), BY_PARTS("atanh", Atanh),
    {"div", C64, (void*)divide_singles, -1, DEAR},
    {"div", C128, (void*)each_number<Div, C<double>, C<double>>, -1, DEAR}, SAME("reciprocal", Reciprocal),
    SAME("rsqrt", ReciprocalRoot), SAME("square", Square), SAME("sgn", Direction),
    {"pow", C64, (void*)power<float>, -1, DEAREST}, {"pow", C128, (void*)power<double>, -1, DEAREST},
    ASKED("eq", Eq), ASKED("ne", Ne), ASKED("isnan", IsNan), ASKED("isfinite", IsFinite),
    SAME("add_scaled", AddScaled), SAME("sub_scaled", SubScaled), SAME("rsub_scaled", ReverseSubScaled),
    SAME("rsub", ReverseSub), SAME("add", Add), SAME("sub", Sub), SAME("mul", Mul), SAME("neg", Neg), SAME("conj", Conj),
};
CLAY_COUNT(complex)

}  // namespace CLAY_ISA
}  // namespace clay
