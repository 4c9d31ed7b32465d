#include <stdlib.h>

#include <limits>

#include "families.hpp"
#include "kernels.hpp"
#include "lines.hpp"
#include "threads.hpp"
#include "transpose.hpp"
#include "vmath.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// What a reduction makes of rows of a few elements it may make of several at once, SEVERAL_ROWS, and of up to BY_NUMBERS elements
// number by number: a number of each is the same whichever others go with it.
constexpr int64_t FEW_ELEMENTS = 128;
struct RowByRow { static constexpr int SEVERAL_ROWS = 1, BY_NUMBERS = 0; };

// A reduction knows its types and how one tile of columns (one row, when width and stride are 1) becomes numbers.
template <class O, class T> struct Floats {
    using In = T;
    using Out = T;
    using Op = O;
    using Merge = Floats;
    static constexpr int SEVERAL_ROWS = Lanes<vec<T>>::width;
    static constexpr int BY_NUMBERS = Op::identity - Op::identity == 0 ? SEVERAL_ROWS - 1 : 3;       // comparisons of NaN are dear

    // Each row becomes a vector; these are turned over, so that no vector is folded.
    static void rows(const T* const* x_rn, int64_t n, int64_t count, T* out_r) {
        using V = vec<T>;
        constexpr int W = SEVERAL_ROWS;
        const V identity = splat<V>(Op::identity);
        alignas(64) T made[W * W], turned[W * W];
        for (int64_t r = 0; r < count; r++) {
            V acc = identity;
            int64_t i = 0;
            for (; i + W <= n; i += W) acc = Op::combine(acc, load<V>(x_rn[r] + i));
            if (i < n) acc = Op::combine(acc, load_part<V>(x_rn[r] + i, n - i, identity));
            store<V>(made + r * W, acc);
        }
        transpose_block<T>(made, W, turned, W, count, W);
        V acc[W];
        for (int k = 0; k < W; k++) acc[k] = get<V>(turned + k * W, count);
        for (int half = W / 2; half > 0; half /= 2)
            for (int k = 0; k < half; k++) acc[k] = Op::combine(acc[k], acc[k + half]);
        put<V>(out_r, acc[0], count);
    }
    static void tile(const T* x_ni, int64_t n, int64_t stride, int64_t width, T* out_i) {
        constexpr int SEVERAL = 8;
        if (stride == 1 && width == 1) *out_i = reduce_row<Op, T>(x_ni, n);
        else if (stride != width || SEVERAL * width > TILE || n < 2 * SEVERAL) reduce_columns<Op, T>(x_ni, n, stride, width, out_i);
        else {                                           // rows too short for whole vectors: several as one
            T made[TILE];
            const int64_t whole = n / SEVERAL * SEVERAL;
            reduce_columns<Op, T>(x_ni, n / SEVERAL, SEVERAL * width, SEVERAL * width, made);
            for (int half = SEVERAL / 2; half > 0; half /= 2)
                for (int64_t i = 0; i < half * width; i++) made[i] = Op::combine(made[i], made[half * width + i]);
            if (whole == n) {
                for (int64_t i = 0; i < width; i++) out_i[i] = made[i];
                return;
            }
            reduce_columns<Op, T>(x_ni + whole * width, n - whole, width, width, out_i);
            for (int64_t i = 0; i < width; i++) out_i[i] = Op::combine(made[i], out_i[i]);
        }
    }
};

