"""Native forms of elementwise operations with scalar parameters, of losses, glu, casts and frexp."""
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t

from claygrad.core.op cimport POINTWISE, Op, fast_t
from claygrad.core.data.dtype cimport I32, N_NATIVE, dtype, of_code
from claygrad.native.elementwise_strided cimport cast_apart
from claygrad.core.data.scalar cimport cast_between, cast_fn
from claygrad.core.graph.inplace cimport write_layout
from claygrad.core.data.kernels cimport binary_by_lines, binary_fn, find
from claygrad.core.data.layout cimport (Layout, Lines, as_contiguous, axis_in, dense, fresh, fresh_like, fresh_strided, lines_along,
                                        same_shape, strictly_row_major)
from claygrad.native.rearrange cimport channels_at_the_end
from claygrad.native.elementwise cimport fresh_run, numbers_of, same_run, is_permuted, uniform
from claygrad.core.dispatch.guard cimport Arg, Slot, form_t
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.registry cimport PARAMS_TABLE, offer, offer_slots, offer_table, take_loops

cdef extern from "elementwise/params.hpp" namespace "clay" nogil:
    ctypedef void (*shaped_fn)(const void*, const void*, const void*, void*, int64_t, int, double, double) noexcept nogil
    ctypedef void (*total_fn)(const void*, const void*, void*, int64_t, double, double, double) noexcept nogil
    ctypedef void (*gate_fn)(const void*, const void*, void*, int64_t, int64_t) noexcept nogil


cdef extern from "elementwise/plan.hpp" namespace "clay" nogil:
    bint split_floats(int, const void*, void*, int32_t*, int64_t) noexcept


cdef struct Glu:
    Arg input, dim
cdef struct GluBackward:
    Arg grad_output, input, dim
cdef struct Frexp:
    Arg input
cdef struct ToCopy:
    Slot input, dtype, memory_format


cdef inline Layout _of(PyObject* slot):
    return (<Tensor><object>slot).layout if isinstance(<object>slot, Tensor) else None


cdef bint _one(Layout v, Layout like) noexcept:
    """Whether it is a single element, or one element broadcast to the shape of the other tensor."""
    return (v.numel == 1 and v.ndim <= like.ndim or same_shape(v, like) and uniform(v))


cdef Layout _shaped(Op op, PyObject** slots, Layout target):
    """Gradient, saved tensor and perhaps a third: all of one shape, the first and the last also a single element."""
    cdef Layout a = _of(slots[0]), b = _of(slots[1]), c = None, out
    cdef double numbers[2]
    cdef int ones = 0
    cdef bint contiguous
    if target is not None or a is None or b is None or a.dtype is not b.dtype:
        return None
    cdef shaped_fn f = <shaped_fn>op.kernels[b.dtype.code]
    if f == NULL or b.numel == 0:
        return None
    contiguous = b.contiguous
    if not contiguous and not is_permuted(b):
        return None
    if op.n_tensors == 3:
        c = _of(slots[2])
        if c is None or c.dtype is not b.dtype:
            return None
        if not (c.contiguous and same_shape(c, b) if contiguous else same_run(c, b)):
            if not _one(c, b):
                return None
            ones = 4
    if not (a.contiguous and same_shape(a, b) if contiguous else same_run(a, b)):
        if not _one(a, b):
            return None
        ones |= 1
    if not numbers_of(op, slots, numbers):
        return None
    out = fresh_like(b) if contiguous else fresh_run(b, b.dtype)
    cdef const void* third = NULL if c is None else c.data()
    with nogil:
        f(a.data(), b.data(), third, out.data(), b.numel, ones, numbers[0], numbers[1])
    return out


cdef Layout _loss(Op op, PyObject** slots, Layout target):
    """An elementwise loss, with reduction 'none', 'mean' or 'sum' in the same pass."""
    cdef Layout x = _of(slots[0]), y = _of(slots[1]), out
    cdef double numbers[2]
    cdef int i
    cdef bint permuted = False
    if target is not None or x is None or y is None or x.dtype is not y.dtype or not same_shape(x, y) or x.numel == 0:
        return None
    if op.kernels[x.dtype.code] == NULL or not numbers_of(op, slots, numbers):
        return None
    reduction = "none"
    for i in range(2, op.n_params):
        if type(<object>slots[i]) is str:
            reduction = <object>slots[i]
    if not x.contiguous or not y.contiguous:
        permuted = is_permuted(x) and same_run(x, y)               # then in the order of memory
        if reduction == "none" and not permuted:
            return None
        x, y = x if permuted else as_contiguous(x), y if permuted else as_contiguous(y)
    cdef double factor = 1.0 / x.numel if reduction == "mean" else 1.0
    if reduction == "none":
        out = fresh_run(x, x.dtype) if permuted else fresh_like(x)
        with nogil:
            (<shaped_fn>op.kernels[x.dtype.code])(x.data(), y.data(), NULL, out.data(), x.numel, 0, numbers[0], numbers[1])
        return out
    out = fresh(x.dtype, 0, NULL)
    with nogil:
        (<total_fn>op.number_kernels[x.dtype.code])(x.data(), y.data(), out.data(), x.numel, factor, numbers[0], numbers[1])
    return out


