"""Fast paths of linear algebra over stacks of small matrices. What has no answer, and what is empty, is left to the declarations."""
from cpython.object cimport PyObject
from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t

from claygrad.core.declared cimport Op
from claygrad.core.device cimport CPU
from claygrad.core.dtypes cimport F32, F64, I32, dtype, of_code
from claygrad.core.layout cimport Layout, fresh, new_contiguous, new_layout
from claygrad.core.linalg cimport LinearAlgebra, Matrices, linalg_fn
from claygrad.core.moves cimport copied
from claygrad.core.tensor cimport Tensor
from claygrad.core.ways cimport offer, offer_many

ctypedef fused real:
    float
    double

cdef enum:
    MOST = 4096                          # rows or columns: above, LAPACK
    MOST_TURNED = 512                    # and for reflections and rotations
    FEW = 48                             # and for plain loops
    RELEASE = 512                        # elements above which the interpreter is let go


cdef bint _take(Matrices* into, Layout v) noexcept:
    """Whether a kernel can read it: matrices, the same way from each to the next."""
    cdef int i
    cdef int64_t step = 0, next = 0
    if v.ndim < 2 or v.storage.where.kind != CPU or v.numel == 0:
        return False
    if v.shape[v.ndim - 1] > MOST or v.shape[v.ndim - 2] > MOST:
        return False
    for i in range(v.ndim - 3, -1, -1):
        if v.shape[i] == 1:
            continue
        if v.strides[i] <= 0:
            return False
        if step == 0:
            step = v.strides[i]
        elif v.strides[i] != next:
            return False
        next = v.strides[i] * v.shape[i]
    into.data, into.step = v.data(), step
    into.row, into.column = v.strides[v.ndim - 2], v.strides[v.ndim - 1]
    return True


cdef bint _begin(LinearAlgebra* job, Layout a) noexcept:
    if (a.dtype.code != F32 and a.dtype.code != F64) or not _take(&job.a, a):
        return False
    job.m, job.n, job.k = a.shape[a.ndim - 2], a.shape[a.ndim - 1], 0
    job.count = a.numel // (job.m * job.n)
    job.b.data = job.x.data = job.y.data = NULL
    job.pivots = job.info = NULL
    job.upper = job.unit = False
    return True


cdef Layout _made(Layout like, Matrices* into, int64_t rows, int64_t columns, bint by_columns):
    """Room for matrices of this size in the batch of another, in rows or in columns."""
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i, ndim = like.ndim
    cdef int64_t step = rows * columns
    cdef Layout out
    for i in range(ndim - 2):
        shape[i] = like.shape[i]
    shape[ndim - 2], shape[ndim - 1] = rows, columns
    out = fresh(like.dtype, ndim, shape)
    into.data, into.step = out.data(), step
    into.row, into.column = 1 if by_columns else columns, rows if by_columns else 1
    if not by_columns:
        return out
    strides[ndim - 2], strides[ndim - 1] = 1, rows
    for i in range(ndim - 3, -1, -1):
        strides[i] = step
        step *= shape[i]
    return new_layout(out.storage, like.dtype, ndim, shape, strides, 0)


cdef Layout _of_batch(Layout like, int64_t more, dtype kind):
    """One number for each matrix, or `more` of them."""
    cdef int64_t shape[64]
    cdef int i
    for i in range(like.ndim - 2):
        shape[i] = like.shape[i]
    shape[like.ndim - 2] = more
    return fresh(kind, like.ndim - 2 + (more >= 0), shape)


cdef bint _run(Op op, LinearAlgebra* job, int code, Layout info) except -1:
    """Whether it was done, and no matrix was found wanting."""
    cdef linalg_fn f = <linalg_fn>op.kernels[code]
    cdef int32_t* at
    cdef int64_t i
    cdef bint made
    if f == NULL:
        return False
    if info is not None:
        job.info = <int32_t*>info.data()
    if job.count * job.m * job.n > RELEASE:
        with nogil:
            made = f(job)
    else:
        made = f(job)
    if made and info is not None:
        at = <int32_t*>info.data()
        for i in range(info.numel):
            if at[i]:
                return False
    return made


cdef bint _alike(Layout a, Layout b) noexcept:
    """Whether two stacks have one batch and one type."""
    cdef int i
    if a.ndim != b.ndim or a.dtype is not b.dtype:
        return False
    for i in range(a.ndim - 2):
        if a.shape[i] != b.shape[i]:
            return False
    return True


