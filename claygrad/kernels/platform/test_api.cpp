// The kernels under plain C names, so that the tests can call them through ctypes.
#include "copy/bytes.hpp"
#include "platform/api.hpp"
#include "platform/threads.hpp"

extern "C" {

void* clay_find(const char* family, const char* name, int dtype) { return clay::find(family, name, dtype); }
const char* clay_isa() { return clay::isa(); }
int clay_use_isa(const char* name) { return clay::use_isa(name); }

void clay_binary_by_row(void* f, const void* x, const void* y, void* out, int64_t rows, int64_t n, int64_t in_size,
                        int64_t out_size, int x_is_small) {
    clay::binary_by_row((clay::binary_fn)f, x, y, out, rows, n, in_size, out_size, x_is_small != 0);
}
void clay_binary_by_column(void* f, const void* x, const void* y, void* out, int64_t rows, int64_t n, int64_t in_size,
                           int64_t out_size, int x_is_small) {
    clay::binary_by_column((clay::binary_fn)f, x, y, out, rows, n, in_size, out_size, x_is_small != 0);
}
int64_t clay_take_rows(const void* x, const int64_t* index, void* out, int64_t count, int64_t x_rows,
                       int64_t row_bytes) {
    return clay::take_rows(x, index, out, count, x_rows, row_bytes);
}
void clay_copy_strided(const char* src, const int64_t* src_strides, char* dst, const int64_t* dst_strides,
                       const int64_t* shape, int ndim, int64_t item_size) {
    clay::copy_strided(src, src_strides, dst, dst_strides, shape, ndim, item_size);
}
void clay_copy_bytes(void* to, const void* from, int64_t n) { clay::copy_bytes(to, from, n); }
void clay_join_rows(const char* const* parts, const int64_t* lengths, int64_t count, char* out, int64_t rows) {
    clay::join_rows(parts, lengths, count, out, rows);
}
uint64_t clay_fingerprint(const void* bytes, int64_t nbytes) { return clay::fingerprint(bytes, nbytes); }

void* clay_pool_alloc(int64_t nbytes) { return clay::pool_alloc(nbytes); }
void clay_pool_free(void* ptr, int64_t nbytes) { clay::pool_free(ptr, nbytes); }
void clay_pool_stats(clay::PoolStats* out) { *out = clay::pool_stats(); }
void clay_pool_trim() { clay::pool_trim(); }

int clay_max_threads() { return clay::max_threads(); }
void clay_set_max_threads(int n) { clay::set_max_threads(n); }
void clay_parallel_for(int64_t n, int64_t grain, clay::range_body body, void* job) {
    clay::parallel_for(n, grain, body, job);
}

int clay_blas_load(const char* path) { return clay::blas_load(path); }
int clay_blas_ready() { return clay::blas_ready(); }
void clay_gemm(int dtype, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, const void* a, int64_t lda,
               const void* b, int64_t ldb, void* c, int64_t ldc, int accumulate) {
    clay::gemm(dtype, trans_a != 0, trans_b != 0, m, n, k, a, lda, b, ldb, c, ldc, accumulate != 0);
}

}  // extern "C"
