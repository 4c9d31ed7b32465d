// Sorting with places: elements become unsigned keys in the same order, which are sorted by their digits. The same for every
// instruction set.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "codes.hpp"
#include "pick.hpp"
#include "rows.hpp"
#include "threads.hpp"

namespace clay {

namespace {

// Zeros are equal whatever their sign; NaNs are equal, and above everything.
inline uint32_t key_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits = bits == 0x80000000u ? 0 : bits;
    const uint32_t key = bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);       // no branch: signs are a coin toss
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

// An element from its key; of zeros and NaNs the key does not tell which.
inline bool tells(uint32_t key, float) { return key != 0x80000000u && key != 0xffffffffu; }
inline bool tells(uint64_t key, double) { return key != 1ull << 63 && key != ~0ull; }
inline bool tells(uint64_t, int64_t) { return true; }
inline bool tells(uint32_t, int32_t) { return true; }
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

template <class K> struct Item {
    K key;
    uint32_t place;
    bool operator<(const Item& other) const { return key != other.key ? key < other.key : place < other.place; }
};
template <> struct Item<uint32_t> {
    uint32_t place, key;                 // together one number
    Item() = default;
    Item(uint32_t key, uint32_t place) : place(place), key(key) {}
    bool operator<(const Item& other) const {
        return ((uint64_t)key << 32 | place) < ((uint64_t)other.key << 32 | other.place);
    }
};

constexpr int64_t FEW = 512;             // up to here comparing beats counting

// By digits of 11 bits from the lowest; digits that all items share are passed over.
template <class K> Item<K>* by_digits(Item<K>* items, Item<K>* spare, int64_t n) {
    constexpr int BITS = 11, DIGITS = (sizeof(K) * 8 + BITS - 1) / BITS, VALUES = 1 << BITS;
    thread_local uint32_t counts[DIGITS][VALUES];
    memset(counts, 0, sizeof counts);
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < DIGITS; d++) counts[d][items[i].key >> d * BITS & (VALUES - 1)]++;
    for (int d = 0; d < DIGITS; d++) {
        uint32_t* count = counts[d];
        if (count[items[0].key >> d * BITS & (VALUES - 1)] == n) continue;
        uint32_t at = 0;
        for (int v = 0; v < VALUES; v++) {
            const uint32_t size = count[v];
            count[v] = at;
            at += size;
        }
        for (int64_t i = 0; i < n; i++) spare[count[items[i].key >> d * BITS & (VALUES - 1)]++] = items[i];
        std::swap(items, spare);
    }
    return items;
}

// The k smallest items, in order. Candidates gather until there are 2 k; then the better half stays, and what is above its
// last is no candidate any more.
template <class T, class K> void best_of(const T* x, int64_t n, Item<K>* items, int64_t k, K flip) {
    int64_t held = 0;
    K worst = ~(K)0;
    for (int64_t i = 0; i < n; i++) {
        const K key = key_of(x[i]) ^ flip;
        if (key > worst) continue;
        items[held++] = {key, (uint32_t)i};
        if (held < 2 * k) continue;
        std::nth_element(items, items + k - 1, items + held);
        held = k, worst = items[k - 1].key;
    }
    std::sort(items, items + held);
}

// Random access to much memory: few large pages serve it best.
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

template <class T> struct OrderJob {
    const T* x_rn;
    T* values_rk;
    int64_t* indices_rk;
    int64_t n, k;
    bool descending, failed;
};

template <class T> void order_range(void* data, int64_t begin, int64_t end) {
    using K = decltype(key_of(T()));
    auto& job = *(OrderJob<T>*)data;
    const int64_t n = job.n, k = job.k;
    auto room = (Item<K>*)room_for(2 * n * (int64_t)sizeof(Item<K>));
    if (!room) {
        __atomic_store_n(&job.failed, true, __ATOMIC_RELAXED);
        return;
    }
    for (int64_t r = begin; r < end; r++) {
        const T* x = job.x_rn + r * n;
        Item<K>* items = room;
        const K flip = job.descending ? ~(K)0 : 0;
        if (k < n / 8) {
            best_of(x, n, items, k, flip);
        } else {
            for (int64_t i = 0; i < n; i++) items[i] = {(K)(key_of(x[i]) ^ flip), (uint32_t)i};
            if (n <= FEW) std::sort(items, items + n);
            else items = by_digits(items, room + n, n);
        }
        T* values = job.values_rk + r * k;
        int64_t* indices = job.indices_rk + r * k;
        for (int64_t i = 0; i < k; i++) {
            const K key = items[i].key ^ flip;
            indices[i] = items[i].place;
            if (tells(key, T())) from_key(key, values[i]);
            else values[i] = x[items[i].place];
        }
    }
    free(room);
}

