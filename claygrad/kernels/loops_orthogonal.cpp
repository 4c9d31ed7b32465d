// QR, products with what it makes, and least squares.
#include "reflections.hpp"
#include "triangles.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// R in the place of a, below it whatever; the vectors in rows
template <class T> void triangulate(T* a, int64_t ld, int64_t m, int64_t n, T* v, int64_t ldv, T* tau, T* memory) {
    const int64_t count = m < n ? m : n, step = count >= WORTH ? TOGETHER : count;
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

// The square of the largest singular value of an upper triangle, which is there transposed too, or a little less: some steps of
// the power method.
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

// x with the least |a x - b|, and of those the smallest, by QR of a, or of a transposed if that is the longer one; a must have full
// rank. In y for each matrix: the square of its condition, or up to n times as much, the length of R's inverse standing for the
// smallest singular value (nothing, if `unit`); and what is left of each column of b, squared.
template <class T> bool least(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const bool tall = j.m >= j.n;
    const int64_t m = tall ? j.m : j.n, n = tall ? j.n : j.m, k = j.k, ld = row_length<T>(n), ldv = row_length<T>(m), ldx = row_length<T>(k);
    const int64_t room = n >= WORTH ? room_of<T>(n > k ? n : k) : 0, size = m * (ld + ldx) + n * (ldv + 2 * ld) + 3 * ld + n * n + room;
    const Matrices in = tall ? j.a : Matrices{j.a.data, j.a.step, j.a.column, j.a.row};
    return each_matrix<T>(j.count, 2 * m * n * n, size, [&](int64_t t, T* a) {
        T *x = a + m * ld, *v = x + m * ldx, *lower = v + n * ldv, *inverse = lower + n * ld, *tau = inverse + n * ld;
        T *more = tau + ld, *memory = more + ld, *found = place_at<T>(j.y, t);
        zeros(a, m * (ld + ldx));
        take_in(in, t, m, n, a, ld);
        take_in(j.b, t, tall ? m : n, k, x, ldx);
        j.info[t] = !all_finite(a, ld, m);
        if (j.info[t]) return;
        triangulate(a, ld, m, n, v, ldv, tau, memory);
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
        if (!tall) substitute(lower, ld, x, ldx, n, whole<T>(k), false, false, memory);
        multiply(v, ldv, m, n, tau, x, ldx, k, tall, false, 0, memory);
        if (tall) substitute(a, ld, x, ldx, n, whole<T>(k), true, false, memory);
        for (int64_t c = 0; c < k; c++) {
            double left = 0;
            for (int64_t i = n; i < m; i++) left += (double)x[i * ldx + c] * x[i * ldx + c];
            found[1 + c] = (T)left;
        }
        put_out(j.x, t, j.n, k, x, ldx);
    });
}

template bool qr<float>(const LinearAlgebra*);
template bool qr<double>(const LinearAlgebra*);
template bool geqrf<float>(const LinearAlgebra*);
template bool geqrf<double>(const LinearAlgebra*);
template bool reflected<float>(const LinearAlgebra*);
template bool reflected<double>(const LinearAlgebra*);
template bool least<float>(const LinearAlgebra*);
template bool least<double>(const LinearAlgebra*);

}  // namespace CLAY_ISA
}  // namespace clay
