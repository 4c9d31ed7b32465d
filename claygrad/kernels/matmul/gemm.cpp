// Note [Products by panels]
// A panel is a few vectors of columns of b, DEPTH rows deep. ROWS rows of a at a time are multiplied by it, with their sums in
// registers. The rows of b are far apart and would evict each other from the cache. So the first rows of a that use a panel also
// write a contiguous copy of it for the others; a panel of a transposed b is transposed into that copy. A transposed `a` is read in
// place, at half the depth, unless its rows are so far apart that they evict each other too: then it is packed in groups of ROWS.
// In a real program, unlike in a benchmark loop, the matrices are not in the cache. So the output, the next rows of a and the next
// panel are prefetched.
#include <string.h>

#include "platform/table.hpp"
#include "matmul/gemm.hpp"
#include "matmul/gemm_few_rows.hpp"
#include "platform/scratch.hpp"
#include "simd/transpose.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr int64_t DEPTH = 512;
constexpr int64_t CHAIN = 128;           // products added in sequence; longer sums are split to bound the rounding error
constexpr int AT_ONCE = 8;               // groups of rows of a transposed a, packed together
constexpr int64_t AHEAD = 32;            // prefetch distance, in rows of b and of a packed a
constexpr int64_t NEAR = 8, FAR = 48;    // the same for a transposed a: to the first-level cache, and to the second
constexpr int64_t CLOSE = 1 << 15;       // a smaller b is not prefetched
constexpr int64_t TALL = 512;            // rows of a that are multiplied by one panel after the other
constexpr int64_t SLAB = 1 << 19;        // and their bytes, which stay in the second-level cache; twice that for a transposed b
constexpr int64_t FAR_APART = 4096;      // from this row distance on (bytes) the rows of a transposed a evict each other

// Rows multiplied at a time: as many as there are registers for sums.
#if defined(__AVX512F__)
constexpr int ROWS = 8;
#elif defined(CLAY_VECTOR_BYTES)
constexpr int ROWS = 6;
#else
constexpr int ROWS = 4;
#endif

template <class T> constexpr int64_t LINE = 64 / sizeof(T);      // elements of a cache line

thread_local Room room_of_a;

// The operands of a block of c
template <class T> struct Block {
    int64_t depth, last;                 // length of the sums; columns of the last vector
    const T* a;
    int64_t a_i, a_p;
    const T* b;
    int64_t ldb;
    T* c;
    int64_t ldc;
    const T* start;
    int64_t start_i;
    T* copy;                             // where to copy the panel, or null
    int64_t next;                        // distance to the next rows of a, for the prefetch; 0 if they belong to another thread
};

// The layout of a's rows; full blocks know it at compile time.
enum Lie { ANYHOW, IN_ROWS, IN_COLUMNS };

