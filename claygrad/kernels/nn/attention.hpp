// Attention without the matrix of scores: what the compiled core hands to the kernels of family "attention".
#pragma once
#include <stdint.h>

namespace clay {

// An array (batch, heads, rows, columns) whose columns lie together; the strides of its other axes, in elements.
struct Heads {
    void* data;
    int64_t batch, head, row;
};

enum MaskKind : int { NO_MASK, BOOL_MASK, ADDED_MASK };

struct Attention {
    int64_t batch, heads, queries, keys, size;
    double scale;
    bool causal;                         // a query sees the keys up to its own place
    int masked;                          // bool: true where it may look; added: of the element type
    Heads query, key, value, mask, out;
    void* log_sum;                       // (batch, heads, queries): log of the sum of exp(scores)
    Heads grad, query_grad, key_grad, value_grad;     // backward alone
};

// False: no memory.
using attention_fn = bool (*)(const Attention* job);

}  // namespace clay
