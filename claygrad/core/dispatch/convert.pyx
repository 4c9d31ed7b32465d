"""Arguments that the native form does not take, converted once into ones that it does: halves to float32, broadcast ones copied."""
from cpython.object cimport PyObject

from claygrad.core.op cimport MAX_SLOTS, POINTWISE, Op
from claygrad.core.dispatch.convert_half cimport by_float
from claygrad.core.dispatch.guard cimport HALF, LAYOUT, OTHER, why_not
from claygrad.core.data.layout cimport Layout, in_order, row_major, stretched
from claygrad.core.tensor cimport Tensor, new_tensor

cdef enum:
    MOST = 1 << 24                      # elements that are copied: what is stretched takes no memory, and may be of any size


cdef object converted(Op op, PyObject** slots):
    cdef object result = None
    cdef int why = HALF | LAYOUT if op.takes == NULL else why_not(op, slots)
    if why & OTHER:
        return None
    if why & HALF:
        result = by_float(op, slots)
    if result is None and why & LAYOUT:
        result = _by_copies(op, slots)
    return result


cdef object _by_copies(Op op, PyObject** slots):
    # Results may lie as their operands do: these are copied if that does not change the order of their axes. The result of elements
    # one by one lies as all of its operands do: there the others must be in row-major order too.
    cdef PyObject* copies[MAX_SLOTS]
    cdef list held = []                             # what the slots point to
    cdef int i
    cdef Layout v
    cdef Tensor t
    if op.list_at >= 0:
        return None
    for i in range(op.n_params):
        copies[i] = slots[i]
        if not isinstance(<object>slots[i], Tensor):
            continue
        v = (<Tensor>slots[i]).layout
        if not v.contiguous and stretched(v):
            if v.numel > MOST or not row_major(v):
                return None
            t = new_tensor(in_order(v))
            held.append(t)
            copies[i] = <PyObject*>t
        elif not v.contiguous and op.kind == POINTWISE:
            return None
    if not held:
        return None
    result = op.fast(op, copies, None) if op.fast != NULL else op.many(op, copies)
    return by_float(op, copies) if result is None else result
