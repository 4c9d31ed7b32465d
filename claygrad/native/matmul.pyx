"""Native forms of matrix products. Transposed matrices are read without copies. bfloat16 is multiplied here if the processor has
instructions for it, else in float32 (core/dispatch/convert_half.pyx)."""
import numpy

from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from claygrad.core.op cimport Op, fast_t
from claygrad.core.data.dtype cimport BF16, C64, C128, CAT_FLOAT, F32, F64, dtype, of_code
from claygrad.core.dispatch.convert_half cimport cast_half, wide_half
from claygrad.core.graph.inplace cimport write_layout
from claygrad.core.data.kernels cimport BF16_WIDE, blas_load, find, gemm, gemm_from, gemm_many, gemm_takes
from claygrad.core.data.layout cimport Layout, fresh, fresh_like, new_layout, same_shape
from claygrad.core.dispatch.guard cimport Arg, Slot, form_t, layout_of
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.registry cimport offer, offer_slots

cdef struct Mm:
    Slot input, mat2
cdef struct Mv:
    Slot input, vec
cdef struct Dot:
    Slot input, tensor
cdef struct Vdot:
    Slot input, other
cdef struct Addmm:
    Arg target, input, mat1, mat2, beta, alpha
cdef struct Addmv:
    Arg target, input, mat, vec, beta, alpha
cdef struct Baddbmm:
    Arg target, input, batch1, batch2, beta, alpha
cdef struct Addr:
    Arg target, input, vec1, vec2, beta, alpha

blas_load(numpy._core._multiarray_umath.__file__.encode())

cdef extern from "matmul/scaled_sum.hpp" namespace "clay" nogil:
    ctypedef void (*combine_fn)(void*, const void*, int64_t, int64_t, int64_t, int64_t, double, double) noexcept nogil
    ctypedef void (*outer_fn)(const void*, const void*, void*, const void*, int64_t, int64_t, int64_t, int64_t, double,
                              double) noexcept nogil

    ctypedef void (*dot_fn)(const void*, const void*, void*, int64_t) noexcept nogil

cdef dot_fn[2] _inner
_inner[0], _inner[1] = <dot_fn>find(b"combine", b"dot", F32), <dot_fn>find(b"combine", b"dot", F64)
cdef combine_fn[2] _combine
cdef outer_fn[2] _outer
_combine[0], _combine[1] = <combine_fn>find(b"combine", b"sum", F32), <combine_fn>find(b"combine", b"sum", F64)
_outer[0], _outer[1] = <outer_fn>find(b"combine", b"outer", F32), <outer_fn>find(b"combine", b"outer", F64)

# Multiply-adds above which BLAS runs without the interpreter lock.
cdef enum:
    RELEASE = 65536


cdef inline bint _blas(Layout v) noexcept:
    return (_multiplied(v.dtype.code) or v.dtype.code == C64 or v.dtype.code == C128)


cdef inline bint _multiplied(int code) noexcept:
    """Whether there is a kernel for this dtype."""
    return code == F32 or code == F64 or code == BF16 and gemm_takes(BF16)


# A bfloat16 product stays in float32 if it is scaled or added to something scaled before it is rounded.
cdef inline int _code(Layout a, bint wide) noexcept:
    return BF16_WIDE if wide and a.dtype.code == BF16 else a.dtype.code


cdef inline dtype _product_dtype(Layout a, bint wide):
    return of_code(F32) if wide and a.dtype.code == BF16 else a.dtype


cdef bint _matrix(Layout v, int at, bint* transposed, int64_t* ld) noexcept:
    """Whether the axes at, at+1 form a matrix that BLAS can read without a copy."""
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


cdef inline void _dot_of(int code, char* x, char* y, char* out, int64_t n) noexcept:
    """dot(input, other)"""
    if n > RELEASE:
        with nogil:
            _inner[code == F64](x, y, out, n)
    else:
        _inner[code == F64](x, y, out, n)


cdef void _gemm(int code, bint ta, bint tb, int64_t m, int64_t n, int64_t k, char* a, int64_t lda, char* b, int64_t ldb, char* c,
                int64_t ldc, bint add):
    if m == 1 and n == 1 and not add and (not ta or lda == 1) and (tb or ldb == 1) and (code == F32 or code == F64):
        _dot_of(code, a, b, c, k)
    elif m * n * k > RELEASE:
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
    """A copy that BLAS can read, for example of an expanded gradient."""
    cdef Layout out = fresh_like(v)
    write_layout(out, v)
    return out


