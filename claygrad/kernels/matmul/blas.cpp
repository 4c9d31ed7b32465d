// BLAS from the library inside NumPy's wheel, found by symbol name at run time.
#include "matmul/blas.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <mutex>

#include "platform/dtypes.hpp"
#include "matmul/gemm.hpp"
#include "platform/api.hpp"
#include "platform/threads.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace {

// CBLAS constants
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

void *gemm_of[4], *gemv_of[4];           // s, d, c, z
bool wide = false;                       // the library has 64-bit integers
bool tuned = false;                      // it is tuned for the processor; the reference BLAS of Debian is not
void (*set_threads)(int) = nullptr;
int (*get_threads)() = nullptr;

// CBLAS takes real scalars by value, complex ones by address.
template <class T> struct Scalar { using type = T; };
struct Complex64 { float re, im; };
struct Complex128 { double re, im; };
template <> struct Scalar<Complex64> { using type = const void*; };
template <> struct Scalar<Complex128> { using type = const void*; };
float number(float v, float*) { return v; }
double number(double v, double*) { return v; }
const void* number(float v, Complex64* room) { return *room = {v, 0}, room; }
const void* number(double v, Complex128* room) { return *room = {v, 0}, room; }

// c[m, n] = op(a)[m, k] @ op(b)[k, n] (+ start)
struct Product {
    int dtype;
    bool trans_a, trans_b;
    int64_t m, n, k;
    const char* a;
    int64_t lda;
    const char* b;
    int64_t ldb;
    char* c;
    int64_t ldc;
    const char* start;                   // null, c, or one row that is added to every row
    int64_t start_i;

    int64_t item() const { return dtype == BF16 || dtype == BF16_WIDE ? 2 : dtype == F32 ? 4 : dtype == C128 ? 16 : 8; }
    int64_t out_bytes() const { return dtype == BF16_WIDE ? 4 : item(); }         // element size of the result and of start

    // Part of the rows, or of the columns, of the result
    Product rows(int64_t begin, int64_t end) const {
        Product p = *this;
        p.m = end - begin;
        p.a += begin * (trans_a ? 1 : lda) * item();
        p.c += begin * ldc * out_bytes();
        if (start) p.start += begin * start_i * out_bytes();
        return p;
    }
    Product columns(int64_t begin, int64_t end) const {
        Product p = *this;
        p.n = end - begin;
        p.b += begin * (trans_b ? ldb : 1) * item();
        p.c += begin * out_bytes();
        if (start) p.start += begin * out_bytes();
        return p;
    }
};

template <class T, class Int> void call_gemm(void* f, const Product& p) {
    using S = typename Scalar<T>::type;
    using F = void (*)(int, int, int, Int, Int, Int, S, const void*, Int, const void*, Int, S, void*, Int);
    T one, beta;
    ((F)f)(ROW_MAJOR, p.trans_a ? TRANS : NO_TRANS, p.trans_b ? TRANS : NO_TRANS, (Int)p.m, (Int)p.n, (Int)p.k,
           number(1, &one), p.a, (Int)p.lda, p.b, (Int)p.ldb, number(p.start ? 1 : 0, &beta), p.c, (Int)p.ldc);
}

// y (+)= op(matrix) x, the matrix stored as rows x columns
template <class T, class Int>
void call_gemv(void* f, bool trans, int64_t rows, int64_t columns, const void* matrix, int64_t ld, const void* x,
               int64_t step_x, void* y, int64_t step_y, bool accumulate) {
    using S = typename Scalar<T>::type;
    using F = void (*)(int, int, Int, Int, S, const void*, Int, const void*, Int, S, void*, Int);
    T one, beta;
    ((F)f)(ROW_MAJOR, trans ? TRANS : NO_TRANS, (Int)rows, (Int)columns, number(1, &one), matrix, (Int)ld, x,
           (Int)step_x, number(accumulate ? 1 : 0, &beta), y, (Int)step_y);
}

// A product holds this lock for reading, and fork waits for it: a child forked during a product would find the library's locks
// held by threads that it does not have. The handler is registered after the library's own ones, so that it runs before them:
// they stop the library's threads.
pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
void close_gate() { pthread_rwlock_wrlock(&gate); }
void open_gate() { pthread_rwlock_unlock(&gate); }
void fresh_gate() { gate = PTHREAD_RWLOCK_INITIALIZER; }

