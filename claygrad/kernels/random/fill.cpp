// See Note [Streams] in random/random.hpp.
#include "random/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "random/mt19937.hpp"
#include "random/math.hpp"

namespace clay {
namespace {

// out[i] = f(unit draw in double)
template <class T, class F> void from_units(Engine& e, T* out, int64_t n, F f) {
    in_chunks<2>(e, n, [&](const uint32_t* words, int64_t at, int64_t count) {
        for (int64_t i = 0; i < count; i++) out[at + i] = f(unit(pair(words, i)));
    });
}

// ---------------------------------------------------------------- uniform

CLAY_CLONES void units_f32(const uint32_t* __restrict words, float* __restrict out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = float(int32_t(words[i] & 0xffffff)) * 0x1p-24f;
}

CLAY_CLONES void uniform_f32(const uint32_t* __restrict words, float* __restrict out, int64_t n, float from, float to) {
    float width = to - from;
    for (int64_t i = 0; i < n; i++) {
        float x = __builtin_fmaf(float(int32_t(words[i] & 0xffffff)) * 0x1p-24f, width, from);
        out[i] = x == to ? from : x;
    }
}

CLAY_CLONES void uniform_f64(const uint32_t* __restrict words, double* __restrict out, int64_t n, double from,
                             double to) {
    double width = to - from;
    for (int64_t i = 0; i < n; i++) {
        // 21 high bits and 32 low bits: both parts and their sum are exact, and int32 conversions vectorise.
        double high = double(int32_t(words[2 * i] & 0x1fffff)) * 0x1p-21;
        double low = (double(int32_t(words[2 * i + 1] ^ 0x80000000u)) + 0x1p31) * 0x1p-53;
        double x = __builtin_fma(high + low, width, from);
        out[i] = x == to ? from : x;
    }
}

// ---------------------------------------------------------------- normal

// Box-Muller over blocks of 16 uniforms: the first 8 give the radii, the last 8 the angles.
CLAY_CLONES void box_muller_f32(float* x, int64_t n, float mean, float std) {
    for (int64_t i = 0; i < n; i += 16) {
        float* a = x + i;
        for (int j = 0; j < 8; j++) {
            float radius = __builtin_sqrtf(-2 * log_f32(1 - a[j]));
            float sine, cosine;
            sin_cos_f32(6.283185307179586f * a[j + 8], &sine, &cosine);
            a[j] = __builtin_fmaf(radius * cosine, std, mean);
            a[j + 8] = __builtin_fmaf(radius * sine, std, mean);
        }
    }
}

void box_muller_f64(double* x, int64_t n, double mean, double std) {
    for (int64_t i = 0; i < n; i += 16) {
        for (double* a = x + i; a < x + i + 8; a++) {
            double radius = std::sqrt(-2 * std::log(1 - a[0])), theta = 6.283185307179586 * a[8];
            a[0] = std::fma(radius * std::cos(theta), std, mean);
            a[8] = std::fma(radius * std::sin(theta), std, mean);
        }
    }
}

void normal_blocks(Engine& e, float* out, int64_t n, float mean, float std) {
    int64_t whole_blocks = n & ~int64_t(15);
    in_chunks<1>(e, whole_blocks, [&](const uint32_t* words, int64_t at, int64_t count) {
        units_f32(words, out + at, count);
        box_muller_f32(out + at, count, mean, std);
    });
    if (n == whole_blocks) return;
    uint32_t words[32];                       // the rest is drawn, dropped, and the last 16 made afresh
    draw_all(e, words, n - whole_blocks + 16);
    units_f32(words + (n - whole_blocks), out + n - 16, 16);
    box_muller_f32(out + n - 16, 16, mean, std);
}

void normal_blocks(Engine& e, double* out, int64_t n, double mean, double std) {
    int64_t whole_blocks = n & ~int64_t(15);
    fill_uniform(e, F64, out, whole_blocks, 0, 1);
    box_muller_f64(out, whole_blocks, mean, std);
    if (n == whole_blocks) return;
    uint32_t words[32];
    draw_all(e, words, 2 * (n - whole_blocks));
    draw_all(e, words, 32);
    uniform_f64(words, out + n - 16, 16, 0, 1);
    box_muller_f64(out + n - 16, 16, mean, std);
}

template <class T> void normal_blocks(Engine& e, T* out, int64_t n, float mean, float std) {        // T: a half
    float x[CHUNK];
    auto convert = [&](T* to, int64_t count) {
        box_muller_f32(x, count, mean, std);
        for (int64_t i = 0; i < count; i++) to[i] = cast<T>(x[i]);
    };
    in_chunks<1>(e, n & ~int64_t(15), [&](const uint32_t* words, int64_t at, int64_t count) {
        units_f32(words, x, count);
        convert(out + at, count);
    });
    if (n % 16 == 0) return;
    uint32_t words[16];                       // unlike in the wider types nothing is dropped
    draw_all(e, words, 16);
    units_f32(words, x, 16);
    convert(out + n - 16, 16);
}

// ---------------------------------------------------------------- integers

// The remainder of many 32-bit words by one divisor, without division: with m = floor(2**64 / d) + 1 the quotient of
// every w < 2**32 is floor(w * m / 2**64).
struct Divisor {
    uint64_t d, m;
    explicit Divisor(uint32_t divisor) : d(divisor), m(~0ull / divisor + 1) {}
    uint32_t remainder(uint32_t w) const {
        if (d == 1) return 0;                 // m does not fit
        uint64_t quotient = uint64_t((unsigned __int128)(w) * m >> 64);
        return uint32_t(w - quotient * d);
    }
};

template <class T> void permutation(Engine& e, T* out, int64_t n) {
    // Long ones grow from the inside out on 64-bit draws: a remainder of 32 bits would favour the small numbers.
    if (n >= std::numeric_limits<uint32_t>::max() / 20)
        return in_chunks<2>(e, n, [&](const uint32_t* words, int64_t at, int64_t count) {
            for (int64_t i = at; i < at + count; i++) {
                int64_t z = int64_t(pair(words, i - at) % uint64_t(i + 1));
                out[i] = z < i ? out[z] : cast<T>(i);
                out[z] = cast<T>(i);
            }
        });
    for (int64_t i = 0; i < n; i++) out[i] = cast<T>(i);
    in_chunks<1>(e, n - 1, [&](const uint32_t* words, int64_t at, int64_t count) {
        for (int64_t i = at; i < at + count; i++) std::swap(out[i], out[i + words[i - at] % uint32_t(n - i)]);
    });
}

// ---------------------------------------------------------------- categories

template <class T>
Weights with_replacement(Engine& e, const T* weights_n, int64_t n, int64_t* out, int64_t count, Wide<T>* mass_n) {
    Wide<T> sum = 0;
    for (int64_t j = 0; j < n; j++) {
        Wide<T> w = wide(weights_n[j]);
        if (!(w >= 0)) return Weights::negative;
        if (!std::isfinite(w)) return Weights::not_finite;
        mass_n[j] = sum += w;
    }
    if (!(sum > 0)) return Weights::no_mass;
    for (int64_t j = 0; j < n; j++) mass_n[j] /= sum;
    mass_n[n - 1] = 1;
    for (int64_t i = 0; i < count; i++) {
        double u = draw_unit(e);
        out[i] = std::lower_bound(mass_n, mass_n + n, u, [](Wide<T> mass, double x) { return mass < x; }) - mass_n;
    }
    return Weights::good;
}

// The order among equal quotients is that of the same selection algorithms that PyTorch calls.
template <class T> void largest(std::vector<std::pair<Wide<T>, int64_t>>& queue, int64_t count) {
    using Entry = std::pair<Wide<T>, int64_t>;
    auto larger = [](const Entry& x, const Entry& y) {
        return (std::isnan(x.first) && !std::isnan(y.first)) || x.first > y.first;
    };
    auto first = queue.begin(), last = queue.end();
    if (count == 1)
        std::iter_swap(first, std::min_element(first, last, larger));
    else if (count * 64 <= int64_t(queue.size()))
        std::partial_sort(first, first + count, last, larger);
    else {
        std::nth_element(first, first + count - 1, last, larger);
        std::sort(first, first + count - 1, larger);
    }
}

}  // namespace

// ---------------------------------------------------------------- the entry point

void engine_seed(Engine& e, uint64_t seed) {
    e.seed = seed;
    e.state[0] = uint32_t(seed);
    for (uint32_t i = 1; i < 624; i++) e.state[i] = 1812433253u * (e.state[i - 1] ^ (e.state[i - 1] >> 30)) + i;
    e.left = 1;
    e.next = 0;
    e.has_normal = e.has_normal_float = false;
    e.normal = 0;
    e.normal_float = 0;
}

void engine_save(const Engine& e, void* bytes) {
    SavedState s = {};
    s.seed = e.seed;
    s.left = e.left;
    s.seeded = 1;
    s.next = e.next;
    std::copy(e.state, e.state + 624, s.state);
    s.has_normal = e.has_normal;
    s.normal_y = e.has_normal ? e.normal : 0;
    s.has_normal_float = e.has_normal_float;
    s.normal_float = e.has_normal_float ? e.normal_float : 0;
    std::memcpy(bytes, &s, sizeof s);
}

bool engine_load(Engine& e, const void* bytes) {
    SavedState s;
    std::memcpy(&s, bytes, sizeof s);
    // The words left must exist: PyTorch does not look, and would read beyond them.
    if (!s.seeded || s.left <= 0 || s.left > 624 || s.next > uint64_t(625 - s.left)) return false;
    e.seed = s.seed;
    e.left = s.left;
    e.next = uint32_t(s.next);
    for (int i = 0; i < 624; i++) e.state[i] = uint32_t(s.state[i]);
    e.has_normal = s.has_normal != 0;
    e.normal = s.normal_y;
    e.has_normal_float = s.has_normal_float != 0;
    e.normal_float = s.normal_float;
    return true;
}

void fill_uniform(Engine& e, int dtype, void* out, int64_t n, double from, double to) {
    with_float(dtype, [&](auto type) {
        using T = decltype(type);
        T* out_n = static_cast<T*>(out);
        if constexpr (std::is_same_v<T, double>) {
            in_chunks<2>(e, n, [&](const uint32_t* words, int64_t at, int64_t count) {
                uniform_f64(words, out_n + at, count, from, to);
            });
        } else if constexpr (std::is_same_v<T, float>) {
            in_chunks<1>(e, n, [&](const uint32_t* words, int64_t at, int64_t count) {
                uniform_f32(words, out_n + at, count, float(from), float(to));
            });
        } else {
            T last = cast<T>(to), first = cast<T>(from);
            float x[CHUNK];
            in_chunks<1>(e, n, [&](const uint32_t* words, int64_t at, int64_t count) {
                uniform_f32(words, x, count, float(from), float(to));
                for (int64_t i = 0; i < count; i++) {
                    T y = cast<T>(x[i]);
                    out_n[at + i] = wide(y) == wide(last) ? first : y;
                }
            });
        }
    });
}

void fill_normal(Engine& e, int dtype, void* out, int64_t n, double mean, double std, bool blocks) {
    with_float(dtype, [&](auto type) {
        using T = decltype(type);
        T* out_n = static_cast<T*>(out);
        if (blocks) return normal_blocks(e, out_n, n, Wide<T>(mean), Wide<T>(std));
        for (int64_t i = 0; i < n; i++) out_n[i] = cast<T>(std::fma(draw_normal(e), std, mean));
    });
}

void fill_log_normal(Engine& e, int dtype, void* out, int64_t n, double mean, double std) {
    with_float(dtype, [&](auto type) {
        using T = decltype(type);
        T* out_n = static_cast<T*>(out);
        for (int64_t i = 0; i < n; i++) out_n[i] = cast<T>(std::exp(std::fma(draw_normal(e), std, mean)));
    });
}

void fill_exponential(Engine& e, int dtype, void* out, int64_t n, double lambda) {
    double scale = -1.0 / lambda;
    with_float(dtype, [&](auto type) {
        using T = decltype(type);
        from_units(e, static_cast<T*>(out), n, [&](double u) { return cast<T>(scale * std::log1p(-u)); });
    });
}

void fill_cauchy(Engine& e, int dtype, void* out, int64_t n, double median, double sigma) {
    with_float(dtype, [&](auto type) {
        using T = decltype(type);
        from_units(e, static_cast<T*>(out), n, [&](double u) {
            return cast<T>(std::fma(sigma, std::tan(3.141592653589793 * (u - 0.5)), median));
        });
    });
}

void fill_geometric(Engine& e, int dtype, void* out, int64_t n, double p) {
    double log_miss = std::log1p(-p);
    with_real(dtype, [&](auto type) {
        using T = decltype(type);
        from_units(e, static_cast<T*>(out), n,
                   [&](double u) { return cast_whole<T>(std::ceil(std::log(u) / log_miss)); });
    });
}

void fill_bernoulli(Engine& e, int dtype, void* out, int64_t n, double p) {
    with_real(dtype, [&](auto type) {
        using T = decltype(type);
        from_units(e, static_cast<T*>(out), n, [&](double u) { return cast<T>(u < p); });
    });
}

int64_t fill_bernoulli_each(Engine& e, int dtype, void* out, int p_dtype, const void* p, int64_t n) {
    int64_t bad = -1;
    with_real(dtype, [&](auto type) {
        using T = decltype(type);
        T* out_n = static_cast<T*>(out);
        with_float(p_dtype, [&](auto p_type) {
            using P = decltype(p_type);
            const P* p_n = static_cast<const P*>(p);
            for (int64_t i = 0; i < n; i++) {
                Wide<P> chance = wide(p_n[i]);
                if (!(chance >= 0 && chance <= 1)) {
                    bad = i;
                    return;
                }
                if constexpr (std::is_same_v<P, double>)
                    out_n[i] = cast<T>(draw_unit(e) < chance);
                else
                    out_n[i] = cast<T>(float(draw(e) & 0xffffff) * 0x1p-24f < chance);
            }
        });
    });
    return bad;
}

void fill_range(Engine& e, int dtype, void* out, int64_t n, uint64_t range, int64_t base) {
    with_real(dtype, [&](auto type) {
        using T = decltype(type);
        T* out_n = static_cast<T*>(out);
        // From 2**28 on a remainder of 32 bits would favour the small numbers.
        if (range < 1u << 28) {
            Divisor by{uint32_t(range)};
            in_chunks<1>(e, n, [&](const uint32_t* words, int64_t at, int64_t count) {
                for (int64_t i = 0; i < count; i++) out_n[at + i] = cast<T>(by.remainder(words[i]) + base);
            });
        } else {
            in_chunks<2>(e, n, [&](const uint32_t* words, int64_t at, int64_t count) {
                for (int64_t i = 0; i < count; i++)
                    out_n[at + i] = cast<T>(int64_t(pair(words, i) % range + uint64_t(base)));
            });
        }
    });
}

void fill_full_range(Engine& e, int dtype, void* out, int64_t n) {
    with_real(dtype, [&](auto type) {
        using T = decltype(type);
        in_chunks<2>(e, n, [&](const uint32_t* words, int64_t at, int64_t count) {
            for (int64_t i = 0; i < count; i++) static_cast<T*>(out)[at + i] = cast<T>(int64_t(pair(words, i)));
        });
    });
}

void fill_natural_range(Engine& e, int dtype, void* out, int64_t n) {
    with_real(dtype, [&](auto type) {
        using T = decltype(type);
        T* out_n = static_cast<T*>(out);
        constexpr bool long_words = sizeof(T) == 8;
        constexpr uint64_t range = (1ull << digits<T>) + is_float<T>;
        in_chunks<long_words ? 2 : 1>(e, n, [&](const uint32_t* words, int64_t at, int64_t count) {
            for (int64_t i = 0; i < count; i++) {
                uint64_t word = long_words ? pair(words, i) : words[i];
                out_n[at + i] = cast<T>(int64_t(word % range));
            }
        });
    });
}

void fill_permutation(Engine& e, int dtype, void* out, int64_t n) {
    with_real(dtype, [&](auto type) { permutation(e, static_cast<decltype(type)*>(out), n); });
}

Weights sample_with_replacement(Engine& e, int dtype, const void* weights, int64_t rows, int64_t n, int64_t* out,
                                int64_t count) {
    Weights verdict = Weights::good;
    with_float(dtype, [&](auto type) {
        using T = decltype(type);
        std::vector<Wide<T>> mass(n);
        const T* weights_rn = static_cast<const T*>(weights);
        for (int64_t r = 0; r < rows && verdict == Weights::good; r++)
            verdict = with_replacement(e, weights_rn + r * n, n, out + r * count, count, mass.data());
    });
    return verdict;
}

void sample_without_replacement(int dtype, const void* weights, const void* draws, int64_t rows, int64_t n,
                                int64_t* out, int64_t count) {
    with_float(dtype, [&](auto type) {
        using T = decltype(type);
        const T* weights_rn = static_cast<const T*>(weights);
        const T* draws_rn = static_cast<const T*>(draws);
        std::vector<std::pair<Wide<T>, int64_t>> queue(n);
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t j = 0; j < n; j++)
                queue[j] = {wide(cast<T>(wide(weights_rn[r * n + j]) / wide(draws_rn[r * n + j]))), j};
            largest<T>(queue, count);
            for (int64_t j = 0; j < count; j++) out[r * count + j] = queue[j].second;
        }
    });
}

}  // namespace clay