cdef bint _nothing(Layout a) noexcept:
    """Matrices without rows and columns."""
    return (a.ndim >= 2 and a.shape[a.ndim - 1] == 0 and a.shape[a.ndim - 2] == 0 and a.storage.where.kind == CPU
            and (a.dtype.code == F32 or a.dtype.code == F64))


cdef Layout _empty_like(Layout a, int ndim):
    """Of the first axes."""
    return fresh(a.dtype, ndim, a.shape)


# --- factors -----------------------------------------------------------------------------------------------------------------
cdef list _cholesky(Op op, PyObject** slots):
    """linalg.cholesky_ex(input, upper, check_errors)"""
    cdef Layout a = (<Tensor><object>slots[0]).layout, out, info
    cdef LinearAlgebra job
    if not _begin(&job, a) or job.m != job.n:
        return None
    out, info = _made(a, &job.x, job.n, job.n, True), _of_batch(a, -1, of_code(I32))
    job.upper = <object>slots[1] is True
    return [out, info] if _run(op, &job, a.dtype.code, info) else None


cdef list _lu(Op op, PyObject** slots):
    """linalg.lu_factor_ex(A, pivot, check_errors)"""
    cdef Layout a = (<Tensor><object>slots[0]).layout, out, pivots, info
    cdef LinearAlgebra job
    if <object>slots[1] is not True or not _begin(&job, a):
        return None
    out, info = _made(a, &job.x, job.m, job.n, True), _of_batch(a, -1, of_code(I32))
    pivots = _of_batch(a, min(job.m, job.n), of_code(I32))
    job.pivots = <int32_t*>pivots.data()
    return [out, pivots, info] if _run(op, &job, a.dtype.code, info) else None


cdef list _qr(Op op, PyObject** slots):
    """linalg.qr(A, mode)"""
    cdef Layout a = (<Tensor><object>slots[0]).layout, Q, R
    cdef LinearAlgebra job
    cdef bint full = <object>slots[1] == "complete"
    if not full and <object>slots[1] != "reduced" or not _begin(&job, a) or max(job.m, job.n) > MOST_TURNED:
        return None
    job.k = job.m if full else min(job.m, job.n)
    Q, R = _made(a, &job.x, job.m, job.k, True), _made(a, &job.y, job.k, job.n, True)
    return [Q, R] if _run(op, &job, a.dtype.code, None) else None


cdef list _singular(Op op, PyObject** slots):
    """linalg.svd(A, full_matrices, driver)"""
    cdef Layout a = (<Tensor><object>slots[0]).layout, U, S, V, info
    cdef LinearAlgebra job
    cdef bint full = <object>slots[1] is True
    cdef int64_t less
    if <object>slots[2] is None and _nothing(a):
        return [_empty_like(a, a.ndim), _empty_like(a, a.ndim - 1), _empty_like(a, a.ndim)]
    if <object>slots[2] is not None or not _begin(&job, a) or max(job.m, job.n) > MOST_TURNED:
        return None
    less = min(job.m, job.n)
    job.k = max(job.m, job.n) if full else less
    S, info = _of_batch(a, less, a.dtype), _of_batch(a, -1, of_code(I32))
    U = _made(a, &job.x, job.m, job.m if full else less, True)
    V = _made(a, &job.y, job.n if full else less, job.n, False)
    job.b.data, job.b.step = S.data(), less
    return [U, S, V] if _run(op, &job, a.dtype.code, info) else None


cdef list _symmetric(Op op, PyObject** slots):
    """linalg.eigh(input, UPLO)"""
    cdef Layout a = (<Tensor><object>slots[0]).layout, values, V, info
    cdef LinearAlgebra job
    if <object>slots[1] != "L" and <object>slots[1] != "U" or not _begin(&job, a) or job.m != job.n or job.n > MOST_TURNED:
        return None
    values, info = _of_batch(a, job.n, a.dtype), _of_batch(a, -1, of_code(I32))
    V = _made(a, &job.x, job.n, job.n, True)
    job.y.data, job.y.step, job.upper = values.data(), job.n, <object>slots[1] == "U"
    return [values, V] if _run(op, &job, a.dtype.code, info) else None


