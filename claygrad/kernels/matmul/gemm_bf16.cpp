// Note [Products of bfloat16]
// As Note [Products by panels], with an instruction that adds two products to a float32 sum: two consecutive elements along the sum
// are a pair and take the space of one float32. If the length is odd, the last element is paired with a zero in both factors (with a
// zero in one factor only, an infinity in the other would give NaN). Sums stay in float32, also between panels, and are rounded once.
// The instruction treats subnormal numbers as zero. PyTorch computes products of up to SMALL multiplications in another way, which
// keeps them; so do we, by the float32 kernel.
#include "platform/dtypes.hpp"
#include "matmul/gemm.hpp"
#include "matmul/gemm_bf16.hpp"
#include "platform/scratch.hpp"

namespace clay {

namespace avx512 { extern const Kernel gemm_kernels[]; }

namespace CLAY_ISA {
namespace {

constexpr int64_t TALL = 512;            // rows of a that are multiplied by one panel after the other
constexpr int64_t SLAB = 1 << 19;        // and their bytes, in the second-level cache
constexpr int64_t CHUNK = 512;           // columns whose sums are kept between depths
constexpr int64_t PANELS = 4;            // panels packed at a time if b is not transposed: its rows are far apart
constexpr int64_t SMALL = 4096;
constexpr int64_t FEW = 16, SHORT = 64;  // rows; and the length below which adding up lanes takes longer than multiplying

thread_local Room room_of_a, room_of_b, room_of_sums;

template <class Out> using Job = GemmJob<Bf16, Out>;

// The operands of a block of c
template <class Out> struct Block {
    int64_t pairs;
    bool odd;                            // the length is odd
    const char* a;
    int64_t a_i, a_p;                    // in bytes
    const Pair* b;
    int64_t width;
    const float* before;                 // sums of the panels before, or null
    float* sums;                         // where to keep sums for the next panel; null: this is the last
    int64_t ld_sums;
    Out* c;
    int64_t ldc;
    const Out* start;
    int64_t start_i;
    int64_t next;                        // distance to the next rows of a, for the prefetch, or 0
};

enum Lie { ANYHOW, IN_ROWS, IN_GROUPS };

inline Numbers one_pair(const char* at) {
    Pair pair;
    memcpy(&pair, at, sizeof pair);
    return pair_in_all(pair);
}
inline Numbers one_number(const char* at) {
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    return pair_in_all(bits);
}

// R rows by N vectors of c. Not inlined: it needs all registers.
template <class Out, int R, int N, Lie LIE> __attribute__((noinline)) void block(const Block<Out>& s) {
    const char* a = s.a;
    const int64_t a_i = LIE == IN_GROUPS ? (int64_t)sizeof(Pair) : s.a_i;
    const int64_t a_p = LIE == IN_ROWS ? (int64_t)sizeof(Pair) : LIE == IN_GROUPS ? ROWS * (int64_t)sizeof(Pair) : s.a_p;
    f32v acc[R][N];
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
        __builtin_prefetch(s.c + r * s.ldc, 1);
#pragma GCC unroll 16
        for (int v = 0; v < N; v++) acc[r][v] = splat<f32v>(0);
    }
    const auto step = [&](int64_t p, auto read) __attribute__((always_inline)) {
        Numbers row[N];
#pragma GCC unroll 16
        for (int v = 0; v < N; v++) row[v] = load_pairs(s.b + p * WIDE + v * 16);
#pragma GCC unroll 16
        for (int r = 0; r < R; r++) {
            const Numbers scale = read(a + r * a_i + p * a_p);
#pragma GCC unroll 16
            for (int v = 0; v < N; v++) acc[r][v] = pairs_added(scale, row[v], acc[r][v]);
        }
    };
    int64_t p = 0;
    if (LIE == IN_ROWS)
        for (; p + R <= s.pairs; p += R)
#pragma GCC unroll 16
            for (int q = 0; q < R; q++) {
                __builtin_prefetch(a + q * a_i + p * a_p + s.next);
                step(p + q, one_pair);
            }
    for (; p < s.pairs; p++) step(p, one_pair);
    if (s.odd) step(p, one_number);
    if (s.before)
#pragma GCC unroll 16
        for (int r = 0; r < R; r++)
#pragma GCC unroll 16
            for (int v = 0; v < N; v++) acc[r][v] = acc[r][v] + floats(s.before + r * s.ld_sums + v * 16, s.width - v * 16);
    if (s.sums) {
#pragma GCC unroll 16
        for (int r = 0; r < R; r++)
#pragma GCC unroll 16
            for (int v = 0; v < N; v++) put(s.sums + r * s.ld_sums + v * 16, acc[r][v], s.width - v * 16);
        return;
    }
    if (s.start)
#pragma GCC unroll 16
        for (int r = 0; r < R; r++)
#pragma GCC unroll 16
            for (int v = 0; v < N; v++) acc[r][v] = acc[r][v] + floats(s.start + r * s.start_i + v * 16, s.width - v * 16);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 16
        for (int v = 0; v < N; v++) put(s.c + r * s.ldc + v * 16, acc[r][v], s.width - v * 16);
}

// As block, for 0 < rows <= R
template <class Out, int R, int N> void some(int64_t rows, const Block<Out>& s) {
    if (R == 1 || rows == R) return block<Out, R, N, ANYHOW>(s);
    some<Out, R == 1 ? 1 : R - 1, N>(rows, s);
}

// All rows of a slab times one panel; a packed slab has groups of rows.
template <class Out, int N> void strip(int64_t left, int64_t group, Block<Out> s) {
    while (left > 0) {
        const int64_t rows = !group ? next_rows<ROWS>(left) : left < ROWS ? left : ROWS;
        s.next = rows < left ? rows * s.a_i : 0;
        if (rows < ROWS) some<Out, ROWS - 1, N>(rows, s);
        else if (group) block<Out, ROWS, N, IN_GROUPS>(s);
        else block<Out, ROWS, N, IN_ROWS>(s);
        left -= rows;
        s.a += group ? group * (int64_t)sizeof(Pair) : rows * s.a_i;
        s.c += rows * s.ldc;
        if (s.start) s.start += rows * s.start_i;
        if (s.before) s.before += rows * s.ld_sums;
        if (s.sums) s.sums += rows * s.ld_sums;
    }
}

constexpr int64_t PANEL = DEPTH * WIDE;

// Pairs per group of a packed a
int64_t group_size(int64_t depth) { return ROWS * ((depth + 1) / 2) + 16; }      // padded, so that groups begin in different cache sets
int64_t groups_of(int64_t rows) { return (rows + 31) / 32 * 4; }

struct Rooms {
    Pair *panels, *groups;
    float* sums;
};

// `rows` by `columns` elements of c at (i, j): `depth` terms of the sum from p on
template <class Out>
void slab(const Job<Out>& job, int64_t i, int64_t rows, int64_t j0, int64_t columns, int64_t p, int64_t depth, const Rooms& rooms) {
    Pair* const panels = rooms.panels;
    Block<Out> first{};
    int64_t group = 0;
    first.pairs = depth / 2, first.odd = depth % 2;
    first.a = (const char*)(job.a + i * job.a_i + p * job.a_p);
    first.a_i = job.a_i * (int64_t)sizeof(Bf16), first.a_p = sizeof(Pair);
    if (job.a_p != 1) {
        first.pairs += first.odd, first.odd = false;
        group = group_size(depth);
        pack_groups((const Bf16*)first.a, job.a_p, rows, depth, rooms.groups, group);
        first.a = (const char*)rooms.groups, first.a_i = sizeof(Pair), first.a_p = ROWS * sizeof(Pair);
    }
    first.ld_sums = columns, first.ldc = job.ldc, first.start_i = job.start_i;
    const bool last = p + depth == job.k;
    for (int64_t j = 0; j < columns; j += WIDE) {
        Block<Out> s = first;
        s.width = columns - j < WIDE ? columns - j : WIDE;
        const int64_t which = job.b_is_nk ? 0 : j / WIDE % PANELS, several = PANELS * WIDE;
        if (job.b_is_nk) pack_columns(job.b + (j0 + j) * job.ldb + p, job.ldb, s.width, depth, panels);
        else if (which == 0)
            pack_rows(job.b + p * job.ldb + j0 + j, job.ldb, columns - j < several ? columns - j : several, depth, panels, PANEL);
        s.b = panels + which * PANEL;
        s.c = job.c + i * job.ldc + j0 + j;
        s.start = job.start ? job.start + i * job.start_i + j0 + j : nullptr;
        s.before = p > 0 ? rooms.sums + j : nullptr;
        s.sums = last ? nullptr : rooms.sums + j;
        if (s.width > 16) strip<Out, 2>(rows, group, s);
        else strip<Out, 1>(rows, group, s);
    }
}

void round_to(float* to, float x) { *to = x; }
void round_to(Bf16* to, float x) { *to = bf16_of(x); }

// Without scratch memory
template <class Out> void one_by_one(const Job<Out>& job) {
    const int64_t b_p = job.b_is_nk ? 1 : job.ldb, b_j = job.b_is_nk ? job.ldb : 1;
    for (int64_t i = 0; i < job.m; i++)
        for (int64_t j = 0; j < job.n; j++) {
            float sum = 0;
            for (int64_t p = 0; p < job.k; p++) sum += (float)job.a[i * job.a_i + p * job.a_p] * (float)job.b[p * b_p + j * b_j];
            round_to(job.c + i * job.ldc + j, job.start ? sum + (float)job.start[i * job.start_i + j] : sum);
        }
}

template <class Out> void by_panels(const Job<Out>& job) {
    const int64_t rounds = (job.k + 2 * DEPTH - 1) / (2 * DEPTH), share = ((job.k + rounds - 1) / rounds + 1) / 2 * 2;
    int64_t tall = SLAB / (int64_t)sizeof(Bf16) / share / 32 * 32;
    if (tall > TALL) tall = TALL;
    if (job.m < tall + tall / 2) tall = job.m;
    const int64_t chunk = rounds == 1 ? job.n : CHUNK;
    const bool packs = job.a_p != 1, sums = rounds > 1;
    const Rooms rooms{(Pair*)room_of_b.get(PANELS * PANEL * sizeof(Pair)),
                        packs ? (Pair*)room_of_a.get(groups_of(tall) * group_size(share) * sizeof(Pair)) : nullptr,
                        sums ? (float*)room_of_sums.get(tall * CHUNK * sizeof(float)) : nullptr};
    if (!rooms.panels || (packs && !rooms.groups) || (sums && !rooms.sums)) return one_by_one(job);
    for (int64_t i = 0; i < job.m; i += tall)
        for (int64_t j = 0; j < job.n; j += chunk)
            for (int64_t p = 0; p < job.k; p += share)
                slab(job, i, job.m - i < tall ? job.m - i : tall, j, job.n - j < chunk ? job.n - j : chunk, p,
                     job.k - p < share ? job.k - p : share, rooms);
}

// Up to SMALL multiplications, in float32
template <class Out> void small(const Job<Out>& job) {
    float a[SMALL], b[SMALL], c[SMALL];
    const bool in_rows = job.a_p == 1;
    const int64_t a_lines = in_rows ? job.m : job.k, a_length = in_rows ? job.k : job.m, lda = in_rows ? job.a_i : job.a_p;
    const int64_t b_lines = job.b_is_nk ? job.n : job.k, b_length = job.b_is_nk ? job.k : job.n;
    for (int64_t i = 0; i < a_lines; i++) floats_from(job.a + i * lda, a + i * a_length, a_length);
    for (int64_t i = 0; i < b_lines; i++) floats_from(job.b + i * job.ldb, b + i * b_length, b_length);
    ((gemm_fn)avx512::gemm_kernels[0].function)(job.m, job.n, job.k, a, in_rows ? a_length : 1, in_rows ? 1 : a_length, b, b_length,
                                                job.b_is_nk, c, job.n, nullptr, 0);
    for (int64_t i = 0; i < job.m; i++)
        for (int64_t j = 0; j < job.n; j++) {
            const float sum = c[i * job.n + j];
            round_to(job.c + i * job.ldc + j, job.start ? sum + (float)job.start[i * job.start_i + j] : sum);
        }
}

// These choices must be the same for a share of a product as for the whole: see shared_out.
template <class Out>
void gemm(int64_t m, int64_t n, int64_t k, const void* a, int64_t a_i, int64_t a_p, const void* b, int64_t ldb, bool b_is_nk,
          void* c, int64_t ldc, const void* start, int64_t start_i) {
    Job<Out> job{m, n, k, (const Bf16*)a, a_i, a_p, (const Bf16*)b, ldb, b_is_nk, (Out*)c, ldc, (const Out*)start, start_i};
    if (m * n * k <= SMALL) return small(job);
    if (k == 1 && b_is_nk && ldb == 1) job.b_is_nk = false, job.ldb = n;      // a single row is the same transposed
    const int64_t b_p = job.b_is_nk ? 1 : job.ldb;
    if (a_p == 1 && b_p == 1 && n == 1)
        return by_dots<InPairs<Out>>(1, m, Dots<Bf16, Out>{k, job.b, 0, job.a, a_i, job.c, 0, ldc, job.start, 0, start_i});
    if (a_p == 1 && job.b_is_nk && m < FEW && (m == 1 || k >= SHORT))
        return by_dots<InPairs<Out>>(m, n, Dots<Bf16, Out>{k, job.a, a_i, job.b, job.ldb, job.c, ldc, 1, job.start, start_i, 1});
    if (n == 1 && a_i == 1 && b_p == 1 && ldc == 1 && (!start || start_i == 1))      // a column is a row of the transposed product
        job = {1, m, k, job.b, 1, 1, job.a, a_p, false, job.c, m, job.start, m};
    by_panels(job);
}

}  // namespace

extern const Kernel gemm_kernels[];
const Kernel gemm_kernels[] = {{"gemm", BF16, (void*)gemm<Bf16>}, {"gemm", BF16_WIDE, (void*)gemm<float>}};

}  // namespace CLAY_ISA
}  // namespace clay
