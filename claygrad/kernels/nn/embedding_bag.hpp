// Arguments of the embedding_bag kernels (family "bags").
#pragma once
#include <stdint.h>

namespace clay {

struct Bags {
    int64_t entries, bags, rows, width, padding, mode;     // mode: sum, mean, maximum; entries that name `padding` (-1: none) do not count
    const int64_t* index;                // the row of each entry
    const int64_t* starts;               // the first entry of each bag
    const void* weight;                  // of each entry, or null
    int64_t* bag;                        // of each entry
    int64_t* sizes;                      // of the bags, counted
    int64_t* best;                       // max mode: the row that gave each element
};

// fill: from the table (rows, width) to the result (bags, width); empty: the gradient, from (bags, width) to (rows, width)
using bags_fn = void (*)(const Bags* bags, const void* from, void* out);

}  // namespace clay
