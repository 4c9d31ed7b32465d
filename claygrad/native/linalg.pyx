"""The native loops of linear algebra over stacks of small matrices; claygrad/ops/_lapack.py and the declarations beside it
say what they compute. Every function answers None when there is no kernel for such arrays, or a matrix has no answer."""
from libc.stdint cimport int32_t, int64_t

cimport numpy as cnp

from claygrad.core.data.device cimport CPU
from claygrad.core.data.dtype cimport F32, F64, I32
from claygrad.core.data.kernels cimport find
from claygrad.core.data.layout cimport Layout
from claygrad.core.tensor cimport Tensor

cnp.import_array()


cdef bint _take(Matrices* into, object array, int kind) noexcept:
    """Whether a kernel can read the array: matrices of one type, the same way from each to the next."""
    if not isinstance(array, cnp.ndarray):
        return False
    cdef cnp.ndarray a = <cnp.ndarray>array
    cdef int i, ndim = cnp.PyArray_NDIM(a)
    cdef int64_t item = cnp.PyArray_ITEMSIZE(a), step = 0, next = 0
    if ndim < 2 or a.descr.type_num != kind or not cnp.PyArray_ISBEHAVED_RO(a) or cnp.PyArray_SIZE(a) == 0:
        return False
    if cnp.PyArray_DIM(a, ndim - 1) > MOST or cnp.PyArray_DIM(a, ndim - 2) > MOST:
        return False
    for i in range(ndim - 3, -1, -1):
        if cnp.PyArray_DIM(a, i) == 1:
            continue
        if step == 0 and next == 0:
            step = cnp.PyArray_STRIDE(a, i)
        elif cnp.PyArray_STRIDE(a, i) != next:
            return False
        next = cnp.PyArray_STRIDE(a, i) * cnp.PyArray_DIM(a, i)
    into.row, into.column = cnp.PyArray_STRIDE(a, ndim - 2), cnp.PyArray_STRIDE(a, ndim - 1)
    if step % item or into.row % item or into.column % item:
        return False
    into.data, into.step = cnp.PyArray_DATA(a), step // item
    into.row, into.column = into.row // item, into.column // item
    return True


cdef int _kind(object a) noexcept:
    """float32 or float64, or -1."""
    if not isinstance(a, cnp.ndarray):
        return -1
    cdef int kind = (<cnp.ndarray>a).descr.type_num
    return kind if kind == cnp.NPY_FLOAT32 or kind == cnp.NPY_FLOAT64 else -1


cdef inline int64_t _most_turned(int kind, bint vectors) noexcept:
    return MOST_VALUES if not vectors else MOST_TURNED if kind == cnp.NPY_FLOAT32 else MOST_TURNED_WIDE


cdef bint _begin(LinearAlgebra* job, object a, int kind) noexcept:
    if kind < 0 or not _take(&job.a, a, kind):
        return False
    cdef int ndim = cnp.PyArray_NDIM(<cnp.ndarray>a)
    job.m, job.n, job.k = cnp.PyArray_DIM(<cnp.ndarray>a, ndim - 2), cnp.PyArray_DIM(<cnp.ndarray>a, ndim - 1), 0
    job.count = cnp.PyArray_SIZE(<cnp.ndarray>a) // (job.m * job.n)
    job.b.data = job.x.data = job.y.data = NULL
    job.pivots = job.info = NULL
    job.upper = job.unit = False
    return True


cdef object _made(cnp.ndarray like, Matrices* into, int64_t rows, int64_t columns, bint by_columns, int kind):
    """An array of the batch of another, with matrices of this size, in rows or in columns."""
    cdef cnp.npy_intp shape[64]
    cdef int i, ndim = cnp.PyArray_NDIM(like)
    for i in range(ndim - 2):
        shape[i] = cnp.PyArray_DIM(like, i)
    shape[ndim - 2], shape[ndim - 1] = columns if by_columns else rows, rows if by_columns else columns
    out = cnp.PyArray_EMPTY(ndim, shape, kind, 0)
    into.data, into.step = cnp.PyArray_DATA(<cnp.ndarray>out), rows * columns
    into.row, into.column = 1 if by_columns else columns, rows if by_columns else 1
    return cnp.PyArray_SwapAxes(<cnp.ndarray>out, ndim - 2, ndim - 1) if by_columns else out


