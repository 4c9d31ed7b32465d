"""Native forms of ldl_factor and ldl_solve for small symmetric matrices: Bunch-Kaufman pivoting, with LAPACK's pivots (the row
exchanged with, from 1; negative for both rows of a 2x2 block)."""
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport abs

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32, I32, of_code
from claygrad.native.linalg cimport all_finite
from claygrad.core.data.layout cimport Layout, fresh, new_layout
from claygrad.core.dispatch.guard cimport Arg, form_t
from claygrad.core.dispatch.registry cimport offer

ctypedef fused real:
    float
    double

cdef enum:
    FEW = 48                             # rows: above, LAPACK

cdef double GROWTH = 0.6403882032022076  # (1 + sqrt(17)) / 8: min ratio of a pivot to the largest element of its column


cdef inline void _exchange(real* a, real* b) noexcept nogil:
    cdef real kept = a[0]
    a[0] = b[0]
    b[0] = kept


cdef int _factor(real* a, int n, int32_t* pivots) noexcept nogil:
    """Factor the column-major lower triangle of a in place; returns the first zero block, from 1, or 0."""
    cdef int k = 0, i, j, p, largest, step, at, info = 0
    cdef double own, beside, along
    cdef real d, e, f, g, h
    while k < n:
        step, p, largest, beside = 1, k, k, 0
        own = fabs(a[k + k * n])
        for i in range(k + 1, n):
            if fabs(a[i + k * n]) > beside:
                largest, beside = i, fabs(a[i + k * n])
        if not (own > 0 or beside > 0):
            info = k + 1 if info == 0 else info
        elif own < GROWTH * beside:
            along = 0
            for j in range(k, largest):
                along = max(along, fabs(a[largest + j * n]))
            for i in range(largest + 1, n):
                along = max(along, fabs(a[i + largest * n]))
            if own < GROWTH * beside * (beside / along):
                p = largest
                if fabs(a[largest + largest * n]) < GROWTH * along:
                    step = 2
        at = k + step - 1
        if p != at:
            for i in range(p + 1, n):
                _exchange(a + i + at * n, a + i + p * n)
            for i in range(at + 1, p):
                _exchange(a + i + at * n, a + p + i * n)
            _exchange(a + at + at * n, a + p + p * n)
            if step == 2:
                _exchange(a + k + 1 + k * n, a + p + k * n)
        if step == 1:
            if own > 0 or beside > 0:
                d = 1 / a[k + k * n]
                for j in range(k + 1, n):
                    e = d * a[j + k * n]
                    for i in range(j, n):
                        a[i + j * n] -= a[i + k * n] * e
                for i in range(k + 1, n):
                    a[i + k * n] *= d
            pivots[k] = p + 1
        else:
            d = a[k + 1 + k * n]
            e, f = a[k + 1 + (k + 1) * n] / d, a[k + k * n] / d
            d = 1 / (e * f - 1) / d
            for j in range(k + 2, n):
                g, h = d * (e * a[j + k * n] - a[j + (k + 1) * n]), d * (f * a[j + (k + 1) * n] - a[j + k * n])
                for i in range(j, n):
                    a[i + j * n] -= a[i + k * n] * g + a[i + (k + 1) * n] * h
                a[j + k * n], a[j + (k + 1) * n] = g, h
            pivots[k] = pivots[k + 1] = -(p + 1)
        k += step
    for j in range(n):
        for i in range(j):
            a[i + j * n] = 0
    return info


cdef void _apply(const real* a, int64_t row, int64_t column, int n, const int32_t* pivots, real* b, int columns) noexcept nogil:
    """Solve in place in b, column-major."""
    cdef int k, i, p
    cdef real* x = b
    cdef real d, e, f, g, h
    while x < b + n * columns:
        k = 0
        while k < n:
            p = abs(pivots[k]) - 1
            if pivots[k] > 0:
                _exchange(x + k, x + p)
                for i in range(k + 1, n):
                    x[i] -= a[i * row + k * column] * x[k]
                x[k] /= a[k * row + k * column]
                k += 1
                continue
            _exchange(x + k + 1, x + p)
            for i in range(k + 2, n):
                x[i] -= a[i * row + k * column] * x[k] + a[i * row + (k + 1) * column] * x[k + 1]
            d = a[(k + 1) * row + k * column]
            e, f = a[k * row + k * column] / d, a[(k + 1) * row + (k + 1) * column] / d
            g, h = x[k] / d, x[k + 1] / d
            d = e * f - 1
            x[k], x[k + 1] = (f * g - h) / d, (e * h - g) / d
            k += 2
        k = n - 1
        while k >= 0:
            p = abs(pivots[k]) - 1
            for i in range(k + 1, n):
                x[k] -= a[i * row + k * column] * x[i]
            if pivots[k] < 0:
                for i in range(k + 1, n):
                    x[k - 1] -= a[i * row + (k - 1) * column] * x[i]
            _exchange(x + k, x + p)
            k -= 1 if pivots[k] > 0 else 2
        x += n


