// Casts. Floats are truncated to integers; half types round to nearest even, from float.
#include <type_traits>

#include "platform/table.hpp"
#include "simd/half.hpp"
#include "elementwise/params.hpp"
#include "platform/threads.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

struct Bool { uint8_t bits; };
template <class T> struct Complex { T re, im; };

// Via int: values too large for a narrow integer wrap around.
template <class From, bool fraction> struct Whole { using type = From; };
template <class From> struct Whole<From, true> { using type = int32_t; };

template <class To> struct Into {
    template <class From> static To make(From x) {
        constexpr bool narrows = sizeof(To) < 4 && (From)0.5 != 0;
        return (To)(typename Whole<From, narrows>::type)x;
    }
    static To make(Bool x) { return (To)(x.bits != 0); }
    static To make(Bf16 x) { return (To)(float)x; }
    static To make(Half x) { return (To)(float)x; }
};

template <> struct Into<Bool> {
    template <class From> static Bool make(From x) { return {(uint8_t)(x != 0)}; }
};

template <class T> struct Into<Complex<T>> {
    template <class From> static Complex<T> make(From x) { return {Into<T>::make(x), 0}; }
    template <class From> static Complex<T> make(Complex<From> x) { return {(T)x.re, (T)x.im}; }
};

template <> struct Into<Bf16> {
    template <class From> static Bf16 make(From x) { return make((float)x); }
    static Bf16 make(float x) { return bf16_of(x); }
};

template <> struct Into<Half> {
    template <class From> static Half make(From x) { return make((float)x); }
    static Half make(float x) { return half_of(x); }
};
struct Complex32 { Half re, im; };

template <class From, class To> struct CastJob {
    const From* x;
    To* out;
};

template <class From, class To> void cast_line(const From* x, To* out, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = Into<To>::make(x[i]);
}
template <> void cast_line<Half, float>(const Half* x, float* out, int64_t n) { floats_from(x, out, n); }

template <> void cast_line<float, Half>(const float* x, Half* out, int64_t n) { half_from(x, out, n); }
template <> void cast_line<float, Bf16>(const float* x, Bf16* out, int64_t n) { half_from(x, out, n); }

// Half types are cast in blocks, via float.
template <class A, class B> constexpr bool same = std::is_same<A, B>::value;
template <class T> constexpr bool is_half = same<T, Half> || same<T, Bf16>;
template <class From, class To>
constexpr bool by_float = (is_half<From> && !same<To, float>) || (is_half<To> && !same<From, float>) || same<To, Complex32>;

template <> void cast_line<float, Complex32>(const float* x, Complex32* out, int64_t n) {
    constexpr int64_t SOME = 512;        // what cast_range casts at a time
    Half parts[SOME];
    half_from(x, parts, n);
    for (int64_t i = 0; i < n; i++) out[i] = {parts[i], {0}};
}

// Not inlined: some sixty pairs of types share these.
template <class From, class To> __attribute__((noinline)) void cast_block(const From* x, To* out, int64_t n) { cast_line(x, out, n); }

template <class From, class To> __attribute__((noinline)) void cast_range(void* data, int64_t begin, int64_t end) {
    const auto& job = *(const CastJob<From, To>*)data;
    if constexpr (by_float<From, To>) {
        constexpr int64_t SOME = 512;
        alignas(64) float result[SOME];
        for (int64_t i = begin; i < end; i += SOME) {
            const int64_t n = end - i < SOME ? end - i : SOME;
            cast_block<From, float>(job.x + i, result, n);
            cast_block<float, To>(result, job.out + i, n);
        }
    } else {
        cast_line<From, To>(job.x + begin, job.out + begin, end - begin);
    }
}

template <class From, class To> void cast(const void* x, void* out, int64_t n) {
    CastJob<From, To> job{(const From*)x, (To*)out};
    if (n < 2 * CHEAP) cast_range<From, To>(&job, 0, n);
    else parallel_for(n, CHEAP, cast_range<From, To>, &job);
}

#define TO(name, To, code, From) {name, code, (void*)cast<From, To>}
#define TO_FLOATS(code, From) TO("float32", float, code, From), TO("float64", double, code, From)
#define TO_HALF_TYPES(code, From) TO("float16", Half, code, From), TO("bfloat16", Bf16, code, From)
#define TO_NARROW(code, From) TO("uint8", uint8_t, code, From), TO("int8", int8_t, code, From), TO("int16", int16_t, code, From)
#define TO_INTS(code, From) TO("int64", int64_t, code, From), TO("int32", int32_t, code, From), TO_NARROW(code, From)
#define TO_BOOL(code, From) TO("bool", Bool, code, From)
#define TO_COMPLEX(code, From) TO("complex64", Complex<float>, code, From), TO("complex128", Complex<double>, code, From)
#define TO_COMPLEX32(code, From) TO("complex32", Complex32, code, From)
#define FROM_INT(code, From) TO_FLOATS(code, From), TO_HALF_TYPES(code, From), TO_BOOL(code, From)

}  // namespace

const Kernel cast_kernels[] = {
    TO("float64", double, F32, float), TO("float32", float, F64, double), TO_HALF_TYPES(F32, float), TO_HALF_TYPES(F64, double),
    TO_BOOL(F32, float), TO_BOOL(F64, double), TO_INTS(F32, float), TO_INTS(F64, double),
    TO_FLOATS(F16, Half), TO_FLOATS(BF16, Bf16), TO("bfloat16", Bf16, F16, Half), TO("float16", Half, BF16, Bf16),
    TO_BOOL(F16, Half), TO_BOOL(BF16, Bf16), TO_INTS(F16, Half), TO_INTS(BF16, Bf16),
    FROM_INT(I64, int64_t), TO("int32", int32_t, I64, int64_t), TO_NARROW(I64, int64_t),
    FROM_INT(I32, int32_t), TO("int64", int64_t, I32, int32_t), TO_NARROW(I32, int32_t),
    FROM_INT(I16, int16_t), TO_INTS(I16, int16_t), FROM_INT(I8, int8_t), TO_INTS(I8, int8_t),
    FROM_INT(U8, uint8_t), TO_INTS(U8, uint8_t), TO_FLOATS(BOOL, Bool), TO_HALF_TYPES(BOOL, Bool), TO_INTS(BOOL, Bool),
    TO_COMPLEX(F32, float), TO_COMPLEX(F64, double), TO_COMPLEX(I64, int64_t), TO_COMPLEX(F16, Half), TO_COMPLEX(BF16, Bf16),
    TO_COMPLEX32(F32, float), TO_COMPLEX32(F64, double), TO_COMPLEX32(I64, int64_t), TO_COMPLEX32(F16, Half), TO_COMPLEX32(BF16, Bf16),
    TO("complex128", Complex<double>, C64, Complex<float>), TO("complex64", Complex<float>, C128, Complex<double>),
};
CLAY_COUNT(cast)

}  // namespace CLAY_ISA
}  // namespace clay
