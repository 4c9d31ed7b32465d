// Elementwise operations of up to four operands of any shapes, strides and types: kernels see contiguous blocks of one type.
#pragma once
#include <stdint.h>

namespace clay {

// The scalar parameters; bit i of `given` is set if number i is not None.
struct Numbers {
    double value[4];
    unsigned given;
};

// out[i] = f(in[0][i], in[1][i], ...; numbers). False if it refuses a value, such as a divisor of 0.
using each_fn = bool (*)(const void* const* in, void* out, int64_t n, const Numbers& numbers);
// The same; operands whose bits are set in `ones` are a single element (a float for half types). Those that are one for all of the result
// have their bits NUMBER_SHIFT further up too.
constexpr int NUMBER_SHIFT = 4;
using lines_fn = bool (*)(const void* const* in, void* out, int64_t n, const Numbers& numbers, unsigned ones);

// What a plan runs: an each_fn, a lines_fn, or a kernel of the families "unary", "binary" (platform/api.hpp) and "cast".
enum EachKind : int { RUN_NONE, RUN_EACH, RUN_UNARY, RUN_BINARY, RUN_CAST, RUN_LINES };

struct EachOperand {
    const char* data;
    int64_t steps[64];                   // strides in bytes; 0 where it is broadcast
    int64_t size;                        // bytes of an element
    void (*cast)(const void*, void*, int64_t);      // to the compute type; null if it has that type
    void (*alone)(const void*, void*, int64_t);     // the same for a single, broadcast element
};

struct EachPlan {
    void* kernel;
    int kind, operands, ndim;
    Numbers numbers;
    int64_t shape[64];                   // the last axis has the smallest stride in the result
    EachOperand in[4];
    char* out;
    bool apart;                          // the result is not contiguous; its strides in bytes
    int64_t out_steps[64];
    int64_t size, computed_size, out_size;   // bytes of an element: compute type, computed result, stored result
    void (*cast)(const void*, void*, int64_t);      // from the computed type to the stored type; null if they are the same
    int64_t grain;                       // min elements per thread
};

bool run_each(EachPlan& plan);           // false if the kernel refused a value; merges contiguous axes of the plan

// frexp: x = mantissa * 2 ** exponent, with the mantissa from 1/2 to 1; false if the type is neither float nor double
bool split_floats(int dtype, const void* x, void* mantissa, int32_t* exponent, int64_t n);

}  // namespace clay
