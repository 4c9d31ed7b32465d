// LU with row exchanges, Cholesky and triangular systems, for batches of matrices: loops over rows that stay in the cache, joined by
// matrix products for large matrices.
#include "linalg/interleaved.hpp"
#include "platform/table.hpp"
#include "platform/api.hpp"
#include "linalg/small_matrix.hpp"
#include "linalg/triangular.hpp"
#include "simd/math.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> void exchange(T* x, T* y, int64_t length) {
    using V = vec<T>;
    for (int64_t j = 0; j < length; j += LANES<T>) {
        const V kept = load<V>(x + j);
        store<V>(x + j, load<V>(y + j));
        store<V>(y + j, kept);
    }
}

// R rows, ld apart: each minus its factor times the pivot row, from a column on.
template <int R, class T> inline void subtract_rows(T* rows, int64_t ld, const T* head, const T* f, int64_t from, int64_t length) {
    using V = vec<T>;
    V by[R];
    for (int r = 0; r < R; r++) by[r] = splat<V>(-f[r]);
    int64_t j = from / LANES<T> * LANES<T>;
    if (j < from) {
        const V x = load<V>(head + j);
        for (int r = 0; r < R; r++) {
            const V old = load<V>(rows + r * ld + j);
            store<V>(rows + r * ld + j, part(old, from - j, multiply_add(by[r], x, old)));
        }
        j += LANES<T>;
    }
    for (; j < length; j += LANES<T>) {
        const V x = load<V>(head + j);
        for (int r = 0; r < R; r++) store<V>(rows + r * ld + j, multiply_add(by[r], x, load<V>(rows + r * ld + j)));
    }
}

// --- LU ------------------------------------------------------------------------------------------------------------------
template <class T> struct Factors {
    T* a;
    int64_t ld, m;
    int32_t* pivots;                     // null: no row exchanges
    int32_t zero;                        // the first zero pivot, from 1
    T* memory;

    // Factors columns from..to and updates the columns up to `length`.
    void panel(int64_t from, int64_t to, int64_t length) {
        for (int64_t j = from; j < to; j++) {
            T* head = a + j * ld;
            if (pivots) {
                int64_t at = j;
                T largest = abs(head[j]);
                for (int64_t i = j + 1; i < m; i++) {
                    const T size = abs(a[i * ld + j]);
                    if (size > largest) largest = size, at = i;
                }
                pivots[j] = (int32_t)(at + 1);
                if (at != j) exchange(head, a + at * ld, ld);
            }
            const T pivot = head[j];
            if (pivot == 0) {
                if (!zero) zero = (int32_t)(j + 1);
                if (pivots) continue;
            }
            // Division, not multiplication by the inverse: equal rows must give exact zeros.
            auto factor = [&](int64_t i) {
                T& f = a[i * ld + j];
                return pivot == 0 ? f : f /= pivot;
            };
            int64_t i = j + 1;
            for (; i + 4 <= m; i += 4) {
                const T f[4] = {factor(i), factor(i + 1), factor(i + 2), factor(i + 3)};
                subtract_rows<4>(a + i * ld, ld, head, f, j + 1, length);
            }
            for (; i < m; i++) {
                const T f = factor(i);
                subtract_rows<1>(a + i * ld, ld, head, &f, j + 1, length);
            }
        }
    }

    void columns(int64_t from, int64_t to) {
        if (to - from <= BLOCK) return panel(from, to < m ? to : m, to);
        const int64_t middle = from + (to - from + 1) / 2 / BLOCK * BLOCK + ((to - from + 1) / 2 < BLOCK ? BLOCK : 0);
        columns(from, middle);
        substitute(a + from * ld + from, ld, a + from * ld + middle, ld, (middle < m ? middle : m) - from, whole<T>(to - middle), false,
                   true, memory);
        if (middle >= m) return;                               // no more rows: the matrix is wide
        subtract_product(m - middle, to - middle, middle - from, a + middle * ld + from, ld, a + from * ld + middle, ld, false,
                         a + middle * ld + middle, ld, memory);
        columns(middle, to);
    }

};

template <class T> int32_t factored(T* a, int64_t ld, int64_t m, int64_t n, int32_t* pivots, T* memory) {
    Factors<T> f{a, ld, m, pivots, 0, memory};
    f.columns(0, n);
    return f.zero;
}

