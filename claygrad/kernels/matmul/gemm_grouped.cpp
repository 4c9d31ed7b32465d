// Several products that read the same columns of a, computed together.
#include "platform/dtypes.hpp"
#include "platform/api.hpp"
#include "platform/threads.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace {

// A task computes a strip of columns of a (rows of the results) for all products: at least MIN_COLUMNS columns, and about STRIPS strips.
constexpr int64_t MIN_COLUMNS = 64, STRIPS = 4;
constexpr int64_t ALONE = 1 << 26;       // a product of so many multiplications is divided among threads by itself

constexpr int64_t WORTH = 1 << 19;       // min multiplications per thread

struct Job {
    int dtype, count;
    int64_t strip;
    const Across* products;
};

// Part of the rows of a result
void rows_of(int dtype, const Across& p, int64_t at, int64_t rows) {
    const int64_t item = dtype == F32 ? 4 : 8;
    const char* a = (const char*)p.a + at * item;
    char* c = (char*)p.c + at * p.n * item;
    if (p.b) return gemm(dtype, true, false, rows, p.n, p.k, a, p.lda, p.b, p.ldb, c, p.n, p.add);
    if (rows <= 0) return;
    ReduceInput columns;
    columns.x = a, columns.n = p.k, columns.pitch = p.lda, columns.inner = rows;
    columns.axes = 1, columns.shape[0] = 1, columns.leap[0] = 0;
    ((reduce_fn)find("reduce", "sum", dtype))(columns, c);
}

void some_strips(void* data, int64_t begin, int64_t end) {
    const Job& job = *(const Job*)data;
    for (int64_t at = begin * job.strip; at < end * job.strip; at += job.strip)
        for (int i = 0; i < job.count; i++) {
            const int64_t left = job.products[i].m - at;
            rows_of(job.dtype, job.products[i], at, left < job.strip ? left : job.strip);
        }
}

}  // namespace

void gemm_across(int dtype, const Across* products, int count) {
    int64_t largest = 0, columns = 0, work = 0;
    for (int i = 0; i < count; i++) {
        const Across& p = products[i];
        const int64_t own = p.m * p.n * p.k;
        if (own > largest) largest = own;
        if (p.m > columns) columns = p.m;
        work += own;
    }
    const int64_t strip = columns > STRIPS * MIN_COLUMNS ? (columns / STRIPS + 63) / 64 * 64 : MIN_COLUMNS, strips = ceil_div(columns, strip);
    Job job{dtype, count, strip, products};
    if (largest <= ALONE) return parallel_for(strips, 1 + WORTH * strips / (work + 1), some_strips, &job);
    for (int i = 0; i < count; i++) rows_of(dtype, products[i], 0, products[i].m);
}

}  // namespace clay
