// Fourier transforms of rows: short and long ones, prime lengths, and real signals.
#pragma once
#include <string.h>

#include <atomic>
#include <memory>

#include "fft/passes.hpp"
#include "platform/scratch.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

thread_local Room points_room, rows_room, chirp_room, large_room;

// Note [Rows]
// A row of n = m R points is m vectors of R lanes; as many rows as fill a vector are transformed at a time. Every lane does a transform
// of m points; then come the factors exp(-2 pi i j k / n); then R vectors at a time are transposed, so that the R lanes of a row are in
// R vectors, and transforms of R points give runs of R results. R is a power of 2 that divides n; with R = 1 each lane is a row.

template <class T> struct Plan {
    int64_t n = 0, points = 0;           // points of the signal, and of the complex transform (half as many for a real signal of even length)
    bool real = false, columns = false;
    bool transposed = false;                 // real rows, one per lane
    int64_t R = 1, users = 0, key = 0;
    Passes<T> passes, second;
    std::vector<T> factors;              // between the passes and the last R points: two vectors for every k
    std::vector<T> cosines, sines;       // of 2 pi k / n: real signals
    // points = A B, if too many for the cache (Note [Large])
    int64_t large = 0;                   // A, or 0
    std::vector<double> coarse, fine;
    // A large prime (Note [Chirp])
    std::unique_ptr<Plan> inner;
    std::vector<T> chirp, spectrum;

    static constexpr int W = Lanes<vec<T>>::width;
    bool even_real() const { return real && n % 2 == 0; }
    int64_t rows_at_a_time() const { return inner || large ? 1 : transposed ? W : W / R; }
    size_t bytes() const {
        return sizeof(T) * (passes.table.size() + second.table.size() + factors.size() + cosines.size() * 2 + chirp.size() +
                            spectrum.size()) + sizeof(double) * (coarse.size() + fine.size()) + (inner ? inner->bytes() : 0);
    }
};

// The input and output of W transforms, one per lane; `count` lanes are used.
template <class T> struct Lines {
    static constexpr int W = Lanes<vec<T>>::width;
    const T* in[W];
    T* out[W];
    int64_t in_step, out_step;           // strides between elements
    int64_t count;
    bool adjacent;                       // all W lanes are used and contiguous
    bool split;                          // real parts are stored before imaginary parts
};

// Rows of complex numbers with a constant stride
template <class T> struct Rows {
    const T* in;
    int64_t in_each;
    T* out;
    int64_t out_each;
    int64_t count;
    const T* from(int64_t row) const { return in + (row < count ? row : count - 1) * in_each; }
    Rows after(int64_t rows) const { return {in + rows * in_each, in_each, out + rows * out_each, out_each, count - rows}; }
};

template <class T> T* room_for_points(int64_t m) {
    return (T*)points_room.get(4 * Lanes<vec<T>>::width * sizeof(T) * (size_t)m);
}

// --- rows ------------------------------------------------------------------------------------------------------------
// The first m complex numbers (WHOLE: all) of a run of R for each row
template <class T, int R, bool WHOLE>
CLAY_INLINE void put_runs(T* out, int64_t each, vec<T> low, vec<T> high, int64_t rows, int64_t m) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width, HALF = W / 2;
    if constexpr (R == W) {
        if (WHOLE || 2 * m >= W) store<V>(out, low);
        else store_part<V>(out, low, 2 * m);
        if (WHOLE || m == W) store<V>(out + W, high);
        else if (2 * m > W) store_part<V>(out + W, high, 2 * m - W);
    } else if constexpr (2 * R == W) {
        if (WHOLE || m == R) store<V>(out, low);
        else store_part<V>(out, low, 2 * m);
        if (WHOLE || (rows > 1 && m == R)) store<V>(out + each, high);
        else if (rows > 1) store_part<V>(out + each, high, 2 * m);
    } else if constexpr (WHOLE) {
        memcpy(out, &low, HALF * sizeof(T));
        memcpy(out + each, (T*)&low + HALF, HALF * sizeof(T));
        memcpy(out + 2 * each, &high, HALF * sizeof(T));
        memcpy(out + 3 * each, (T*)&high + HALF, HALF * sizeof(T));
    } else {
        T held[2 * W];
        store<V>(held, low);
        store<V>(held + W, high);
        for (int64_t row = 0; row < rows && row < 4; row++) memcpy(out + row * each, held + row * HALF, 2 * (size_t)m * sizeof(T));
    }
}

