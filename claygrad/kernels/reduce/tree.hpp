// Reductions of floats as trees: neighbouring blocks are combined pairwise, so the rounding error of a sum grows with
// the logarithm of its length, and no result depends on the number of threads.
#pragma once
#include "simd/vec.hpp"

namespace clay {
namespace CLAY_ISA {

struct SumOf {
    static constexpr double identity = 0;
    static constexpr bool compares = false;
    template <class V> static V combine(V x, V y) { return x + y; }
};
struct ProdOf {
    static constexpr double identity = 1;
    static constexpr bool compares = false;
    template <class V> static V combine(V x, V y) { return x * y; }
};
struct MaxOf {
    static constexpr double identity = -__builtin_inf();
    template <class V> static V combine(V x, V y) { return maximum(x, y); }
    static constexpr bool compares = true;
    template <class V> static V keep(V acc, V x) { return larger(x, acc); }          // acc where x is NaN
};
struct MinOf {
    static constexpr double identity = __builtin_inf();
    template <class V> static V combine(V x, V y) { return minimum(x, y); }
    static constexpr bool compares = true;
    template <class V> static V keep(V acc, V x) { return smaller(x, acc); }
};

// Max or min of n > 0 contiguous elements, a multiple of 4 vectors; false if one of them is NaN. A separate check for NaN takes half
// the time of propagating it through every comparison.
template <class Op, class T> bool compare_row(const T* x_n, int64_t n, T* out) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width, K = 4;
    V acc[K];
    unsigned nan = 0;
    for (int k = 0; k < K; k++) acc[k] = splat<V>(Op::identity);
    for (int64_t i = 0; i < n; i += K * W) {
        V x[K];
        for (int k = 0; k < K; k++) x[k] = load<V>(x_n + i + k * W), acc[k] = Op::keep(acc[k], x[k]);
        for (int k = 0; k < K; k += 2) nan |= any_nan(x[k], x[k + 1]);
    }
    for (int half = K / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++) acc[k] = Op::combine(acc[k], acc[k + half]);
    *out = first_lane(folded<Op>(acc[0]));
    return !nan;
}

// The reductions of neighbouring blocks of n elements, `each` for each of four streams: memory is read at four addresses at once, which is
// faster where it is not cached.
constexpr int STREAMS = 4;
template <class Op, class T> void reduce_blocks(const T* x_n, int64_t n, int64_t each, T* out) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width, K = 4;
    for (int64_t b = 0; b < each; b++) {
        V acc[STREAMS][K];
        for (int s = 0; s < STREAMS; s++)
            for (int k = 0; k < K; k++) acc[s][k] = splat<V>(Op::identity);
        for (int64_t i = 0; i < n; i += K * W)
            for (int s = 0; s < STREAMS; s++)
                for (int k = 0; k < K; k++) acc[s][k] = Op::combine(acc[s][k], load<V>(x_n + (s * each + b) * n + i + k * W));
        for (int s = 0; s < STREAMS; s++) {
            for (int half = K / 2; half > 0; half /= 2)
                for (int k = 0; k < half; k++) acc[s][k] = Op::combine(acc[s][k], acc[s][k + half]);
            out[s * each + b] = first_lane(folded<Op>(acc[s][0]));
        }
    }
}
// The tree over blocks that are reduced already
template <class Op, class T> T reduce_leaves(const T* leaves, int64_t count) {
    if (count == 1) return leaves[0];
    const int64_t half = (count + 1) / 2;
    return Op::combine(reduce_leaves<Op, T>(leaves, half), reduce_leaves<Op, T>(leaves + half, count - half));
}

template <class T> constexpr int64_t ROW_BLOCK = 32 * (Lanes<vec<T>>::width > 1 ? 4 : 8) * Lanes<vec<T>>::width;

