// CUDA's words for the host: a kernel's own text, run on the CPU. The threads of a block are fibers that take turns, so that
// __syncthreads and shuffles mean what they mean on a GPU; blocks come one after the other, so memory that a block shares is static.
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#define __global__
#define __device__
#define __shared__ static

struct clay_dim { int x, y, z; };
static clay_dim threadIdx, blockIdx, blockDim, gridDim;

namespace host {

constexpr size_t STACK = 1 << 16;

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  bool done = false;
};

static ucontext_t scheduler;
static std::vector<Fiber> fibers;
static int now = 0;
static std::function<void()> body;
static double slots[1024];

inline void start() {
  body();
  fibers[now].done = true;
  swapcontext(&fibers[now].context, &scheduler);
}

// Wait until all threads of the block are here: each comes to the scheduler, and goes on in the next round.
inline void barrier() {
  const int me = now;
  swapcontext(&fibers[me].context, &scheduler);
}

inline void block(int threads) {
  while ((int)fibers.size() < threads) {
    fibers.emplace_back();
    fibers.back().stack.reset(new char[STACK]);
  }
  for (int i = 0; i < threads; i++) {
    Fiber& f = fibers[i];
    f.done = false;
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.get();
    f.context.uc_stack.ss_size = STACK;
    f.context.uc_link = nullptr;
    makecontext(&f.context, (void (*)())start, 0);
  }
  for (bool left = true; left;) {
    left = false;
    for (int i = 0; i < threads; i++)
      if (!fibers[i].done) {
        now = i;
        threadIdx = {i, 0, 0};
        swapcontext(&scheduler, &fibers[i].context);
        left = left || !fibers[i].done;
      }
  }
}

inline void launch(int bx, int by, int threads, std::function<void()> call) {
  body = call;
  blockDim = {threads, 1, 1};
  gridDim = {bx, by, 1};
  for (int y = 0; y < by; y++)
    for (int x = 0; x < bx; x++) {
      blockIdx = {x, y, 0};
      block(threads);
    }
}

template <typename T> T exchange(T value, int from) {
  const int me = now;
  memcpy(&slots[me], &value, sizeof(T));
  barrier();
  T out;
  memcpy(&out, &slots[from], sizeof(T));
  barrier();
  return out;
}

}  // namespace host

using std::exp;
using std::log;
using std::sqrt;

static inline void __syncthreads() { host::barrier(); }
template <typename T> T __shfl_xor_sync(unsigned, T v, int mask) { return host::exchange(v, threadIdx.x ^ mask); }
template <typename T> T __shfl_sync(unsigned, T v, int lane) { return host::exchange(v, (threadIdx.x & ~31) | lane); }
template <typename T> T atomicAdd(T* at, T v) {
  const T before = *at;
  *at += v;
  return before;
}