// Twiddle factors and the final transforms of R points, for R values of k, `some` of them unless they are whole.
template <class T, int R>
CLAY_INLINE void last_block(Complex<vec<T>>* x, const Rows<T>& rows, int64_t k, int64_t m, const Ends<T>& by, int64_t some,
                            bool whole) {
    using V = vec<T>;
    V r[R], i[R];
#pragma GCC unroll 16
    for (int j = 0; j < R; j++) r[j] = x[j].r, i[j] = x[j].i;
    turn_over<R>(r);
    turn_over<R>(i);
#pragma GCC unroll 16
    for (int j = 0; j < R; j++) x[j] = {r[j], i[j]};
    Points<R>::transform(x);
    if (by.real != 1 || by.imaginary != 1) {
#pragma GCC unroll 16
        for (int j = 0; j < R; j++) x[j] = {x[j].r * splat<V>(by.real), x[j].i * splat<V>(by.imaginary)};
    }
#pragma GCC unroll 16
    for (int j = 0; j < R; j++) together<T>(x[j], x[j].r, x[j].i);
    if (whole)
#pragma GCC unroll 16
        for (int j = 0; j < R; j++) put_runs<T, R, true>(rows.out + 2 * (k + j * m), rows.out_each, x[j].r, x[j].i, rows.count, R);
    else
#pragma GCC unroll 16
        for (int j = 0; j < R; j++) put_runs<T, R, false>(rows.out + 2 * (k + j * m), rows.out_each, x[j].r, x[j].i, rows.count, some);
}

template <class T, int R> void last_points(const Plan<T>& plan, const Local<T> from, const Rows<T>& rows, const Ends<T>& by) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const int64_t m = plan.passes.n;
    const Local<T> factors{const_cast<T*>(plan.factors.data())};
    const bool whole = rows.count >= W / R && m >= R;
    for (int64_t k = 0; k < m; k += R) {
        if (whole && k > m - R) k = m - R;            // overlap the previous block rather than do a partial one
        const int64_t some = m - k < R ? m - k : R;
        Complex<V> x[R];
        if (some == R)
#pragma GCC unroll 16
            for (int j = 0; j < R; j++) x[j] = from.get(k + j) * factors.get(k + j);
        else
#pragma GCC unroll 16
            for (int j = 0; j < R; j++) x[j] = from.get(j < some ? k + j : k) * factors.get(j < some ? k + j : k);
        last_block<T, R>(x, rows, k, m, by, some, whole);
    }
}

// Everything in registers, for small m
template <class T, int R, int M, class In>
__attribute__((noinline)) void short_rows(const Plan<T>& plan, const In from, const Rows<T>& rows, const Ends<T>& by) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const Local<T> factors{const_cast<T*>(plan.factors.data())};
    Complex<V> x[M];
#pragma GCC unroll 16
    for (int j = 0; j < M; j++) x[j] = from.get(j);
    Points<M>::transform(x);
#pragma GCC unroll 16
    for (int j = 1; j < M; j++) x[j] = x[j] * factors.get(j);
#pragma GCC unroll 16
    for (int k = 0; k < M; k += R) last_block<T, R>(x + k, rows, k, M, by, R, rows.count >= W / R);
}