// Integers and bools are exact in any order: plain loops.
template <class O, class I, class To> struct Exact {
    using In = I;
    using Out = To;
    using Op = O;
    using Merge = Exact<O, To, To>;
    static constexpr int SEVERAL_ROWS = 1, BY_NUMBERS = 4;
    static void tile(const I* x_ni, int64_t n, int64_t stride, int64_t width, To* out_i) {
        if (stride == 1 && width == 1) {
            *out_i = row(x_ni, n);
            return;
        }
        for (int64_t i = 0; i < width; i++) out_i[i] = Op::identity;
        int64_t r = 0;
        for (; r + 4 <= n; r += 4) {
            const I *a = x_ni + r * stride, *b = a + stride, *c = b + stride, *d = c + stride;
#pragma GCC ivdep
            for (int64_t i = 0; i < width; i++)
                out_i[i] = Op::combine(out_i[i], Op::combine(Op::combine((To)a[i], (To)b[i]), Op::combine((To)c[i], (To)d[i])));
        }
        for (; r < n; r++) {
            const I* from = x_ni + r * stride;
#pragma GCC ivdep
            for (int64_t i = 0; i < width; i++) out_i[i] = Op::combine(out_i[i], (To)from[i]);
        }
    }
    static To row(const I* x_n, int64_t n) {
        constexpr int64_t SPAN = 1 << 15;                // so many narrow numbers add up to one of 32 bits
        To acc = Op::identity;
        if constexpr (Op::narrow_sums && sizeof(I) <= 2)
            for (int64_t at = 0; at < n; at += SPAN) {
                const int64_t end = n - at < SPAN ? n : at + SPAN;
                int32_t part = 0;
                for (int64_t i = at; i < end; i++) part += x_n[i];
                acc = Op::combine(acc, (To)part);
            }
        else
            for (int64_t i = 0; i < n; i++) acc = Op::combine(acc, (To)x_n[i]);
        return acc;
    }
};

struct SumInt {
    static constexpr uint64_t identity = 0;
    static constexpr bool narrow_sums = true;
    static uint64_t combine(uint64_t x, uint64_t y) { return x + y; }
};
struct ProdInt {
    static constexpr uint64_t identity = 1;
    static constexpr bool narrow_sums = false;
    static uint64_t combine(uint64_t x, uint64_t y) { return x * y; }
};
template <class T> struct MaxInt {
    static constexpr T identity = std::numeric_limits<T>::min();
    static constexpr bool narrow_sums = false;
    static T combine(T x, T y) { return x > y ? x : y; }
};
template <class T> struct MinInt {
    static constexpr T identity = std::numeric_limits<T>::max();
    static constexpr bool narrow_sums = false;
    static T combine(T x, T y) { return x < y ? x : y; }
};

// Rows of n <= BY_NUMBERS elements
template <class R, int N>
void short_rows(const typename R::In* x_rn, int64_t n, int64_t leap, int64_t count, typename R::Out* out_r) {
    if constexpr (N <= R::BY_NUMBERS) {
        if (n != N) return short_rows<R, N + 1>(x_rn, n, leap, count, out_r);
        using Out = typename R::Out;
        for (int64_t r = 0; r < count; r++) {
            Out acc = (Out)R::Op::identity;
#pragma GCC unroll 16
            for (int k = 0; k < N; k++) acc = R::Op::combine(acc, (Out)x_rn[r * leap + k]);
            out_r[r] = acc;
        }
    }
}

template <class R> struct ReduceJob {
    const Spread* from;
    typename R::Out* out_oci;              // c: parts of the reduced axis
    int64_t tiles, parts, part;            // `part` rows each

    const typename R::In* at(int64_t o) const {
        const Spread& s = *from;
        int64_t offset = 0;
        for (int k = s.axes - 1; k > 0; k--) offset += o % s.shape[k] * s.leap[k], o /= s.shape[k];
        return (const typename R::In*)s.x + offset + o * s.leap[0];
    }
};

