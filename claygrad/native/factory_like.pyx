"""Native forms of zeros_like, new_zeros, to and the like, without a Python frame. None: the declaration runs."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memset

from claygrad.core.op cimport Op, find_op
from claygrad.core.data.device cimport CPU, device
from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.scalar cimport element_of
from claygrad.core.data.layout cimport Layout, dense, fresh, fresh_like, fresh_strided, new_layout, on_cpu, strictly_row_major
from claygrad.core.graph.modes cimport fills_new_memory
from claygrad.native.rearrange cimport fill_with, may_be_channels_last, has_default_strides
from claygrad.native.view cimport sizes_of
from claygrad.core.data.storage cimport new_storage
from claygrad.core.tensor cimport Tensor, mark_created, new_tensor
from claygrad.core.dispatch.registry cimport offer_factory, offer_composite_slots

cdef extern from "Python.h":
    PyObject* PyTuple_GET_ITEM(PyObject* t, Py_ssize_t i)
    Py_ssize_t PyTuple_GET_SIZE(PyObject* t)

# Bytes above which threads are used.
cdef enum:
    FOR_THREADS = 1 << 20


cdef bint _usual(Op op, PyObject** slots, int first, int dtype_at) noexcept:
    """Whether all parameters from `first` on, except dtype, have their defaults."""
    cdef int i
    for i in range(first, op.n_params):
        if i != dtype_at and slots[i] != PyTuple_GET_ITEM(<PyObject*>op.defaults, i):
            return False
    return True


cdef object _filled(Layout out, object value):
    """Fill a new tensor with a number; None: leave it uninitialized."""
    cdef double element[2]
    if type(value) is int and value == 0:
        if out.numel * out.dtype.itemsize < FOR_THREADS:
            memset(out.data(), 0, out.numel * out.dtype.itemsize)
        else:
            element[0] = element[1] = 0
            fill_with(out, element)
    elif value is not None:
        if not element_of(value, out.dtype, element):
            return None
        fill_with(out, element)
    return mark_created(new_tensor(out))


cdef object _like(Op op, PyObject** slots, object value, int first):
    """zeros_like(input, *, dtype, ...) and the like"""
    cdef Layout x = (<Tensor><object>slots[0]).layout, out
    cdef int i
    if not _usual(op, slots, first, first):
        return None
    if <object>slots[first] is not None and type(<object>slots[first]) is not dtype:
        return None
    if has_default_strides(x) or strictly_row_major(x):
        out = fresh_like(x)
    else:
        if not dense(x):
            return None
        for i in range(x.ndim):                    # strides of axes of size 0 or 1 follow other rules
            if x.shape[i] < 2:
                return None
        out = fresh_strided(x.dtype, x.ndim, x.shape, x.strides)
    if <object>slots[first] is not None and <dtype>(<object>slots[first]) is not x.dtype:
        out = fresh_strided(<dtype>(<object>slots[first]), out.ndim, out.shape, out.strides)
    return _filled(out, value)


cdef object _zeros_like(Op op, PyObject** slots):
    return _like(op, slots, 0, 1)


cdef object _ones_like(Op op, PyObject** slots):
    return _like(op, slots, 1, 1)


cdef object _empty_like(Op op, PyObject** slots):
    return None if fills_new_memory() else _like(op, slots, None, 1)


cdef object _full_like(Op op, PyObject** slots):
    return _like(op, slots, <object>slots[1], 2) if <object>slots[1] is not None else None


cdef object _new(Op op, PyObject** slots, object value, int first):
    """new_zeros(input, size, *, dtype, ...) and the like"""
    cdef Layout x = (<Tensor><object>slots[0]).layout
    cdef int64_t shape[64]
    cdef int i, ndim
    cdef object size = <object>slots[1]
    cdef dtype kind = x.dtype
    if not _usual(op, slots, first, first):
        return None
    if <object>slots[first] is not None:
        if type(<object>slots[first]) is not dtype:
            return None
        kind = <dtype>(<object>slots[first])
    ndim = sizes_of((size,) if type(size) is int else size, shape)
    for i in range(ndim):
        if shape[i] < 0:
            return None
    return None if ndim < 0 else _filled(fresh(kind, ndim, shape), value)


cdef object _new_zeros(Op op, PyObject** slots):
    return _new(op, slots, 0, 2)


cdef object _new_ones(Op op, PyObject** slots):
    return _new(op, slots, 1, 2)


cdef object _new_empty(Op op, PyObject** slots):
    return None if fills_new_memory() else _new(op, slots, None, 2)


cdef object _new_full(Op op, PyObject** slots):
    return _new(op, slots, <object>slots[2], 3) if type(<object>slots[1]) is not int and <object>slots[2] is not None else None


cdef object _new_empty_strided(Op op, PyObject** slots):
    """new_empty_strided(input, size, stride, dtype, ...)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef double span = 1
    cdef bint empty = False
    cdef int i, ndim = sizes_of(<object>slots[1], shape)
    if fills_new_memory():
        return None
    if ndim < 0 or sizes_of(<object>slots[2], strides) != ndim or not _usual(op, slots, 3, -1):
        return None
    for i in range(ndim):
        if shape[i] < 0 or strides[i] < 0:
            return None
        span += <double>(shape[i] - 1) * strides[i]
        empty = empty or shape[i] == 0
    if empty:
        span = 0
    if span > 1e12:
        return None
    return mark_created(new_tensor(new_layout(new_storage(<int64_t>span * x.dtype.itemsize), x.dtype, ndim, shape, strides, 0)))


