# What native forms take of their arguments. None of them asks for the device: Note [The ladder] in call.pyx.
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.data.dtype cimport F32, F64, I64
from claygrad.core.data.layout cimport Layout, in_order, stretched
from claygrad.core.graph.modes cimport modes
from claygrad.core.tensor cimport Tensor, requires


cdef inline Layout layout_at(PyObject* slot):
    """Of a tensor in row-major order, or None."""
    cdef Layout v
    if not isinstance(<object>slot, Tensor):
        return None
    v = (<Tensor>slot).layout
    return v if v.contiguous else None


cdef inline Layout floats_at(PyObject* slot):
    """The same of one of float32 or float64."""
    cdef Layout v = layout_at(slot)
    return v if v is not None and (v.dtype.code == F32 or v.dtype.code == F64) else None


cdef inline Layout spread_at(PyObject* slot):
    """The same, be it stretched over some axes, as the gradient of a sum is: such a one is copied in row-major order."""
    cdef Layout v
    if not isinstance(<object>slot, Tensor):
        return None
    v = (<Tensor>slot).layout
    if v.dtype.code != F32 and v.dtype.code != F64:
        return None
    return v if v.contiguous else in_order(v) if stretched(v) else None


cdef inline Layout numbers_at(PyObject* slot):
    """The same of one of int64."""
    cdef Layout v = layout_at(slot)
    return v if v is not None and v.dtype.code == I64 else None


cdef inline bint vector_at(PyObject* slot, Layout like, int64_t n, const void** into):
    """The memory of a tensor of n elements of the dtype of another, nothing for None; False if it is neither."""
    cdef Layout v
    into[0] = NULL
    if <object>slot is None:
        return True
    v = layout_at(slot)
    if v is None or v.dtype is not like.dtype or v.numel != n:
        return False
    into[0] = v.data()
    return True


cdef inline bint int_at(object value, int64_t* into):
    """A Python int of moderate size."""
    if type(value) is not int or not -0x40000000 < value < 0x40000000:
        return False
    into[0] = value
    return True


cdef inline bint ints_at(object value, int n, int64_t* into):
    """A number for each of n axes, given one for all of them or as many."""
    cdef int i
    cdef Py_ssize_t count
    if type(value) is int:
        if not int_at(value, into):
            return False
        for i in range(1, n):
            into[i] = into[0]
        return True
    if not isinstance(value, (tuple, list)):
        return False
    count = len(value)
    if count != n and count != 1:
        return False
    for i in range(n):
        if not int_at(value[i if count == n else 0], into + i):
            return False
    return True


cdef inline tuple tuple_of(int n, const int64_t* values):
    if n == 1:
        return (values[0],)
    if n == 2:
        return (values[0], values[1])
    if n == 3:
        return (values[0], values[1], values[2])
    return tuple([values[i] for i in range(n)])


cdef inline bint recording(PyObject* slot):
    """Whether what is computed of this tensor is recorded."""
    return (not modes().no_grad and not modes().inference and isinstance(<object>slot, Tensor)
            and requires(<Tensor>slot))


cdef inline bint vector_or_none(PyObject* slot, Layout x, int64_t n):
    """A vector of n elements in the dtype of x, or nothing."""
    cdef Layout v
    if <object>slot is None:
        return True
    v = layout_at(slot)
    return v is not None and v.dtype is x.dtype and v.ndim == 1 and v.numel == n
