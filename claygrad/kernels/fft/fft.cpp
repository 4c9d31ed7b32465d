// Fourier transforms along the axes of an array: rows by fft/rows.hpp, columns here.
#include "fft/fft.hpp"

#include <new>

#include "platform/table.hpp"
#include "fft/plans.hpp"
#include "platform/api.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// --- columns, and rows with one row per lane -------------------------------------------------------------------
// Element k of every row; unused lanes are zero.
template <class T> CLAY_INLINE Complex<vec<T>> element(const Lines<T>& lines, int64_t k) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    if (lines.adjacent) {
        const T* at = lines.in[0] + k * lines.in_step;
        if (lines.split) return {load<V>(at), load<V>(at + W)};
        return apart<T>(load<V>(at), load<V>(at + W));
    }
    T r[W] = {}, i[W] = {};
    for (int64_t lane = 0; lane < lines.count; lane++) {
        r[lane] = lines.in[lane][k * lines.in_step];
        i[lane] = lines.in[lane][k * lines.in_step + 1];
    }
    return {load<V>(r), load<V>(i)};
}
template <class T> CLAY_INLINE void put_element(const Lines<T>& lines, int64_t k, Complex<vec<T>> x) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    if (lines.adjacent) {
        V low = x.r, high = x.i;
        if (!lines.split) together<T>(x, low, high);
        store<V>(lines.out[0] + k * lines.out_step, low);
        store<V>(lines.out[0] + k * lines.out_step + W, high);
        return;
    }
    T r[W], i[W];
    store<V>(r, x.r);
    store<V>(i, x.i);
    for (int64_t lane = 0; lane < lines.count; lane++) {
        lines.out[lane][k * lines.out_step] = r[lane];
        lines.out[lane][k * lines.out_step + 1] = i[lane];
    }
}
// The same for real numbers
template <class T> CLAY_INLINE vec<T> real_element(const Lines<T>& lines, int64_t k) {
    using V = vec<T>;
    if (lines.adjacent) return load<V>(lines.in[0] + k * lines.in_step);
    T r[Lanes<V>::width] = {};
    for (int64_t lane = 0; lane < lines.count; lane++) r[lane] = lines.in[lane][k * lines.in_step];
    return load<V>(r);
}
template <class T> CLAY_INLINE void put_real(const Lines<T>& lines, int64_t k, vec<T> x) {
    using V = vec<T>;
    if (lines.adjacent) return store<V>(lines.out[0] + k * lines.out_step, x);
    T r[Lanes<V>::width];
    store<V>(r, x);
    for (int64_t lane = 0; lane < lines.count; lane++) lines.out[lane][k * lines.out_step] = r[lane];
}

// Loads the input into scratch
template <class T> void gather(const Plan<T>& plan, int kind, bool back, const Lines<T>& lines, const Local<T> to) {
    using V = vec<T>;
    const int64_t n = plan.n, h = n / 2;
    const V zero = splat<V>(0);
    if (kind == COMPLEX) {
        const V sign = splat<V>(back ? -1 : 1);
        for (int64_t k = 0; k < n; k++) to.put(k, with_sign(element(lines, k), sign));
    } else if (kind != FROM_HALF && plan.even_real()) {
        for (int64_t k = 0; k < h; k++) to.put(k, {real_element(lines, 2 * k), real_element(lines, 2 * k + 1)});
    } else if (kind != FROM_HALF) {
        for (int64_t k = 0; k < n; k++) to.put(k, {real_element(lines, k), zero});
    } else if (plan.even_real()) {                    // half a spectrum, backward: real and imaginary parts swapped
        const V x = element(lines, 0).r, y = element(lines, h).r;
        to.put(0, {x - y, x + y});
        for (int64_t k = 1; k <= h / 2; k++) {
            Complex<V> low = element(lines, k), high = element(lines, h - k);
            mend(low, high, splat<V>(-plan.cosines[k]), splat<V>(plan.sines[k]));
            to.put(h - k, {high.i, high.r});
            to.put(k, {low.i, low.r});
        }
    } else {
        to.put(0, {zero, element(lines, 0).r});
        for (int64_t k = 1; k <= h; k++) {
            const Complex<V> x = element(lines, k);
            to.put(k, {x.i, x.r});
            to.put(n - k, {-x.i, x.r});
        }
    }
}

