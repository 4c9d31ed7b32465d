// The plans of transforms, and a cache of them.
#pragma once
#include <new>

#include "fft/rows.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

inline int64_t largest_prime(int64_t n) {
    int64_t found = 1;
    for (int64_t p = 2; n > 1; p++) {
        if (p * p > n) p = n;
        for (; n % p == 0; n /= p) found = p;
    }
    return found;
}

// Cost of R lanes per row (Note [Rows]), in instructions per vector, for so many rows
inline int64_t lanes_of_rows(int64_t n, int64_t rows, int W) {
    int64_t best = 1;
    double smallest = 0;
    for (int64_t R : {W, W / 2, W > 4 ? W / 4 : 0, 1}) {
        if (R < 1 || n % R || (R < W && R == best)) continue;
        const int64_t m = n / R, some = rows < W ? rows : W, groups = (some * R + W - 1) / W;
        const double filled = (double)((m + R - 1) / R * R) / (double)m, lanes = std::log2((double)R);
        const double ends = R == 1 ? 4 * std::log2((double)W) + 6 : (6 + 5 * lanes) * filled + (R == W / 4 ? 2 : 0);
        const double cost = (double)(groups * m) * (4 * std::log2((double)m) + ends);
        if (smallest == 0 || cost < smallest) smallest = cost, best = R;
    }
    return best;
}

// A divisor of n near its root, with A and n / A at least W; or 0
inline int64_t balanced(int64_t n, int W) {
    for (int64_t a = (int64_t)std::sqrt((double)n); a >= W; a--)
        if (n % a == 0) return a;
    return 0;
}

template <class T> void append_root(std::vector<T>& table, int64_t k, int64_t n) {
    T real, imaginary;
    unit_root<T>(k, n, &real, &imaginary);
    table.push_back(real);
    table.push_back(imaginary);
}

// Two vectors for every k < count: exp(-2 pi i k j / n) in lane j, repeated every R lanes
template <class T> void lane_factors(std::vector<T>& table, int64_t count, int64_t n, int64_t R) {
    constexpr int W = Lanes<vec<T>>::width;
    table.resize((size_t)(2 * W * count));
    for (int64_t k = 0; k < count; k++)
        for (int64_t j = 0; j < R; j++) {
            T *to = &table[(size_t)(2 * W * k + j)], real, imaginary;
            unit_root<T>(k * j, n, &real, &imaginary);
            for (int64_t lane = 0; lane < W; lane += R) to[lane] = real, to[W + lane] = imaginary;
        }
}

constexpr int64_t LONELY = 96;           // up to so many points a few rows may leave most lanes idle
constexpr int64_t CACHED = 1 << 19;      // bytes of points that stay in the second-level cache

template <class T> void make_complex(Plan<T>* plan, int64_t points, int64_t rows) {
    constexpr int W = Lanes<vec<T>>::width;
    plan->points = points;
    if (!plan->columns && !plan->transposed) plan->R = lanes_of_rows(points, rows, W);
    const bool lonely = !plan->columns && W > 1 && plan->R == 1 && 2 * rows < W;
    if (!plan->columns && W > 1 && (points * (int64_t)sizeof(T) * 2 > CACHED || lonely)) plan->large = balanced(points, W);
    if (largest_prime(points) > MAX_POINTS || (lonely && !plan->large && points > LONELY)) {
        plan->transposed = false, plan->R = 1, plan->large = 0;
        int64_t m = W;
        while (m < 2 * points - 1) m *= 2;
        if (m / 4 * 3 >= 2 * points - 1 && m >= 64 * W) m = m / 4 * 3;
        plan->inner.reset(new Plan<T>);
        make_complex(plan->inner.get(), m, 1);
        std::vector<T> kernel((size_t)(2 * m)), spectrum((size_t)(2 * m));
        for (int64_t k = 0, square = 0; k < points; k++) {
            append_root(plan->chirp, square, 2 * points);
            for (int64_t at : {k, (m - k) % m}) {
                kernel[(size_t)(2 * at)] = plan->chirp[(size_t)(2 * k)];
                kernel[(size_t)(2 * at + 1)] = -plan->chirp[(size_t)(2 * k + 1)];
            }
            square = (square + 2 * k + 1) % (2 * points);
        }
        const Rows<T> row{kernel.data(), 0, spectrum.data(), 0, 1};
        if (!complex_rows<T>(*plan->inner, row, Ends<T>(false, (T)(1.0 / (double)m)))) throw std::bad_alloc();
        plan->spectrum = std::move(spectrum);
        return;
    }
    if (plan->large) {
        const int64_t fine = (int64_t)1 << (int)std::ceil(std::log2((double)points) / 2);
        plan->transposed = false, plan->R = 1;
        make_passes(plan->large, false, &plan->passes);
        make_passes(points / plan->large, true, &plan->second);
        lane_factors(plan->factors, plan->large, points, W);
        for (int64_t k = 0; k < fine; k++) append_root(plan->fine, k, points);
        for (int64_t k = 0; k * fine < points; k++) append_root(plan->coarse, k * fine, points);
        return;
    }
    make_passes(points / plan->R, plan->columns || W == 1, &plan->passes);
    if (plan->R > 1) lane_factors(plan->factors, points / plan->R, points, plan->R);
}

template <class T> Plan<T>* make_plan(int64_t n, bool real, bool columns, int64_t rows) {
    constexpr int W = Lanes<vec<T>>::width;
    std::unique_ptr<Plan<T>> plan(new Plan<T>);
    plan->n = n, plan->real = real, plan->columns = columns;
    plan->transposed = real && !columns && (n % 2 || (W > 1 && n <= 2 * W && 2 * rows >= W));
    make_complex(plan.get(), plan->even_real() ? n / 2 : n, rows);
    if (plan->even_real())
        for (int64_t k = 0; k <= n / 4; k++) {
            T real_part, imaginary;
            unit_root<T>(k, n, &real_part, &imaginary);
            plan->cosines.push_back(real_part);
            plan->sines.push_back(-imaginary);
        }
    return plan.release();
}

// A bounded cache of plans; the caller holds the interpreter lock. An evicted plan lives on while it is in use.
template <class T> struct Plans {
    static constexpr size_t MAX_PLANS = 64, MAX_BYTES = (size_t)1 << 25;
    std::vector<Plan<T>*> kept;          // most recently used first

    static void let_go(Plan<T>* plan) {
        if (--plan->users == 0) delete plan;
    }
    Plan<T>* get(int64_t n, bool real, bool columns, int64_t rows) {
        constexpr int W = Lanes<vec<T>>::width;
        const int64_t key = n * 64 + (columns ? 0 : rows < W ? rows : W) * 2 + real;
        size_t i = 0;
        while (i < kept.size() && kept[i]->key != key) i++;
        Plan<T>* plan = i < kept.size() ? kept[i] : nullptr;
        if (!plan) {
            plan = make_plan<T>(n, real, columns, rows);
            plan->key = key, plan->users = 1;
            kept.push_back(plan);
        }
        for (; i > 0; i--) kept[i] = kept[i - 1];
        kept[0] = plan;
        size_t bytes = 0, keep = 0;
        while (keep < kept.size() && keep < MAX_PLANS && (keep == 0 || bytes < MAX_BYTES)) bytes += kept[keep++]->bytes();
        for (; kept.size() > keep; kept.pop_back()) let_go(kept.back());
        plan->users++;
        return plan;
    }
};

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
