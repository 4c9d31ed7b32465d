// Padding, row by row: the middle of a row is copied as a block, its ends element by element.
#include "copy/pad.hpp"

#include <string.h>

#include "copy/bytes.hpp"
#include "platform/dtypes.hpp"
#include "platform/threads.hpp"

namespace clay {
namespace {

// Which of n elements stands at index `at` of the padded axis (relative to the first element); -1: the constant
int64_t source(int mode, int64_t n, int64_t at) {
    if (at >= 0 && at < n) return at;
    switch (mode) {
    case PAD_REFLECT: return at < 0 ? -at : 2 * (n - 1) - at;
    case PAD_REPLICATE: return at < 0 ? 0 : n - 1;
    case PAD_CIRCULAR: return at < 0 ? at + n : at - n;
    default: return -1;
    }
}

int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

struct Lines {
    const Padding& p;
    int64_t out_size[3], first, from, kept;          // of a row: where the input's elements begin, in the row and in the input, and their number

    explicit Lines(const Padding& padding) : p(padding) {
        for (int i = 0; i < 3; i++) out_size[i] = p.size[i] + p.before[i] + p.after[i];
        first = larger(p.before[2], 0);
        from = larger(-p.before[2], 0);
        kept = larger(p.size[2] - from - larger(-p.after[2], 0), 0);
    }
    // f(row, source) for rows of the result and the row of the input that each comes from, or -1
    template <class F> void each(int64_t begin, int64_t end, F f) const {
        int64_t j = begin % out_size[1], i = begin / out_size[1] % out_size[0], outer = begin / out_size[1] / out_size[0];
        for (int64_t row = begin; row < end; row++) {
            const int64_t a = source(p.mode, p.size[0], i - p.before[0]), b = source(p.mode, p.size[1], j - p.before[1]);
            f(row, a < 0 || b < 0 ? -1 : (outer * p.size[0] + a) * p.size[1] + b);
            if (++j < out_size[1]) continue;
            j = 0;
            if (++i == out_size[0]) i = 0, outer++;
        }
    }
    int64_t end(int64_t j) const { return source(p.mode, p.size[2], j - p.before[2]); }
};

template <class T> void pad_rows(const Lines& l, const T* x, T* out, T value, int64_t begin, int64_t end) {
    const int64_t width = l.out_size[2], n = l.p.size[2];
    l.each(begin, end, [&](int64_t row, int64_t line) {
        T* to = out + row * width;
        if (line < 0) {
            for (int64_t j = 0; j < width; j++) to[j] = value;
            return;
        }
        const T* of = x + line * n;
        for (int64_t j = 0; j < l.first; j++) {
            const int64_t at = l.end(j);
            to[j] = at < 0 ? value : of[at];
        }
        if (l.kept <= 16)
            for (int64_t j = 0; j < l.kept; j++) to[l.first + j] = of[l.from + j];
        else
            copy_bytes(to + l.first, of + l.from, l.kept * (int64_t)sizeof(T));
        for (int64_t j = l.first + l.kept; j < width; j++) {
            const int64_t at = l.end(j);
            to[j] = at < 0 ? value : of[at];
        }
    });
}

// Short rows with a constant border: fill with the constant, then copy the rows, a cache-sized block at a time
template <class T> bool short_lines(const Lines& l) {
    const bool alone = l.out_size[0] == l.p.size[0] && l.out_size[1] == l.p.size[1] && l.p.before[0] == 0 && l.p.before[1] == 0;
    return l.p.mode == PAD_CONSTANT && alone && l.kept * (int64_t)sizeof(T) <= FEW_BYTES;
}

template <class T> void pad_short(const Lines& l, const T* x, T* out, T value, int64_t begin, int64_t end) {
    constexpr int64_t SIZE = sizeof(T);
    const int64_t width = l.out_size[2], n = l.p.size[2];
    for (int64_t row = begin; row < end; row += ACROSS) {
        const int64_t rows = end - row < ACROSS ? end - row : ACROSS;
        T* to = out + row * width;
        fill_bytes(to, &value, rows * width, SIZE);
        copy_rows((const char*)(x + row * n + l.from), n * SIZE, (char*)(to + l.first), width * SIZE, l.kept * SIZE, rows);
    }
}

struct Wide {                                    // complex numbers
    double re, im;
};

template <class T> void pad_all(const void* x, void* out, const Padding& p, const void* value) {
    struct Job {
        Lines lines;
        const T* x;
        T *out, value;
    } job{Lines(p), (const T*)x, (T*)out, T{}};
    if (value) memcpy(&job.value, value, sizeof(T));
    const int64_t* out_size = job.lines.out_size;
    parallel_for(p.outer * out_size[0] * out_size[1], CHEAP_ROWS / (out_size[2] + 8) + 1, [](void* data, int64_t begin, int64_t end) {
        const Job& j = *(const Job*)data;
        (short_lines<T>(j.lines) ? pad_short<T> : pad_rows<T>)(j.lines, j.x, j.out, j.value, begin, end);
    }, &job);
}

template <class T> void back(const void* grad, void* out, const Padding& p) {
    struct Job {
        Lines lines;
        const T* g;
        T* out;
    } job{Lines(p), (const T*)grad, (T*)out};
    const int64_t* out_size = job.lines.out_size;
    parallel_for(p.outer, CHEAP_ROWS / (out_size[0] * out_size[1] * out_size[2] + 1) + 1, [](void* data, int64_t begin, int64_t end) {
        const Job& j = *(const Job*)data;
        const Lines& l = j.lines;
        const int64_t rows = l.out_size[0] * l.out_size[1], width = l.out_size[2], n = l.p.size[2], block = l.p.size[0] * l.p.size[1] * n;
        memset(j.out + begin * block, 0, (size_t)((end - begin) * block) * sizeof(T));
        l.each(begin * rows, end * rows, [&](int64_t row, int64_t line) {
            const T *g = j.g + row * width, *middle = g + l.first;
            T* to = j.out + line * n;
            for (int64_t i = 0; i < n; i++) to[i] += middle[i];
            for (int64_t i = 0; i < l.first; i++) to[l.end(i)] += g[i];
            for (int64_t i = l.first + n; i < width; i++) to[l.end(i)] += g[i];
        });
    }, &job);
}

}  // namespace

void pad_lines(const void* x, void* out, const Padding* shape, int64_t item_size, const void* value) {
    switch (item_size) {
    case 1: return pad_all<uint8_t>(x, out, *shape, value);
    case 2: return pad_all<uint16_t>(x, out, *shape, value);
    case 4: return pad_all<uint32_t>(x, out, *shape, value);
    case 8: return pad_all<uint64_t>(x, out, *shape, value);
    case 16: return pad_all<Wide>(x, out, *shape, value);
    }
}

void pad_back(int dtype, const void* grad, void* out, const Padding* shape) {
    if (dtype == F32) back<float>(grad, out, *shape);
    else if (dtype == F64) back<double>(grad, out, *shape);
}

}  // namespace clay
