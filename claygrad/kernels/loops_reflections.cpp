// Eigenvalues of symmetric matrices and singular values, for stacks of small matrices: reflections make two diagonals, rotations
// the rest of them zeros.
#include "reflections.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

// The first columns of H0 H1 ... into q, m rows: v of each in a row of `vectors`, from its own place on.
template <class T>
void product_of(T* q, int64_t ldq, int64_t m, int64_t columns, const T* vectors, int64_t ldv, const T* tau, int64_t count, int64_t shift) {
    zeros(q, m * ldq);
    for (int64_t i = 0; i < m && i < columns; i++) q[i * ldq + i] = 1;
    for (int64_t k = count - 1; k >= 0; k--) {
        const int64_t at = k + shift;
        reflect(q + at * ldq, ldq, vectors + k * ldv + at, tau[k], m - at, at, columns);
    }
}

// --- rotations -----------------------------------------------------------------------------------------------------------------
// x, y = c x + s y, c y - s x
template <class T> void rotate(T* x, T* y, int64_t length, double c, double s) {
    using V = vec<T>;
    const V cosine = splat<V>(c), sine = splat<V>(s), minus = splat<V>(-s);
    for (int64_t j = 0; j < length; j += LANES<T>) {
        const V first = load<V>(x + j), second = load<V>(y + j);
        store<V>(x + j, multiply_add(sine, second, cosine * first));
        store<V>(y + j, multiply_add(minus, first, cosine * second));
    }
}

struct Rotation {
    double cosine, sine, length;
    Rotation(double f, double g) : cosine(1), sine(0), length(sqrt(f * f + g * g)) {
        if (length > 0) cosine = f / length, sine = g / length;
    }
};

// The power of two by which numbers become not larger than about 1, or 0: they are not all finite.
template <class T> double scale_of(const T* a, int64_t rows, int64_t columns, int64_t ld) {
    double most = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const double size = abs((double)a[i * ld + j]);
            if (!(size <= 1.7976931348623157e308)) return 0;
            most = size > most ? size : most;
        }
    if (most < 1e18 && most > 1e-12) return 1;
    int exponent;
    __builtin_frexp(most, &exponent);
    return most == 0 ? 1 : __builtin_ldexp(1.0, exponent > 1020 ? -1020 : exponent < -1020 ? 1020 : -exponent);
}

template <class T> void scale_by(T* a, int64_t rows, int64_t columns, int64_t ld, double scale) {
    if (scale == 1) return;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) a[i * ld + j] = (T)(a[i * ld + j] * scale);
}

template <class T> constexpr double ROUNDING = sizeof(T) == 4 ? 5.960464477539063e-08 : 1.1102230246251565e-16;
constexpr double NOTHING = 1e-2;         // of the rounding error of the largest: nobody misses it
constexpr int64_t STEPS = 30;            // for each value, at most

double largest_sum(const double* d, const double* e, int64_t n) {
    double most = abs(d[n - 1]);
    for (int64_t i = 0; i + 1 < n; i++) most = abs(d[i]) + abs(e[i]) > most ? abs(d[i]) + abs(e[i]) : most;
    return most;
}

// --- symmetric matrices ----------------------------------------------------------------------------------------------------------
// a to two diagonals d and e; the reflections in `vectors`
template <class T> void two_diagonals(T* a, int64_t ld, int64_t n, double* d, double* e, T* vectors, T* tau, T* w) {
    using V = vec<T>;
    for (int64_t k = 0; k + 1 < n; k++) {
        T* v = vectors + k * ld;
        zeros(v, ld);
        for (int64_t i = k + 1; i < n; i++) v[i] = a[i * ld + k];
        tau[k] = reflection(v + k + 1, n - k - 1);
        e[k] = v[k + 1];
        v[k + 1] = 1;
        d[k] = a[k * ld + k];
        if (tau[k] == 0) continue;
        const int64_t begin = (k + 1) / LANES<T> * LANES<T>;
        T along = 0;
        for (int64_t j = begin; j < n; j += LANES<T>) {
            V sum = splat<V>(0), more = splat<V>(0);
            int64_t i = k + 1;
            for (; i + 2 <= n; i += 2) {
                sum = multiply_add(splat<V>(v[i]), load<V>(a + i * ld + j), sum);
                more = multiply_add(splat<V>(v[i + 1]), load<V>(a + (i + 1) * ld + j), more);
            }
            if (i < n) sum = multiply_add(splat<V>(v[i]), load<V>(a + i * ld + j), sum);
            sum = (sum + more) * splat<V>(tau[k]);
            store<V>(w + j, sum);
            along += first_lane(folded<SumOf>(sum * load<V>(v + j)));
        }
        const V half = splat<V>(-0.5 * tau[k] * along);
        for (int64_t j = begin; j < n; j += LANES<T>) store<V>(w + j, multiply_add(half, load<V>(v + j), load<V>(w + j)));
        for (int64_t i = k + 1; i < n; i++) {
            const V f = splat<V>(-v[i]), g = splat<V>(-w[i]);
            for (int64_t j = begin; j < n; j += LANES<T>)
                store<V>(a + i * ld + j, multiply_add(f, load<V>(w + j), multiply_add(g, load<V>(v + j), load<V>(a + i * ld + j))));
        }
    }
    d[n - 1] = a[(n - 1) * ld + n - 1];
}

