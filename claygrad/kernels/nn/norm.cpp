// Normalisation by moments, forward and backward. With unit = (x - mean) * rstd and h = g * weight, the gradient of x is
// rstd * (h - unit * mean(h * unit) - mean(h)).
#include "platform/table.hpp"
#include "simd/lines.hpp"
#include "nn/norm.hpp"
#include "platform/scratch.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

thread_local Room room;

int64_t grain_of(int64_t line) { return COSTLY_ROWS / 2 / (line + 1) + 1; }

template <class T> void fill_zero(T* out, int64_t n) {
    if (out)
        for (int64_t i = 0; i < n; i++) out[i] = 0;
}

// --- layer norm: moments of each example, a weight for each element -----------------------------------------------------
// R rows at a time: the reduction, root and division of one row overlap with the work of the others.
template <int R, class T> void layer_forward_rows(const Norm& s, int64_t first) {
    using V = vec<T>;
    const int64_t n = s.channels;
    const T *x = (const T*)s.x + first * n, *weight = (const T*)s.weight, *bias = (const T*)s.bias;
    T* out = (T*)s.out + first * n;
    // While the moments are computed, the output and the next rows are prefetched.
    T *written = soon(out, x, R * n), mean[R] = {}, squares[R];
    const T* next = soon(x + R * n, x, R * n);
    if (s.mean) {
        sums_of_rows<R, 1, T>(n, mean, [=](int r, int64_t i, int64_t m, V* term) {
            ahead_to_write(written + r * n + i);
            term[0] = get<V>(x + r * n + i, m);
        });
        for (int r = 0; r < R; r++) ((T*)s.mean)[first + r] = mean[r] /= (T)n;
    }
    V middle[R], scale[R];
    for (int r = 0; r < R; r++) middle[r] = splat<V>(mean[r]);
    sums_of_rows<R, 1, T>(n, squares, [=](int r, int64_t i, int64_t m, V* term) {
        ahead(next + r * n + i);
        const V d = get<V>(x + r * n + i, m) - middle[r];
        term[0] = d * d;
    });
    for (int r = 0; r < R; r++) {
        if (__builtin_expect(s.mean && too_narrow(squares[r], mean[r], n), 0)) {
            squares[r] = moments_of(x + r * n, n, mean + r);
            ((T*)s.mean)[first + r] = mean[r], middle[r] = splat<V>(mean[r]);
        }
        const T rstd = 1 / sqrt(squares[r] / (T)n + (T)s.eps);
        ((T*)s.rstd)[first + r] = rstd;
        scale[r] = splat<V>(rstd);
    }
    // One row after the other: loads from one row may wait for stores into another (reduce/softmax_pipeline.hpp, Note [4K aliasing]).
#pragma GCC unroll 4
    for (int r = 0; r < R; r++)
        along<T>(n, [=](int64_t i, int64_t m) {
            V unit = (get<V>(x + r * n + i, m) - middle[r]) * scale[r];
            if (weight) unit = unit * get<V>(weight + i, m);
            if (bias) unit = unit + get<V>(bias + i, m);
            put<V>(out + r * n + i, unit, m);
        });
}

template <class T> void layer_forward_range(void* data, int64_t begin, int64_t end) {
    const Norm& s = *(const Norm*)data;
    int64_t r = begin;
    if (s.channels <= TREE_BLOCK<vec<T>>)
        for (; r + 4 <= end; r += 4) layer_forward_rows<4, T>(s, r);
    for (; r < end; r++) layer_forward_rows<1, T>(s, r);
}

template <class T> bool layer_forward(const Norm* s) {
    parallel_for(s->examples, grain_of(s->channels), layer_forward_range<T>, (void*)s);
    return true;
}

// The gradients of weight and bias are sums over examples: first within blocks of LEAF_ROWS, then over the blocks.
template <class T> struct LayerBack {
    const Norm& s;
    T *to_weight, *to_bias;              // a row for each block, `stride` apart; or null
    int64_t stride;
};

