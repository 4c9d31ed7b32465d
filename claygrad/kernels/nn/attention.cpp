// Attention by tiles of TALL queries and WIDE keys.
//
// Note [Attention by tiles]
// Forward: for every query the largest score so far, the sum of exp(score - largest) and the weighted sum of values are kept; a tile
// with a larger score rescales them. The logarithm of the final sum is saved, and backward computes each tile of weights again from
// it. No memory grows with queries times keys.
// A fully masked row gives zeros, and -inf as its logarithm. Tiles that a causal mask hides completely are skipped.
#include <string.h>

#include "nn/attention.hpp"
#include "platform/table.hpp"
#include "matmul/gemm.hpp"
#include "reduce/tree.hpp"
#include "platform/scratch.hpp"
#include "simd/transpose.hpp"
#include "platform/dtypes.hpp"
#include "simd/half.hpp"
#include "simd/math.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr int64_t TALL = 32, WIDE = 64;

thread_local Room shared, own;           // scratch of a call, and of a task


template <class T> T* at(const Heads& x, int64_t b, int64_t h, int64_t row = 0) {
    return (T*)x.data + b * x.batch + h * x.head + row * x.row;
}

// Some rows of the keys or values, with the step between them; those in half precision are converted into `room`.
template <class T>
const T* rows_of(const Attention& s, const Heads& x, int64_t b, int64_t h, int64_t first, int64_t count, T* room, int64_t& step) {
    step = x.row;
    if (!s.half) return at<T>(x, b, h, first);
    if constexpr (sizeof(T) == sizeof(float)) {
        step = s.size;
        for (int64_t i = 0; i < count; i++)
            if (s.half == F16) floats_from(at<Half>(x, b, h, first + i), room + i * step, step);
            else floats_from(at<Bf16>(x, b, h, first + i), room + i * step, step);
    }
    return room;
}

template <class T>
void product(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_i, int64_t a_p, const T* b, int64_t ldb, bool b_is_nk,
             T* c, int64_t ldc, bool add) {
    ((gemm_fn)gemm_kernels[sizeof(T) == 8].function)(m, n, k, a, a_i, a_p, b, ldb, b_is_nk, c, ldc, add ? c : nullptr, ldc);
}

// The first n lanes of v, `rest` in the others, whatever n is
template <class V> V kept(V v, int64_t n, V rest) {
    constexpr int W = Lanes<V>::width;
    return n >= W ? v : n <= 0 ? rest : part(v, n, rest);
}

// Row i and keys k0 .. k0 + width: applies the mask and returns how many keys the row attends to. Scores are scaled later.
template <class T>
int64_t seen(const Attention& s, T* row, int64_t b, int64_t h, int64_t i, int64_t k0, int64_t width, T& scale) {
    if (s.causal) width = i < k0 ? 0 : min(width, i - k0 + 1);
    scale = s.masked == NO_MASK ? (T)s.scale : 1;
    if (s.masked == ADDED_MASK) {
        const T* mask = at<T>(s.mask, b, h, i) + k0;
        for (int64_t j = 0; j < width; j++) row[j] = row[j] * (T)s.scale + mask[j];
    } else if (s.masked == BOOL_MASK) {
        const uint8_t* mask = at<uint8_t>(s.mask, b, h, i) + k0;
        const T by = (T)s.scale;
#pragma GCC ivdep
        for (int64_t j = 0; j < width; j++) {
            const T score = row[j] * by;
            row[j] = mask[j] ? score : (T)-__builtin_inf();
        }
    }
    return width;
}

// exp, with 0 for subnormal results: they are slow, and masked scores would all give them.
template <class V> V weight(V x) {
    const V low = splat<V>(sizeof(typename Lanes<V>::T) == 4 ? -87 : -708);
    return select(x < low, splat<V>(0), exp(maximum(x, low)));
}
#if defined(CLAY_VECTOR_BYTES) && !defined(__AVX512F__)
inline f32v weight(f32v x) { return exp_down(x); }
#endif

template <class V> V one_exp(V x) { return first_lane(weight(splat<vec<V>>(x))); }

// Rows whose scores fit the registers together: the reduction of one overlaps with the work of the others.
#if defined(__AVX512F__)
template <class T> constexpr int INTERLEAVED = 16 * Lanes<vec<T>>::width / WIDE;
#else
template <class T> constexpr int INTERLEAVED = 1;
#endif

