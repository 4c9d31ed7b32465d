// Brings operands into contiguous blocks of one type, for kernels that know nothing of shapes. Contiguous operands of that type are
// read in place, a single element is repeated once, the rest is gathered and cast block by block.
#include "elementwise/plan.hpp"

#include <string.h>

#include "simd/item_size.hpp"
#include "copy/bytes.hpp"
#include "platform/dtypes.hpp"
#include "platform/api.hpp"
#include "index/strided.hpp"
#include "platform/threads.hpp"

namespace clay {
namespace {

constexpr int64_t ROOM = 4096;           // bytes of a block
constexpr int64_t LONG_LINE = 128;       // rows of at least so many elements get a call of their own

// Unaligned elements
template <class T> T element(const char* at) {
    T value;
    memcpy(&value, at, sizeof value);
    return value;
}
template <class T> void place(char* at, T value) { memcpy(at, &value, sizeof value); }

// Gathers rows of n elements, step bytes apart; and scatters them back
template <class T> void gather(const char* from, int64_t step, char* to, int64_t n) {
    constexpr int64_t SIZE = sizeof(T);
    if (step == 0 && n > 16) {
        fill_bytes(to, from, n, SIZE);
    } else if (step == 0) {
        const T value = element<T>(from);
        for (int64_t i = 0; i < n; i++) place(to + i * SIZE, value);
    } else if (step == 2 * SIZE) {
        for (int64_t i = 0; i < n; i++) place(to + i * SIZE, element<T>(from + 2 * i * SIZE));
    } else {
#pragma GCC unroll 4
        for (int64_t i = 0; i < n; i++) place(to + i * SIZE, element<T>(from + i * step));
    }
}
template <class T> void scatter(const char* from, char* to, int64_t step, int64_t n) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; i++) place(to + i * step, element<T>(from + i * (int64_t)sizeof(T)));
}

void gather(const char* from, int64_t step, char* to, int64_t n, int64_t size) {
    if (step == size) memcpy(to, from, (size_t)(n * size));
    else by_size(size, [=](auto item) { gather<decltype(item)>(from, step, to, n); });
}
void scatter(const char* from, char* to, int64_t step, int64_t n, int64_t size) {
    if (step == size) memcpy(to, from, (size_t)(n * size));
    else by_size(size, [=](auto item) { scatter<decltype(item)>(from, to, step, n); });
}
// Several short rows, `next` bytes apart
void gather_lines(const char* from, int64_t next, int64_t step, char* to, int64_t n, int64_t lines, int64_t size) {
    if (step == size) return copy_rows(from, next, to, n * size, n * size, lines);
    by_size(size, [=](auto item) {
        for (int64_t k = 0; k < lines; k++) gather<decltype(item)>(from + k * next, step, to + k * n * size, n);
    });
}

// The coordinates of an element of the result
struct Place {
    int64_t at[64];
    Place(const EachPlan& plan, int64_t index) {
        for (int d = plan.ndim - 1; d >= 0; d--) {
            at[d] = index % plan.shape[d];
            index /= plan.shape[d];
        }
    }
    void advance(const EachPlan& plan, int d, int64_t n) {       // n steps along an axis, at most to its end
        at[d] += n;
        for (; d > 0 && at[d] == plan.shape[d]; d--) {
            at[d] = 0;
            at[d - 1]++;
        }
    }
    int64_t of(const int64_t* steps, int ndim) const {
        int64_t offset = 0;
        for (int d = 0; d < ndim; d++) offset += at[d] * steps[d];
        return offset;
    }
};

bool call(const EachPlan& plan, const void* const* in, void* out, int64_t n, unsigned ones) {
    if (plan.kind == RUN_EACH) return ((each_fn)plan.kernel)(in, out, n, plan.numbers);
    if (plan.kind == RUN_LINES) return ((lines_fn)plan.kernel)(in, out, n, plan.numbers, ones);
    if (plan.kind == RUN_CAST) ((void (*)(const void*, void*, int64_t))plan.kernel)(in[0], out, n);
    else if (plan.kind == RUN_UNARY) ((unary_fn)plan.kernel)(in[0], out, n, plan.numbers.value[0], plan.numbers.value[1]);
    else ((binary_fn)plan.kernel)(in[0], in[1], out, n, ones & 2 ? 1 : ones & 1 ? 2 : 0);
    return true;
}

