// Products that read the same columns, together.
#include "codes.hpp"
#include "kernels.hpp"
#include "threads.hpp"

namespace clay {
namespace {

// Columns of a, rows of the results, that a task takes through all products: at least so many, and as many strips.
constexpr int64_t LEAST = 64, STRIPS = 4;
constexpr int64_t ALONE = 1 << 26;       // multiplications of one that is worth being shared out by itself

constexpr int64_t WORTH = 1 << 19;       // the least that a thread takes

struct Job {
    int dtype, count;
    int64_t strip;
    const Across* products;
};

void some_strips(void* data, int64_t begin, int64_t end) {
    const Job& job = *(const Job*)data;
    const int64_t item = job.dtype == F32 ? 4 : 8;
    for (int64_t at = begin * job.strip; at < end * job.strip; at += job.strip)
        for (int i = 0; i < job.count; i++) {
            const Across& p = job.products[i];
            const int64_t rows = p.m - at < job.strip ? p.m - at : job.strip;
            gemm(job.dtype, true, false, rows, p.n, p.k, (const char*)p.a + at * item, p.lda, p.b, p.ldb,
                 (char*)p.c + at * p.n * item, p.n, p.add);
        }
}

}  // namespace

void gemm_across(int dtype, const Across* products, int count) {
    int64_t most = 0, columns = 0, work = 0;
    for (int i = 0; i < count; i++) {
        const Across& p = products[i];
        const int64_t own = p.m * p.n * p.k;
        if (own > most) most = own;
        if (p.m > columns) columns = p.m;
        work += own;
    }
    const int64_t strip = columns > STRIPS * LEAST ? (columns / STRIPS + 63) / 64 * 64 : LEAST, strips = (columns + strip - 1) / strip;
    Job job{dtype, count, strip, products};
    if (most <= ALONE) return parallel_for(strips, 1 + WORTH * strips / (work + 1), some_strips, &job);
    for (int i = 0; i < count; i++) {
        const Across& p = products[i];
        gemm(dtype, true, false, p.m, p.n, p.k, p.a, p.lda, p.b, p.ldb, p.c, p.n, p.add);
    }
}

}  // namespace clay
