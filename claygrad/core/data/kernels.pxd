# The kernels as Cython sees them: all modules call them through these declarations.
from libc.stdint cimport int64_t, uint64_t

cdef extern from "platform/api.hpp" namespace "clay" nogil:
    ctypedef void (*unary_fn)(const void*, void*, int64_t, double, double) noexcept nogil
    ctypedef void (*binary_fn)(const void*, const void*, void*, int64_t, int) noexcept nogil
    ctypedef struct ReduceInput:
        const void* x
        int64_t n, pitch, inner
        int axes
        int64_t shape[64]
        int64_t leap[64]
    ctypedef void (*reduce_fn)(const ReduceInput& x, void* out) noexcept nogil
    void reduce_lines(reduce_fn f, const void* x_oni, void* out_oi, int64_t outer, int64_t n, int64_t inner) noexcept
    ctypedef void (*rows_fn)(const void*, void*, int64_t, int64_t) noexcept nogil
    ctypedef void (*rows2_fn)(const void*, const void*, void*, int64_t, int64_t) noexcept nogil

    void* find(const char* family, const char* name, int dtype) noexcept
    const char* isa() noexcept
    bint use_isa(const char* name) noexcept
    void binary_by_row(binary_fn f, const void* x, const void* y, void* out, int64_t rows, int64_t n,
                       int64_t in_size, int64_t out_size, bint x_is_small) noexcept
    void binary_by_column(binary_fn f, const void* x, const void* y, void* out, int64_t rows, int64_t n,
                          int64_t in_size, int64_t out_size, bint x_is_small) noexcept
    int64_t take_rows(const void* x, const int64_t* index, void* out, int64_t count, int64_t x_rows,
                      int64_t row_bytes) noexcept
    int64_t gather_along(const void* x, const int64_t* index, void* out, int64_t outer, int64_t n, int64_t m, int64_t inner,
                         int64_t item_size) noexcept
    int64_t scatter_add_along(int dtype, void* out, const int64_t* index, const void* src, int64_t outer, int64_t n, int64_t m,
                              int64_t inner) noexcept
    void copy_strided(const char* src, const int64_t* src_strides, char* dst, const int64_t* dst_strides,
                      const int64_t* shape, int ndim, int64_t item_size) noexcept
    uint64_t fingerprint(const void* data, int64_t nbytes) noexcept
    void* pool_alloc(int64_t nbytes) noexcept
    void pool_free(void* ptr, int64_t nbytes) noexcept
    struct PoolStats:
        int64_t allocated
        int64_t reserved
        int64_t peak
    PoolStats pool_stats() noexcept
    int64_t pool_block(int64_t nbytes) noexcept
    struct PoolWatch:
        void (*peak)() noexcept
        void (*allocated)(void* block, int64_t bytes) noexcept
        void (*freed)(void* block, int64_t bytes) noexcept
    void pool_watch(PoolWatch by) noexcept
    void pool_reset_peak() noexcept
    void pool_trim() noexcept
    int max_threads() noexcept
    void set_max_threads(int n) noexcept
    bint blas_load(const char* library_path) noexcept
    bint blas_ready() noexcept
    bint gemm_takes(int dtype) noexcept
    void gemm(int dtype, bint trans_a, bint trans_b, int64_t m, int64_t n, int64_t k, const void* a, int64_t lda,
              const void* b, int64_t ldb, void* c, int64_t ldc, bint accumulate) noexcept
    void gemm_from(int dtype, bint trans_a, bint trans_b, int64_t m, int64_t n, int64_t k, const void* a, int64_t lda,
                   const void* b, int64_t ldb, void* c, int64_t ldc, const void* start, int64_t start_i) noexcept
    void gemm_many(int dtype, bint trans_a, bint trans_b, int64_t count, int64_t m, int64_t n, int64_t k, const void* a,
                   int64_t lda, int64_t a_step, const void* b, int64_t ldb, int64_t b_step, void* c) noexcept
    void gemm_many(int dtype, bint trans_a, bint trans_b, int64_t count, int64_t m, int64_t n, int64_t k, const void* a,
                   int64_t lda, int64_t a_step, const void* b, int64_t ldb, int64_t b_step, void* c, const void* start, int64_t start_i,
                   int64_t start_step) noexcept
    struct Across:
        const void* a
        int64_t lda
        const void* b
        int64_t ldb
        void* c
        int64_t m, n, k
        bint add
    void gemm_across(int dtype, const Across* products, int count) noexcept

cdef extern from "platform/dtypes.hpp" namespace "clay" nogil:
    const int BF16_WIDE                  # the code of a product of bfloat16 in float32

cdef extern from "copy/bytes.hpp" namespace "clay" nogil:
    void copy_bytes(void* to, const void* from_, int64_t n) noexcept
    void join_rows(const char* const* parts, const int64_t* lengths, int64_t count, char* out, int64_t rows) noexcept

cdef extern from "elementwise/params.hpp" namespace "clay" nogil:
    void binary_by_lines(binary_fn f, const void* x, const int64_t* x_strides, const void* y, const int64_t* y_strides,
                         void* out, const int64_t* shape, int ndim, int64_t in_size, int64_t out_size) noexcept