template <class T, int R, class In>
void group_of_rows(const Plan<T>& plan, const In from, const Rows<T>& rows, const Ends<T>& by, T* here, T* there) {
    if (R <= 4 && plan.passes.n == 4) return short_rows<T, R, R <= 4 ? 4 : R>(plan, from, rows, by);
    if (R <= 8 && plan.passes.n == 8) return short_rows<T, R, R <= 8 ? 8 : R>(plan, from, rows, by);
    if (plan.passes.n == 16) return short_rows<T, R, 16>(plan, from, rows, by);
    const Local<T> at = run_passes<T>(plan.passes, from, here, there);
    last_points<T, R>(plan, at, rows, by);
}

// One row per lane: up to W rows are transposed to vectors of points, and back.
template <class T, bool WHOLE>
CLAY_INLINE void transposed_block(const Rows<T>& rows, int64_t k, int64_t some, vec<T> sign, const Local<T> to) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const V zero = splat<V>(0);
    V r[W], i[W];
#pragma GCC unroll 16
    for (int row = 0; row < W; row++) {
        V low = zero, high = zero;
        if (WHOLE || row < rows.count) {
            const T* at = rows.in + row * rows.in_each + 2 * k;
            if (WHOLE || 2 * some >= W) low = load<V>(at);
            else low = load_part<V>(at, 2 * some, zero);
            if (WHOLE || some == W) high = load<V>(at + W);
            else if (2 * some > W) high = load_part<V>(at + W, 2 * some - W, zero);
        }
        const Complex<V> x = with_sign(apart<T>(low, high), sign);
        r[row] = x.r, i[row] = x.i;
    }
    turn_over<W>(r);
    turn_over<W>(i);
#pragma GCC unroll 16
    for (int j = 0; j < W; j++)
        if (WHOLE || j < some) to.put(k + j, {r[j], i[j]});
}

template <class T> void transposed_in(const Rows<T>& rows, int64_t n, vec<T> sign, const Local<T> to) {
    constexpr int W = Lanes<vec<T>>::width;
    int64_t k = 0;
    if (rows.count >= W)
        for (; k + W <= n; k += W) transposed_block<T, true>(rows, k, W, sign, to);
    for (; k < n; k += W) transposed_block<T, false>(rows, k, n - k < W ? n - k : W, sign, to);
}

template <class T> void transposed_out(const Local<T> from, const Rows<T>& rows, int64_t n, const Ends<T>& by) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const V real = splat<V>(by.real), imaginary = splat<V>(by.imaginary);
    for (int64_t k = 0; k < n; k += W) {
        const int64_t some = n - k < W ? n - k : W;
        V r[W], i[W];
#pragma GCC unroll 16
        for (int j = 0; j < W; j++) {
            const Complex<V> x = from.get(j < some ? k + j : k);
            r[j] = x.r * real, i[j] = x.i * imaginary;
        }
        turn_over<W>(r);
        turn_over<W>(i);
#pragma GCC unroll 16
        for (int row = 0; row < W; row++) {
            if (row >= rows.count) break;
            V low, high;
            together<T>({r[row], i[row]}, low, high);
            put_runs<T, W, false>(rows.out + row * rows.out_each + 2 * k, 0, low, high, 1, some);
        }
    }
}

template <class T> bool some_rows(const Plan<T>& plan, Rows<T> rows, const Ends<T>& by) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const int64_t m = plan.passes.n;
    const V sign = splat<V>(by.sign);
    T* here = room_for_points<T>(m);
    if (!here) return false;
    T* there = here + 2 * W * m;
    for (; rows.count > 0; rows = rows.after(W / plan.R)) {
        if constexpr (W == 1) {
            run_passes_to<T>(plan.passes, TwoHalfVectors<T>{rows.in, rows.in + 1, 2, sign}, here, there, Columns<T>{rows.out, 2, by.real, by.imaginary});
        } else if (plan.R == W) {
            group_of_rows<T, W>(plan, TwoHalfVectors<T>{rows.in, rows.in + W, 2 * W, sign}, rows, by, here, there);
        } else if (plan.R == W / 2) {
            group_of_rows<T, W / 2>(plan, TwoHalfVectors<T>{rows.in, rows.from(1), W, sign}, rows, by, here, there);
        } else if (W > 4 && plan.R == W / 4) {
            const Quarters<T> from{{rows.in, rows.from(1), rows.from(2), rows.from(3)}, W / 2, sign};
            group_of_rows<T, (W > 4 ? W / 4 : 1)>(plan, from, rows, by, here, there);
        } else {
            transposed_in<T>(rows, m, sign, Local<T>{there});
            transposed_out<T>(run_passes<T>(plan.passes, Local<T>{there}, here, there), rows, m, by);
        }
    }
    return true;
}

