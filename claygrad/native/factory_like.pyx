"""Native forms of zeros_like, new_zeros, to and the like, without a Python frame. None: the declaration runs."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memset

from claygrad.core.op cimport Op, composite_slots_t, find_op
from claygrad.core.data.device cimport CPU, device
from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.scalar cimport element_of
from claygrad.core.data.layout cimport Layout, dense, fresh, fresh_like, fresh_strided, new_layout, on_cpu, strictly_row_major
from claygrad.core.graph.modes cimport fills_new_memory
from claygrad.native.rearrange cimport fill_with, may_be_channels_last, has_default_strides
from claygrad.native.view cimport sizes_of
from claygrad.core.data.storage cimport new_storage
from claygrad.core.tensor cimport Tensor, mark_created, new_tensor
from claygrad.core.dispatch.guard cimport Slot
from claygrad.core.dispatch.registry cimport offer_factory, offer_composite_slots

cdef extern from "Python.h":
    PyObject* PyTuple_GET_ITEM(PyObject* t, Py_ssize_t i)
    Py_ssize_t PyTuple_GET_SIZE(PyObject* t)

# Bytes above which threads are used.
cdef enum:
    FOR_THREADS = 1 << 20


cdef struct Like:
    Slot input, dtype
cdef struct FullLike:
    Slot input, fill_value, dtype
cdef struct New:
    Slot input, size, dtype
cdef struct NewFull:
    Slot input, size, fill_value, dtype
cdef struct NewEmptyStrided:
    Slot input, size, stride, dtype


cdef bint _usual(Op op, PyObject** rest, int at) noexcept:
    """Whether the parameters from number `at` on have their defaults."""
    cdef int i
    for i in range(at, op.n_params):
        if rest[i - at] != PyTuple_GET_ITEM(<PyObject*>op.defaults, i):
            return False
    return True


cdef inline dtype _kind(PyObject* given, Layout x):
    """The dtype that is asked for, by default that of x; None: it is none."""
    if given == <PyObject*>None:
        return x.dtype
    return <dtype>given if type(<object>given) is dtype else None


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


cdef object _like(Op op, PyObject* input, PyObject** asked, int at, object value):
    """zeros_like and the like; `asked`: the dtype, which is parameter number `at`, and what comes after it."""
    cdef Layout x = (<Tensor>input).layout, out
    cdef dtype kind = _kind(asked[0], x)
    cdef int i
    if kind is None or not _usual(op, asked + 1, at + 1):
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
    if kind is not x.dtype:
        out = fresh_strided(kind, out.ndim, out.shape, out.strides)
    return _filled(out, value)


cdef object _zeros_like(Op op, Like* a):
    return _like(op, a.input, &a.dtype, 1, 0)


cdef object _ones_like(Op op, Like* a):
    return _like(op, a.input, &a.dtype, 1, 1)


cdef object _empty_like(Op op, Like* a):
    return None if fills_new_memory() else _like(op, a.input, &a.dtype, 1, None)


cdef object _full_like(Op op, FullLike* a):
    return _like(op, a.input, &a.dtype, 2, <object>a.fill_value) if a.fill_value != <PyObject*>None else None


cdef object _new(Op op, New* a, PyObject** asked, int at, object value):
    """new_zeros and the like; `asked` as above."""
    cdef Layout x = (<Tensor>a.input).layout
    cdef int64_t shape[64]
    cdef int i, ndim
    cdef object size = <object>a.size
    cdef dtype kind = _kind(asked[0], x)
    if kind is None or not _usual(op, asked + 1, at + 1):
        return None
    ndim = sizes_of((size,) if type(size) is int else size, shape)
    for i in range(ndim):
        if shape[i] < 0:
            return None
    return None if ndim < 0 else _filled(fresh(kind, ndim, shape), value)


cdef object _new_zeros(Op op, New* a):
    return _new(op, a, &a.dtype, 2, 0)


cdef object _new_ones(Op op, New* a):
    return _new(op, a, &a.dtype, 2, 1)


cdef object _new_empty(Op op, New* a):
    return None if fills_new_memory() else _new(op, a, &a.dtype, 2, None)


cdef object _new_full(Op op, NewFull* a):
    if type(<object>a.size) is int or a.fill_value == <PyObject*>None:
        return None
    return _new(op, <New*>a, &a.dtype, 3, <object>a.fill_value)


cdef object _new_empty_strided(Op op, NewEmptyStrided* a):
    cdef Layout x = (<Tensor>a.input).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef double span = 1
    cdef bint empty = False
    cdef int i, ndim = sizes_of(<object>a.size, shape)
    if fills_new_memory():
        return None
    if ndim < 0 or sizes_of(<object>a.stride, strides) != ndim or not _usual(op, &a.dtype, 3):
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


offer_composite_slots("zeros_like", <composite_slots_t>_zeros_like)
offer_composite_slots("ones_like", <composite_slots_t>_ones_like)
offer_composite_slots("empty_like", <composite_slots_t>_empty_like)
offer_composite_slots("full_like", <composite_slots_t>_full_like)
offer_composite_slots("new_zeros", <composite_slots_t>_new_zeros)
offer_composite_slots("new_ones", <composite_slots_t>_new_ones)
offer_composite_slots("new_empty", <composite_slots_t>_new_empty)
offer_composite_slots("new_full", <composite_slots_t>_new_full)
offer_composite_slots("new_empty_strided", <composite_slots_t>_new_empty_strided)


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
