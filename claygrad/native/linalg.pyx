"""Native forms of linear algebra for batches of small matrices. Singular and empty inputs are left to the reference."""
from libc.stdint cimport int32_t, int64_t

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32, I32, I64, dtype, of_code
from claygrad.core.data.layout cimport Layout, fresh, new_contiguous, new_layout, on_cpu
from claygrad.core.data.kernels cimport find
from claygrad.core.graph.intercept cimport intercepting
from claygrad.core.tensor cimport Tensor
from claygrad.native.matmul cimport products
from claygrad.native.rearrange cimport copied
from claygrad.native.view cimport with_axes_swapped
from claygrad.core.dispatch.guard cimport Arg, form_t, is_none
from claygrad.core.dispatch.registry cimport offer

cdef enum:
    RELEASE = 512                        # elements above which the interpreter lock is released
    LONG = 8                             # times as long as wide: worth QR factors first

ctypedef fused real:
    float
    double

cdef struct Pinv:
    Arg input, atol, rtol, hermitian

cdef double SURE = 0.5                   # safety factor for the rank test of lstsq


cdef bint _take(Matrices* into, Layout v, bint long=False) noexcept:
    """Whether a kernel can read it: a batch of matrices with one batch stride. With `long`, one side may be of any length."""
    cdef int i
    cdef int64_t step = 0, next = 0, rows, columns
    if v.ndim < 2 or v.numel == 0:
        return False
    rows, columns = v.shape[v.ndim - 2], v.shape[v.ndim - 1]
    if max(rows, columns) > MAX_SIZE and (not long or rows * columns > MAX_SIZE * MAX_SIZE):
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


cdef inline int64_t _max_rotated(Layout a) noexcept:
    return MAX_ROTATED if a.dtype.code == F32 else MAX_ROTATED_F64


cdef bint _begin(LinearAlgebra* job, Layout a, bint long=False) noexcept:
    if not _take(&job.a, a, long):
        return False
    job.m, job.n, job.k = a.shape[a.ndim - 2], a.shape[a.ndim - 1], 0
    job.count = a.numel // (job.m * job.n)
    job.b.data = job.x.data = job.y.data = NULL
    job.pivots = job.info = NULL
    job.upper = job.unit = False
    return True


cdef Layout _new_matrices(Layout like, Matrices* into, int64_t rows, int64_t columns, bint by_columns):
    """New matrices of this size with the batch shape of `like`, row-major or column-major."""
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
    """A new tensor with one element per matrix, or `more`."""
    cdef int64_t shape[64]
    cdef int i
    for i in range(like.ndim - 2):
        shape[i] = like.shape[i]
    shape[like.ndim - 2] = more
    return fresh(kind, like.ndim - 2 + (more >= 0), shape)


cdef bint _faultless(Layout info) noexcept:
    """Whether it says of no matrix that something is wrong."""
    cdef int64_t i
    for i in range(info.numel):
        if (<int32_t*>info.data())[i]:
            return False
    return True


cdef bint _run(Op op, LinearAlgebra* job, int code, Layout info, bint strict=True) except -1:
    """Run the kernel; returns whether it ran, and (if strict) no matrix was singular."""
    cdef linalg_fn f = <linalg_fn>op.kernels[code]
    cdef bint done
    if f == NULL:
        return False
    if info is not None:
        job.info = <int32_t*>info.data()
    if job.count * job.m * job.n > RELEASE:
        with nogil:
            done = f(job)
    else:
        done = f(job)
    return done and (not strict or info is None or _faultless(info))


def all_succeeded(info):
    """Whether `info` says so of every matrix; False too if it is no plain tensor on the CPU, whose operations must be asked."""
    cdef Layout v
    if type(info) is not Tensor or intercepting():
        return False
    v = (<Tensor>info).layout
    return v.dtype.code == I32 and v.contiguous and on_cpu(v) and _faultless(v)