struct Block {
    alignas(64) char converted[ROOM];         // in the compute type
    alignas(64) char raw[ROOM];          // in the operand's type
};

// The elements of an operand from an index on, as a contiguous block
const void* block_of(const EachPlan& plan, const EachOperand& x, const Place& start, int64_t n, Block& block) {
    const int last = plan.ndim - 1;
    const int64_t step = x.steps[last], left = plan.shape[last] - start.at[last];
    if (n <= left) {
        const char* from = x.data + start.of(x.steps, plan.ndim);
        if (step == x.size || n == 1) {
            if (!x.cast) return from;
            x.cast(from, block.converted, n);
            return block.converted;
        }
        if (step == 0) {
            if (x.cast) x.cast(from, block.raw, 1);
            gather(x.cast ? block.raw : from, 0, block.converted, n, plan.size);
            return block.converted;
        }
    }
    char* to = x.cast ? block.raw : block.converted;
    Place place = start;
    for (int64_t done = 0, count; done < n; done += count) {
        const int64_t line = plan.shape[last], rest = line - place.at[last];
        const char* from = x.data + place.of(x.steps, plan.ndim);
        if (rest == line && last > 0 && n - done >= 2 * line) {
            int64_t lines = plan.shape[last - 1] - place.at[last - 1];
            if (lines > (n - done) / line) lines = (n - done) / line;
            gather_lines(from, x.steps[last - 1], step, to + done * x.size, line, lines, x.size);
            count = lines * line;
            place.advance(plan, last - 1, lines);
            continue;
        }
        count = rest < n - done ? rest : n - done;
        gather(from, step, to + done * x.size, count, x.size);
        place.advance(plan, last, count);
    }
    if (x.cast) x.cast(block.raw, block.converted, n);
    return block.converted;
}

// The element of an operand that is broadcast along a row, in the form its kernel takes
struct One {
    alignas(16) char out[16];
    const void* of(const EachOperand& x, const char* from) {
        if (!x.alone) return from;
        x.alone(from, out, 1);
        return out;
    }
};

struct Job {
    const EachPlan& plan;
    bool refused;
};

bool full(const EachPlan& plan, const EachOperand& x) {          // contiguous and of the compute type
    int64_t step = x.size;
    for (int d = plan.ndim - 1; d >= 0; step *= plan.shape[d], d--)
        if (x.steps[d] != step) return false;
    return !x.cast;
}

bool is_broadcast(const EachPlan& plan, const EachOperand& x) {  // a single element
    for (int d = 0; d < plan.ndim; d++)
        if (x.steps[d]) return false;
    return true;
}

// Scatters a block of the result to memory that is not contiguous
void spread(const EachPlan& plan, Place place, const char* from, int64_t n) {
    const int last = plan.ndim - 1;
    for (int64_t done = 0, count; done < n; done += count) {
        const int64_t rest = plan.shape[last] - place.at[last];
        count = rest < n - done ? rest : n - done;
        scatter(from + done * plan.out_size, plan.out + place.of(plan.out_steps, plan.ndim), plan.out_steps[last], count, plan.out_size);
        place.advance(plan, last, count);
    }
}