// Several rows at a time: the sums for weight and bias are read and written once.
template <int R, class T> void layer_backward_rows(const Norm& s, int64_t first, T* dw, T* db) {
    using V = vec<T>;
    const int64_t n = s.channels;
    const T *x = (const T*)s.x + first * n, *g = (const T*)s.g + first * n, *weight = (const T*)s.weight;
    T* dx = s.to_x ? (T*)s.to_x + first * n : nullptr;
    const T *next_x = soon(x + R * n, x, n), *next_g = soon(g + R * n, x, n);
    V middle[R], scale[R], along_x[R], along_one[R];       // dx = g * weight * scale + (x - middle) * along_x + along_one
    for (int r = 0; r < R; r++) {
        middle[r] = splat<V>(s.mean ? ((const T*)s.mean)[first + r] : 0);
        scale[r] = splat<V>(((const T*)s.rstd)[first + r]);
    }
    T means[R * 2] = {};
    if (dx) {
        T* written = soon(dx, x, R * n);
        sums_of_rows<R, 2, T>(n, means, [=](int r, int64_t i, int64_t m, V* term) {
            ahead_to_write(written + r * n + i);
            V h = get<V>(g + r * n + i, m);
            if (weight) h = h * get<V>(weight + i, m);
            term[0] = h * (get<V>(x + r * n + i, m) - middle[r]);
            term[1] = h;
        });
    }
    for (int r = 0; r < R; r++) {
        const T rstd = first_lane(scale[r]);
        along_x[r] = splat<V>(-rstd * (rstd * (rstd * means[2 * r] / (T)n)));
        along_one[r] = splat<V>(s.mean ? -rstd * (means[2 * r + 1] / (T)n) : 0);
    }
    along<T>(n, [=](int64_t i, int64_t m) {
        V to_weight = splat<V>(0), to_bias = splat<V>(0);
        const V w = weight ? get<V>(weight + i, m) : splat<V>(1);
#pragma GCC unroll 4
        for (int r = 0; r < R; r++) {
            ahead(next_x + r * n + i), ahead(next_g + r * n + i);
            const V grad = get<V>(g + r * n + i, m) * scale[r], far = get<V>(x + r * n + i, m) - middle[r];
            if (dx) put<V>(dx + r * n + i, multiply_add(grad, w, multiply_add(far, along_x[r], along_one[r])), m);
            to_weight = multiply_add(grad, far, to_weight);
            to_bias = to_bias + get<V>(g + r * n + i, m);
        }
        if (dw) put<V>(dw + i, get<V>(dw + i, m) + to_weight, m);
        if (db) put<V>(db + i, get<V>(db + i, m) + to_bias, m);
    });
}

template <class T> void layer_backward_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(LayerBack<T>*)data;
    const Norm& s = job.s;
    constexpr int R = 2;
    for (int64_t block = begin; block < end; block++) {
        T* dw = job.to_weight ? job.to_weight + block * job.stride : nullptr;
        T* db = job.to_bias ? job.to_bias + block * job.stride : nullptr;
        fill_zero(dw, s.channels), fill_zero(db, s.channels);
        int64_t r = block * LEAF_ROWS, last = min(r + LEAF_ROWS, s.examples);
        for (; r + R <= last; r += R) layer_backward_rows<R, T>(s, r, dw, db);
        for (; r < last; r++) layer_backward_rows<1, T>(s, r, dw, db);
    }
}

// out[i] = the sum of x[:, i]
template <class T> void add_up(const T* x_ni, int64_t n, int64_t stride, int64_t width, T* out_i) {
    for (int64_t i = 0; i < width; i += TILE)
        reduce_columns<SumOf, T>(x_ni + i, n, stride, min(TILE, width - i), out_i + i);
}

template <class T> bool layer_backward(const Norm* s) {
    const int64_t n = s->channels, blocks = ceil_div(s->examples, LEAF_ROWS);
    T *to_weight = (T*)s->to_weight, *to_bias = (T*)s->to_bias;
    LayerBack<T> job{*s, to_weight, to_bias, (n + 15) / 16 * 16};
    T* sums = nullptr;
    if (blocks > 1 && (to_weight || to_bias)) {
        if (!(sums = (T*)room.get((size_t)(2 * blocks * job.stride) * sizeof(T)))) return false;
        if (to_weight) job.to_weight = sums;
        if (to_bias) job.to_bias = sums + blocks * job.stride;
    }
    parallel_for(blocks, grain_of(n * LEAF_ROWS), layer_backward_range<T>, &job);
    if (sums && to_weight) add_up(job.to_weight, blocks, job.stride, n, to_weight);
    if (sums && to_bias) add_up(job.to_bias, blocks, job.stride, n, to_bias);
    room.give_back();
    return true;
}