cdef bint _same_batch(Layout a, Layout b) noexcept:
    """Whether two stacks of matrices have the same batch shape."""
    cdef int i
    if a.ndim != b.ndim:
        return False
    for i in range(a.ndim - 2):
        if a.shape[i] != b.shape[i]:
            return False
    return True


cdef bint _nothing(Layout a) noexcept:
    """Whether the matrices have neither rows nor columns."""
    return a.ndim >= 2 and a.shape[a.ndim - 1] == 0 and a.shape[a.ndim - 2] == 0


cdef Layout _empty_like(Layout a, int ndim):
    """A new tensor with the first `ndim` axes of another."""
    return fresh(a.dtype, ndim, a.shape)


cdef struct Cholesky:
    Arg input, upper, check_errors
cdef struct Lu:
    Arg A, pivot, check_errors
cdef struct LuUnpack:
    Arg LU_data, LU_pivots, unpack_data, unpack_pivots
cdef struct Inverse:
    Arg A, check_errors
cdef struct Qr:
    Arg A, mode
cdef struct Svd:
    Arg A, full_matrices, driver
cdef struct Svdvals:
    Arg A, driver
cdef struct Eigh:
    Arg input, UPLO
cdef struct Solve:
    Arg A, B, left, check_errors
cdef struct Triangular:
    Arg A, B, upper, left, unitriangular
cdef struct TriangularPair:
    Arg input, A, upper, transpose, unitriangular
cdef struct LuSolve:
    Arg LU, pivots, B, left, adjoint
cdef struct CholeskySolve:
    Arg input, input2, upper
cdef struct LeastSquares:
    Arg input, b, rcond, driver
cdef struct Reflections:
    Arg input, tau, other, left, transpose


# --- factors -----------------------------------------------------------------------------------------------------------------
cdef list _one_for_each(Op op, Layout a, bint upper, bint strict):
    """A matrix for each square one, and whether something is wrong with it."""
    cdef LinearAlgebra job
    cdef Layout out, info
    if not _begin(&job, a) or job.m != job.n:
        return None
    out, info, job.upper = _new_matrices(a, &job.x, job.n, job.n, True), _of_batch(a, -1, of_code(I32)), upper
    return [out, info] if _run(op, &job, a.dtype.code, info, strict) else None


cdef list _cholesky(Op op, Cholesky* given):
    return _one_for_each(op, <Layout>given.input.layout, given.upper.value, given.check_errors.value)


cdef list _inverse(Op op, Inverse* given):
    return _one_for_each(op, <Layout>given.A.layout, False, given.check_errors.value)


cdef bint _told_of_cholesky = False


cdef Layout _old_cholesky(Op op, Cholesky* given):
    global _told_of_cholesky
    cdef list out
    if not _told_of_cholesky:                      # the declaration says, once, that there is a better one
        _told_of_cholesky = True
        return None
    out = _one_for_each(op, <Layout>given.input.layout, given.upper.value, True)
    return None if out is None else <Layout>out[0]


cdef list _lu(Op op, Lu* given):
    cdef Layout a = <Layout>given.A.layout, out, pivots, info
    cdef LinearAlgebra job
    cdef int64_t i
    if not _begin(&job, a):
        return None
    out, info = _new_matrices(a, &job.x, job.m, job.n, True), _of_batch(a, -1, of_code(I32))
    pivots = _of_batch(a, min(job.m, job.n), of_code(I32))
    if given.pivot.value:
        job.pivots = <int32_t*>pivots.data()
    else:
        for i in range(pivots.numel):
            (<int32_t*>pivots.data())[i] = i % min(job.m, job.n) + 1
    return [out, pivots, info] if _run(op, &job, a.dtype.code, info, given.check_errors.value) else None


cdef list _lu_parts(Op op, Lu* given):
    cdef Layout a = <Layout>given.A.layout, factors, pivots, info
    cdef LinearAlgebra job
    if not _begin(&job, a):
        return None
    factors, info = _new_matrices(a, &job.x, job.m, job.n, True), _of_batch(a, -1, of_code(I32))
    pivots = _of_batch(a, min(job.m, job.n), of_code(I32))
    job.pivots = <int32_t*>pivots.data() if given.pivot.value else NULL
    if not _run(op, &job, a.dtype.code, info, False):
        return None
    return _parts(factors, pivots if given.pivot.value else None)


