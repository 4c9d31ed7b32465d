// QR, and products with what it makes.
#include "reflections.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

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
        product_of(q, ldq, m, j.k, v, ldv, tau, count, 0, memory);
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
        multiply(v, ldv, m, count, tau, a, ld, n, j.upper, !j.b.data, 0, tau + row_length<T>(count));
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