// Scratch for a product of parts of an m x n matrix
int64_t copy_size(int64_t m, int64_t n) { return m > BLOCK || n > BLOCK ? m * n : 0; }

// --- kernels ----------------------------------------------------------------------------------------------------------------
template <class T> bool lu(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const int64_t ld = row_length<T>(j.n), k = j.m < j.n ? j.m : j.n;
    if (fits_interleaved<T>(j) && j.pivots)
        return each_interleaved<T>(j, [&](int64_t t, int64_t size, const Interleaved<T>& s, T* memory) {
            store_interleaved(j.x, t, size, k, k, s.a, memory);
            for (int64_t i = 0; i < k; i++) {
                store<vec<T>>(memory, s.pivots[i]);
                for (int64_t l = 0; l < size; l++) j.pivots[(t + l) * k + i] = (int32_t)memory[l] + 1;
            }
        });
    return each_matrix<T>(j.count, j.m * j.n * k / 3, j.m * ld + copy_size(j.m, j.n), [&](int64_t t, T* a) {
        take_in(j.a, t, j.m, j.n, a, ld);
        j.info[t] = factored(a, ld, j.m, j.n, j.pivots ? j.pivots + t * k : nullptr, a + j.m * ld);
        put_out(j.x, t, j.m, j.n, a, ld);
    });
}

// Transposes matrix t.
template <class T>
void put_rows_of(const Matrices& a, int64_t t, int64_t from, int64_t rows, int64_t column, int64_t end, T* to, int64_t ld) {
    const T* at = matrix_at<T>(a, t) + from * a.row + column * a.column;
    if (a.row == 1) return transpose(at, a.column, to, ld, end - column, rows);
    for (int64_t i = 0; i < rows; i++)
        if (a.column == 1) memcpy(to + i * ld, at + i * a.row, (size_t)(end - column) * sizeof(T));
        else
            for (int64_t c = 0; c < end - column; c++) to[i * ld + c] = at[i * a.row + c * a.column];
}

// lu_unpack: P (if there are pivots), L and U as row-major matrices
template <class T> bool parts(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const int64_t m = j.m, n = j.n, k = m < n ? m : n;
    return each_matrix<T>(j.count, m * (m + n), m, [&](int64_t t, T* memory) {
        T *L = place_at<T>(j.y, t), *U = place_at<T>(j.b, t);
        for (int64_t i = 0; i < m; i += LANES<T>) {            // some rows of both, transposed if they are stored by columns
            const int64_t rows = m - i < LANES<T> ? m - i : LANES<T>, below = i + rows < k ? i + rows : k;
            put_rows_of(j.a, t, i, rows, 0, below, L + i * k, k);
            if (i < k) put_rows_of(j.a, t, i, below - i, i, n, U + i * n + i, n);
        }
        for (int64_t i = 0; i < m; i++) {
            for (int64_t c = i; c < k; c++) L[i * k + c] = (T)(i == c);
            if (i < k) memset(U + i * n, 0, (size_t)i * sizeof(T));
        }
        if (!j.pivots) return;
        int32_t* order = (int32_t*)memory;                     // the row of A in each row of P^T A
        T* P = place_at<T>(j.x, t);
        memset(P, 0, (size_t)(m * m) * sizeof(T));
        for (int64_t i = 0; i < m; i++) order[i] = (int32_t)i;
        j.info[t] = 0;
        for (int64_t i = 0; i < k; i++) {
            const int32_t at = j.pivots[t * k + i] - 1, kept = order[i];
            if (at < 0 || at >= m) return (void)(j.info[t] = 1);
            order[i] = order[at];
            order[at] = kept;
        }
        for (int64_t i = 0; i < m; i++) P[order[i] * m + i] = 1;
    });
}

template <class T> bool exchange_rows(T* x, int64_t ldx, int64_t n, const int32_t* pivots, bool backwards) {
    for (int64_t s = 0; s < n; s++) {
        const int64_t i = backwards ? n - 1 - s : s, at = pivots[i] - 1;
        if (at < 0 || at >= n) return false;
        if (at == i) continue;
        if (ldx > 1) {
            exchange(x + i * ldx, x + at * ldx, ldx);
            continue;
        }
        const T kept = x[i];
        x[i] = x[at], x[at] = kept;
    }
    return true;
}

