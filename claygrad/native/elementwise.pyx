"""Native forms of elementwise operations on contiguous tensors of one dtype, with numbers and row or column broadcasting."""
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from claygrad.core.op cimport FAMILY_BINARY, FAMILY_COMPARE, FAMILY_NONE, FAMILY_UNARY, POINTWISE, Op, fast_t, run_check
from claygrad.core.data.dtype cimport BOOL, F32, F64, I32, I64, U8, dtype, of_code
from claygrad.core.data.kernels cimport binary_by_column, binary_by_lines, binary_by_row, binary_fn, unary_fn
from claygrad.core.data.layout cimport Layout, dense, fresh, fresh_like, fresh_strided, same_shape
from claygrad.core.dispatch.registry cimport ELEMENTWISE_TABLE, offer_table
from claygrad.core.tensor cimport Tensor

# Elements above which a kernel runs without the interpreter lock.
cdef enum:
    RELEASE = 32768
    SHORT = 16                          # min elements of a line that is worth a kernel call,
    FEW = 4096                          # unless there are at most this many elements


cdef extern from "Python.h":
    bint is_bool "PyBool_Check"(PyObject* value)


cdef bint numbers_of(Op op, PyObject** slots, double* out) except -1:
    """Whether the other parameters have the values that the kernel is for; reads the one that may be any number (declared as ...)."""
    cdef int i, n = 0
    cdef bint other = False
    out[0] = out[1] = 0
    for i in range(op.n_kernel_if):
        value = <object>slots[op.kernel_if_at[i]]
        want = <object>(<tuple>op.kernel_if)[i]
        if want is ...:
            if type(value) is not float and type(value) is not int:
                return False
            out[n] = value
            n += 1
        elif value is not want:
            if value != want or isinstance(value, bool):                           # True is not 1 here
                return False
            other = True                                                           # compare 1.0 with 1 exactly below
    if n or other:
        run_check(op, slots)                         # the check may raise for this number
    return True


cdef inline bint _plain_attributes(Op op, PyObject** slots) except -1:
    cdef double numbers[2]
    return numbers_of(op, slots, numbers)


cdef bint uniform(Layout v) noexcept:
    """One element broadcast over the whole shape: the gradient of a sum."""
    cdef int i
    if v.numel == 0:
        return False
    for i in range(v.ndim):
        if v.strides[i] and v.shape[i] > 1:
            return False
    return True


# Note [Runs of memory]
# A permuted tensor without gaps is still one run of memory: an elementwise kernel runs along the memory, and the result gets the same
# strides, as the reference would give it. Tensors with axes of size 1 are excluded, since those follow other rules.

cdef bint is_permuted(Layout v) noexcept:
    """Dense, with permuted axes."""
    cdef int i
    if v.contiguous or not dense(v):
        return False
    for i in range(v.ndim):
        if v.shape[i] == 1:
            return False
    return True


cdef bint same_run(Layout a, Layout b) noexcept:
    """Whether a tensor has the shape and strides of a permuted one."""
    cdef int i
    if not same_shape(a, b):
        return False
    for i in range(a.ndim):
        if a.strides[i] != b.strides[i]:
            return False
    return True


cdef Layout fresh_run(Layout like, dtype dt):
    """A new tensor with the strides of a permuted one."""
    return fresh_strided(dt, like.ndim, like.shape, like.strides)


cdef Layout _unary(Op op, PyObject** slots, Layout target):
    cdef object a = <object>slots[0]
    if not isinstance(a, Tensor):
        return None
    cdef Layout x = (<Tensor>a).layout, out
    cdef unary_fn f = <unary_fn>op.kernels[x.dtype.code]
    cdef double numbers[2]
    if f == NULL or not numbers_of(op, slots, numbers):
        return None
    if x.contiguous:
        out = fresh_like(x) if target is None else target
    elif target is None and is_permuted(x):
        out = fresh_run(x, x.dtype)
    else:
        return _unary_of_one(f, x, numbers) if target is None and uniform(x) else None
    if x.numel > RELEASE:
        with nogil:
            f(x.data(), out.data(), x.numel, numbers[0], numbers[1])
    else:
        f(x.data(), out.data(), x.numel, numbers[0], numbers[1])
    return out


cdef Layout _unary_of_one(unary_fn f, Layout x, double* numbers):
    """Operands of one broadcast element: compute once, then fill."""
    cdef Layout out = fresh_like(x)
    cdef char* data = out.data()
    cdef int64_t done = 1, step, n = x.numel, item = x.dtype.itemsize
    f(x.data(), data, 1, numbers[0], numbers[1])
    while done < n:
        step = done if done <= n - done else n - done
        memcpy(data + done * item, data, step * item)
        done += step
    return out


