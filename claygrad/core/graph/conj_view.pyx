"""Conjugates and negatives that are views: how their values are read and written. Note [Lazy conjugates] is in core/graph/conj_view.pxd."""
import numpy

from cpython.object cimport PyObject
from claygrad.core.cpython.recursion cimport enter_recursion, leave_recursion
from claygrad.core.data.device cimport ACCELERATOR, CPU
from claygrad.core.errors import no_elements
from claygrad.core.data.dtype cimport CAT_COMPLEX, cast_array
from claygrad.core.data.layout cimport CONJ, NEG, SPARSE, Layout, fresh_like, from_array, new_layout
from claygrad.core.data.storage cimport LAZY, storage_on, unusual
from claygrad.core.data.transfer cimport adopt_array
from claygrad.core.tensor cimport Tensor, bare_tensor, requires

cdef int* _unusual = unusual()


cdef Layout with_bits(Layout v, int bits):
    cdef Layout out
    if v.bits == bits:
        return v
    out = new_layout(v.storage, v.dtype, v.ndim, v.shape, v.strides, v.offset)
    out.bits = bits
    if bits:
        _unusual[0] |= LAZY
    return out


cdef Layout resolved(Layout v):
    cdef Layout out
    if not v.bits:
        return v
    if v.bits & SPARSE:
        raise no_elements()
    if v.storage.where.kind == ACCELERATOR:
        return adopt_array(v.storage.where, v.array_there(), v.dtype, True, [])
    if v.storage.where.kind != CPU:
        return new_layout(storage_on(v.storage.where, v.numel * v.dtype.itemsize), v.dtype, v.ndim, v.shape, v.strides, 0)
    if v.contiguous:
        out = fresh_like(v)
        numpy.copyto(out.array(), v.array())
        return out
    array = v.array()
    array.flags.writeable = True                 # the copy becomes the memory of the result
    return from_array(array)


cdef bint _lazy(object value) except -1:
    if isinstance(value, Tensor):
        return (<Tensor>value).layout is not None and (<Tensor>value).layout.bits != 0
    if type(value) is list or type(value) is tuple:
        for x in value:
            if isinstance(x, Tensor) and (<Tensor>x).layout.bits:
                return True
    return False


cdef bint any_lazy(PyObject** slots, int n) except -1:
    cdef int i
    for i in range(n):
        if _lazy(<object>slots[i]):
            return True
    return False


cdef bint any_off_cpu(PyObject** slots, int n) except -1:
    cdef int i
    for i in range(n):
        value = <object>slots[i]
        if isinstance(value, Tensor):
            if (<Tensor>value).layout is not None and (<Tensor>value).layout.storage.where.kind != CPU:
                return True
        elif type(value) is list or type(value) is tuple:
            for x in value:
                if isinstance(x, Tensor) and (<Tensor>x).layout.storage.where.kind != CPU:
                    return True
    return False


cdef object _resolved(object value):
    cdef Tensor out
    if not _lazy(value):
        return value
    if not isinstance(value, Tensor):
        enter_recursion(b" in an argument")
        try:
            return type(value)([_resolved(x) for x in value])
        finally:
            leave_recursion()
    out = bare_tensor()
    out.layout = resolved((<Tensor>value).layout)
    out.inference = (<Tensor>value).inference
    out.leaf_grad = requires(<Tensor>value)      # some checks read it; nothing is recorded
    return out


cdef list resolve(PyObject** slots, int n, PyObject** resolved_slots):
    cdef int i
    cdef list kept = [_resolved(<object>slots[i]) for i in range(n)]
    for i in range(n):
        resolved_slots[i] = <PyObject*>kept[i]
    return kept


cdef int write_lazy(Layout dst, Layout src) except -1:
    cdef Layout memory = with_bits(dst, 0)
    source = src.array()
    if src.dtype.category == CAT_COMPLEX and dst.dtype.category != CAT_COMPLEX:
        source = source["real"] if source.dtype.names else source.real
    source = cast_array(source, dst.dtype.numpy)
    if dst.bits:
        source = with_bits(from_array(source), dst.bits & (CONJ | NEG if dst.dtype.category == CAT_COMPLEX else NEG)).array()
    numpy.copyto(memory.array(), source)
    return 0