// --- group norm: moments of each group of channels of an example, a weight for each channel ------------------------------
template <class T> void group_forward_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    const Norm& s = *(const Norm*)data;
    const int64_t members = s.channels / s.groups, n = members * s.positions;
    const T *weight = (const T*)s.weight, *bias = (const T*)s.bias;
    for (int64_t r = begin; r < end; r++) {
        const T* x = (const T*)s.x + r * n;
        T* out = (T*)s.out + r * n;
        T mean;
        const T rstd = 1 / sqrt(moments_of(x, n, &mean) / (T)n + (T)s.eps);
        ((T*)s.mean)[r] = mean, ((T*)s.rstd)[r] = rstd;
        const V middle = splat<V>(mean);
        for (int64_t k = 0; k < members; k++, x += s.positions, out += s.positions) {
            const int64_t c = r % s.groups * members + k;
            const V scale = splat<V>(weight ? rstd * weight[c] : rstd), shift = splat<V>(bias ? bias[c] : 0);
            along<T>(s.positions, [=](int64_t i, int64_t m) {
                put<V>(out + i, (get<V>(x + i, m) - middle) * scale + shift, m);
            });
        }
    }
}

template <class T> bool group_forward(const Norm* s) {
    parallel_for(s->examples * s->groups, grain_of(s->channels / s->groups * s->positions), group_forward_range<T>, (void*)s);
    return true;
}

template <class T> struct GroupBack {
    const Norm& s;
    T *along_unit, *along_one;           // (examples, channels): sums of g * unit, and of g
};

template <class T> void group_backward_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    auto& job = *(GroupBack<T>*)data;
    const Norm& s = job.s;
    const int64_t members = s.channels / s.groups, n = members * s.positions;
    const T* weight = (const T*)s.weight;
    for (int64_t r = begin; r < end; r++) {
        const T *x = (const T*)s.x + r * n, *g = (const T*)s.g + r * n;
        const T rstd = ((const T*)s.rstd)[r];
        const V middle = splat<V>(((const T*)s.mean)[r]), scale = splat<V>(rstd);
        const int64_t first = r % s.groups * members;
        T *of_unit = job.along_unit + r * members, *of_one = job.along_one + r * members, both[2];
        sums_of_lines<2, T>(0, members, both, [=](int64_t k, T* out) {
            sums<2, T>(k * s.positions, s.positions, out, [=](int64_t i, int64_t m, V* term) {
                term[1] = get<V>(g + i, m);
                term[0] = term[1] * ((get<V>(x + i, m) - middle) * scale);
            });
            of_unit[k] = out[0], of_one[k] = out[1];
            if (weight) out[0] *= weight[first + k], out[1] *= weight[first + k];
        });
        if (!s.to_x) continue;
        const V mean_unit = splat<V>(both[0] / (T)n), mean_one = splat<V>(both[1] / (T)n);
        T* dx = (T*)s.to_x + r * n;
        for (int64_t k = 0; k < members; k++) {
            const V w = splat<V>(weight ? weight[first + k] : 1);
            const int64_t at = k * s.positions;
            along<T>(s.positions, [=](int64_t i, int64_t m) {
                const V unit = (get<V>(x + at + i, m) - middle) * scale;
                put<V>(dx + at + i, (get<V>(g + at + i, m) * w - unit * mean_unit - mean_one) * scale, m);
            });
        }
    }
}

template <class T> bool group_backward(const Norm* s) {
    const int64_t count = s->examples * s->channels;
    T* sums = (T*)room.get((size_t)(2 * count + 1) * sizeof(T));
    if (!sums) return false;
    GroupBack<T> job{*s, sums, sums + count};
    parallel_for(s->examples * s->groups, grain_of(s->channels / s->groups * s->positions), group_backward_range<T>, &job);
    if (s->to_weight) add_up(job.along_unit, s->examples, s->channels, s->channels, (T*)s->to_weight);
    if (s->to_bias) add_up(job.along_one, s->examples, s->channels, s->channels, (T*)s->to_bias);
    room.give_back();
    return true;
}

