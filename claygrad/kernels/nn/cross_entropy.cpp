// Cross entropy: the scores are read once in forward and once in backward, and nothing of their size is saved. And the recursions of
// CTC over alignments of labels with frames.
#include "platform/table.hpp"
#include "simd/lines.hpp"
#include "nn/norm.hpp"
#include "platform/scratch.hpp"
#include "reduce/softmax_short.hpp"
#include "platform/threads.hpp"
#include "simd/math.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> void forward_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    const CrossEntropy& s = *(const CrossEntropy*)data;
    const int64_t n = s.classes;
    T *loss = (T*)s.loss, *tops = (T*)s.kept, *logs = tops + s.rows;
    for (int64_t r = begin; r < end; r++) {
        const T* x = (const T*)s.x + r * n;
        const T top = reduce_row<MaxOf, T>(x, n);
        const V highest = splat<V>(top);
        T sum;
        sums<1, T>(0, n, &sum, [=](int64_t i, int64_t m, V* term) {
            ahead(x + n + i);
            term[0] = exp_down(get<V>(x + i, m) - highest);
        });
        tops[r] = top, logs[r] = log(sum);
        loss[r] = s.target[r] == s.ignored ? 0 : logs[r] - (x[s.target[r]] - top);
    }
}

template <class T> void backward_range(void* data, int64_t begin, int64_t end) {
    using V = vec<T>;
    const CrossEntropy& s = *(const CrossEntropy*)data;
    const int64_t n = s.classes;
    const T *tops = (const T*)s.kept, *logs = tops + s.rows;
    for (int64_t r = begin; r < end; r++) {
        const T* x = (const T*)s.x + r * n;
        T* dx = (T*)s.to_x + r * n;
        if (s.target[r] == s.ignored) {
            along<T>(n, [=](int64_t i, int64_t m) { put<V>(dx + i, splat<V>(0), m); });
            continue;
        }
        const T factor = ((const T*)s.scale)[s.one_scale ? 0 : r];
        const V top = splat<V>(tops[r]), log_sum = splat<V>(logs[r]), scale = splat<V>(factor);
        along<T>(n, [=](int64_t i, int64_t m) { put<V>(dx + i, exp_down(get<V>(x + i, m) - top - log_sum) * scale, m); });
        dx[s.target[r]] -= factor;
    }
}

template <class T> void forward_interleaved(const CrossEntropy& s) {
    using V = vec<T>;
    each_interleaved<T>(s.rows, s.classes, [&s](int64_t r, int64_t m) {
        const int64_t n = s.classes;
        const T* x = (const T*)s.x + r * n;
        T *loss = (T*)s.loss + r, *tops = (T*)s.kept + r, *logs = tops + s.rows;
        InterleavedRows<T> a;
        a.take(x, n, m);
        V top = splat<V>(MaxOf::identity), sum = splat<V>(0);
        for (int64_t k = 0; k < n; k++) top = MaxOf::combine(top, get<V>(a.at + k * a.W, m));
        for (int64_t k = 0; k < n; k++) sum = sum + exp_down(get<V>(a.at + k * a.W, m) - top);
        put<V>(tops, top, m);
        put<V>(logs, log(sum), m);
        for (int64_t l = 0; l < m; l++)
            loss[l] = s.target[r + l] == s.ignored ? 0 : logs[l] - (x[l * n + s.target[r + l]] - tops[l]);
    });
}