template <class T> bool solve(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const int64_t n = j.n, k = j.k, ld = row_length<T>(n), length = whole<T>(k);
    const bool alone = k == 1;                                 // one right-hand side
    const int64_t ldx = alone ? 1 : row_length<T>(k);
    if (fits_interleaved<T>(j))
        return each_interleaved<T>(j, [&](int64_t t, int64_t size, const Interleaved<T>& s, T* memory) {
            Cells<T> x;
            load_interleaved(j.b, t, size, n, k, x, memory);
            s.solve(x, k);
            store_interleaved(j.x, t, size, n, k, x, memory);
        });
    return each_matrix<T>(j.count, n * n * (n / 3 + k), n * (ld + ldx) + copy_size(n, n) + n, [&](int64_t t, T* a) {
        T *x = a + n * ld, *memory = x + n * ldx;
        int32_t* pivots = (int32_t*)(memory + copy_size(n, n));
        take_in(j.a, t, n, n, a, ld);
        j.info[t] = factored(a, ld, n, n, pivots, memory);
        if (!alone) {
            take_in(j.b, t, n, k, x, ldx);
            exchange_rows(x, ldx, n, pivots, false);
            substitute(a, ld, x, ldx, n, length, false, true, memory);
            substitute(a, ld, x, ldx, n, length, true, false, memory);
            return put_out(j.x, t, n, k, x, ldx);
        }
        for (int64_t i = 0; i < n; i++) x[i] = matrix_at<T>(j.b, t)[i * j.b.row];
        exchange_rows(x, 1, n, pivots, false);
        find_unknowns(Triangle<T>{a, n, ld, 1, false, true}, x);
        find_unknowns(Triangle<T>{a, n, ld, 1, true, false}, x);
        for (int64_t i = 0; i < n; i++) place_at<T>(j.x, t)[i * j.x.row] = x[i];
    });
}

// U^-1 L^-1 with the columns permuted like the rows; x is stored by columns
template <class T> bool inverse(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const int64_t n = j.n, ld = row_length<T>(n);
    if (fits_interleaved<T>(j))
        return each_interleaved<T>(j, [&](int64_t t, int64_t size, const Interleaved<T>& s, T* memory) {
            Cells<T> x;
            for (int64_t i = 0; i < n; i++)
                for (int64_t c = 0; c < n; c++) x[i][c] = splat<vec<T>>((T)(i == c));
            s.solve(x, n);
            store_interleaved(j.x, t, size, n, n, x, memory);
        });
    return each_matrix<T>(j.count, n * n * n, 2 * n * ld + copy_size(n, n) + LANES<T> * ld + 2 * n, [&](int64_t t, T* a) {
        T *x = a + n * ld, *transposed = x + n * ld, *memory = transposed + LANES<T> * ld;
        int32_t *pivots = (int32_t*)(memory + copy_size(n, n)), *order = pivots + n;
        take_in(j.a, t, n, n, a, ld);
        j.info[t] = factored(a, ld, n, n, pivots, memory);
        identity(x, ld, n);
        invert_lower(a, ld, x, ld, n, true, memory);
        substitute(a, ld, x, ld, n, whole<T>(n), true, false, memory);
        for (int64_t i = 0; i < n; i++) order[i] = (int32_t)i;
        for (int64_t i = 0; i < n; i++) {
            const int32_t at = pivots[i] - 1, kept = order[i];
            order[i] = order[at], order[at] = kept;
        }
        T* out = place_at<T>(j.x, t);
        for (int64_t c = 0; c < n; c += LANES<T>) {
            const int64_t columns = n - c < LANES<T> ? n - c : LANES<T>;
            transpose(x + c, ld, transposed, ld, n, columns);
            for (int64_t i = 0; i < columns; i++) memcpy(out + order[c + i] * j.x.column, transposed + i * ld, (size_t)n * sizeof(T));
        }
    });
}

