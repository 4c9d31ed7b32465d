// Eigenvalues of symmetric matrices, and singular values, for batches of small matrices: Householder reflections to tridiagonal or
// bidiagonal form, then Givens rotations.
#include <type_traits>

#include "linalg/householder.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

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

template <class T> void negate(T* x, int64_t length) {
    for (int64_t j = 0; j < length; j++) x[j] = -x[j];
}

struct Rotation {
    double cosine, sine, length;
    Rotation(double f, double g) : cosine(1), sine(0), length(sqrt(f * f + g * g)) {
        if (length > 0) cosine = f / length, sine = g / length;
    }
};

// The power of two that scales the numbers to at most about 1; 0 if they are not all finite.
template <class T> double scale_of(const T* a, int64_t rows, int64_t columns, int64_t ld, double& largest) {
    largest = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const double size = abs((double)a[i * ld + j]);
            if (!(size <= 1.7976931348623157e308)) return 0;
            largest = size > largest ? size : largest;
        }
    if (largest < 1e18 && largest > 1e-12) return 1;
    int exponent;
    __builtin_frexp(largest, &exponent);
    return largest == 0 ? 1 : __builtin_ldexp(1.0, exponent > 1020 ? -1020 : exponent < -1020 ? 1020 : -exponent);
}

template <class T> void scale_by(T* a, int64_t rows, int64_t columns, int64_t ld, double scale) {
    if (scale == 1) return;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) a[i * ld + j] = (T)(a[i * ld + j] * scale);
}

template <class T> constexpr double ROUNDING = sizeof(T) == 4 ? 5.960464477539063e-08 : 1.1102230246251565e-16;
constexpr double NOTHING = 1e-2;         // a fraction of the rounding error of the largest element: negligible
// Elements below this fraction of the matrix's largest count as zero. The columns of a singular matrix shrink towards subnormal
// numbers, which are slow.
template <class T> constexpr double VANISHED = ROUNDING<T> * ROUNDING<T>;
constexpr int64_t STEPS = 30;            // max iterations per value

double largest_sum(const double* d, const double* e, int64_t n) {
    double largest = abs(d[n - 1]);
    for (int64_t i = 0; i + 1 < n; i++) largest = abs(d[i]) + abs(e[i]) > largest ? abs(d[i]) + abs(e[i]) : largest;
    return largest;
}

// --- delayed reflections -------------------------------------------------------------------------------------------------------
// The update by a reflection is delayed until the next one, so that one pass does both: a -= v y^T + x u^T, then out += w a.
template <class T> struct Pass {
    T* a;
    int64_t ld;
    const T *v, *y, *x, *u, *w;
    T *out, *across;

    // R rows. Columns begin..middle also represent those above the diagonal of a symmetric matrix: across = a w.
    template <int R> void rows(int64_t i, int64_t begin, int64_t middle, int64_t end) const {
        using V = vec<T>;
        V of_v[R], of_x[R], of_w[R], sum[R];
        for (int r = 0; r < R; r++)
            of_v[r] = splat<V>(-v[i + r]), of_x[r] = splat<V>(-x[i + r]), of_w[r] = splat<V>(w[i + r]), sum[r] = splat<V>(0);
        const auto column = [&](int64_t j, auto both) {
            const V yj = load<V>(y + j), uj = load<V>(u + j), wj = both ? load<V>(w + j) : yj;
            V found = load<V>(out + j);
            for (int r = 0; r < R; r++) {
                T* at = a + (i + r) * ld + j;
                const V new_one = multiply_add(of_v[r], yj, multiply_add(of_x[r], uj, load<V>(at)));
                store<V>(at, new_one);
                found = multiply_add(of_w[r], new_one, found);
                if (both) sum[r] = multiply_add(new_one, wj, sum[r]);
            }
            store<V>(out + j, found);
        };
        int64_t j = begin;
        for (; j < middle; j += LANES<T>) column(j, std::true_type());
        for (; j < end; j += LANES<T>) column(j, std::false_type());
        for (int r = 0; r < R; r++) across[i + r] = first_lane(folded<SumOf>(sum[r]));
    }
};

// --- symmetric matrices ----------------------------------------------------------------------------------------------------------
constexpr int64_t TILE = 16;             // diagonal tiles are stored whole, otherwise only the lower half

