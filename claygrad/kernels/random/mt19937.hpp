// Drawing words from the engine. Private to random/fill.cpp and random/sample.cpp.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "random/random.hpp"

// The loops that matter are compiled for three instruction sets and chosen at load. All give the same bits.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__)
#define CLAY_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLAY_CLONES
#endif

namespace clay {
namespace {

constexpr int64_t CHUNK = 2048;      // words drawn at a time: they stay in the first cache

uint32_t twist_word(uint32_t u, uint32_t v) {
    uint32_t mixed = (u & 0x80000000u) | (v & 0x7fffffffu);
    return (mixed >> 1) ^ (-(v & 1) & 0x9908b0dfu);
}

uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

CLAY_CLONES void twist(uint32_t* s) {
    for (int i = 0; i < 227; i++) s[i] = s[i + 397] ^ twist_word(s[i], s[i + 1]);
    for (int i = 227; i < 623; i++) s[i] = s[i - 227] ^ twist_word(s[i], s[i + 1]);
    s[623] = s[396] ^ twist_word(s[623], s[0]);
}

CLAY_CLONES void temper_all(const uint32_t* __restrict s, uint32_t* __restrict out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = temper(s[i]);
}

uint32_t draw(Engine& e) {
    if (--e.left == 0) {
        twist(e.state);
        e.left = 624;
        e.next = 0;
    }
    return temper(e.state[e.next++]);
}

uint64_t draw64(Engine& e) {
    uint64_t high = draw(e);
    return high << 32 | draw(e);
}

void draw_all(Engine& e, uint32_t* out, int64_t n) {
    while (n > 0) {
        int64_t ready = std::min<int64_t>(e.left - 1, n);
        if (ready == 0) {
            *out++ = draw(e);
            n--;
            continue;
        }
        temper_all(e.state + e.next, out, ready);
        e.left -= int32_t(ready);
        e.next += uint32_t(ready);
        out += ready;
        n -= ready;
    }
}

double unit(uint64_t word) { return double(word & ((1ull << 53) - 1)) * 0x1p-53; }

double draw_unit(Engine& e) { return unit(draw64(e)); }

double draw_normal(Engine& e) {
    if (e.has_normal) {
        e.has_normal = false;
        return e.normal;
    }
    double theta = 6.283185307179586 * draw_unit(e);
    double radius = std::sqrt(-2.0 * std::log1p(-draw_unit(e)));
    e.normal = radius * std::sin(theta);
    e.has_normal = true;
    return radius * std::cos(theta);
}

// Draw `per` words (1 or 2) an element, a chunk at a time: f(words, position, count).
template <int per, class F> void in_chunks(Engine& e, int64_t n, F f) {
    uint32_t words[CHUNK];
    for (int64_t i = 0; i < n;) {
        int64_t count = std::min(n - i, CHUNK / per);
        draw_all(e, words, count * per);
        f(words, i, count);
        i += count;
    }
}

inline uint64_t pair(const uint32_t* words, int64_t i) { return uint64_t(words[2 * i]) << 32 | words[2 * i + 1]; }

// The bytes of torch.get_rng_state(): words of 64 bits hold the 32-bit ones, some fields are always zero.
struct SavedState {
    uint64_t seed;
    int32_t left, seeded;
    uint64_t next, state[624];
    double normal_x, normal_y, normal_rho;
    int32_t has_normal, pad;
    float normal_float;
    uint8_t has_normal_float, pads[3];
};
static_assert(sizeof(SavedState) == STATE_BYTES, "PyTorch's state is 5056 bytes long");

}  // namespace
}  // namespace clay