// take(t, the sign of the exchanges, U, the elements from one of its rows to the next)
template <class T, class F> bool each_diagonal(const LinearAlgebra& j, F take) {
    const int64_t n = j.n, ld = row_length<T>(n);
    if (fits_interleaved<T>(j))
        return each_interleaved<T>(j, [&](int64_t t, int64_t size, const Interleaved<T>& s, T* memory) {
            store<vec<T>>(memory, s.sign);
            for (int64_t i = 0; i < n; i++) store<vec<T>>(memory + (1 + i) * LANES<T>, s.a[i][i]);
            for (int64_t l = 0; l < size; l++) take(t + l, memory[l], memory + LANES<T> + l, LANES<T> - 1);
        });
    return each_matrix<T>(j.count, n * n * n / 3, n * ld + copy_size(n, n) + n, [&](int64_t t, T* a) {
        int32_t* pivots = (int32_t*)(a + n * ld + copy_size(n, n));
        take_in(j.a, t, n, n, a, ld);
        factored(a, ld, n, n, pivots, a + n * ld);
        T sign = 1;
        for (int64_t i = 0; i < n; i++) sign = pivots[i] - 1 == i ? sign : -sign;
        take(t, sign, a, ld);
    });
}

template <class T> bool det(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    return each_diagonal<T>(j, [&](int64_t t, T product, const T* a, int64_t ld) {
        for (int64_t i = 0; i < j.n; i++) product *= a[i * ld + i];
        *place_at<T>(j.x, t) = product;
    });
}

template <class T> bool slogdet(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    return each_diagonal<T>(j, [&](int64_t t, T sign, const T* a, int64_t ld) {
        T sum = 0;
        for (int64_t i = 0; i < j.n; i++) {
            const T u = a[i * ld + i];
            sign *= u > 0 ? (T)1 : u < 0 ? (T)-1 : u;
            sum += sizeof(T) == 4 ? (T)__builtin_logf((float)abs(u)) : (T)__builtin_log((double)abs(u));
        }
        *place_at<T>(j.x, t) = sign;
        *place_at<T>(j.y, t) = sum;
    });
}

// Few right-hand sides: f(t, x) replaces each of them (n numbers) by its solution.
template <class T, class F> bool one_by_one(const LinearAlgebra& j, int64_t work, F f) {
    return each_matrix<T>(j.count, work * j.k, j.n * j.k, [&](int64_t t, T* x) {
        const Matrices in{j.b.data, j.b.step, j.b.column, j.b.row}, out{j.x.data, j.x.step, j.x.column, j.x.row};
        for (int64_t k = 0; k < j.k; k++)
            for (int64_t i = 0; i < j.n; i++) x[k * j.n + i] = matrix_at<T>(in, t)[k * in.row + i * in.column];
        for (int64_t k = 0; k < j.k; k++) f(t, x + k * j.n);
        for (int64_t k = 0; k < j.k; k++)
            for (int64_t i = 0; i < j.n; i++) place_at<T>(out, t)[k * out.row + i * out.column] = x[k * j.n + i];
    });
}

template <class T> Triangle<T> triangle(const Matrices& a, int64_t t, int64_t n, bool upper, bool unit, bool transposed = false) {
    return {matrix_at<T>(a, t), n, transposed ? a.column : a.row, transposed ? a.row : a.column, upper, unit};
}

template <class T> bool lu_solve(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const int64_t n = j.n, ld = row_length<T>(n), ldx = row_length<T>(j.k), length = whole<T>(j.k);
    const bool transposed = j.upper;
    if (few<T>(j.a, j.k))
        return one_by_one<T>(j, n * n, [&](int64_t t, T* x) {
            const int32_t* pivots = j.pivots + t * n;
            j.info[t] = !transposed && !exchange_rows(x, 1, n, pivots, false);
            find_unknowns(triangle<T>(j.a, t, n, false, !transposed, transposed), x);
            find_unknowns(triangle<T>(j.a, t, n, true, transposed, transposed), x);
            if (transposed) j.info[t] = !exchange_rows(x, 1, n, pivots, true);
        });
    return each_matrix<T>(j.count, n * n * j.k, n * (ld + ldx) + copy_size(n, n), [&](int64_t t, T* a) {
        T *x = a + n * ld, *memory = x + n * ldx;
        Matrices of = j.a;
        if (transposed) of.row = j.a.column, of.column = j.a.row;
        take_in(of, t, n, n, a, ld);
        take_in(j.b, t, n, j.k, x, ldx);
        bool known = transposed || exchange_rows(x, ldx, n, j.pivots + t * n, false);
        substitute(a, ld, x, ldx, n, length, false, !transposed, memory);
        substitute(a, ld, x, ldx, n, length, true, transposed, memory);
        if (transposed) known = exchange_rows(x, ldx, n, j.pivots + t * n, true);
        j.info[t] = !known;
        put_out(j.x, t, n, j.k, x, ldx);
    });
}