// The library's threads spin for a while after a product and disturb ours. So it is set to one thread during a call, and to the
// previous number after it.
std::mutex count_lock;
int inside_blas = 0, threads_before = 0;
struct Session {
    const bool needed, alone;
    explicit Session(bool by_blas, bool one_thread = true) : needed(by_blas), alone(one_thread) {
        if (!needed) return;
        pthread_rwlock_rdlock(&gate);
        if (!alone) return;
        std::lock_guard<std::mutex> lock(count_lock);
        if (inside_blas++ || !set_threads || !get_threads) return;
        threads_before = get_threads();
        if (threads_before > 1) set_threads(1);
    }
    ~Session() {
        if (!needed) return;
        if (alone) {
            std::lock_guard<std::mutex> lock(count_lock);
            if (--inside_blas == 0 && threads_before > 1) set_threads(threads_before);
        }
        pthread_rwlock_unlock(&gate);
    }
    Session(const Session&) = delete;
};

template <class T, class Int> void through_blas(int index, const Product& p) {
    void* gemv = gemv_of[index];
    if (p.start && p.start != p.c)
        for (int64_t i = 0; i < p.m; i++)
            memcpy(p.c + i * p.ldc * p.item(), p.start + i * p.start_i * p.item(), (size_t)(p.n * p.item()));
    if (gemv && p.n == 1)
        call_gemv<T, Int>(gemv, p.trans_a, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k, p.a, p.lda, p.b,
                          p.trans_b ? 1 : p.ldb, p.c, p.ldc, p.start);
    else if (gemv && p.m == 1)
        call_gemv<T, Int>(gemv, !p.trans_b, p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n, p.b, p.ldb, p.a,
                          p.trans_a ? p.lda : 1, p.c, 1, p.start);
    else
        call_gemm<T, Int>(gemm_of[index], p);
}

void add(Complex64& c, const Complex64& a, const Complex64& b) {
    c = {c.re + a.re * b.re - a.im * b.im, c.im + a.re * b.im + a.im * b.re};
}
void add(Complex128& c, const Complex128& a, const Complex128& b) {
    c = {c.re + a.re * b.re - a.im * b.im, c.im + a.re * b.im + a.im * b.re};
}

template <class T>
void simple_gemm(int64_t m, int64_t n, int64_t k, const void* a_, int64_t a_i, int64_t a_p, const void* b_, int64_t ldb,
                bool b_is_nk, void* c_, int64_t ldc, const void* start, int64_t start_i) {
    const T *a = (const T*)a_, *b = (const T*)b_;
    int64_t b_p = b_is_nk ? 1 : ldb, b_j = b_is_nk ? ldb : 1;
    for (int64_t i = 0; i < m; i++) {
        T* c = (T*)c_ + i * ldc;
        const T* from = (const T*)start + i * start_i;
        for (int64_t j = 0; j < n; j++) c[j] = start ? from[j] : T{};
        for (int64_t p = 0; p < k; p++)
            for (int64_t j = 0; j < n; j++) add(c[j], a[i * a_i + p * a_p], b[p * b_p + j * b_j]);
    }
}

// The stride of a single row is never used, but BLAS wants it to be as long as the row.
int64_t valid_stride(int64_t stride, int64_t rows, int64_t columns) {
    return rows == 1 && stride < columns ? columns : stride;
}

// BLAS does not take overlapping rows, and some builds no sizes beyond 31 bits.
bool blas_can(const Product& p) {
    if (p.lda < (p.trans_a ? p.m : p.k) || p.ldb < (p.trans_b ? p.k : p.n) || p.ldc < p.n) return false;
    return wide || (p.m | p.n | p.k | p.lda | p.ldb | p.ldc) <= INT32_MAX;
}

// One product on one thread
void by_own(void* own, const Product& p) {
    ((gemm_fn)own)(p.m, p.n, p.k, p.a, p.trans_a ? 1 : p.lda, p.trans_a ? p.lda : 1, p.b, p.ldb, p.trans_b, p.c, p.ldc, p.start,
                   p.start_i);
}

template <class T> void product(int index, void* own, bool by_blas, const Product& p) {
    if (!by_blas) by_own(own, p);
    else if (wide)
        through_blas<T, int64_t>(index, p);
    else
        through_blas<T, int32_t>(index, p);
}

void product(const Product& p, bool by_blas) {
    const Kernel* own = current_isa().gemm;
    switch (p.dtype) {
    case F32: return product<float>(0, own[0].function, by_blas, p);
    case F64: return product<double>(1, own[1].function, by_blas, p);
    case C64: return product<Complex64>(2, (void*)simple_gemm<Complex64>, by_blas, p);
    case C128: return product<Complex128>(3, (void*)simple_gemm<Complex128>, by_blas, p);
    case BF16: return by_own(current_isa().gemm_bf16[0].function, p);
    case BF16_WIDE: return by_own(current_isa().gemm_bf16[1].function, p);
    }
}