cdef Layout _product(Layout a, Layout b, int64_t* shape, Layout start, bint wide=False):
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
    out = fresh(_product_dtype(a, wide), 2, shape)
    if m == 0 or n == 0:
        return out
    if start is None:
        _gemm(_code(a, wide), ta, tb, m, n, k, a.data(), lda, b.data(), ldb, out.data(), n, False)
        return out
    step = 0 if start.ndim == 1 or start.shape[0] == 1 else n
    _gemm_from(a.dtype.code, ta, tb, m, n, k, a.data(), lda, b.data(), ldb, out.data(), n, start.data(), step)
    return out


cdef Layout _mm(Op op, Mm* given, Layout target):
    cdef Layout a = (<Tensor>given.input).layout, b = (<Tensor>given.mat2).layout
    cdef int64_t shape[2]
    if a.ndim != 2 or b.ndim != 2 or a.dtype is not b.dtype or not _blas(a) or not _blas(b) or a.shape[1] != b.shape[0]:
        return None
    shape[0] = a.shape[0]
    shape[1] = b.shape[1]
    return _product(a, b, shape, None)


# --- sums with products: beta * input + alpha * product -------------------------------------------------------------------
cdef bint _steps(Layout c, Layout out, int64_t* steps) noexcept:
    """The strides of c, broadcast to the shape of the result."""
    cdef int i, k
    if c.ndim > out.ndim:
        return False
    for i in range(out.ndim):
        k = i - (out.ndim - c.ndim)
        if k >= 0 and c.shape[k] != out.shape[i] and c.shape[k] != 1:
            return False
        steps[i] = 0 if k < 0 or c.shape[k] == 1 else c.strides[k]
        if steps[i] < 0:
            return False
    return True


cdef Layout _with(Layout out, Layout c, double beta, double alpha, Layout target):
    """beta * c + alpha * out, written to out, or to the target if that has its shape."""
    cdef combine_fn f = _combine[out.dtype.code == F64]
    cdef int64_t steps[3]
    cdef int64_t m = 1, n = out.shape[out.ndim - 1], count = 1, i, item = out.dtype.itemsize
    cdef char* start
    if not _steps(c, out, steps) or target is not None and not same_shape(target, out):
        return None
    if out.ndim > 1:
        m = out.shape[out.ndim - 2]
    if out.ndim > 2:
        count = out.shape[0]
    start = c.data()
    for i in range(count if n and m else 0):
        f(out.data() + i * m * n * item, NULL if beta == 0 else <void*>(start + i * (steps[0] if out.ndim > 2 else 0) * item),
          steps[out.ndim - 2] if out.ndim > 1 else 0, steps[out.ndim - 1], m, n, alpha, beta)
    return _into(out, target)


cdef Layout _sum(Layout out, Layout c, double beta, double alpha, Layout target):
    """As _with; for bfloat16, out is float32, and the result is rounded at the end."""
    cdef Layout result
    if c.dtype.code != BF16:
        return _with(out, c, beta, alpha, target)
    if target is not None and not same_shape(target, out):
        return None
    result = _with(out, wide_half(c), beta, alpha, None)
    return None if result is None else _into(cast_half(result, c.dtype), target)


cdef Layout _into(Layout out, Layout target):
    if target is None:
        return out
    memcpy(target.data(), out.data(), out.numel * out.dtype.itemsize)
    return target


cdef bint _multiplies(Layout a, Layout b, Layout target) noexcept:
    """Whether the instruction set in use has this product, and neither factor shares memory with the target."""
    return _multiplied(a.dtype.code) and (target is None or a.storage is not target.storage and b.storage is not target.storage)