cdef list _lu_unpack(Op op, LuUnpack* given):
    cdef Layout pivots = <Layout>given.LU_pivots.layout
    return _parts(<Layout>given.LU_data.layout, pivots if given.unpack_pivots.value else None)


cdef list _parts(Layout a, Layout pivots):
    """P, L and U from the packed LU matrix and the pivots; P is empty without pivots."""
    cdef LinearAlgebra job
    cdef Layout P, L, U, wrong = None
    cdef linalg_fn f
    cdef int64_t none = 0
    cdef bint done
    if not _begin(&job, a):
        return None
    job.k = min(job.m, job.n)
    P = fresh(a.dtype, 1, &none)
    if pivots is not None:
        if pivots.ndim != a.ndim - 1 or pivots.numel != job.count * job.k:
            return None
        P, wrong = _new_matrices(a, &job.x, job.m, job.m, False), _of_batch(a, -1, of_code(I32))
        job.pivots, job.info = <int32_t*>pivots.data(), <int32_t*>wrong.data()
    L, U = _new_matrices(a, &job.y, job.m, job.k, False), _new_matrices(a, &job.b, job.k, job.n, False)
    f = <linalg_fn>find("linalg", "parts", a.dtype.code)
    with nogil:
        done = f(&job)
    return [P, L, U] if done and (wrong is None or _faultless(wrong)) else None


cdef Layout _det(Op op, Inverse* given):
    cdef Layout a = <Layout>given.A.layout, out
    cdef LinearAlgebra job
    if not _begin(&job, a) or job.m != job.n:
        return None
    out = _of_batch(a, -1, a.dtype)
    job.x.data, job.x.step = out.data(), 1
    return out if _run(op, &job, a.dtype.code, None) else None


cdef list _slogdet(Op op, Inverse* given):
    cdef Layout a = <Layout>given.A.layout, sign, size
    cdef LinearAlgebra job
    if not _begin(&job, a) or job.m != job.n:
        return None
    sign, size = _of_batch(a, -1, a.dtype), _of_batch(a, -1, a.dtype)
    job.x.data, job.x.step = sign.data(), 1
    job.y.data, job.y.step = size.data(), 1
    return [sign, size] if _run(op, &job, a.dtype.code, None) else None


cdef list _qr(Op op, Qr* given):
    cdef Layout a = <Layout>given.A.layout, Q, R
    cdef LinearAlgebra job
    cdef int64_t none = 0
    cdef bint full = given.mode.value == 1, alone = given.mode.value == 2
    if not _begin(&job, a, not full):
        return None
    job.k = job.m if full else min(job.m, job.n)
    Q = fresh(a.dtype, 1, &none) if alone else _new_matrices(a, &job.x, job.m, job.k, True)
    R = _new_matrices(a, &job.y, job.k, job.n, True)
    return [Q, R] if _run(op, &job, a.dtype.code, None) else None


cdef list _singular(Op op, Svd* given):
    cdef Layout a = <Layout>given.A.layout, U, S, V, info
    cdef LinearAlgebra job
    cdef bint full = given.full_matrices.value
    cdef int64_t less
    if _nothing(a):
        return [_empty_like(a, a.ndim), _empty_like(a, a.ndim - 1), _empty_like(a, a.ndim)]
    if not _begin(&job, a) or (max(job.m, job.n) if full else min(job.m, job.n)) > _max_rotated(a):
        return None
    less = min(job.m, job.n)
    job.k = max(job.m, job.n) if full else less
    S, info = _of_batch(a, less, a.dtype), _of_batch(a, -1, of_code(I32))
    U = _new_matrices(a, &job.x, job.m, job.m if full else less, True)
    V = _new_matrices(a, &job.y, job.n if full else less, job.n, False)
    job.b.data, job.b.step = S.data(), less
    return [U, S, V] if _run(op, &job, a.dtype.code, info) else None


