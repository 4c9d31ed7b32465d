// Note [Reflections by blocks]
// The product of a few reflections H1 H2 ... Hb, H = I - tau v v^T, is I - V t V^T with a triangle t: so they are applied to a
// matrix by three products. The vectors lie in rows, each from its own place on, with zeros before.
#include "codes.hpp"
#include "kernels.hpp"
#include "reflections.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

constexpr int64_t BLOCK = 32;            // reflections that are applied at once
constexpr int64_t WORTH = 96;            // and the least number of them, and of columns, for which that pays

template <class T> constexpr int CODE = sizeof(T) == 4 ? F32 : F64;

// What `apply` needs beside the vectors, for so many columns
template <class T> int64_t room_of(int64_t columns) { return 2 * BLOCK * BLOCK + 2 * BLOCK * row_length<T>(columns); }

// The triangle t of `count` vectors of length m: t[i, i] = tau[i], t[0..i, i] = -tau[i] t[0..i, 0..i] (V^T v_i)
template <class T> void triangle_of(const T* v, int64_t ldv, int64_t m, int64_t count, const T* tau, T* t, T* products) {
    gemm(CODE<T>, false, true, count, count, m, v, ldv, v, ldv, products, BLOCK, false);
    for (int64_t i = 0; i < count; i++) {
        for (int64_t r = 0; r < i; r++) {
            T sum = 0;
            for (int64_t c = r; c < i; c++) sum += t[r * BLOCK + c] * products[c * BLOCK + i];
            t[r * BLOCK + i] = -tau[i] * sum;
        }
        t[i * BLOCK + i] = tau[i];
        for (int64_t c = 0; c < i; c++) t[i * BLOCK + c] = 0;
    }
}

// a = (H1 ... Hb) a, or its transpose times a: m rows, `columns` columns
template <class T>
void apply(const T* v, int64_t ldv, int64_t m, int64_t count, const T* tau, T* a, int64_t ld, int64_t columns, bool turned, T* memory) {
    T *t = memory, *first = t + 2 * BLOCK * BLOCK, *second = first + BLOCK * row_length<T>(columns);
    const int64_t ldw = row_length<T>(columns);
    triangle_of(v, ldv, m, count, tau, t, t + BLOCK * BLOCK);
    for (int64_t i = 0; i < BLOCK * BLOCK; i++) t[i] = -t[i];
    gemm(CODE<T>, false, false, count, columns, m, v, ldv, a, ld, first, ldw, false);
    gemm(CODE<T>, turned, false, count, columns, count, t, BLOCK, first, ldw, second, ldw, false);
    gemm(CODE<T>, true, false, m, columns, count, v, ldv, second, ldw, a, ld, true);
}

// All of them, m long, from the last block to the first, or (turned) from the first to the last; reflection k leaves the first k
// rows alone, and so it does with the first k columns of the identity.
template <class T>
void apply_all(const T* v, int64_t ldv, int64_t m, int64_t count, const T* tau, T* a, int64_t ld, int64_t columns, bool turned,
               bool of_identity, T* memory) {
    const int64_t blocks = (count + BLOCK - 1) / BLOCK;
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t at = (turned ? b : blocks - 1 - b) * BLOCK, size = count - at < BLOCK ? count - at : BLOCK;
        const int64_t from = of_identity ? at : 0;
        apply(v + at * ldv + at, ldv, m - at, size, tau + at, a + at * ld + from, ld, columns - from, turned, memory);
    }
}

template <class T>
void multiply(const T* v, int64_t ldv, int64_t m, int64_t count, const T* tau, T* a, int64_t ld, int64_t columns, bool turned,
              bool of_identity, T* memory) {
    if (count >= WORTH && columns >= WORTH / 2)
        return apply_all(v, ldv, m, count, tau, a, ld, columns, turned, of_identity, memory);
    for (int64_t i = 0; i < count; i++) {
        const int64_t k = turned ? i : count - 1 - i;
        reflect(a + k * ld, ld, v + k * ldv + k, tau[k], m - k, of_identity ? k : 0, columns);
    }
}

// R in the place of a, below it whatever; the vectors in rows
template <class T> void triangulate(T* a, int64_t ld, int64_t m, int64_t n, T* v, int64_t ldv, T* tau, T* memory) {
    const int64_t count = m < n ? m : n, step = count >= WORTH ? BLOCK : count;
    for (int64_t from = 0; from < count; from += step) {
        // The columns beside a block follow one by one if that ends in the midst of a vector.
        const int64_t to = count - from < step ? count : from + step, end = step == count || to % LANES<T> ? n : to;
        for (int64_t k = from; k < to; k++) {
            T* row = v + k * ldv;
            zeros(row + from, k - from);
            for (int64_t i = k; i < m; i++) row[i] = a[i * ld + k];
            tau[k] = reflection(row + k, m - k);
            const T beta = row[k];
            row[k] = 1;
            reflect(a + k * ld, ld, row + k, tau[k], m - k, k + 1, end);
            a[k * ld + k] = beta;
        }
        if (end < n) apply(v + from * ldv + from, ldv, m - from, to - from, tau + from, a + from * ld + end, ld, n - end, true, memory);
    }
}