# --- systems -----------------------------------------------------------------------------------------------------------------
cdef bint _system(LinearAlgebra* job, Layout a, Layout b) noexcept:
    """Square matrices, and for each a right-hand side of their rows."""
    if not _begin(job, a) or job.m != job.n or not _alike(a, b) or not _take(&job.b, b) or b.shape[b.ndim - 2] != job.n:
        return False
    job.k = b.shape[b.ndim - 1]
    return True


cdef list _solve(Op op, PyObject** slots):
    """linalg.solve_ex(A, B, left, check_errors)"""
    cdef Layout a = (<Tensor><object>slots[0]).layout, b = (<Tensor><object>slots[1]).layout, out, info
    cdef LinearAlgebra job
    cdef int64_t shape[2]
    cdef int64_t strides[2]
    cdef bint vector = a.ndim == 2 and b.ndim == 1
    if <object>slots[2] is not True or b.numel == 0:
        return None
    if vector:
        shape[0], shape[1], strides[0], strides[1] = b.shape[0], 1, b.strides[0], 1
        b = new_layout(b.storage, b.dtype, 2, shape, strides, b.offset)
    if not _system(&job, a, b):
        return None
    out, info = _made(b, &job.x, job.n, job.k, False), _of_batch(a, -1, of_code(I32))
    if not _run(op, &job, a.dtype.code, info):
        return None
    return [new_contiguous(out.storage, out.dtype, 1, out.shape) if vector else out, info]


cdef list _inverse(Op op, PyObject** slots):
    """linalg.inv_ex(A, check_errors)"""
    cdef Layout a = (<Tensor><object>slots[0]).layout, out, info
    cdef LinearAlgebra job
    if not _begin(&job, a) or job.m != job.n:
        return None
    out, info = _made(a, &job.x, job.n, job.n, True), _of_batch(a, -1, of_code(I32))
    return [out, info] if _run(op, &job, a.dtype.code, info) else None


cdef Layout _triangular(Op op, PyObject** slots, Layout target):
    """linalg.solve_triangular(A, B, upper, left, unitriangular)"""
    cdef Layout a = (<Tensor><object>slots[0]).layout, b = (<Tensor><object>slots[1]).layout, out
    cdef LinearAlgebra job
    if <object>slots[3] is not True or b.numel == 0 or not _system(&job, a, b):
        return None
    job.upper, job.unit = <object>slots[2] is True, <object>slots[4] is True
    out = _made(b, &job.x, job.n, job.k, False)
    return out if _run(op, &job, a.dtype.code, None) else None


cdef bint _told = False


cdef list _triangular_pair(Op op, PyObject** slots):
    """triangular_solve(input, A, upper, transpose, unitriangular)"""
    global _told
    cdef Layout b = (<Tensor><object>slots[0]).layout, a = (<Tensor><object>slots[1]).layout, out
    cdef LinearAlgebra job
    cdef bint turned = <object>slots[3] is True
    if not _told:                                  # the declaration says, once, that there is a better one
        _told = True
        return None
    if b.numel == 0 or not _system(&job, a, b):
        return None
    if turned:
        job.a.row, job.a.column = job.a.column, job.a.row
    job.upper, job.unit = (<object>slots[2] is True) != turned, <object>slots[4] is True
    out = _made(b, &job.x, job.n, job.k, False)
    return [out, copied(a)] if _run(op, &job, a.dtype.code, None) else None


cdef Layout _lu_solve(Op op, PyObject** slots, Layout target):
    """linalg.lu_solve(LU, pivots, B, left, adjoint)"""
    cdef Layout a = (<Tensor><object>slots[0]).layout, pivots = (<Tensor><object>slots[1]).layout
    cdef Layout b = (<Tensor><object>slots[2]).layout, out, wrong
    cdef LinearAlgebra job
    if <object>slots[3] is not True or b.numel == 0 or not _system(&job, a, b):
        return None
    if pivots.dtype.code != I32 or not pivots.contiguous or pivots.ndim != a.ndim - 1 or pivots.numel != job.count * job.n:
        return None
    out, wrong = _made(b, &job.x, job.n, job.k, True), _of_batch(b, -1, of_code(I32))
    job.pivots, job.upper = <int32_t*>pivots.data(), <object>slots[4] is True
    return out if _run(op, &job, a.dtype.code, wrong) else None


