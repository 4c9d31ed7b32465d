"""Native forms of factories for their common arguments, without a Python frame. None: the declaration runs."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from claygrad.core.data.device cimport CPU, parse as parse_device
from claygrad.core.data.dtype cimport BOOL, C64, C128, CAT_FLOAT, F32, F64, I64, default_float, dtype, of_code
from claygrad.core.data.dtype cimport parse as parse_dtype
from claygrad.core.data.scalar cimport element_of, number_at
from claygrad.core.data.layout cimport Layout, fresh, fresh_strided, on_cpu
from claygrad.core.graph.modes cimport fills_new_memory
from claygrad.native.rearrange cimport fill_with
from claygrad.native.view cimport sizes_of
from claygrad.core.dispatch.promotion cimport broadcast
from claygrad.core.tensor cimport Tensor, mark_created, new_tensor, requires
from claygrad.core.dispatch.call cimport view_by
from claygrad.core.dispatch.registry cimport offer_factory

cdef extern from "index/strided.hpp" namespace "clay" nogil:
    bint count_up(int dtype, void* out, double start, double step, int64_t n) noexcept
    bint count_between(int dtype, void* out, double start, double end, int64_t n) noexcept
    bint among(int dtype, const void* x, const void* others, uint8_t* out, int64_t n, int64_t m, bint invert) noexcept
    bint powers_between(int dtype, void* out, double start, double end, double base, int64_t n) noexcept

cdef extern from "Python.h":
    PyObject* PyTuple_GET_ITEM(PyObject* t, Py_ssize_t i)
    Py_ssize_t PyTuple_GET_SIZE(PyObject* t)


# --- options -----------------------------------------------------------------------------------------------------
cdef struct Asked:
    PyObject* kind                       # dtype, or NULL
    bint leaf                            # requires_grad


cdef bint _options(PyObject** values, PyObject* kwnames, Asked* asked) except -1:
    """Read the keywords of a factory; False if there are others than dtype, requires_grad and defaults."""
    cdef Py_ssize_t i
    asked.kind = NULL
    asked.leaf = False
    if parse_device(None).kind != CPU:
        return False
    if kwnames == NULL:
        return True
    for i in range(PyTuple_GET_SIZE(kwnames)):
        name, value = <object>PyTuple_GET_ITEM(kwnames, i), <object>values[i]
        if name == "dtype":
            if value is not None:
                kind = parse_dtype(value)
                if kind is None:
                    return False
                asked.kind = <PyObject*>kind     # borrowed: dtypes are never freed
        elif name == "requires_grad":
            if value is not True and value is not False:
                return False
            asked.leaf = value is True
        elif name == "device":
            if value is not None and value != "cpu" and parse_device(value).kind != CPU:
                return False
        elif name == "pin_memory":
            if value is not False:
                return False
        elif name != "out" and name != "layout" or value is not None:
            return False
    return True


cdef inline dtype _kind(Asked* asked, dtype natural):
    return natural if asked.kind == NULL else <dtype>asked.kind


cdef object _finished(Layout out, Asked* asked):
    cdef Tensor t
    if asked.leaf and out.dtype.category < CAT_FLOAT:
        return None
    t = mark_created(new_tensor(out))
    t.leaf_grad = asked.leaf
    return t


cdef int _size(PyObject** args, Py_ssize_t n, int64_t* shape) except -2:
    """Read a shape from f(2, 3) or f((2, 3)); -1 for anything else or a negative size."""
    cdef int i, ndim
    if n == 1 and type(<object>args[0]) is not int:
        ndim = sizes_of(<object>args[0], shape)
    elif n == 0 or n > 32:
        return -1
    else:
        ndim = n
        for i in range(ndim):
            if type(<object>args[i]) is not int or not 0 <= <object>args[i] < 0x40000000:
                return -1
            shape[i] = <object>args[i]
        return ndim
    for i in range(ndim):
        if shape[i] < 0:
            return -1
    return ndim


cdef object _uniform(PyObject** args, Py_ssize_t n, PyObject* kwnames, object value):
    """A new tensor of this shape filled with a number; None: uninitialized."""
    cdef int64_t shape[64]
    cdef double element[2]
    cdef Asked asked
    cdef dtype kind
    cdef Layout out
    cdef int ndim = _size(args, n, shape)
    if ndim < 0 or not _options(args + n, kwnames, &asked):
        return None
    kind = _kind(&asked, default_float())
    if value is not None and not element_of(value, kind, element):
        return None
    out = fresh(kind, ndim, shape)
    if value == 0:
        memset(out.data(), 0, out.numel * kind.itemsize)
    elif value is not None:
        fill_with(out, element)
    return _finished(out, &asked)


cdef object _zeros(PyObject** args, Py_ssize_t n, PyObject* kwnames):
    return _uniform(args, n, kwnames, 0)


cdef object _ones(PyObject** args, Py_ssize_t n, PyObject* kwnames):
    return _uniform(args, n, kwnames, 1)


cdef object _empty(PyObject** args, Py_ssize_t n, PyObject* kwnames):
    return None if fills_new_memory() else _uniform(args, n, kwnames, None)


cdef dtype _natural(object value):
    if type(value) is complex:
        return of_code(C128) if default_float().code == F64 else of_code(C64) if default_float().code == F32 else default_float()
    return of_code(BOOL) if type(value) is bool else of_code(I64) if type(value) is int else default_float()


cdef object _full(PyObject** args, Py_ssize_t n, PyObject* kwnames):
    """full(size, fill_value)"""
    cdef int64_t shape[64]
    cdef double element[2]
    cdef Asked asked
    cdef dtype kind
    cdef Layout out
    cdef int i, ndim
    if n != 2 or type(<object>args[0]) is int or not _options(args + n, kwnames, &asked):
        return None
    ndim = sizes_of(<object>args[0], shape)
    for i in range(ndim):
        if shape[i] < 0:
            return None
    kind = _kind(&asked, _natural(<object>args[1]))
    if ndim < 0 or not element_of(<object>args[1], kind, element):
        return None
    out = fresh(kind, ndim, shape)
    fill_with(out, element)
    return _finished(out, &asked)


cdef object _scalar_tensor(PyObject** args, Py_ssize_t n, PyObject* kwnames):
    """scalar_tensor(s)"""
    cdef double element[2]
    cdef Asked asked
    cdef dtype kind
    cdef Layout out
    if n != 1 or not _options(args + n, kwnames, &asked):
        return None
    kind = _kind(&asked, default_float())
    if not element_of(<object>args[0], kind, element):
        return None
    out = fresh(kind, 0, NULL)
    fill_with(out, element)
    return _finished(out, &asked)


cdef object _eye(PyObject** args, Py_ssize_t n, PyObject* kwnames):
    """eye(n, m)"""
    cdef int64_t shape[64]
    cdef int64_t i, item
    cdef double element[2]
    cdef Asked asked
    cdef dtype kind
    cdef Layout out
    if n == 0 or n > 2 or type(<object>args[0]) is not int or _size(args, n, shape) < 0 or not _options(args + n, kwnames, &asked):
        return None
    if n == 1:
        shape[1] = shape[0]
    kind = _kind(&asked, default_float())
    if not element_of(1, kind, element):
        return None
    out, item = fresh(kind, 2, shape), kind.itemsize
    memset(out.data(), 0, out.numel * item)
    cdef char* to = out.data()
    for i in range(min(shape[0], shape[1])):
        memcpy(to + i * (shape[1] + 1) * item, element, item)
    return _finished(out, &asked)


# --- ranges ------------------------------------------------------------------------------------------------------
cdef object _number(object value):
    """A Python number, or the value of a 0-dim tensor; None for anything else."""
    cdef Layout v
    if type(value) is int or type(value) is float:
        return value
    if type(value) is Tensor and not requires(<Tensor>value):          # else its gradient would be lost
        v = (<Tensor>value).layout
        if v.ndim == 0 and on_cpu(v) and (v.dtype.code == F32 or v.dtype.code == F64 or v.dtype.code == I64):
            return number_at(v, v.offset)
    return None


cdef int64_t FAR = 0x10000000000         # max bound without overflow


cdef object _arange(PyObject** args, Py_ssize_t n, PyObject* kwnames):
    """arange(end), arange(start, end), arange(start, end, step)"""
    cdef Asked asked
    cdef double first, last, by, size
    cdef int64_t count, i, a, step
    cdef int64_t* to
    cdef Layout out
    cdef dtype kind
    if n < 1 or n > 3 or not _options(args + n, kwnames, &asked):
        return None
    start = _number(<object>args[0]) if n > 1 else 0
    end = _number(<object>args[0 if n == 1 else 1])
    by_ = _number(<object>args[2]) if n > 2 else 1
    if start is None or end is None or by_ is None:
        return None
    if type(start) is int and type(end) is int and type(by_) is int:
        if not (-FAR < start < FAR and -FAR < end < FAR and -FAR < by_ < FAR):
            return None
        kind = _kind(&asked, of_code(I64))
    else:
        kind = _kind(&asked, default_float())
    if kind.code == I64:
        if type(start) is not int or type(end) is not int or type(by_) is not int:
            return None
        a, step = start, by_
        if step == 0 or step > 0 and end < start or step < 0 and end > start:
            return None
        count = <int64_t>end - a
        count = (count + step + (-1 if step > 0 else 1)) // step
        out = fresh(kind, 1, &count)
        to = <int64_t*>out.data()
        with nogil:
            for i in range(count):
                to[i] = a + i * step
        return _finished(out, &asked)
    if kind.code != F32 and kind.code != F64:
        return None
    first, last, by = start, end, by_
    if not (by > 0 and last >= first or by < 0 and last <= first) or last - last != 0 or first - first != 0:
        return None
    size = (last - first) / by
    if not size < 0x40000000:
        return None
    count = <int64_t>size
    count += count < size
    out = fresh(kind, 1, &count)
    with nogil:
        count_up(kind.code, out.data(), first, by, count)
    return _finished(out, &asked)


cdef object _between(PyObject** args, Py_ssize_t n, PyObject* kwnames, bint powers):
    cdef Asked asked
    cdef double element[2]
    cdef double first, last, base = 10
    cdef int64_t count
    cdef Layout out
    cdef dtype kind
    if n < 3 or n > 3 + powers or not _options(args + n, kwnames, &asked) or type(<object>args[2]) is not int:
        return None
    kind = _kind(&asked, default_float())
    start, end = _number(<object>args[0]), _number(<object>args[1])
    if start is None or end is None or (kind.code != F32 and kind.code != F64) or not 0 <= <object>args[2] < 0x40000000:
        return None
    if not element_of(start, kind, element) or not element_of(end, kind, element):
        return None
    first, last, count = start, end, <object>args[2]
    if n == 4:
        if type(<object>args[3]) is not int and type(<object>args[3]) is not float:
            return None
        base = <object>args[3]
        if not base >= 0:
            return None
    out = fresh(kind, 1, &count)
    with nogil:
        if powers:
            powers_between(kind.code, out.data(), first, last, base, count)
        else:
            count_between(kind.code, out.data(), first, last, count)
    return _finished(out, &asked)


cdef object _linspace(PyObject** args, Py_ssize_t n, PyObject* kwnames):
    """linspace(start, end, steps)"""
    return _between(args, n, kwnames, False)


cdef object _logspace(PyObject** args, Py_ssize_t n, PyObject* kwnames):
    """logspace(start, end, steps, base)"""
    return _between(args, n, kwnames, True)


cdef object _triangle(PyObject** args, Py_ssize_t n, PyObject* kwnames, bint lower):
    """Row and column indices of the elements on one side of a diagonal, which is included."""
    cdef Asked asked
    cdef int64_t size[64]
    cdef int64_t shape[2]
    cdef int64_t offset = 0, at = 0, row, column, edge
    cdef int64_t* to
    cdef Layout out
    if n < 2 or n > 3 or type(<object>args[0]) is not int or _size(args, 2, size) < 0 or not _options(args + n, kwnames, &asked):
        return None
    if n == 3:
        if type(<object>args[2]) is not int or not -FAR < <object>args[2] < FAR:
            return None
        offset = <object>args[2]
    if _kind(&asked, of_code(I64)).code != I64:
        return None
    shape[0], shape[1] = 2, 0
    for row in range(size[0]):
        edge = min(max(row + offset + lower, 0), size[1])
        shape[1] += edge if lower else size[1] - edge
    out = fresh(of_code(I64), 2, shape)
    to = <int64_t*>out.data()
    with nogil:
        for row in range(size[0]):
            edge = min(max(row + offset + lower, 0), size[1])
            for column in range(0 if lower else edge, edge if lower else size[1]):
                to[at] = row
                to[shape[1] + at] = column
                at += 1
    return _finished(out, &asked)


cdef object _tril_indices(PyObject** args, Py_ssize_t n, PyObject* kwnames):
    """tril_indices(row, col, offset)"""
    return _triangle(args, n, kwnames, True)


cdef object _triu_indices(PyObject** args, Py_ssize_t n, PyObject* kwnames):
    """triu_indices(row, col, offset)"""
    return _triangle(args, n, kwnames, False)


cdef object _empty_permuted(PyObject** args, Py_ssize_t n, PyObject* kwnames):
    """empty_permuted(size, physical_layout)"""
    cdef int64_t shape[64]
    cdef int64_t order[64]
    cdef int64_t strides[64]
    cdef int64_t step = 1
    cdef unsigned long long seen = 0
    cdef Asked asked
    cdef dtype kind
    cdef int i, ndim
    if n != 2 or fills_new_memory() or not _options(args + n, kwnames, &asked):
        return None
    ndim = sizes_of(<object>args[0], shape)
    if ndim < 0 or sizes_of(<object>args[1], order) != ndim:
        return None
    for i in range(ndim):
        if shape[i] < 1 or order[i] < 0 or order[i] >= ndim or seen >> order[i] & 1:
            return None
        seen |= 1ULL << order[i]
    for i in range(ndim - 1, -1, -1):
        strides[order[i]] = step
        step *= shape[order[i]]
        if step > FAR:
            return None
    kind = _kind(&asked, default_float())
    return _finished(fresh_strided(kind, ndim, shape, strides), &asked)


cdef object _broadcast_tensors(PyObject** args, Py_ssize_t n, PyObject* kwnames):
    """broadcast_tensors(*tensors)"""
    cdef int64_t wide[64]
    cdef Layout v
    cdef Py_ssize_t i
    cdef int k, ndim = 0
    if kwnames != NULL or n == 0:
        return None
    for i in range(n):
        if type(<object>args[i]) is not Tensor:
            return None
        ndim = broadcast((<Tensor>args[i]).layout, wide, ndim)
        if ndim < 0:
            return None
    shape = tuple([wide[64 - ndim + k] for k in range(ndim)])
    out = []
    for i in range(n):
        v = (<Tensor>args[i]).layout
        if v.ndim == ndim:
            for k in range(ndim):
                if v.shape[k] != wide[64 - ndim + k]:
                    break
            else:
                out.append(<object>args[i])
                continue
        out.append(view_by("expand", <object>args[i], shape, False, None, None))
    return tuple(out)


cdef object _isin(PyObject** args, Py_ssize_t n, PyObject* kwnames):
    """isin(elements, test_elements, *, assume_unique, invert) of few test elements"""
    cdef Layout x, others, out
    cdef bint invert = False, done
    cdef Py_ssize_t i
    if n != 2 or type(<object>args[0]) is not Tensor or type(<object>args[1]) is not Tensor:
        return None
    for i in range(0 if kwnames == NULL else PyTuple_GET_SIZE(kwnames)):
        name, value = <object>PyTuple_GET_ITEM(kwnames, i), <object>args[n + i]
        if value is not True and value is not False or name != "invert" and name != "assume_unique":
            return None
        invert = value is True if name == "invert" else invert
    x, others = (<Tensor>args[0]).layout, (<Tensor>args[1]).layout
    if x.dtype is not others.dtype or not x.contiguous or not others.contiguous or others.numel > 64:
        return None
    if not on_cpu(x) or not on_cpu(others):
        return None
    out = fresh(of_code(BOOL), x.ndim, x.shape)
    with nogil:
        done = among(x.dtype.code, x.data(), others.data(), <uint8_t*>out.data(), x.numel, others.numel, invert)
    return new_tensor(out) if done else None


offer_factory("zeros", _zeros)
offer_factory("ones", _ones)
offer_factory("empty", _empty)
offer_factory("full", _full)
offer_factory("scalar_tensor", _scalar_tensor)
offer_factory("eye", _eye)
offer_factory("arange", _arange)
offer_factory("linspace", _linspace)
offer_factory("logspace", _logspace)
offer_factory("tril_indices", _tril_indices)
offer_factory("triu_indices", _triu_indices)
offer_factory("empty_permuted", _empty_permuted)
offer_factory("broadcast_tensors", _broadcast_tensors)
offer_factory("isin", _isin)
