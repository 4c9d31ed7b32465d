// CLAY_SHUFFLE(Mask, x, y, 0, 4, ...): the lanes of two vectors, counted through, in this order. Mask is an integer vector with as many.
#pragma once
#if defined(__clang__)
#define CLAY_SHUFFLE(Mask, x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define CLAY_SHUFFLE(Mask, x, y, ...) __builtin_shuffle(x, y, Mask{__VA_ARGS__})
#endif
