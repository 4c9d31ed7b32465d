// Broadcasting a small operand over the rows or columns of a large one, by the kernels for full blocks. Short rows would cost a call
// each, so the small operand is repeated for many rows first.
#include <stdint.h>
#include <string.h>

#include "elementwise/params.hpp"
#include "platform/threads.hpp"

namespace clay {
namespace {

constexpr int64_t ROOM = 4096;           // bytes of the repeated operand

struct Job {
    binary_fn f;
    const char *large, *small;
    char* out;
    int64_t n, in_size, out_size;
    bool x_is_small;                     // the small operand is the kernel's first argument

    void call(const char* part, int64_t row, int64_t count, int mode_if_one) const {
        const char* block = large + row * n * in_size;
        char* to = out + row * n * out_size;
        if (x_is_small) f(part, block, to, count, mode_if_one ? 2 : 0);
        else f(block, part, to, count, mode_if_one ? 1 : 0);
    }
};

void by_row(void* data, int64_t begin, int64_t end) {
    const Job& job = *(const Job*)data;
    const int64_t bytes = job.n * job.in_size, fit = ROOM / bytes;
    if (fit < 2 || end - begin < 2) {
        for (int64_t r = begin; r < end; r++) job.call(job.small, r, job.n, 0);
        return;
    }
    alignas(64) char copies[ROOM];
    int64_t rows = fit < end - begin ? fit : end - begin;
    memcpy(copies, job.small, (size_t)bytes);
    for (int64_t have = 1; have < rows;) {
        int64_t more = have < rows - have ? have : rows - have;
        memcpy(copies + have * bytes, copies, (size_t)(more * bytes));
        have += more;
    }
    for (int64_t r = begin; r < end; r += rows) job.call(copies, r, (end - r < rows ? end - r : rows) * job.n, 0);
}

template <class T> void spread(const char* from, char* to, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; r++) {
        T value;
        memcpy(&value, from + r * (int64_t)sizeof(T), sizeof value);
        for (int64_t i = 0; i < n; i++) memcpy(to + (r * n + i) * (int64_t)sizeof(T), &value, sizeof value);
    }
}

void by_column(void* data, int64_t begin, int64_t end) {
    const Job& job = *(const Job*)data;
    const int64_t fit = ROOM / (job.n * job.in_size);
    const bool known = job.in_size == 1 || job.in_size == 4 || job.in_size == 8;
    if (fit < 16 || !known) {
        for (int64_t r = begin; r < end; r++) job.call(job.small + r * job.in_size, r, job.n, 1);
        return;
    }
    alignas(64) char copies[ROOM];
    for (int64_t r = begin; r < end; r += fit) {
        int64_t rows = end - r < fit ? end - r : fit;
        const char* from = job.small + r * job.in_size;
        if (job.in_size == 1) spread<uint8_t>(from, copies, rows, job.n);
        else if (job.in_size == 4) spread<uint32_t>(from, copies, rows, job.n);
        else spread<uint64_t>(from, copies, rows, job.n);
        job.call(copies, r, rows * job.n, 0);
    }
}

void run(binary_fn f, const void* x, const void* y, void* out, int64_t rows, int64_t n, int64_t in_size,
         int64_t out_size, bool x_is_small, range_body body) {
    if (rows <= 0 || n <= 0) return;
    Job job{f, (const char*)x, (const char*)y, (char*)out, n, in_size, out_size, x_is_small};
    // A single long row is divided among threads by the kernel itself.
    if (rows < 4) body(&job, 0, rows);
    else parallel_for(rows, CHEAP_ROWS / n + 1, body, &job);
}

struct LinesJob {
    binary_fn f;
    const char *x, *y;
    char* out;
    int64_t shape[64], x_steps[64], y_steps[64];         // steps in bytes
    int ndim, mode;
    int64_t n, out_line;
};

void by_lines(void* data, int64_t begin, int64_t end) {
    const LinesJob& job = *(const LinesJob*)data;
    for (int64_t line = begin; line < end; line++) {
        const char *x = job.x, *y = job.y;
        for (int64_t d = job.ndim - 1, at = line; d >= 0; at /= job.shape[d--]) {
            x += at % job.shape[d] * job.x_steps[d];
            y += at % job.shape[d] * job.y_steps[d];
        }
        job.f(x, y, job.out + line * job.out_line, job.n, job.mode);
    }
}

}  // namespace

void binary_by_lines(binary_fn f, const void* x, const int64_t* x_strides, const void* y, const int64_t* y_strides, void* out,
                     const int64_t* shape, int ndim, int64_t in_size, int64_t out_size) {
    LinesJob job{f, (const char*)x, (const char*)y, (char*)out, {}, {}, {}, ndim - 1, 0, shape[ndim - 1], 0};
    job.mode = x_strides[ndim - 1] == 0 ? 2 : y_strides[ndim - 1] == 0 ? 1 : 0;
    job.out_line = job.n * out_size;
    int64_t lines = 1;
    for (int d = 0; d < job.ndim; d++) {
        job.shape[d] = shape[d], lines *= shape[d];
        job.x_steps[d] = x_strides[d] * in_size, job.y_steps[d] = y_strides[d] * in_size;
    }
    if (lines <= 0 || job.n <= 0) return;
    if (lines < 4) by_lines(&job, 0, lines);
    else parallel_for(lines, CHEAP_ROWS / job.n + 1, by_lines, &job);
}

void binary_by_row(binary_fn f, const void* x, const void* y, void* out, int64_t rows, int64_t n, int64_t in_size,
                   int64_t out_size, bool x_is_small) {
    run(f, x, y, out, rows, n, in_size, out_size, x_is_small, by_row);
}

void binary_by_column(binary_fn f, const void* x, const void* y, void* out, int64_t rows, int64_t n, int64_t in_size,
                      int64_t out_size, bool x_is_small) {
    run(f, x, y, out, rows, n, in_size, out_size, x_is_small, by_column);
}

}  // namespace clay
