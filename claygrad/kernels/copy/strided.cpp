// Strided copies.
#include <stdint.h>
#include <string.h>

#include "copy/bytes.hpp"
#include "platform/dtypes.hpp"
#include "platform/api.hpp"
#include "elementwise/params.hpp"
#include "platform/threads.hpp"
#include "simd/bytes.hpp"
#include "simd/shuffle.hpp"

namespace clay {
namespace {

constexpr int MAX_DIMS = 66;             // the core's 64, plus axes split here
constexpr int64_t SQUARE = 32;           // side of a transposed tile: its source and destination rows fit the first-level cache

struct Walk {
    const char* src;
    char* dst;
    int64_t shape[MAX_DIMS], from[MAX_DIMS], to[MAX_DIMS];     // strides in bytes
    int ndim = 0;
    int64_t item = 0;

    void add(int64_t size, int64_t from_step, int64_t to_step) {
        shape[ndim] = size, from[ndim] = from_step, to[ndim] = to_step;
        ndim++;
    }
    void swap(int i, int j) {
        int64_t s = shape[i], f = from[i], t = to[i];
        shape[i] = shape[j], from[i] = from[j], to[i] = to[j];
        shape[j] = s, from[j] = f, to[j] = t;
    }
    void move_last(int i) {
        for (; i + 1 < ndim; i++) swap(i, i + 1);
    }
};

int64_t size_of(int64_t step) { return step < 0 ? -step : step; }

// Sort the axes by the destination's strides and merge neighbours that are contiguous.
Walk plan(const char* src, const int64_t* from, char* dst, const int64_t* to, const int64_t* shape, int ndim,
          int64_t item) {
    Walk w;
    w.src = src, w.dst = dst, w.item = item;
    for (int d = 0; d < ndim; d++)
        if (shape[d] != 1) w.add(shape[d], from[d], to[d]);
    for (int i = 1; i < w.ndim; i++)
        for (int j = i; j > 0 && size_of(w.to[j - 1]) < size_of(w.to[j]); j--) w.swap(j - 1, j);
    int kept = 0;
    for (int d = 1; d < w.ndim; d++) {
        if (w.from[kept] == w.from[d] * w.shape[d] && w.to[kept] == w.to[d] * w.shape[d]) {
            w.shape[kept] *= w.shape[d];
            w.from[kept] = w.from[d], w.to[kept] = w.to[d];
        } else {
            kept++;
            w.shape[kept] = w.shape[d], w.from[kept] = w.from[d], w.to[kept] = w.to[d];
        }
    }
    if (w.ndim > 0) w.ndim = kept + 1;
    for (int last = w.ndim - 1; last > 0 && w.from[last] == w.item && w.to[last] == w.item; last--) {
        const int64_t bytes = w.shape[last] * w.item;            // a few contiguous elements are copied as one
        if (bytes > 16 || (bytes & (bytes - 1)) != 0) break;
        w.item = bytes, w.ndim = last;
    }
    return w;
}

typedef uint64_t Bytes16 __attribute__((vector_size(16)));

template <class T> void line(const char* src, int64_t from, char* dst, int64_t to, int64_t n, int64_t) {
    typedef T Loose __attribute__((aligned(1), may_alias));
    if (to == (int64_t)sizeof(T) && from == 2 * to) {                  // every second element, such as the real parts of complex numbers
        for (int64_t i = 0; i < n; i++) ((Loose*)dst)[i] = ((const Loose*)src)[2 * i];
        return;
    }
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; i++) {
        T value;                         // by memcpy: the address may be unaligned
        memcpy(&value, src + i * from, sizeof value);
        memcpy(dst + i * to, &value, sizeof value);
    }
}

template <class T> using Few __attribute__((vector_size(16))) = T;
Few<uint32_t> back(Few<uint32_t> x) { return CLAY_SHUFFLE(Few<uint32_t>, x, x, 3, 2, 1, 0); }
Few<uint16_t> back(Few<uint16_t> x) {                                  // swap within pairs first: not every instruction set can shuffle eight 16-bit lanes
    const auto pairs = (Few<uint32_t>)x;
    return (Few<uint16_t>)back(pairs >> 16 | pairs << 16);
}
Few<uint64_t> back(Few<uint64_t> x) { return CLAY_SHUFFLE(Few<uint64_t>, x, x, 1, 0); }

// Copy a row in reverse; four vectors at a time, so that speed does not depend on the loop's alignment
template <class T> void line_back(const char* src, int64_t, char* dst, int64_t, int64_t n, int64_t) {
    constexpr int64_t SIZE = sizeof(T), SEVERAL = 4 * 16 / SIZE;
    int64_t i = 0;
    for (; i + SEVERAL <= n; i += SEVERAL)
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            Few<T> values;
            memcpy(&values, src - i * SIZE - 16 * k - (16 - SIZE), sizeof values);
            values = back(values);
            memcpy(dst + i * SIZE + 16 * k, &values, sizeof values);
        }
    for (; i < n; i++) {
        T value;
        memcpy(&value, src - i * SIZE, sizeof value);
        memcpy(dst + i * SIZE, &value, sizeof value);
    }
}