template <class T> void scatter(const Plan<T>& plan, int kind, bool back, const Lines<T>& lines, const Local<T> from, T scale_by) {
    using V = vec<T>;
    const int64_t n = plan.n, h = n / 2;
    const V zero = splat<V>(0), scale = splat<V>(scale_by), half = splat<V>(scale_by / 2);
    auto put = [&](int64_t k, Complex<V> x, V by) {
        put_element(lines, k, Complex<V>{x.r * by, x.i * by});
        if (kind == TO_WHOLE && k > 0 && 2 * k < n) put_element(lines, n - k, Complex<V>{x.r * by, -(x.i * by)});
    };
    if (kind == COMPLEX) {
        const V sign = splat<V>(back ? -1 : 1);
        for (int64_t k = 0; k < n; k++) put(k, with_sign(from.get(k), sign), scale);
    } else if (kind != FROM_HALF && plan.even_real()) {
        const Complex<V> first = from.get(0);
        put(0, {first.r + first.i, zero}, scale);
        put(h, {first.r - first.i, zero}, scale);
        for (int64_t k = 1; k <= h / 2; k++) {
            Complex<V> low = from.get(k), high = from.get(h - k);
            mend(low, high, splat<V>(plan.cosines[k]), splat<V>(plan.sines[k]));
            put(h - k, high, half);
            put(k, low, half);
        }
    } else if (kind != FROM_HALF) {
        put(0, {from.get(0).r, zero}, scale);
        for (int64_t k = 1; k <= h; k++) put(k, from.get(k), scale);
    } else if (plan.even_real()) {
        for (int64_t k = 0; k < h; k++) {
            const Complex<V> x = from.get(k);
            put_real(lines, 2 * k, x.i * scale);
            put_real(lines, 2 * k + 1, x.r * scale);
        }
    } else {
        for (int64_t k = 0; k < n; k++) put_real(lines, k, from.get(k).i * scale);
    }
}

template <class T> bool complex_columns(const Plan<T>& plan, const Lines<T>& lines, const Ends<T>& by) {
    using V = vec<T>;
    constexpr int W = Lanes<V>::width;
    T* here = room_for_points<T>(plan.points);
    if (!here) return false;
    run_passes_to<T>(plan.passes, TwoHalfVectors<T>{lines.in[0], lines.in[0] + W, lines.in_step, splat<V>(by.sign)}, here,
                     here + 2 * W * plan.points, Columns<T>{lines.out[0], lines.out_step, splat<V>(by.real), splat<V>(by.imaginary)});
    return true;
}

template <class T> bool some_lines(const Plan<T>& plan, int kind, bool back, const Lines<T>& lines, T scale) {
    constexpr int W = Lanes<vec<T>>::width;
    if (kind == COMPLEX && lines.adjacent && !plan.inner) return complex_columns<T>(plan, lines, Ends<T>(back, scale));
    if (!plan.inner) {
        T* here = room_for_points<T>(plan.points);
        if (!here) return false;
        T* there = here + 2 * W * plan.points;
        gather(plan, kind, back, lines, Local<T>{there});
        const Local<T> at = run_passes<T>(plan.passes, Local<T>{there}, here, there);
        scatter(plan, kind, back, lines, at, scale);
        return true;
    }
    // One after the other, each copied to a row; the row passes have their own scratch.
    T* held = (T*)rows_room.get(sizeof(T) * 2 * (W + 1) * (size_t)plan.points);
    if (!held) return false;
    const Local<T> at{held};
    T* row = held + 2 * W * plan.points;
    gather(plan, kind, back, lines, at);
    for (int64_t lane = 0; lane < lines.count; lane++) {
        for (int64_t k = 0; k < plan.points; k++)
            row[2 * k] = held[2 * W * k + lane], row[2 * k + 1] = held[2 * W * k + W + lane];
        if (!chirped_row<T>(plan, row, row, Ends<T>(false, 1))) return false;
        for (int64_t k = 0; k < plan.points; k++)
            held[2 * W * k + lane] = row[2 * k], held[2 * W * k + W + lane] = row[2 * k + 1];
    }
    scatter(plan, kind, back, lines, at, scale);
    return true;
}