cdef union Scalar:
    float f32
    double f64
    int64_t i64
    int32_t i32
    uint8_t u8

cdef bint _fill_scalar(object value, int code, Scalar* out) except -1:
    """The number in the tensor's dtype; False if that would change the result's dtype."""
    cdef type kind = type(value)
    if code == F32 or code == F64:
        if kind is not float and kind is not int and kind is not bool:
            return False
        if code == F32:
            out.f32 = <float><double>value
        else:
            out.f64 = value
        return True
    if code == I64 and kind is int and -0x7fffffffffffffff < value < 0x7fffffffffffffff:
        out.i64 = value
        return True
    if code == I32 and kind is int and -0x80000000 <= value < 0x80000000:
        out.i32 = value
        return True
    if code == U8 and kind is int and 0 <= value < 256:
        out.u8 = value
        return True
    return False


cdef inline Layout _out_for(Op op, Layout x):
    if not x.contiguous:
        return fresh_run(x, of_code(BOOL) if op.family == FAMILY_COMPARE else x.dtype)
    if op.family == FAMILY_COMPARE:
        return fresh(of_code(BOOL), x.ndim, x.shape)
    return fresh_like(x)


cdef inline void _run(binary_fn f, const void* x, const void* y, void* out, int64_t n, int mode):
    if n > RELEASE:
        with nogil:
            f(x, y, out, n, mode)
    else:
        f(x, y, out, n, mode)


cdef Layout _binary(Op op, PyObject** slots, Layout target):
    cdef object a = <object>slots[0], b = <object>slots[1]
    cdef Layout x, y, out
    cdef binary_fn f
    cdef Scalar number
    cdef bint a_is = isinstance(a, Tensor), b_is = isinstance(b, Tensor)
    if a_is and b_is:
        x = (<Tensor>a).layout
        y = (<Tensor>b).layout
        if x.dtype is not y.dtype:
            return None
        f = <binary_fn>op.kernels[x.dtype.code]
        if f == NULL or (op.n_kernel_if and not _plain_attributes(op, slots)):
            return None
        if not x.contiguous or not y.contiguous:
            if target is None and is_permuted(x) and same_run(y, x):
                out = _out_for(op, x)
                _run(f, x.data(), y.data(), out.data(), x.numel, 0)
                return out
            out = _with_single_element(op, f, x, y, target)
            return _by_lines(op, f, x, y) if out is None and target is None else out
        if same_shape(x, y):
            if target is None:
                out = _out_for(op, x)
            else:
                if y.storage is target.storage and (y.offset != target.offset or y.stride_tuple() != target.stride_tuple()):
                    return None
                out = target
            _run(f, x.data(), y.data(), out.data(), x.numel, 0)
            return out
        out = _broadcast(op, f, x, y, target)
        return _by_lines(op, f, x, y) if out is None and target is None else out
    x = (<Tensor>(a if a_is else b)).layout
    f = <binary_fn>op.kernels[x.dtype.code]
    if f == NULL or not x.contiguous and (target is not None or not is_permuted(x)) \
            or not _fill_scalar(b if a_is else a, x.dtype.code, &number):
        return None
    if op.n_kernel_if and not _plain_attributes(op, slots):
        return None
    if is_bool(slots[a_is]) and op.check is not None:
        return None                                  # sub raises the error for bool
    if target is not None and not a_is:
        return None
    out = _out_for(op, x) if target is None else target
    if a_is and op.number_kernels[x.dtype.code] != NULL:
        (<unary_fn>op.number_kernels[x.dtype.code])(x.data(), out.data(), x.numel, b, 0.0)
    elif a_is:
        _run(f, x.data(), &number, out.data(), x.numel, 1)
    else:
        _run(f, &number, x.data(), out.data(), x.numel, 2)
    return out


cdef Layout _with_single_element(Op op, binary_fn f, Layout x, Layout y, Layout target):
    """One operand is a single element; the other is dense."""
    cdef Layout out
    if not same_shape(x, y) or target is not None and y.storage is target.storage:
        return None
    if uniform(y) and (x.contiguous or target is None and is_permuted(x)):
        out = _out_for(op, x) if target is None else target
        _run(f, x.data(), y.data(), out.data(), x.numel, 1)
        return out
    if uniform(x) and target is None and (y.contiguous or is_permuted(y)):
        out = _out_for(op, y)
        _run(f, x.data(), y.data(), out.data(), y.numel, 2)
        return out
    return None


