#include <limits>
#include <type_traits>

#include "reduce/loops.hpp"
#include "simd/math.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// Integers and bools are exact in any order: plain loops.
template <class O, class I, class To> struct Exact {
    using In = I;
    using Out = To;
    using Op = O;
    using Merge = Exact<O, To, To>;
    static constexpr int SEVERAL_ROWS = 1, BY_NUMBERS = 4;
    static constexpr bool IN_STREAMS = false;
    static void short_rows(const I* x_rn, int64_t n, int64_t leap, int64_t count, To* out_r) {
        by_numbers<Exact>(x_rn, n, leap, count, out_r);
    }
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
        constexpr int64_t SPAN = 1 << 15;                // the sum of so many narrow integers fits 32 bits
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

// Sums of complex numbers, computed as sums over columns of real and imaginary parts.
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
template <class T> void sum_complex(const ReduceInput& s, void* out_oi) {
    ReduceInput parts = s;
    parts.pitch *= 2, parts.inner *= 2;
    for (int k = 0; k < s.axes; k++) parts.leap[k] *= 2;
    reduce<Parts<T>>(parts, out_oi);
}
template <class T> void mean_complex(const ReduceInput& s, void* out_oi) {
    sum_complex<T>(s, out_oi);
    T* out = (T*)out_oi;
    const int64_t count = 2 * results(s);
    for (int64_t i = 0; i < count; i++) out[i] /= (T)s.n;
}

// Sums of a function of the elements
struct SquareOf {
    template <class V> static V of(V x) { return x * x; }
};
struct SizeOf {
    template <class V> static V of(V x) { return abs(x); }
};
struct KnownOf {
    template <class V> static V of(V x) { return select(x != x, splat<V>(0), x); }
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

template <class T> void norm(const ReduceInput& s, void* out_oi) {
    reduce<SumsOf<SquareOf, T>>(s, out_oi);
    T* out = (T*)out_oi;
    const int64_t count = results(s);
    for (int64_t i = 0; i < count; i++) out[i] = sqrt(out[i]);
}

// log(sum(exp(x))) of columns
template <class T> struct LogSums : RowByRow {
    using In = T;
    using Out = T;
    using Merge = LogSums;               // merges the results of parts
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

// The largest or smallest absolute value
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

// The number of nonzero elements, in the type of the result
template <class I, class O> struct Counts : RowByRow {
    using In = I;
    using Out = O;
    using Merge = typename std::conditional<std::is_integral<O>::value, Exact<SumInt, uint64_t, uint64_t>, Floats<SumOf, O>>::type;
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
            int found = 0;                       // an element that decides the result
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

#define FLOATS_OF(name, R, Op) {name, F32, (void*)reduce<R<Op, float>>}, {name, F64, (void*)reduce<R<Op, double>>}
#define WHOLE(name, R, with)                                                                             \
    {name, F32, (void*)reduce<R<float, with>>}, {name, F64, (void*)reduce<R<double, with>>},              \
    {name, I64, (void*)reduce<R<int64_t, with>>}, {name, BOOL, (void*)reduce<R<uint8_t, with>>},          \
    {name, I8, (void*)reduce<R<uint8_t, with>>}, {name, I16, (void*)reduce<R<int16_t, with>>},            \
    {name, I32, (void*)reduce<R<int32_t, with>>}
// Sums and products of integers are computed in 64 bits.
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
    {"mean", F32, (void*)mean<Floats<SumOf, float>>}, {"mean", F64, (void*)mean<Floats<SumOf, double>>},
    {"sum", C64, (void*)sum_complex<float>}, {"sum", C128, (void*)sum_complex<double>},
    {"mean", C64, (void*)mean_complex<float>}, {"mean", C128, (void*)mean_complex<double>},
    {"norm", F32, (void*)norm<float>}, {"norm", F64, (void*)norm<double>},
    TOTALS("sum", SumInt), TOTALS("prod", ProdInt), BEST("amax", MaxInt), BEST("amin", MinInt),
    {"sum", BOOL, (void*)reduce<Exact<SumInt, uint8_t, uint64_t>>},
    WHOLE("any", Truth, true), WHOLE("all", Truth, false), WHOLE("count", Counts, int64_t), {"count", U8, (void*)reduce<Counts<uint8_t, int64_t>>},
    FLOATS_OF("nansum", SumsOf, KnownOf), FLOATS_OF("size_sum", SumsOf, SizeOf), FLOATS_OF("size_max", Sizes, MaxOf),
    FLOATS_OF("size_min", Sizes, MinOf),
    {"logsumexp", F32, (void*)reduce<LogSums<float>>}, {"logsumexp", F64, (void*)reduce<LogSums<double>>},
    {"size_count", F32, (void*)reduce<Counts<float, float>>}, {"size_count", F64, (void*)reduce<Counts<double, double>>},
};
CLAY_COUNT(reduce)

}  // namespace CLAY_ISA
}  // namespace clay