template <class T>
bool order(const void* x_rn, void* values_rk, int64_t* indices_rk, int64_t rows, int64_t n, int64_t k, bool descending) {
    if (n >= 1ll << 32) return false;
    OrderJob<T> job{(const T*)x_rn, (T*)values_rk, indices_rk, n, k, descending, false};
    if (n > 0 && k > 0) parallel_for(rows, COSTLY / 8 / n + 1, order_range<T>, &job);
    return !job.failed;
}

// By rank: keys alone find the element, and how many are below it tells which of its equals is meant.
template <class T> struct RankJob {
    const T* x_rn;
    T* values_r;
    int64_t* indices_r;
    int64_t n, k;
    bool failed;
};

template <class T> void rank_range(void* data, int64_t begin, int64_t end) {
    using K = decltype(key_of(T()));
    auto& job = *(RankJob<T>*)data;
    const int64_t n = job.n;
    auto keys = (K*)room_for(n * (int64_t)sizeof(K));
    if (!keys) {
        __atomic_store_n(&job.failed, true, __ATOMIC_RELAXED);
        return;
    }
    for (int64_t r = begin; r < end; r++) {
        const T* x = job.x_rn + r * n;
        for (int64_t i = 0; i < n; i++) keys[i] = key_of(x[i]);
        std::nth_element(keys, keys + job.k, keys + n);
        const K key = keys[job.k];
        int64_t equals = 0, i = 0;                       // of those before it in order: all that are not below
        for (int64_t j = 0; j < job.k; j++) equals += keys[j] == key;
        for (;; i++)
            if (key_of(x[i]) == key && equals-- == 0) break;
        job.values_r[r] = x[i], job.indices_r[r] = i;
    }
    free(keys);
}

template <class T> bool rank(const void* x_rn, void* values_r, int64_t* indices_r, int64_t rows, int64_t n, int64_t k) {
    RankJob<T> job{(const T*)x_rn, (T*)values_r, indices_r, n, k, false};
    parallel_for(rows, COSTLY / 8 / n + 1, rank_range<T>, &job);
    return !job.failed;
}

// Binary search without branches: the half that is kept is chosen by a conditional move.
template <class T> struct SearchJob {
    const T *sorted_rn, *values_m;
    int64_t* out_m;
    int64_t n, each;
    bool right;
};

template <class T, bool right> int64_t sought(const T* sorted, int64_t n, T value) {
    const T* from = sorted;
    while (n > 1) {
        const int64_t half = n / 2;
        from += (right ? !(from[half - 1] > value) : !(from[half - 1] >= value)) ? half : 0;
        n -= half;
    }
    return from - sorted + (n == 1 && (right ? !(*from > value) : !(*from >= value)));
}

template <class T> void search_range(void* data, int64_t begin, int64_t end) {
    auto& job = *(SearchJob<T>*)data;
    for (int64_t i = begin; i < end; i++) {
        const T* sorted = job.sorted_rn + i / job.each * job.n;
        job.out_m[i] = job.right ? sought<T, true>(sorted, job.n, job.values_m[i])
                                 : sought<T, false>(sorted, job.n, job.values_m[i]);
    }
}

template <class T>
void search(const void* sorted_rn, const void* values_m, int64_t* out_m, int64_t rows, int64_t n, int64_t m, bool right) {
    SearchJob<T> job{(const T*)sorted_rn, (const T*)values_m, out_m, n, m / rows, right};
    parallel_for(m, COSTLY / 32, search_range<T>, &job);
}

}  // namespace

rank_fn find_rank(int dtype) {
    switch (dtype) {
    case F32: return rank<float>;
    case F64: return rank<double>;
    case I32: return rank<int32_t>;
    case I64: return rank<int64_t>;
    }
    return nullptr;
}

search_fn find_search(int dtype) {
    switch (dtype) {
    case F32: return search<float>;
    case F64: return search<double>;
    case I32: return search<int32_t>;
    case I64: return search<int64_t>;
    }
    return nullptr;
}

order_fn find_order(int dtype) {
    switch (dtype) {
    case F32: return order<float>;
    case F64: return order<double>;
    case I32: return order<int32_t>;
    case I64: return order<int64_t>;
    }
    return nullptr;
}

}  // namespace clay