// Note [Large]
// For points = A B: first B transforms of A points (columns), W at a time. Their results, times exp(-2 pi i a b / points), are stored
// transposed, so that the B points for W values of a are contiguous. Then A transforms of B points, whose results are columns of the
// output. The data of a task fits the cache, and all lanes are used: the last group of W overlaps the one before.
template <class T> bool large_row(const Plan<T>& plan, const T* in, T* out, const Ends<T>& by) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const int64_t a = plan.large, b = plan.points / a, fine = (int64_t)plan.fine.size() / 2;
    const int64_t blocks = (a + W - 1) / W;
    T* between = (T*)large_room.get(sizeof(T) * 2 * W * (size_t)(blocks * b));
    if (!between) return false;
    std::atomic<bool> failed{false};
    each_task((b + W - 1) / W, 16 * W * a, [&](int64_t block) {
        T* here = room_for_points<T>(a);
        if (!here) return failed.store(true);
        const int64_t first = block * W + W <= b ? block * W : b - W;
        const T* from = in + 2 * first;
        const Local<T> at = run_passes<T>(plan.passes, TwoHalfVectors<T>{from, from + W, 2 * b, splat<V>(by.sign)}, here, here + 2 * W * a);
        const Local<T> lanes{const_cast<T*>(plan.factors.data())};
        for (int64_t part = 0; part < blocks; part++) {
            const int64_t k = part * W + W <= a ? part * W : a - W;
            V r[W], i[W];
#pragma GCC unroll 16
            for (int j = 0; j < W; j++) {
                const int64_t turn = (k + j) * first;
                const double *x = &plan.coarse[turn / fine * 2], *y = &plan.fine[turn % fine * 2];
                const Complex<V> w{splat<V>(x[0] * y[0] - x[1] * y[1]), splat<V>(x[0] * y[1] + x[1] * y[0])};
                const Complex<V> z = at.get(k + j) * (lanes.get(k + j) * w);
                r[j] = z.r, i[j] = z.i;
            }
            turn_over<W>(r);
            turn_over<W>(i);
            const Local<T> to{between + 2 * W * (part * b + first)};
#pragma GCC unroll 16
            for (int j = 0; j < W; j++) to.put(j, {r[j], i[j]});
        }
    });
    each_task(blocks, 16 * W * b, [&](int64_t block) {
        T* here = room_for_points<T>(b);
        if (!here) return failed.store(true);
        const int64_t k = block * W + W <= a ? block * W : a - W;
        run_passes_to<T>(plan.second, Local<T>{between + 2 * W * block * b}, here, here + 2 * W * b,
                         Columns<T>{out + 2 * k, 2 * a, splat<V>(by.real), splat<V>(by.imaginary)});
    });
    large_room.give_back();
    return !failed.load();
}

template <class T> bool complex_rows(const Plan<T>& plan, Rows<T> rows, const Ends<T>& by);

// out = x * y
template <class T> void multiplied(const T* x, const T* y, T* out, int64_t n, const Ends<T>& by) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const V sign = splat<V>(by.sign), real = splat<V>(by.real), imaginary = splat<V>(by.imaginary);
    int64_t k = 0;
    for (; k + W <= n; k += W) {
        const Complex<V> z = with_sign(apart<T>(load<V>(x + 2 * k), load<V>(x + 2 * k + W)), sign) *
                             apart<T>(load<V>(y + 2 * k), load<V>(y + 2 * k + W));
        V low, high;
        together<T>({z.r * real, z.i * imaginary}, low, high);
        store<V>(out + 2 * k, low);
        store<V>(out + 2 * k + W, high);
    }
    for (; k < n; k++) {
        const Complex<T> z = Complex<T>{x[2 * k], x[2 * k + 1] * by.sign} * Complex<T>{y[2 * k], y[2 * k + 1]};
        out[2 * k] = z.r * by.real;
        out[2 * k + 1] = z.i * by.imaginary;
    }
}

