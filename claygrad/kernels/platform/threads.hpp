// The thread pool's only interface. A body gets [begin, end) of 0..n; the split does not depend on which thread runs it.
#pragma once
#include <stdint.h>

namespace clay {

using range_body = void (*)(void* job, int64_t begin, int64_t end);

// Runs on the caller alone if n < 2 * grain, if another call is using the threads, or inside a body; see also Note [Awake].
void parallel_for(int64_t n, int64_t grain, range_body body, void* job);

// Note [Awake]
// A spinning thread takes work within half a microsecond; waking a sleeping one costs the caller more than ten. So `grain`, the min
// share of a thread, is chosen for awake threads. Sleeping threads are woken for at least ASLEEP times as much (some 15 µs of cheap
// arithmetic), or if such a request was made a moment ago, since the next may come as soon. This holds for loops over elements. A
// grain below ELEMENTS counts rows or tasks of unknown cost: these always wake threads.
bool awake();                            // whether threads are awake or worth waking; remembers the request
constexpr int64_t ASLEEP = 2, ELEMENTS = 4096;

int requested_threads();                 // max_threads() if a user set it, else 0: leave other libraries alone

// Min elements per awake thread: for cheap arithmetic, and for costly functions. Two such shares, the least that is divided, take one
// core one to three microseconds.
constexpr int64_t CHEAP = 8192, COSTLY = 8192;
// The same for rows and parts, which are worth waking a thread: about 15 µs.
constexpr int64_t CHEAP_ROWS = 65536, COSTLY_ROWS = 32768;

}  // namespace clay
