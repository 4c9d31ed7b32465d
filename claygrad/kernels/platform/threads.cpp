#include "platform/threads.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "matmul/blas.hpp"
#include "platform/api.hpp"

namespace clay {
namespace {

int from_environment() {
    const char* text = getenv("CLAYGRAD_NUM_THREADS");
    int n = text ? atoi(text) : 0;
    return n > 0 ? n : 0;
}

int cores() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    unsigned n = std::thread::hardware_concurrency();
    return n ? (int)n : 1;
}

std::atomic<int> limit{0};               // max threads, including the caller; 0: not determined yet
std::atomic<bool> asked{false};          // the user set it
std::atomic<bool> patient{true};         // there is a core for every thread, so waiting threads may spin

void set_limit(int n) {
    limit.store(n);
    patient.store(n <= cores());
}

// How long a thread spins before it sleeps. Waking one costs tens of microseconds; the operations of a program follow each other
// faster than that.
constexpr auto PATIENCE = std::chrono::microseconds(100);

inline void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

template <class Done>
bool watch(Done done) {
    if (done()) return true;
    if (!patient.load(std::memory_order_relaxed)) return false;
    for (auto end = std::chrono::steady_clock::now() + PATIENCE; std::chrono::steady_clock::now() < end;)
        for (int i = 0; i < 32; i++) {
            if (done()) return true;
            pause();
        }
    return false;
}

// The chunks of one thread, first and end packed into one word. The thread takes chunks from the front, others steal from the back.
struct alignas(64) Lane {
    std::atomic<uint64_t> left{0};

    void deal(uint64_t first, uint64_t end) { left.store(first << 32 | end, std::memory_order_relaxed); }

    bool take(bool front, int64_t& chunk) {
        uint64_t now = left.load(std::memory_order_relaxed);
        for (;;) {
            uint64_t first = now >> 32, end = now & 0xffffffff;
            if (first >= end) return false;
            if (left.compare_exchange_weak(now, front ? now + (1ull << 32) : now - 1)) {
                chunk = (int64_t)(front ? first : end - 1);
                return true;
            }
        }
    }
};

// One job at a time. A thread begins with the same part in every job of a size, at the end where it finished the last job: its cache
// may still hold that. Then it steals from others.
// `gate` holds the job's number, whether it can be joined, and how many workers have joined; late workers keep waiting.
struct Pool {
    static constexpr uint32_t OPEN = 1u << 12, JOINED = OPEN - 1, JOB = OPEN << 1;
    static constexpr int MAX_THREADS = 256;
    static constexpr int64_t WHOLE = 64;         // chunks are multiples of so many elements, so that vectors and cache lines are not split
    alignas(64) std::atomic<uint32_t> gate{0};
    std::atomic<int> sleeping{0};
    std::atomic<bool> waiting{false};
    std::mutex mutex;
    std::condition_variable work, done;
    int workers = 0, threads = 0;
    int core = -1, largest = 0;             // the caller's core, which workers avoid, and the number of threads when it was set
    pthread_t handles[MAX_THREADS];             // workers, from index 1
    range_body body = nullptr;
    void* job = nullptr;
    int64_t n = 0, unit = 0, units = 0, chunks = 0;
    Lane lanes[MAX_THREADS];

    void share(int own) {
        int64_t at;
        const bool upwards = gate.load(std::memory_order_relaxed) & JOB;
        for (int i = 0; i < threads; i++)
            while (lanes[(own + i) % threads].take((i == 0) == upwards, at)) {
                const int64_t begin = units * at / chunks * unit, end = units * (at + 1) / chunks * unit;
                body(job, begin, end < n ? end : n);
            }
    }

    // Note [The caller's core]
    // A woken worker is often scheduled on the caller's core, which is busy, and starts only when the caller has finished. The scheduler
    // takes milliseconds to separate them, so workers are not allowed on that core.
    void keep_clear() {
#if defined(__linux__)
        const int now = sched_getcpu(), wanted = max_threads();
        cpu_set_t cores;
        if ((now == core && wanted == largest) || now < 0 || sched_getaffinity(0, sizeof cores, &cores) != 0) return;
        core = now, largest = wanted;
        const int allowed = CPU_COUNT(&cores);
        if (allowed < 2) return;         // the caller is pinned to one core; the workers are not
        if (allowed >= wanted) CPU_CLR(core, &cores);
        for (int i = 1; i <= workers; i++) pthread_setaffinity_np(handles[i], sizeof cores, &cores);
#endif
    }

    void open(int64_t size, int64_t per_thread, int team, range_body what, void* with) {
        body = what, job = with, n = size, threads = team, chunks = team * per_thread;
        unit = n > chunks * WHOLE ? WHOLE : 1, units = (n + unit - 1) / unit;
        for (int i = 0; i < team; i++) lanes[i].deal(per_thread * i, per_thread * (i + 1));
        gate.store((gate.load(std::memory_order_relaxed) & ~(OPEN | JOINED)) + JOB + OPEN);
        keep_clear();
        if (sleeping.load() == 0) return;
        { std::lock_guard<std::mutex> lock(mutex); }
        work.notify_all();
    }