// R rows of N vectors of scores become exp(score - top), with zeros beyond `count`. top and sum are updated; the caller multiplies
// earlier results by `shrink`.
template <int R, int N, class T> void soften(T* rows, const int64_t* count, T scale, T* top, T* sum, T* shrink) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const V by = splat<V>(scale), none = splat<V>(-__builtin_inf());
    V v[R][N], total[R];
    T now[R], base[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
        V high = none;
#pragma GCC unroll 16
        for (int n = 0; n < N; n++) {
            v[r][n] = kept(load<V>(rows + r * WIDE + n * W) * by, count[r] - n * W, none);
            high = maximum(high, v[r][n]);
        }
        now[r] = maximum(top[r], first_lane(folded<MaxOf>(high))), base[r] = now[r] == -__builtin_inf() ? 0 : now[r];
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
        const V bases = splat<V>(base[r]);
        total[r] = splat<V>(0);
#pragma GCC unroll 16
        for (int n = 0; n < N; n++) {
            const V e = weight(v[r][n] - bases);
            store<V>(rows + r * WIDE + n * W, e);
            total[r] = total[r] + e;
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
        shrink[r] = now[r] == top[r] ? 1 : top[r] == -__builtin_inf() ? 0 : one_exp<T>(top[r] - base[r]);
        sum[r] = sum[r] * shrink[r] + first_lane(folded<SumOf>(total[r]));
        top[r] = now[r];
    }
}

template <int N, class T> void soften_all(int64_t n, T* rows, const int64_t* count, T scale, T* top, T* sum, T* shrink) {
    int64_t i = 0;
    for (; i + INTERLEAVED<T> <= n; i += INTERLEAVED<T>)
        soften<INTERLEAVED<T>, N>(rows + i * WIDE, count + i, scale, top + i, sum + i, shrink + i);
    for (; i < n; i++) soften<1, N>(rows + i * WIDE, count + i, scale, top + i, sum + i, shrink + i);
}

template <class T> void scaled(T* row, int64_t n, T by) {
    for (int64_t j = 0; j < n; j++) row[j] *= by;
}

// One tile of queries and all keys; `transposed`: the keys as (size, keys), or null.
template <class T> void forward_tile(const Attention& s, int64_t b, int64_t h, int64_t q0, const T* transposed, T* room) {
    const int64_t rows = min(TALL, s.queries - q0), size = s.size;
    T *scores = room, *mixed = scores + TALL * WIDE, *top = mixed + TALL * size, *sum = top + TALL, *converted = sum + TALL, scale;
    int64_t step;
    for (int64_t i = 0; i < rows; i++) top[i] = -__builtin_inf(), sum[i] = 0;
    const int64_t end = s.causal ? min(s.keys, q0 + rows) : s.keys;
    const T* query = at<T>(s.query, b, h, q0);
    for (int64_t k0 = 0; k0 < end; k0 += WIDE) {
        const int64_t width = min(WIDE, end - k0);
        if (transposed) product(rows, width, size, query, s.query.row, 1, transposed + k0, s.keys, false, scores, WIDE, false);
        else {
            const T* key = rows_of(s, s.key, b, h, k0, width, converted, step);
            product(rows, width, size, query, s.query.row, 1, key, step, true, scores, WIDE, false);
        }
        int64_t count[TALL];
        T shrink[TALL];
        for (int64_t i = 0; i < rows; i++) count[i] = seen(s, scores + i * WIDE, b, h, q0 + i, k0, width, scale);
        constexpr int N = WIDE / Lanes<vec<T>>::width;
        if (width <= WIDE / 2) soften_all<N / 2>(rows, scores, count, scale, top, sum, shrink);
        else soften_all<N>(rows, scores, count, scale, top, sum, shrink);
        for (int64_t i = 0; k0 > 0 && i < rows; i++)
            if (shrink[i] != 1) scaled(mixed + i * size, size, shrink[i]);
        const T* value = rows_of(s, s.value, b, h, k0, width, converted, step);
        product(rows, size, width, scores, WIDE, 1, value, step, false, mixed, size, k0 > 0);
    }
    for (int64_t i = 0; i < rows; i++) {
        T* out = at<T>(s.out, b, h, q0 + i);
        const T share = sum[i] == 0 ? 1 : 1 / sum[i];
        for (int64_t j = 0; j < size; j++) out[j] = mixed[i * size + j] * share;
    }
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    T* log_sum = (T*)s.log_sum + (b * s.heads + h) * s.queries + q0;
    for (int64_t i = 0; i < rows; i += W) {      // fully masked rows: log(0) = -inf
        const V zero = splat<V>(0), logs = log(load<V>(sum + i));
        const V result = select(load<V>(sum + i) == zero, splat<V>(-__builtin_inf()), load<V>(top + i) + logs);
        store_part<V>(log_sum + i, result, min(W, rows - i));
    }
}