cdef Layout _tall(Layout a):
    """R of the QR factors of matrices that are much longer than wide, or the other way round: it has their singular values."""
    cdef int n = a.ndim
    cdef LinearAlgebra job
    cdef Layout R
    cdef linalg_fn f
    cdef bint done
    if n < 2 or min(a.shape[n - 1], a.shape[n - 2]) * LONG > max(a.shape[n - 1], a.shape[n - 2]):
        return a
    if not _begin(&job, with_axes_swapped(a, n - 2, n - 1) if a.shape[n - 1] > a.shape[n - 2] else a, True):
        return a
    job.k = job.n
    R = _new_matrices(a, &job.y, job.n, job.n, True)
    f = <linalg_fn>find("linalg", "qr", a.dtype.code)
    with nogil:
        done = f(&job)
    return R if done else a


cdef Layout _svdvals(Op op, Svdvals* given):
    cdef Layout a = _tall(<Layout>given.A.layout), S, info
    cdef LinearAlgebra job
    if not _begin(&job, a) or min(job.m, job.n) > MAX_VALUES:
        return None
    job.k = min(job.m, job.n)
    S, info = _of_batch(a, job.k, a.dtype), _of_batch(a, -1, of_code(I32))
    job.b.data, job.b.step = S.data(), job.k
    return S if _run(op, &job, a.dtype.code, info) else None


cdef Layout _pinv(Op op, Pinv* given):
    """V / S @ U^T, of its transpose U / S @ V^T"""
    cdef Layout a = <Layout>given.input.layout, U, S, V, info, out
    cdef LinearAlgebra job
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int64_t three[3]
    cdef int64_t less, i, j, step
    cdef double atol, rtol
    cdef int d
    if type(<object>given.atol.given) is not float or type(<object>given.rtol.given) is not float:
        return None
    if not _begin(&job, a) or min(job.m, job.n) > _max_rotated(a):
        return None
    atol, rtol = <object>given.atol.given, <object>given.rtol.given
    job.k = less = min(job.m, job.n)
    S, info = _of_batch(a, less, a.dtype), _of_batch(a, -1, of_code(I32))
    U = _new_matrices(a, &job.x, job.m, less, True)
    V = _new_matrices(a, &job.y, less, job.n, False)
    job.b.data, job.b.step = S.data(), less
    if not _run(op, &job, a.dtype.code, info):
        return None
    with nogil:
        for i in range(job.count):
            for j in range(less):                    # the columns of U, which lie one after the other
                if a.dtype.code == F32:
                    _scale[float](<float*>U.data() + (i * less + j) * job.m, job.m, (<float*>S.data())[i * less + j],
                                  (<float*>S.data())[i * less], atol, rtol)
                else:
                    _scale[double](<double*>U.data() + (i * less + j) * job.m, job.m, (<double*>S.data())[i * less + j],
                                   (<double*>S.data())[i * less], atol, rtol)
    three[0], three[1], three[2] = job.count, job.m, less
    strides[0], strides[1], strides[2] = job.m * less, 1, job.m
    U = new_layout(U.storage, a.dtype, 3, three, strides, 0)
    three[1], three[2] = less, job.n
    out = products(U, new_contiguous(V.storage, a.dtype, 3, three))
    step = job.m * job.n
    for d in range(a.ndim - 3, -1, -1):
        shape[d], strides[d] = a.shape[d], step
        step *= a.shape[d]
    shape[a.ndim - 2], shape[a.ndim - 1] = job.n, job.m
    strides[a.ndim - 2], strides[a.ndim - 1] = 1, job.n
    return new_layout(out.storage, a.dtype, a.ndim, shape, strides, 0)


cdef void _scale(real* column, int64_t n, real value, real largest, double atol, double rtol) noexcept nogil:
    """A column over its singular value; 0 where that counts as zero."""
    cdef real by = <real>0 if not value > max(<real>atol, <real>rtol * largest) else 1 / value
    cdef int64_t i
    for i in range(n):
        column[i] *= by


