// Elements as unsigned keys in the same order, and the sorting of keys with indices.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

namespace clay {
namespace {

// Zeros are equal whatever their sign; NaNs are equal, and above everything.
inline uint32_t key_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits = bits == 0x80000000u ? 0 : bits;
    const uint32_t key = bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);       // no branch: random signs would be mispredicted
    return (bits & 0x7fffffffu) > 0x7f800000u ? 0xffffffffu : key;
}
inline uint64_t key_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    bits = bits == 1ull << 63 ? 0 : bits;
    const uint64_t key = bits ^ ((uint64_t)((int64_t)bits >> 63) | 1ull << 63);
    return (bits & ~(1ull << 63)) > 0x7ff0000000000000ull ? ~0ull : key;
}
inline uint64_t key_of(int64_t x) { return (uint64_t)x ^ 1ull << 63; }
inline uint32_t key_of(int32_t x) { return (uint32_t)x ^ 1u << 31; }
inline uint32_t key_of(int16_t x) { return (uint32_t)((int32_t)x + 0x8000); }
inline uint32_t key_of(int8_t x) { return (uint32_t)((int32_t)x + 0x80); }
inline uint32_t key_of(uint8_t x) { return x; }

// A 16-bit float; bit patterns from INFINITE on are not finite
template <uint16_t INFINITE> struct Half {
    uint16_t bits;
    bool is_nan() const { return (bits & 0x7fffu) > INFINITE; }
};
using Float16 = Half<0x7c00>;
using BFloat16 = Half<0x7f80>;
template <uint16_t I> uint32_t key_of(Half<I> x) {
    const uint32_t bits = x.bits == 0x8000u ? 0 : x.bits;
    return x.is_nan() ? 0xffffu : bits >> 15 ? bits ^ 0xffffu : bits | 0x8000u;
}
template <uint16_t I> bool operator==(Half<I> a, Half<I> b) { return !a.is_nan() && key_of(a) == key_of(b); }
template <uint16_t I> bool operator<(Half<I> a, Half<I> b) { return key_of(a) < key_of(b); }
template <uint16_t I> bool operator>(Half<I> a, Half<I> b) { return key_of(a) > key_of(b); }
template <uint16_t I> bool operator<=(Half<I> a, Half<I> b) { return key_of(a) <= key_of(b); }
template <uint16_t I> bool operator>=(Half<I> a, Half<I> b) { return key_of(a) >= key_of(b); }

// An element from its key; the sign of a zero and the payload of a NaN are lost.
inline bool tells(uint32_t key, float) { return key != 0x80000000u && key != 0xffffffffu; }
inline bool tells(uint64_t key, double) { return key != 1ull << 63 && key != ~0ull; }
template <uint16_t I> bool tells(uint32_t key, Half<I>) { return key != 0x8000u && key != 0xffffu; }
template <class K, class T> bool tells(K, T) { return true; }
inline void from_key(uint32_t key, float& x) {
    key = key >> 31 ? key & 0x7fffffffu : ~key;
    memcpy(&x, &key, 4);
}
inline void from_key(uint64_t key, double& x) {
    key = key >> 63 ? key & ~(1ull << 63) : ~key;
    memcpy(&x, &key, 8);
}
inline void from_key(uint64_t key, int64_t& x) { x = (int64_t)(key ^ 1ull << 63); }
inline void from_key(uint32_t key, int32_t& x) { x = (int32_t)(key ^ 1u << 31); }
inline void from_key(uint32_t key, int16_t& x) { x = (int16_t)((int32_t)key - 0x8000); }
inline void from_key(uint32_t key, int8_t& x) { x = (int8_t)((int32_t)key - 0x80); }
inline void from_key(uint32_t key, uint8_t& x) { x = (uint8_t)key; }
template <uint16_t I> void from_key(uint32_t key, Half<I>& x) { x.bits = (uint16_t)(key >> 15 ? key & 0x7fffu : key ^ 0xffffu); }

template <class K> struct Item {
    K key;
    uint32_t place;
    bool operator<(const Item& other) const { return key != other.key ? key < other.key : place < other.place; }
};
template <> struct Item<uint32_t> {
    uint32_t place, key;                 // compared as one 64-bit number
    Item() = default;
    Item(uint32_t key, uint32_t place) : place(place), key(key) {}
    bool operator<(const Item& other) const {
        return ((uint64_t)key << 32 | place) < ((uint64_t)other.key << 32 | other.place);
    }
};

// The range of the keys: min, max, and the bits in which any two differ
template <class K> struct Range {
    K smallest, largest, differ;
    int low() const { return __builtin_ctzll(differ); }
    int width() const { return 64 - __builtin_clzll((K)(largest - smallest)) - low(); }
};

