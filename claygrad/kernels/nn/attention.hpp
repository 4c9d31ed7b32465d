// Arguments of the attention kernels (family "attention"), which never store the matrix of scores.
#pragma once
#include <stdint.h>

namespace clay {

// An array (batch, heads, rows, columns) with contiguous columns, and the strides of its other axes in elements.
struct Heads {
    void* data;
    int64_t batch, head, row;
};

constexpr int64_t FEW_QUERIES = 8;       // with fewer of them forward does not transpose the keys

enum MaskKind : int { NO_MASK, BOOL_MASK, ADDED_MASK };

struct Attention {
    int64_t batch, heads, queries, keys, size;
    double scale;
    bool causal;                         // a query attends to keys up to its own index
    int masked;                          // a bool mask (true: attend) or a float mask that is added
    Heads query, key, value, mask, out;
    int half;                            // F16 or BF16 if key and value are, else 0: forward of float32, with few queries only
    void* log_sum;                       // (batch, heads, queries): log of the sum of exp(scores)
    Heads grad, query_grad, key_grad, value_grad;     // backward only
};

// False: no memory.
using attention_fn = bool (*)(const Attention* job);

}  // namespace clay