template <class T> bool all_finite(const T* a, int64_t ld, int64_t rows) {
    using V = vec<T>;
    V sum = splat<V>(0);
    for (int64_t i = 0; i < rows * ld; i += LANES<T>) sum = multiply_add(splat<V>(0), load<V>(a + i), sum);
    return first_lane(folded<SumOf>(sum)) == 0;
}

}  // namespace

// --- kernels -------------------------------------------------------------------------------------------------------------------
template <class T> bool qr(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const int64_t m = j.m, n = j.n, count = m < n ? m : n, ld = row_length<T>(n), ldv = row_length<T>(m), ldq = row_length<T>(j.k);
    const int64_t room = count >= WORTH ? room_of<T>(n > j.k ? n : j.k) : 0;
    return each_matrix<T>(j.count, m * n * count * 2, m * ld + count * ldv + m * ldq + row_length<T>(count) + room, [&](int64_t t, T* a) {
        T *v = a + m * ld, *q = v + count * ldv, *tau = q + m * ldq, *memory = tau + row_length<T>(count);
        take_in(j.a, t, m, n, a, ld);
        triangulate(a, ld, m, n, v, ldv, tau, memory);
        for (int64_t i = 1; i < j.k; i++) zeros(a + i * ld, i < count ? i : n);
        put_out(j.y, t, j.k, n, a, ld);
        if (!j.x.data) return;
        zeros(q, m * ldq);
        for (int64_t i = 0; i < m && i < j.k; i++) q[i * ldq + i] = 1;
        multiply(v, ldv, m, count, tau, q, ldq, j.k, false, true, memory);
        put_out(j.x, t, m, j.k, q, ldq);
    });
}

// R, and the vectors below it
template <class T> bool geqrf(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const int64_t m = j.m, n = j.n, count = m < n ? m : n, ld = row_length<T>(n), ldv = row_length<T>(m);
    const int64_t room = count >= WORTH ? room_of<T>(n) : 0;
    return each_matrix<T>(j.count, m * n * count, m * ld + count * ldv + row_length<T>(count) + room, [&](int64_t t, T* a) {
        T *v = a + m * ld, *tau = v + count * ldv;
        for (int64_t i = 0; i < m; i++) zeros(a + i * ld, ld);
        take_in(j.a, t, m, n, a, ld);
        j.info[t] = !all_finite(a, ld, m);
        if (j.info[t]) return;
        triangulate(a, ld, m, n, v, ldv, tau, tau + row_length<T>(count));
        put_out(j.x, t, m, n, a, ld);
        memcpy(place_at<T>(j.y, t), tau, (size_t)count * sizeof(T));
        T* out = place_at<T>(j.x, t);
        for (int64_t k = 0; k < count; k++) {
            if (j.x.row == 1) memcpy(out + k * (1 + j.x.column) + 1, v + k * ldv + k + 1, (size_t)(m - k - 1) * sizeof(T));
            else
                for (int64_t i = k + 1; i < m; i++) out[i * j.x.row + k * j.x.column] = v[k * ldv + i];
        }
    });
}

// The vectors of k reflections below the diagonal of a (m rows), their tau in y, times b (m by n), or times the identity
template <class T> bool reflected(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const int64_t m = j.m, n = j.n, count = j.k, ld = row_length<T>(n), ldv = row_length<T>(m);
    const int64_t room = count >= WORTH ? room_of<T>(n) : 0;
    const Matrices columns{j.a.data, j.a.step, j.a.column, j.a.row};
    return each_matrix<T>(j.count, 2 * m * n * count, m * ld + count * ldv + row_length<T>(count) + room, [&](int64_t t, T* a) {
        T *v = a + m * ld, *tau = v + count * ldv;
        take_in(columns, t, count, m, v, ldv);
        for (int64_t i = 0; i < count; i++) zeros(v + i * ldv, i)[i] = 1;
        memcpy(tau, matrix_at<T>(j.y, t), (size_t)count * sizeof(T));
        if (j.b.data) take_in(j.b, t, m, n, a, ld);
        else {
            zeros(a, m * ld);
            for (int64_t i = 0; i < m && i < n; i++) a[i * ld + i] = 1;
        }
        multiply(v, ldv, m, count, tau, a, ld, n, j.upper, !j.b.data, tau + row_length<T>(count));
        put_out(j.x, t, m, n, a, ld);
    });
}

template bool qr<float>(const LinearAlgebra*);
template bool qr<double>(const LinearAlgebra*);
template bool geqrf<float>(const LinearAlgebra*);
template bool geqrf<double>(const LinearAlgebra*);
template bool reflected<float>(const LinearAlgebra*);
template bool reflected<double>(const LinearAlgebra*);

}  // namespace CLAY_ISA
}  // namespace clay
