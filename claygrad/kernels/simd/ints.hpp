// Arithmetic on sizes and indices.
#pragma once
#include <stdint.h>

namespace clay {

constexpr int64_t min(int64_t x, int64_t y) { return x < y ? x : y; }
constexpr int64_t max(int64_t x, int64_t y) { return x > y ? x : y; }
// How many blocks of `block` elements cover n
constexpr int64_t ceil_div(int64_t n, int64_t block) { return (n + block - 1) / block; }
constexpr int64_t round_up(int64_t n, int64_t block) { return ceil_div(n, block) * block; }

}  // namespace clay
