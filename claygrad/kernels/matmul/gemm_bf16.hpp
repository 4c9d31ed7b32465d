// What products of bfloat16 are made of: pairs of numbers along the sum, as 32 bits each.
#pragma once
#include <string.h>

#include "matmul/gemm_common.hpp"
#include "simd/bf16_pairs.hpp"
#include "simd/transpose.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr int ROWS = 8;                  // of a at once
constexpr int64_t WIDE = 32;             // columns of a panel: two vectors of sums
constexpr int64_t DEPTH = 512;           // pairs of a panel

// Two rows of `width` numbers, as pairs; `second` is null where the sum ends with the first.
inline void pair_up(const Bf16* one, const Bf16* second, int64_t width, Numbers& low, Numbers& high) {
    if (width >= 32) paired(load_bf16(one), second ? load_bf16(second) : Numbers{}, low, high);
    else paired(load_bf16(one, width), second ? load_bf16(second, width) : Numbers{}, low, high);
}

// Panels of b as it lies, `panel` pairs apart: rows of pairs, WIDE apart
inline void pack_rows(const Bf16* b, int64_t ldb, int64_t width, int64_t depth, Pair* to, int64_t panel) {
    constexpr int64_t AHEAD = 8;         // rows that are fetched before they are needed
    for (int64_t p = 0; p < depth; p += 2, to += WIDE) {
        const Bf16* row = b + p * ldb;
        for (int64_t j = 0; j < width; j += WIDE) {
            __builtin_prefetch(row + AHEAD * ldb + j);
            __builtin_prefetch(row + (AHEAD + 1) * ldb + j);
            Numbers low, high;
            pair_up(row + j, p + 1 < depth ? row + ldb + j : nullptr, width - j, low, high);
            Pair* at = to + j / WIDE * panel;
            store_pairs(at, low);
            store_pairs(at + 16, high);
        }
    }
}

// A panel of a transposed b: its numbers lie in pairs already. Rows that do not all begin at a whole pair are moved first.
inline void pack_columns(const Bf16* b, int64_t ldb, int64_t width, int64_t depth, Pair* to) {
    alignas(64) Bf16 moved[16 * 2 * DEPTH];
    const int64_t pairs = depth / 2;
    for (int64_t j = 0; j < width; j += 16) {
        const int64_t rows = width - j < 16 ? width - j : 16;
        const Bf16* from = b + j * ldb;
        int64_t step = ldb;
        if (ldb % 2 || (uintptr_t)from % sizeof(Pair)) {
            for (int64_t r = 0; r < rows; r++) memcpy(moved + r * 2 * DEPTH, from + r * ldb, pairs * sizeof(Pair));
            from = moved, step = 2 * DEPTH;
        }
        if (pairs) transpose_inline((const float*)from, step / 2, (float*)to + j, WIDE, rows, pairs);
    }
    if (depth % 2)
        for (int64_t j = 0; j < width; j++) to[pairs * WIDE + j] = b[j * ldb + depth - 1].bits;
}

// A transposed a: ROWS of its rows at a time, pair after pair; groups of them are `group` pairs apart.
inline void pack_groups(const Bf16* a, int64_t a_p, int64_t rows, int64_t depth, Pair* to, int64_t group) {
    for (int64_t i = 0; i < rows; i += 32, to += 4 * group)
        for (int64_t p = 0; p < depth; p += 2) {
            const Bf16* row = a + p * a_p + i;
            Pair* at = to + p / 2 * ROWS;
            Numbers low, high;
            pair_up(row, p + 1 < depth ? row + a_p : nullptr, rows - i, low, high);
            store_apart(at, at + group, low);
            store_apart(at + 2 * group, at + 3 * group, high);
        }
}

// Rows along each other
template <class Out> struct InPairs {
    static constexpr int64_t LENGTH = INT64_MAX;         // their sums are rounded once
    template <int R, int J> static void dots(const Dots<Bf16, Out>& s);
};
template <class Out> template <int R, int J> void InPairs<Out>::dots(const Dots<Bf16, Out>& s) {
    f32v acc[R][J];
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 16
        for (int j = 0; j < J; j++) acc[r][j] = splat<f32v>(0);
    int64_t p = 0;
    const auto step = [&](auto read) __attribute__((always_inline)) {
        Numbers y[J];
#pragma GCC unroll 16
        for (int j = 0; j < J; j++) {
            if (J > 1) __builtin_prefetch(s.y + (j + J) * s.ldy + p);
            y[j] = read(s.y + j * s.ldy + p);
        }
#pragma GCC unroll 16
        for (int r = 0; r < R; r++) {
            const Numbers x = read(s.x + r * s.ldx + p);
#pragma GCC unroll 16
            for (int j = 0; j < J; j++) acc[r][j] = pairs_added(x, y[j], acc[r][j]);
        }
    };
    for (; p + 32 <= s.k; p += 32) step([](const Bf16* row) { return load_bf16(row); });
    if (p < s.k) step([&](const Bf16* row) { return load_bf16(row, s.k - p); });
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 16
        for (int j = 0; j < J; j++) {
            f32v sum = sum_in_all(acc[r][j]);
            if (s.start) sum = sum + floats(s.start + r * s.start_r + j * s.start_j, 1);
            put(s.out + r * s.step_r + j * s.step_j, sum, 1);
        }
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
