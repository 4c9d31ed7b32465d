// The loops of the family "each": a function of one to four operands over contiguous blocks.
#pragma once
#include "elementwise/plan.hpp"
#include "platform/table.hpp"
#include "simd/doubles.hpp"
#include "simd/half.hpp"
#include "simd/lines.hpp"
#include "platform/threads.hpp"
#include "simd/math.hpp"

namespace clay {
namespace CLAY_ISA {

// Half types are computed as floats.
template <class T> struct Computed { using type = T; };
template <> struct Computed<Half> { using type = float; };
template <> struct Computed<Bf16> { using type = float; };
template <class V, class T> V get_any(const T* p, int64_t n) {
    if constexpr (sizeof(T) == 2) return get_half<V>(p, n);
    else return get<V>(p, n);
}
template <class V, class T> void put_any(T* p, V v, int64_t n) {
    if constexpr (sizeof(T) == 2) put_half<V>(p, v, n);
    else put<V>(p, v, n);
}

// An operand: its elements, or a single one, in the compute type.
template <class T, class V> struct Along {
    const T* at;
    bool alone;
    V one;
    Along(const void* in, bool alone)
        : at((const T*)in), alone(alone), one(splat<V>(alone ? *(const typename Computed<T>::type*)in : 0)) {}
    V operator()(int64_t i, int64_t n) const { return alone ? one : get_any<V>(at + i, n); }
};

// F{numbers}(a, b, c) of vectors. Operands that F does not take are not read; those whose bit in `ones` is set are a single element.
template <class F, class T> bool each_vector(const void* const* in, void* out_n, int64_t n, const Numbers& numbers, unsigned ones) {
    using C = typename Computed<T>::type;
    using V = vec<C>;
    constexpr int K = F::operands;
    const Along<T, V> a(in[0], ones & 1), b(in[K > 1 ? 1 : 0], ones & 2 && K > 1), c(in[K > 2 ? 2 : 0], ones & 4 && K > 2),
        d(in[K > 3 ? 3 : 0], ones & 8 && K > 3);
    T* out = (T*)out_n;
    const F f{numbers};
    along<C>(n, [=](int64_t i, int64_t m) {
        if constexpr (K == 1) put_any<V>(out + i, f(a(i, m)), m);
        else if constexpr (K == 2) put_any<V>(out + i, f(a(i, m), b(i, m)), m);
        else if constexpr (K == 3) put_any<V>(out + i, f(a(i, m), b(i, m), c(i, m)), m);
        else put_any<V>(out + i, f(a(i, m), b(i, m), c(i, m), d(i, m)), m);
    });
    return true;
}

// The same for scalars, with a result of another type; vectorised by the compiler.
template <class F, class T, class To> bool each_number(const void* const* in, void* out_n, int64_t n, const Numbers& numbers) {
    const T *a = (const T*)in[0], *b = F::operands > 1 ? (const T*)in[1] : a, *c = F::operands > 2 ? (const T*)in[2] : a,
            *d = F::operands > 3 ? (const T*)in[3] : a;
    To* out = (To*)out_n;
    const F f{numbers};
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) {
        if constexpr (F::operands == 1) out[i] = f(a[i]);
        else if constexpr (F::operands == 2) out[i] = f(a[i], b[i]);
        else if constexpr (F::operands == 3) out[i] = f(a[i], b[i], c[i]);
        else out[i] = f(a[i], b[i], c[i], d[i]);
    }
    return true;
}

// Functions computed in vectors of doubles. Floats are converted; F<true> needs only float accuracy.
template <class F, class T> bool each_wide(const void* const* in, void* out_n, int64_t n, const Numbers& numbers) {
    using V = vec<double>;
    constexpr int W = Lanes<V>::width;
    const F f{numbers};
    const T *a = (const T*)in[0], *b = F::operands > 1 ? (const T*)in[1] : a;
    T* out = (T*)out_n;
    T last[3][W];                        // the remaining elements, padded with ones
    for (int64_t i = 0; i < n; i += W) {
        const T *x = a + i, *y = b + i;
        T* to = out + i;
        const bool rest = n - i < W;
        if (rest) {
            for (int64_t j = 0; j < W; j++) last[0][j] = i + j < n ? x[j] : 1, last[1][j] = i + j < n ? y[j] : 1;
            x = last[0], y = last[1], to = last[2];
        }
        if constexpr (F::operands == 1) store_wide<V>(to, f(load_wide<V>(x)));
        else store_wide<V>(to, f(load_wide<V>(x), load_wide<V>(y)));
        if (rest)
            for (int64_t j = 0; i + j < n; j++) out[i + j] = last[2][j];
    }
    return true;
}

// f(x) lane by lane, for rare cases
template <class F> double lanes_of(double x, F f) { return f(x); }
template <class F> double lanes_of(double x, double y, F f) { return f(x, y); }
#if defined(CLAY_VECTOR_BYTES)
template <class F> f64v lanes_of(f64v x, F f) {
    f64v out = x;
    for (int i = 0; i < Lanes<f64v>::width; i++) out[i] = f((double)x[i]);
    return out;
}
template <class F> f64v lanes_of(f64v x, f64v y, F f) {
    f64v out = x;
    for (int i = 0; i < Lanes<f64v>::width; i++) out[i] = f((double)x[i], (double)y[i]);
    return out;
}
#endif

struct Taking1 { Numbers numbers; static constexpr int operands = 1; };
struct Taking2 { Numbers numbers; static constexpr int operands = 2; };
struct Taking3 { Numbers numbers; static constexpr int operands = 3; };
struct Taking4 { Numbers numbers; static constexpr int operands = 4; };

#define CLAY_EACH_1(Name, expression) struct Name : Taking1 { template <class V> V operator()(V x) const { return expression; } };
#define CLAY_EACH_2(Name, expression) struct Name : Taking2 { template <class V> V operator()(V x, V y) const { return expression; } };
#define CLAY_EACH_3(Name, expression) \
    struct Name : Taking3 { template <class V> V operator()(V x, V y, V z) const { return expression; } };
#define CLAY_VALUE(i) splat<V>(numbers.value[i])
#define CLAY_IS(value) splat<V>(value)

// Table entries: for vectors, for scalars, in double precision
#define CLAY_VECTORS(name, F, grain) \
    {name, F32, (void*)each_vector<F, float>, -1, grain, false, true}, {name, F64, (void*)each_vector<F, double>, -1, grain, false, true}
// And for half types, where the function costs less than casting blocks
#define CLAY_HALF_TYPES(name, F) \
    {name, F16, (void*)each_vector<F, Half>, -1, CHEAP, false, true}, {name, BF16, (void*)each_vector<F, Bf16>, -1, CHEAP, false, true}
#define CLAY_CHEAP(name, F) CLAY_VECTORS(name, F, CHEAP), CLAY_HALF_TYPES(name, F)
#define CLAY_NUMBERS(name, F, grain) \
    {name, F32, (void*)each_number<F, float, float>, -1, grain}, {name, F64, (void*)each_number<F, double, double>, -1, grain}
#define CLAY_WIDE(name, F, grain) \
    {name, F32, (void*)each_wide<F<true>, float>, -1, grain}, {name, F64, (void*)each_wide<F<false>, double>, -1, grain}

// Min elements per thread for functions of some nanoseconds, and of some tens of nanoseconds, per element
constexpr int64_t DEAR = 16384, DEAREST = 2048;

}  // namespace CLAY_ISA
}  // namespace clay