// R rows by N vectors of c. PART: the last vector has only `last` columns. Not inlined: it needs all registers.
template <class T, int R, int N, bool PART, Lie LIE = ANYHOW, bool COPY = false>
__attribute__((noinline)) void block(const Block<T>& s) {
    using V = vec<T>;
    const V zero = splat<V>(0);
    const T *a = s.a, *b = s.b;
    const int64_t a_i = LIE == IN_COLUMNS ? 1 : s.a_i, a_p = LIE == IN_ROWS ? 1 : s.a_p, ldb = s.ldb;
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 16
        for (int v = 0; v < N; v++) __builtin_prefetch(s.c + r * s.ldc + v * W<T>, 1);
    if (s.start && s.start != s.c && s.start_i)
#pragma GCC unroll 16
        for (int r = 0; r < R; r++)
#pragma GCC unroll 16
            for (int v = 0; v < N; v++) __builtin_prefetch(s.start + r * s.start_i + v * W<T>);
    V acc[R][N];
    const auto step = [&](int64_t p) __attribute__((always_inline)) {
        V row[N];
#pragma GCC unroll 16
        for (int v = 0; v < N; v++) {
            const T* from = b + p * ldb + v * W<T>;
            if (COPY) __builtin_prefetch(from + AHEAD * ldb);
            row[v] = PART && v == N - 1 ? load_part<V>(from, s.last, zero) : load<V>(from);
            if (COPY) store<V>(s.copy + p * WIDE<T> + v * W<T>, row[v]);
        }
        if (LIE == IN_COLUMNS) {
            __builtin_prefetch(a + (p + NEAR) * a_p);
            __builtin_prefetch(a + (p + FAR) * a_p, 0, 2);
        }
#pragma GCC unroll 16
        for (int r = 0; r < R; r++) {
            const V scale = splat<V>(a[r * a_i + p * a_p]);
#pragma GCC unroll 16
            for (int v = 0; v < N; v++) acc[r][v] = multiply_add(scale, row[v], acc[r][v]);
        }
    };
    int64_t p = 0, start_i = s.start_i;
    const T* start = s.start;
    do {
        const int64_t end = s.depth - p < CHAIN + CHAIN / 2 ? s.depth : p + CHAIN;
#pragma GCC unroll 16
        for (int r = 0; r < R; r++)
#pragma GCC unroll 16
            for (int v = 0; v < N; v++) acc[r][v] = zero;
        if (LIE == IN_ROWS)
            for (; p + R <= end; p += R)
#pragma GCC unroll 16
                for (int q = 0; q < R; q++) {
                    __builtin_prefetch(a + q * a_i + p + s.next);
                    step(p + q);
                }
        for (; p < end; p++) step(p);
        if (start)
#pragma GCC unroll 16
            for (int r = 0; r < R; r++)
#pragma GCC unroll 16
                for (int v = 0; v < N; v++) {
                    const T* from = start + r * start_i + v * W<T>;
                    acc[r][v] = acc[r][v] + (PART && v == N - 1 ? load_part<V>(from, s.last, zero) : load<V>(from));
                }
#pragma GCC unroll 16
        for (int r = 0; r < R; r++)
#pragma GCC unroll 16
            for (int v = 0; v < N; v++) {
                T* to = s.c + r * s.ldc + v * W<T>;
                if (PART && v == N - 1) store_part<V>(to, acc[r][v], s.last);
                else store<V>(to, acc[r][v]);
            }
        start = s.c, start_i = s.ldc;
    } while (p < s.depth);
}

// As block, for 0 < rows <= R
template <class T, int R, int N, bool PART> void some(int64_t rows, const Block<T>& s) {
    if (R == 1 || rows == R) return block<T, R, N, PART>(s);
    some<T, R == 1 ? 1 : R - 1, N, PART>(rows, s);
}

// Rows of a as they are read. If `group` is not 0, a is packed in groups (see next_rows) that are `group` apart.
template <class T> struct Slab {
    int64_t rows, depth;
    const T* a;
    int64_t a_i, a_p, group;
};

template <class T> inline void move_group(const T* from, T* to) {
    if constexpr (ROWS == 8) {
        typedef T Group __attribute__((vector_size(ROWS * sizeof(T)), aligned(sizeof(T)), may_alias));
        *(Group*)to = *(const Group*)from;
    } else {
        for (int r = 0; r < ROWS; r++) to[r] = from[r];
    }
}

// Packs a transposed a in groups. A few cache lines of each row are read at a time, and each goes to a group of its own.
template <class T> void in_groups(const T* a, int64_t a_p, int64_t rows, int64_t depth, T* to, int64_t group) {
    for (int64_t left = rows; left > 0;) {
        const int64_t size = next_rows<ROWS>(left), many = left >= (AT_ONCE + 1) * ROWS ? AT_ONCE : 1;
        for (int64_t d = 0; d < depth; d++) {
            const T* from = a + d * a_p;
            T* at = to + d * ROWS;
            for (int64_t r = 0; r < many * size; r += LINE<T>) __builtin_prefetch(from + AHEAD * a_p + r);
            if (many == AT_ONCE)
#pragma GCC unroll 16
                for (int g = 0; g < AT_ONCE; g++) move_group(from + g * ROWS, at + g * group);
            else if (size == ROWS) move_group(from, at);
            else
                for (int64_t r = 0; r < size; r++) at[r] = from[r];
        }
        left -= many * size, a += many * size, to += many * group;
    }
}