void part(void* data, int64_t begin, int64_t end) {
    Job& job = *(Job*)data;
    const EachPlan& plan = job.plan;
    const bool lines = plan.kind == RUN_LINES;
    bool direct = !plan.cast && (!plan.apart || (plan.ndim == 1 && plan.out_steps[0] == plan.out_size)), same[4], run[4];
    unsigned everywhere = 0;             // bits of the operands that are a single element, if the kernel takes those
    const void* in[4];
    One one[4];
    for (int k = 0; k < plan.operands; k++) {
        const EachOperand& x = plan.in[k];
        same[k] = is_broadcast(plan, x);
        run[k] = !same[k] && full(plan, x);
        if (run[k]) in[k] = x.data + begin * plan.size;
        else if (same[k] && lines) in[k] = one[k].of(x, x.data), everywhere |= 1u << k;
        else direct = direct && full(plan, x), in[k] = x.data;
    }
    if (direct) {
        if (!call(plan, in, plan.out + begin * plan.out_size, end - begin, everywhere | everywhere << NUMBER_SHIFT)) job.refused = true;
        return;
    }
    Block blocks[4];
    alignas(64) char result[ROOM], kept[ROOM];
    int64_t largest = plan.size > plan.computed_size ? plan.size : plan.computed_size;
    for (int k = 0; k < plan.operands; k++)
        if (plan.in[k].size > largest) largest = plan.in[k].size;
    largest = ROOM / (plan.out_size > largest ? plan.out_size : largest);
    const int last = plan.ndim - 1;
    const int64_t line = plan.shape[last];
    for (int k = 0; k < plan.operands; k++) {
        if (!same[k] || lines) continue;
        const EachOperand& x = plan.in[k];
        if (x.cast) x.cast(x.data, blocks[k].raw, 1);
        gather(x.cast ? blocks[k].raw : x.data, 0, blocks[k].converted, largest < end - begin ? largest : end - begin, plan.size);
    }
    Place place(plan, begin);
    for (int64_t i = begin, n; i < end; i += n) {
        n = largest < end - i ? largest : end - i;
        const int64_t left = line - place.at[last];
        if (line >= LONG_LINE && left < n) n = left;
        // Along a row a kernel may take single elements; those of the family "binary" for one operand only.
        unsigned ones = everywhere;
        for (int k = 0; k < plan.operands && n <= left; k++)
            if (plan.in[k].steps[last] == 0 && (lines || (plan.kind == RUN_BINARY && !ones))) ones |= 1u << k;
        for (int k = 0; k < plan.operands; k++) {
            const EachOperand& x = plan.in[k];
            if (everywhere >> k & 1) continue;
            in[k] = ones >> k & 1 ? one[k].of(x, x.data + place.of(x.steps, plan.ndim))
                    : run[k] ? x.data + i * plan.size
                    : same[k] ? blocks[k].converted : block_of(plan, x, place, n, blocks[k]);
        }
        const bool whole = !plan.apart || (n <= left && plan.out_steps[last] == plan.out_size);
        char* to = !whole ? kept : plan.apart ? plan.out + place.of(plan.out_steps, plan.ndim) : plan.out + i * plan.out_size;
        if (!call(plan, in, plan.cast ? result : to, n, ones | everywhere << NUMBER_SHIFT)) {
            job.refused = true;
            return;
        }
        if (plan.cast) plan.cast(result, to, n);
        if (!whole) spread(plan, place, kept, n);
        if (n <= left) place.advance(plan, last, n);
        else place = Place(plan, i + n);
    }
}

// frexp on bit patterns: subnormal numbers are scaled first; 0, infinities and NaN are unchanged.
template <class T, class Bits, int DIGITS, int BIAS> struct Split {
    const T* x;
    T* mantissa;
    int32_t* exponent;

    static void part(void* data, int64_t begin, int64_t end) {
        const Split& job = *(const Split*)data;
        constexpr Bits smallest = (Bits)1 << DIGITS, sign = (Bits)1 << (8 * sizeof(T) - 1), infinite = sign - smallest;
        const T up = (T)((Bits)1 << DIGITS);
        for (int64_t i = begin; i < end; i++) {
            const T x = job.x[i];
            Bits bits, raised;
            memcpy(&bits, &x, sizeof bits);
            const Bits size = bits & ~sign;
            const bool small = size < smallest, plain = size != 0 && size < infinite;
            const T more = small ? x * up : x;
            memcpy(&raised, &more, sizeof raised);
            const int32_t power = (int32_t)((raised & ~sign) >> DIGITS) - BIAS - (small ? DIGITS : 0);
            const Bits part = plain ? (raised & (sign | (smallest - 1))) | ((Bits)BIAS << DIGITS) : bits;
            memcpy(job.mantissa + i, &part, sizeof part);
            job.exponent[i] = plain ? power : 0;
        }
    }
    void run(int64_t n) { parallel_for(n, COSTLY, part, this); }
};