template <> void line_back<uint8_t>(const char* src, int64_t, char* dst, int64_t, int64_t n, int64_t) {
    int64_t i = has_vectors ? reverse_vectors(src, dst, n) : 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t bytes;
        memcpy(&bytes, src - i - 7, sizeof bytes);
        bytes = __builtin_bswap64(bytes);
        memcpy(dst + i, &bytes, sizeof bytes);
    }
    for (; i < n; i++) dst[i] = src[-i];
}

void line_any(const char* src, int64_t from, char* dst, int64_t to, int64_t n, int64_t item) {
    for (int64_t i = 0; i < n; i++) memcpy(dst + i * to, src + i * from, (size_t)item);
}

void line_whole(const char* src, int64_t, char* dst, int64_t, int64_t n, int64_t item) {
    copy_bytes(dst, src, n * item);
}

void line_same(const char* src, int64_t, char* dst, int64_t, int64_t n, int64_t item) { fill_bytes(dst, src, n, item); }

using line_fn = void (*)(const char*, int64_t, char*, int64_t, int64_t, int64_t);

// Shorter rows that are not contiguous are copied by columns: one element of each row at a time, for as many rows as stay in the
// first-level cache.
constexpr int64_t SHORT = 6;

line_fn line_for(const Walk& w, int axis) {
    if (w.from[axis] == w.item && w.to[axis] == w.item) return line_whole;
    if (w.from[axis] == 0 && w.to[axis] == w.item && w.shape[axis] > 8) return line_same;
    if (w.from[axis] == -w.item && w.to[axis] == w.item) {
        if (w.item == 4) return line_back<uint32_t>;
        if (w.item == 8) return line_back<uint64_t>;
        if (w.item == 1) return line_back<uint8_t>;
        if (w.item == 2) return line_back<uint16_t>;
    }
    switch (w.item) {
    case 1: return line<uint8_t>;
    case 2: return line<uint16_t>;
    case 4: return line<uint32_t>;
    case 8: return line<uint64_t>;
    case 16: return line<Bytes16>;
    }
    return line_any;
}

using transpose_fn = void (*)(const void* from, int64_t from_step, void* to, int64_t to_step, int64_t n, int64_t m);

struct Job {
    const Walk* walk;
    int outer;                           // axes iterated one index at a time
    line_fn copy;
    bool across = false;                 // short rows are copied by columns
    transpose_fn transpose = nullptr;     // for transposed planes
};

// Index `at` of the outer axes, as byte offsets.
void offsets(const Walk& w, int outer, int64_t at, int64_t& from, int64_t& to) {
    from = to = 0;
    for (int d = outer - 1; d >= 0; d--) {
        int64_t i = at % w.shape[d];
        at /= w.shape[d];
        from += i * w.from[d], to += i * w.to[d];
    }
}

void copy_lines(void* data, int64_t begin, int64_t end) {
    const Job& job = *(const Job*)data;
    const Walk& w = *job.walk;
    const int last = w.ndim - 1, row = w.ndim - 2;       // the axis of a row, and the axis of rows
    while (begin < end) {
        int64_t from, to, count = 1;
        offsets(w, job.outer, begin, from, to);
        if (row >= 0) {
            count = w.shape[row] - begin % w.shape[row];
            if (count > end - begin) count = end - begin;
        }
        begin += count;
        for (int64_t i = 0; job.across && i < count; i += ACROSS)
            for (int64_t j = 0; j < w.shape[last]; j++)
                job.copy(w.src + from + i * w.from[row] + j * w.from[last], w.from[row],
                         w.dst + to + i * w.to[row] + j * w.to[last], w.to[row], count - i < ACROSS ? count - i : ACROSS, w.item);
        if (job.copy == line_whole && row >= 0) {
            copy_rows(w.src + from, w.from[row], w.dst + to, w.to[row], w.shape[last] * w.item, count);
            continue;
        }
        for (int64_t i = 0; !job.across && i < count; i++)
            job.copy(w.src + from + (row >= 0 ? i * w.from[row] : 0), w.from[last],
                     w.dst + to + (row >= 0 ? i * w.to[row] : 0), w.to[last], w.shape[last], w.item);
    }
}

