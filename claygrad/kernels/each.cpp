// Operands brought into blocks of one type, for kernels that know nothing of shapes: what is contiguous and of that type is
// read where it lies, one element is written out once, the rest is gathered and cast block by block.
#include "each.hpp"

#include <string.h>

#include "codes.hpp"
#include "kernels.hpp"
#include "threads.hpp"

namespace clay {
namespace {

constexpr int64_t ROOM = 4096;           // bytes of a block
constexpr int64_t LONG_LINE = 128;       // elements of a line that is worth a call of its own

template <class T> void gather(const char* from, int64_t step, char* to, int64_t n) {
    for (int64_t i = 0; i < n; i++) memcpy(to + i * (int64_t)sizeof(T), from + i * step, sizeof(T));
}
struct Wide { uint64_t low, high; };

void gather(const char* from, int64_t step, char* to, int64_t n, int64_t size) {
    if (step == size) memcpy(to, from, (size_t)(n * size));
    else if (size == 4) gather<uint32_t>(from, step, to, n);
    else if (size == 8) gather<uint64_t>(from, step, to, n);
    else if (size == 1) gather<uint8_t>(from, step, to, n);
    else if (size == 2) gather<uint16_t>(from, step, to, n);
    else gather<Wide>(from, step, to, n);
}

// The coordinates of an element, counted along the result
struct Place {
    int64_t at[64];
    Place(const EachPlan& plan, int64_t index) {
        for (int d = plan.ndim - 1; d >= 0; d--) {
            at[d] = index % plan.shape[d];
            index /= plan.shape[d];
        }
    }
    void advance(const EachPlan& plan, int64_t n) {              // n elements of the line, at most to its end
        int d = plan.ndim - 1;
        at[d] += n;
        for (; d > 0 && at[d] == plan.shape[d]; d--) {
            at[d] = 0;
            at[d - 1]++;
        }
    }
    const char* of(const EachOperand& x, int ndim) const {
        const char* p = x.data;
        for (int d = 0; d < ndim; d++) p += at[d] * x.steps[d];
        return p;
    }
};

bool call(const EachPlan& plan, const void* const* in, void* out, int64_t n) {
    if (plan.kind == RUN_EACH) return ((each_fn)plan.kernel)(in, out, n, plan.numbers);
    if (plan.kind == RUN_UNARY) ((unary_fn)plan.kernel)(in[0], out, n, plan.numbers.value[0], plan.numbers.value[1]);
    else ((binary_fn)plan.kernel)(in[0], in[1], out, n, 0);
    return true;
}

struct Block {
    alignas(64) char made[ROOM];         // in the type that is computed with
    alignas(64) char raw[ROOM];          // as it was
};

// The elements of an operand from a place on, as a full block
const void* block_of(const EachPlan& plan, const EachOperand& x, Place place, int64_t n, Block& block) {
    const int last = plan.ndim - 1;
    const int64_t step = x.steps[last], left = plan.shape[last] - place.at[last];
    if (n <= left) {
        const char* from = place.of(x, plan.ndim);
        if (step == x.size || n == 1) {
            if (!x.cast) return from;
            x.cast(from, block.made, n);
            return block.made;
        }
        if (step == 0) {
            if (x.cast) x.cast(from, block.raw, 1);
            gather(x.cast ? block.raw : from, 0, block.made, n, plan.size);
            return block.made;
        }
    }
    char* to = x.cast ? block.raw : block.made;
    for (int64_t done = 0, count; done < n; done += count) {
        const int64_t rest = plan.shape[last] - place.at[last];
        count = rest < n - done ? rest : n - done;
        gather(place.of(x, plan.ndim), step, to + done * x.size, count, x.size);
        place.advance(plan, count);
    }
    if (x.cast) x.cast(block.raw, block.made, n);
    return block.made;
}

struct Job {
    const EachPlan& plan;
    bool refused;
};

bool full(const EachPlan& plan, const EachOperand& x) {          // one run of memory, of the type that is computed with
    return plan.ndim == 1 && x.steps[0] == x.size && !x.cast;
}

bool stretched(const EachPlan& plan, const EachOperand& x) {     // one element
    for (int d = 0; d < plan.ndim; d++)
        if (x.steps[d]) return false;
    return true;
}

void part(void* data, int64_t begin, int64_t end) {
    Job& job = *(Job*)data;
    const EachPlan& plan = job.plan;
    bool direct = !plan.cast;
    for (int k = 0; k < plan.operands; k++) direct = direct && full(plan, plan.in[k]);
    const void* in[4];
    if (direct) {
        for (int k = 0; k < plan.operands; k++) in[k] = plan.in[k].data + begin * plan.size;
        if (!call(plan, in, plan.out + begin * plan.out_size, end - begin)) job.refused = true;
        return;
    }
    Block blocks[4];
    alignas(64) char made[ROOM];
    int64_t most = plan.size > plan.made_size ? plan.size : plan.made_size;
    bool same[4];
    for (int k = 0; k < plan.operands; k++)
        if (plan.in[k].size > most) most = plan.in[k].size;
    most = ROOM / most;
    const int64_t line = plan.shape[plan.ndim - 1];
    for (int k = 0; k < plan.operands; k++) {
        same[k] = stretched(plan, plan.in[k]);
        if (same[k]) {
            const EachOperand& x = plan.in[k];
            if (x.cast) x.cast(x.data, blocks[k].raw, 1);
            gather(x.cast ? blocks[k].raw : x.data, 0, blocks[k].made, most < end - begin ? most : end - begin, plan.size);
            in[k] = blocks[k].made;
        }
    }
    Place place(plan, begin);
    for (int64_t i = begin, n; i < end; i += n) {
        n = most < end - i ? most : end - i;
        const int64_t left = line - place.at[plan.ndim - 1];
        if (line >= LONG_LINE && left < n) n = left;
        for (int k = 0; k < plan.operands; k++)
            if (!same[k]) in[k] = block_of(plan, plan.in[k], place, n, blocks[k]);
        char* to = plan.out + i * plan.out_size;
        if (!call(plan, in, plan.cast ? made : to, n)) {
            job.refused = true;
            return;
        }
        if (plan.cast) plan.cast(made, to, n);
        for (int64_t done = 0, count; done < n; done += count) {
            const int64_t rest = line - place.at[plan.ndim - 1];
            count = rest < n - done ? rest : n - done;
            place.advance(plan, count);
        }
    }
}

// Numbers as their bits: those below the least normal one are first brought above it; 0, infinities and NaN stay what they are.
template <class T, class Bits, int DIGITS, int BIAS> struct Split {
    const T* x;
    T* mantissa;
    int32_t* exponent;

    static void part(void* data, int64_t begin, int64_t end) {
        const Split& job = *(const Split*)data;
        constexpr Bits least = (Bits)1 << DIGITS, sign = (Bits)1 << (8 * sizeof(T) - 1), infinite = sign - least;
        const T up = (T)((Bits)1 << DIGITS);
        for (int64_t i = begin; i < end; i++) {
            const T x = job.x[i];
            Bits bits, raised;
            memcpy(&bits, &x, sizeof bits);
            const Bits size = bits & ~sign;
            const bool small = size < least, plain = size != 0 && size < infinite;
            const T more = small ? x * up : x;
            memcpy(&raised, &more, sizeof raised);
            const int32_t power = (int32_t)((raised & ~sign) >> DIGITS) - BIAS - (small ? DIGITS : 0);
            const Bits part = plain ? (raised & (sign | (least - 1))) | ((Bits)BIAS << DIGITS) : bits;
            memcpy(job.mantissa + i, &part, sizeof part);
            job.exponent[i] = plain ? power : 0;
        }
    }
    void run(int64_t n) { parallel_for(n, COSTLY, part, this); }
};

void join_axes(EachPlan& plan) {
    int at = 0;
    for (int d = 1; d < plan.ndim; d++) {
        bool joins = true;
        for (int k = 0; k < plan.operands; k++)
            joins = joins && plan.in[k].steps[at] == plan.in[k].steps[d] * plan.shape[d];
        if (joins) plan.shape[at] *= plan.shape[d];
        else plan.shape[++at] = plan.shape[d];
        for (int k = 0; k < plan.operands; k++) plan.in[k].steps[at] = plan.in[k].steps[d];
    }
    plan.ndim = at + 1;
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
        plan.shape[0] = plan.ndim = 1;
        for (int k = 0; k < plan.operands; k++) plan.in[k].steps[0] = 0;
    }
    join_axes(plan);
    int64_t n = 1;
    for (int d = 0; d < plan.ndim; d++) n *= plan.shape[d];
    Job job{plan, false};
    if (n < 2 * plan.grain) part(&job, 0, n);
    else parallel_for(n, plan.grain, part, &job);
    return !job.refused;
}

}  // namespace clay
