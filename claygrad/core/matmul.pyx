"""Matrix products on the CPU through BLAS: plain and transposed matrices, without copies."""
import numpy

from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memset

from claygrad.core.declared cimport Op
from claygrad.core.device cimport CPU
from claygrad.core.dtypes cimport C64, C128, F32, F64
from claygrad.core.inplace cimport write_layout
from claygrad.core.kernels cimport blas_load, gemm, gemm_from, gemm_many
from claygrad.core.layout cimport Layout, fresh, fresh_like, new_layout
from claygrad.core.tensor cimport Tensor

blas_load(numpy._core._multiarray_umath.__file__.encode())

# Multiply-adds above which BLAS runs without the interpreter lock.
cdef enum:
    RELEASE = 65536


cdef inline bint _blas(Layout v) noexcept:
    return v.storage.where.kind == CPU and (v.dtype.code == F32 or v.dtype.code == F64 or v.dtype.code == C64
                                            or v.dtype.code == C128)


cdef bint _matrix(Layout v, int at, bint* transposed, int64_t* ld) noexcept:
    """Whether the axes at, at+1 form a matrix that BLAS can read as it lies."""
    cdef int64_t rows = v.shape[at], cols = v.shape[at + 1], r = v.strides[at], c = v.strides[at + 1]
    if (c == 1 or cols <= 1) and (r >= cols or rows <= 1) and r >= 0:
        transposed[0] = False
        ld[0] = r if rows > 1 and r > 0 else (cols if cols > 0 else 1)
        return True
    if (r == 1 or rows <= 1) and (c >= rows or cols <= 1) and c >= 0:
        transposed[0] = True
        ld[0] = c if cols > 1 and c > 0 else (rows if rows > 0 else 1)
        return True
    return False


cdef void _gemm(int code, bint ta, bint tb, int64_t m, int64_t n, int64_t k, char* a, int64_t lda, char* b, int64_t ldb, char* c,
                int64_t ldc, bint add):
    if m * n * k > RELEASE:
        with nogil:
            gemm(code, ta, tb, m, n, k, a, lda, b, ldb, c, ldc, add)
    else:
        gemm(code, ta, tb, m, n, k, a, lda, b, ldb, c, ldc, add)


cdef void _gemm_from(int code, bint ta, bint tb, int64_t m, int64_t n, int64_t k, char* a, int64_t lda, char* b, int64_t ldb, char* c,
                     int64_t ldc, char* start, int64_t step):
    if m * n * k > RELEASE:
        with nogil:
            gemm_from(code, ta, tb, m, n, k, a, lda, b, ldb, c, ldc, start, step)
    else:
        gemm_from(code, ta, tb, m, n, k, a, lda, b, ldb, c, ldc, start, step)


cdef Layout _in_rows(Layout v):
    """A copy that BLAS can read, such as of the gradient of a sum: one element everywhere."""
    cdef Layout out = fresh_like(v)
    write_layout(out, v)
    return out


cdef Layout _product(Layout a, Layout b, int64_t* shape, Layout start):
    """a @ b (+ start, broadcast) for two matrices."""
    cdef bint ta, tb
    cdef int64_t lda, ldb, m = a.shape[0], k = a.shape[1], n = b.shape[1], step
    cdef Layout out
    if not _matrix(a, 0, &ta, &lda):
        a = _in_rows(a)
        _matrix(a, 0, &ta, &lda)
    if not _matrix(b, 0, &tb, &ldb):
        b = _in_rows(b)
        _matrix(b, 0, &tb, &ldb)
    out = fresh(a.dtype, 2, shape)
    if m == 0 or n == 0:
        return out
    if start is None:
        _gemm(a.dtype.code, ta, tb, m, n, k, a.data(), lda, b.data(), ldb, out.data(), n, False)
        return out
    step = 0 if start.ndim == 1 or start.shape[0] == 1 else n
    _gemm_from(a.dtype.code, ta, tb, m, n, k, a.data(), lda, b.data(), ldb, out.data(), n, start.data(), step)
    return out