cdef Layout _addmm(Op op, Addmm* given):
    cdef Layout c = <Layout>given.input.layout, a = <Layout>given.mat1.layout, b = <Layout>given.mat2.layout
    cdef Layout target = layout_of(&given.target)
    cdef int64_t shape[2]
    if a.shape[1] != b.shape[0] or not _blas(a):
        return None
    shape[0] = a.shape[0]
    shape[1] = b.shape[1]
    if target is None and given.beta.real == 1 and given.alpha.real == 1:
        if c.contiguous and (c.ndim == 1 or c.ndim == 2) and c.shape[c.ndim - 1] == shape[1]:
            if c.ndim == 1 or c.shape[0] == shape[0] or c.shape[0] == 1:
                return _product(a, b, shape, c)
    if not _multiplies(a, b, target) or a.shape[1] == 0:
        return None
    return _sum(_product(a, b, shape, None, True), c, given.beta.real, given.alpha.real, target)


cdef Layout _addmv(Op op, Addmv* given):
    cdef Layout c = <Layout>given.input.layout, a = <Layout>given.mat.layout, x = <Layout>given.vec.layout, out
    cdef Layout target = layout_of(&given.target)
    if not _multiplies(a, x, target):
        return None
    out = _times(a, x, True)
    return None if out is None else _sum(out, c, given.beta.real, given.alpha.real, target)


cdef Layout _baddbmm(Op op, Baddbmm* given):
    cdef Layout c = <Layout>given.input.layout, a = <Layout>given.batch1.layout, b = <Layout>given.batch2.layout, out
    cdef Layout target = layout_of(&given.target)
    if not _multiplies(a, b, target):
        return None
    if target is None and given.beta.real == 1 and given.alpha.real == 1:
        out = _batch(a, b, False, c)
        if out is not None:
            return out
    out = _batch(a, b, True, None)
    return None if out is None else _sum(out, c, given.beta.real, given.alpha.real, target)


cdef Layout _addbmm(Op op, Baddbmm* given):
    cdef Layout c = <Layout>given.input.layout, a = <Layout>given.batch1.layout, b = <Layout>given.batch2.layout, out
    cdef Layout target = layout_of(&given.target)
    cdef bint ta, tb
    cdef int64_t lda, ldb, i, item = a.dtype.itemsize
    cdef int64_t shape[2]
    if not _multiplies(a, b, target) or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        return None
    if not _matrix(a, 1, &ta, &lda) or not _matrix(b, 1, &tb, &ldb):
        return None
    shape[0], shape[1] = a.shape[1], b.shape[2]
    out = fresh(_product_dtype(a, True), 2, shape)
    for i in range(a.shape[0]):
        _gemm(_code(a, True), ta, tb, shape[0], shape[1], a.shape[2], a.data() + i * a.strides[0] * item, lda,
              b.data() + i * b.strides[0] * item, ldb, out.data(), shape[1], i > 0)
    return _sum(out, c, given.beta.real, given.alpha.real, target)


cdef Layout _addr(Op op, Addr* given):
    cdef Layout c = <Layout>given.input.layout, x = <Layout>given.vec1.layout, y = <Layout>given.vec2.layout, out
    cdef Layout target = layout_of(&given.target)
    cdef double beta = given.beta.real, alpha = given.alpha.real
    cdef int64_t shape[2]
    cdef int64_t steps[2]
    if not _multiplies(x, y, target):
        return None
    shape[0], shape[1] = x.shape[0], y.shape[0]
    out = fresh(x.dtype, 2, shape)
    if out.numel == 0 or not _steps(c, out, steps) or target is not None and not same_shape(target, out):
        return None
    x, y = x if x.contiguous else _in_rows(x), y if y.contiguous else _in_rows(y)
    cdef void* start = NULL if beta == 0 else <void*>c.data()
    with nogil:
        _outer[x.dtype.code == F64](x.data(), y.data(), out.data(), start, steps[0], steps[1], shape[0], shape[1], alpha, beta)
    return _into(out, target)


cdef Layout _bmm(Op op, Mm* given, Layout target):
    return _batch((<Tensor>given.input).layout, (<Tensor>given.mat2).layout, False, None)


cdef Layout _batch(Layout a, Layout b, bint wide, Layout start):
    if a.ndim != 3 or b.ndim != 3 or a.dtype is not b.dtype or not _blas(a) or not _blas(b):
        return None
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        return None
    return products(a, b, wide, start)


