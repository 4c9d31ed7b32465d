// Attention by tiles of TALL queries and WIDE keys.
//
// Note [Attention by tiles]
// Forward: every query keeps the largest score seen so far, the sum of exp(score - largest) and the values mixed by those;
// a tile with a larger score shrinks what was there before. The logarithm of the whole sum is kept, and backward makes each
// tile of weights again from it. No memory grows with queries times keys.
// A row that may look nowhere is zeros, its logarithm -inf. Tiles that no query of a causal product sees are not computed.
#include <string.h>

#include "attention.hpp"
#include "families.hpp"
#include "gemm.hpp"
#include "reduce.hpp"
#include "scratch.hpp"
#include "vmath.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr int64_t TALL = 32, WIDE = 64;
constexpr int64_t FEW = 8;               // queries below which keys are not worth turning about

thread_local Room shared, own;           // of a call, of a task

int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }
int64_t tiles(int64_t n, int64_t size) { return (n + size - 1) / size; }

template <class T> T* at(const Heads& x, int64_t b, int64_t h, int64_t row = 0) {
    return (T*)x.data + b * x.batch + h * x.head + row * x.row;
}

template <class T>
void product(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_i, int64_t a_p, const T* b, int64_t ldb, bool b_is_nk,
             T* c, int64_t ldc, bool add) {
    ((gemm_fn)gemm_kernels[sizeof(T) == 8].function)(m, n, k, a, a_i, a_p, b, ldb, b_is_nk, c, ldc, add ? c : nullptr, ldc);
}

// out (columns, rows) = x (rows, columns) turned about
template <class T> void turn(const T* x, int64_t step, int64_t rows, int64_t columns, T* out, int64_t out_step) {
    for (int64_t i = 0; i < rows; i += 16)
        for (int64_t j = 0; j < columns; j++)
            for (int64_t r = i; r < least(i + 16, rows); r++) out[j * out_step + r] = x[r * step + j];
}

template <class V> V one_exp(V x) { return first_lane(exp(splat<vec<V>>(x))); }

// Scores of row i and keys k0 .. k0 + width: scaled and masked in place; how many of them it may see.
template <class T>
int64_t finish(const Attention& s, T* row, int64_t b, int64_t h, int64_t i, int64_t k0, int64_t width) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    if (s.causal) width = i < k0 ? 0 : least(width, i - k0 + 1);
    const V scale = splat<V>(s.scale);
    if (s.masked == ADDED_MASK) {
        const T* mask = at<T>(s.mask, b, h, i) + k0;
        int64_t j = 0;
        for (; j + W <= width; j += W) store<V>(row + j, load<V>(row + j) * scale + load<V>(mask + j));
        for (; j < width; j++) row[j] = row[j] * (T)s.scale + mask[j];
        return width;
    }
    int64_t j = 0;
    for (; j + W <= width; j += W) store<V>(row + j, load<V>(row + j) * scale);
    for (; j < width; j++) row[j] *= (T)s.scale;
    if (s.masked == BOOL_MASK) {
        const uint8_t* mask = at<uint8_t>(s.mask, b, h, i) + k0;
        for (int64_t j = 0; j < width; j++)
            if (!mask[j]) row[j] = -__builtin_inf();
    }
    return width;
}

// row[j] = exp(row[j] - top) for j < count, zeros up to width; the sum
template <class T> T exponentials(T* row, int64_t count, int64_t width, T top) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const V tops = splat<V>(top), zero = splat<V>(0);
    V sum = zero;
    int64_t j = 0;
    for (; j + W <= count; j += W) {
        const V e = exp(load<V>(row + j) - tops);
        store<V>(row + j, e);
        sum = sum + e;
    }
    if (W > 1 && j < count) {
        const V e = part(exp(load_part<V>(row + j, count - j, tops) - tops), count - j, zero);
        store_part<V>(row + j, e, count - j);
        sum = sum + e;
    }
    memset(row + count, 0, (width - count) * sizeof(T));
    return first_lane(folded<SumOf>(sum));
}

template <class T> void scaled(T* row, int64_t n, T by) {
    for (int64_t j = 0; j < n; j++) row[j] *= by;
}