cdef Layout _eigvalsh(Op op, Eigh* given):
    cdef Layout a = <Layout>given.input.layout, values, info
    cdef LinearAlgebra job
    if not _begin(&job, a) or job.m != job.n or job.n > MAX_VALUES:
        return None
    values, info = _of_batch(a, job.n, a.dtype), _of_batch(a, -1, of_code(I32))
    job.y.data, job.y.step, job.upper = values.data(), job.n, given.UPLO.value == 1
    return values if _run(op, &job, a.dtype.code, info) else None


cdef list _symmetric(Op op, Eigh* given):
    cdef Layout a = <Layout>given.input.layout, values, V, info
    cdef LinearAlgebra job
    if not _begin(&job, a) or job.m != job.n or job.n > _max_rotated(a):
        return None
    values, info = _of_batch(a, job.n, a.dtype), _of_batch(a, -1, of_code(I32))
    V = _new_matrices(a, &job.x, job.n, job.n, True)
    job.y.data, job.y.step, job.upper = values.data(), job.n, given.UPLO.value == 1
    return [values, V] if _run(op, &job, a.dtype.code, info) else None


# --- systems -----------------------------------------------------------------------------------------------------------------
cdef bint _system(LinearAlgebra* job, Layout a, Layout b) noexcept:
    """Read square matrices and a right-hand side for each."""
    if not _begin(job, a) or job.m != job.n or not _same_batch(a, b) or not _take(&job.b, b) or b.shape[b.ndim - 2] != job.n:
        return False
    job.k = b.shape[b.ndim - 1]
    return True


cdef bint _from_right(LinearAlgebra* job, Layout a, Layout b) noexcept:
    """Read x a = b as the transposed system."""
    if not _begin(job, a) or job.m != job.n or not _same_batch(a, b) or not _take(&job.b, b) or b.shape[b.ndim - 1] != job.n:
        return False
    job.k = b.shape[b.ndim - 2]
    job.a.row, job.a.column = job.a.column, job.a.row
    job.b.row, job.b.column = job.b.column, job.b.row
    return True


cdef list _solve(Op op, Solve* given):
    cdef Layout a = <Layout>given.A.layout, b = <Layout>given.B.layout, out, info
    cdef LinearAlgebra job
    cdef int64_t shape[2]
    cdef int64_t strides[2]
    cdef bint vector = a.ndim == 2 and b.ndim == 1, right = not given.left.value
    if vector and right or b.numel == 0:
        return None
    if vector:
        shape[0], shape[1], strides[0], strides[1] = b.shape[0], 1, b.strides[0], 1
        b = new_layout(b.storage, b.dtype, 2, shape, strides, b.offset)
    if not (_from_right(&job, a, b) if right else _system(&job, a, b)):
        return None
    out, info = _new_matrices(b, &job.x, job.k if right else job.n, job.n if right else job.k, False), _of_batch(a, -1, of_code(I32))
    if right:
        job.x.row, job.x.column = 1, job.n
    if not _run(op, &job, a.dtype.code, info, given.check_errors.value):
        return None
    return [new_contiguous(out.storage, out.dtype, 1, out.shape) if vector else out, info]


cdef Layout _triangular(Op op, Triangular* given):
    cdef Layout a = <Layout>given.A.layout, b = <Layout>given.B.layout, out
    cdef LinearAlgebra job
    cdef bint right = not given.left.value
    if b.numel == 0:
        return None
    if not right and a.ndim == 2 and b.ndim > 2:             # one matrix for all right-hand sides
        if not _begin(&job, a) or job.m != job.n or not _take(&job.b, b) or b.shape[b.ndim - 2] != job.n:
            return None
        job.k = b.shape[b.ndim - 1]
        job.a.step, job.count = 0, b.numel // (job.n * job.k)
    elif not (_from_right(&job, a, b) if right else _system(&job, a, b)):
        return None
    job.upper, job.unit = given.upper.value != right, given.unitriangular.value
    out = _new_matrices(b, &job.x, job.k if right else job.n, job.n if right else job.k, True)
    if right:
        job.x.row, job.x.column = job.k, 1
    return out if _run(op, &job, a.dtype.code, None) else None