// The values of two diagonals, in d; the rows of z turned along with them. False: it did not settle.
template <class T> bool settle_symmetric(double* d, double* e, int64_t n, T* z, int64_t ldz) {
    const double nothing = NOTHING * ROUNDING<T> * largest_sum(d, e, n);
    int64_t steps = 0;
    for (int64_t l = 0; l < n; l++)
        for (;; steps++) {
            int64_t m = l;
            for (; m + 1 < n; m++) {
                const double gap = abs(e[m]);
                if (gap <= ROUNDING<T> * (abs(d[m]) + abs(d[m + 1])) || gap <= nothing) break;
            }
            if (m == l) break;
            if (steps == STEPS * n) return false;
            double g = (d[l + 1] - d[l]) / (2 * e[l]), r = sqrt(g * g + 1);
            g = d[m] - d[l] + e[l] / (g + (g < 0 ? -r : r));
            double s = 1, c = 1, p = 0;
            int64_t i = m - 1;
            for (; i >= l; i--) {
                const double f = s * e[i], b = c * e[i];
                const Rotation turn(g, f);
                e[i + 1] = turn.length;
                if (turn.length == 0) {
                    d[i + 1] -= p;
                    e[m] = 0;
                    break;
                }
                s = turn.sine, c = turn.cosine;
                g = d[i + 1] - p;
                r = (d[i] - g) * s + 2 * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
                if (z) rotate(z + (i + 1) * ldz, z + i * ldz, ldz, c, s);
            }
            if (i >= l) continue;
            d[l] -= p;
            e[l] = g;
            e[m] = 0;
        }
    return true;
}

// Values in order, ascending or descending, and their rows: place[i] is where the i-th of them lies.
void in_order(const double* d, int64_t n, int64_t* place, bool descending) {
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i;
        for (; at > 0 && (descending ? d[place[at - 1]] < d[i] : d[place[at - 1]] > d[i]); at--) place[at] = place[at - 1];
        place[at] = i;
    }
}

// Rows of z, in their order, as the columns of a matrix; or as its rows.
template <class T>
void put_rows(const Matrices& s, int64_t t, const T* z, int64_t ldz, int64_t count, int64_t length, const int64_t* place) {
    for (int64_t i = 0; i < count; i++) {
        const Matrices row{(T*)s.data + i * s.row, s.step, 0, s.column};
        put_out(row, t, 1, length, z + (place ? place[i] : i) * ldz, ldz);
    }
}

// --- two diagonals of any matrix ---------------------------------------------------------------------------------------------------
// m >= n. Left reflections in `left` (rows of length ldl), right ones in `right`.
template <class T>
void upper_diagonals(T* a, int64_t ld, int64_t m, int64_t n, double* d, double* e, T* left, int64_t ldl, T* tau_left, T* right,
                     T* tau_right) {
    using V = vec<T>;
    for (int64_t k = 0; k < n; k++) {
        T* v = left + k * ldl;
        for (int64_t i = k; i < m; i++) v[i] = a[i * ld + k];
        tau_left[k] = reflection(v + k, m - k);
        d[k] = v[k];
        v[k] = 1;
        reflect(a + k * ld, ld, v + k, tau_left[k], m - k, k + 1, n);
        if (k + 1 >= n) continue;
        T* u = right + k * ld;
        zeros(u, ld);
        memcpy(u + k + 1, a + k * ld + k + 1, (size_t)(n - k - 1) * sizeof(T));
        tau_right[k] = reflection(u + k + 1, n - k - 1);
        e[k] = u[k + 1];
        u[k + 1] = 1;
        if (tau_right[k] == 0) continue;
        const int64_t begin = (k + 1) / LANES<T> * LANES<T>;
        for (int64_t i = k + 1; i < m; i++) {
            T* row = a + i * ld;
            V sum = splat<V>(0);
            for (int64_t j = begin; j < n; j += LANES<T>) sum = multiply_add(load<V>(u + j), load<V>(row + j), sum);
            const V by = folded<SumOf>(sum) * splat<V>(-tau_right[k]);
            for (int64_t j = begin; j < n; j += LANES<T>) store<V>(row + j, multiply_add(by, load<V>(u + j), load<V>(row + j)));
        }
    }
}