// Real rows, one per lane: transposed, they are columns.
template <class T> bool transposed_lines(const Plan<T>& plan, int kind, const Rows<T>& rows, T scale) {
    constexpr int W = Lanes<vec<T>>::width;
    const int64_t half = 2 * (plan.n / 2 + 1), in_numbers = kind == FROM_HALF ? half : plan.n;
    const int64_t out_numbers = kind == FROM_HALF ? plan.n : half;
    T* held = (T*)rows_room.get(sizeof(T) * (size_t)(W * (in_numbers + out_numbers)));
    if (!held) return false;
    Lines<T> lines;
    lines.in[0] = held, lines.in_step = kind == FROM_HALF ? 2 * W : W;
    lines.out[0] = held + W * in_numbers, lines.out_step = kind == FROM_HALF ? W : 2 * W;
    lines.count = W, lines.adjacent = lines.split = true;
    for (Rows<T> left = rows; left.count > 0; left = left.after(W)) {
        const int64_t count = left.count < W ? left.count : W;
        if (count < W) memset((void*)held, 0, sizeof(T) * (size_t)(W * in_numbers));
        transpose<T>(left.in, left.in_each, held, W, count, in_numbers);
        if (!some_lines(plan, kind, false, lines, scale)) return false;
        transpose<T>(lines.out[0], W, left.out, left.out_each, out_numbers, count);
    }
    return true;
}

template <class T> bool some_of_rows(const Plan<T>& plan, int kind, bool back, const Rows<T>& rows, T scale) {
    constexpr int W = Lanes<vec<T>>::width;
    const int64_t h = plan.n / 2;
    const Ends<T> by(kind == COMPLEX ? back : kind == FROM_HALF, scale);
    if (kind == COMPLEX) return complex_rows<T>(plan, rows, by);
    if (!plan.even_real() && (plan.inner || plan.large)) {             // as a complex row of its own
        T* row = (T*)rows_room.get(sizeof(T) * 2 * (size_t)plan.n);
        if (!row) return false;
        const int64_t n = plan.n;
        for (int64_t i = 0; i < rows.count; i++) {
            const T* from = rows.in + i * rows.in_each;
            T* to = rows.out + i * rows.out_each;
            if (kind == FROM_HALF) {
                row[0] = from[0], row[1] = 0;
                for (int64_t k = 1; k <= h; k++) {
                    row[2 * k] = row[2 * (n - k)] = from[2 * k];
                    row[2 * k + 1] = from[2 * k + 1], row[2 * (n - k) + 1] = -from[2 * k + 1];
                }
                if (!complex_rows<T>(plan, {row, 0, row, 0, 1}, by)) return false;
                for (int64_t k = 0; k < n; k++) to[k] = row[2 * k];
            } else {
                for (int64_t k = 0; k < n; k++) row[2 * k] = from[k], row[2 * k + 1] = 0;
                if (!complex_rows<T>(plan, {row, 0, row, 0, 1}, by)) return false;
                row[1] = 0;
                memcpy(to, row, sizeof(T) * 2 * (size_t)(h + 1));
            }
        }
        return true;
    }
    if (plan.transposed) return transposed_lines<T>(plan, kind == TO_WHOLE ? (int)TO_HALF : kind, rows, scale);
    T* between = (T*)rows_room.get(sizeof(T) * 2 * (size_t)(rows.count * (h + W) + W));
    if (!between) return false;
    between += 2 * W;                                 // room for mended_short
    const int64_t each = 2 * (h + W);
    bool done = true;
    if (kind == FROM_HALF) {
        for (int64_t row = 0; row < rows.count; row++)
            mended_row<T, true>(plan, rows.in + row * rows.in_each, between + row * each, 1);
        done = complex_rows<T>(plan, {between, each, rows.out, rows.out_each, rows.count}, by);
    } else {
        done = complex_rows<T>(plan, {rows.in, rows.in_each, between, each, rows.count}, Ends<T>(false, 1));
        for (int64_t row = 0; row < rows.count; row++)
            mended_row<T, false>(plan, between + row * each, rows.out + row * rows.out_each, scale);
    }
    rows_room.give_back();
    return done;
}

// --- an axis of an array ---------------------------------------------------------------------------------------------
constexpr int64_t TOGETHER = 2048;       // elements of rows transformed together: intermediate results stay in the first-level cache

