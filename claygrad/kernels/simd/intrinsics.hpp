// The intrinsics of the instruction set this file is compiled for. GCC's <immintrin.h> declares those of all sets, which
// takes longer than to compile many a kernel; its parts may be had one by one, where meson.build found that this works.
#pragma once
#if defined(CLAY_INTRINSICS_IN_PARTS)
#define _IMMINTRIN_H_INCLUDED
#include <xmmintrin.h>
#include <emmintrin.h>
#include <pmmintrin.h>
#include <tmmintrin.h>
#include <smmintrin.h>
#include <avxintrin.h>
#include <avx2intrin.h>
#include <fmaintrin.h>
#include <f16cintrin.h>
#if defined(__AVX512F__)
#include <avx512fintrin.h>
#include <avx512vlintrin.h>
#include <avx512bwintrin.h>
#include <avx512dqintrin.h>
#include <avx512vlbwintrin.h>
#include <avx512vldqintrin.h>
#endif
#if defined(__AVX512BF16__)
#include <avx512bf16vlintrin.h>
#include <avx512bf16intrin.h>
#endif
#elif defined(__x86_64__)
#include <immintrin.h>
#endif
