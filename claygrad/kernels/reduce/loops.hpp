// How every reduction iterates over a tensor: tasks of rows, or of tiles of columns; the reduced axis is split if there are too few.
#pragma once
#include <stdlib.h>

#include "platform/table.hpp"
#include "platform/api.hpp"
#include "simd/ints.hpp"
#include "simd/lines.hpp"
#include "platform/threads.hpp"
#include "simd/transpose.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// Short rows are reduced SEVERAL_ROWS at a time, and rows of up to BY_NUMBERS elements by scalar code. The result of a row does not
// depend on the rows it is grouped with.
constexpr int64_t FEW_ELEMENTS = 128;
struct RowByRow { static constexpr int SEVERAL_ROWS = 1, BY_NUMBERS = 0; static constexpr bool IN_STREAMS = false; };
constexpr int64_t FAR = 12 << 20;        // bytes of a row that is not cached

// Rows of n <= BY_NUMBERS elements, `leap` elements apart
template <class R, int N = 1>
void by_numbers(const typename R::In* x_rn, int64_t n, int64_t leap, int64_t count, typename R::Out* out_r) {
    if constexpr (N <= R::BY_NUMBERS) {
        if (n != N) return by_numbers<R, N + 1>(x_rn, n, leap, count, out_r);
        using Out = typename R::Out;
        for (int64_t r = 0; r < count; r++) {
            Out acc = (Out)R::Op::identity;
#pragma GCC unroll 16
            for (int k = 0; k < N; k++) acc = R::Op::combine(acc, (Out)x_rn[r * leap + k]);
            out_r[r] = acc;
        }
    }
}

// A reduction has its types, and a function that reduces one tile of columns (one row, if width and stride are 1).
template <class O, class T> struct Floats {
    using In = T;
    using Out = T;
    using Op = O;
    using Merge = Floats;
    static constexpr int SEVERAL_ROWS = Lanes<vec<T>>::width;
    static constexpr bool IN_STREAMS = SEVERAL_ROWS > 1 && !Op::compares;
    static constexpr int BY_NUMBERS = Op::identity * Op::identity <= 1 ? SEVERAL_ROWS - 1 : 3;       // comparisons, from infinity on, that handle NaN are expensive

    static void short_rows(const T* x_rn, int64_t n, int64_t leap, int64_t count, T* out_r) {
        by_numbers<Floats>(x_rn, n, leap, count, out_r);
    }
    // Each row is a vector; the vectors are transposed, so that none has to be reduced across its lanes.
    static void rows(const T* const* x_rn, int64_t n, int64_t count, T* out_r) {
        using V = vec<T>;
        constexpr int W = SEVERAL_ROWS;
        const V identity = splat<V>(Op::identity);
        alignas(64) T out[W * W], transposed[W * W];
        for (int64_t r = 0; r < count; r++) {
            V acc = identity;
            int64_t i = 0;
            for (; i + W <= n; i += W) acc = Op::combine(acc, load<V>(x_rn[r] + i));
            if (i < n) acc = Op::combine(acc, load_part<V>(x_rn[r] + i, n - i, identity));
            store<V>(out + r * W, acc);
        }
        transpose_block<T>(out, W, transposed, W, count, W);
        V acc[W];
        for (int k = 0; k < W; k++) acc[k] = get<V>(transposed + k * W, count);
        for (int half = W / 2; half > 0; half /= 2)
            for (int k = 0; k < half; k++) acc[k] = Op::combine(acc[k], acc[k + half]);
        put<V>(out_r, acc[0], count);
    }
    static void tile(const T* x_ni, int64_t n, int64_t stride, int64_t width, T* out_i) {
        constexpr int SEVERAL = 8;
        if (stride == 1 && width == 1) *out_i = reduce_row<Op, T>(x_ni, n);
        else if (stride != width || SEVERAL * width > TILE || n < 2 * SEVERAL) reduce_columns<Op, T>(x_ni, n, stride, width, out_i);
        else {                                           // rows shorter than a vector: several in one
            T out[TILE];
            const int64_t whole = n / SEVERAL * SEVERAL;
            reduce_columns<Op, T>(x_ni, n / SEVERAL, SEVERAL * width, SEVERAL * width, out);
            for (int half = SEVERAL / 2; half > 0; half /= 2)
                for (int64_t i = 0; i < half * width; i++) out[i] = Op::combine(out[i], out[half * width + i]);
            if (whole == n) {
                for (int64_t i = 0; i < width; i++) out_i[i] = out[i];
                return;
            }
            reduce_columns<Op, T>(x_ni + whole * width, n - whole, width, width, out_i);
            for (int64_t i = 0; i < width; i++) out_i[i] = Op::combine(out[i], out_i[i]);
        }
    }
};

struct ReduceJob {
    const ReduceInput* from;
    void* out_oci;                         // c: parts of the reduced axis
    int64_t tiles, parts, part;            // a part has `part` rows

    int64_t offset(int64_t o) const {      // of the elements whose result is the o-th
        const ReduceInput& s = *from;
        int64_t offset = 0;
        for (int k = s.axes - 1; k > 0; k--) offset += o % s.shape[k] * s.leap[k], o /= s.shape[k];
        return offset + o * s.leap[0];
    }
};