// f(i) for 0 <= i < tasks, of so many elements each; false if any call returned false
template <class F> bool each_share(int64_t tasks, int64_t elements, F f) {
    struct Job {
        F& f;
        std::atomic<bool> failed;
    } job{f, {false}};
    parallel_for(tasks, 1 + 16384 / (elements + 1), [](void* all, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            if (!((Job*)all)->f(i)) ((Job*)all)->failed.store(true);
    }, &job);
    return !job.failed.load();
}

template <class T>
bool along_axis(const Plan<T>& plan, int kind, bool back, const T* in, T* out, int64_t outer, int64_t inner, double scale) {
    constexpr int W = Lanes<vec<T>>::width;
    const int64_t n = plan.n, half = n / 2 + 1;
    const int64_t in_each = (kind == FROM_HALF ? 2 * half : kind == COMPLEX ? 2 * n : n) * inner;          // in numbers
    const int64_t out_each = (kind == FROM_HALF ? n : kind == TO_HALF ? 2 * half : 2 * n) * inner;
    const int64_t in_size = kind == COMPLEX || kind == FROM_HALF ? 2 : 1, out_size = kind == FROM_HALF ? 1 : 2;
    if (inner == 1) {
        const int64_t smallest = plan.rows_at_a_time(), group = (TOGETHER / n + smallest) / smallest * smallest;
        return each_share((outer + group - 1) / group, group * n, [=, &plan](int64_t task) {
            const int64_t first = task * group, count = outer - first < group ? outer - first : group;
            const Rows<T> rows{in + first * in_each, in_each, out + first * out_each, out_each, count};
            if (!some_of_rows<T>(plan, kind, back, rows, (T)scale)) return false;
            if (kind == TO_WHOLE)                     // the other half is the conjugate mirror image
                for (int64_t row = 0; row < count; row++) {
                    T* to = rows.out + row * out_each;
                    for (int64_t k = half; k < n; k++) to[2 * k] = to[2 * (n - k)], to[2 * k + 1] = -to[2 * (n - k) + 1];
                }
            return true;
        });
    }
    // Full vectors of neighbouring columns first; the remaining columns together.
    const int64_t blocks = inner / W, rest = inner % W, whole = outer * blocks, left = outer * rest;
    return each_share(whole + (left + W - 1) / W, W * n, [=, &plan](int64_t task) {
        Lines<T> lines;
        lines.in_step = in_size * inner, lines.out_step = out_size * inner;
        lines.adjacent = task < whole, lines.split = false, lines.count = W;
        if (lines.adjacent) {
            const int64_t image = task / blocks, column = task % blocks * W;
            lines.in[0] = in + image * in_each + in_size * column;
            lines.out[0] = out + image * out_each + out_size * column;
        } else {
            const int64_t first = (task - whole) * W;
            lines.count = left - first < W ? left - first : W;
            for (int64_t lane = 0; lane < lines.count; lane++) {
                const int64_t image = (first + lane) / rest, column = blocks * W + (first + lane) % rest;
                lines.in[lane] = in + image * in_each + in_size * column;
                lines.out[lane] = out + image * out_each + out_size * column;
            }
        }
        return some_lines<T>(plan, kind, back, lines, (T)scale);
    });
}

// --- several axes ----------------------------------------------------------------------------------------------------
template <class T> Plans<T>& plans() {
    static Plans<T>* const all = new Plans<T>;        // never freed: a thread may still use them at exit
    return *all;
}

void extents(const int64_t* shape, int ndim, int axis, int64_t* outer, int64_t* inner) {
    *outer = *inner = 1;
    for (int i = 0; i < ndim; i++)
        if (i != axis) (i < axis ? *outer : *inner) *= shape[i];
}

template <class T> void release(Fourier* job) {
    for (int i = 0; i < job->axes; i++)
        if (job->plans[i]) Plans<T>::let_go((Plan<T>*)job->plans[i]);
}

