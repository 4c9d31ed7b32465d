#include "copy/bytes.hpp"

#include <string.h>

#include <algorithm>
#include <vector>

#include "simd/bytes.hpp"
#include "simd/item_size.hpp"
#include "platform/threads.hpp"

namespace clay {
namespace {

// Note [Page offsets]
// The C library copies blocks of some KB and more by `rep movsb`. On AMD's processors that runs at 3 GB/s instead of 40 if the
// destination's offset in its page is a few bytes above the source's, as in y[1:] = x[:-1] of two large tensors. In that case a
// loop of vector loads and stores is used. It is as fast for blocks that fit a core's caches. For larger ones `rep movsb` takes 0.8
// to 0.95 of the time, because it need not read the lines it overwrites, so it stays the default.
constexpr int64_t LONG = 512, PAST_CACHES = 1 << 19, PAGE = 4096, NEAR = 64;
bool same_page_offset(const void* to, const void* from) {
    const uintptr_t further = ((uintptr_t)to - (uintptr_t)from) % PAGE;
    return further > 0 && further < NEAR;
}

#if defined(__x86_64__)
bool is_amd() {
    __builtin_cpu_init();
    return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx2");
}
const bool by_hand = is_amd();
#else
constexpr bool by_hand = false;
#endif

struct Join {
    const char* const* parts;
    const int64_t *lengths, *starts;     // of each part: bytes per row, and its offset in a row
    int64_t count, total, rows;          // bytes of a row
    char* out;
};

constexpr int64_t PIECE = 1 << 16;       // min bytes per thread

// Copy row by row, beginning at any byte
void join_range(void* data, int64_t begin, int64_t end) {
    const Join& j = *(const Join*)data;
    int64_t at = begin * PIECE, row = at / j.total, within = at % j.total;
    const int64_t stop = std::min(end * PIECE, j.total * j.rows);
    int64_t k = std::upper_bound(j.starts, j.starts + j.count, within) - j.starts - 1;
    while (at < stop) {
        const int64_t done = within - j.starts[k], n = std::min(j.lengths[k] - done, stop - at);
        copy_bytes(j.out + at, j.parts[k] + row * j.lengths[k] + done, n);
        at += n, within += n;
        if (++k == j.count) k = 0, within = 0, row++;
    }
}

struct Half { uint64_t a, b; };
struct Whole { uint64_t a, b, c, d; };

// Rows of sizeof(T) to 2 * sizeof(T) bytes, by two moves that may overlap
template <class T> void few_bytes(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t n, int64_t rows) {
    for (int64_t r = 0; r < rows; r++, from += from_step, to += to_step) {
        T first, last;
        memcpy(&first, from, sizeof first);
        memcpy(&last, from + n - sizeof last, sizeof last);
        memcpy(to, &first, sizeof first);
        memcpy(to + n - sizeof last, &last, sizeof last);
    }
}

// Parts of a few bytes: several rows of one part, then of the next
void join_few(void* data, int64_t begin, int64_t end) {
    const Join& j = *(const Join*)data;
    for (int64_t row = begin; row < end; row += ACROSS) {
        const int64_t rows = std::min(end - row, ACROSS);
        for (int64_t k = 0; k < j.count; k++) {
            const int64_t n = j.lengths[k];
            copy_rows(j.parts[k] + row * n, n, j.out + row * j.total + j.starts[k], j.total, n, rows);
        }
    }
}

}  // namespace

void copy_bytes(void* to, const void* from, int64_t n) {
    if (by_hand && n >= LONG && (n < PAST_CACHES || same_page_offset(to, from))) copy_vectors((char*)to, (const char*)from, n);
    else memcpy(to, from, (size_t)n);
}

void fill_bytes(void* to, const void* element, int64_t n, int64_t size) {
    if (size > 16 || (size & (size - 1)) != 0) {
        for (int64_t i = 0; i < n; i++) memcpy((char*)to + i * size, element, (size_t)size);
        return;
    }
    if (has_vectors && n * size >= VECTOR) return fill_vectors((char*)to, element, n * size, size);
    by_size(size, [=](auto item) {
        memcpy(&item, element, sizeof item);
        for (int64_t i = 0; i < n; i++) memcpy((char*)to + i * (int64_t)sizeof item, &item, sizeof item);
    });
}

void copy_rows(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t n, int64_t rows) {
    if (from_step == n && to_step == n) return copy_bytes(to, from, n * rows);           // one run
    if (n > FEW_BYTES) {
        for (int64_t r = 0; r < rows; r++) copy_bytes(to + r * to_step, from + r * from_step, n);
        return;
    }
    const auto move = n < 2 ? few_bytes<uint8_t> : n < 4 ? few_bytes<uint16_t> : n < 8 ? few_bytes<uint32_t>
                      : n < 16 ? few_bytes<uint64_t> : n < 32 ? few_bytes<Half> : few_bytes<Whole>;
    if (n > 0) move(from, from_step, to, to_step, n, rows);
}

void join_rows(const char* const* parts, const int64_t* lengths, int64_t count, char* out, int64_t rows) {
    std::vector<int64_t> starts((size_t)count);
    int64_t total = 0, longest = 0;
    for (int64_t k = 0; k < count; k++) starts[(size_t)k] = total, total += lengths[k], longest = std::max(longest, lengths[k]);
    if (total == 0 || rows == 0) return;
    Join job{parts, lengths, starts.data(), count, total, rows, out};
    if (longest <= FEW_BYTES) parallel_for(rows, PIECE / total + 1, join_few, &job);
    else parallel_for((total * rows + PIECE - 1) / PIECE, 2, join_range, &job);
}

}  // namespace clay