// Entered through a pointer and with one call of R::tile, which is inlined: there are some sixty reductions.
template <class R> void reduce_range(void* data, int64_t begin, int64_t end) {
    const auto& job = *(const ReduceJob*)data;
    const ReduceInput& s = *job.from;
    const auto* x = (const typename R::In*)s.x;
    auto* out_oci = (typename R::Out*)job.out_oci;
    const bool in_rows = s.inner == 1 && s.pitch == 1 && s.n > 0 && job.parts == 1;
    if constexpr (R::BY_NUMBERS > 0)
        if (in_rows && s.n <= R::BY_NUMBERS) {
            const int64_t line = s.shape[s.axes - 1];
            for (int64_t o = begin, count; o < end; o += count) {
                const int64_t rest = line - o % line;
                count = rest < end - o ? rest : end - o;
                R::short_rows(x + job.offset(o), s.n, s.leap[s.axes - 1], count, out_oci + o);
            }
            return;
        }
    if constexpr (R::SEVERAL_ROWS > 1)
        if (in_rows && s.n <= FEW_ELEMENTS) {
            const typename R::In* rows[R::SEVERAL_ROWS];
            for (int64_t o = begin, count; o < end; o += count) {
                count = end - o < R::SEVERAL_ROWS ? end - o : R::SEVERAL_ROWS;
                for (int64_t r = 0; r < count; r++) rows[r] = x + job.offset(o + r);
                R::rows(rows, s.n, count, out_oci + o);
            }
            return;
        }
    const int64_t n = s.n, pitch = s.pitch, inner = s.inner, parts = job.parts, tiles = job.tiles;
    const bool whole = tiles == 1 && parts == 1;         // the common case, without divisions
    const bool far = !whole && inner == 1 && pitch == 1 && n * (int64_t)sizeof(typename R::In) >= FAR;
    int64_t first = 0, rows = n, width = inner;
    for (int64_t task = begin; task < end; task++) {
        if constexpr (R::IN_STREAMS)
            if (far && task + STREAMS <= end) {
                const int64_t c = task % parts, o = task / parts;
                if ((c + STREAMS) * job.part <= n
                        && reduce_streams<typename R::Op>(x + job.offset(o) + c * job.part, job.part, out_oci + task)) {
                    task += STREAMS - 1;
                    continue;
                }
            }
        int64_t o = task;
        auto* out_i = out_oci + task * inner;
        if (!whole) {
            const int64_t i = task % tiles * TILE, c = task / tiles % parts;
            o = task / tiles / parts, first = c * job.part * pitch + i, rows = min(n - c * job.part, job.part), width = min(inner - i, TILE);
            out_i = out_oci + (o * parts + c) * inner + i;
        }
        R::tile(x + job.offset(o) + first, rows, pitch, width, out_i);
    }
}

// `range` reduces, with results of so many bytes; `merge` reduces the results of parts.
void reduce_by(const ReduceInput& s, void* out_oi, size_t bytes, range_body range, range_body merge) {
    int64_t outer = 1;
    for (int k = 0; k < s.axes; k++) outer *= s.shape[k];
    ReduceJob job{&s, out_oi, (s.inner + TILE - 1) / TILE, 1, s.n};
    int64_t tasks = outer * job.tiles, width = s.inner < TILE ? s.inner : TILE;
    if (tasks <= 0) return;
    if (s.n * width * tasks < 2 * CHEAP_ROWS) return range(&job, 0, tasks);
    // Too few tasks for the threads: split the reduced axis, by its size alone, so that every run adds in the same order.
    if (tasks < 64 && s.n * width >= CHEAP_ROWS) {
        int64_t part = CHEAP_ROWS / 2 / width, parts = (s.n + part - 1) / part;
        if (void* partial_oci = malloc((size_t)(outer * parts * s.inner) * bytes)) {
            job.out_oci = partial_oci, job.part = part, job.parts = parts;
            parallel_for(tasks * parts, 2, range, &job);
            ReduceInput out;
            out.x = partial_oci, out.n = parts, out.pitch = out.inner = s.inner;
            out.axes = 1, out.shape[0] = outer, out.leap[0] = parts * s.inner;
            ReduceJob merged{&out, out_oi, job.tiles, 1, parts};
            merge(&merged, 0, tasks);
            free(partial_oci);
            return;
        }
    }
    int64_t grain = CHEAP_ROWS / 2 / (s.n * width + 1) + 1;
    parallel_for(tasks, grain, range, &job);
}
template <class R> void reduce(const ReduceInput& s, void* out_oi) {
    reduce_by(s, out_oi, sizeof(typename R::Out), reduce_range<R>, reduce_range<typename R::Merge>);
}

int64_t results(const ReduceInput& s) {
    int64_t count = s.inner;
    for (int k = 0; k < s.axes; k++) count *= s.shape[k];
    return count;
}

// R is a sum.
template <class R> void mean(const ReduceInput& s, void* out_oi) {
    using Out = typename R::Out;
    reduce<R>(s, out_oi);
    Out* out = (Out*)out_oi;
    const int64_t count = results(s);
    for (int64_t i = 0; i < count; i++) out[i] /= (Out)s.n;
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
