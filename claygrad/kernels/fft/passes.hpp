// A transform of n points in each lane of the vectors: passes of small transforms with twiddle factors between.
//
// Note [Passes]
// A pass of radix R over n points that are s apart takes, for every p < n / R and q < s, the points q + s (p + k n / R),
// transforms these R, multiplies the j-th by exp(-2 pi i p j / n) and puts it to q + s (R p + j). The next pass has n / R points that are
// R s apart; after the last they stand in order. The first pass reads the input, the last one writes the output, the
// others alternate between two blocks of scratch.
//
// Note [Backward]
// The backward transform of x is the conjugate of the forward transform of conjugates. So imaginary parts are multiplied by a sign when
// they are loaded, and when they are stored by the scale with that sign: the same loops do both.
#pragma once
#include <math.h>

#include <vector>

#include "fft/butterfly.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// exp(-2 pi i k / n), correctly rounded to T: computed in higher precision, from an angle of at most an eighth of a turn.
template <class T> void unit_root(int64_t k, int64_t n, T* real, T* imaginary) {
    using Wide = typename std::conditional<sizeof(T) == 4, double, long double>::type;
    int64_t a = k % n * 8;                            // of 8 n
    const bool lower = a > 4 * n;
    if (lower) a = 8 * n - a;
    const bool left = a > 2 * n;
    if (left) a = 4 * n - a;
    const bool steep = a > n;
    if (steep) a = 2 * n - a;
    const Wide angle = (Wide)0.78539816339744830961566084581987572L * (Wide)a / (Wide)n;
    const Wide c = std::cos(angle), s = std::sin(angle);
    *real = (T)((steep ? s : c) * (left ? -1 : 1));
    *imaginary = (T)((steep ? c : s) * (lower ? 1 : -1));
}

template <class T> struct Ends {
    T sign;                                           // of imaginary parts that are loaded
    T real, imaginary;                                // what the parts are multiplied by when they are stored
    Ends(T sign, T real, T imaginary) : sign(sign), real(real), imaginary(imaginary) {}
    Ends(bool back, T scale) : Ends((T)(back ? -1 : 1), scale, back ? -scale : scale) {}
};

// --- where points are read and written -------------------------------------------------------------------------------
template <class T> struct Local {                     // scratch: real and imaginary parts of point i in two consecutive vectors
    using V = vec<T>;
    static constexpr int W = Lanes<V>::width;
    T* at;
    CLAY_INLINE Complex<V> get(int64_t i) const { return {load<V>(at + 2 * W * i), load<V>(at + 2 * W * i + W)}; }
    CLAY_INLINE void put(int64_t i, Complex<V> x) const {
        store<V>(at + 2 * W * i, x.r);
        store<V>(at + 2 * W * i + W, x.i);
    }
};

template <class T> CLAY_INLINE Complex<vec<T>> apart(vec<T> low, vec<T> high) {
    Complex<vec<T>> x;
    if constexpr (Lanes<vec<T>>::width == 1) x = {low, high};
    else separate(low, high, x.r, x.i);
    return x;
}
template <class T> CLAY_INLINE void together(Complex<vec<T>> x, vec<T>& low, vec<T>& high) {
    if constexpr (Lanes<vec<T>>::width == 1) low = x.r, high = x.i;
    else interleave(x.r, x.i, low, high);
}

template <class T> struct TwoHalfVectors {            // interleaved complex numbers: half a vector from each of two rows
    using V = vec<T>;
    const T *low, *high;
    int64_t step;                                     // from a point to the next
    V sign;
    CLAY_INLINE Complex<V> get(int64_t i) const { return with_sign(apart<T>(load<V>(low + i * step), load<V>(high + i * step)), sign); }
};

template <class T> struct Quarters {       // a quarter vector from each of four rows
    using V = vec<T>;
    static constexpr int W = Lanes<V>::width;
    const T* at[4];
    int64_t step;
    V sign;
    CLAY_INLINE Complex<V> get(int64_t i) const {
        return with_sign(apart<T>(load_two<V>(at[0] + i * step, at[1] + i * step), load_two<V>(at[2] + i * step, at[3] + i * step)), sign);
    }
};