cdef Layout _with_factor(Op op, PyObject** slots, Layout target):
    """cholesky_solve(input, input2, upper), cholesky_inverse(input, upper)"""
    cdef Layout b = (<Tensor><object>slots[0]).layout, a, out
    cdef LinearAlgebra job
    if op.n_params == 2 and _nothing(b):
        return _empty_like(b, b.ndim)
    if op.n_params == 3:
        a = (<Tensor><object>slots[1]).layout
        if _nothing(b) and _nothing(a) and b.ndim == 2 and a.ndim == 2 and a.dtype is b.dtype:
            return _empty_like(b, 2)
        if b.numel == 0 or not _system(&job, a, b):
            return None
        out = _made(b, &job.x, job.n, job.k, True)
    else:
        a = b
        if not _begin(&job, a) or job.m != job.n:
            return None
        out = _made(a, &job.x, job.n, job.n, True)
    job.upper = <object>slots[op.n_params - 1] is True
    return out if _run(op, &job, a.dtype.code, None) else None


# --- reflections H = I - tau v v^T, v[0] = 1, below the diagonal of a matrix -------------------------------------------------
cdef void _reflect(real* c, int64_t row, int64_t column, int64_t rows, int64_t columns, const real* v, int64_t step,
                   real tau) noexcept nogil:
    """c -= tau v (v^T c)"""
    cdef int64_t i, j
    cdef real sum
    for j in range(columns):
        sum = c[j * column]
        for i in range(1, rows):
            sum += v[i * step] * c[i * row + j * column]
        sum *= tau
        c[j * column] -= sum
        for i in range(1, rows):
            c[i * row + j * column] -= v[i * step] * sum


cdef void _multiplied(const real* v, const Matrices* s, const real* tau, int64_t k, real* c, int64_t m, int64_t n, bint left,
                      bint turned) noexcept nogil:
    """Q c or c Q in the place of c (m by n, by columns), Q = H1 ... Hk, or its transpose."""
    cdef int64_t t, i
    for t in range(k):
        i = t if left == turned else k - 1 - t
        if left:
            _reflect(c + i, 1, m, m - i, n, v + i * (s.row + s.column), s.row, tau[i])
        else:
            _reflect(c + i * m, m, 1, n - i, m, v + i * (s.row + s.column), s.row, tau[i])


cdef void _triangle(real* a, int64_t m, int64_t n, real* tau) noexcept nogil:
    """R, and below it the reflections that make Q, in the place of a (by columns)."""
    cdef int64_t k, i
    cdef double most, sum, head, beta, scale
    cdef real* x
    for k in range(min(m, n)):
        x = a + k * m + k
        most = sum = tau[k] = 0
        for i in range(1, m - k):
            most = max(most, fabs(x[i]))
        if most == 0:
            continue
        scale = most if most > 1e100 or most < 1e-100 else 1
        head = x[0] / scale
        for i in range(1, m - k):
            sum += (x[i] / scale) * (x[i] / scale)
        beta = sqrt(head * head + sum)
        beta = -beta if head > 0 else beta
        tau[k] = <real>((beta - head) / beta)
        for i in range(1, m - k):
            x[i] = <real>(x[i] / scale / (head - beta))
        if k + 1 < n:
            _reflect(x + m, 1, m, m - k, n - k - 1, x, 1, tau[k])
        x[0] = <real>(beta * scale)


cdef bint all_finite(Layout v) noexcept:
    cdef int64_t i
    cdef double sum = 0
    for i in range(v.numel):
        sum += 0 * ((<float*>v.data())[i] if v.dtype.code == F32 else (<double*>v.data())[i])
    return sum == 0


