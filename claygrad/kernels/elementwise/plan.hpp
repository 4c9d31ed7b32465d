// Elementwise operations of up to four operands, of any shapes, strides and types: kernels see full blocks of one type.
#pragma once
#include <stdint.h>

namespace clay {

// The numbers beside the operands; bit i of `given` is set if number i is not None.
struct Numbers {
    double value[4];
    unsigned given;
};

// out[i] = f(in[0][i], in[1][i], ...; numbers). False if it refuses a value, such as a divisor of 0.
using each_fn = bool (*)(const void* const* in, void* out, int64_t n, const Numbers& numbers);
// The same, with one element alone of the operands whose bits are set in `ones`; those of halves are floats.
using lines_fn = bool (*)(const void* const* in, void* out, int64_t n, const Numbers& numbers, unsigned ones);

// What a plan runs: an each_fn, a lines_fn, or a kernel of the families "unary", "binary" (platform/api.hpp) and "cast".
enum EachKind : int { RUN_NONE, RUN_EACH, RUN_UNARY, RUN_BINARY, RUN_CAST, RUN_LINES };

struct EachOperand {
    const char* data;
    int64_t steps[64];                   // bytes, by axis of the plan; 0 where it is stretched
    int64_t size;                        // of an element there
    void (*cast)(const void*, void*, int64_t);      // to the type that is computed with; null if it is that
    void (*alone)(const void*, void*, int64_t);     // the same for one element that stands for many
};

struct EachPlan {
    void* kernel;
    int kind, operands, ndim;
    Numbers numbers;
    int64_t shape[64];                   // the last axis is the nearest in the memory of the result
    EachOperand in[4];
    char* out;
    bool apart;                          // the result is no run of memory: its steps, in bytes
    int64_t out_steps[64];
    int64_t size, made_size, out_size;   // of an element: as computed with, as computed, as kept
    void (*cast)(const void*, void*, int64_t);      // from what is computed to what is kept; null if it is that
    int64_t grain;                       // the least share of a thread
};

bool run_each(EachPlan& plan);           // false if the kernel refused; changes the plan: axes that form one run are joined

// x = mantissa * 2 ** exponent, the mantissa from 1/2 to 1; false if the type is none of single and double precision
bool split_floats(int dtype, const void* x, void* mantissa, int32_t* exponent, int64_t n);

}  // namespace clay