// Radix sort by the digits of key - min, lowest digit first, in up to PASSES passes
template <int BITS, int PASSES, class K> Item<K>* by_digits(Item<K>* items, Item<K>* spare, int64_t n, const Range<K>& range, int passes) {
    if constexpr (PASSES > 1)
        if (passes < PASSES) return by_digits<BITS, PASSES - 1>(items, spare, n, range, passes);
    constexpr int VALUES = 1 << BITS;
    thread_local uint32_t counts[PASSES][VALUES];
    const K lowest = range.smallest;
    const int low = range.low();
    memset(counts, 0, sizeof counts);
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < PASSES; d++) counts[d][(K)(items[i].key - lowest) >> (low + d * BITS) & (VALUES - 1)]++;
    for (int d = 0; d < PASSES; d++) {
        uint32_t *count = counts[d], at = 0;
        const int down = low + d * BITS;
        for (int v = 0; v < VALUES; v++) {
            const uint32_t size = count[v];
            count[v] = at;
            at += size;
        }
        for (int64_t i = 0; i < n; i++) spare[count[(K)(items[i].key - lowest) >> down & (VALUES - 1)]++] = items[i];
        std::swap(items, spare);
    }
    return items;
}

// Stable sort by key: radix sort, or insertion sort for few items
template <class K> Item<K>* sorted(Item<K>* items, Item<K>* spare, int64_t n, const Range<K>& range) {
    constexpr int64_t LONG = 4096, FEW = 16;             // from so many keys on wide digits pay; below FEW, insertion sort
    if (!range.differ) return items;
    const int width = range.width();
    constexpr auto passes = [](int bits, int all) { return (all + bits - 1) / bits; };
    if (n > LONG) return by_digits<11, passes(11, 8 * sizeof(K))>(items, spare, n, range, passes(11, width));
    if (n > FEW * passes(8, width)) return by_digits<8, sizeof(K)>(items, spare, n, range, passes(8, width));
    std::sort(items, items + n);
    return items;
}

// The k smallest items in order, for small k: a sorted buffer. Most elements are too large, so a few at a time are compared with the
// buffer's last before any is inserted.
template <class T, class K> void few_of(const T* x, int64_t n, Item<K>* items, int64_t k, K flip) {
    constexpr int64_t SPAN = 8;
    const auto insert = [&](int64_t i, int64_t held) {
        const Item<K> item{(K)(key_of(x[i]) ^ flip), (uint32_t)i};
        for (; held > 0 && item.key < items[held - 1].key; held--) items[held] = items[held - 1];
        items[held] = item;
    };
    const auto look = [&](int64_t i) {
        if ((K)(key_of(x[i]) ^ flip) < items[k - 1].key) insert(i, k - 1);
    };
    int64_t i = 0;
    for (; i < k; i++) insert(i, i);
    for (; i + SPAN <= n; i += SPAN) {
        const T bound = x[items[k - 1].place];
        int some = 0;
        if (flip)
            for (int64_t j = i; j < i + SPAN; j++) some |= !(x[j] <= bound);
        else
            for (int64_t j = i; j < i + SPAN; j++) some |= !(x[j] >= bound);
        if (some)
            for (int64_t j = i; j < i + SPAN; j++) look(j);
    }
    for (; i < n; i++) look(i);
}

// The k smallest items in order. Candidates are collected until there are 2 k; then the smaller half is kept, and its largest is the
// new threshold.
template <class T, class K> void best_of(const T* x, int64_t n, Item<K>* items, int64_t k, K flip) {
    constexpr int64_t FEW_ITEMS = 64;
    if (k <= FEW_ITEMS) return few_of(x, n, items, k, flip);
    constexpr int64_t SPAN = 8;
    int64_t held = 0;
    K worst = ~(K)0;
    const auto look = [&](int64_t i) {
        const K key = key_of(x[i]) ^ flip;
        if (key > worst) return;
        items[held++] = {key, (uint32_t)i};
        if (held < 2 * k) return;
        std::nth_element(items, items + k - 1, items + held);
        held = k, worst = items[k - 1].key;
    };
    int64_t i = 0;
    while (i < n && worst == ~(K)0) look(i++);
    // Most are above the threshold: many are compared at a time before any by itself. NaN always passes.
    for (; i + SPAN <= n; i += SPAN) {
        const T bound = x[items[k - 1].place];
        int some = 0;
        if (flip)
            for (int64_t j = i; j < i + SPAN; j++) some |= !(x[j] < bound);
        else
            for (int64_t j = i; j < i + SPAN; j++) some |= !(x[j] > bound);
        if (some)
            for (int64_t j = i; j < i + SPAN; j++) look(j);
    }
    for (; i < n; i++) look(i);
    std::sort(items, items + held);
}

// Random access to much memory: use huge pages.
void* room_for(int64_t bytes) {
    constexpr int64_t HUGE_PAGE = 2 << 20;
    void* room = nullptr;
    if (bytes < 2 * HUGE_PAGE) return malloc((size_t)bytes);
    if (posix_memalign(&room, HUGE_PAGE, (size_t)bytes)) return nullptr;
#if defined(MADV_HUGEPAGE)
    madvise(room, (size_t)bytes, MADV_HUGEPAGE);
#endif
    return room;
}

}  // namespace
}  // namespace clay
