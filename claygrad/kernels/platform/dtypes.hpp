// The element type codes of core/data/dtype.pxd, and the tables in which kernels are listed.
#pragma once
#include <stdint.h>

namespace clay {

enum Code : int { U8, I8, I16, I32, I64, F16, F32, F64, C64, C128, BOOL, BF16 };
constexpr int BF16_WIDE = 32;            // for products only: bfloat16 factors, float32 result

struct Kernel {
    const char* name;
    int dtype;
    void* function;
    int result = -1;                     // family "each": the result's type, if it differs;
    int64_t grain = 0;                   // min elements per thread;
    bool refuses = false;                // it may refuse an element, after part of the result is written;
    bool lines = false;                  // it is a lines_fn (elementwise/plan.hpp)
};

struct Family {
    const char* name;
    const Kernel* kernels;
    int64_t count;
};

// What one instruction set offers. bind_math hands it the C library's vector functions.
struct IsaSet {
    const char* name;
    const Family* families;
    int64_t count;
    void (*bind_math)(void* (*lookup)(const char*));
    const Kernel* gemm;                  // float32, float64: looked up on every product, so not by name
    int64_t gemm_limit;                   // m * n * k up to which it beats a call to BLAS
    bool (*inside)(const int64_t* index_m, int64_t m, int64_t n);      // whether all are from 0 to n - 1: asked on every call, too
    const Kernel* gemm_bf16;           // BF16, BF16_WIDE; null: computed in float32
};

const IsaSet& current_isa();

}  // namespace clay