cdef list _geqrf(Op op, PyObject** slots):
    """geqrf(input)"""
    cdef Layout a = (<Tensor><object>slots[0]).layout, out, tau
    cdef Matrices s, from_
    cdef int64_t m, n, k, t, i, j
    if (a.dtype.code != F32 and a.dtype.code != F64) or not _take(&from_, a):
        return None
    m, n = a.shape[a.ndim - 2], a.shape[a.ndim - 1]
    k = min(m, n)
    if max(m, n) > FEW or not a.contiguous or not all_finite(a):
        return None
    out, tau = _made(a, &s, m, n, True), _of_batch(a, k, a.dtype)
    for t in range(a.numel // (m * n)):
        for i in range(m):
            for j in range(n):
                if a.dtype.code == F32:
                    (<float*>s.data)[t * s.step + i + j * m] = (<float*>from_.data)[t * from_.step + i * from_.row + j * from_.column]
                else:
                    (<double*>s.data)[t * s.step + i + j * m] = (<double*>from_.data)[t * from_.step + i * from_.row + j * from_.column]
        if a.dtype.code == F32:
            _triangle(<float*>s.data + t * s.step, m, n, <float*>tau.data() + t * k)
        else:
            _triangle(<double*>s.data + t * s.step, m, n, <double*>tau.data() + t * k)
    return [out, tau]


cdef Layout _reflected(Layout a, Layout tau, Layout c, bint left, bint turned):
    """Q c, c Q or with Q transposed; c None: the first columns of Q."""
    cdef Matrices s, into, from_
    cdef int64_t m, n, k, t, i, j, count
    cdef Layout like = a if c is None else c, out
    if (a.dtype.code != F32 and a.dtype.code != F64) or tau.dtype is not a.dtype or not _take(&s, a) or tau.ndim != a.ndim - 1:
        return None
    if c is not None and (not _alike(a, c) or not _take(&from_, c)):
        return None
    k = tau.shape[tau.ndim - 1]
    m, n = like.shape[like.ndim - 2], like.shape[like.ndim - 1]
    count = like.numel // (m * n)
    if max(m, n) > FEW or k == 0 or k > a.shape[a.ndim - 1] or k > a.shape[a.ndim - 2] or tau.numel != count * k or not tau.contiguous:
        return None
    if (m if left else n) != a.shape[a.ndim - 2] or tau.storage.where.kind != CPU:
        return None
    out = _made(like, &into, m, n, True)
    for t in range(count):
        for j in range(n):
            for i in range(m):
                if a.dtype.code == F32:
                    (<float*>into.data)[t * into.step + i + j * m] = (
                        i == j if c is None else (<float*>from_.data)[t * from_.step + i * from_.row + j * from_.column])
                else:
                    (<double*>into.data)[t * into.step + i + j * m] = (
                        i == j if c is None else (<double*>from_.data)[t * from_.step + i * from_.row + j * from_.column])
        if a.dtype.code == F32:
            _multiplied(<float*>s.data + t * s.step, &s, <float*>tau.data() + t * k, k, <float*>into.data + t * into.step, m, n, left,
                        turned)
        else:
            _multiplied(<double*>s.data + t * s.step, &s, <double*>tau.data() + t * k, k, <double*>into.data + t * into.step, m, n, left,
                        turned)
    return out


cdef Layout _householder(Op op, PyObject** slots, Layout target):
    """linalg.householder_product(input, tau)"""
    return _reflected((<Tensor><object>slots[0]).layout, (<Tensor><object>slots[1]).layout, None, True, False)


cdef Layout _ormqr(Op op, PyObject** slots, Layout target):
    """ormqr(input, tau, other, left, transpose)"""
    return _reflected((<Tensor><object>slots[0]).layout, (<Tensor><object>slots[1]).layout, (<Tensor><object>slots[2]).layout,
                      <object>slots[3] is True, <object>slots[4] is True)


offer_many("linalg.cholesky", _cholesky).loops = (b"linalg", b"cholesky")
offer_many("linalg.lu", _lu).loops = (b"linalg", b"lu")
offer_many("linalg.qr", _qr).loops = (b"linalg", b"qr")
offer_many("linalg.singular", _singular).loops = (b"linalg", b"singular")
offer_many("linalg.symmetric", _symmetric).loops = (b"linalg", b"symmetric")
offer_many("linalg.solve", _solve).loops = (b"linalg", b"solve")
offer_many("linalg.inverse", _inverse).loops = (b"linalg", b"solve")
offer("linalg.triangular", _triangular).loops = (b"linalg", b"triangular")
offer_many("linalg.triangular_pair", _triangular_pair).loops = (b"linalg", b"triangular")
offer("linalg.lu_solve", _lu_solve).loops = (b"linalg", b"lu_solve")
offer("linalg.cholesky_solve", _with_factor).loops = (b"linalg", b"cholesky_solve")
offer_many("linalg.geqrf", _geqrf)
offer("linalg.householder", _householder)
offer("linalg.ormqr", _ormqr)