cdef Layout products(Layout a, Layout b, bint wide=False, Layout start=None):
    """Batched product of matrices with matching sizes (+ start, broadcast; None if its rows are not contiguous)."""
    cdef int64_t shape[3]
    cdef int64_t steps[3]
    cdef char* added = NULL
    cdef bint ta, tb
    cdef int64_t lda, ldb
    cdef int code = _code(a, wide)
    cdef Layout out
    shape[0], shape[1], shape[2] = a.shape[0], a.shape[1], b.shape[2]
    out = fresh(_product_dtype(a, wide), 3, shape)
    steps[0] = steps[1] = 0
    if start is not None:
        if not _steps(start, out, steps) or steps[2] != 1 or a.shape[2] == 0:
            return None
        added = start.data()
    if out.numel == 0:
        return out
    if a.shape[2] == 0:
        memset(out.data(), 0, out.numel * out.dtype.itemsize)
        return out
    if not _matrix(a, 1, &ta, &lda):
        a = _in_rows(a)
        _matrix(a, 1, &ta, &lda)
    if not _matrix(b, 1, &tb, &ldb):
        b = _in_rows(b)
        _matrix(b, 1, &tb, &ldb)
    if shape[0] == 1 and added == NULL:
        _gemm(code, ta, tb, shape[1], shape[2], a.shape[2], a.data(), lda, b.data(), ldb, out.data(), shape[2], False)
    elif out.numel * a.shape[2] > RELEASE:
        with nogil:
            gemm_many(code, ta, tb, shape[0], shape[1], shape[2], a.shape[2], a.data(), lda, a.strides[0], b.data(), ldb,
                      b.strides[0], out.data(), added, steps[1], steps[0])
    else:
        gemm_many(code, ta, tb, shape[0], shape[1], shape[2], a.shape[2], a.data(), lda, a.strides[0], b.data(), ldb,
                  b.strides[0], out.data(), added, steps[1], steps[0])
    return out


cdef Layout _mv(Op op, Mv* given, Layout target):
    return _times((<Tensor>given.input).layout, (<Tensor>given.vec).layout, False)


cdef Layout _times(Layout a, Layout x, bint wide):
    cdef Layout out
    cdef bint ta
    cdef int64_t lda
    cdef int64_t shape[1]
    if a.ndim != 2 or x.ndim != 1 or a.dtype is not x.dtype or not _blas(a) or not _blas(x) or a.shape[1] != x.shape[0]:
        return None
    if a.shape[1] == 0:
        return None
    if not _matrix(a, 0, &ta, &lda):
        a = _in_rows(a)
        _matrix(a, 0, &ta, &lda)
    x = x if x.contiguous else _in_rows(x)
    shape[0] = a.shape[0]
    out = fresh(_product_dtype(a, wide), 1, shape)
    if shape[0]:
        _gemm(_code(a, wide), ta, False, a.shape[0], 1, a.shape[1], a.data(), lda, x.data(), 1, out.data(), 1, False)
    return out


cdef Layout _dot(Op op, Dot* given, Layout target):
    return _of_vectors((<Tensor>given.input).layout, (<Tensor>given.tensor).layout)


cdef Layout _vdot(Op op, Vdot* given, Layout target):
    """Of real vectors."""
    cdef Layout x = (<Tensor>given.input).layout
    return None if x.dtype.category != CAT_FLOAT else _of_vectors(x, (<Tensor>given.other).layout)


cdef Layout _of_vectors(Layout x, Layout y):
    cdef Layout out
    if x.ndim != 1 or y.ndim != 1 or x.dtype is not y.dtype or not _blas(x) or x.dtype.code == BF16 or x.shape[0] != y.shape[0]:
        return None
    if x.shape[0] == 0:
        out = fresh(x.dtype, 0, NULL)
        memset(out.data(), 0, out.dtype.itemsize)
        return out
    x, y = x if x.contiguous else _in_rows(x), y if y.contiguous else _in_rows(y)
    out = fresh(x.dtype, 0, NULL)
    if x.dtype.code != F32 and x.dtype.code != F64:
        _gemm(x.dtype.code, False, False, 1, 1, x.shape[0], x.data(), x.shape[0], y.data(), 1, out.data(), 1, False)
    else:
        _dot_of(x.dtype.code, x.data(), y.data(), out.data(), x.shape[0])
    return out