// With few heads, each head's tiles are divided into shares. Results do not depend on it.
constexpr int64_t MANY = 16;
int64_t shares_of(int64_t heads, int64_t tiles) { return heads >= MANY ? 1 : min(tiles, ceil_div(MANY, heads)); }

template <class T> bool forward(const Attention* job) {
    const Attention& s = *job;
    const int64_t heads = s.batch * s.heads, high = ceil_div(s.queries, TALL), shares = shares_of(heads, high);
    const int64_t transposed_size = s.queries >= FEW_QUERIES ? s.size * s.keys : 0, more = s.half ? WIDE * s.size : transposed_size;
    if (s.half && transposed_size) return false;
    volatile bool short_of_memory = false;
    each_task(heads * shares, s.queries * s.keys * s.size * 2 / shares, [&](int64_t i) {
        const int64_t head = i / shares, share = i % shares, b = head / s.heads, h = head % s.heads;
        T* room = (T*)own.get((more + TALL * WIDE + TALL * s.size + 2 * TALL) * sizeof(T));
        if (!room) {
            short_of_memory = true;
            return;
        }
        T* transposed = transposed_size ? room + TALL * WIDE + TALL * s.size + 2 * TALL : nullptr;
        if (transposed) transpose(at<T>(s.key, b, h), s.key.row, transposed, s.keys, s.keys, s.size);
        for (int64_t t = share * high / shares; t < (share + 1) * high / shares; t++)
            forward_tile<T>(s, b, h, t * TALL, transposed, room);
        own.give_back();
    });
    return !short_of_memory;
}

// --- backward --------------------------------------------------------------------------------------------------------
template <class T> struct Tile {
    T *weights, *grads, *transposed_key, *transposed_value;
    static int64_t numbers(int64_t size) { return 2 * TALL * WIDE + 2 * WIDE * size; }
    Tile(T* room, int64_t size) {
        weights = room, grads = weights + TALL * WIDE;
        transposed_key = grads + TALL * WIDE, transposed_value = transposed_key + WIDE * size;
    }
};

// Weights and gradient of the scores of one row; on entry `grads` holds the gradient of the weights.
template <int N, class T> void row_backward(T* weights, T* grads, int64_t count, T scale, T by, T log_sum, T dot) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const V scales = splat<V>(scale), none = splat<V>(-__builtin_inf()), zero = splat<V>(0);
    const V base = splat<V>(log_sum == -__builtin_inf() ? 0 : log_sum), dots = splat<V>(dot), bys = splat<V>(by);
    for (int n = 0; n < N; n++) {
        const V e = weight(kept(load<V>(weights + n * W) * scales, count - n * W, none) - base);
        store<V>(weights + n * W, e);
        store<V>(grads + n * W, kept(e * (load<V>(grads + n * W) - dots) * bys, count - n * W, zero));
    }
}

template <class T> void clear(const Heads& x, int64_t b, int64_t h, int64_t begin, int64_t end, int64_t size) {
    for (int64_t r = begin; r < end; r++) memset(at<T>(x, b, h, r), 0, size * sizeof(T));
}