cdef bint _told = False


cdef list _triangular_pair(Op op, TriangularPair* given):
    global _told
    cdef Layout b = <Layout>given.input.layout, a = <Layout>given.A.layout, out
    cdef LinearAlgebra job
    cdef bint flipped = given.transpose.value
    cdef int last = a.ndim - 1
    if not _told:                                  # the declaration says, once, that there is a better one
        _told = True
        return None
    if b.numel == 0 or not _system(&job, a, b):
        return None
    if flipped:
        job.a.row, job.a.column = job.a.column, job.a.row
    job.upper, job.unit = given.upper.value != flipped, given.unitriangular.value
    out = _new_matrices(b, &job.x, job.n, job.k, True)
    if not _run(op, &job, a.dtype.code, None):
        return None
    return [out, with_axes_swapped(copied(with_axes_swapped(a, last - 1, last)), last - 1, last)]


cdef Layout _lu_solve(Op op, LuSolve* given):
    cdef Layout a = <Layout>given.LU.layout, pivots = <Layout>given.pivots.layout
    cdef Layout b = <Layout>given.B.layout, out, wrong
    cdef LinearAlgebra job
    if b.numel == 0 or not _system(&job, a, b) or pivots.ndim != a.ndim - 1 or pivots.numel != job.count * job.n:
        return None
    out, wrong = _new_matrices(b, &job.x, job.n, job.k, True), _of_batch(b, -1, of_code(I32))
    job.pivots, job.upper = <int32_t*>pivots.data(), given.adjoint.value
    return out if _run(op, &job, a.dtype.code, wrong) else None


cdef Layout _cholesky_solve(Op op, CholeskySolve* given):
    cdef Layout b = <Layout>given.input.layout, a = <Layout>given.input2.layout, out
    cdef LinearAlgebra job
    if _nothing(b) and _nothing(a) and b.ndim == 2 and a.ndim == 2:
        return _empty_like(b, 2)
    if b.numel == 0 or not _system(&job, a, b):
        return None
    out = _new_matrices(b, &job.x, job.n, job.k, True)
    job.upper = given.upper.value
    return out if _run(op, &job, a.dtype.code, None) else None


cdef Layout _cholesky_inverse(Op op, Cholesky* given):
    cdef Layout a = <Layout>given.input.layout, out
    cdef LinearAlgebra job
    if _nothing(a):
        return _empty_like(a, a.ndim)
    if not _begin(&job, a) or job.m != job.n:
        return None
    out = _new_matrices(a, &job.x, job.n, job.n, True)
    job.upper = given.upper.value
    return out if _run(op, &job, a.dtype.code, None) else None


cdef bint _surely_full(Layout found, int64_t count, int64_t step, double limit) noexcept:
    """Whether all condition numbers are below the limit; the first of each `step` numbers is an upper bound of the square."""
    cdef int64_t i
    cdef double each
    for i in range(count):
        each = (<float*>found.data())[i * step] if found.dtype.code == F32 else (<double*>found.data())[i * step]
        if not each * limit * limit < 1:
            return False
    return True