cdef int _halved(Layout x, const Arg* dim, Lines* s) noexcept:
    """The axis that glu splits in two, with the sizes around it; -1 if it cannot."""
    cdef int d = axis_in(dim.value, x.ndim)
    if d < 0 or x.shape[d] % 2:
        return -1
    s[0] = lines_along(x.ndim, x.shape, d)
    return d


cdef Layout _glu(Op op, Glu* a):
    cdef Layout x = <Layout>a.input.layout, out
    cdef int64_t sizes[2]
    cdef int64_t steps[2]
    cdef int64_t shape[64]
    cdef Lines s
    cdef int i, d = _halved(x, &a.dim, &s)
    if d < 0:
        return None
    for i in range(x.ndim):
        shape[i] = x.shape[i] // 2 if i == d else x.shape[i]
    out = fresh(x.dtype, x.ndim, shape)
    sizes[0], sizes[1] = s.outer, s.n // 2 * s.inner
    steps[0], steps[1] = 2 * sizes[1], 1
    cdef char* second = x.data() + sizes[1] * x.dtype.itemsize
    with nogil:
        binary_by_lines(<binary_fn>op.kernels[x.dtype.code], x.data(), steps, second, steps, out.data(), sizes, 2,
                        x.dtype.itemsize, x.dtype.itemsize)
    return out


cdef Layout _glu_backward(Op op, GluBackward* a):
    cdef Layout g = <Layout>a.grad_output.layout, x = <Layout>a.input.layout, out
    cdef Lines s
    if _halved(x, &a.dim, &s) < 0 or 2 * g.numel != x.numel or g.ndim != x.ndim:
        return None
    out = fresh_like(x)
    with nogil:
        (<gate_fn>op.kernels[x.dtype.code])(g.data(), x.data(), out.data(), s.outer, s.n // 2 * s.inner)
    return out


cdef Layout _to_cast(Layout x):
    """x, if it is dense and the result of a cast has the same strides; else None."""
    cdef int64_t step = 1
    cdef int i
    cdef bint row_major = True
    for i in range(x.ndim - 1, -1, -1):
        row_major = row_major and x.strides[i] == step
        step *= x.shape[i]
    if row_major:
        return x
    for i in range(x.ndim):                          # strides of axes of size 1 follow other rules
        if x.shape[i] == 1:
            return None
    return x if dense(x) else None


cdef Layout _cast(Op op, ToCopy* a, Layout target):
    cdef Layout x = (<Tensor>a.input).layout, out
    cdef object form = <object>a.memory_format
    cdef dtype wanted
    if target is not None or x.numel == 0 or not isinstance(<object>a.dtype, dtype):
        return None
    wanted = <dtype>a.dtype
    name = getattr(form, "name", None)
    if name == "channels_last" and x.ndim == 4 and wanted is x.dtype:
        return channels_at_the_end(x)
    if form is not None and name != "preserve_format" and name != "contiguous_format":
        return None
    cdef bint row_major = name == "contiguous_format"
    if wanted is x.dtype:
        if row_major or not x.contiguous and strictly_row_major(x) and not dense(x):
            out = fresh(wanted, x.ndim, x.shape)
        elif _to_cast(x) is None:
            return None
        else:
            out = fresh_run(x, wanted)
        write_layout(out, x)
        return out
    cdef cast_fn f = cast_between(x.dtype.code, wanted.code)
    if f == NULL:
        return None
    if not x.contiguous and (row_major or strictly_row_major(x) and not dense(x)):
        out = fresh(wanted, x.ndim, x.shape)
        cast_apart(f, x, out)
        return out
    x = x if row_major else _to_cast(x)
    if x is None:
        return None
    if row_major:
        out = fresh(wanted, x.ndim, x.shape)
    else:
        out = fresh_strided(wanted, x.ndim, x.shape, x.strides)
    with nogil:
        f(x.data(), out.data(), x.numel)
    return out


cdef list _frexp(Op op, Frexp* a):
    """Mantissas and exponents."""
    cdef Layout x = <Layout>a.input.layout, mantissa = fresh_like(x), exponent = fresh(of_code(I32), x.ndim, x.shape)
    split_floats(x.dtype.code, x.data(), mantissa.data(), <int32_t*>exponent.data(), x.numel)
    return [mantissa, exponent]


offer_slots("cast", <fast_t>_cast)
offer("frexp", <form_t>_frexp, "input: float")
offer("glu_halves", <form_t>_glu, "input: kernel nonempty").loops = (b"binary", b"glu")
offer("glu_backward", <form_t>_glu_backward, "grad_output: kernel broadcast, input: same nonempty").loops = (b"gate", b"glu")


cdef bint _table(Op op, str kernel, bint found) except -1:
    """Give an operation its kernel from these tables."""
    cdef int code
    cdef bytes name = kernel.encode()
    if found or not take_loops(op, b"shaped", name):
        return False
    if op.kind == POINTWISE:
        op.fast = <fast_t>_shaped
        return True
    for code in range(N_NATIVE):
        op.number_kernels[code] = find(b"total", name, code)
    op.fast = <fast_t>_loss
    return True


offer_table(PARAMS_TABLE, _table)