// Note [Chirp]
// -2 j k = (k - j)^2 - j^2 - k^2: the transform is a convolution with exp(pi i j^2 / n), between two multiplications by its conjugate,
// and a convolution is a product of transforms of any length from 2 n - 1 on.
template <class T> bool chirped_row(const Plan<T>& plan, const T* in, T* out, const Ends<T>& by) {
    const int64_t n = plan.points, m = plan.inner->points;
    T* y = (T*)chirp_room.get(sizeof(T) * 2 * (size_t)m);
    if (!y) return false;
    const Ends<T> forward(false, 1), backward(true, 1);
    multiplied<T>(in, plan.chirp.data(), y, n, Ends<T>(by.sign, 1, 1));
    memset((void*)(y + 2 * n), 0, sizeof(T) * 2 * (size_t)(m - n));
    const Rows<T> row{y, 0, y, 0, 1};
    if (!complex_rows<T>(*plan.inner, row, forward)) return false;
    multiplied<T>(y, plan.spectrum.data(), y, m, forward);
    if (!complex_rows<T>(*plan.inner, row, backward)) return false;
    multiplied<T>(y, plan.chirp.data(), out, n, Ends<T>(1, by.real, by.imaginary));
    chirp_room.give_back();
    return true;
}

template <class T> bool complex_rows(const Plan<T>& plan, Rows<T> rows, const Ends<T>& by) {
    if (!plan.large && !plan.inner) return some_rows<T>(plan, rows, by);
    for (; rows.count > 0; rows = rows.after(1))
        if (!(plan.large ? large_row<T>(plan, rows.in, rows.out, by) : chirped_row<T>(plan, rows.in, rows.out, by))) return false;
    return true;
}

// --- real signals of even length -------------------------------------------------------------------------------------
// Note [Real signals]
// The even and the odd elements of a signal are the real and imaginary parts of h = n / 2 numbers with spectrum Z. With E and D half the sum
// and half the difference of Z[k] and the conjugate of Z[h - k], and P = D / (i exp(2 pi i k / n)), the spectrum of the signal is
// X[k] = E + P and X[h - k] = conj(E - P). Back it goes likewise, with the other sign of the cosine.
template <class V> CLAY_INLINE void mend(Complex<V>& x, Complex<V>& y, V c, V s) {
    const Complex<V> e = {x.r + y.r, x.i - y.i}, d = {x.r - y.r, x.i + y.i};
    const Complex<V> p = {minus_multiply(s, d.r, c * d.i), minus_multiply(s, d.i, -(c * d.r))};
    x = e + p;
    y = {e.r - p.r, p.i - e.i};
}

