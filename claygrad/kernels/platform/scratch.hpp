// Scratch memory of a kernel, and loops over tasks.
#pragma once
#include <stdlib.h>

#include "platform/threads.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// A block that is kept for the next call, unless it is large.
struct Room {
    void* block = nullptr;
    size_t size = 0;
    ~Room() { free(block); }
    void* get(size_t bytes) {
        if (bytes > size) {
            release();
            if (posix_memalign(&block, 64, (bytes + 63) / 64 * 64)) return block = nullptr;
            size = bytes;
        }
        return block;
    }
    void release() {
        free(block);
        block = nullptr;
        size = 0;
    }
    void give_back() {
        if (size >= (size_t)1 << 26) release();
    }
};

// f(i) for 0 <= i < n; `work`: the cost of one call, about in multiply-adds
template <class F> void each_task(int64_t n, int64_t work, F f) {
    parallel_for(n, 1 + 262144 / (work + 1), [](void* job, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) (*(F*)job)(i);
    }, &f);
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