cdef object _of_batch(cnp.ndarray like, int64_t more, int kind):
    """One number for each matrix, or `more` of them."""
    cdef cnp.npy_intp shape[64]
    cdef int i, ndim = cnp.PyArray_NDIM(like) - 2
    for i in range(ndim):
        shape[i] = cnp.PyArray_DIM(like, i)
    shape[ndim] = more
    return cnp.PyArray_EMPTY(ndim + (more >= 0), shape, kind, 0)


cdef inline void* _data(object array) noexcept:
    return cnp.PyArray_DATA(<cnp.ndarray>array)


cdef bint _run(const char* name, LinearAlgebra* job, int kind) except -1:
    cdef linalg_fn f = <linalg_fn>find("linalg", name, F32 if kind == cnp.NPY_FLOAT32 else F64)
    cdef bint made
    if f == NULL:
        return False
    with nogil:
        made = f(job)
    return made


cdef bint _right(LinearAlgebra* job, object a, object b, int kind) noexcept:
    """Right-hand sides of the matrices' rows: one for each matrix, or for one matrix as many as there are."""
    cdef int i, ndim
    if not _take(&job.b, b, kind):
        return False
    ndim = cnp.PyArray_NDIM(<cnp.ndarray>b)
    if cnp.PyArray_DIM(<cnp.ndarray>b, ndim - 2) != job.n:
        return False
    job.k = cnp.PyArray_DIM(<cnp.ndarray>b, ndim - 1)
    if ndim != cnp.PyArray_NDIM(<cnp.ndarray>a):
        if job.count != 1:
            return False
        job.a.step, job.count = 0, cnp.PyArray_SIZE(<cnp.ndarray>b) // (job.n * job.k)
        return True
    for i in range(ndim - 2):
        if cnp.PyArray_DIM(<cnp.ndarray>b, i) != cnp.PyArray_DIM(<cnp.ndarray>a, i):
            return False
    return True


cdef bint _failed(object info) noexcept:
    cdef int32_t* at = <int32_t*>_data(info)
    cdef int64_t i
    for i in range(cnp.PyArray_SIZE(<cnp.ndarray>info)):
        if at[i]:
            return True
    return False


# --- tensors: what needs no further look ---------------------------------------------------------------------------------
cdef bint _square(Layout a) noexcept:
    return ((a.dtype.code == F32 or a.dtype.code == F64) and a.ndim >= 2 and a.shape[a.ndim - 1] == a.shape[a.ndim - 2]
            and a.storage.where.kind == CPU)


def ordinary(Tensor a):
    """Whether it holds square matrices of float32 or float64, on the CPU."""
    return _square(a.layout)


def ordinary_system(Tensor a, Tensor b, bint left):
    """Whether these are such matrices, and for each a right-hand side that fits."""
    cdef Layout x = a.layout, y = b.layout
    cdef int i
    if not _square(x) or y.dtype is not x.dtype or y.ndim != x.ndim or y.storage.where.kind != CPU:
        return False
    for i in range(x.ndim - 2):
        if x.shape[i] != y.shape[i]:
            return False
    return y.shape[y.ndim - 2 if left else y.ndim - 1] == x.shape[x.ndim - 1]


def any_wrong(Tensor info):
    """Whether one of the numbers is not zero."""
    cdef Layout v = info.layout
    cdef int64_t i
    if v.dtype.code != I32 or not v.contiguous or v.storage.where.kind != CPU:
        return bool(info.any())
    cdef const int32_t* at = <const int32_t*>v.data()
    for i in range(v.numel):
        if at[i]:
            return True
    return False


# --- arrays ------------------------------------------------------------------------------------------------------------------
def lu(a, bint pivot):
    """L and U in one matrix, by columns, the rows exchanged, and the first zero pivot."""
    cdef LinearAlgebra job
    cdef int kind = _kind(a)
    cdef int64_t i
    if not _begin(&job, a, kind):
        return None
    out = _made(<cnp.ndarray>a, &job.x, job.m, job.n, True, kind)
    pivots = _of_batch(<cnp.ndarray>a, min(job.m, job.n), cnp.NPY_INT32)
    info = _of_batch(<cnp.ndarray>a, -1, cnp.NPY_INT32)
    cdef int32_t* at = <int32_t*>_data(pivots)
    if pivot:
        job.pivots = at
    else:
        for i in range(cnp.PyArray_SIZE(<cnp.ndarray>pivots)):
            at[i] = i % min(job.m, job.n) + 1
    job.info = <int32_t*>_data(info)
    return (out, pivots, info) if _run("lu", &job, kind) else None


