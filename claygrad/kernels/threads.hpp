// The only door to threads. A body gets [begin, end) of 0..n; the split never depends on which thread runs it.
#pragma once
#include <stdint.h>

namespace clay {

using range_body = void (*)(void* job, int64_t begin, int64_t end);

// Runs on the caller alone when n < 2 * grain, when another call is using the threads, or inside a body.
void parallel_for(int64_t n, int64_t grain, range_body body, void* job);

int chosen_threads();                    // max_threads() if a user set it, else 0: leave other libraries alone

// The least share of a thread, in elements: cheap arithmetic, and costly maths. Waking a thread takes some 10 µs; two of
// these shares, the least that is split, take one core about 30 µs.
constexpr int64_t CHEAP = 131072, COSTLY = 65536;

}  // namespace clay