template <class T> Slab<T> slab_of(const GemmJob<T>& job, int64_t i, int64_t rows, int64_t p, int64_t depth) {
    const Slab<T> as_it_is{rows, depth, job.a + i * job.a_i + p * job.a_p, job.a_i, job.a_p, 0};
    if (job.n <= 2 * WIDE<T> || rows < ROWS) return as_it_is;
    if (job.a_i == 1 && job.a_p * (int64_t)sizeof(T) >= FAR_APART) {
        const int64_t group = ROWS * depth + 64 / (int64_t)sizeof(T);        // padded, so that groups begin in different cache sets
        T* to = (T*)room_of_a.get((rows / ROWS + 2) * group * sizeof(T));
        if (!to) return as_it_is;
        in_groups(as_it_is.a, job.a_p, rows, depth, to, group);
        return {rows, depth, to, 1, ROWS, group};
    }
    return as_it_is;
}

// ROWS rows times a whole panel, which the first rows copy
template <class T, Lie LIE> void whole(Block<T>& s) {
    if (!s.copy) return block<T, ROWS, C<T>, false, LIE>(s);
    block<T, ROWS, C<T>, false, LIE, true>(s);
    s.b = s.copy, s.ldb = WIDE<T>, s.copy = nullptr;
}

// A panel in place in b, prefetched in eight parts
template <class T> struct Ahead {
    int64_t rows, width;
    const T* b;
    int64_t ldb, part = (rows + 7) / 8;
    void fetch() {
        for (int64_t end = rows > part ? rows - part : 0; rows > end; rows--, b += ldb)
            for (int64_t i = 0; i < width; i += LINE<T>) __builtin_prefetch(b + i, 0, 2);
    }
};

// All rows of a slab times one panel
template <class T, int N, bool PART> void strip(const Slab<T>& slab, Block<T> s, Ahead<T> ahead) {
    s.a = slab.a, s.a_i = slab.a_i, s.a_p = slab.a_p, s.depth = slab.depth;
    for (int64_t left = slab.rows; left > 0;) {
        const int64_t rows = next_rows<ROWS>(left);
        s.next = rows < left ? rows * s.a_i : 0;
        if (PART || rows < ROWS) some<T, ROWS - !PART, N, PART>(rows, s);
        else if (s.a_p == 1) whole<T, IN_ROWS>(s);
        else whole<T, IN_COLUMNS>(s);
        ahead.fetch();
        left -= rows;
        s.a += slab.group ? slab.group : rows * s.a_i;
        s.c += rows * s.ldc;
        if (s.start) s.start += rows * s.start_i;
    }
}

// The panel of b at row p and column j; null past the end.
template <class T> Ahead<T> panel_at(const GemmJob<T>& job, int64_t p, int64_t j, int64_t depth) {
    const int64_t deep = job.k - p < depth ? job.k - p : depth, width = job.n - j < WIDE<T> ? job.n - j : WIDE<T>;
    if (job.b_is_nk) return {deep > 0 ? width : 0, deep, job.b + j * job.ldb + p, job.ldb};
    return {deep, width, job.b + p * job.ldb + j, job.ldb};
}

