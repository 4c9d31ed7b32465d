"""Composites in their common case, without a Python frame: the one operation that they come to, on the same arguments."""
from cpython.object cimport PyObject

from claygrad.core cimport contract, fft
from claygrad.core.arguments cimport axes
from claygrad.core.call cimport run
from claygrad.core.contract cimport plain
from claygrad.core.declared cimport Op
from claygrad.core.dtypes cimport CAT_FLOAT
from claygrad.core.layout cimport Layout
from claygrad.core.modes cimport modes
from claygrad.core.tensor cimport Tensor, new_tensor


cdef object _extreme(Op op, PyObject** slots):
    """max(input, dim, keepdim, other): of everything, or along an axis. The parts: those two."""
    if <object>slots[3] is not None:
        return None
    if <object>slots[1] is None:
        return run(<Op>op.parts[0], slots)
    return run(<Op>op.parts[1], slots) if type(<object>slots[1]) is int else None


cdef object _median(Op op, PyObject** slots):
    """median(input, dim, keepdim): of everything, or along an axis. The parts: those two."""
    if <object>slots[1] is None:
        return run(<Op>op.parts[0], slots)
    return run(<Op>op.parts[1], slots) if type(<object>slots[1]) is int else None


cdef object _moments(Op op, PyObject** slots):
    """var(input, dim, unbiased, keepdim, correction) and its kin. The part: (input, dim, keepdim, correction)."""
    cdef PyObject* parts[4]
    cdef object dim = <object>slots[1], unbiased = <object>slots[2], correction = <object>slots[4]
    cdef Tensor x = <Tensor><object>slots[0]
    if type(dim) is bool:
        if unbiased is not None:
            return None
        dim, unbiased = None, dim
    if x.layout.dtype.category != CAT_FLOAT or correction is not None and unbiased is not None:
        return None
    if correction is None:
        correction = 0 if unbiased is False else 1
    dim = axes(<Op>op.parts[0], dim, x.layout.ndim)
    parts[0], parts[1], parts[2], parts[3] = slots[0], <PyObject*>dim, slots[3], <PyObject*>correction
    return run(<Op>op.parts[0], parts)


cdef object _norm(Op op, PyObject** slots):
    """norm(input, p, dim, keepdim, dtype). The part: vector_norm(input, ord, dim, keepdim, dtype)."""
    cdef PyObject* parts[5]
    cdef object p = <object>slots[1], dim = <object>slots[2], two = 2
    if type(p) is not int and type(p) is not float:
        if p != "fro" or dim is not None and type(dim) is not int:
            return None
        p = two
    dim = axes(<Op>op.parts[0], dim, (<Tensor><object>slots[0]).layout.ndim)
    parts[0], parts[1], parts[2], parts[3], parts[4] = slots[0], <PyObject*>p, <PyObject*>dim, slots[3], slots[4]
    return run(<Op>op.parts[0], parts)


cdef object _tensordot(Op op, PyObject** slots):
    """tensordot(a, b, dims)"""
    return contract.tensordot(<object>slots[0], <object>slots[1], <object>slots[2])


cdef object _inner(Op op, PyObject** slots):
    """inner(input, other)"""
    return contract.inner(<object>slots[0], <object>slots[1])


cdef object _vecdot(Op op, PyObject** slots):
    """linalg.vecdot(x, y, dim) of two vectors. The part: vdot."""
    cdef Tensor x = <Tensor><object>slots[0], y = <Tensor><object>slots[1]
    if x.layout.ndim != 1 or y.layout.ndim != 1 or x.layout.dtype.category != CAT_FLOAT:
        return None
    return run(<Op>op.parts[0], slots)


cdef object _kron(Op op, PyObject** slots):
    """kron(input, other)"""
    return contract.kron(<object>slots[0], <object>slots[1])


cdef object _fourier(Op op, PyObject** slots):
    """fft.fftn(input, s, dim, norm), its inverse, rfftn, and those of two axes"""
    cdef Layout made
    if modes().autocast or not plain(<object>slots[0]):
        return None
    made = fft.several((<Tensor><object>slots[0]).layout, <object>slots[1], <object>slots[2], <object>slots[3],
                       "rfft" in op.name, "ifft" not in op.name)
    return None if made is None else new_tensor(made)


def shorten(Op op):
    """Give a composite its short way, if the declaration names one."""
    short = op.info.get("short")
    if short == "extreme":
        op.short = _extreme
    elif short == "median":
        op.short = _median
    elif short == "moments":
        op.short = _moments
    elif short == "norm":
        op.short = _norm
    elif short == "tensordot":
        op.short = _tensordot
    elif short == "inner":
        op.short = _inner
    elif short == "vecdot":
        op.short = _vecdot
    elif short == "kron":
        op.short = _kron
    elif short == "fourier":
        op.short = _fourier