# --- native derivative rules of mm and addmm, for a backward that is not recorded ---------------------------------------------------
cdef Layout _product_transposed(Layout a, bint transpose_a, Layout b, bint transpose_b):
    """The product of two real matrices, read transposed as the flags say; None where the reference is needed."""
    cdef bint ta, tb
    cdef int64_t lda, ldb, k
    cdef int64_t shape[2]
    cdef Layout out
    if a.ndim != 2 or b.ndim != 2 or a.dtype is not b.dtype or not _multiplied(a.dtype.code):
        return None
    shape[0], k, shape[1] = a.shape[1 if transpose_a else 0], a.shape[0 if transpose_a else 1], b.shape[0 if transpose_b else 1]
    if k == 0 or shape[0] == 0 or shape[1] == 0 or not _matrix(a, 0, &ta, &lda) or not _matrix(b, 0, &tb, &ldb):
        return None
    out = fresh(a.dtype, 2, shape)
    _gemm(a.dtype.code, ta != transpose_a, tb != transpose_b, shape[0], shape[1], k, a.data(), lda, b.data(), ldb, out.data(),
          shape[1], False)
    return out


cdef Layout _left(PyObject** args):
    """The gradient of the left factor: g @ right.T"""
    return _product_transposed((<Tensor>args[0]).layout, False, (<Tensor>args[1]).layout, True)


cdef Layout _right(PyObject** args):
    """The gradient of the right factor: left.T @ g, in the order of memory that the factor has."""
    cdef Layout g = (<Tensor>args[0]).layout, left = (<Tensor>args[1]).layout, out
    cdef tuple steps = <tuple>args[2]
    cdef int64_t shape[2]
    cdef int64_t strides[2]
    if left.ndim != 2 or steps[0] != 1 or steps[1] != left.shape[1]:
        return _product_transposed(left, True, g, False)
    out = _product_transposed(g, True, left, False)
    if out is None:
        return None
    shape[0], shape[1], strides[0], strides[1] = out.shape[1], out.shape[0], 1, out.strides[0]
    return new_layout(out.storage, out.dtype, 2, shape, strides, 0)


cdef Layout _added_left(PyObject** args):
    return _left(args) if <object>args[2] == 1 else None


cdef Layout _added_right(PyObject** args):
    return _right(args) if <object>args[3] == 1 else None


cdef Layout _added(PyObject** args):
    return (<Tensor>args[0]).layout if <object>args[1] == 1 else None


cdef int _kernels_of(Op op) except -1:
    """The dtypes that BLAS multiplies and adds."""
    cdef int code
    for code in (F32, F64, BF16):
        op.kernels[code] = <void*>gemm if _multiplied(code) else NULL
    return 0


cdef int _rules_of_mm(Op op) except -1:
    op.fast_rules[0], op.fast_rules[1] = _left, _right
    return 0


cdef int _ready_addmm(Op op) except -1:
    _kernels_of(op)
    op.fast_rules[0], op.fast_rules[1], op.fast_rules[2] = _added, _added_left, _added_right
    return 0


offer_slots("mm", <fast_t>_mm).ready = _rules_of_mm
offer_slots("bmm", <fast_t>_bmm)
offer_slots("mv", <fast_t>_mv)
offer_slots("dot", <fast_t>_dot)
offer_slots("vdot", <fast_t>_vdot)
offer("addmm", <form_t>_addmm,
      "target, input: kernel complex strided, mat1 mat2: same strided 2d, beta alpha: float").ready = _ready_addmm
offer("addmv", <form_t>_addmv, "target, input: kernel strided 0-1d, mat: same strided 2d, vec: same strided 1d, "
      "beta alpha: float").ready = _kernels_of
offer("baddbmm", <form_t>_baddbmm, "target, input: kernel strided, batch1 batch2: same strided 3d, beta alpha: float").ready = _kernels_of
offer("addbmm", <form_t>_addbmm,
      "target, input: kernel strided, batch1 batch2: same strided nonempty 3d, beta alpha: float").ready = _kernels_of
offer("addr", <form_t>_addr, "target, input: float strided, vec1 vec2: same strided 1d, beta alpha: float")