template <class T> void by_panels(const GemmJob<T>& job) {
    alignas(64) T panel[DEPTH * WIDE<T>];
    const int64_t largest = job.a_p == 1 ? DEPTH : DEPTH / 2;
    const bool near = job.n * job.k * (int64_t)sizeof(T) <= CLOSE, together = job.ldb * job.k * (int64_t)sizeof(T) <= CLOSE / 2;
    int64_t share = job.k, tall = job.m;
    if (job.k > largest) {
        const int64_t rounds = ceil_div(job.k, largest);
        share = ceil_div(job.k, rounds);
    }
    if (job.m > TALL || job.m * share * (int64_t)sizeof(T) > SLAB) {     // a division would be a measurable part of a small product
        tall = (job.b_is_nk ? 2 : 1) * SLAB / (int64_t)sizeof(T) / share / ROWS * ROWS;
        if (tall > TALL) tall = TALL;
        if (job.m < tall + tall / 2) tall = job.m;
    }
    for (int64_t p = 0; p < job.k; p += share)
        for (int64_t i = 0; i < job.m; i += tall) {
            const int64_t depth = job.k - p < share ? job.k - p : share;
            const Slab<T> slab = slab_of(job, i, job.m - i < tall ? job.m - i : tall, p, depth);
            const T* start = p > 0 ? job.c : job.start;
            Block<T> s{};
            s.ldc = job.ldc, s.start_i = p > 0 ? job.ldc : job.start_i;
            for (int64_t j = 0; j < job.n;) {
                const int64_t left = job.n - j, width = left >= WIDE<T> ? WIDE<T> : W<T> > 1 ? left : 1;
                if (job.b_is_nk) {
                    transpose(job.b + j * job.ldb + p, job.ldb, panel, WIDE<T>, width, depth);
                    s.b = panel, s.ldb = WIDE<T>;
                } else {
                    s.b = job.b + p * job.ldb + j, s.ldb = job.ldb;
                    s.copy = width == WIDE<T> && !together && job.ldb != width && slab.rows >= ROWS + ROWS / 2 ? panel : nullptr;
                }
                s.c = job.c + i * job.ldc + j;
                s.start = start ? start + i * s.start_i + j : nullptr;
                s.last = width > W<T> ? width - W<T> : width;
                j += width;
                const Ahead<T> ahead = near ? Ahead<T>{} : j < job.n ? panel_at(job, p, j, depth)
                                                                     : panel_at(job, i + tall < job.m ? p : p + share, 0, share);
                if (width == WIDE<T>) strip<T, C<T>, false>(slab, s, ahead);
                else if (width > W<T>) strip<T, C<T>, true>(slab, s, ahead);
                else strip<T, 1, true>(slab, s, ahead);
            }
        }
    room_of_a.give_back();
}

// These choices must be the same for a share of a product as for the whole: see shared_out.
constexpr int64_t FEW = 16, MIN_COLUMNS = 32;  // rows and columns
constexpr int64_t SHORT = 32;            // for shorter rows, adding up the lanes of a vector takes longer than multiplying
constexpr int64_t PAIRED = 4;            // with fewer rows the additions of a panel would wait for each other
constexpr int64_t NEARBY = 1 << 20;      // a smaller b stays in the second-level cache and need not be read in order

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, const void* a, int64_t a_i, int64_t a_p, const void* b, int64_t ldb,
          bool b_is_nk, void* c, int64_t ldc, const void* start, int64_t start_i) {
    if (k == 1 && b_is_nk && ldb == 1) b_is_nk = false, ldb = n;      // a single row is the same transposed
    GemmJob<T> job{m, n, k, (const T*)a, a_i, a_p, (const T*)b, ldb, b_is_nk, (T*)c, ldc, (const T*)start, start_i};
    const int64_t b_p = b_is_nk ? 1 : ldb;
    if (a_p == 1 && b_p == 1 && n == 1)
        return by_dots<InVectors<T>>(1, m, Dots<T>{k, job.b, 0, job.a, a_i, job.c, 0, ldc, job.start, 0, start_i});
    if (a_p == 1 && b_is_nk && m < FEW && (m == 1 || k >= SHORT))
        return by_dots<InVectors<T>>(m, n, Dots<T>{k, job.a, a_i, job.b, ldb, job.c, ldc, 1, job.start, start_i, 1});
    if (n == 1 && a_i == 1 && ldc == 1 && (!start || start_i == 1))   // a column is a row of the transposed product
        job = {1, m, k, (const T*)b, 1, b_p, (const T*)a, a_p, false, (T*)c, m, (const T*)start, m};
    if (!job.b_is_nk && job.m < FEW && job.n >= MIN_COLUMNS && (job.m < PAIRED || job.ldb * k * (int64_t)sizeof(T) > NEARBY))
        return by_streams(job);
    by_panels(job);
}

}  // namespace

const Kernel gemm_kernels[] = {{"gemm", F32, (void*)gemm<float>}, {"gemm", F64, (void*)gemm<double>}};
CLAY_COUNT(gemm)

}  // namespace CLAY_ISA
}  // namespace clay