template <class T> bool triangular(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const int64_t n = j.n, ld = row_length<T>(n), ldx = row_length<T>(j.k), length = whole<T>(j.k);
    if (few<T>(j.a, j.k))
        return one_by_one<T>(j, n * n / 2, [&](int64_t t, T* x) { find_unknowns(triangle<T>(j.a, t, n, j.upper, j.unit), x); });
    return each_matrix<T>(j.count, n * n * j.k / 2, n * (ld + ldx) + copy_size(n, n), [&](int64_t t, T* a) {
        T *x = a + n * ld, *memory = x + n * ldx;
        take_in(j.a, t, n, n, a, ld);
        take_in(j.b, t, n, j.k, x, ldx);
        substitute(a, ld, x, ldx, n, length, j.upper, j.unit, memory);
        put_out(j.x, t, n, j.k, x, ldx);
    });
}

// L L^T x = b, or U^T U x = b
template <class T> bool cholesky_solve(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const int64_t n = j.n, k = j.k, ld = row_length<T>(n), ldx = row_length<T>(k), length = whole<T>(k);
    Matrices transposed = j.a;
    transposed.row = j.a.column, transposed.column = j.a.row;
    if (few<T>(j.a, k))
        return one_by_one<T>(j, n * n, [&](int64_t t, T* x) {
            find_unknowns(triangle<T>(j.a, t, n, false, false, j.upper), x);
            find_unknowns(triangle<T>(j.a, t, n, true, false, !j.upper), x);
        });
    return each_matrix<T>(j.count, n * n * k, n * (ld + ldx) + copy_size(n, n), [&](int64_t t, T* a) {
        T *x = a + n * ld, *memory = x + n * ldx;
        take_in(j.b, t, n, k, x, ldx);
        take_in(j.upper ? transposed : j.a, t, n, n, a, ld);
        substitute(a, ld, x, ldx, n, length, false, false, memory);
        take_in(j.upper ? j.a : transposed, t, n, n, a, ld);
        substitute(a, ld, x, ldx, n, length, true, false, memory);
        put_out(j.x, t, n, k, x, ldx);
    });
}

// (L L^T)^-1 = L^-T L^-1, or (U^T U)^-1: the lower half of it is computed
template <class T> bool cholesky_inverse(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const int64_t n = j.n, ld = row_length<T>(n);
    Matrices in = j.a;
    if (j.upper) in.row = j.a.column, in.column = j.a.row;
    return each_matrix<T>(j.count, n * n * n * 2 / 3, 2 * n * ld + copy_size(n, n), [&](int64_t t, T* a) {
        T* x = a + n * ld;
        take_in(in, t, n, n, a, ld);
        identity(x, ld, n);
        invert_lower(a, ld, x, ld, n, false, x + n * ld);
        for (int64_t i = 0; i < n; i += BLOCK) {
            const int64_t rows = n - i < BLOCK ? n - i : BLOCK;
            gemm(CODE<T>, true, false, rows, i + rows, n - i, x + i * (ld + 1), ld, x + i * ld, ld, a + i * ld, ld, false);
        }
        for (int64_t i = 0; i < n; i += LANES<T>) {
            const int64_t end = n - i < LANES<T> ? n : i + LANES<T>;
            for (int64_t c = i; c < end; c++)
                for (int64_t r = i; r < c; r++) a[r * ld + c] = a[c * ld + r];
            if (end < n) transpose(a + end * ld + i, ld, a + i * ld + end, ld, n - end, end - i);
        }
        put_out(j.x, t, n, n, a, ld);
    });
}

// --- Cholesky ----------------------------------------------------------------------------------------------------------------
// Columns from..to of L, in the lower triangle of a; the number of the first pivot that is not positive, from 1, or 0
template <class T> int32_t cholesky_panel(T* a, int64_t ld, int64_t n, int64_t from, int64_t to, T* column) {
    for (int64_t j = from; j < to; j++) {
        const T pivot = a[j * ld + j];
        if (!(pivot > 0)) return (int32_t)(j + 1);
        const T root = sqrt(pivot), inverse = 1 / root;
        a[j * ld + j] = root;
        for (int64_t i = j + 1; i < n; i++) column[i] = a[i * ld + j] *= inverse;
        for (int64_t i = j + 1; i < n; i++) subtract_from(a + i * ld, column, column[i], j + 1, i < to ? i + 1 : to);
    }
    return 0;
}