cdef Layout _mm(Op op, PyObject** slots, Layout target):
    cdef Layout a = (<Tensor><object>slots[0]).layout, b = (<Tensor><object>slots[1]).layout
    cdef int64_t shape[2]
    if a.ndim != 2 or b.ndim != 2 or a.dtype is not b.dtype or not _blas(a) or not _blas(b) or a.shape[1] != b.shape[0]:
        return None
    shape[0] = a.shape[0]
    shape[1] = b.shape[1]
    return _product(a, b, shape, None)


cdef Layout _addmm(Op op, PyObject** slots, Layout target):
    """addmm(input, mat1, mat2, beta=1, alpha=1) with a row or a full matrix as input."""
    cdef Layout c = (<Tensor><object>slots[0]).layout, a = (<Tensor><object>slots[1]).layout, b = (<Tensor><object>slots[2]).layout
    cdef int64_t shape[2]
    cdef int i
    if target is not None:
        return None
    for i in range(3, op.n_params):
        if <object>slots[i] != 1:
            return None
    if a.ndim != 2 or b.ndim != 2 or a.dtype is not b.dtype or c.dtype is not a.dtype or not _blas(a) or not _blas(b):
        return None
    if a.shape[1] != b.shape[0] or not c.contiguous or c.storage.where.kind != CPU:
        return None
    shape[0] = a.shape[0]
    shape[1] = b.shape[1]
    if c.ndim == 1 and c.shape[0] == shape[1] or c.ndim == 2 and c.shape[1] == shape[1] and (c.shape[0] == shape[0] or c.shape[0] == 1):
        return _product(a, b, shape, c)
    return None


cdef Layout _bmm(Op op, PyObject** slots, Layout target):
    cdef Layout a = (<Tensor><object>slots[0]).layout, b = (<Tensor><object>slots[1]).layout, out
    cdef int64_t shape[3]
    cdef bint ta, tb
    cdef int64_t lda, ldb, item = a.dtype.itemsize
    if a.ndim != 3 or b.ndim != 3 or a.dtype is not b.dtype or not _blas(a) or not _blas(b):
        return None
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1] or not _matrix(a, 1, &ta, &lda) or not _matrix(b, 1, &tb, &ldb):
        return None
    shape[0], shape[1], shape[2] = a.shape[0], a.shape[1], b.shape[2]
    out = fresh(a.dtype, 3, shape)
    if out.numel == 0:
        return out
    if a.shape[2] == 0:
        memset(out.data(), 0, out.numel * item)
        return out
    if out.numel * a.shape[2] > RELEASE:
        with nogil:
            gemm_many(a.dtype.code, ta, tb, shape[0], shape[1], shape[2], a.shape[2], a.data(), lda, a.strides[0], b.data(), ldb,
                      b.strides[0], out.data())
    else:
        gemm_many(a.dtype.code, ta, tb, shape[0], shape[1], shape[2], a.shape[2], a.data(), lda, a.strides[0], b.data(), ldb,
                  b.strides[0], out.data())
    return out


cdef Layout _mv(Op op, PyObject** slots, Layout target):
    cdef Layout a = (<Tensor><object>slots[0]).layout, x = (<Tensor><object>slots[1]).layout, out
    cdef bint ta
    cdef int64_t lda
    cdef int64_t shape[1]
    if a.ndim != 2 or x.ndim != 1 or a.dtype is not x.dtype or not _blas(a) or not _blas(x) or a.shape[1] != x.shape[0]:
        return None
    if not _matrix(a, 0, &ta, &lda) or not x.contiguous or a.shape[1] == 0:
        return None
    shape[0] = a.shape[0]
    out = fresh(a.dtype, 1, shape)
    if shape[0]:
        _gemm(a.dtype.code, ta, False, a.shape[0], 1, a.shape[1], a.data(), lda, x.data(), 1, out.data(), 1, False)
    return out