// --- batch norm: moments of each channel over all examples ----------------------------------------------------------------
template <class T> void batch_forward_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    const Norm& s = *(const Norm*)data;
    const int64_t positions = s.positions, step = s.channels * positions;
    const T count = (T)(s.examples * positions), eps = (T)s.eps;
    for (int64_t c = begin; c < end; c++) {
        const T* x = (const T*)s.x + c * positions;
        T mean, rstd;
        if (s.given) {
            mean = ((const T*)s.mean)[c], rstd = ((const T*)s.rstd)[c];
        } else {
            T total, squares;
            sums_of_lines<1, T>(0, s.examples, &total, [=](int64_t e, T* out) {
                *out = reduce_row<SumOf, T>(x + e * step, positions);
            });
            mean = total / count;
            sums_of_lines<1, T>(0, s.examples, &squares, [=](int64_t e, T* out) {
                *out = squares_about(x + e * step, positions, mean);
            });
            if (__builtin_expect(too_narrow(squares, mean, s.examples * positions), 0)) {
                Distances all;
                for (int64_t e = 0; e < s.examples; e++) all.add(x + e * step, positions, 1, mean);
                all.settle(s.examples * positions, &mean, &squares);
            }
            const T variance = squares / count;
            rstd = 1 / sqrt(variance + eps);
            ((T*)s.mean)[c] = mean, ((T*)s.rstd)[c] = rstd, ((T*)s.variance)[c] = variance;
        }
        if (!s.out) continue;                            // the moments alone
        const V middle = splat<V>(mean), scale = splat<V>(s.weight ? rstd * ((const T*)s.weight)[c] : rstd);
        const V shift = splat<V>(s.bias ? ((const T*)s.bias)[c] : 0);
        for (int64_t e = 0; e < s.examples; e++) {
            const T* from = x + e * step;
            T* out = (T*)s.out + e * step + c * positions;
            along<T>(positions, [=](int64_t i, int64_t m) { put<V>(out + i, (get<V>(from + i, m) - middle) * scale + shift, m); });
        }
    }
}

// No spatial axes: channels are columns.
template <class T> void columns_forward_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    const Norm& s = *(const Norm*)data;
    const int64_t step = s.channels;
    for (int64_t tile = begin; tile < end; tile++) {
        const int64_t c = tile * TILE, width = min(TILE, step - c);
        const T *x = (const T*)s.x + c, *weight = s.weight ? (const T*)s.weight + c : nullptr;
        const T* bias = s.bias ? (const T*)s.bias + c : nullptr;
        T *mean = (T*)s.mean + c, *rstd = (T*)s.rstd + c;
        if (!s.given) {
            T squares[1][TILE];
            const T count = (T)s.examples;
            reduce_columns<SumOf, T>(x, s.examples, step, width, mean);
            for (int64_t i = 0; i < width; i++) mean[i] /= count;
            sums_of_columns<1, T>(0, s.examples, width, squares, [=](int64_t e, int64_t i, int64_t m, V* term) {
                const V d = get<V>(x + e * step + i, m) - get<V>(mean + i, m);
                term[0] = d * d;
            });
            for (int64_t i = 0; i < width; i++) {
                if (__builtin_expect(too_narrow(squares[0][i], mean[i], s.examples), 0)) {
                    Distances all;
                    all.add(x + i, s.examples, step, mean[i]);
                    all.settle(s.examples, mean + i, squares[0] + i);
                }
                ((T*)s.variance)[c + i] = squares[0][i] / count;
                rstd[i] = 1 / sqrt(squares[0][i] / count + (T)s.eps);
            }
        }
        if (!s.out) continue;
        for (int64_t e = 0; e < s.examples; e++) {
            const T* from = x + e * step;
            T* out = (T*)s.out + e * step + c;
            along<T>(width, [=](int64_t i, int64_t m) {
                V unit = (get<V>(from + i, m) - get<V>(mean + i, m)) * get<V>(rstd + i, m);
                if (weight) unit = unit * get<V>(weight + i, m);
                if (bias) unit = unit + get<V>(bias + i, m);
                put<V>(out + i, unit, m);
            });
        }
    }
}

template <class T> bool batch_forward(const Norm* s) {
    const int64_t tiles = ceil_div(s->channels, TILE);
    if (s->positions == 1) parallel_for(tiles, grain_of(s->examples * TILE), columns_forward_range<T>, (void*)s);
    else parallel_for(s->channels, grain_of(s->examples * s->positions), batch_forward_range<T>, (void*)s);
    return true;
}