// Drops axes of size 1 and merges neighbours that are contiguous for all operands.
void join_axes(EachPlan& plan) {
    int at = 0;
    for (int d = 1; d < plan.ndim; d++) {
        if (plan.shape[d] == 1) continue;
        bool joins = !plan.apart || plan.out_steps[at] == plan.out_steps[d] * plan.shape[d];
        for (int k = 0; k < plan.operands; k++)
            joins = joins && plan.in[k].steps[at] == plan.in[k].steps[d] * plan.shape[d];
        if (joins || plan.shape[at] == 1) plan.shape[at] *= plan.shape[d];
        else plan.shape[++at] = plan.shape[d];
        for (int k = 0; k < plan.operands; k++) plan.in[k].steps[at] = plan.in[k].steps[d];
        if (plan.apart) plan.out_steps[at] = plan.out_steps[d];
    }
    plan.ndim = at + 1;
}

// Whether every operand is broadcast along the rows of the result
bool uniform_along_lines(const EachPlan& plan) {
    for (int k = 0; k < plan.operands; k++)
        if (plan.in[k].steps[plan.ndim - 1]) return false;
    return !plan.apart && plan.shape[plan.ndim - 1] > 4;
}

struct Lines {
    const char* values;
    char* out;
    int64_t length, size;

    static void part(void* data, int64_t begin, int64_t end) {
        const Lines& job = *(const Lines*)data;
        for (int64_t i = begin; i < end; i++)
            fill_bytes(job.out + i * job.length * job.size, job.values + i * job.size, job.length, job.size);
    }
};

// Computes one element per row, then repeats it along the row.
bool by_lines(EachPlan& plan, int64_t n) {
    Lines job{nullptr, plan.out, plan.shape[--plan.ndim], plan.out_size};
    const int64_t count = n / job.length, bytes = count * plan.out_size;
    alignas(64) char small[ROOM];
    plan.out = bytes <= ROOM ? small : (char*)pool_alloc(bytes);
    if (!plan.out) return false;
    const bool result = run_each(plan);
    job.values = plan.out;
    if (result && count == 1) fill_elements(job.out, job.values, job.length, job.size);
    else if (result) parallel_for(count, CHEAP_ROWS / job.length + 1, Lines::part, &job);
    if (plan.out != small) pool_free(plan.out, bytes);
    return result;
}

}  // namespace

bool split_floats(int dtype, const void* x, void* mantissa, int32_t* exponent, int64_t n) {
    if (dtype == F32) Split<float, uint32_t, 23, 126>{(const float*)x, (float*)mantissa, exponent}.run(n);
    else if (dtype == F64) Split<double, uint64_t, 52, 1022>{(const double*)x, (double*)mantissa, exponent}.run(n);
    else return false;
    return true;
}

bool run_each(EachPlan& plan) {
    if (plan.ndim == 0) {
        plan.shape[0] = plan.ndim = 1, plan.apart = false;
        for (int k = 0; k < plan.operands; k++) plan.in[k].steps[0] = 0;
    }
    join_axes(plan);
    int64_t n = 1;
    for (int d = 0; d < plan.ndim; d++) n *= plan.shape[d];
    if (uniform_along_lines(plan)) return by_lines(plan, n);
    Job job{plan, false};
    if (n < 2 * plan.grain) part(&job, 0, n);
    else parallel_for(n, plan.grain, part, &job);
    return !job.refused;
}

}  // namespace clay