// One tile of queries against all keys; `turned` the keys as (size, keys), or null.
template <class T> void forward_tile(const Attention& s, int64_t b, int64_t h, int64_t q0, const T* turned, T* room) {
    const int64_t rows = least(TALL, s.queries - q0), size = s.size;
    T *scores = room, *mixed = scores + TALL * WIDE, *top = mixed + TALL * size, *sum = top + TALL;
    memset(mixed, 0, rows * size * sizeof(T));
    for (int64_t i = 0; i < rows; i++) top[i] = -__builtin_inf(), sum[i] = 0;
    const int64_t end = s.causal ? least(s.keys, q0 + rows) : s.keys;
    const T* query = at<T>(s.query, b, h, q0);
    for (int64_t k0 = 0; k0 < end; k0 += WIDE) {
        const int64_t width = least(WIDE, end - k0);
        if (turned) product(rows, width, size, query, s.query.row, 1, turned + k0, s.keys, false, scores, WIDE, false);
        else product(rows, width, size, query, s.query.row, 1, at<T>(s.key, b, h, k0), s.key.row, true, scores, WIDE, false);
        for (int64_t i = 0; i < rows; i++) {
            T* row = scores + i * WIDE;
            const int64_t count = finish(s, row, b, h, q0 + i, k0, width);
            T high = top[i];
            if (count) high = maximum(high, reduce_row<MaxOf, T>(row, count));
            const T base = high == -__builtin_inf() ? 0 : high, shrink = one_exp<T>(top[i] - base);
            sum[i] = sum[i] * shrink + exponentials(row, count, width, base);
            if (shrink != 1) scaled(mixed + i * size, size, shrink);
            top[i] = high;
        }
        product(rows, size, width, scores, WIDE, 1, at<T>(s.value, b, h, k0), s.value.row, false, mixed, size, true);
    }
    for (int64_t i = 0; i < rows; i++) {
        T* out = at<T>(s.out, b, h, q0 + i);
        const T total = sum[i] == 0 ? 1 : sum[i];
        for (int64_t j = 0; j < size; j++) out[j] = mixed[i * size + j] / total;
        ((T*)s.log_sum)[(b * s.heads + h) * s.queries + q0 + i] = sum[i] == 0 ? (T)-__builtin_inf() : top[i] + log(sum[i]);
    }
}

template <class T> bool forward(const Attention* job) {
    const Attention& s = *job;
    const int64_t heads = s.batch * s.heads, high = tiles(s.queries, TALL);
    T* turned = nullptr;
    if (s.queries >= FEW) {
        turned = (T*)shared.get(heads * s.size * s.keys * sizeof(T));
        if (!turned) return false;
        each_task(heads, s.size * s.keys, [&](int64_t i) {
            turn(at<T>(s.key, i / s.heads, i % s.heads), s.key.row, s.keys, s.size, turned + i * s.size * s.keys, s.keys);
        });
    }
    volatile bool short_of_memory = false;
    each_task(heads * high, least(TALL, s.queries) * s.keys * s.size, [&](int64_t i) {
        const int64_t head = i / high;
        T* room = (T*)own.get((TALL * WIDE + TALL * s.size + 2 * TALL) * sizeof(T));
        if (!room) short_of_memory = true;
        else forward_tile<T>(s, head / s.heads, head % s.heads, i % high * TALL,
                             turned ? turned + head * s.size * s.keys : nullptr, room);
    });
    shared.give_back();
    return !short_of_memory;
}

// --- backward --------------------------------------------------------------------------------------------------------
template <class T> struct Tile {
    T *weights, *grads, *turned_key, *turned_value, *to_key, *to_value;
    static int64_t numbers(int64_t size) { return 2 * TALL * WIDE + 4 * WIDE * size; }
    Tile(T* room, int64_t size) {
        weights = room, grads = weights + TALL * WIDE;
        turned_key = grads + TALL * WIDE, turned_value = turned_key + WIDE * size;
        to_key = turned_value + WIDE * size, to_value = to_key + WIDE * size;
    }
};

// Weights and the gradient of the scores, of one row: grads holds that of the weights before.
template <class T>
void row_backward(const Attention& s, T* weights, T* grads, int64_t count, int64_t width, T log_sum, T dot) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    exponentials(weights, count, width, log_sum == -__builtin_inf() ? 0 : log_sum);
    const V dots = splat<V>(dot), scale = splat<V>(s.scale);
    int64_t j = 0;
    for (; j + W <= count; j += W) store<V>(grads + j, load<V>(weights + j) * (load<V>(grads + j) - dots) * scale);
    for (; j < count; j++) grads[j] = weights[j] * (grads[j] - dot) * (T)s.scale;
    memset(grads + count, 0, (width - count) * sizeof(T));
}