template <class T> void batch_backward_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    const Norm& s = *(const Norm*)data;
    const int64_t positions = s.positions, step = s.channels * positions;
    const T count = (T)(s.examples * positions);
    for (int64_t c = begin; c < end; c++) {
        const T *x = (const T*)s.x + c * positions, *g = (const T*)s.g + c * positions;
        const T rstd = ((const T*)s.rstd)[c], w = s.weight ? ((const T*)s.weight)[c] : 1;
        const V middle = splat<V>(((const T*)s.mean)[c]), scale = splat<V>(rstd);
        T both[2] = {0, 0};
        if (!s.given || s.to_weight || s.to_bias)
            sums_of_lines<2, T>(0, s.examples, both, [=](int64_t e, T* out) {
                const T *from = x + e * step, *grad = g + e * step;
                sums<2, T>(0, positions, out, [=](int64_t i, int64_t m, V* term) {
                    term[1] = get<V>(grad + i, m);
                    term[0] = term[1] * ((get<V>(from + i, m) - middle) * scale);
                });
            });
        if (s.to_weight) ((T*)s.to_weight)[c] = both[0];
        if (s.to_bias) ((T*)s.to_bias)[c] = both[1];
        if (!s.to_x) continue;
        const V factor = splat<V>(rstd * w), mean_unit = splat<V>(both[0] / count), mean_one = splat<V>(both[1] / count);
        for (int64_t e = 0; e < s.examples; e++) {
            const T *from = x + e * step, *grad = g + e * step;
            T* dx = (T*)s.to_x + e * step + c * positions;
            if (s.given) along<T>(positions, [=](int64_t i, int64_t m) { put<V>(dx + i, get<V>(grad + i, m) * factor, m); });
            else along<T>(positions, [=](int64_t i, int64_t m) {
                const V unit = (get<V>(from + i, m) - middle) * scale;
                put<V>(dx + i, (get<V>(grad + i, m) - unit * mean_unit - mean_one) * factor, m);
            });
        }
    }
}

template <class T> void columns_backward_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    const Norm& s = *(const Norm*)data;
    const int64_t step = s.channels;
    for (int64_t tile = begin; tile < end; tile++) {
        const int64_t c = tile * TILE, width = min(TILE, step - c);
        const T *x = (const T*)s.x + c, *g = (const T*)s.g + c, *mean = (const T*)s.mean + c, *rstd = (const T*)s.rstd + c;
        const T* weight = s.weight ? (const T*)s.weight + c : nullptr;
        T both[2][TILE];
        sums_of_columns<2, T>(0, s.examples, width, both, [=](int64_t e, int64_t i, int64_t m, V* term) {
            term[1] = get<V>(g + e * step + i, m);
            term[0] = term[1] * ((get<V>(x + e * step + i, m) - get<V>(mean + i, m)) * get<V>(rstd + i, m));
        });
        for (int64_t i = 0; i < width; i++) {
            if (s.to_weight) ((T*)s.to_weight)[c + i] = both[0][i];
            if (s.to_bias) ((T*)s.to_bias)[c + i] = both[1][i];
            both[0][i] = s.given ? 0 : both[0][i] / (T)s.examples;
            both[1][i] = s.given ? 0 : both[1][i] / (T)s.examples;
        }
        if (!s.to_x) continue;
        const T *mean_unit = both[0], *mean_one = both[1];
        for (int64_t e = 0; e < s.examples; e++) {
            const T *from = x + e * step, *grad = g + e * step;
            T* dx = (T*)s.to_x + e * step + c;
            along<T>(width, [=](int64_t i, int64_t m) {
                const V scale = get<V>(rstd + i, m), factor = weight ? scale * get<V>(weight + i, m) : scale;
                V h = get<V>(grad + i, m);
                if (!s.given) {
                    const V unit = (get<V>(from + i, m) - get<V>(mean + i, m)) * scale;
                    h = h - unit * get<V>(mean_unit + i, m) - get<V>(mean_one + i, m);
                }
                put<V>(dx + i, h * factor, m);
            });
        }
    }
}

template <class T> bool batch_backward(const Norm* s) {
    const int64_t tiles = ceil_div(s->channels, TILE);
    if (s->positions == 1) parallel_for(tiles, grain_of(s->examples * TILE), columns_backward_range<T>, (void*)s);
    else parallel_for(s->channels, grain_of(s->examples * s->positions), batch_backward_range<T>, (void*)s);
    return true;
}

#define BOTH(name, f) {name, F32, (void*)(norm_fn)f<float>}, {name, F64, (void*)(norm_fn)f<double>}

}  // namespace

const Kernel norm_kernels[] = {
    BOTH("layer_forward", layer_forward), BOTH("layer_backward", layer_backward), BOTH("group_forward", group_forward),
    BOTH("group_backward", group_backward), BOTH("batch_forward", batch_forward), BOTH("batch_backward", batch_backward),
};
CLAY_COUNT(norm)

}  // namespace CLAY_ISA
}  // namespace clay
