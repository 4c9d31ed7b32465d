// The kernels' interface to the compiled core. Loops only: no policy, no Python.
// Blocks are contiguous; sizes are int64_t; dtype codes are those of core/data/dtype.pxd.
#pragma once
#include <cstdint>

namespace clay {

// out[i] = f(x[i]); p and q are the operation's numbers (slope, bounds, exponent) or unused.
using unary_fn = void (*)(const void* x_n, void* out_n, int64_t n, double p, double q);
// out[i] = f(x[i], y[i]); mode 0: both full, 1: y is one element, 2: x is one element.
using binary_fn = void (*)(const void* x_n, const void* y_n, void* out_n, int64_t n, int mode);
// Elements x[o.., r, i], r < n and i < inner, that lie at the sum of o[k] * leap[k], r * pitch and i.
struct ReduceInput {
    const void* x;
    int64_t n, pitch, inner;
    int axes;                            // number of axes of o, at least one
    int64_t shape[64], leap[64];
};
// out[o.., i] = reduction over r
using reduce_fn = void (*)(const ReduceInput& x, void* out);
inline void reduce_lines(reduce_fn f, const void* x_oni, void* out_oi, int64_t outer, int64_t n, int64_t inner) {
    ReduceInput s;
    s.x = x_oni, s.n = n, s.pitch = s.inner = inner, s.axes = 1, s.shape[0] = outer, s.leap[0] = n * inner;
    f(s, out_oi);
}
// softmax family: rows of n elements
using rows_fn = void (*)(const void* x_rn, void* out_rn, int64_t rows, int64_t n);
using rows2_fn = void (*)(const void* g_rn, const void* out_rn, void* dx_rn, int64_t rows, int64_t n);

// The kernel of a family ("unary", "binary", "compare", "reduce", "rows", "rows2"), or nullptr.
void* find(const char* family, const char* name, int dtype);
struct Kernel;
const Kernel* find_entry(const char* family, const char* name, int dtype);       // its line in the table, or nullptr
const char* isa();                       // "base", "avx2", "avx512" or "avx512_bf16": what this process runs
bool use_isa(const char* name);          // for tests; false if this processor lacks it

// y broadcast over rows: x and out are (rows, n), y is (n) [by_row] or (rows) [by column];
// x_is_small: the kernel's operands are exchanged, out = f(y, x).
void binary_by_row(binary_fn f, const void* x, const void* y, void* out, int64_t rows, int64_t n,
                   int64_t in_size, int64_t out_size, bool x_is_small);
void binary_by_column(binary_fn f, const void* x, const void* y, void* out, int64_t rows, int64_t n,
                      int64_t in_size, int64_t out_size, bool x_is_small);

// out[i, :] = x[index[i], :] for rows of row_bytes; returns -1, or the position of the first index out of range.
// Negative indices count from the end.
int64_t take_rows(const void* x, const int64_t* index, void* out, int64_t count, int64_t x_rows, int64_t row_bytes);
// out[o, j, i] = x[o, index[o, j, i], i]; returns -1, or the position of the first index out of range.
int64_t gather_along(const void* x, const int64_t* index, void* out, int64_t outer, int64_t n, int64_t m, int64_t inner,
                     int64_t item_size);
// out[o, index[o, j, i], i] += src[o, j, i] for float, double and integers; nothing is written if an index is out of range.
int64_t scatter_add_along(int dtype, void* out, const int64_t* index, const void* src, int64_t outer, int64_t n, int64_t m,
                          int64_t inner);
// Strided copy of equal types, any rank: strides in bytes.
void copy_strided(const char* src, const int64_t* src_strides, char* dst, const int64_t* dst_strides,
                  const int64_t* shape, int ndim, int64_t item_size);
uint64_t fingerprint(const void* bytes, int64_t nbytes);

// Memory: 64-byte aligned blocks, cached by size. The caller holds the interpreter lock.
void* pool_alloc(int64_t nbytes);        // nullptr if out of memory
void pool_free(void* ptr, int64_t nbytes);
struct PoolStats { int64_t allocated, reserved, peak; };
PoolStats pool_stats();
int64_t pool_block(int64_t nbytes);      // the size of the block that a request gets
// Callbacks for a new peak, for every allocated block and for every freed one; each may be null. Note [Watched pool]
struct PoolWatch { void (*peak)(); void (*allocated)(void* block, int64_t bytes); void (*freed)(void* block, int64_t bytes); };
void pool_watch(PoolWatch by);
void pool_reset_peak();                  // to the bytes in use now
void pool_trim();

// Threads
int max_threads();
void set_max_threads(int n);

// BLAS, row-major, resolved at run time from the library NumPy already loaded.
bool blas_load(const char* library_path);
bool blas_ready();
bool gemm_takes(int dtype);              // whether there is a product for this type (bfloat16: if the processor has it)
void gemm(int dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
          const void* a, int64_t lda, const void* b, int64_t ldb, void* c, int64_t ldc, bool accumulate);
// c = op(a) @ op(b) + start: rows start_i apart, or one row for all (0 apart)
void gemm_from(int dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const void* a, int64_t lda,
               const void* b, int64_t ldb, void* c, int64_t ldc, const void* start, int64_t start_i);
// `count` products of matrices a_step, b_step and m * n elements apart; divided among the threads. A matrix may be added to
// each, start_step apart.
void gemm_many(int dtype, bool trans_a, bool trans_b, int64_t count, int64_t m, int64_t n, int64_t k, const void* a,
               int64_t lda, int64_t a_step, const void* b, int64_t ldb, int64_t b_step, void* c, const void* start = nullptr,
               int64_t start_i = 0, int64_t start_step = 0);
// c[m, n] (+)= the transpose of a[k, m] @ b[k, n], several products at once, which share their reads of a.
struct Across {
    const void* a;
    int64_t lda;
    const void* b;                       // null: one column of ones, for the sums of a's columns
    int64_t ldb;
    void* c;
    int64_t m, n, k;
    bool add;
};
void gemm_across(int dtype, const Across* products, int count);

}  // namespace clay