cdef list _least_squares(Op op, LeastSquares* given):
    """linalg.lstsq(input, b, rcond, driver) for full rank: "gels" assumes it, for "gelsy" it must be certain."""
    cdef Layout a = <Layout>given.input.layout, b = <Layout>given.b.layout, x, found, info, left, rank
    cdef LinearAlgebra job
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int64_t i, longer
    cdef bint vector = b.ndim == a.ndim - 1, granted = not is_none(&given.driver) and given.driver.value == 0
    cdef double limit
    if b.numel == 0:
        return None
    if vector:                                               # as one column
        for i in range(b.ndim):
            shape[i], strides[i] = b.shape[i], b.strides[i]
        shape[b.ndim], strides[b.ndim] = 1, 1
        b = new_layout(b.storage, b.dtype, a.ndim, shape, strides, b.offset)
    if not _begin(&job, a, True) or not _same_batch(a, b) or not _take(&job.b, b, True) or b.shape[b.ndim - 2] != job.m:
        return None
    job.k, longer = b.shape[b.ndim - 1], max(job.m, job.n)
    x, found, info = _new_matrices(b, &job.x, longer, job.k, True), _of_batch(a, 1 + job.k, a.dtype), _of_batch(a, -1, of_code(I32))
    job.y.data, job.y.step, job.unit = found.data(), 1 + job.k, granted
    if not _run(op, &job, a.dtype.code, info):
        return None
    limit = longer * (2.0 ** -23 if a.dtype.code == F32 else 2.0 ** -52) if is_none(&given.rcond) else given.rcond.real
    if not granted and not _surely_full(found, job.count, 1 + job.k, max(limit, 0.0) / SURE):
        return None
    for i in range(x.ndim):
        shape[i], strides[i] = x.shape[i], x.strides[i]
    shape[x.ndim - 2] = job.n                                # the rest is workspace, as in LAPACK
    x = new_layout(x.storage, x.dtype, x.ndim - vector, shape, strides, 0)
    shape[0] = 0
    left = fresh(a.dtype, 1, shape)
    if granted:
        rank = fresh(of_code(I64), 1, shape)
        if job.m > job.n:
            for i in range(a.ndim - 1):
                shape[i] = b.shape[i] if i < a.ndim - 2 else job.k
                strides[i] = found.strides[i]
            return [x, copied(new_layout(found.storage, a.dtype, a.ndim - 1, shape, strides, 1)), rank, left]
        return [x, left, rank, fresh(a.dtype, 1, shape)]
    rank = _of_batch(a, -1, of_code(I64))
    for i in range(job.count):
        (<int64_t*>rank.data())[i] = min(job.m, job.n)
    return [x, left, rank, fresh(a.dtype, 1, shape)]


# --- reflections H = I - tau v v^T, v[0] = 1, below the diagonal of a matrix -------------------------------------------------
cdef bint all_finite(Layout v) noexcept:
    cdef int64_t i
    cdef double sum = 0
    for i in range(v.numel):
        sum += 0 * ((<float*>v.data())[i] if v.dtype.code == F32 else (<double*>v.data())[i])
    return sum == 0


cdef list _geqrf(Op op, Reflections* given):
    cdef Layout a = <Layout>given.input.layout, out, tau, wrong
    cdef LinearAlgebra job
    if not _begin(&job, a, True):
        return None
    out, tau, wrong = _new_matrices(a, &job.x, job.m, job.n, True), _of_batch(a, min(job.m, job.n), a.dtype), _of_batch(a, -1, of_code(I32))
    job.y.data, job.y.step = tau.data(), min(job.m, job.n)
    return [out, tau] if _run(op, &job, a.dtype.code, wrong) else None


cdef Layout _reflected(Op op, Layout a, Layout tau, Layout c, bint left, bint transposed):
    """Q c, c Q or with Q transposed; c None: the first columns of Q."""
    cdef LinearAlgebra job
    cdef Layout like = a if c is None else c, out
    if not _begin(&job, a) or tau.ndim != a.ndim - 1:
        return None
    if c is not None and (not _same_batch(a, c) or not _take(&job.b, c) or c.shape[c.ndim - 2 if left else c.ndim - 1] != job.m):
        return None
    job.k, job.n = tau.shape[tau.ndim - 1], like.shape[like.ndim - 1 if left else like.ndim - 2]
    if job.k == 0 or job.k > a.shape[a.ndim - 1] or job.k > job.m or tau.numel != job.count * job.k:
        return None
    if job.m < a.shape[a.ndim - 1] if c is None else job.k != min(job.m, a.shape[a.ndim - 1]):
        return None
    out = _new_matrices(like, &job.x, like.shape[like.ndim - 2], like.shape[like.ndim - 1], True)
    job.y.data, job.y.step, job.upper = tau.data(), job.k, transposed == left
    if not left:                                             # c Q = (Q^T c^T)^T
        job.b.row, job.b.column = job.b.column, job.b.row
        job.x.row, job.x.column = job.x.column, job.x.row
    return out if _run(op, &job, a.dtype.code, None) else None