int index_of(int dtype) { return dtype == F32 ? 0 : dtype == F64 ? 1 : dtype == C64 ? 2 : 3; }

// Whether BLAS is faster than our own loops for a product of this size.
// Our own products of real numbers are faster than an untuned library, if they have vectors.
constexpr int64_t NO_VECTORS = 1024;     // the limit of an instruction set without them
bool wants_blas(const Product& p) {
    if (p.dtype == BF16 || p.dtype == BF16_WIDE || !gemm_of[index_of(p.dtype)] || !blas_can(p)) return false;
    if (p.dtype == C64 || p.dtype == C128) return true;
    const int64_t largest = current_isa().gemm_limit;
    return p.m * p.n * p.k > largest && (tuned || largest <= NO_VECTORS);
}

// The cost of a product, in real multiply-adds
int64_t work_of(const Product& p) { return p.m * p.n * p.k * (p.dtype == C64 || p.dtype == C128 ? 4 : 1); }

// Multiply-adds above which a product is divided among threads, and above which a share is divided again, so that a thread that
// finishes early can help.
constexpr int64_t WORTH = 1 << 20, LONG = 1 << 22, VAST = 1 << 28;
// The rows and columns of a share are multiples of these, so that its vectors are full, and not so few that another algorithm would
// be chosen than for the whole product: no sum depends on the number of threads.
constexpr int64_t STEP_ROWS = 8, STEP_COLUMNS = 32, MIN_ROWS = 16, ENOUGH = 512;

struct Shares {
    const Product& p;
    bool by_blas, of_columns;
    int64_t parts;
};

void some_shares(void* data, int64_t begin, int64_t end) {
    const Shares& s = *(const Shares*)data;
    const int64_t all = s.of_columns ? s.p.n : s.p.m, step = s.of_columns ? STEP_COLUMNS : STEP_ROWS, steps = ceil_div(all, step);
    const int64_t from = steps * begin / s.parts * step, to = end == s.parts ? all : steps * end / s.parts * step;
    if (from < to) product(s.of_columns ? s.p.columns(from, to) : s.p.rows(from, to), s.by_blas);
}

void shared_out(const Product& p, bool by_blas) {
    const int64_t work = work_of(p), threads = max_threads();
    if (work < WORTH || threads < 2) return product(p, by_blas);
    // Every share reads all of the other matrix, and may have to transpose it: that should be the smaller one.
    const bool of_columns = p.n >= 2 * STEP_COLUMNS && (p.m < 2 * MIN_ROWS || (p.n >= p.m && p.m < ENOUGH));
    // BLAS packs all of the other matrix for every share.
    int64_t parts = work / threads > LONG && !by_blas ? 2 * threads : threads;
    const int64_t largest = of_columns ? p.n / STEP_COLUMNS : p.m / MIN_ROWS;
    if (parts > largest) parts = largest > 1 ? largest : 1;
    Shares shares{p, by_blas, of_columns, parts};
    parallel_for(parts, 1, some_shares, &shares);
}

void settle(Product& p) {
    p.lda = valid_stride(p.lda, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k);
    p.ldb = valid_stride(p.ldb, p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n);
    p.ldc = valid_stride(p.ldc, p.m, p.n);
}

struct Spelling {
    const char *prefix, *suffix, *set_threads, *get_threads;
    bool wide;
};
const Spelling spellings[] = {
    {"scipy_cblas_", "64_", "scipy_openblas_set_num_threads64_", "scipy_openblas_get_num_threads64_", true},
    {"cblas_", "64_", "openblas_set_num_threads64_", "openblas_get_num_threads64_", true},
    {"scipy_cblas_", "", "scipy_openblas_set_num_threads", "scipy_openblas_get_num_threads", false},
    {"cblas_", "", "openblas_set_num_threads", "openblas_get_num_threads", false},
};