// The singular values of an upper bidiagonal matrix, in s; rows of u and v (null: none) turned along with them.
template <class T> bool settle_diagonals(double* s, double* e, int64_t n, T* u, int64_t ldu, T* v, int64_t ldv) {
    const double small = ROUNDING<T>, nothing = NOTHING * small * largest_sum(s, e, n);
    auto turn_u = [&](int64_t i, int64_t j, const Rotation& r) { if (u) rotate(u + i * ldu, u + j * ldu, ldu, r.cosine, r.sine); };
    auto turn_v = [&](int64_t i, int64_t j, const Rotation& r) { if (v) rotate(v + i * ldv, v + j * ldv, ldv, r.cosine, r.sine); };
    for (int64_t last = n - 1, steps = 0; last >= 0;) {
        int64_t k = last;                                      // the block that ends at `last` begins at k
        while (k > 0 && abs(e[k - 1]) > small * (abs(s[k - 1]) + abs(s[k])) && abs(e[k - 1]) > nothing) k--;
        if (k > 0) e[k - 1] = 0;
        if (k == last) {
            if (s[last] < 0) {
                s[last] = -s[last];
                if (v)
                    for (int64_t j = 0; j < ldv; j++) v[last * ldv + j] = -v[last * ldv + j];
            }
            last--;
            continue;
        }
        if (steps++ == STEPS * n) return false;
        int64_t zero = last;                                   // a value that is nothing lets the block be cut
        while (zero >= k && abs(s[zero]) > nothing) zero--;
        if (zero == last) {
            double f = e[last - 1];
            e[last - 1] = s[last] = 0;
            for (int64_t j = last - 1; j >= k; j--) {
                const Rotation r(s[j], f);
                s[j] = r.length;
                if (j > k) f = -r.sine * e[j - 1], e[j - 1] *= r.cosine;
                turn_v(j, last, r);
            }
            continue;
        }
        if (zero >= k) {
            double f = e[zero];
            e[zero] = s[zero] = 0;
            for (int64_t j = zero + 1; j <= last; j++) {
                const Rotation r(s[j], f);
                s[j] = r.length;
                if (j < last) f = -r.sine * e[j], e[j] *= r.cosine;
                turn_u(j, zero, r);
            }
            continue;
        }
        const double p = s[last], q = s[last - 1], x = e[last - 1], b = ((q + p) * (q - p) + x * x) / 2, c = p * x * (p * x);
        double shift = 0;
        if (b != 0 || c != 0) shift = c / (b + (b < 0 ? -sqrt(b * b + c) : sqrt(b * b + c)));
        double f = (s[k] + p) * (s[k] - p) + shift, g = s[k] * e[k];
        for (int64_t j = k; j < last; j++) {
            const Rotation right(f, g);
            if (j > k) e[j - 1] = right.length;
            f = right.cosine * s[j] + right.sine * e[j];
            e[j] = right.cosine * e[j] - right.sine * s[j];
            g = right.sine * s[j + 1];
            s[j + 1] *= right.cosine;
            turn_v(j, j + 1, right);
            const Rotation left(f, g);
            s[j] = left.length;
            f = left.cosine * e[j] + left.sine * s[j + 1];
            s[j + 1] = left.cosine * s[j + 1] - left.sine * e[j];
            if (j + 1 < last) g = left.sine * e[j + 1], e[j + 1] *= left.cosine;
            turn_u(j, j + 1, left);
        }
        e[last - 1] = f;
    }
    return true;
}

template <class T> int64_t doubles(int64_t n) { return n * (int64_t)(sizeof(double) / sizeof(T)); }

}  // namespace