template <class R> void reduce_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(ReduceJob<R>*)data;
    const Spread& s = *job.from;
    const bool in_rows = s.inner == 1 && s.pitch == 1 && s.n > 0 && job.parts == 1;
    if constexpr (R::BY_NUMBERS > 0)
        if (in_rows && s.n <= R::BY_NUMBERS) {
            const int64_t line = s.shape[s.axes - 1];
            for (int64_t o = begin, count; o < end; o += count) {
                const int64_t rest = line - o % line;
                count = rest < end - o ? rest : end - o;
                short_rows<R, 1>(job.at(o), s.n, s.leap[s.axes - 1], count, job.out_oci + o);
            }
            return;
        }
    if constexpr (R::SEVERAL_ROWS > 1)
        if (in_rows && s.n <= FEW_ELEMENTS) {
            const typename R::In* rows[R::SEVERAL_ROWS];
            for (int64_t o = begin, count; o < end; o += count) {
                count = end - o < R::SEVERAL_ROWS ? end - o : R::SEVERAL_ROWS;
                for (int64_t r = 0; r < count; r++) rows[r] = job.at(o + r);
                R::rows(rows, s.n, count, job.out_oci + o);
            }
            return;
        }
    if (job.tiles == 1 && job.parts == 1) {      // the usual case, with few divisions
        for (int64_t o = begin; o < end; o++) R::tile(job.at(o), s.n, s.pitch, s.inner, job.out_oci + o * s.inner);
        return;
    }
    for (int64_t task = begin; task < end; task++) {
        int64_t tile = task % job.tiles, c = task / job.tiles % job.parts, o = task / job.tiles / job.parts;
        int64_t first = c * job.part, rows = s.n - first < job.part ? s.n - first : job.part;
        int64_t i = tile * TILE, width = s.inner - i < TILE ? s.inner - i : TILE;
        R::tile(job.at(o) + first * s.pitch + i, rows, s.pitch, width, job.out_oci + (o * job.parts + c) * s.inner + i);
    }
}

template <class R> void reduce(const Spread& s, void* out_oi) {
    using Out = typename R::Out;
    int64_t outer = 1;
    for (int k = 0; k < s.axes; k++) outer *= s.shape[k];
    ReduceJob<R> job{&s, (Out*)out_oi, (s.inner + TILE - 1) / TILE, 1, s.n};
    int64_t tasks = outer * job.tiles, width = s.inner < TILE ? s.inner : TILE;
    if (tasks <= 0) return;
    if (s.n * width * tasks < 2 * CHEAP) return reduce_range<R>(&job, 0, tasks);
    // Too few tasks to share out: cut the reduced axis, by size alone so that every run adds in the same order.
    if (tasks < 64 && s.n * width >= CHEAP) {
        int64_t part = CHEAP / 2 / width, parts = (s.n + part - 1) / part;
        if (Out* partial_oci = (Out*)malloc((size_t)(outer * parts * s.inner) * sizeof(Out))) {
            job.out_oci = partial_oci, job.part = part, job.parts = parts;
            parallel_for(tasks * parts, 2, reduce_range<R>, &job);
            Spread made;
            made.x = partial_oci, made.n = parts, made.pitch = made.inner = s.inner;
            made.axes = 1, made.shape[0] = outer, made.leap[0] = parts * s.inner;
            ReduceJob<typename R::Merge> merge{&made, (Out*)out_oi, job.tiles, 1, parts};
            reduce_range<typename R::Merge>(&merge, 0, tasks);
            free(partial_oci);
            return;
        }
    }
    int64_t grain = CHEAP / 2 / (s.n * width + 1) + 1;
    parallel_for(tasks, grain, reduce_range<R>, &job);
}

int64_t results(const Spread& s) {
    int64_t count = s.inner;
    for (int k = 0; k < s.axes; k++) count *= s.shape[k];
    return count;
}

template <class T> void mean(const Spread& s, void* out_oi) {
    reduce<Floats<SumOf, T>>(s, out_oi);
    T* out = (T*)out_oi;
    const int64_t count = results(s);
    for (int64_t i = 0; i < count; i++) out[i] /= (T)s.n;
}