template <class T, bool BACK> void mended_part(const Plan<T>& plan, const T* in, T* out, T factor, int64_t k, int64_t end) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const int64_t h = plan.n / 2;
    const T *cosines = plan.cosines.data(), *sines = plan.sines.data();
    if constexpr (W > 1) {
        const V by = splat<V>(factor), minus = splat<V>(BACK ? -1 : 1);
        for (; end - k >= W || (k > W && k < end); k += W) {
            if (k > end - W) k = end - W;             // overlap rather than a scalar remainder
            const int64_t mirror = 2 * (h - k - W + 1);
            Complex<V> x = apart<T>(load<V>(in + 2 * k), load<V>(in + 2 * k + W));
            Complex<V> y;
            separate_reversed(load<V>(in + mirror), load<V>(in + mirror + W), y.r, y.i);
            mend(x, y, load<V>(cosines + k) * minus, load<V>(sines + k));
            V low, high;
            together<T>({x.r * by, x.i * by}, low, high);
            store<V>(out + 2 * k, low);
            store<V>(out + 2 * k + W, high);
            interleave_reversed(y.r * by, y.i * by, low, high);
            store<V>(out + mirror, low);
            store<V>(out + mirror + W, high);
        }
    }
    for (; k < end; k++) {
        Complex<T> x = {in[2 * k], in[2 * k + 1]}, y = {in[2 * (h - k)], in[2 * (h - k) + 1]};
        mend(x, y, BACK ? -cosines[k] : cosines[k], sines[k]);
        out[2 * (h - k)] = y.r * factor, out[2 * (h - k) + 1] = y.i * factor;
        out[2 * k] = x.r * factor, out[2 * k + 1] = x.i * factor;
    }
}

// Less than a vector: with padding of W numbers before and after the rows, full vectors are read and written.
template <class T, bool BACK> void mended_short(const Plan<T>& plan, const T* in, T* out, T factor) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    const int64_t h = plan.n / 2, mirror = 2 * (h - W);
    const V zero = splat<V>(0);                       // the padding must not hold subnormal numbers, which are slow
    T sines[W] = {}, cosines[W] = {};
    memcpy(sines, plan.sines.data() + 1, sizeof(T) * (size_t)(h / 2));
    memcpy(cosines, plan.cosines.data() + 1, sizeof(T) * (size_t)(h / 2));
    Complex<V> x = apart<T>(load<V>(in + 2), load<V>(in + 2 + W));
    Complex<V> y = apart<T>(load<V>(in + mirror), load<V>(in + mirror + W));
    x = {part(x.r, h / 2, zero), part(x.i, h / 2, zero)};
    y = {part(reversed(y.r), h / 2, zero), part(reversed(y.i), h / 2, zero)};
    mend(x, y, load<V>(cosines) * splat<V>(BACK ? -1 : 1), load<V>(sines));
    V low, high;
    together<T>({reversed(y.r) * splat<V>(factor), reversed(y.i) * splat<V>(factor)}, low, high);
    store<V>(out + mirror, low);
    store<V>(out + mirror + W, high);
    together<T>({x.r * splat<V>(factor), x.i * splat<V>(factor)}, low, high);
    put_runs<T, W, false>(out + 2, 0, low, high, 1, h / 2);
}

template <class T, bool BACK> void mended_row(const Plan<T>& plan, const T* in, T* out, T scale) {
    constexpr int W = Lanes<vec<T>>::width;
    const int64_t h = plan.n / 2;
    const T half = BACK ? scale : scale / 2;
    if constexpr (W > 1) {
        if (h > 1 && h / 2 < W) {
            T held[10 * W], *row = held + 2 * W;
            if (BACK) memcpy(row, in, sizeof(T) * 2 * (size_t)(h + 1));
            mended_short<T, BACK>(plan, BACK ? row : in, BACK ? out : row, half);
            if (!BACK) memcpy(out, row, sizeof(T) * 2 * (size_t)(h + 1));
        }
    }
    if (BACK) {
        const T x = in[0], y = in[2 * h];
        out[0] = (x + y) * scale;
        out[1] = (x - y) * scale;
    } else {
        const T x = in[0], y = in[1];
        out[0] = (x + y) * scale;
        out[2 * h] = (x - y) * scale;
        out[1] = out[2 * h + 1] = 0;
    }
    if (h / 2 < W && W > 1) return;
    if (h / 2 <= 4096) return mended_part<T, BACK>(plan, in, out, half, 1, h / 2 + 1);
    each_task((h / 2 + 4095) / 4096, 65536, [=, &plan](int64_t block) {
        const int64_t k = 1 + block * 4096;
        mended_part<T, BACK>(plan, in, out, half, k, k + 4096 <= h / 2 + 1 ? k + 4096 : h / 2 + 1);
    });
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