cdef Layout _broadcast(Op op, binary_fn f, Layout x, Layout y, Layout target):
    """One operand is a scalar, a row or a column of the other."""
    cdef Layout big = x, small = y, out
    cdef bint swapped = False
    cdef int64_t rows = 1, n = 1, item
    cdef int i, skip
    if y.numel > x.numel or (y.numel == x.numel and y.ndim > x.ndim):
        big, small, swapped = y, x, True
    if small.ndim > big.ndim or big.numel == 0 or small.numel == 0:
        return None
    if target is not None and (swapped or small.storage is target.storage):
        return None
    if small.numel == 1:
        out = _out_for(op, big) if target is None else target
        _run(f, x.data(), y.data(), out.data(), big.numel, 2 if swapped else 1)
        return out
    item = big.dtype.itemsize
    skip = 0
    while small.shape[skip] == 1:                   # leading ones of the small operand
        skip += 1
    for i in range(small.ndim - 1, skip - 1, -1):
        if small.shape[i] != big.shape[big.ndim - small.ndim + i]:
            break
        n *= small.shape[i]
    if n == small.numel:                           # the last axes of the big one: a row
        rows = big.numel // n
        out = _out_for(op, big) if target is None else target
        binary_by_row(f, big.data(), small.data(), out.data(), rows, n, item, out.dtype.itemsize, swapped)
        return out
    if small.ndim != big.ndim or small.shape[small.ndim - 1] != 1:
        return None
    i = small.ndim - 1                             # trailing ones: a column
    n = 1
    while i >= 0 and small.shape[i] == 1:
        n *= big.shape[i]
        i -= 1
    while i >= 0:
        if small.shape[i] != big.shape[i]:
            return None
        rows *= small.shape[i]
        i -= 1
    out = _out_for(op, big) if target is None else target
    binary_by_column(f, big.data(), small.data(), out.data(), rows, n, item, out.dtype.itemsize, swapped)
    return out


cdef bint _row_major(Layout v) noexcept:
    """Row-major with last stride 1 (or size 1): it can be read line by line in memory order."""
    cdef int i
    cdef int64_t near = 0
    for i in range(v.ndim - 1, -1, -1):
        if v.shape[i] == 1:
            continue
        if v.strides[i] < 1 or v.strides[i] < near or (i == v.ndim - 1 and v.strides[i] != 1):
            return False
        near = v.strides[i]
    return True


cdef Layout _by_lines(Op op, binary_fn f, Layout x, Layout y):
    """Operands that are broadcast along several axes, or have gaps between lines."""
    cdef int64_t shape[64]
    cdef int64_t steps_x[64]
    cdef int64_t steps_y[64]
    cdef int64_t a, b
    cdef int i, k, ndim = x.ndim if x.ndim > y.ndim else y.ndim, at = 0
    cdef Layout out
    if ndim == 0 or not _row_major(x) or not _row_major(y):
        return None
    for i in range(ndim):
        k = i - (ndim - x.ndim)
        a = x.shape[k] if k >= 0 else 1
        steps_x[i] = x.strides[k] if k >= 0 and a != 1 else 0
        k = i - (ndim - y.ndim)
        b = y.shape[k] if k >= 0 else 1
        steps_y[i] = y.strides[k] if k >= 0 and b != 1 else 0
        shape[i] = a if b == 1 else b
        if a != b and a != 1 and b != 1 or shape[i] == 0:
            return None
    if op.family == FAMILY_COMPARE:
        out = fresh(of_code(BOOL), ndim, shape)
    else:
        out = fresh(x.dtype, ndim, shape)
    for i in range(1, ndim):                         # merge axes where both operands allow it
        if steps_x[at] == steps_x[i] * shape[i] and steps_y[at] == steps_y[i] * shape[i]:
            shape[at] *= shape[i]
        else:
            at += 1
            shape[at] = shape[i]
        steps_x[at], steps_y[at] = steps_x[i], steps_y[i]
    if shape[at] < SHORT and out.numel > FEW or (steps_x[at] == 0 and steps_y[at] == 0):
        return None
    with nogil:
        binary_by_lines(f, x.data(), steps_x, y.data(), steps_y, out.data(), shape, at + 1, x.dtype.itemsize,
                        out.dtype.itemsize)
    return out


cdef bint _table(Op op, str name, bint found) except -1:
    if op.kind != POINTWISE:
        return False
    if op.family == FAMILY_UNARY:
        op.fast = <fast_t>_unary
    elif op.family == FAMILY_BINARY or op.family == FAMILY_COMPARE:
        op.fast = <fast_t>_binary
    return op.family != FAMILY_NONE


offer_table(ELEMENTWISE_TABLE, _table)