template <class T> struct Columns {                   // neighbouring complex columns
    using V = vec<T>;
    static constexpr int W = Lanes<V>::width;
    T* at;
    int64_t step;
    V real, imaginary;
    CLAY_INLINE void put(int64_t i, Complex<V> x) const {
        V low, high;
        together<T>({x.r * real, x.i * imaginary}, low, high);
        store<V>(at + i * step, low);
        store<V>(at + i * step + W, high);
    }
};

// --- passes ----------------------------------------------------------------------------------------------------------
template <class T> struct Pass {
    int64_t radix, groups, s;                         // groups: n / radix of the note
    int64_t factors, circle;                          // offsets in the table
};

template <class T> struct Passes {
    int64_t n = 1;
    std::vector<Pass<T>> list;
    std::vector<T> table;
};

template <class T, int R, class In, class Out>
void run_pass(const Pass<T>& pass, const T* w, const In from, const Out to) {
    using V = vec<T>;
    const int64_t s = pass.s, apart = pass.groups * s;
    for (int64_t p = 0; p < pass.groups; p++, w += 2 * (R - 1))
        for (int64_t q = 0; q < s; q++) {
            Complex<V> x[R];
#pragma GCC unroll 16
            for (int k = 0; k < R; k++) x[k] = from.get(q + p * s + k * apart);
            Points<R>::transform(x);
            to.put(q + s * R * p, x[0]);
            if (p == 0) {                                // here, not as a loop of its own: the transform is most of the code
#pragma GCC unroll 16
                for (int k = 1; k < R; k++) to.put(q + s * k, x[k]);
                continue;
            }
            const T* v = w - 2 * (R - 1) - 2;
#pragma GCC unroll 16
            for (int k = 1; k < R; k++) to.put(q + s * (R * p + k), x[k] * Complex<V>{splat<V>(v[2 * k]), splat<V>(v[2 * k + 1])});
        }
}

constexpr int MAX_POINTS = 61;                       // the largest prime radix that is summed directly

// Any odd radix, as Points<R>
template <class T> void run_any(const Pass<T>& pass, const T* w, const T* circle, const Local<T> from, const Local<T> to) {
    using V = vec<T>;
    const int R = (int)pass.radix, half = R / 2;
    const int64_t s = pass.s, apart = pass.groups * s;
    Complex<V> sum[MAX_POINTS / 2], gap[MAX_POINTS / 2];
    for (int64_t p = 0; p < pass.groups; p++)
        for (int64_t q = 0; q < s; q++) {
            const Complex<V> first = from.get(q + p * s);
            Complex<V> all = first;
            for (int k = 0; k < half; k++) {
                const Complex<V> x = from.get(q + p * s + (k + 1) * apart), y = from.get(q + p * s + (R - 1 - k) * apart);
                sum[k] = x + y;
                gap[k] = x - y;
                all = all + sum[k];
            }
            to.put(q + s * R * p, all);
            for (int j = 1; j <= half; j++) {
                Complex<V> even = first, odd = {splat<V>(0), splat<V>(0)};
                for (int k = 0, at = j; k < half; k++, at = at + j >= R ? at + j - R : at + j) {
                    const V c = splat<V>(circle[2 * at]), sine = splat<V>(circle[2 * at + 1]);
                    even = {multiply_add(sum[k].r, c, even.r), multiply_add(sum[k].i, c, even.i)};
                    odd = {multiply_add(gap[k].r, sine, odd.r), multiply_add(gap[k].i, sine, odd.i)};
                }
                Complex<V> x = {even.r - odd.i, even.i + odd.r}, y = {even.r + odd.i, even.i - odd.r};
                if (p > 0) {
                    const T* v = w + 2 * (R - 1) * (p - 1) - 2;
                    x = x * Complex<V>{splat<V>(v[2 * j]), splat<V>(v[2 * j + 1])};
                    y = y * Complex<V>{splat<V>(v[2 * (R - j)]), splat<V>(v[2 * (R - j) + 1])};
                }
                to.put(q + s * (R * p + j), x);
                to.put(q + s * (R * p + R - j), y);
            }
        }
}

