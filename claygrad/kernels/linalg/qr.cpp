// QR, products with its reflections, and least squares.
#include "linalg/householder.hpp"
#include "linalg/triangular.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

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
    const int64_t m = j.m, n = j.n, count = m < n ? m : n, ld = row_length<T>(n), ldv = row_length<T>(m);
    const int64_t size = (n + j.k) * ldv + j.k * ld + row_length<T>(count) + room_for<T>(count, n > j.k ? n : j.k);
    return each_matrix<T>(j.count, m * n * count * 2, size, [&](int64_t t, T* v) {
        T *q = v + n * ldv, *a = q + j.k * ldv, *tau = a + j.k * ld, *memory = tau + row_length<T>(count);
        take_in(transposed(j.a), t, n, m, v, ldv);
        triangulate(v, ldv, m, n, a, ld, tau, memory);
        for (int64_t i = 1; i < j.k; i++) zeros(a + i * ld, i < count ? i : n);
        put_out(j.y, t, j.k, n, a, ld);
        if (!j.x.data) return;
        zeros(q, j.k * ldv);
        for (int64_t i = 0; i < j.k; i++) q[i * ldv + i] = 1;
        multiply_rows(q, ldv, j.k, v, ldv, m, count, tau, true, true, memory);
        put_out(transposed(j.x), t, j.k, m, q, ldv);
    });
}

// geqrf: R, with the reflection vectors below it
template <class T> bool geqrf(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const int64_t m = j.m, n = j.n, count = m < n ? m : n, ld = row_length<T>(n), ldv = row_length<T>(m);
    const int64_t size = n * ldv + count * ld + row_length<T>(count) + room_for<T>(count, n);
    return each_matrix<T>(j.count, m * n * count, size, [&](int64_t t, T* v) {
        T *a = v + n * ldv, *tau = a + count * ld;
        zeros(v, n * ldv);
        take_in(transposed(j.a), t, n, m, v, ldv);
        j.info[t] = !all_finite(v, ldv, n);
        if (j.info[t]) return;
        triangulate(v, ldv, m, n, a, ld, tau, tau + row_length<T>(count));
        for (int64_t i = 0; i < count; i++)
            for (int64_t c = i; c < n; c++) v[c * ldv + i] = a[i * ld + c];
        put_out(transposed(j.x), t, n, m, v, ldv);
        memcpy(place_at<T>(j.y, t), tau, (size_t)count * sizeof(T));
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

// The squared largest singular value of an upper triangle (given together with its transpose), or a little less: a few steps of the
// power method.
template <class T> double largest_square(const T* upper, const T* lower, int64_t ld, int64_t n, T* x, T* y) {
    double square = 0, length = 0;
    for (int64_t i = 0; i < n; i++) x[i] = 1 + (T)(i % 7) / 4, length += (double)x[i] * x[i];
    for (int step = 0; step < 8; step++) {
        zeros(y, n);
        for (int64_t i = 0; i < n; i++) x[i] = (T)(x[i] / sqrt(length));
        for (int64_t c = 0; c < n; c++)
            for (int64_t i = 0; i <= c; i++) y[i] += x[c] * lower[c * ld + i];
        zeros(x, n);
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = i; c < n; c++) x[c] += y[i] * upper[i * ld + c];
        length = 0;
        for (int64_t i = 0; i < n; i++) length += (double)x[i] * x[i];
        square = sqrt(length);
    }
    return square;
}

// lstsq: the x that minimises |a x - b|, with the smallest norm, by QR of a or of its transpose, whichever is taller; a must have full
// rank. In y for each matrix: the squared condition number or up to n times as much, from the norm of R's inverse (not if `unit`);
// and the squared residual of each column of b.
template <class T> bool least_squares(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const bool tall = j.m >= j.n;
    const int64_t m = tall ? j.m : j.n, n = tall ? j.n : j.m, k = j.k;
    const int64_t ld = row_length<T>(n), ldv = row_length<T>(m), ldx = row_length<T>(k);
    const int64_t size = (n + k) * ldv + n * (3 * ld + ldx) + 2 * ld + n * n + room_for<T>(n, n > k ? n : k);
    return each_matrix<T>(j.count, 2 * m * n * n, size, [&](int64_t t, T* v) {
        T *rows = v + n * ldv, *a = rows + k * ldv, *lower = a + n * ld, *inverse = lower + n * ld, *x = inverse + n * ld;
        T *tau = x + n * ldx, *more = tau + ld, *memory = more + ld, *found = place_at<T>(j.y, t);
        zeros(v, (n + k) * ldv);
        take_in(tall ? transposed(j.a) : j.a, t, n, m, v, ldv);
        j.info[t] = !all_finite(v, ldv, n);
        if (j.info[t]) return;
        triangulate(v, ldv, m, n, a, ld, tau, memory);
        for (int64_t i = 0; i < n; i++)
            if (a[i * ld + i] == 0) return (void)(j.info[t] = 1);
        transpose(a, ld, lower, ld, n, n);
        if (!j.unit) {
            double of_inverse = 0;
            identity(inverse, ld, n);
            invert_lower(lower, ld, inverse, ld, n, false, memory);
            for (int64_t i = 0; i < n; i++)
                for (int64_t c = 0; c <= i; c++) of_inverse += (double)inverse[i * ld + c] * inverse[i * ld + c];
            found[0] = (T)(largest_square(a, lower, ld, n, more, memory) * of_inverse);
        }
        if (tall) {                                            // R x = Q^T b
            take_in(transposed(j.b), t, k, m, rows, ldv);
            multiply_rows(rows, ldv, k, v, ldv, m, n, tau, false, false, memory);
            const Matrices upper{rows, 0, 1, ldv};
            take_in(upper, 0, n, k, x, ldx);
            substitute(a, ld, x, ldx, n, whole<T>(k), true, false, memory);
            put_out(j.x, t, n, k, x, ldx);
            for (int64_t c = 0; c < k; c++) {
                double left = 0;
                for (int64_t i = n; i < m; i++) left += (double)rows[c * ldv + i] * rows[c * ldv + i];
                found[1 + c] = (T)left;
            }
        } else {                                               // x = Q y, R^T y = b
            take_in(j.b, t, n, k, x, ldx);
            substitute(lower, ld, x, ldx, n, whole<T>(k), false, false, memory);
            transpose(x, ldx, rows, ldv, n, k);
            multiply_rows(rows, ldv, k, v, ldv, m, n, tau, true, false, memory);
            put_out(transposed(j.x), t, k, m, rows, ldv);
        }
    });
}

template bool qr<float>(const LinearAlgebra*);
template bool qr<double>(const LinearAlgebra*);
template bool geqrf<float>(const LinearAlgebra*);
template bool geqrf<double>(const LinearAlgebra*);
template bool reflected<float>(const LinearAlgebra*);
template bool reflected<double>(const LinearAlgebra*);
template bool least_squares<float>(const LinearAlgebra*);
template bool least_squares<double>(const LinearAlgebra*);

}  // namespace CLAY_ISA
}  // namespace clay