// Sums of complex numbers, as columns of real ones: both parts of single numbers stand in a line, many beside each other are added.
template <class T> struct Parts : RowByRow {
    using In = T;
    using Out = T;
    using Merge = Parts;
    static void tile(const T* x_ni, int64_t n, int64_t stride, int64_t width, T* out_i) {
        using V = vec<T>;
        constexpr int W = Lanes<V>::width, K = 4;
        constexpr int64_t BLOCK = 32 * K * W;
        if (stride != 2 || width != 2) return reduce_columns<SumOf, T>(x_ni, n, stride, width, out_i);
        T sum[K * W];
        if (n > BLOCK) {
            const int64_t half = (n + 2 * BLOCK - 1) / (2 * BLOCK) * BLOCK;
            tile(x_ni, half, stride, width, out_i);
            tile(x_ni + 2 * half, n - half, stride, width, sum);
            out_i[0] += sum[0], out_i[1] += sum[1];
            return;
        }
        V acc[K];
        for (int k = 0; k < K; k++) acc[k] = splat<V>(0);
        int64_t i = 0;
        for (; i + K * W <= 2 * n; i += K * W)
            for (int k = 0; k < K; k++) acc[k] = acc[k] + load<V>(x_ni + i + k * W);
        for (int k = 0; k < K; k++, i += W)
            if (i < 2 * n) acc[k] = acc[k] + (2 * n - i < W ? load_part<V>(x_ni + i, 2 * n - i, splat<V>(0)) : load<V>(x_ni + i));
        for (int k = 0; k < K; k++) store<V>(sum + k * W, acc[k]);
        for (int half = K * W / 2; half > 1; half /= 2)
            for (int j = 0; j < half; j++) sum[j] += sum[j + half];
        out_i[0] = sum[0], out_i[1] = sum[1];
    }
};
template <class T> void sum_complex(const Spread& s, void* out_oi) {
    Spread parts = s;
    parts.pitch *= 2, parts.inner *= 2;
    for (int k = 0; k < s.axes; k++) parts.leap[k] *= 2;
    reduce<Parts<T>>(parts, out_oi);
}
template <class T> void mean_complex(const Spread& s, void* out_oi) {
    sum_complex<T>(s, out_oi);
    T* out = (T*)out_oi;
    const int64_t count = 2 * results(s);
    for (int64_t i = 0; i < count; i++) out[i] /= (T)s.n;
}

// Sums of what becomes of the elements
struct SquareOf {
    template <class V> static V of(V x) { return x * x; }
};
struct SizeOf {
    template <class V> static V of(V x) { return abs(x); }
};
struct KnownOf {
    template <class V> static V of(V x) { return pick(x != x, splat<V>(0), x); }
};

template <class F, class T> struct SumsOf : RowByRow {
    using In = T;
    using Out = T;
    using Merge = Floats<SumOf, T>;
    static void tile(const T* x_ni, int64_t n, int64_t stride, int64_t width, T* out_i) {
        using V = vec<T>;
        if (stride == 1 && width == 1) {
            sums<1, T>(0, n, out_i, [=](int64_t i, int64_t m, V* term) { term[0] = F::of(get<V>(x_ni + i, m)); });
            return;
        }
        T sum_i[1][TILE];
        sums_of_columns<1, T>(0, n, width, sum_i, [=](int64_t row, int64_t i, int64_t m, V* term) {
            term[0] = F::of(get<V>(x_ni + row * stride + i, m));
        });
        for (int64_t i = 0; i < width; i++) out_i[i] = sum_i[0][i];
    }
};

template <class T> void norm(const Spread& s, void* out_oi) {
    reduce<SumsOf<SquareOf, T>>(s, out_oi);
    T* out = (T*)out_oi;
    const int64_t count = results(s);
    for (int64_t i = 0; i < count; i++) out[i] = sqrt(out[i]);
}