template <class T> void backward_interleaved(const CrossEntropy& s) {
    using V = vec<T>;
    each_interleaved<T>(s.rows, s.classes, [&s](int64_t r, int64_t m) {
        const int64_t n = s.classes;
        const T *tops = (const T*)s.kept + r, *logs = tops + s.rows, *factor = (const T*)s.scale;
        T* dx = (T*)s.to_x + r * n;
        InterleavedRows<T> a;
        a.take((const T*)s.x + r * n, n, m);
        const V top = get<V>(tops, m), log_sum = get<V>(logs, m), scale = s.one_scale ? splat<V>(*factor) : get<V>(factor + r, m);
        for (int64_t k = 0; k < n; k++) {
            T* at = a.at + k * a.W;
            put<V>(at, exp_down(get<V>(at, m) - top - log_sum) * scale, m);
        }
        a.put(dx, n, m);
        for (int64_t l = 0; l < m; l++, dx += n) {
            if (s.target[r + l] != s.ignored) dx[s.target[r + l]] -= factor[s.one_scale ? 0 : r + l];
            else
                for (int64_t k = 0; k < n; k++) dx[k] = 0;
        }
    });
}

template <class T> void forward(const CrossEntropy* s) {
    if (short_rows<T>(s->classes)) return forward_interleaved<T>(*s);
    parallel_for(s->rows, COSTLY_ROWS / s->classes + 1, forward_range<T>, (void*)s);
}
template <class T> void backward(const CrossEntropy* s) {
    if (short_rows<T>(s->classes)) return backward_interleaved<T>(*s);
    parallel_for(s->rows, COSTLY_ROWS / s->classes + 1, backward_range<T>, (void*)s);
}

// --- alignments --------------------------------------------------------------------------------------------------------
thread_local Room room;

template <class V> V log_of_sum(V a, V b, V c) {
    using T = typename Lanes<V>::T;
    const V top = maximum(maximum(a, b), c), none = splat<V>(-(T)__builtin_inf()), safe = select(top == none, splat<V>(0), top);
    return log(exp(a - safe) + exp(b - safe) + exp(c - safe)) + safe;
}

// out[s] = log(exp(from[s]) + exp(from[s + step]) + (if allowed) exp(from[s + 2 step])) + said[s]; `from` is padded
template <class T> void step_on(const T* from, const T* leaps, const T* said, int64_t n, int step, T* out) {
    using V = vec<T>;
    along<T>(n, [=](int64_t s, int64_t m) {
        const V two = get<V>(from + s + 2 * step, m), far = select(get<V>(leaps + s, m) == splat<V>(1), two, splat<V>(-(T)__builtin_inf()));
        put<V>(out + s, log_of_sum(get<V>(from + s, m), get<V>(from + s + step, m), far) + get<V>(said + s, m), m);
    });
}

template <class T> T log_of_two(T a, T b) {
    const T top = a > b ? a : b, less = a > b ? b : a;
    return top == -(T)__builtin_inf() ? top : top + log1p(exp(less - top));
}

// Padding around rows, and the length of a padded row
constexpr int64_t AROUND = 16;

template <class T> struct Rows {
    T *a, *b, *said;
    Rows(int64_t indices) {
        const int64_t line = indices + 4 * AROUND;
        a = (T*)room.get(3 * line * sizeof(T));
        if (!a) return;
        for (int64_t i = 0; i < 3 * line; i++) a[i] = -(T)__builtin_inf();
        a += AROUND, b = a + line, said = b + line;
    }
};

template <class T> void speak(const Alignment& s, int64_t example, int64_t t, int64_t n, T* said) {
    const T* x = (const T*)s.log_probs + (t * s.examples + example) * s.classes;
    const int64_t* labels = s.labels + example * s.positions;
    for (int64_t i = 0; i < n; i++) said[i] = x[labels[i]];
}