def parts(factors, pivots):
    """P, L and U from what `lu` gives; P is None without pivots."""
    cdef LinearAlgebra job
    cdef int kind = _kind(factors)
    cdef cnp.ndarray a
    if not _begin(&job, factors, kind):
        return None
    a, job.k = <cnp.ndarray>factors, min(job.m, job.n)
    P = wrong = None
    if pivots is not None:
        if (<cnp.ndarray?>pivots).descr.type_num != cnp.NPY_INT32 or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>pivots):
            return None
        if cnp.PyArray_SIZE(<cnp.ndarray>pivots) != job.count * job.k:
            return None
        P, wrong = _made(a, &job.x, job.m, job.m, False, kind), _of_batch(a, -1, cnp.NPY_INT32)
        job.pivots, job.info = <int32_t*>_data(pivots), <int32_t*>_data(wrong)
    L, U = _made(a, &job.y, job.m, job.k, False, kind), _made(a, &job.b, job.k, job.n, False, kind)
    return (P, L, U) if _run("parts", &job, kind) and (wrong is None or not _failed(wrong)) else None


def solve(a, b):
    """a^-1 b, and the first zero pivot."""
    cdef LinearAlgebra job
    cdef int kind = _kind(a)
    if not _begin(&job, a, kind) or job.m != job.n or not _right(&job, a, b, kind):
        return None
    if cnp.PyArray_NDIM(<cnp.ndarray>a) != cnp.PyArray_NDIM(<cnp.ndarray>b):
        return None
    out = _made(<cnp.ndarray>b, &job.x, job.n, job.k, False, kind)
    info = _of_batch(<cnp.ndarray>a, -1, cnp.NPY_INT32)
    job.info = <int32_t*>_data(info)
    return (out, info) if _run("solve", &job, kind) else None


def inverse(a):
    """a^-1, by columns, and the first zero pivot."""
    cdef LinearAlgebra job
    cdef int kind = _kind(a)
    if not _begin(&job, a, kind) or job.m != job.n:
        return None
    out = _made(<cnp.ndarray>a, &job.x, job.n, job.n, True, kind)
    info = _of_batch(<cnp.ndarray>a, -1, cnp.NPY_INT32)
    job.info = <int32_t*>_data(info)
    return (out, info) if _run("inverse", &job, kind) else None


def determinant(a, bint logarithm):
    """The determinant; or its sign and the logarithm of its size."""
    cdef LinearAlgebra job
    cdef int kind = _kind(a)
    if not _begin(&job, a, kind) or job.m != job.n:
        return None
    first = _of_batch(<cnp.ndarray>a, -1, kind)
    job.x.data, job.x.step = _data(first), 1
    if not logarithm:
        return first if _run("det", &job, kind) else None
    second = _of_batch(<cnp.ndarray>a, -1, kind)
    job.y.data, job.y.step = _data(second), 1
    return (first, second) if _run("slogdet", &job, kind) else None


def lu_solve(factors, pivots, b, bint turned, bint by_columns):
    """The solution of a x = b from a's LU and the rows exchanged; turned: of a transposed."""
    cdef LinearAlgebra job
    cdef int kind = _kind(factors)
    if not _begin(&job, factors, kind) or job.m != job.n or not _right(&job, factors, b, kind):
        return None
    if cnp.PyArray_NDIM(<cnp.ndarray>factors) != cnp.PyArray_NDIM(<cnp.ndarray>b):
        return None
    if (<cnp.ndarray?>pivots).descr.type_num != cnp.NPY_INT32 or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>pivots):
        return None
    if cnp.PyArray_SIZE(<cnp.ndarray>pivots) != job.count * job.n:
        return None
    out = _made(<cnp.ndarray>b, &job.x, job.n, job.k, by_columns, kind)
    wrong = _of_batch(<cnp.ndarray>b, -1, cnp.NPY_INT32)
    job.pivots, job.info, job.upper = <int32_t*>_data(pivots), <int32_t*>_data(wrong), turned
    return out if _run("lu_solve", &job, kind) and not _failed(wrong) else None