// --- kernels -------------------------------------------------------------------------------------------------------------------
template <class T> bool symmetric(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const int64_t n = j.n, ld = row_length<T>(n);
    Matrices in = j.a;
    if (j.upper) in.row = j.a.column, in.column = j.a.row;
    return each_matrix<T>(j.count, 4 * n * n * n + 64 * n, 2 * n * ld + 3 * ld + doubles<T>(3 * n + 8), [&](int64_t t, T* a) {
        double *d = (double*)a, *e = d + n;
        int64_t* place = (int64_t*)(e + n);
        a += doubles<T>((3 * n + 7) / 8 * 8);
        T *vectors = a + n * ld, *tau = vectors + n * ld, *w = tau + ld;
        take_in(in, t, n, n, a, ld);
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = i + 1; k < n; k++) a[i * ld + k] = a[k * ld + i];
        const double scale = scale_of(a, n, n, ld);
        j.info[t] = scale == 0;
        if (scale == 0) return;
        scale_by(a, n, n, ld, scale);
        two_diagonals(a, ld, n, d, e, vectors, tau, w);
        if (j.x.data) {
            product_of(a, ld, n, n, vectors, ld, tau, n - 1, 1);
            transpose(a, ld, vectors, ld, n, n);               // vectors as rows
        }
        j.info[t] = !settle_symmetric<T>(d, e, n, j.x.data ? vectors : nullptr, ld);
        in_order(d, n, place, false);
        for (int64_t i = 0; i < n; i++) place_at<T>(j.y, t)[i] = (T)(d[place[i]] / scale);
        const Matrices turned{j.x.data, j.x.step, j.x.column, j.x.row};
        if (j.x.data) put_rows(turned, t, vectors, ld, n, n, place);
    });
}

template <class T> bool singular(const LinearAlgebra* job) {
    LinearAlgebra j = *job;
    if (j.m < j.n) {                                           // of the transposed matrix, with U and V exchanged
        j.m = job->n, j.n = job->m;
        j.a.row = job->a.column, j.a.column = job->a.row;
        j.x = {job->y.data, job->y.step, job->y.column, job->y.row};
        j.y = {job->x.data, job->x.step, job->x.column, job->x.row};
    }
    // k: columns of U (m by k, all of them or n); V is n by n
    const int64_t m = j.m, n = j.n, k = j.k, ld = row_length<T>(n), ldl = row_length<T>(m), ldu = row_length<T>(k);
    const int64_t size = m * ld + n * ldl + n * ld + m * ldu + k * ldl + 2 * n + doubles<T>(3 * n + 8);
    return each_matrix<T>(j.count, 8 * m * n * n + 64 * n, size, [&](int64_t t, T* a) {
        double *s = (double*)a, *e = s + n;
        int64_t* place = (int64_t*)(e + n);
        a += doubles<T>((3 * n + 7) / 8 * 8);
        T *left = a + m * ld, *right = left + n * ldl, *u = right + n * ld, *rows = u + m * ldu, *tau_left = rows + k * ldl;
        T* tau_right = tau_left + n;
        take_in(j.a, t, m, n, a, ld);
        const double scale = scale_of(a, m, n, ld);
        j.info[t] = scale == 0;
        if (scale == 0) return;
        scale_by(a, m, n, ld, scale);
        upper_diagonals(a, ld, m, n, s, e, left, ldl, tau_left, right, tau_right);
        const bool vectors = j.x.data;
        if (vectors) {
            product_of(a, ld, n, n, right, ld, tau_right, n - 1, 1);
            transpose(a, ld, right, ld, n, n);
            product_of(u, ldu, m, k, left, ldl, tau_left, n, 0);
            transpose(u, ldu, rows, ldl, m, k);
        }
        j.info[t] = !settle_diagonals<T>(s, e, n, vectors ? rows : nullptr, ldl, vectors ? right : nullptr, ld);
        in_order(s, n, place, true);
        for (int64_t i = 0; i < n; i++) place_at<T>(j.b, t)[i] = (T)(s[place[i]] / scale);
        if (!vectors) return;
        const Matrices turned{j.x.data, j.x.step, j.x.column, j.x.row}, beyond{(T*)j.x.data + n * j.x.column, j.x.step, j.x.column, j.x.row};
        put_rows(turned, t, rows, ldl, n, m, place);
        put_rows(beyond, t, rows + n * ldl, ldl, k - n, m, nullptr);
        put_rows(j.y, t, right, ld, n, n, place);
    });
}

template bool symmetric<float>(const LinearAlgebra*);
template bool symmetric<double>(const LinearAlgebra*);
template bool singular<float>(const LinearAlgebra*);
template bool singular<double>(const LinearAlgebra*);

}  // namespace CLAY_ISA
}  // namespace clay
