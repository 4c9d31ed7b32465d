"""Fast paths of the operations that only write: copy_, fill_, zero_."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from claygrad.core.declared cimport Op
from claygrad.core.device cimport CPU
from claygrad.core.dtypes cimport F32, F64, I64
from claygrad.core.layout cimport Layout, fresh_like, same_shape
from claygrad.core.tensor cimport Tensor


cdef Layout _zero(Op op, PyObject** slots, Layout target):
    if target is None:
        return None
    memset(target.data(), 0, target.numel * target.dtype.itemsize)
    return target


cdef Layout _copy(Op op, PyObject** slots, Layout target):
    cdef Layout src = (<Tensor><object>slots[1]).layout
    if target is None or src.dtype is not target.dtype or not src.contiguous or not same_shape(src, target):
        return None
    if src.storage.where.kind != CPU or src.storage is target.storage:
        return None
    memcpy(target.data(), src.data(), target.numel * target.dtype.itemsize)
    return target


cdef Layout _fill(Op op, PyObject** slots, Layout target):
    cdef object value = <object>slots[1]
    cdef int64_t i
    cdef float f
    cdef double d
    cdef int64_t n
    if target is None or (type(value) is not float and type(value) is not int):
        return None
    if target.dtype.code == F32:
        f = <float><double>value
        for i in range(target.numel):
            (<float*>target.data())[i] = f
    elif target.dtype.code == F64:
        d = value
        for i in range(target.numel):
            (<double*>target.data())[i] = d
    elif target.dtype.code == I64 and type(value) is int:
        n = value
        for i in range(target.numel):
            (<int64_t*>target.data())[i] = n
    else:
        return None
    return target


cdef Layout _clone(Op op, PyObject** slots, Layout target):
    """clone(input, *, memory_format) of contiguous memory in its own order."""
    cdef Layout v = (<Tensor><object>slots[0]).layout, out
    if target is not None or not v.contiguous or v.storage.where.kind != CPU or slots[1] != <PyObject*>op.defaults[1]:
        return None
    out = fresh_like(v)
    memcpy(out.data(), v.data(), v.numel * v.dtype.itemsize)
    return out


cdef int prepare(Op op) except -1:
    kernel = op.info.get("kernel")
    if kernel == "zero":
        op.fast = _zero
    elif kernel == "copy":
        op.fast = _copy
    elif kernel == "clone":
        op.fast = _clone
    elif kernel == "fill":
        op.fast = _fill
    return 0
