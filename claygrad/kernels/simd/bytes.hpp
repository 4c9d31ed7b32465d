// Bytes copied, filled and reversed by vectors; on x86-64 by those of AVX2, where the processor has them. Not of an instruction set's
// namespace: the processor is asked once, at the start.
#pragma once
#include <stdint.h>
#include <string.h>

#include "simd/intrinsics.hpp"
#include "simd/shuffle.hpp"

namespace clay {
namespace {

#if defined(__x86_64__)
constexpr int64_t VECTOR = 32;
const bool has_vectors = __builtin_cpu_supports("avx2");
#define CLAY_WITH_VECTORS __attribute__((target("avx2")))
#else
constexpr int64_t VECTOR = 16;
constexpr bool has_vectors = true;
#define CLAY_WITH_VECTORS
#endif
typedef char Vector __attribute__((vector_size(VECTOR), aligned(1), may_alias));
template <class T> using Numbers __attribute__((vector_size(VECTOR))) = T;
template <class T> using Loose __attribute__((aligned(1), may_alias)) = T;

// n >= VECTOR bytes
CLAY_WITH_VECTORS inline void copy_vectors(char* to, const char* from, int64_t n) {
    constexpr int64_t LONG = 16384;
    const Vector first = *(const Vector*)from, last = *(const Vector*)(from + n - VECTOR);
    const int64_t ahead = n >= LONG ? 1024 : 0;                      // prefetch distance for the lines to be written
    int64_t i = VECTOR - (int64_t)((uintptr_t)to % VECTOR);          // the first aligned byte of the destination
    for (; i + 4 * VECTOR <= n; i += 4 * VECTOR) {
        if (ahead) {
            __builtin_prefetch(to + i + ahead, 1);
            __builtin_prefetch(to + i + ahead + 64, 1);
        }
        const Vector *x = (const Vector*)(from + i), a = x[0], b = x[1], c = x[2], d = x[3];
        Vector* out = (Vector*)(to + i);
        out[0] = a, out[1] = b, out[2] = c, out[3] = d;
    }
    for (; i + VECTOR <= n; i += VECTOR) *(Vector*)(to + i) = *(const Vector*)(from + i);
    *(Vector*)to = first, *(Vector*)(to + n - VECTOR) = last;
}

// n >= VECTOR bytes of a pattern that repeats after 1, 2, 4, 8 or 16 bytes
CLAY_WITH_VECTORS inline void fill_vectors(char* to, const void* element, int64_t n, int64_t size) {
    Vector x;
    if (size == 1) x = Vector{} + *(const char*)element;
    else if (size == 2) x = (Vector)(Numbers<int16_t>{} + *(const Loose<int16_t>*)element);
    else if (size == 4) x = (Vector)(Numbers<int32_t>{} + *(const Loose<int32_t>*)element);
    else if (size == 8) x = (Vector)(Numbers<int64_t>{} + *(const Loose<int64_t>*)element);
    else for (int64_t k = 0; k < VECTOR; k += 16) memcpy((char*)&x + k, element, 16);
    int64_t i = 0;
    for (; i + 4 * VECTOR <= n; i += 4 * VECTOR)
        for (int k = 0; k < 4; k++) *(Vector*)(to + i + VECTOR * k) = x;
    for (; i + VECTOR <= n; i += VECTOR) *(Vector*)(to + i) = x;
    *(Vector*)(to + n - VECTOR) = x;
}

// dst[i] = src[-i] for as many as fill whole vectors; returns how many these were.
CLAY_WITH_VECTORS inline int64_t reverse_vectors(const char* src, char* dst, int64_t n) {
    int64_t i = 0;
#if defined(__x86_64__)
    const __m256i turn = _mm256_broadcastsi128_si256(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    for (; i + 32 <= n; i += 32) {
        const __m256i lanes = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i*)(src - i - 31)), turn);
        _mm256_storeu_si256((__m256i*)(dst + i), _mm256_permute4x64_epi64(lanes, 0x4e));
    }
#else
    for (; i + VECTOR <= n; i += VECTOR) {
        const Numbers<char> x = *(const Vector*)(src - i - 15);
        *(Vector*)(dst + i) = CLAY_SHUFFLE(Numbers<char>, x, x, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    }
#endif
    return i;
}

#undef CLAY_WITH_VECTORS

}  // namespace
}  // namespace clay