// log(sum(exp(x))) of columns
template <class T> struct LogSums : RowByRow {
    using In = T;
    using Out = T;
    using Merge = LogSums;               // of the logarithms of parts, as well
    static void tile(const T* x_ni, int64_t n, int64_t stride, int64_t width, T* out_i) {
        using V = vec<T>;
        const V zero = splat<V>(0);
        T top_i[TILE], sum_i[1][TILE];
        reduce_columns<MaxOf, T>(x_ni, n, stride, width, top_i);
        for (int64_t i = 0; i < width; i++) top_i[i] = top_i[i] - top_i[i] == 0 ? top_i[i] : 0;
        sums_of_columns<1, T>(0, n, width, sum_i, [&](int64_t row, int64_t i, int64_t m, V* term) {
            term[0] = exp(get<V>(x_ni + row * stride + i, m) - (m == Lanes<V>::width ? load<V>(top_i + i) : load_part<V>(top_i + i, m, zero)));
        });
        along<T>(width, [&](int64_t i, int64_t m) { put<V>(out_i + i, log(get<V>(sum_i[0] + i, m)) + get<V>(top_i + i, m), m); });
    }
};

// The largest or smallest size
template <class Op, class T> struct Sizes : RowByRow {
    using In = T;
    using Out = T;
    using Merge = Floats<Op, T>;
    static void tile(const T* x_ni, int64_t n, int64_t stride, int64_t width, T* out_i) {
        T size[TILE];
        if (stride == 1 && width == 1) {
            T best = (T)Op::identity;
            for (int64_t at = 0; at < n; at += TILE) {
                const int64_t count = n - at < TILE ? n - at : TILE;
                for (int64_t i = 0; i < count; i++) size[i] = abs(x_ni[at + i]);
                best = Op::combine(best, reduce_row<Op, T>(size, count));
            }
            *out_i = best;
            return;
        }
        for (int64_t i = 0; i < width; i++) out_i[i] = (T)Op::identity;
        for (int64_t r = 0; r < n; r++)
#pragma GCC ivdep
            for (int64_t i = 0; i < width; i++) out_i[i] = Op::combine(out_i[i], abs(x_ni[r * stride + i]));
    }
};

// How many elements are not zero, as the type of the result
template <class I, class O> struct Counts : RowByRow {
    using In = I;
    using Out = O;
    using Merge = Exact<SumInt, O, O>;
    static void tile(const I* x_ni, int64_t n, int64_t stride, int64_t width, O* out_i) {
        constexpr int64_t SPAN = 1 << 20;
        if (stride == 1 && width == 1) {
            int64_t sum = 0;
            for (int64_t at = 0; at < n; at += SPAN) {
                const int64_t end = n - at < SPAN ? n : at + SPAN;
                int32_t count = 0;
                for (int64_t i = at; i < end; i++) count += x_ni[i] != 0;
                sum += count;
            }
            *out_i = (O)sum;
            return;
        }
        for (int64_t i = 0; i < width; i++) out_i[i] = 0;
        for (int64_t r = 0; r < n; r++)
#pragma GCC ivdep
            for (int64_t i = 0; i < width; i++) out_i[i] += x_ni[r * stride + i] != 0;
    }
};

// Whether any element is not zero, or all
template <class I, bool ANY> struct Truth : RowByRow {
    using In = I;
    using Out = uint8_t;
    using Merge = Truth<uint8_t, ANY>;
    static void tile(const I* x_ni, int64_t n, int64_t stride, int64_t width, uint8_t* out_i) {
        constexpr int64_t CHUNK = 64;
        if (stride == 1 && width == 1) {
            int64_t at = 0;
            int found = 0;                       // one that settles it
            for (; at + CHUNK <= n && !found; at += CHUNK)
                for (int64_t i = at; i < at + CHUNK; i++) found |= (x_ni[i] != 0) == ANY;
            for (; at < n && !found; at++) found = (x_ni[at] != 0) == ANY;
            *out_i = found ? ANY : !ANY;
            return;
        }
        for (int64_t i = 0; i < width; i++) out_i[i] = !ANY;
        for (int64_t r = 0; r < n; r++)
#pragma GCC ivdep
            for (int64_t i = 0; i < width; i++) {
                const uint8_t yes = x_ni[r * stride + i] != 0;
                out_i[i] = ANY ? out_i[i] | yes : out_i[i] & yes;
            }
    }
};