// The last two axes are a transposed plane: copied in bands of SQUARE rows, tile by tile.
void copy_tiles(void* data, int64_t begin, int64_t end) {
    const Job& job = *(const Job*)data;
    const Walk& w = *job.walk;
    const int a = w.ndim - 2, b = w.ndim - 1;
    const int64_t bands = (w.shape[a] + SQUARE - 1) / SQUARE;
    for (int64_t task = begin; task < end; task++) {
        int64_t from, to;
        offsets(w, job.outer, task / bands, from, to);
        int64_t first = task % bands * SQUARE, stop = first + SQUARE < w.shape[a] ? first + SQUARE : w.shape[a];
        for (int64_t j = 0; j < w.shape[b]; j += SQUARE) {
            int64_t width = w.shape[b] - j < SQUARE ? w.shape[b] - j : SQUARE;
            for (int64_t i = first; i < stop; i++)
                job.copy(w.src + from + i * w.from[a] + j * w.from[b], w.from[b],
                         w.dst + to + i * w.to[a] + j * w.to[b], w.to[b], width, w.item);
        }
    }
}

// Note [Transposed planes]
// A row of the source is a column of the destination. LINES rows of the source, REACH elements of each, are copied at a time to short
// pieces of REACH rows of the destination, so that a cache line is completed before it leaves the second-level cache.
constexpr int64_t LINES = 64, REACH = 1024;

int64_t pieces(int64_t n, int64_t size) { return (n + size - 1) / size; }

void copy_planes(void* data, int64_t begin, int64_t end) {
    const Job& job = *(const Job*)data;
    const Walk& w = *job.walk;
    const int a = w.ndim - 2, b = w.ndim - 1;
    const int64_t bands = pieces(w.shape[b], LINES), reaches = pieces(w.shape[a], REACH), item = w.item;
    for (int64_t task = begin; task < end; task++) {
        int64_t from, to;
        offsets(w, job.outer, task / (bands * reaches), from, to);
        const int64_t line = task % bands * LINES, at = task / bands % reaches * REACH;
        const int64_t lines = w.shape[b] - line < LINES ? w.shape[b] - line : LINES;
        const int64_t reach = w.shape[a] - at < REACH ? w.shape[a] - at : REACH;
        job.transpose(w.src + from + line * w.from[b] + at * item, w.from[b] / item, w.dst + to + line * item + at * w.to[a],
                   w.to[a] / item, lines, reach);
    }
}

bool is_plane(const Walk& w) {
    const int a = w.ndim - 2, b = w.ndim - 1;
    const int64_t steps = w.from[b] | w.to[a] | (int64_t)(uintptr_t)w.src | (int64_t)(uintptr_t)w.dst;
    return (w.item == 4 || w.item == 8) && w.from[a] == w.item && w.to[b] == w.item && steps % w.item == 0;
}

}  // namespace

void copy_strided(const char* src, const int64_t* src_strides, char* dst, const int64_t* dst_strides,
                  const int64_t* shape, int ndim, int64_t item_size) {
    for (int d = 0; d < ndim; d++)       // with a size of 0 the product of the others may overflow
        if (shape[d] == 0) return;
    int64_t total = item_size;
    for (int d = 0; d < ndim; d++) total *= shape[d];
    Walk w = plan(src, src_strides, dst, dst_strides, shape, ndim, item_size);
    if (w.ndim == 0) {
        memcpy(dst, src, (size_t)item_size);
        return;
    }
    constexpr int64_t PIECE = 1 << 16;   // min bytes per thread
    if (w.ndim == 1 && total >= 4 * PIECE) {
        // One contiguous run: split it among threads.
        int64_t count = PIECE / w.item, whole = w.shape[0] / count, rest = w.shape[0] % count;
        int64_t done = whole * count;
        line_for(w, 0)(src + done * w.from[0], w.from[0], dst + done * w.to[0], w.to[0], rest, w.item);
        w.shape[0] = count;
        w.add(whole, count * w.from[0], count * w.to[0]);
        w.swap(0, 1);
    }
    int last = w.ndim - 1, near = last;
    for (int d = 0; d < last; d++)
        if (w.from[d] != 0 && size_of(w.from[d]) < size_of(w.from[near])) near = d;
    if (near != last && w.shape[near] >= 4 && w.shape[last] >= 4) {
        // Source and destination are contiguous along different axes.
        w.move_last(near);
        w.swap(last - 1, last);
        Job job{&w, w.ndim - 2, line_for(w, last)};
        if (is_plane(w)) job.transpose = (transpose_fn)find("plane", "transpose", w.item == 4 ? F32 : F64);
        int64_t tasks = job.transpose ? pieces(w.shape[last], LINES) * pieces(w.shape[last - 1], REACH) : pieces(w.shape[last - 1], SQUARE);
        for (int d = 0; d < job.outer; d++) tasks *= w.shape[d];
        parallel_for(tasks, PIECE / (total / tasks) + 1, job.transpose ? copy_planes : copy_tiles, &job);
        return;
    }
    const bool across = last > 0 && w.shape[last] < SHORT && w.shape[last - 1] > 4 * SHORT &&
                        (w.from[last] != w.item || w.to[last] != w.item || w.shape[last] * w.item < 16);
    Job job{&w, w.ndim - 1, line_for(w, across ? last - 1 : last), across};
    int64_t lines = total / w.item / w.shape[last];
    parallel_for(lines, PIECE / (w.shape[last] * w.item) + 1, copy_lines, &job);
}

