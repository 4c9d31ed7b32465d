"""Half precision by the native form for float32, complex32 by that for complex64: the same values as the reference (Note [Half
precision] in core/dispatch/reference.pyx), but cast by a kernel and computed by the native form."""
import numpy

cimport numpy as cnp
from cpython.object cimport PyObject

from claygrad.core.op cimport MAX_SLOTS, P_TENSORS, POINTWISE, PROMOTE_NONE, REDUCTION, Op
from claygrad.core.data.dtype cimport BF16, C32, C64, CAT_FLOAT, F16, F32, dtype, of_code, wider
from claygrad.core.data.scalar cimport cast_between, cast_fn
from claygrad.core.data.layout cimport Layout, dense, strictly_row_major, fresh_strided, from_array, as_contiguous
from claygrad.core.dispatch.promotion cimport result_code
from claygrad.core.tensor cimport Tensor, new_tensor

cnp.import_array()

cdef enum:
    RELEASE = 32768                     # elements above which a cast runs without the interpreter lock


cdef Layout cast_half(Layout v, dtype want):
    """The elements in another of these dtypes, with the same strides; v is dense."""
    cdef Layout out = fresh_strided(want, v.ndim, v.shape, v.strides)
    cdef cast_fn f = cast_between(v.dtype.code, want.code)
    if v.numel > RELEASE:
        with nogil:
            f(v.data(), out.data(), v.numel)
    else:
        f(v.data(), out.data(), v.numel)
    return out


cdef Layout wide_half(Layout v):
    """Half precision as float32, complex32 as complex64: with the same strides if dense, else contiguous."""
    return cast_half(v if dense(v) else as_contiguous(v), of_code(wider(v.dtype.code)))


cdef inline Layout _rounded(Layout v, int half):
    """The result of computing in the dtype that is wider than `half`; None if it cannot be cast."""
    if v.dtype.code != F32 and (v.dtype.code != C64 or half != C32):
        return v
    return cast_half(v, of_code(F16 if half == C32 and v.dtype.code == F32 else half)) if dense(v) else None


cdef object by_float(Op op, PyObject** slots):
    cdef PyObject* wide[MAX_SLOTS]
    cdef list held = []                             # what the slots point to
    cdef int i, half = -1, code
    cdef Layout v, out
    cdef dtype kind
    cdef Tensor t
    if op.list_at >= 0:
        return None
    for i in range(op.n_params):
        value = <object>slots[i]
        wide[i] = slots[i]
        if not isinstance(value, Tensor):
            if isinstance(value, dtype):            # of the result
                if (<dtype>value).code != half:
                    return None
                kind = of_code(wider(half))
                wide[i] = <PyObject*>kind
            if op.kind == POINTWISE and op.kinds[i] <= P_TENSORS and value is not None:       # a number: rounded to half first
                return None
            continue
        v = (<Tensor>value).layout
        if v.dtype.code == F16 or v.dtype.code == BF16 or v.dtype.code == C32:
            # The result of a tensor with gaps is contiguous if its axes are in order; that of a reduction always is.
            if op.kept[i] or half >= 0 and half != v.dtype.code or not (
                    dense(v) or v.numel and (op.kind == REDUCTION or strictly_row_major(v))):
                return None
            half = v.dtype.code
        elif v.dtype.category >= CAT_FLOAT or not op.kept[i] and (op.promote != PROMOTE_NONE or op.promote_rule is not None):
            return None
    if half < 0 or op.half_raw and op.info["half"] != "added" or "generator" in op.params:
        return None
    code = result_code(op, slots)
    if code >= 0 and code != half:
        return None
    for i in range(op.n_params):
        if isinstance(<object>slots[i], Tensor) and (<Tensor><object>slots[i]).layout.dtype.code == half:
            t = new_tensor(wide_half((<Tensor><object>slots[i]).layout))
            held.append(t)
            wide[i] = <PyObject*>t
    result = op.fast(op, wide, None)
    if result is None:
        return None
    several = result if type(result) is list else [result]
    for i in range(len(<list>several)):
        out = (<list>several)[i]
        if out is not None:
            out = (<list>several)[i] = _rounded(out, half)
        if out is None:
            return None
    return several if type(result) is list else several[0]


def recast(array, want):
    """Cast an array between half precision and float32 by a kernel; other dtypes by NumPy."""
    cdef int code
    want = numpy.dtype(want)
    if array.dtype == want:
        return array
    if isinstance(array, numpy.ndarray) and cnp.PyArray_CHKFLAGS(array, cnp.NPY_ARRAY_C_CONTIGUOUS):
        for code in (F16, BF16):
            half = of_code(code).numpy
            if array.dtype == half and want == numpy.float32 or array.dtype == numpy.float32 and want == half:
                return cast_half(from_array(array), of_code(F32 if array.dtype == half else code)).array()
    return array.astype(want)