#define FLOATS(name, Op) {name, F32, (void*)reduce<Floats<Op, float>>}, {name, F64, (void*)reduce<Floats<Op, double>>}

#define MADE(name, R, Op) {name, F32, (void*)reduce<R<Op, float>>}, {name, F64, (void*)reduce<R<Op, double>>}
#define WHOLE(name, R, with)                                                                             \
    {name, F32, (void*)reduce<R<float, with>>}, {name, F64, (void*)reduce<R<double, with>>},              \
    {name, I64, (void*)reduce<R<int64_t, with>>}, {name, BOOL, (void*)reduce<R<uint8_t, with>>},          \
    {name, I8, (void*)reduce<R<uint8_t, with>>}, {name, I16, (void*)reduce<R<int16_t, with>>},            \
    {name, I32, (void*)reduce<R<int32_t, with>>}
// Sums and products of integers are made in 64 bits.
#define TOTALS(name, Op)                                                                                 \
    {name, I64, (void*)reduce<Exact<Op, uint64_t, uint64_t>>}, {name, I32, (void*)reduce<Exact<Op, int32_t, uint64_t>>}, \
    {name, I16, (void*)reduce<Exact<Op, int16_t, uint64_t>>}, {name, I8, (void*)reduce<Exact<Op, int8_t, uint64_t>>},    \
    {name, U8, (void*)reduce<Exact<Op, uint8_t, uint64_t>>}
#define BEST_OF(name, Op, code, T) {name, code, (void*)reduce<Exact<Op<T>, T, T>>}
#define BEST(name, Op)                                                                                   \
    BEST_OF(name, Op, I64, int64_t), BEST_OF(name, Op, I32, int32_t), BEST_OF(name, Op, I16, int16_t),    \
    BEST_OF(name, Op, I8, int8_t), BEST_OF(name, Op, U8, uint8_t)

}  // namespace

const Kernel reduce_kernels[] = {
    FLOATS("sum", SumOf), FLOATS("prod", ProdOf), FLOATS("amax", MaxOf), FLOATS("amin", MinOf),
    {"mean", F32, (void*)mean<float>}, {"mean", F64, (void*)mean<double>},
    {"sum", C64, (void*)sum_complex<float>}, {"sum", C128, (void*)sum_complex<double>},
    {"mean", C64, (void*)mean_complex<float>}, {"mean", C128, (void*)mean_complex<double>},
    {"norm", F32, (void*)norm<float>}, {"norm", F64, (void*)norm<double>},
    TOTALS("sum", SumInt), TOTALS("prod", ProdInt), BEST("amax", MaxInt), BEST("amin", MinInt),
    {"sum", BOOL, (void*)reduce<Exact<SumInt, uint8_t, uint64_t>>},
    WHOLE("any", Truth, true), WHOLE("all", Truth, false), WHOLE("count", Counts, int64_t), {"count", U8, (void*)reduce<Counts<uint8_t, int64_t>>},
    MADE("nansum", SumsOf, KnownOf), MADE("size_sum", SumsOf, SizeOf), MADE("size_max", Sizes, MaxOf),
    MADE("size_min", Sizes, MinOf),
    {"logsumexp", F32, (void*)reduce<LogSums<float>>}, {"logsumexp", F64, (void*)reduce<LogSums<double>>},
    {"size_count", F32, (void*)reduce<Counts<float, float>>}, {"size_count", F64, (void*)reduce<Counts<double, double>>},
};
CLAY_COUNT(reduce)

}  // namespace CLAY_ISA
}  // namespace clay