cdef Layout _in_columns(Layout v):
    """A column-major copy."""
    cdef int64_t strides[64]
    cdef int i, j, m = v.shape[v.ndim - 2], n = v.shape[v.ndim - 1]
    cdef int64_t step = m * n, t, row = v.strides[v.ndim - 2], column = v.strides[v.ndim - 1], apart = step if v.ndim > 2 else 0
    cdef Layout out = fresh(v.dtype, v.ndim, v.shape)
    for t in range(v.numel // step):
        for j in range(n):
            for i in range(m):
                if v.dtype.code == F32:
                    (<float*>out.data())[t * step + i + j * m] = (<float*>v.data())[t * apart + i * row + j * column]
                else:
                    (<double*>out.data())[t * step + i + j * m] = (<double*>v.data())[t * apart + i * row + j * column]
    strides[v.ndim - 2], strides[v.ndim - 1] = 1, m
    for i in range(v.ndim - 3, -1, -1):
        strides[i] = step
        step *= v.shape[i]
    return new_layout(out.storage, v.dtype, v.ndim, v.shape, strides, 0)


cdef bint _small(Layout a) noexcept:
    """Square matrices, one or a contiguous stack of them."""
    return a.shape[a.ndim - 1] == a.shape[a.ndim - 2] and a.shape[a.ndim - 1] <= FEW and (a.ndim == 2 or a.contiguous)


cdef struct Ldl:
    Arg input, hermitian, check_errors
cdef struct LdlSolve:
    Arg LD, pivots, B, hermitian


cdef list _ldl(Op op, Ldl* given):
    cdef Layout a = <Layout>given.input.layout, out, pivots, info
    cdef int64_t t, n
    cdef int32_t failed
    if not _small(a):
        return None
    n, out = a.shape[a.ndim - 1], _in_columns(a)
    if not all_finite(out):
        return None
    pivots, info = fresh(of_code(I32), a.ndim - 1, a.shape), fresh(of_code(I32), a.ndim - 2, a.shape)
    for t in range(info.numel):
        if a.dtype.code == F32:
            failed = _factor(<float*>out.data() + t * n * n, n, <int32_t*>pivots.data() + t * n)
        else:
            failed = _factor(<double*>out.data() + t * n * n, n, <int32_t*>pivots.data() + t * n)
        (<int32_t*>info.data())[t] = failed
        if failed and given.check_errors.value:
            return None                                      # refused by the declaration
    return [out, pivots, info]


cdef Layout _ldl_solve(Op op, LdlSolve* given):
    """Of one matrix."""
    cdef Layout a = <Layout>given.LD.layout, pivots = <Layout>given.pivots.layout, b = <Layout>given.B.layout, out
    cdef int n = a.shape[0], k
    cdef const int32_t* at
    if not _small(a) or pivots.shape[0] != n or b.shape[0] != n:
        return None
    at, k = <const int32_t*>pivots.data(), 0
    while k < n:                                             # pivots in range, and 2x2 blocks complete
        if at[k] == 0 or at[k] > n or at[k] < -n or at[k] < 0 and (k + 1 == n or at[k + 1] != at[k]):
            return None
        k += 1 if at[k] > 0 else 2
    out = _in_columns(b)
    if a.dtype.code == F32:
        _apply(<const float*>a.data(), a.strides[0], a.strides[1], n, at, <float*>out.data(), b.shape[1])
    else:
        _apply(<const double*>a.data(), a.strides[0], a.strides[1], n, at, <double*>out.data(), b.shape[1])
    return out


offer("ldl", <form_t>_ldl, "input: float strided nonempty 2d+")
offer("ldl_solve", <form_t>_ldl_solve, "LD: float strided nonempty 2d, pivots: int32 1d, B: same strided nonempty 2d")