// Four neighbouring rows of n contiguous elements each, with the results of reduce_row; false: not such rows.
template <class Op, class T> bool reduce_streams(const T* x_n, int64_t n, T* out) {
    constexpr int64_t BLOCK = ROW_BLOCK<T>, MAX_BLOCKS = 128;
    if (n % BLOCK || n > MAX_BLOCKS * BLOCK) return false;
    T leaves[STREAMS * MAX_BLOCKS];
    const int64_t each = n / BLOCK;
    reduce_blocks<Op, T>(x_n, BLOCK, each, leaves);
    for (int s = 0; s < STREAMS; s++) out[s] = reduce_leaves<Op, T>(leaves + s * each, each);
    return true;
}

// One row of n contiguous elements.
template <class Op, class T> T reduce_row(const T* x_n, int64_t n) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width, K = W > 1 ? 4 : 8;
    constexpr int64_t BLOCK = ROW_BLOCK<T>;
    if constexpr (Op::compares)
        if (n >= BLOCK) {
            const int64_t whole = n / (4 * W) * (4 * W);
            T best;
            if (!compare_row<Op, T>(x_n, whole, &best)) return (T)__builtin_nan("");
            return whole < n ? Op::combine(best, reduce_row<Op, T>(x_n + whole, n - whole)) : best;
        }
    if (n > BLOCK) {
        int64_t half = (n + 2 * BLOCK - 1) / (2 * BLOCK) * BLOCK;
        return Op::combine(reduce_row<Op, T>(x_n, half), reduce_row<Op, T>(x_n + half, n - half));
    }
    const V identity = splat<V>(Op::identity);
    if (W > 1 && n < W) return first_lane(folded<Op>(load_part<V>(x_n, n, identity)));
    V acc[K];
    for (int k = 0; k < K; k++) acc[k] = identity;
    int64_t i = 0;
    for (; i + K * W <= n; i += K * W)
        for (int k = 0; k < K; k++) acc[k] = Op::combine(acc[k], load<V>(x_n + i + k * W));
    for (; i + W <= n; i += W) acc[0] = Op::combine(acc[0], load<V>(x_n + i));
    if (W > 1 && i < n) acc[1] = Op::combine(acc[1], load_part<V>(x_n + i, n - i, identity));
    for (int half = K / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++) acc[k] = Op::combine(acc[k], acc[k + half]);
    return first_lane(folded<Op>(acc[0]));
}

constexpr int64_t TILE = 512;            // columns reduced at a time
constexpr int64_t LEAF_ROWS = 32;        // rows added in sequence

// out[i] = reduction of x[0:n, i] for i < width <= TILE, rows `stride` elements apart.
template <class Op, class T> void reduce_columns(const T* x_ni, int64_t n, int64_t stride, int64_t width, T* out_i) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width, K = 8;
    if (n > LEAF_ROWS) {
        T right_i[TILE];
        int64_t half = (n + 2 * LEAF_ROWS - 1) / (2 * LEAF_ROWS) * LEAF_ROWS;
        reduce_columns<Op, T>(x_ni, half, stride, width, out_i);
        reduce_columns<Op, T>(x_ni + half * stride, n - half, stride, width, right_i);
        for (int64_t i = 0; i < width; i++) out_i[i] = Op::combine(out_i[i], right_i[i]);
        return;
    }
    const V identity = splat<V>(Op::identity);
    int64_t i = 0;
    for (; i + K * W <= width; i += K * W) {
        V acc[K];
        for (int k = 0; k < K; k++) acc[k] = identity;
        for (int64_t r = 0; r < n; r++)
            for (int k = 0; k < K; k++) acc[k] = Op::combine(acc[k], load<V>(x_ni + r * stride + i + k * W));
        for (int k = 0; k < K; k++) store<V>(out_i + i + k * W, acc[k]);
    }
    for (; i + W <= width; i += W) {
        V acc = identity;
        for (int64_t r = 0; r < n; r++) acc = Op::combine(acc, load<V>(x_ni + r * stride + i));
        store<V>(out_i + i, acc);
    }
    if (W > 1 && i < width) {
        V acc = identity;
        for (int64_t r = 0; r < n; r++)
            acc = Op::combine(acc, load_part<V>(x_ni + r * stride + i, width - i, identity));
        store_part<V>(out_i + i, acc, width - i);
    }
}

}  // namespace CLAY_ISA
}  // namespace clay
