// Complex numbers: made of parts, their lengths and angles, and arithmetic on them.
#include "each_loops.hpp"

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
        return found == found ? found : __builtin_hypotf(z.re, z.im);         // infinite beside a NaN
    }
    double operator()(C<double> z) const { return __builtin_hypot(z.re, z.im); }
};
struct Angle : Taking1 { template <class T> T operator()(C<T> z) const { return atan2(z.im, z.re); } };
struct Add : Taking2 { template <class T> C<T> operator()(C<T> x, C<T> y) const { return {x.re + y.re, x.im + y.im}; } };
struct Sub : Taking2 { template <class T> C<T> operator()(C<T> x, C<T> y) const { return {x.re - y.re, x.im - y.im}; } };
struct Mul : Taking2 {
    template <class T> C<T> operator()(C<T> x, C<T> y) const {
        return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
    }
};
struct Neg : Taking1 { template <class T> C<T> operator()(C<T> z) const { return {-z.re, -z.im}; } };
struct Conj : Taking1 { template <class T> C<T> operator()(C<T> z) const { return {z.re, -z.im}; } };

#define MADE(name, F)                                                                              \
    {name, F32, (void*)each_number<F, float, C<float>>, C64, DEAR},                                \
    {name, F64, (void*)each_number<F, double, C<double>>, C128, DEAR}
#define REAL(name, F)                                                                              \
    {name, C64, (void*)each_number<F, C<float>, float>, F32, DEAR},                                \
    {name, C128, (void*)each_number<F, C<double>, double>, F64, DEAR}
#define SAME(name, F)                                                                              \
    {name, C64, (void*)each_number<F, C<float>, C<float>>, -1, CHEAP},                             \
    {name, C128, (void*)each_number<F, C<double>, C<double>>, -1, CHEAP}

}  // namespace

const Kernel complex_kernels[] = {
    MADE("complex", Join), MADE("polar", Polar), REAL("abs", Abs), REAL("angle", Angle),
    SAME("add", Add), SAME("sub", Sub), SAME("mul", Mul), SAME("neg", Neg), SAME("conj", Conj),
};
CLAY_COUNT(complex)

}  // namespace CLAY_ISA
}  // namespace clay