namespace {

struct TriangleJob {
    const char* x;
    char* out;
    int64_t rows, columns, diagonal, item;
    bool upper;
};

// Rows that are kept whole, or are all zeros, are handled together.
void triangle_range(void* data, int64_t begin, int64_t end) {
    const TriangleJob& job = *(const TriangleJob*)data;
    for (int64_t r = begin, next; r < end; r = next) {
        const int64_t row = r % job.rows, edge = row + job.diagonal + (job.upper ? 0 : 1);          // columns left of the diagonal
        const int64_t left = edge < 0 ? 0 : edge > job.columns ? job.columns : edge, line = job.columns * job.item;
        int64_t equal_rows = job.rows - row;                          // rows that are kept whole, or all zeros, like this one
        if (edge < job.columns) equal_rows = edge >= 0 ? 1 : -edge < equal_rows ? -edge : equal_rows;
        next = r + equal_rows < end ? r + equal_rows : end;
        const int64_t start = r * line, kept = (job.upper ? job.columns - left : left) * job.item;
        if (left == 0 || left == job.columns) {
            if (kept) copy_bytes(job.out + start, job.x + start, (next - r) * line);
            else memset(job.out + start, 0, (size_t)((next - r) * line));
            continue;
        }
        const int64_t from = start + (job.upper ? line - kept : 0);
        copy_bytes(job.out + from, job.x + from, kept);
        memset(job.out + (job.upper ? start : start + kept), 0, (size_t)(line - kept));
    }
}

}  // namespace

void triangle(const void* x, void* out, int64_t count, int64_t rows, int64_t columns, int64_t diagonal, bool upper,
              int64_t item_size) {
    if (count * rows * columns <= 0) return;
    TriangleJob job{(const char*)x, (char*)out, rows, columns, diagonal, item_size, upper};
    parallel_for(count * rows, (1 << 16) / (columns * item_size) + 1, triangle_range, &job);
}

namespace {

struct TakeJob {
    const char* x;
    const int64_t* index;
    char* out;
    int64_t rows, bytes;
};

template <int64_t SIZE> void take_range(void* data, int64_t begin, int64_t end) {
    const TakeJob& job = *(const TakeJob*)data;
    const int64_t bytes = SIZE ? SIZE : job.bytes;
    for (int64_t i = begin; i < end; i++) {
        int64_t row = job.index[i] < 0 ? job.index[i] + job.rows : job.index[i];
        if (SIZE) memcpy(job.out + i * bytes, job.x + row * bytes, (size_t)bytes);
        else copy_bytes(job.out + i * bytes, job.x + row * bytes, bytes);
    }
}

}  // namespace

int64_t take_rows(const void* x, const int64_t* index, void* out, int64_t count, int64_t x_rows, int64_t row_bytes) {
    for (int64_t i = 0; i < count; i++)
        if (index[i] < -x_rows || index[i] >= x_rows) return i;
    if (row_bytes <= 0) return -1;
    TakeJob job{(const char*)x, index, (char*)out, x_rows, row_bytes};
    range_body body = row_bytes == 4 ? take_range<4> : row_bytes == 8 ? take_range<8> : take_range<0>;
    parallel_for(count, (1 << 16) / row_bytes + 1, body, &job);
    return -1;
}

}  // namespace clay