offer_composite_slots("zeros_like", _zeros_like)
offer_composite_slots("ones_like", _ones_like)
offer_composite_slots("empty_like", _empty_like)
offer_composite_slots("full_like", _full_like)
offer_composite_slots("new_zeros", _new_zeros)
offer_composite_slots("new_ones", _new_ones)
offer_composite_slots("new_empty", _new_empty)
offer_composite_slots("new_full", _new_full)
offer_composite_slots("new_empty_strided", _new_empty_strided)


# --- the same in another dtype -------------------------------------------------------------------------------------
cdef bint _in_place_already(object where, Tensor t):
    """Whether a device argument means the CPU, where the tensor is."""
    if not on_cpu(t.layout):
        return False
    if type(where) is str:
        return where == "cpu"
    return type(where) is device and (<device>where).kind == CPU and (<device>where).index is None


cdef enum:
    DEVICE = 0                            # the parameters of `to`, in their order
    DTYPE = 1
    NON_BLOCKING = 2
    COPY = 3
    FORMAT = 4


cdef int _place_of(object name) except -2:
    """Which parameter has this name, or -1."""
    if name == "dtype":
        return DTYPE
    if name == "device":
        return DEVICE
    if name == "non_blocking":
        return NON_BLOCKING
    return COPY if name == "copy" else FORMAT if name == "memory_format" else -1


cdef object _to(PyObject** args, Py_ssize_t n, PyObject* kwnames):
    """to(dtype), to(device, dtype), to(other), each with non_blocking, copy and a memory format, of a tensor in main memory"""
    cdef Tensor t, other
    cdef Py_ssize_t i, at = 1, named = 0 if kwnames == NULL else PyTuple_GET_SIZE(kwnames)
    cdef int place = DEVICE
    cdef unsigned int given = 0
    cdef object kind = None, form = None, value
    cdef bint copies = False
    if n < 1 or n + named < 2 or type(<object>args[0]) is not Tensor:
        return None
    t = <Tensor>args[0]
    if not on_cpu(t.layout):
        return None
    if n > 1 and isinstance(<object>args[1], Tensor):
        other = <Tensor>args[1]
        if not on_cpu(other.layout):
            return None
        kind, place, at, given = other.layout.dtype, NON_BLOCKING, 2, 1 << DEVICE | 1 << DTYPE
    elif n > 1 and type(<object>args[1]) is dtype:
        place, given = DTYPE, 1 << DEVICE
    for i in range(at, n + named):
        value = <object>args[i]
        if i >= n:
            place = _place_of(<object>PyTuple_GET_ITEM(kwnames, i - n))
        if place < 0 or place == FORMAT and i < n or given >> place & 1:
            return None
        given |= 1 << place
        if place == DEVICE:
            if value is not None and not _in_place_already(value, t):
                return None
        elif place == DTYPE:
            if value is not None and type(value) is not dtype:
                return None
            kind = value
        elif place == FORMAT:
            form = value
        elif type(value) is not bool:
            return None
        elif place == COPY:
            copies = value
        place += 1
    if kind is None:
        kind = t.layout.dtype
    if not copies and kind is t.layout.dtype:
        if form is None or getattr(form, "name", None) == "preserve_format":
            return t
        if getattr(form, "name", None) != "channels_last" or not t.layout.contiguous or t.layout.ndim != 4 or (
                may_be_channels_last(t.layout)):
            return None                              # the tensor may already have that format
    elif form is not None and getattr(form, "name", None) != "preserve_format":
        return None
    return find_op("to_copy")(t, kind, form)


offer_factory("to", _to)
