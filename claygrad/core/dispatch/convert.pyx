"""Convert arguments once to what the native form takes: half precision to float32, broadcast tensors to contiguous copies."""
from cpython.object cimport PyObject

from claygrad.core.op cimport MAX_SLOTS, POINTWISE, Op
from claygrad.core.dispatch.convert_half cimport by_float
from claygrad.core.dispatch.guard cimport HALF, LAYOUT, OTHER, why_not
from claygrad.core.data.layout cimport Layout, as_contiguous, row_major, is_broadcast
from claygrad.core.tensor cimport Tensor, new_tensor

cdef enum:
    MAX_COPIED = 1 << 24                      # elements: a broadcast tensor may be far larger than its memory


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
    # The strides of a result may follow those of the operands, so a copy must not change the order of axes. An elementwise result
    # follows all operands: there the others must be row-major too.
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
        if not v.contiguous and is_broadcast(v):
            if v.numel > MAX_COPIED or not row_major(v):
                return None
            t = new_tensor(as_contiguous(v))
            held.append(t)
            copies[i] = <PyObject*>t
        elif not v.contiguous and op.kind == POINTWISE:
            return None
    if not held:
        return None
    result = op.fast(op, copies, None)
    return by_float(op, copies) if result is None else result
