// Sorting, order statistics and binary search: elements become unsigned keys in the same order, which are radix-sorted. Compiled once
// for all instruction sets.
#include <type_traits>

#include "copy/bytes.hpp"
#include "platform/dtypes.hpp"
#include "sort/sort.hpp"
#include "sort/radix_keys.hpp"
#include "index/dense.hpp"
#include "platform/threads.hpp"
#include "simd/ints.hpp"

namespace clay {

namespace {

template <class T> using KeyOf = decltype(key_of(T()));

// The key of rank k; `among` becomes the number of equal keys before it. If there are many keys, only those that share its first
// digits are kept.
template <class T> KeyOf<T> key_of_rank(const T* x, int64_t n, int64_t k, KeyOf<T>* keys, int64_t* among) {
    using K = KeyOf<T>;
    constexpr int BITS = 11, VALUES = 1 << BITS, TABLES = 4;
    constexpr int64_t MANY = 2048;
    int shift = (int)sizeof(K) * 8;
    if (n <= MANY)
        for (int64_t i = 0; i < n; i++) keys[i] = key_of(x[i]);
    const bool from_x = n > MANY;
    for (bool first = from_x; n > MANY && shift > 0; first = false) {
        uint32_t counts[TABLES][VALUES];                 // several tables: neighbours are often equal and would wait for each other's counter
        const int down = shift > BITS ? shift - BITS : 0;
        auto kept = [&](auto key_at) {
            memset(counts, 0, sizeof counts);
            int64_t i = 0, held = 0;
            for (; i + TABLES <= n; i += TABLES)
                for (int t = 0; t < TABLES; t++) counts[t][key_at(i + t) >> down & (VALUES - 1)]++;
            for (; i < n; i++) counts[0][key_at(i) >> down & (VALUES - 1)]++;
            K digit = 0;
            for (;; digit++) {
                const int64_t count = (int64_t)counts[0][digit] + counts[1][digit] + counts[2][digit] + counts[3][digit];
                if (k < count) break;
                k -= count;
            }
            for (i = 0; i < n; i++) {
                const K key = key_at(i);
                keys[held] = key;
                held += (key >> down & (VALUES - 1)) == digit;
            }
            return held;
        };
        n = first ? kept([&](int64_t i) { return key_of(x[i]); }) : kept([&](int64_t i) { return keys[i]; });
        K differ = 0;                                    // digits that all keys share need not be counted
        for (int64_t i = 0; i < n; i++) differ |= keys[i] ^ keys[0];
        for (shift = down; shift > 0 && !(differ >> (shift - 1)); shift--) {}
    }
    if (shift == 0) return *among = k, keys[0];          // all remaining keys are equal
    std::nth_element(keys, keys + k, keys + n);
    *among = 0;
    for (int64_t j = 0; j < k; j++) *among += keys[j] == keys[k];
    return keys[k];
}

template <class T> int64_t place_of_rank(const T* x, int64_t n, int64_t k, void* room) {
    int64_t among, i = 0;
    const auto key = key_of_rank(x, n, k, (KeyOf<T>*)room, &among);
    for (;; i++)
        if (key_of(x[i]) == key && among-- == 0) return i;
}

// In sorted order NaN comes last; `known` is the index of the first NaN.
template <class T> int64_t middle_rank(const T* x, int64_t n, bool skip_nan) {
    int64_t known = 0;
    for (int64_t i = 0; i < n; i++) known += x[i] == x[i];
    return skip_nan ? (known ? (known - 1) / 2 : 0) : known < n ? known : (n - 1) / 2;
}

// Up to so many elements are found by selection before sorting; and rows of up to so many are sorted that way as a whole.
constexpr int64_t HANDFUL = 4, DOZEN = 12;

// The items of the first k elements; `flip` reverses the order.
template <class T> Item<KeyOf<T>>* as_contiguous(const T* x, int64_t n, int64_t k, KeyOf<T> flip, Item<KeyOf<T>>* room) {
    if (k < n / 8 || k <= HANDFUL || n <= DOZEN) {
        best_of(x, n, room, k, flip);
        return room;
    }
    using K = KeyOf<T>;
    const K first = key_of(x[0]) ^ flip;
    Range<K> range{first, first, 0};
    for (int64_t i = 0; i < n; i++) {
        const K key = key_of(x[i]) ^ flip;
        room[i] = {key, (uint32_t)i};
        range.differ |= key ^ first;
        range.smallest = key < range.smallest ? key : range.smallest;
        range.largest = key > range.largest ? key : range.largest;
    }
    return sorted(room, room + n, n, range);
}

// torch.sort compares by `<` here, for which NaN has no order. For few elements its result is that of an insertion sort: an element
// goes to the front if it is less than the first, else before the greater ones, up to the first that is not greater.
constexpr int64_t FEW = 16;

template <class T> bool is_less(T a, T b) { return a < b; }
template <uint16_t I> bool is_less(Half<I> a, Half<I> b) { return !a.is_nan() && !b.is_nan() && a < b; }

template <class T> int64_t place_of_mode_among(const T* x, int64_t n) {
    int64_t order[FEW], largest = 0, run = 0, at = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t j = i;
        if (i && is_less(x[i], x[order[0]]))
            for (; j > 0; j--) order[j] = order[j - 1];
        else
            for (; j > 0 && is_less(x[i], x[order[j - 1]]); j--) order[j] = order[j - 1];
        order[j] = i;
    }
    for (int64_t i = 0; i < n; i++) {
        run++;
        if (i < n - 1 && x[order[i]] == x[order[i + 1]]) continue;
        if (run > largest) largest = run, at = order[i];
        run = 0;
    }
    return at;
}

template <class T> int64_t place_of_mode(const T* x, int64_t n, Item<KeyOf<T>>* room) {
    if (n <= FEW)
        for (int64_t i = 0; i < n; i++)
            if (!(x[i] == x[i])) return place_of_mode_among(x, n);
    const auto items = as_contiguous(x, n, n, (KeyOf<T>)0, room);
    int64_t largest = 0, at = 0;
    for (int64_t i = 0, j; i < n; i = j) {
        const T value = x[items[i].place];
        j = i + 1;
        while (j < n && value == value && items[j].key == items[i].key) j++;
        if (j - i > largest) largest = j - i, at = items[j - 1].place;
    }
    return at;
}

template <class T> struct ChoiceJob {
    const T* x_oni;
    T* values_oki;
    int64_t* indices_oki;
    int64_t n, inner, k, kept;           // kept: results per row
    int what;
    bool failed;
};

// Whether a row is sorted already; stops early for most rows. Rows with NaN are sorted by keys.
template <class T> bool rests(const T* x, int64_t n, bool descending) {
    constexpr int64_t SOME = 64;
    for (int64_t i = 1; i < n; i += SOME) {
        const int64_t end = n - i < SOME ? n : i + SOME;
        int moves = 0;
        if (descending)
            for (int64_t j = i; j < end; j++) moves |= !(x[j - 1] >= x[j]);
        else
            for (int64_t j = i; j < end; j++) moves |= !(x[j - 1] <= x[j]);
        if (moves) return false;
    }
    return n > 0 && x[0] == x[0];
}

// Counting sort for integers in a small range.
template <class T> bool counted(const ChoiceJob<T>& job, const T* x, T* values, int64_t* indices, int64_t step) {
    if constexpr (std::is_integral_v<T>) {
        constexpr int64_t VALUES = 1024, SOME = 256, MIN_LENGTH = 64;
        const int64_t n = job.n;
        if (job.k < n || n < MIN_LENGTH) return false;
        T smallest = x[0], largest = x[0];
        uint64_t span = 0;
        for (int64_t i = 0; i < n; i += SOME) {
            for (int64_t j = i; j < (n - i < SOME ? n : i + SOME); j++) smallest = std::min(smallest, x[j]), largest = std::max(largest, x[j]);
            span = (uint64_t)largest - (uint64_t)smallest;
            if (span >= (uint64_t)std::min(VALUES, 4 * n)) return false;
        }
        const bool down = job.what == DESCENDING;
        const auto number = [=](T value) { return down ? (uint64_t)largest - (uint64_t)value : (uint64_t)value - (uint64_t)smallest; };
        uint32_t counts[2][VALUES];                      // two tables in turn, so that equal neighbours do not wait for each other
        memset(counts[0], 0, (span + 1) * sizeof **counts);
        memset(counts[1], 0, (span + 1) * sizeof **counts);
        for (int64_t i = 0; i + 1 < n; i += 2) counts[0][number(x[i])]++, counts[1][number(x[i + 1])]++;
        if (n % 2) counts[0][number(x[n - 1])]++;
        int64_t begin = 0;
        for (uint64_t v = 0; v <= span; v++) {
            const int64_t end = begin + counts[0][v] + counts[1][v];
            const T value = (T)(down ? (uint64_t)largest - v : (uint64_t)smallest + v);
            if (step == 1) fill_bytes(values + begin, &value, end - begin, sizeof value);
            else
                for (int64_t i = begin; i < end; i++) values[i * step] = value;
            counts[0][v] = (uint32_t)begin;
            begin = end;
        }
        for (int64_t i = 0; i < n; i++) indices[counts[0][number(x[i])]++ * step] = i;
        return true;
    }
    return false;
}

// One row; results are `step` apart.
template <class T>
void choose_line(const ChoiceJob<T>& job, const T* x, Item<KeyOf<T>>* room, T* values, int64_t* indices, int64_t step) {
    const int64_t n = job.n;
    if (job.what >= ASCENDING) {
        if (rests(x, n, job.what == DESCENDING)) {
            if (step == 1) {
                memcpy(values, x, (size_t)job.k * sizeof(T));
                for (int64_t i = 0; i < job.k; i++) indices[i] = i;
            } else {
                for (int64_t i = 0; i < job.k; i++) values[i * step] = x[i], indices[i * step] = i;
            }
            return;
        }
        if (counted(job, x, values, indices, step)) return;
        const KeyOf<T> flip = job.what == DESCENDING ? ~(KeyOf<T>)0 : 0;
        const auto items = as_contiguous(x, n, job.k, flip, room);
        for (int64_t i = 0; i < job.k; i++) {
            const KeyOf<T> key = items[i].key ^ flip;
            indices[i * step] = items[i].place;
            if (tells(key, T())) from_key(key, values[i * step]);
            else values[i * step] = x[items[i].place];
        }
        return;
    }
    if (!job.indices_oki) {                               // the value alone
        int64_t among;
        const auto key = key_of_rank(x, n, job.what == RANK ? job.k : middle_rank(x, n, job.what == NANMEDIAN), (KeyOf<T>*)room, &among);
        if (tells(key, T())) return from_key(key, *values);
        while (key_of(*x) != key) x++;
        *values = *x;
        return;
    }
    *indices = job.what == RANK ? place_of_rank(x, n, job.k, room)
              : job.what == MODE ? place_of_mode(x, n, room) : place_of_rank(x, n, middle_rank(x, n, job.what == NANMEDIAN), room);
    *values = x[*indices];
}

constexpr int64_t TOGETHER = 16;         // neighbouring columns that are copied together

template <class T> void choice_range(void* data, int64_t begin, int64_t end) {
    using K = KeyOf<T>;
    auto& job = *(ChoiceJob<T>*)data;
    const int64_t n = job.n, inner = job.inner, tiles = ceil_div(inner, TOGETHER);
    const int64_t items = 2 * n * (int64_t)sizeof(Item<K>), lines = inner > 1 ? TOGETHER * n * (int64_t)sizeof(T) : 0;
    constexpr int64_t SMALL = 4096;
    alignas(16) char small[SMALL];
    char* room = items + lines <= SMALL ? small : (char*)room_for(items + lines);
    if (!room) {
        __atomic_store_n(&job.failed, true, __ATOMIC_RELAXED);
        return;
    }
    auto keys = (Item<K>*)room;
    T* line = (T*)(room + items);
    for (int64_t task = begin; task < end; task++) {
        const int64_t o = task / tiles, first = task % tiles * TOGETHER;
        const int64_t width = inner - first < TOGETHER ? inner - first : TOGETHER;
        const T* x = job.x_oni + o * n * inner + first;
        T* values = job.values_oki + o * job.kept * inner + first;
        int64_t* indices = job.indices_oki ? job.indices_oki + o * job.kept * inner + first : nullptr;
        if (inner == 1) {
            choose_line(job, x, keys, values, indices, 1);
            continue;
        }
        for (int64_t r = 0; r < n; r++)
            for (int64_t c = 0; c < width; c++) line[c * n + r] = x[r * inner + c];
        for (int64_t c = 0; c < width; c++) choose_line(job, line + c * n, keys, values + c, indices ? indices + c : nullptr, inner);
    }
    if (room != small) free(room);
}

template <class T>
bool choose(const void* x_oni, void* values, int64_t* indices, int64_t outer, int64_t n, int64_t inner, int64_t k, int what) {
    if (n >= 1ll << 32) return false;
    ChoiceJob<T> job{(const T*)x_oni, (T*)values, indices, n, inner, k, what >= ASCENDING ? k : 1, what, false};
    const int64_t tasks = outer * ceil_div(inner, TOGETHER), width = inner < TOGETHER ? inner : TOGETHER;
    if (n > 0 && job.kept > 0) parallel_for(tasks, COSTLY_ROWS / 8 / (n * width) + 1, choice_range<T>, &job);
    return !job.failed;
}

// Binary search without branches: a conditional move selects the half.
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
    parallel_for(m, COSTLY_ROWS / 32, search_range<T>, &job);
}

}  // namespace

search_fn find_search(int dtype) {
    switch (dtype) {
    case F32: return search<float>;
    case F64: return search<double>;
    case I32: return search<int32_t>;
    case I64: return search<int64_t>;
    }
    return nullptr;
}

choose_fn find_choice(int dtype) {
    switch (dtype) {
    case F32: return choose<float>;
    case F64: return choose<double>;
    case I32: return choose<int32_t>;
    case I64: return choose<int64_t>;
    case I16: return choose<int16_t>;
    case I8: return choose<int8_t>;
    case U8: return choose<uint8_t>;
    case F16: return choose<Float16>;
    case BF16: return choose<BFloat16>;
    }
    return nullptr;
}

}  // namespace clay
