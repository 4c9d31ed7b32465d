// Bags of rows: what the compiled core hands to embedding_bag and its gradient.
#pragma once
#include <stdint.h>

namespace clay {

struct Bags {
    int64_t entries, bags, rows, width, padding, mode;     // mode: sum, mean, maximum; entries that name `padding` (-1: none) do not count
    const int64_t* index;                // the row of each entry
    const void* weight;                  // of each entry, or null
    int64_t* bag;                        // of each entry
    int64_t* sizes;                      // of the bags, counted
    int64_t* best;                       // maxima: the row that gave each element
};

void fill_bags(int dtype, const Bags* bags, const void* table, void* out);          // table (rows, width), out (bags, width)
void empty_bags(int dtype, const Bags* bags, const void* g, void* out);             // the gradient: g (bags, width), out (rows, width)

}  // namespace clay