    void close() {
        gate.fetch_and(~OPEN);
        auto left = [&] { return (gate.load(std::memory_order_acquire) & JOINED) == 0; };
        if (watch(left)) return;
        std::unique_lock<std::mutex> lock(mutex);
        waiting.store(true);
        done.wait(lock, left);
        waiting.store(false);
    }

    bool join() {
        uint32_t now = gate.load();
        while (now & OPEN)
            if (gate.compare_exchange_weak(now, now + 1)) return true;
        return false;
    }

    void leave() {
        uint32_t now = gate.fetch_sub(1) - 1;
        if ((now & JOINED) || !waiting.load()) return;
        { std::lock_guard<std::mutex> lock(mutex); }
        done.notify_one();
    }

    void wait_for_job_after(uint32_t seen) {
        auto fresh = [&] { return (gate.load(std::memory_order_acquire) & ~(OPEN | JOINED)) != seen; };
        if (watch(fresh)) return;
        std::unique_lock<std::mutex> lock(mutex);
        sleeping.fetch_add(1);
        work.wait(lock, fresh);
        sleeping.fetch_sub(1);
    }
};

std::atomic<Pool*> pool{nullptr};
std::atomic<bool> busy{false};
std::atomic<int64_t> asked_for{0};       // when sleeping threads were last wanted, in nanoseconds

int64_t now() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }
thread_local bool inside = false;

void worker(Pool* home, int own) {
    inside = true;
    for (uint32_t seen = 0;;) {
        home->wait_for_job_after(seen);
        bool joined = home->join();
        seen = home->gate.load() & ~(Pool::OPEN | Pool::JOINED);
        if (!joined) continue;
        if (own < home->threads) home->share(own);
        home->leave();
    }
}

// A forked child has the pool's memory but none of its threads: it starts a new pool.
void forget_pool() {
    pool.store(nullptr);
    busy.store(false);
    inside = false;
}

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, forget_pool);

// Signals go to the program's threads: workers block them, except for faults.
bool start_worker(Pool* home, int own) {
    sigset_t others, before;
    sigfillset(&others);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&others, fault);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    bool started = true;
    try {
        std::thread out(worker, home, own);
        home->handles[own] = out.native_handle();
        home->core = -1;
        out.detach();
    } catch (const std::system_error&) {
        started = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
}

void run_shared(int64_t n, int64_t per_thread, int threads, range_body body, void* job) {
    if (!pool.load()) pool.store(new Pool);
    Pool* home = pool.load();
    while (home->workers < threads - 1 && start_worker(home, home->workers + 1)) home->workers++;
    home->open(n, per_thread, threads, body, job);
    inside = true;
    home->share(0);
    inside = false;
    home->close();
}

}  // namespace

int max_threads() {
    int n = limit.load(std::memory_order_relaxed);
    if (n == 0) {
        n = from_environment();
        set_limit(n = n ? n : cores());
    }
    return n;
}

void set_max_threads(int n) {
    set_limit(n > 0 ? n : 1);
    asked.store(true);
    blas_set_threads(n > 0 ? n : 1);
}

int requested_threads() { return asked.load() || from_environment() ? max_threads() : 0; }

bool awake() {
    const Pool* home = pool.load(std::memory_order_relaxed);
    if (home && home->sleeping.load(std::memory_order_relaxed) == 0) return true;
    const int64_t time = now(), before = asked_for.exchange(time, std::memory_order_relaxed);
    return patient.load(std::memory_order_relaxed) && time - before < std::chrono::nanoseconds(PATIENCE).count();
}

void parallel_for(int64_t n, int64_t grain, range_body body, void* job) {
    if (n <= 0) return;
    if (n < 2 * grain || inside) return body(job, 0, n);
    int64_t threads = n / grain < max_threads() ? n / grain : max_threads();
    if (threads < 2 || busy.exchange(true)) return body(job, 0, n);
    if (threads > Pool::MAX_THREADS) threads = Pool::MAX_THREADS;
    // Each thread gets up to eight chunks, so that a faster core can take over chunks of a slower one. All chunks have one size, and all
    // threads get as many, since a chunk that changes cores has to move between their caches.
    const int64_t per_thread = n / (threads * grain) < 8 ? n / (threads * grain) : 8;
    const int64_t worth_waking = 2 * ASLEEP * (grain > CHEAP ? grain : CHEAP_ROWS);
    if (grain < ELEMENTS || n >= worth_waking || awake()) {
        run_shared(n, per_thread, (int)threads, body, job);
    } else {
        body(job, 0, n);
        asked_for.store(now(), std::memory_order_relaxed);       // again: the body may have taken longer than a request is remembered
    }
    busy.store(false);
}

}  // namespace clay
