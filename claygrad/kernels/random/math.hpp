// The arithmetic under the random fills: half precision, conversions, and the functions of the normal transform.
// Private to random/fill.cpp and random/sample.cpp. See Note [Streams] in random/random.hpp.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "platform/dtypes.hpp"

namespace clay {
namespace {

// ---------------------------------------------------------------- half precision, round to nearest even

struct Half { uint16_t bits; };
struct BFloat { uint16_t bits; };

uint32_t bits_of(float x) {
    uint32_t b;
    std::memcpy(&b, &x, 4);
    return b;
}

float float_of(uint32_t b) {
    float x;
    std::memcpy(&x, &b, 4);
    return x;
}

Half to_half(float x) {
    uint32_t b = bits_of(x), sign = (b >> 16) & 0x8000, a = b & 0x7fffffff;
    if (a > 0x7f800000) return {uint16_t(sign | 0x7e00)};
    if (a >= 0x477ff000) return {uint16_t(sign | 0x7c00)};                       // rounds to 65536 or beyond
    if (a < 0x38800000)                                                          // below 2**-14: a step is 2**-24
        return {uint16_t(sign | (bits_of(float_of(a) + 0.5f) - bits_of(0.5f)))};
    return {uint16_t(sign | ((a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13))};
}

float from_half(Half h) {
    uint32_t sign = uint32_t(h.bits & 0x8000) << 16, a = h.bits & 0x7fff;
    if (a >= 0x7c00) return float_of(sign | 0x7f800000 | (a & 0x3ff) << 13);
    if (a >= 0x400) return float_of(sign | ((a << 13) + 0x38000000));
    return float_of(sign | bits_of(float(a) * 0x1p-24f));
}

BFloat to_bfloat(float x) {
    uint32_t b = bits_of(x);
    if (std::isnan(x)) return {0x7fc0};
    return {uint16_t((b + 0x7fff + ((b >> 16) & 1)) >> 16)};
}

float from_bfloat(BFloat h) { return float_of(uint32_t(h.bits) << 16); }

// ---------------------------------------------------------------- types

template <class T> constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;
template <class T> constexpr bool is_float = std::is_floating_point_v<T> || is_half<T>;
template <class T> constexpr int digits = std::numeric_limits<T>::digits;
template <> constexpr int digits<Half> = 11;
template <> constexpr int digits<BFloat> = 8;

// The type that PyTorch computes in.
template <class T> using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
template <class T> Wide<T> wide(T v) {
    if constexpr (std::is_same_v<T, Half>) return from_half(v);
    else if constexpr (std::is_same_v<T, BFloat>) return from_bfloat(v);
    else return v;
}

// To half precision always through float.
template <class T, class V> T cast(V v) {
    if constexpr (std::is_same_v<T, Half>) return to_half(static_cast<float>(v));
    else if constexpr (std::is_same_v<T, BFloat>) return to_bfloat(static_cast<float>(v));
    else return static_cast<T>(v);
}

// The result of x86's conversion, also where C++ leaves it undefined: the lowest value for all numbers that do not fit; small
// integers are the low bits of an int32.
template <class T> T cast_whole(double v) {
    if constexpr (std::is_same_v<T, int64_t>)
        return v >= -0x1p63 && v < 0x1p63 ? static_cast<int64_t>(v) : std::numeric_limits<int64_t>::lowest();
    else if constexpr (std::is_integral_v<T>)
        return static_cast<T>(v > -0x1p31 - 1 && v < 0x1p31 ? static_cast<int32_t>(v)
                                                            : std::numeric_limits<int32_t>::lowest());
    else
        return cast<T>(v);
}

// Call f with a value of the C++ type of a dtype code.
template <class F> void with_float(int dtype, F f) {
    switch (dtype) {
        case F16: return f(Half{});
        case F32: return f(float{});
        case F64: return f(double{});
        case BF16: return f(BFloat{});
    }
}
template <class F> void with_real(int dtype, F f) {
    switch (dtype) {
        case U8: return f(uint8_t{});
        case I8: return f(int8_t{});
        case I16: return f(int16_t{});
        case I32: return f(int32_t{});
        case I64: return f(int64_t{});
        case BOOL: return f(bool{});
        default: return with_float(dtype, f);
    }
}

// ---------------------------------------------------------------- functions

// Logarithm, sine and cosine of Cephes in single precision, as PyTorch's vector form evaluates them.
inline __attribute__((always_inline)) float log_f32(float x) {       // 0 < x <= 1, normal
    uint32_t b = bits_of(x);
    float e = float(int32_t(b >> 23) - 126);
    uint32_t half = (b & 0x807fffffu) | 0x3f000000u;
    uint32_t low = half < bits_of(0.707106781186547524f) ? ~0u : 0u;   // whole numbers: a comparison of floats would be a branch
    float m = float_of(half);                                       // [0.5, 1)
    e = e - float_of(low & bits_of(1.0f));
    m = (m - 1) + float_of(low & half);
    float y = 7.0376836292e-2f;
    y = __builtin_fmaf(y, m, -1.1514610310e-1f);
    y = __builtin_fmaf(y, m, 1.1676998740e-1f);
    y = __builtin_fmaf(y, m, -1.2420140846e-1f);
    y = __builtin_fmaf(y, m, 1.4249322787e-1f);
    y = __builtin_fmaf(y, m, -1.6668057665e-1f);
    y = __builtin_fmaf(y, m, 2.0000714765e-1f);
    y = __builtin_fmaf(y, m, -2.4999993993e-1f);
    y = __builtin_fmaf(y, m, 3.3333331174e-1f);
    float z = m * m;
    y = __builtin_fmaf(y * m, z, e * -2.12194440e-4f);
    y = __builtin_fmaf(z, -0.5f, y);
    return __builtin_fmaf(e, 0.693359375f, m + y);
}

inline __attribute__((always_inline)) void sin_cos_f32(float x, float* sine, float* cosine) {      // x >= 0
    int32_t octant = (int32_t(x * 1.27323954473516f) + 1) & ~1;
    float k = float(octant);
    x = __builtin_fmaf(k, -0.78515625f, x);
    x = __builtin_fmaf(k, -2.4187564849853515625e-4f, x);
    x = __builtin_fmaf(k, -3.77489497744594108e-8f, x);
    float z = x * x;
    float c = __builtin_fmaf(2.443315711809948e-5f, z, -1.388731625493765e-3f);
    c = __builtin_fmaf(c, z, 4.166664568298827e-2f);
    c = __builtin_fmaf(c * z, z, z * -0.5f) + 1;
    float s = __builtin_fmaf(-1.9515295891e-4f, z, 8.3321608736e-3f);
    s = __builtin_fmaf(s, z, -1.6666654611e-1f);
    s = __builtin_fmaf(s * z, x, x);
    uint32_t swap = (octant & 2) ? ~0u : 0u, sb = bits_of(s), cb = bits_of(c);
    uint32_t sin_sign = uint32_t(octant & 4) << 29, cos_sign = uint32_t(~(octant - 2) & 4) << 29;
    *sine = float_of(((sb & ~swap) | (cb & swap)) ^ sin_sign);
    *cosine = float_of(((cb & ~swap) | (sb & swap)) ^ cos_sign);
}

}  // namespace
}  // namespace clay