// One tile of keys and all queries; adds to the gradient of the queries, or writes it for the first tile.
template <class T>
void backward_tile(const Attention& s, int64_t b, int64_t h, int64_t k0, const T* dots, T* to_query, int64_t step, bool first,
                   const Tile<T>& room) {
    const int64_t width = min(WIDE, s.keys - k0), size = s.size;
    const T *key = at<T>(s.key, b, h, k0), *log_sum = (const T*)s.log_sum + (b * s.heads + h) * s.queries;
    T *to_key = at<T>(s.key_grad, b, h, k0), *to_value = at<T>(s.value_grad, b, h, k0), scale;
    transpose(key, s.key.row, room.transposed_key, WIDE, width, size);
    transpose(at<T>(s.value, b, h, k0), s.value.row, room.transposed_value, WIDE, width, size);
    const int64_t begin = s.causal ? k0 / TALL * TALL : 0;
    if (begin >= s.queries) {            // no query attends to these keys
        clear<T>(s.key_grad, b, h, k0, k0 + width, size);
        clear<T>(s.value_grad, b, h, k0, k0 + width, size);
        return;
    }
    // From the last queries to the first: the last ones attend to all keys of the tile, so all of its gradient is written.
    const int64_t last = begin + (s.queries - 1 - begin) / TALL * TALL;
    for (int64_t q0 = last; q0 >= begin; q0 -= TALL) {
        const int64_t rows = min(TALL, s.queries - q0), wide = s.causal && q0 < last ? min(width, q0 + rows - k0) : width;
        const T *query = at<T>(s.query, b, h, q0), *grad = at<T>(s.grad, b, h, q0);
        product(rows, wide, size, query, s.query.row, 1, room.transposed_key, WIDE, false, room.weights, WIDE, false);
        product(rows, wide, size, grad, s.grad.row, 1, room.transposed_value, WIDE, false, room.grads, WIDE, false);
        for (int64_t i = 0; i < rows; i++) {
            T* row = room.weights + i * WIDE;
            const int64_t count = seen(s, row, b, h, q0 + i, k0, wide, scale);
            constexpr int N = WIDE / Lanes<vec<T>>::width;
            if (wide <= WIDE / 2) row_backward<N / 2>(row, room.grads + i * WIDE, count, scale, (T)s.scale, log_sum[q0 + i], dots[q0 + i]);
            else row_backward<N>(row, room.grads + i * WIDE, count, scale, (T)s.scale, log_sum[q0 + i], dots[q0 + i]);
        }
        product(wide, size, rows, room.weights, 1, WIDE, grad, s.grad.row, false, to_value, s.value_grad.row, q0 < last);
        product(wide, size, rows, room.grads, 1, WIDE, query, s.query.row, false, to_key, s.key_grad.row, q0 < last);
        product(rows, size, wide, room.grads, WIDE, 1, key, s.key.row, false, to_query + q0 * step, step, !first);
    }
}

template <class T> T dot(const T* x, const T* y, int64_t n) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    V sum = splat<V>(0);
    int64_t j = 0;
    for (; j + W <= n; j += W) sum = multiply_add(load<V>(x + j), load<V>(y + j), sum);
    T total = first_lane(folded<SumOf>(sum));
    for (; j < n; j++) total += x[j] * y[j];
    return total;
}

// Each share of a head has its own gradient of the queries. The number of shares depends on the shape alone, so results do not
// depend on the number of threads.
template <class T> bool backward(const Attention* job) {
    const Attention& s = *job;
    const int64_t heads = s.batch * s.heads, many = ceil_div(s.keys, WIDE), matrix = s.queries * s.size;
    const int64_t shares = shares_of(heads, many);
    T* sums = (T*)shared.get((shares > 1 ? heads * shares * matrix : 0) * sizeof(T) + 64);
    if (!sums) return false;
    volatile bool short_of_memory = false;
    each_task(heads * shares, matrix * s.keys * 5 / shares, [&](int64_t i) {
        const int64_t head = i / shares, share = i % shares, b = head / s.heads, h = head % s.heads;
        T* to_query = shares > 1 ? sums + i * matrix : at<T>(s.query_grad, b, h);
        const int64_t step = shares > 1 ? s.size : s.query_grad.row, from = share * many / shares;
        T* room = (T*)own.get((Tile<T>::numbers(s.size) + s.queries) * sizeof(T));
        if (!room) {
            short_of_memory = true;
            return;
        }
        T* dots = room + Tile<T>::numbers(s.size);
        for (int64_t r = 0; r < s.queries; r++) dots[r] = dot(at<T>(s.grad, b, h, r), at<T>(s.out, b, h, r), s.size);
        const bool all = from == 0 || !s.causal;                // the first tile writes every query's gradient
        if (!all)
            for (int64_t r = 0; r < s.queries; r++) memset(to_query + r * step, 0, s.size * sizeof(T));
        for (int64_t k = from; k < (share + 1) * many / shares; k++)
            backward_tile<T>(s, b, h, k * WIDE, dots, to_query, step, all && k == from, Tile<T>(room, s.size));
    });
    if (shares > 1)
        each_task(heads, shares * matrix, [&](int64_t head) {
            for (int64_t r = 0; r < s.queries; r++) {
                T* to = at<T>(s.query_grad, head / s.heads, head % s.heads, r);
                const T* from = sums + head * shares * matrix + r * s.size;
                for (int64_t j = 0; j < s.size; j++) {
                    T total = 0;
                    for (int64_t share = 0; share < shares; share++) total += from[share * matrix + j];
                    to[j] = total;
                }
            }
        });
    shared.give_back();
    return !short_of_memory;
}

#define BOTH(name, f) {name, F32, (void*)f<float>}, {name, F64, (void*)f<double>}

}  // namespace

const Kernel attention_kernels[] = {BOTH("forward", forward), BOTH("backward", backward)};
CLAY_COUNT(attention)

}  // namespace CLAY_ISA
}  // namespace clay