template <class T> bool align(const Alignment* job) {
    const Alignment& s = *job;
    volatile bool short_of_memory = false;
    each_task(s.examples, s.frames * s.positions * 64, [&](int64_t e) {
        Rows<T> rows(s.positions);
        if (!rows.a) {
            short_of_memory = true;
            return;
        }
        const T none = -(T)__builtin_inf();
        T *alpha = (T*)s.alpha + e * s.frames * s.positions, *leaps = rows.b;
        const int64_t span = s.spans[e], n = s.lengths[e];
        for (int64_t i = 0; i < n; i++) leaps[i] = s.skips[e * s.positions + i];
        for (int64_t t = 0; t < s.frames; t++, alpha += s.positions) {
            const int64_t own = t < span ? n : 0;                                            // frames past the end do not count
            for (int64_t i = own; i < s.positions; i++) alpha[i] = none;
            if (!own) continue;
            speak(s, e, t, n, rows.said);
            if (t) step_on(rows.a, leaps, rows.said, n, -1, alpha);
            else
                for (int64_t i = 0; i < n; i++) alpha[i] = i < 2 ? rows.said[i] : none;
            for (int64_t i = 0; i < n; i++) rows.a[i] = alpha[i];
            if (t == span - 1) ((T*)s.loss)[e] = -log_of_two(alpha[n - 1], n > 1 ? alpha[n - 2] : none);
        }
        if (span == 0) ((T*)s.loss)[e] = n > 1 ? (T)__builtin_inf() : -(T)0.0;
    });
    return !short_of_memory;
}

template <class T> bool align_back(const Alignment* job) {
    using V = vec<T>;
    const Alignment& s = *job;
    volatile bool short_of_memory = false;
    each_task(s.examples, s.frames * s.positions * 64, [&](int64_t e) {
        Rows<T> rows(s.positions + s.positions);
        if (!rows.a) {
            short_of_memory = true;
            return;
        }
        T* leaps = rows.said + s.positions + AROUND;
        for (int64_t i = 0; i < s.positions; i++) leaps[i] = i + 2 < s.positions && s.skips[e * s.positions + i + 2];
        const int64_t last = s.spans[e] - 1, end = s.lengths[e] - 1;
        const int64_t* labels = s.labels + e * s.positions;
        const T loss = ((const T*)s.loss)[e], g = ((const T*)s.g)[e];
        const bool endless = loss == (T)__builtin_inf() || loss == -(T)__builtin_inf();
        for (int64_t t = s.frames - 1; t >= 0; t--) {
            T* to = (T*)s.to_log_probs + (t * s.examples + e) * s.classes;
            if (t > last || endless) {               // no alignment is possible: the gradient is zero
                const T all = t > last || s.zero_infinity ? 0 : (T)__builtin_nan("");
                for (int64_t c = 0; c < s.classes; c++) to[c] = all;
                continue;
            }
            speak(s, e, t, end + 1, rows.said);
            if (t < last) step_on(rows.a, leaps, rows.said, end + 1, 1, rows.b);
            else
                for (int64_t i = 0; i <= end; i++) rows.b[i] = i >= end - 1 ? rows.said[i] : -(T)__builtin_inf();
            for (int64_t i = 0; i <= end; i++) rows.a[i] = rows.b[i];
            const T *alpha = (const T*)s.alpha + (e * s.frames + t) * s.positions, *beta = rows.b, *said = rows.said;
            T* share = rows.b + s.positions;
            along<T>(end + 1, [=](int64_t i, int64_t m) {
                put<V>(share + i, exp(get<V>(alpha + i, m) + get<V>(beta + i, m) - get<V>(said + i, m) + splat<V>(loss)), m);
            });
            const T* x = (const T*)s.log_probs + (t * s.examples + e) * s.classes;
            along<T>(s.classes, [=](int64_t i, int64_t m) { put<V>(to + i, exp(get<V>(x + i, m)), m); });
            for (int64_t i = 0; i <= end; i++) to[labels[i]] -= share[i];
            for (int64_t c = 0; c < s.classes; c++) to[c] *= g;
        }
    });
    return !short_of_memory;
}

#define BOTH(name, f) {name, F32, (void*)(cross_entropy_fn)f<float>}, {name, F64, (void*)(cross_entropy_fn)f<double>}

}  // namespace

const Kernel loss_kernels[] = {BOTH("forward", forward), BOTH("backward", backward),
                               {"align", F32, (void*)align<float>}, {"align", F64, (void*)align<double>},
                               {"align_back", F32, (void*)align_back<float>}, {"align_back", F64, (void*)align_back<double>}};
CLAY_COUNT(loss)

}  // namespace CLAY_ISA
}  // namespace clay