template <class T, class In, class Out> void run_one(const Passes<T>& plan, const Pass<T>& pass, const In from, const Out to) {
    const T* w = plan.table.data() + pass.factors;
    switch (pass.radix) {
        case 1: return run_pass<T, 1>(pass, w, from, to);
        case 2: return run_pass<T, 2>(pass, w, from, to);
        case 3: return run_pass<T, 3>(pass, w, from, to);
        case 4: return run_pass<T, 4>(pass, w, from, to);
        case 5: return run_pass<T, 5>(pass, w, from, to);
        case 7: return run_pass<T, 7>(pass, w, from, to);
        case 8: return run_pass<T, 8>(pass, w, from, to);
        case 16: return run_pass<T, 16>(pass, w, from, to);
    }
    if constexpr (std::is_same<In, Local<T>>::value && std::is_same<Out, Local<T>>::value)
        run_any<T>(pass, w, plan.table.data() + pass.circle, from, to);
}

// All passes but the last; returns the block of scratch that holds the points.
template <class T, class In> Local<T> run_passes(const Passes<T>& plan, const In from, T* here, T* there, bool all = true) {
    const int64_t count = (int64_t)plan.list.size() - !all;
    Local<T> at{here};
    run_one<T>(plan, plan.list[0], from, at);
    for (int64_t i = 1; i < count; i++) {
        const Local<T> next{at.at == here ? there : here};
        run_one<T>(plan, plan.list[i], at, next);
        at = next;
    }
    return at;
}
template <class T, class In, class Out>
void run_passes_to(const Passes<T>& plan, const In from, T* here, T* there, const Out to) {
    const Local<T> at = run_passes<T>(plan, from, here, there, false);
    run_one<T>(plan, plan.list.back(), at, to);
}

// --- plans -----------------------------------------------------------------------------------------------------------
inline std::vector<int64_t> radices_of(int64_t n) {
    std::vector<int64_t> out;
    int twos = 0;
    while (n % 2 == 0) n /= 2, twos++;
    for (int64_t p = 3; n > 1; p += 2) {
        if (p * p > n) p = n;
        for (; n % p == 0; n /= p) out.push_back(p);
    }
    // As few passes as possible, and radix 8 rather than 16: it leaves registers for the factors.
    const int eights = twos == 5 ? 0 : twos < 5 ? 0 : (4 - twos % 4) % 4;
    if (twos == 5) out.insert(out.end(), {8, 4}), twos = 0;
    for (int i = 0; i < eights; i++, twos -= 3) out.push_back(8);
    for (; twos >= 4; twos -= 4) out.push_back(16);
    if (twos) out.push_back((int64_t)1 << twos);
    return out;
}

inline bool has_template(int64_t radix) { return radix <= 5 || radix == 7 || radix == 8 || radix == 16; }

template <class T> void make_passes(int64_t n, bool out_of_place, Passes<T>* plan) {
    std::vector<int64_t> radices = radices_of(n);
    if (radices.empty() || !has_template(radices[0])) radices.insert(radices.begin(), 1);
    if (!has_template(radices.back()) || (out_of_place && radices.size() == 1)) radices.push_back(1);
    plan->n = n;
    int64_t left = n, s = 1;
    for (int64_t radix : radices) {
        Pass<T> pass{radix, left / radix, s, (int64_t)plan->table.size(), 0};
        if (radix == 1) {                             // a copy
            pass.groups = 1, pass.s = n;
            plan->list.push_back(pass);
            continue;
        }
        T real, imaginary;
        for (int64_t p = 1; p < pass.groups; p++)
            for (int64_t j = 1; j < radix; j++) {
                unit_root<T>(p * j, left, &real, &imaginary);
                plan->table.push_back(real);
                plan->table.push_back(imaginary);
            }
        pass.circle = (int64_t)plan->table.size();
        if (!has_template(radix))
            for (int64_t k = 0; k < radix; k++) {
                unit_root<T>(k, radix, &real, &imaginary);
                plan->table.push_back(real);
                plan->table.push_back(imaginary);
            }
        plan->list.push_back(pass);
        left = pass.groups, s *= radix;
    }
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