// Tridiagonal form of a: diagonals d and e; the reflections go to `vectors`. Scratch: 3 rows
template <class T> void two_diagonals(T* a, int64_t ld, int64_t n, double* d, double* e, T* vectors, T* tau, double nothing, T* memory) {
    using V = vec<T>;
    T *w = zeros(memory, ld), *y = w + ld, *across = y + ld;
    const T* v = w;
    bool waiting = false;
    for (int64_t k = 0; k < n; k++) {
        T* u = zeros(vectors + k * ld, ld);
        for (int64_t i = k; i < n; i++) u[i] = a[i * ld + k] - v[i] * w[k] - w[i] * v[k];
        d[k] = u[k];
        u[k] = 0;
        if (k + 1 == n) return;
        tau[k] = reflection(u + k + 1, n - k - 1, nothing);
        e[k] = u[k + 1];
        u[k + 1] = 1;
        zeros(y, ld);
        if (waiting || tau[k] != 0) {
            const int64_t begin = (k + 1) / LANES<T> * LANES<T>;
            const Pass<T> pass{a, ld, v, w, w, v, u, y, across};
            const auto end = [&](int64_t i) { return i / TILE * TILE + TILE < ld ? i / TILE * TILE + TILE : ld; };
            int64_t i = (k + 1) / 4 * 4;
            for (; i + 4 <= n; i += 4) pass.template rows<4>(i, begin, i / TILE * TILE, end(i));
            for (; i < n; i++) pass.template rows<1>(i, begin, i / TILE * TILE, end(i));
            for (i = k + 1; i < n; i++) y[i] = tau[k] * (y[i] + across[i]);
            zeros(y + begin, k + 1 - begin);
            T along;
            dots<1>(y, ld, u, begin, n, &along);
            const V half = splat<V>(T(-0.5) * tau[k] * along);
            for (int64_t j = begin; j < n; j += LANES<T>) store<V>(y + j, multiply_add(half, load<V>(u + j), load<V>(y + j)));
        }
        waiting = tau[k] != 0;
        T* const kept = w;
        v = u, w = y, y = kept;
    }
}

// The last row of the unreduced tridiagonal block that begins at l
template <class T> int64_t block_end(const double* d, const double* squares, int64_t n, int64_t l, double nothing) {
    for (; l + 1 < n; l++) {
        const double large = ROUNDING<T> * (abs(d[l]) + abs(d[l + 1])), limit = large > nothing ? large : nothing;
        if (squares[l] <= limit * limit) break;
    }
    return l;
}

// Eigenvalues of a tridiagonal matrix, in d; the same rotations are applied to the rows of z (null: none). False: no convergence. Works
// with squares of e, cosines and sines (Pal, Walker and Kahan), so that no square root is on the critical path. All e are taken as
// positive.
template <class T> bool settle_symmetric(double* d, double* e, int64_t n, T* z, int64_t ldz) {
    const double nothing = NOTHING * ROUNDING<T> * largest_sum(d, e, n);
    for (int64_t i = 0; i + 1 < n; i++) e[i] *= e[i];
    int64_t steps = 0;
    for (int64_t l = 0; l < n; l++)
        for (;; steps++) {
            const int64_t m = block_end<T>(d, e, n, l, nothing);
            if (m == l) break;
            if (steps == STEPS * n) return false;
            const double side = sqrt(e[l]), g = (d[l + 1] - d[l]) / (2 * side), root = sqrt(g * g + 1);
            const double shift = d[l] - side / (g + (g < 0 ? -root : root));
            // The number x above which e stands: p is its square, gamma the next one times the cosine.
            double c = 1, s = 0, gamma = d[m] - shift, p = gamma * gamma;
            bool minus = gamma < 0, minus_before = false;
            for (int64_t i = m - 1; i >= l; i--) {
                const double square = e[i], r = p + square, inverse = r / p, before = c, old = gamma;
                if (i + 1 < m) e[i + 1] = s * r;
                c = p / r;
                s = square / r;
                if (z) rotate(z + (i + 1) * ldz, z + i * ldz, ldz, minus ? -sqrt(c) : sqrt(c), sqrt(s));
                gamma = c * (d[i] - shift) - s * old;
                d[i + 1] = old + (d[i] - gamma);
                const bool ordinary = inverse < 1e200, next = ordinary ? minus != (gamma < 0) : !minus_before;
                p = ordinary ? gamma * gamma * inverse : before * square;              // gamma^2 / c, or what it tends to
                minus_before = minus;
                minus = next;
            }
            if (z && minus) negate(z + l * ldz, ldz);
            e[l] = s * p;
            d[l] = shift + gamma;
        }
    return true;
}

// Sorts the values, ascending or descending: place[i] is the index of the i-th.
void as_contiguous(const double* d, int64_t n, int64_t* place, bool descending) {
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i;
        for (; at > 0 && (descending ? d[place[at - 1]] < d[i] : d[place[at - 1]] > d[i]); at--) place[at] = place[at - 1];
        place[at] = i;
    }
}

// The sorted rows of z as columns of a matrix, or as its rows.
template <class T>
void put_rows(const Matrices& s, int64_t t, const T* z, int64_t ldz, int64_t count, int64_t length, const int64_t* place) {
    for (int64_t i = 0; i < count; i++) {
        const Matrices row{(T*)s.data + i * s.row, s.step, 0, s.column};
        put_out(row, t, 1, length, z + (place ? place[i] : i) * ldz, ldz);
    }
}

