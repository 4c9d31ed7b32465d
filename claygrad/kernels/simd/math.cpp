// The table of vector functions: libmvec's where it has them, else lane by lane.
#include "simd/math.hpp"

namespace clay {
namespace CLAY_ISA {

#if defined(CLAY_VECTOR_BYTES)
template <class V, class T, T (*f)(T)> V each(V x) {
    V out;
    for (int i = 0; i < Lanes<V>::width; i++) out[i] = f(x[i]);
    return out;
}
template <class V, class T, T (*f)(T, T)> V each(V x, V y) {
    V out;
    for (int i = 0; i < Lanes<V>::width; i++) out[i] = f(x[i], y[i]);
    return out;
}

VectorMath vector_math = {
#define CLAY_EACH(name) each<f32v, float, name>, each<f64v, double, name>,
    CLAY_MATH_1(CLAY_EACH)
    CLAY_MATH_2(CLAY_EACH)
#undef CLAY_EACH
};

template <class F> void bind_one(F& slot, void* found) {
    if (found) slot = (F)found;
}

void bind_math(void* (*lookup)(const char*)) {
#if defined(__AVX512F__)
#define CLAY_F32 "_ZGVeN16v"
#define CLAY_F64 "_ZGVeN8v"
#elif defined(__AVX2__)
#define CLAY_F32 "_ZGVdN8v"
#define CLAY_F64 "_ZGVdN4v"
#else                                    // glibc has them for ARM since 2.38
#define CLAY_F32 "_ZGVnN4v"
#define CLAY_F64 "_ZGVnN2v"
#endif
#define CLAY_BIND_1(name)                                              \
    bind_one(vector_math.name##_f32, lookup(CLAY_F32 "_" #name "f"));  \
    bind_one(vector_math.name##_f64, lookup(CLAY_F64 "_" #name));
#define CLAY_BIND_2(name)                                               \
    bind_one(vector_math.name##_f32, lookup(CLAY_F32 "v_" #name "f"));  \
    bind_one(vector_math.name##_f64, lookup(CLAY_F64 "v_" #name));
    CLAY_MATH_1(CLAY_BIND_1)
    CLAY_MATH_2(CLAY_BIND_2)
}
#else
void bind_math(void* (*)(const char*)) {}
#endif

}  // namespace CLAY_ISA
}  // namespace clay
