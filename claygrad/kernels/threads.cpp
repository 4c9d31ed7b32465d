#include "threads.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "blas.hpp"
#include "kernels.hpp"

namespace clay {
namespace {

int from_environment() {
    const char* text = getenv("CLAYGRAD_NUM_THREADS");
    int n = text ? atoi(text) : 0;
    return n > 0 ? n : 0;
}

int available() {
    if (int n = from_environment()) return n;
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    unsigned n = std::thread::hardware_concurrency();
    return n ? (int)n : 1;
}

// One job at a time. Workers that wake up after it was closed go back to sleep.
struct Pool {
    std::mutex mutex;
    std::condition_variable work, done;
    int workers = 0, joined = 0, seats = 0;      // seats: workers that may still join
    uint64_t generation = 0;
    range_body body = nullptr;
    void* job = nullptr;
    int64_t n = 0, chunk = 0;
    std::atomic<int64_t> next{0};

    void share() {
        for (int64_t begin; (begin = next.fetch_add(chunk)) < n;)
            body(job, begin, begin + chunk < n ? begin + chunk : n);
    }
};

Pool* pool = nullptr;
std::atomic<bool> busy{false};
std::atomic<int> limit{0};
std::atomic<bool> asked{false};          // somebody chose the limit
thread_local bool inside = false;

void worker(Pool* home) {
    inside = true;
    uint64_t seen = 0;
    std::unique_lock<std::mutex> lock(home->mutex);
    for (;;) {
        home->work.wait(lock, [&] { return home->generation != seen; });
        seen = home->generation;
        if (home->seats == 0) continue;
        home->seats--, home->joined++;
        lock.unlock();
        home->share();
        lock.lock();
        if (--home->joined == 0) home->done.notify_one();
    }
}

// The child of a fork has the memory of the pool but none of its threads: it starts with a new one.
void forget_pool() {
    pool = nullptr;
    busy.store(false);
    inside = false;
}

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, forget_pool);

// Signals stay with the threads of the program: a worker must never be the one that is interrupted. Its own faults are.
bool start_worker(Pool* home) {
    sigset_t others, before;
    sigfillset(&others);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&others, fault);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    bool started = true;
    try {
        std::thread(worker, home).detach();
    } catch (const std::system_error&) {
        started = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
}

void run_shared(int64_t n, int64_t chunk, int threads, range_body body, void* job) {
    if (!pool) pool = new Pool;
    Pool* home = pool;
    while (home->workers < threads - 1 && start_worker(home)) home->workers++;
    {
        std::lock_guard<std::mutex> lock(home->mutex);
        home->body = body, home->job = job, home->n = n, home->chunk = chunk;
        home->next.store(0);
        home->seats = threads - 1 < home->workers ? threads - 1 : home->workers;
        home->generation++;
    }
    if (threads == 2) home->work.notify_one();
    else home->work.notify_all();
    inside = true;
    home->share();
    inside = false;
    std::unique_lock<std::mutex> lock(home->mutex);
    home->seats = 0;
    home->done.wait(lock, [&] { return home->joined == 0; });
}

}  // namespace

int max_threads() {
    int n = limit.load(std::memory_order_relaxed);
    if (n == 0) limit.store(n = available());
    return n;
}

void set_max_threads(int n) {
    limit.store(n > 0 ? n : 1);
    asked.store(true);
    blas_set_threads(n > 0 ? n : 1);
}

int chosen_threads() { return asked.load() || from_environment() ? max_threads() : 0; }

void parallel_for(int64_t n, int64_t grain, range_body body, void* job) {
    if (n <= 0) return;
    if (n < 2 * grain || inside) return body(job, 0, n);
    int64_t threads = n / grain < max_threads() ? n / grain : max_threads();
    if (threads < 2 || busy.exchange(true)) return body(job, 0, n);
    // Four helpings each even out cores of different speed; multiples of 64 keep vectors and cache lines whole.
    int64_t chunk = (n + threads * 4 - 1) / (threads * 4);
    if (chunk < grain) chunk = grain;
    if (chunk > 64) chunk = (chunk + 63) / 64 * 64;
    run_shared(n, chunk, (int)threads, body, job);
    busy.store(false);
}

}  // namespace clay
