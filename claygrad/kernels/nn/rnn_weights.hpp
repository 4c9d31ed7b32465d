// What the steps of a recurrent layer are multiplied by, the same at each of them.
//
// Note [Weights of all steps]
// A step is over before its weights have come from memory in the order in which they were given, so they are laid out in the
// memory of each thread as the product reads them: in panels, transposed. If one thread did that for all, the others would fetch
// them from that one's cache, and it would have to take them back the next time.
// Where a gate is the sum of an input's part and a state's, both are one product: state and input stand in one row. What it makes
// is used at once and stays near; only what becomes of it is written far.
// Which of these forms a layer takes goes by its shape alone, so that no result depends on the threads.
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
    int64_t panel;                       // columns of one; 0: as it was given, (wide, depth)

    void times(int64_t n, const T* rows, int64_t row, T* out, int64_t out_row, const T* start, int64_t start_row) const {
        if (!panel)
            return gemm_from(code<T>, false, true, n, wide, depth, rows, row, data, depth, out, out_row, start, start_row);
        const auto product = (gemm_fn)gemm_kernels[sizeof(T) == 8].function;
        for (int64_t j = 0; j < wide; j += panel)
            product(n, wide - j < panel ? wide - j : panel, depth, rows, row, 1, data + j * depth, panel, false, out + j, out_row,
                    start ? start + j : nullptr, start_row);
    }
};

// Few rows are multiplied by long ones: see Note [Products of few rows].
template <class T> int64_t panel_for(int64_t rows, int64_t wide) { return rows < 4 ? wide : 2 * Lanes<vec<T>>::width; }

inline int64_t panel_numbers(int64_t wide, int64_t depth, int64_t panel) { return round_up(wide, panel) * depth; }

// A matrix as it was given, (wide, columns), becomes the rows `at` and following of panels that are `depth` deep.
template <class T>
void into_panels(const void* weight, int64_t wide, int64_t columns, T* panels, int64_t panel, int64_t at, int64_t depth) {
    for (int64_t j = 0; j < wide; j += panel)
        transpose((const T*)weight + j * columns, columns, panels + j * depth + at * panel, panel, wide - j < panel ? wide - j : panel,
                  columns);
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
