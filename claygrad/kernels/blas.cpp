// BLAS from the library that NumPy brought along, found by name at run time.
#include "blas.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "codes.hpp"
#include "gemm.hpp"
#include "kernels.hpp"
#include "threads.hpp"

namespace clay {
namespace {

// CBLAS numbers
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

void *gemm_of[4], *gemv_of[4];           // s, d, c, z
bool wide = false;                       // the library's integers are 64 bits
void (*set_threads)(int) = nullptr;

// A real scalar travels by value, a complex one by address.
template <class T> struct Scalar { using type = T; };
struct Complex64 { float re, im; };
struct Complex128 { double re, im; };
template <> struct Scalar<Complex64> { using type = const void*; };
template <> struct Scalar<Complex128> { using type = const void*; };
float number(float v, float*) { return v; }
double number(double v, double*) { return v; }
const void* number(float v, Complex64* room) { return *room = {v, 0}, room; }
const void* number(double v, Complex128* room) { return *room = {v, 0}, room; }

// c[m, n] (+)= op(a)[m, k] @ op(b)[k, n]
struct Product {
    bool trans_a, trans_b;
    int64_t m, n, k;
    const void* a;
    int64_t lda;
    const void* b;
    int64_t ldb;
    void* c;
    int64_t ldc;
    bool accumulate;
};

template <class T, class Int> void call_gemm(void* f, const Product& p) {
    using S = typename Scalar<T>::type;
    using F = void (*)(int, int, int, Int, Int, Int, S, const void*, Int, const void*, Int, S, void*, Int);
    T one, beta;
    ((F)f)(ROW_MAJOR, p.trans_a ? TRANS : NO_TRANS, p.trans_b ? TRANS : NO_TRANS, (Int)p.m, (Int)p.n, (Int)p.k,
           number(1, &one), p.a, (Int)p.lda, p.b, (Int)p.ldb, number(p.accumulate ? 1 : 0, &beta), p.c, (Int)p.ldc);
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

// A product holds the gate for reading; fork waits for it, because a child born in the middle of one would find the
// library's locks taken by threads that it does not have. Registered after the library's own handlers, so that it runs
// before them: they stop the library's threads.
pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
void close_gate() { pthread_rwlock_wrlock(&gate); }
void open_gate() { pthread_rwlock_unlock(&gate); }
void fresh_gate() { gate = PTHREAD_RWLOCK_INITIALIZER; }
struct Passage {
    Passage() { pthread_rwlock_rdlock(&gate); }
    ~Passage() { pthread_rwlock_unlock(&gate); }
};

template <class T, class Int> void through_blas(int index, const Product& p) {
    Passage passage;
    void* gemv = gemv_of[index];
    if (gemv && p.n == 1)
        call_gemv<T, Int>(gemv, p.trans_a, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k, p.a, p.lda, p.b,
                          p.trans_b ? 1 : p.ldb, p.c, p.ldc, p.accumulate);
    else if (gemv && p.m == 1)
        call_gemv<T, Int>(gemv, !p.trans_b, p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n, p.b, p.ldb, p.a,
                          p.trans_a ? p.lda : 1, p.c, 1, p.accumulate);
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
void plain_gemm(int64_t m, int64_t n, int64_t k, const void* a_, int64_t a_i, int64_t a_p, const void* b_, int64_t ldb,
                bool b_is_nk, void* c_, int64_t ldc, bool accumulate) {
    const T *a = (const T*)a_, *b = (const T*)b_;
    int64_t b_p = b_is_nk ? 1 : ldb, b_j = b_is_nk ? ldb : 1;
    for (int64_t i = 0; i < m; i++) {
        T* c = (T*)c_ + i * ldc;
        if (!accumulate)
            for (int64_t j = 0; j < n; j++) c[j] = T{};
        for (int64_t p = 0; p < k; p++)
            for (int64_t j = 0; j < n; j++) add(c[j], a[i * a_i + p * a_p], b[p * b_p + j * b_j]);
    }
}

// The stride of a single row is never used, but BLAS wants it to be as long as the row.
int64_t at_least(int64_t stride, int64_t rows, int64_t columns) {
    return rows == 1 && stride < columns ? columns : stride;
}

// BLAS takes no overlapping rows, and some builds no sizes beyond 31 bits.
bool blas_can(const Product& p) {
    if (p.lda < (p.trans_a ? p.m : p.k) || p.ldb < (p.trans_b ? p.k : p.n) || p.ldc < p.n) return false;
    return wide || (p.m | p.n | p.k | p.lda | p.ldb | p.ldc) <= INT32_MAX;
}

template <class T> void product(int index, void* own, bool small, Product& p) {
    p.lda = at_least(p.lda, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k);
    p.ldb = at_least(p.ldb, p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n);
    p.ldc = at_least(p.ldc, p.m, p.n);
    if (small || !gemm_of[index] || !blas_can(p))
        ((gemm_fn)own)(p.m, p.n, p.k, p.a, p.trans_a ? 1 : p.lda, p.trans_a ? p.lda : 1, p.b, p.ldb, p.trans_b, p.c,
                       p.ldc, p.accumulate);
    else if (wide)
        through_blas<T, int64_t>(index, p);
    else
        through_blas<T, int32_t>(index, p);
}

struct Spelling {
    const char *prefix, *suffix, *threads;
    bool wide;
};
const Spelling spellings[] = {
    {"scipy_cblas_", "64_", "scipy_openblas_set_num_threads64_", true},
    {"cblas_", "64_", "openblas_set_num_threads64_", true},
    {"scipy_cblas_", "", "scipy_openblas_set_num_threads", false},
    {"cblas_", "", "openblas_set_num_threads", false},
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
    set_threads = (void (*)(int))dlsym(library, spelling.threads);
    return true;
}

}  // namespace

bool blas_load(const char* library_path) {
    void* library = dlopen(library_path, RTLD_NOLOAD | RTLD_LAZY);
    if (!library) library = dlopen(library_path, RTLD_LAZY | RTLD_LOCAL);
    if (!library) return false;
    for (const Spelling& spelling : spellings)
        if (take(library, spelling)) {
            if (int n = chosen_threads()) blas_set_threads(n);
            [[maybe_unused]] static const int registered = pthread_atfork(close_gate, open_gate, fresh_gate);
            return true;
        }
    return false;
}

bool blas_ready() { return gemm_of[0] != nullptr; }

void blas_set_threads(int n) {
    if (set_threads) set_threads(n);
}

void gemm(int dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const void* a, int64_t lda,
          const void* b, int64_t ldb, void* c, int64_t ldc, bool accumulate) {
    if (m <= 0 || n <= 0) return;
    if (k <= 0) {                        // a sum of nothing
        const size_t item = dtype == F32 ? 4 : dtype == C128 ? 16 : 8;
        for (int64_t i = 0; i < m && !accumulate; i++) memset((char*)c + (size_t)(i * ldc) * item, 0, (size_t)n * item);
        return;
    }
    const Kernel* own = current_isa().gemm;
    // Few rows against a transposed b are better off with BLAS sooner.
    const int64_t most = trans_b && m < 16 ? current_isa().gemm_most / 8 : current_isa().gemm_most;
    const bool small = m * n * k <= most;
    Product p{trans_a, trans_b, m, n, k, a, lda, b, ldb, c, ldc, accumulate};
    switch (dtype) {
    case F32: return product<float>(0, own[0].function, small, p);
    case F64: return product<double>(1, own[1].function, small, p);
    case C64: return product<Complex64>(2, (void*)plain_gemm<Complex64>, false, p);
    case C128: return product<Complex128>(3, (void*)plain_gemm<Complex128>, false, p);
    }
}

namespace {

struct ManyJob {
    int dtype;
    bool trans_a, trans_b;
    int64_t m, n, k;
    const char* a;
    int64_t lda, a_step;
    const char* b;
    int64_t ldb, b_step;
    char* c;
    int64_t item;
};

void many_range(void* data, int64_t begin, int64_t end) {
    const ManyJob& j = *(const ManyJob*)data;
    for (int64_t i = begin; i < end; i++)
        gemm(j.dtype, j.trans_a, j.trans_b, j.m, j.n, j.k, j.a + i * j.a_step * j.item, j.lda, j.b + i * j.b_step * j.item, j.ldb,
             j.c + i * j.m * j.n * j.item, j.n, false);
}

}  // namespace

void gemm_many(int dtype, bool trans_a, bool trans_b, int64_t count, int64_t m, int64_t n, int64_t k, const void* a,
               int64_t lda, int64_t a_step, const void* b, int64_t ldb, int64_t b_step, void* c) {
    const int64_t item = dtype == F32 ? 4 : dtype == C128 ? 16 : 8, work = m * n * k;
    ManyJob job{dtype, trans_a, trans_b, m, n, k, (const char*)a, lda, a_step, (const char*)b, ldb, b_step, (char*)c, item};
    // Products that go to BLAS use its own threads.
    if (work > current_isa().gemm_most || (dtype != F32 && dtype != F64)) many_range(&job, 0, count);
    else parallel_for(count, (1 << 20) / (work + 1) + 1, many_range, &job);
}

}  // namespace clay