cdef Layout _dot(Op op, PyObject** slots, Layout target):
    cdef Layout x = (<Tensor><object>slots[0]).layout, y = (<Tensor><object>slots[1]).layout, out
    if x.ndim != 1 or y.ndim != 1 or x.dtype is not y.dtype or not _blas(x) or not _blas(y) or x.shape[0] != y.shape[0]:
        return None
    if not x.contiguous or not y.contiguous or x.shape[0] == 0:
        return None
    out = fresh(x.dtype, 0, NULL)
    _gemm(x.dtype.code, False, False, 1, 1, x.shape[0], x.data(), x.shape[0], y.data(), 1, out.data(), 1, False)
    return out


# --- the rules of mm and addmm, for a run that records nothing ---------------------------------------------------
cdef Layout _turned(Layout a, bint turn_a, Layout b, bint turn_b):
    """The product of two real matrices, read transposed where `turn` says so; None where the general way is needed."""
    cdef bint ta, tb
    cdef int64_t lda, ldb, k
    cdef int64_t shape[2]
    cdef Layout out
    if a.ndim != 2 or b.ndim != 2 or a.dtype is not b.dtype or (a.dtype.code != F32 and a.dtype.code != F64):
        return None
    if a.storage.where.kind != CPU or b.storage.where.kind != CPU:
        return None
    shape[0], k, shape[1] = a.shape[1 if turn_a else 0], a.shape[0 if turn_a else 1], b.shape[0 if turn_b else 1]
    if k == 0 or shape[0] == 0 or shape[1] == 0 or not _matrix(a, 0, &ta, &lda) or not _matrix(b, 0, &tb, &ldb):
        return None
    out = fresh(a.dtype, 2, shape)
    _gemm(a.dtype.code, ta != turn_a, tb != turn_b, shape[0], shape[1], k, a.data(), lda, b.data(), ldb, out.data(), shape[1], False)
    return out


cdef Layout _left(PyObject** args):
    """The gradient of the left factor: g @ right.T"""
    return _turned((<Tensor>args[0]).layout, False, (<Tensor>args[1]).layout, True)


cdef Layout _right(PyObject** args):
    """The gradient of the right factor: left.T @ g, in the order of memory that the factor has."""
    cdef Layout g = (<Tensor>args[0]).layout, left = (<Tensor>args[1]).layout, made
    cdef tuple steps = <tuple>args[2]
    cdef int64_t shape[2]
    cdef int64_t strides[2]
    if left.ndim != 2 or steps[0] != 1 or steps[1] != left.shape[1]:
        return _turned(left, True, g, False)
    made = _turned(g, True, left, False)
    if made is None:
        return None
    shape[0], shape[1], strides[0], strides[1] = made.shape[1], made.shape[0], 1, made.strides[0]
    return new_layout(made.storage, made.dtype, 2, shape, strides, 0)


cdef Layout _added_left(PyObject** args):
    return _left(args) if <object>args[2] == 1 else None


cdef Layout _added_right(PyObject** args):
    return _right(args) if <object>args[3] == 1 else None


cdef Layout _added(PyObject** args):
    return (<Tensor>args[0]).layout if <object>args[1] == 1 else None


cdef int prepare(Op op) except -1:
    kernel = op.info.get("kernel")
    if kernel == "mm":
        op.fast = _mm
        op.fast_rules[0], op.fast_rules[1] = _left, _right
    elif kernel == "addmm":
        op.fast = _addmm
        op.fast_rules[0], op.fast_rules[1], op.fast_rules[2] = _added, _added_left, _added_right
    elif kernel == "bmm":
        op.fast = _bmm
    elif kernel == "mv":
        op.fast = _mv
    elif kernel == "dot":
        op.fast = _dot
    return 0