template <class T> int32_t cholesky_of(T* a, int64_t ld, int64_t n, T* memory) {
    T* copy = memory + ld;
    for (int64_t from = 0; from < n; from += BLOCK) {
        const int64_t to = n - from < BLOCK ? n : from + BLOCK;
        if (const int32_t wrong = cholesky_panel(a, ld, n, from, to, memory)) return wrong;
        for (int64_t i = to; i < n; i += 2 * BLOCK) {
            const int64_t end = n - i < 2 * BLOCK ? n : i + 2 * BLOCK;
            subtract_product(end - i, end - to, to - from, a + i * ld + from, ld, a + to * ld + from, ld, true, a + i * ld + to, ld,
                             copy);
        }
    }
    return 0;
}

template <class T> bool cholesky(const LinearAlgebra* job) {
    const LinearAlgebra j = *job;
    const int64_t n = j.n, ld = row_length<T>(n), size = n * ld + ld + 2 * BLOCK * BLOCK;
    Matrices in = j.a, out = j.x;
    if (j.upper) in.row = j.a.column, in.column = j.a.row, out.row = j.x.column, out.column = j.x.row;
    const auto one = [&](int64_t t, T* a) {
        take_in(in, t, n, n, a, ld);
        memset(a + n * ld, 0, (size_t)ld * sizeof(T));         // stale values may be subnormal, which are slow
        const int64_t wrong = j.info[t] = cholesky_of(a, ld, n, a + n * ld);
        if (wrong) {                                           // the columns from there on are left as they were
            const T* old = matrix_at<T>(in, t);
            for (int64_t i = wrong; i < n; i++)
                for (int64_t c = wrong - 1; c <= i; c++) a[i * ld + c] = old[i * in.row + c * in.column];
        }
        for (int64_t i = 0; i < n; i++) memset(a + i * ld + i + 1, 0, (size_t)(n - i - 1) * sizeof(T));
        put_out(out, t, n, n, a, ld);
    };
    if (!fits_interleaved<T>(j)) return each_matrix<T>(j.count, n * n * n / 6, size, one);
    return each_group<T>(j, size, [&](int64_t t, int64_t count, T* memory) {
        Cells<T> a;
        load_interleaved(in, t, count, n, n, a, memory);
        const bool result = cholesky_interleaved<T>(a, n);
        if (result) store_interleaved(out, t, count, n, n, a, memory);
        for (int64_t l = 0; l < count; l++) result ? (void)(j.info[t + l] = 0) : one(t + l, memory);
    });
}

}  // namespace

// In linalg/qr.cpp
template <class T> bool qr(const LinearAlgebra* job);
template <class T> bool geqrf(const LinearAlgebra* job);
template <class T> bool reflected(const LinearAlgebra* job);
template <class T> bool least_squares(const LinearAlgebra* job);
// In linalg/eigh_svd.cpp
template <class T> bool symmetric(const LinearAlgebra* job);
template <class T> bool singular(const LinearAlgebra* job);

#define BOTH(name, f) {name, F32, (void*)(linalg_fn)f<float>}, {name, F64, (void*)(linalg_fn)f<double>}
const Kernel linalg_kernels[] = {
    BOTH("lu", lu), BOTH("parts", parts), BOTH("lu_solve", lu_solve), BOTH("solve", solve), BOTH("inverse", inverse), BOTH("det", det),
    BOTH("slogdet", slogdet), BOTH("triangular", triangular), BOTH("cholesky", cholesky), BOTH("cholesky_solve", cholesky_solve),
    BOTH("cholesky_inverse", cholesky_inverse), BOTH("qr", qr), BOTH("geqrf", geqrf), BOTH("reflected", reflected),
    BOTH("least_squares", least_squares), BOTH("symmetric", symmetric), BOTH("singular", singular)};
CLAY_COUNT(linalg)

}  // namespace CLAY_ISA
}  // namespace clay
