// Loops that only move memory: the least time in which some threads can read and write so many arrays of a size. measure.py
// builds this with the machine's own instructions. Nothing of claygrad is in it.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace {

constexpr int64_t BLOCK = 8192;
constexpr int BATCHES = 5;

struct Pass {
    int64_t n;
    std::vector<float*> in, out;
};

enum Manner { PLAIN, FETCHED, STREAMED, MANNERS };       // fetched: what will be written early; streamed: past the caches

template <Manner manner, int READS> void written(const Pass& pass, float* to, int64_t begin, int64_t end) {
    const float *a = READS > 0 ? pass.in[0] : nullptr, *b = READS > 1 ? pass.in[1] : nullptr;
    const float *c = READS > 2 ? pass.in[2] : nullptr, *d = READS > 3 ? pass.in[3] : nullptr;
    int64_t i = begin;
#if defined(__AVX512F__)
    for (; i + 16 <= end; i += 16) {
        __m512 v = READS > 0 ? _mm512_load_ps(a + i) : _mm512_setzero_ps();
        if (READS > 1) v = _mm512_mul_ps(v, _mm512_load_ps(b + i));
        if (READS > 2) v = _mm512_mul_ps(v, _mm512_load_ps(c + i));
        if (READS > 3) v = _mm512_mul_ps(v, _mm512_load_ps(d + i));
        if (manner == FETCHED) __builtin_prefetch(to + i + 256, 1, 3);
        if (manner == STREAMED) _mm512_stream_ps(to + i, v);
        else _mm512_store_ps(to + i, v);
    }
    if (manner == STREAMED) _mm_sfence();
#endif
#pragma GCC ivdep
    for (; i < end; i++) {
        float v = READS > 0 ? a[i] : 0;
        if (READS > 1) v *= b[i];
        if (READS > 2) v *= c[i];
        if (READS > 3) v *= d[i];
        to[i] = v;
    }
}

float added(const float* x, int64_t begin, int64_t end) {
    float sums[128] = {}, sum = 0;
    int64_t i = begin;
    for (; i + 128 <= end; i += 128)
        for (int k = 0; k < 128; k++) sums[k] += x[i + k];
    for (; i < end; i++) sum += x[i];
    for (int k = 0; k < 128; k++) sum += sums[k];
    return sum;
}

template <Manner manner> void moved(const Pass& pass, int64_t begin, int64_t end) {
    if (pass.out.empty())
        for (const float* x : pass.in) {
            volatile float kept = added(x, begin, end);
            (void)kept;
        }
    bool first = true;
    for (float* to : pass.out) {                          // all that is read goes into the first; it is in a cache for the rest
        switch (first ? pass.in.size() : pass.in.empty() ? 0 : 1) {
        case 0: written<manner, 0>(pass, to, begin, end); break;
        case 1: written<manner, 1>(pass, to, begin, end); break;
        case 2: written<manner, 2>(pass, to, begin, end); break;
        case 3: written<manner, 3>(pass, to, begin, end); break;
        default: written<manner, 4>(pass, to, begin, end);
        }
        first = false;
    }
}

float* fresh(int64_t n) {
    const size_t huge = 2 << 20, bytes = ((size_t)n * sizeof(float) + huge - 1) / huge * huge;
    float* p = (float*)std::aligned_alloc(huge, bytes);
#if defined(__linux__)
    if (p) madvise(p, bytes, MADV_HUGEPAGE);
#endif
    for (int64_t i = 0; p && i < n; i++) p[i] = 1;
    return p;
}

}  // namespace

// Seconds of all passes one after the other, the best of some batches that take `budget` seconds together. Pass k reads reads[k] arrays of
// sizes[k] floats, the first of them what the pass before it wrote if that is as large, and writes writes[k] others; or, where
// that is negative, as many of those that it read. Less than 0: no memory.
extern "C" double min_seconds(int count, const int64_t* sizes, const int* reads, const int* writes, int threads, double budget) {
    std::vector<Pass> passes(count);
    std::vector<float*> all;
    auto new_array = [&](int64_t n) { return all.push_back(fresh(n)), all.back(); };
    for (int k = 0; k < count; k++) {
        Pass& pass = passes[k];
        pass.n = sizes[k];
        const bool follows = k > 0 && !passes[k - 1].out.empty() && passes[k - 1].n == pass.n;
        for (int i = 0; i < reads[k]; i++) pass.in.push_back(i == 0 && follows ? passes[k - 1].out[0] : new_array(pass.n));
        for (int i = 0; i < std::abs(writes[k]); i++) pass.out.push_back(writes[k] < 0 ? pass.in[i] : new_array(pass.n));
    }
    bool enough = true;
    for (float* p : all) enough = enough && p;

    // A thread has the same part of every pass, and every other pass goes backwards: what the last one left is in its cache.
    std::atomic<int64_t> turn{0}, done{0};
    std::atomic<bool> over{false};
    Manner manner = PLAIN;
    auto share = [&](int own, int64_t number) {
        const Pass& pass = passes[number % count];
        const int64_t blocks = (pass.n + BLOCK - 1) / BLOCK, first = blocks * own / threads, last = blocks * (own + 1) / threads;
        for (int64_t k = first; k < last; k++) {
            const int64_t begin = (number % 2 ? first + last - 1 - k : k) * BLOCK;
            const int64_t end = begin + BLOCK < pass.n ? begin + BLOCK : pass.n;
            if (manner == PLAIN) moved<PLAIN>(pass, begin, end);
            else if (manner == FETCHED) moved<FETCHED>(pass, begin, end);
            else moved<STREAMED>(pass, begin, end);
        }
    };
    std::vector<std::thread> workers;
    for (int own = 1; enough && own < threads; own++)
        workers.emplace_back([&, own] {
            for (int64_t number = 0;; number++) {
                while (turn.load(std::memory_order_acquire) <= number)
                    if (over.load(std::memory_order_relaxed)) return;
                share(own, number);
                done.fetch_add(1, std::memory_order_release);
            }
        });
    double best = enough ? 1e9 : -1;
    int64_t number = 0;
    for (int batch = 0; enough && batch < BATCHES * MANNERS; batch++) {
        manner = (Manner)(batch % MANNERS);
        const auto began = std::chrono::steady_clock::now();
        double spent = 0;
        for (int rounds = 1; spent < budget / (BATCHES * MANNERS); rounds++) {
            for (int k = 0; k < count; k++, number++) {
                turn.store(number + 1, std::memory_order_release);
                share(0, number);
                while (done.load(std::memory_order_acquire) < (number + 1) * (threads - 1)) {}
            }
            spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
            if (spent >= budget / (BATCHES * MANNERS) && spent / rounds < best) best = spent / rounds;
        }
    }
    over.store(true);
    for (auto& worker : workers) worker.join();
    for (float* p : all) std::free(p);
    return best;
}