// --- bidiagonal form of any matrix ---------------------------------------------------------------------------------------------------
// m >= n. Left reflections go to `left` (rows of length ldl), right ones to `right`. Scratch: 2 rows of each
template <class T>
void upper_diagonals(T* a, int64_t ld, int64_t m, int64_t n, double* d, double* e, T* left, int64_t ldl, T* tau_left, T* right,
                     T* tau_right, double nothing, T* memory) {
    T *y = zeros(memory, 2 * (ld + ldl)), *x = y + ld, *next_y = x + ldl, *next_x = next_y + ld;
    const T *v = x, *u = y;
    bool waiting = false;
    for (int64_t k = 0; k < n; k++) {
        T* w = zeros(left + k * ldl, ldl);
        for (int64_t i = k; i < m; i++) w[i] = a[i * ld + k] - v[i] * y[k] - x[i] * u[k];
        tau_left[k] = reflection(w + k, m - k, nothing);
        d[k] = w[k];
        w[k] = 1;
        if (k + 1 == n) return;
        const int64_t begin = (k + 1) / LANES<T> * LANES<T>;
        zeros(next_y, ld);
        if (waiting || tau_left[k] != 0) {
            const Pass<T> pass{a, ld, v, y, x, u, w, next_y, next_x};
            int64_t i = k / 4 * 4;
            for (; i + 4 <= m; i += 4) pass.template rows<4>(i, begin, begin, ld);
            for (; i < m; i++) pass.template rows<1>(i, begin, begin, ld);
            zeros(next_y + begin, k + 1 - begin);
            for (int64_t j = k + 1; j < n; j++) next_y[j] *= tau_left[k];
        }
        T* z = zeros(right + k * ld, ld);
        for (int64_t j = k + 1; j < n; j++) z[j] = a[k * ld + j] - next_y[j];
        tau_right[k] = reflection(z + k + 1, n - k - 1, nothing);
        e[k] = z[k + 1];
        z[k + 1] = 1;
        zeros(next_x, ldl);
        if (tau_right[k] != 0) {
            T along;
            dots<1>(next_y, ld, z, begin, n, &along);
            int64_t i = k + 1;
            for (; i + 4 <= m; i += 4) dots<4>(a + i * ld, ld, z, begin, n, next_x + i);
            for (; i < m; i++) dots<1>(a + i * ld, ld, z, begin, n, next_x + i);
            for (i = k + 1; i < m; i++) next_x[i] = tau_right[k] * (next_x[i] - w[i] * along);
        }
        waiting = tau_left[k] != 0 || tau_right[k] != 0;
        T *const kept_y = y, *const kept_x = x;
        v = w, u = z, y = next_y, x = next_x, next_y = kept_y, next_x = kept_x;
    }
}

// Singular values of an upper bidiagonal matrix, in s; the rotations are applied to the rows of u and v (null: none).
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
                if (v) negate(v + last * ldv, ldv);
            }
            last--;
            continue;
        }
        if (steps++ == STEPS * n) return false;
        int64_t zero = last;                                   // a negligible value splits the block
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
    const int64_t size = 2 * n * ld + 4 * ld + doubles<T>(3 * n + 8) + (n >= WORTH ? room_of<T>(n) : 0);
    return each_matrix<T>(j.count, 4 * n * n * n + 64 * n, size, [&](int64_t t, T* a) {
        double *d = (double*)a, *e = d + n;
        int64_t* place = (int64_t*)(e + n);
        a += doubles<T>((3 * n + 7) / 8 * 8);
        T *vectors = a + n * ld, *tau = vectors + n * ld, *memory = tau + ld;
        take_in(in, t, n, n, a, ld);
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = i + 1; k < n; k++) a[i * ld + k] = a[k * ld + i];
        double largest;
        const double scale = scale_of(a, n, n, ld, largest);
        j.info[t] = scale == 0;
        if (scale == 0) return;
        scale_by(a, n, n, ld, scale);
        two_diagonals(a, ld, n, d, e, vectors, tau, VANISHED<T> * largest * scale, memory);
        if (j.x.data) {
            product_of(a, ld, n, n, vectors, ld, tau, n - 1, 1, memory);
            transpose(a, ld, vectors, ld, n, n);               // vectors as rows
            bool minus = false;
            for (int64_t i = 1; i < n; i++)                    // flip signs so that all of e is positive
                if (minus = minus != (e[i - 1] < 0); minus) negate(vectors + i * ld, ld);
        }
        j.info[t] = !settle_symmetric<T>(d, e, n, j.x.data ? vectors : nullptr, ld);
        as_contiguous(d, n, place, false);
        for (int64_t i = 0; i < n; i++) place_at<T>(j.y, t)[i] = (T)(d[place[i]] / scale);
        const Matrices transposed{j.x.data, j.x.step, j.x.column, j.x.row};
        if (j.x.data) put_rows(transposed, t, vectors, ld, n, n, place);
    });
}

