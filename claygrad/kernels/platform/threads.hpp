// The only door to threads. A body gets [begin, end) of 0..n; the split never depends on which thread runs it.
#pragma once
#include <stdint.h>

namespace clay {

using range_body = void (*)(void* job, int64_t begin, int64_t end);

// Runs on the caller alone when n < 2 * grain, when another call is using the threads, or inside a body; see Note [Awake] too.
void parallel_for(int64_t n, int64_t grain, range_body body, void* job);

// Note [Awake]
// A thread that is awake, waiting for work, takes it over within half a microsecond; to wake one takes the caller more than ten. So
// the least share of a thread is meant for one that is awake; sleeping ones are left alone below ASLEEP times as much, and as much
// of cheap arithmetic as takes 15 µs, unless the last such request was a moment ago: the next may come as soon. That is for loops
// over elements. A grain below ELEMENTS counts rows or tasks, each of which may be anything; they are worth waking for.
bool awake();                            // or worth waking; the request is noted
constexpr int64_t ASLEEP = 2, ELEMENTS = 4096;

int chosen_threads();                    // max_threads() if a user set it, else 0: leave other libraries alone

// The least share of a thread that is awake, in elements: cheap arithmetic, and costly maths. Two of these shares, the least that
// is split, take one core one to three microseconds.
constexpr int64_t CHEAP = 8192, COSTLY = 8192;
// The same of rows and parts, which are worth waking a thread for: about 15 µs.
constexpr int64_t CHEAP_ROWS = 65536, COSTLY_ROWS = 32768;

}  // namespace clay