// Keys k0 and following against all queries; the gradient of the queries is added to.
template <class T>
void backward_tile(const Attention& s, int64_t b, int64_t h, int64_t k0, const T* dots, T* to_query, int64_t step,
                   const Tile<T>& room) {
    const int64_t width = least(WIDE, s.keys - k0), size = s.size;
    const T *key = at<T>(s.key, b, h, k0), *log_sum = (const T*)s.log_sum + (b * s.heads + h) * s.queries;
    turn(key, s.key.row, width, size, room.turned_key, WIDE);
    turn(at<T>(s.value, b, h, k0), s.value.row, width, size, room.turned_value, WIDE);
    memset(room.to_key, 0, width * size * sizeof(T));
    memset(room.to_value, 0, width * size * sizeof(T));
    for (int64_t q0 = s.causal ? k0 / TALL * TALL : 0; q0 < s.queries; q0 += TALL) {
        const int64_t rows = least(TALL, s.queries - q0);
        const T *query = at<T>(s.query, b, h, q0), *grad = at<T>(s.grad, b, h, q0);
        product(rows, width, size, query, s.query.row, 1, room.turned_key, WIDE, false, room.weights, WIDE, false);
        product(rows, width, size, grad, s.grad.row, 1, room.turned_value, WIDE, false, room.grads, WIDE, false);
        for (int64_t i = 0; i < rows; i++) {
            T* row = room.weights + i * WIDE;
            const int64_t count = finish(s, row, b, h, q0 + i, k0, width);
            row_backward(s, row, room.grads + i * WIDE, count, width, log_sum[q0 + i], dots[q0 + i]);
        }
        product(width, size, rows, room.weights, 1, WIDE, grad, s.grad.row, false, room.to_value, size, true);
        product(width, size, rows, room.grads, 1, WIDE, query, s.query.row, false, room.to_key, size, true);
        product(rows, size, width, room.grads, WIDE, 1, key, s.key.row, false, to_query + q0 * step, step, true);
    }
    for (int64_t i = 0; i < width; i++) {
        memcpy(at<T>(s.key_grad, b, h, k0 + i), room.to_key + i * size, size * sizeof(T));
        memcpy(at<T>(s.value_grad, b, h, k0 + i), room.to_value + i * size, size * sizeof(T));
    }
}

// Few heads are split into shares of their keys, each with a gradient of the queries of its own. Their number depends on
// the shape alone, so that results do not depend on the threads.
template <class T> bool backward(const Attention* job) {
    const Attention& s = *job;
    constexpr int64_t MANY = 8;
    const int64_t heads = s.batch * s.heads, many = tiles(s.keys, WIDE), matrix = s.queries * s.size;
    const int64_t shares = heads >= MANY ? 1 : least(many, tiles(MANY, heads));
    T* sums = (T*)shared.get((heads * (s.queries + (shares > 1 ? shares * matrix : 0)) + 1) * sizeof(T));
    if (!sums) return false;
    T* dots = sums + (shares > 1 ? heads * shares * matrix : 0);
    each_task(heads, matrix, [&](int64_t i) {
        for (int64_t r = 0; r < s.queries; r++) {
            const T *g = at<T>(s.grad, i / s.heads, i % s.heads, r), *out = at<T>(s.out, i / s.heads, i % s.heads, r);
            product<T>(1, 1, s.size, g, s.size, 1, out, s.size, true, dots + i * s.queries + r, 1, false);
        }
    });
    volatile bool short_of_memory = false;
    each_task(heads * shares, matrix * s.keys * 5 / shares, [&](int64_t i) {
        const int64_t head = i / shares, share = i % shares, b = head / s.heads, h = head % s.heads;
        T* to_query = shares > 1 ? sums + i * matrix : at<T>(s.query_grad, b, h);
        const int64_t step = shares > 1 ? s.size : s.query_grad.row;
        T* room = (T*)own.get(Tile<T>::numbers(s.size) * sizeof(T));
        if (!room) {
            short_of_memory = true;
            return;
        }
        for (int64_t r = 0; r < s.queries; r++) memset(to_query + r * step, 0, s.size * sizeof(T));
        for (int64_t k = share * many / shares; k < (share + 1) * many / shares; k++)
            backward_tile<T>(s, b, h, k * WIDE, dots + head * s.queries, to_query, step, Tile<T>(room, s.size));
    });
    if (shares > 1)
        for (int64_t head = 0; head < heads; head++)
            for (int64_t r = 0; r < s.queries; r++) {
                T* to = at<T>(s.query_grad, head / s.heads, head % s.heads, r);
                const T* from = sums + head * shares * matrix + r * s.size;
                for (int64_t j = 0; j < s.size; j++) {
                    T total = 0;
                    for (int64_t share = 0; share < shares; share++) total += from[share * matrix + j];
                    to[j] = total;
                }
            }
    shared.give_back();
    return !short_of_memory;
}

#define BOTH(name, f) {name, F32, (void*)f<float>}, {name, F64, (void*)f<double>}

}  // namespace

const Kernel attention_kernels[] = {BOTH("forward", forward), BOTH("backward", backward)};
CLAY_COUNT(attention)

}  // namespace CLAY_ISA
}  // namespace clay