def triangular(a, b, bint upper, bint unit):
    """The solution of a x = b for a triangular a."""
    cdef LinearAlgebra job
    cdef int kind = _kind(a)
    if not _begin(&job, a, kind) or job.m != job.n or not _right(&job, a, b, kind):
        return None
    job.upper, job.unit = upper, unit
    out = _made(<cnp.ndarray>b, &job.x, job.n, job.k, False, kind)
    return out if _run("triangular", &job, kind) else None


def cholesky(a, bint upper):
    """Cholesky's factor, by columns, as far as it goes, and the order of the leading minor that is not positive."""
    cdef LinearAlgebra job
    cdef int kind = _kind(a)
    if not _begin(&job, a, kind) or job.m != job.n:
        return None
    out = _made(<cnp.ndarray>a, &job.x, job.n, job.n, True, kind)
    info = _of_batch(<cnp.ndarray>a, -1, cnp.NPY_INT32)
    job.info, job.upper = <int32_t*>_data(info), upper
    return (out, info) if _run("cholesky", &job, kind) else None


def cholesky_solve(factor, b, bint upper):
    """The solution, by columns, of a x = b from Cholesky's factor of a; without b, the inverse of a."""
    cdef LinearAlgebra job
    cdef int kind = _kind(factor)
    if not _begin(&job, factor, kind) or job.m != job.n or (b is not None and not _right(&job, factor, b, kind)):
        return None
    job.upper = upper
    out = _made(<cnp.ndarray>(factor if b is None else b), &job.x, job.n, job.n if b is None else job.k, True, kind)
    return out if _run("cholesky_inverse" if b is None else "cholesky_solve", &job, kind) else None


def qr(a, bint full, bint with_q):
    """Q (or None) and R, by columns; full: Q is square."""
    cdef LinearAlgebra job
    cdef int kind = _kind(a)
    if not _begin(&job, a, kind):
        return None
    job.k = job.m if full else min(job.m, job.n)
    Q = _made(<cnp.ndarray>a, &job.x, job.m, job.k, True, kind) if with_q else None
    R = _made(<cnp.ndarray>a, &job.y, job.k, job.n, True, kind)
    return (Q, R) if _run("qr", &job, kind) else None


def symmetric(a, bint upper, bint vectors):
    """Eigenvalues in ascending order, and the vectors (or None) by columns."""
    cdef LinearAlgebra job
    cdef int kind = _kind(a)
    if not _begin(&job, a, kind) or job.m != job.n or job.n > _most_turned(kind, vectors):
        return None
    values, info = _of_batch(<cnp.ndarray>a, job.n, kind), _of_batch(<cnp.ndarray>a, -1, cnp.NPY_INT32)
    V = _made(<cnp.ndarray>a, &job.x, job.n, job.n, True, kind) if vectors else None
    job.y.data, job.y.step = _data(values), job.n
    job.info, job.upper = <int32_t*>_data(info), upper
    return (values, V) if _run("symmetric", &job, kind) and not _failed(info) else None


def singular(a, bint full, bint vectors):
    """U by columns (or None), the singular values in descending order, and V^T (or None)."""
    cdef LinearAlgebra job
    cdef int kind = _kind(a)
    cdef int64_t less, more
    if not _begin(&job, a, kind) or (max(job.m, job.n) if full else min(job.m, job.n)) > _most_turned(kind, vectors):
        return None
    less, more = min(job.m, job.n), max(job.m, job.n)
    job.k = more if full else less
    values, info = _of_batch(<cnp.ndarray>a, less, kind), _of_batch(<cnp.ndarray>a, -1, cnp.NPY_INT32)
    U = V = None
    if vectors:
        U = _made(<cnp.ndarray>a, &job.x, job.m, job.m if full else less, True, kind)
        V = _made(<cnp.ndarray>a, &job.y, job.n if full else less, job.n, False, kind)
    job.b.data, job.b.step = _data(values), less
    job.info = <int32_t*>_data(info)
    return (U, values, V) if _run("singular", &job, kind) and not _failed(info) else None