bool take(void* library, const Spelling& spelling) {
    void *gemms[4], *gemvs[4];
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%cgemm%s", spelling.prefix, "sdcz"[i], spelling.suffix);
        gemms[i] = dlsym(library, name);
        snprintf(name, sizeof name, "%s%cgemv%s", spelling.prefix, "sdcz"[i], spelling.suffix);
        gemvs[i] = dlsym(library, name);
    }
    if (!gemms[0] || !gemms[1]) return false;
    for (int i = 0; i < 4; i++) gemm_of[i] = gemms[i], gemv_of[i] = gemvs[i];
    wide = spelling.wide;
    set_threads = (void (*)(int))dlsym(library, spelling.set_threads);
    get_threads = (int (*)())dlsym(library, spelling.get_threads);
    // OpenBLAS, MKL, BLIS and Apple's
    tuned = set_threads || dlsym(library, "MKL_Get_Max_Threads") || dlsym(library, "bli_thread_set_num_threads");
#if defined(__APPLE__)
    tuned = true;
#endif
    return true;
}

}  // namespace

bool blas_load(const char* library_path) {
    void* library = dlopen(library_path, RTLD_NOLOAD | RTLD_LAZY);
    if (!library) library = dlopen(library_path, RTLD_LAZY | RTLD_LOCAL);
    if (!library) return false;
    for (const Spelling& spelling : spellings)
        if (take(library, spelling)) {
            if (int n = requested_threads()) blas_set_threads(n);
            [[maybe_unused]] static const int registered = pthread_atfork(close_gate, open_gate, fresh_gate);
            return true;
        }
    return false;
}

bool blas_ready() { return gemm_of[0] != nullptr; }

void blas_set_threads(int n) {
    if (!set_threads) return;
    std::lock_guard<std::mutex> lock(count_lock);
    if (inside_blas && get_threads) threads_before = n;
    else set_threads(n);
}

bool gemm_takes(int dtype) {
    if (dtype == BF16 || dtype == BF16_WIDE) return current_isa().gemm_bf16 != nullptr;
    return dtype == F32 || dtype == F64 || dtype == C64 || dtype == C128;
}

void gemm(int dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const void* a, int64_t lda,
          const void* b, int64_t ldb, void* c, int64_t ldc, bool accumulate) {
    gemm_from(dtype, trans_a, trans_b, m, n, k, a, lda, b, ldb, c, ldc, accumulate ? c : nullptr, ldc);
}

void gemm_from(int dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const void* a, int64_t lda,
               const void* b, int64_t ldb, void* c, int64_t ldc, const void* start, int64_t start_i) {
    if (m <= 0 || n <= 0) return;
    Product p{dtype, trans_a, trans_b, m, n, k, (const char*)a, lda, (const char*)b, ldb, (char*)c, ldc, (const char*)start, start_i};
    if (k > 0) {
        settle(p);
        const bool by_blas = wants_blas(p);
        // The largest products use BLAS's own threads, which pack each matrix only once.
        const bool whole = by_blas && work_of(p) > VAST;
        Session session(by_blas, !whole);
        return whole ? product(p, true) : shared_out(p, by_blas);
    }
    const size_t length = (size_t)(n * p.out_bytes());             // k is 0: the sum is empty
    for (int64_t i = 0; i < m; i++) {
        char* row = p.c + i * ldc * p.out_bytes();
        if (!start) memset(row, 0, length);
        else if (start != c) memcpy(row, p.start + i * start_i * p.out_bytes(), length);
    }
}

namespace {

struct ManyJob {
    Product first;
    int64_t a_step, b_step, start_step;
    bool by_blas;
};

void many_range(void* data, int64_t begin, int64_t end) {
    const ManyJob& j = *(const ManyJob*)data;
    for (int64_t i = begin; i < end; i++) {
        Product p = j.first;
        p.a += i * j.a_step * p.item();
        p.b += i * j.b_step * p.item();
        p.c += i * p.m * p.n * p.out_bytes();
        if (p.start) p.start += i * j.start_step * p.out_bytes();
        shared_out(p, j.by_blas);
    }
}

}  // namespace

void gemm_many(int dtype, bool trans_a, bool trans_b, int64_t count, int64_t m, int64_t n, int64_t k, const void* a,
               int64_t lda, int64_t a_step, const void* b, int64_t ldb, int64_t b_step, void* c, const void* start, int64_t start_i,
               int64_t start_step) {
    Product p{dtype, trans_a, trans_b, m, n, k, (const char*)a, lda, (const char*)b, ldb, (char*)c, n, (const char*)start, start_i};
    const int64_t work = work_of(p);
    settle(p);
    ManyJob job{p, a_step, b_step, start_step, wants_blas(p)};
    Session session(job.by_blas);
    // A few large products are divided one by one.
    if (count < 2 * max_threads() && work > 2 * WORTH) many_range(&job, 0, count);
    else parallel_for(count, WORTH / 2 / (work + 1) + 1, many_range, &job);
}

}  // namespace clay