cdef Layout _householder(Op op, Reflections* given):
    return _reflected(op, <Layout>given.input.layout, <Layout>given.tau.layout, None, True, False)


cdef Layout _ormqr(Op op, Reflections* given):
    return _reflected(op, <Layout>given.input.layout, <Layout>given.tau.layout, <Layout>given.other.layout,
                      given.left.value, given.transpose.value)


offer("linalg.cholesky", <form_t>_cholesky, "input: float strided").loops = (b"linalg", b"cholesky")
offer("linalg.old_cholesky", <form_t>_old_cholesky, "input: float strided").loops = (b"linalg", b"cholesky")
offer("linalg.lu", <form_t>_lu, "A: float strided").loops = (b"linalg", b"lu")
offer("linalg.lu_parts", <form_t>_lu_parts, "A: float strided").loops = (b"linalg", b"lu")
offer("linalg.lu_unpack", <form_t>_lu_unpack, "LU_data: float strided, LU_pivots: int32, unpack_data: true")
offer("linalg.det", <form_t>_det, "A: float strided").loops = (b"linalg", b"det")
offer("linalg.slogdet", <form_t>_slogdet, "A: float strided").loops = (b"linalg", b"slogdet")
offer("linalg.qr", <form_t>_qr, "A: float strided, mode: reduced|complete|r").loops = (b"linalg", b"qr")
offer("linalg.singular", <form_t>_singular, "A: float strided, driver: none").loops = (b"linalg", b"singular")
offer("linalg.pinv", <form_t>_pinv,
          "input: float strided nonempty 2d+, atol rtol: raw, hermitian: false").loops = (b"linalg", b"singular")
offer("linalg.svdvals", <form_t>_svdvals, "A: float strided, driver: none").loops = (b"linalg", b"singular")
offer("linalg.symmetric", <form_t>_symmetric, "input: float strided, UPLO: L|U").loops = (b"linalg", b"symmetric")
offer("linalg.eigvalsh", <form_t>_eigvalsh, "input: float strided, UPLO: L|U").loops = (b"linalg", b"symmetric")
offer("linalg.solve", <form_t>_solve, "A: float strided, B: same strided").loops = (b"linalg", b"solve")
offer("linalg.inverse", <form_t>_inverse, "A: float strided").loops = (b"linalg", b"inverse")
offer("linalg.triangular", <form_t>_triangular, "A: float strided, B: same strided").loops = (b"linalg", b"triangular")
offer("linalg.triangular_pair", <form_t>_triangular_pair,
              "input: float strided, A: same strided").loops = (b"linalg", b"triangular")
offer("linalg.lu_solve", <form_t>_lu_solve,
          "LU: float strided, pivots: int32, B: same strided, left: true").loops = (b"linalg", b"lu_solve")
offer("linalg.cholesky_solve", <form_t>_cholesky_solve,
          "input: float strided, input2: same strided").loops = (b"linalg", b"cholesky_solve")
offer("linalg.cholesky_inverse", <form_t>_cholesky_inverse, "input: float strided").loops = (b"linalg", b"cholesky_inverse")
offer("linalg.least", <form_t>_least_squares,
              "input: float strided, b: same strided, driver: gels|gelsy optional").loops = (b"linalg", b"least_squares")
offer("linalg.geqrf", <form_t>_geqrf, "input: float strided").loops = (b"linalg", b"geqrf")
offer("linalg.householder", <form_t>_householder, "input: float strided, tau: same").loops = (b"linalg", b"reflected")
offer("linalg.ormqr", <form_t>_ormqr, "input: float strided, tau: same, other: same strided").loops = (b"linalg", b"reflected")
