// The weights of a recurrent layer, which all of its steps share.
//
// Note [Weights of all steps]
// A step is a small matrix product, which takes less time than loading its weights in their original layout. So each thread copies
// the weights once, in the layout that the product reads (transposed panels), and uses the copy in all steps. A copy shared by all
// threads would have to move between the caches of the cores.
// Where a gate is the sum of a part from the input and a part from the state, one product computes both: state and input are copied
// into one row. Its result is used at once, while it is in the cache.
// The shape of the layer alone decides which of these forms is used, so that no result depends on the number of threads.
#pragma once
#include "platform/table.hpp"
#include "matmul/gemm.hpp"
#include "platform/api.hpp"
#include "nn/rnn.hpp"
#include "simd/transpose.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> constexpr int code = sizeof(T) == 4 ? F32 : F64;

// out = rows @ weight (+ start), the weight (depth, wide)
template <class T> struct Weight {
    const T* data;
    int64_t wide, depth;
    int64_t panel;                       // columns of a panel; 0: no panels, the original layout (wide, depth)

    void times(int64_t n, const T* rows, int64_t row, T* out, int64_t out_row, const T* start, int64_t start_row) const {
        if (!panel)
            return gemm_from(code<T>, false, true, n, wide, depth, rows, row, data, depth, out, out_row, start, start_row);
        const auto product = (gemm_fn)gemm_kernels[sizeof(T) == 8].function;
        for (int64_t j = 0; j < wide; j += panel)
            product(n, wide - j < panel ? wide - j : panel, depth, rows, row, 1, data + j * depth, panel, false, out + j, out_row,
                    start ? start + j : nullptr, start_row);
    }
};

// The columns of a panel. For few rows a panel has all columns: see Note [Products of few rows].
template <class T> int64_t panel_for(int64_t rows, int64_t wide) { return rows < 4 ? wide : 2 * Lanes<vec<T>>::width; }

inline int64_t panel_numbers(int64_t wide, int64_t depth, int64_t panel) { return round_up(wide, panel) * depth; }

// Copies a weight (wide, columns) into panels of `depth` rows, from row `at` on.
template <class T>
void into_panels(const void* weight, int64_t wide, int64_t columns, T* panels, int64_t panel, int64_t at, int64_t depth) {
    for (int64_t j = 0; j < wide; j += panel)
        transpose((const T*)weight + j * columns, columns, panels + j * depth + at * panel, panel, wide - j < panel ? wide - j : panel,
                  columns);
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