template <class T> bool singular(const LinearAlgebra* job) {
    LinearAlgebra j = *job;
    if (j.m < j.n) {                                           // factor the transposed matrix and swap U and V
        j.m = job->n, j.n = job->m;
        j.a.row = job->a.column, j.a.column = job->a.row;
        j.x = {job->y.data, job->y.step, job->y.column, job->y.row};
        j.y = {job->x.data, job->x.step, job->x.column, job->x.row};
    }
    // k: columns of U (m or n); V is n by n. A tall matrix is reduced to R first, with h rows instead of m.
    const bool tall = j.m >= 2 * j.n && j.k == j.n;
    const int64_t m = j.m, n = j.n, k = j.k, h = tall ? n : m, ld = row_length<T>(n), ldm = row_length<T>(m), ldl = row_length<T>(h);
    const int64_t ldu = row_length<T>(k), room = 2 * (ld + ldl) + room_for<T>(n, k);
    const int64_t matrices = h * (ld + ldu) + n * (ldl + ld) + k * ldl + (tall ? 2 * n * ldm : 0);
    const int64_t size = doubles<T>(3 * n + 8) + matrices + 3 * ld + room;
    return each_matrix<T>(j.count, 8 * m * n * n + 64 * n, size, [&](int64_t t, T* a) {
        double *s = (double*)a, *e = s + n, largest, scale;
        int64_t* place = (int64_t*)(e + n);
        a += doubles<T>((3 * n + 7) / 8 * 8);
        T *left = a + h * ld, *right = left + n * ldl, *u = right + n * ld, *rows = u + h * ldu, *tau_left = rows + k * ldl;
        T *tau_right = tau_left + ld, *tau = tau_right + ld, *memory = tau + ld, *v = memory + room, *longer = v + n * ldm;
        const auto scaled = [&](T* x, int64_t lines, int64_t length, int64_t step) {
            scale = scale_of(x, lines, length, step, largest);
            scale_by(x, lines, length, step, scale == 0 ? 1 : scale);
            return j.info[t] = scale == 0, scale != 0;
        };
        if (tall) {
            take_in(transposed(j.a), t, n, m, v, ldm);
            if (!scaled(v, n, m, ldm)) return;
            triangulate(v, ldm, m, n, a, ld, tau, memory);
            for (int64_t i = 1; i < n; i++) zeros(a + i * ld, i);
            for (int64_t i = 0; i < n; i++) zeros(a + i * ld + n, ld - n);
        } else {
            take_in(j.a, t, m, n, a, ld);
            if (!scaled(a, m, n, ld)) return;
        }
        upper_diagonals(a, ld, h, n, s, e, left, ldl, tau_left, right, tau_right, VANISHED<T> * largest * scale, memory);
        const bool vectors = j.x.data;
        if (vectors) {
            product_of(a, ld, n, n, right, ld, tau_right, n - 1, 1, memory);
            transpose(a, ld, right, ld, n, n);
            product_of(u, ldu, h, k, left, ldl, tau_left, n, 0, memory);
            transpose(u, ldu, rows, ldl, h, k);
        }
        j.info[t] = !settle_diagonals<T>(s, e, n, vectors ? rows : nullptr, ldl, vectors ? right : nullptr, ld);
        as_contiguous(s, n, place, true);
        for (int64_t i = 0; i < n; i++) place_at<T>(j.b, t)[i] = (T)(s[place[i]] / scale);
        if (!vectors) return;
        const Matrices U = transposed(j.x), beyond{(T*)j.x.data + n * j.x.column, j.x.step, j.x.column, j.x.row};
        put_rows(j.y, t, right, ld, n, n, place);
        if (tall) {
            zeros(longer, n * ldm);
            for (int64_t i = 0; i < n; i++) memcpy(longer + i * ldm, rows + i * ldl, (size_t)n * sizeof(T));
            multiply_rows(longer, ldm, n, v, ldm, m, n, tau, true, false, memory);
            return put_rows(U, t, longer, ldm, n, m, place);
        }
        put_rows(U, t, rows, ldl, n, m, place);
        put_rows(beyond, t, rows + n * ldl, ldl, k - n, m, nullptr);
    });
}

template bool symmetric<float>(const LinearAlgebra*);
template bool symmetric<double>(const LinearAlgebra*);
template bool singular<float>(const LinearAlgebra*);
template bool singular<double>(const LinearAlgebra*);

}  // namespace CLAY_ISA
}  // namespace clay