template <class T> bool prepare(Fourier* job) {
    for (int i = 0; i < job->axes; i++) job->plans[i] = nullptr;
    try {
        for (int i = 0; i < job->axes; i++) {
            int64_t outer, inner;
            extents(job->shape, job->ndim, job->axis[i], &outer, &inner);
            const bool real = job->kind != COMPLEX && i == job->axes - 1;
            const int64_t n = real ? job->last : job->shape[job->axis[i]];
            Plan<T>* plan = plans<T>().get(n, real, inner > 1, outer);
            job->plans[i] = plan;
        }
    } catch (const std::bad_alloc&) {
        release<T>(job);
        return false;
    }
    return true;
}

// All axes of an array with this shape of the input
template <class T> bool along_axes(const Fourier& job, const int64_t* shape, const T* in, T* work, T* out) {
    int64_t now[Fourier::MAX_AXES], outer, inner;
    for (int i = 0; i < job.ndim; i++) now[i] = shape[i];
    const bool real = job.kind != COMPLEX, back = job.kind == FROM_HALF;
    const int count = job.axes - real, last = job.axis[job.axes - 1];
    T* const room = back ? work : out;                // scratch of the complex axes
    const T* at = in;
    if (real && !back) {
        extents(now, job.ndim, last, &outer, &inner);
        if (!along_axis<T>(*(Plan<T>*)job.plans[count], job.kind, false, at, out, outer, inner, count ? 1 : job.scale)) return false;
        now[last] = job.kind == TO_HALF ? job.last / 2 + 1 : job.last;
        at = out;
    }
    for (int i = count - 1; i >= 0; i--) {
        extents(now, job.ndim, job.axis[i], &outer, &inner);
        if (!along_axis<T>(*(Plan<T>*)job.plans[i], COMPLEX, job.backward || back, at, room, outer, inner, i || back ? 1 : job.scale))
            return false;
        at = room;
    }
    if (!back) return true;
    extents(now, job.ndim, last, &outer, &inner);
    return along_axis<T>(*(Plan<T>*)job.plans[count], FROM_HALF, true, at, out, outer, inner, job.scale);
}

template <class T> bool run(const Fourier* job, const void* in_all, void* work_all, void* out_all) {
    const T* in = (const T*)in_all;
    T *work = (T*)work_all, *out = (T*)out_all;
    // All axes of an image that fits the cache are transformed before the next image.
    int first = job->ndim;
    for (int i = 0; i < job->axes; i++) first = job->axis[i] < first ? job->axis[i] : first;
    int64_t images = 1, each = 1;
    for (int i = 0; i < job->ndim; i++) (i < first ? images : each) *= job->shape[i];
    const int64_t largest = CACHED / (2 * (int64_t)sizeof(T)) / each;
    if (job->axes < 2 || images < 2 || largest < 1) return along_axes<T>(*job, job->shape, in, work, out);
    const int64_t threads = max_threads(), share = (images + 2 * threads - 1) / (2 * threads), chunk = largest < share ? largest : share;
    const int last = job->axis[job->axes - 1];
    const int64_t numbers = job->kind == COMPLEX || job->kind == FROM_HALF ? 2 : 1;
    int64_t result = each / job->shape[last] * (job->kind == TO_HALF ? job->last / 2 + 1 : job->last);
    if (job->kind == COMPLEX) result = each;
    const int64_t out_numbers = job->kind == FROM_HALF ? 1 : 2;
    return each_share((images + chunk - 1) / chunk, chunk * each, [=](int64_t task) {
        int64_t shape[Fourier::MAX_AXES];
        for (int i = 0; i < job->ndim; i++) shape[i] = i < first ? 1 : job->shape[i];
        const int64_t begin = task * chunk;
        if (first > 0) shape[0] = images - begin < chunk ? images - begin : chunk;
        return along_axes<T>(*job, shape, in + begin * each * numbers, work ? work + begin * each * 2 : nullptr,
                             out + begin * result * out_numbers);
    });
}

}  // namespace

const Kernel fft_kernels[] = {
    {"prepare", F32, (void*)(fourier_prepare_fn)prepare<float>}, {"prepare", F64, (void*)(fourier_prepare_fn)prepare<double>},
    {"run", F32, (void*)(fourier_run_fn)run<float>},             {"run", F64, (void*)(fourier_run_fn)run<double>},
    {"release", F32, (void*)(fourier_release_fn)release<float>}, {"release", F64, (void*)(fourier_release_fn)release<double>},
};
CLAY_COUNT(fft)

}  // namespace CLAY_ISA
}  // namespace clay
