"""The native loops of attention; claygrad/ops/attention.py says what they compute."""
from libc.stdint cimport int64_t

cimport numpy as cnp

from claygrad.core.dtypes cimport F32, F64
from claygrad.core.kernels cimport find

cdef extern from "attention.hpp" namespace "clay" nogil:
    struct Heads:
        void* data
        int64_t batch, head, row
    enum MaskKind:
        NO_MASK, BOOL_MASK, ADDED_MASK
    struct Attention:
        int64_t batch, heads, queries, keys, size
        double scale
        bint causal
        int masked
        Heads query, key, value, mask, out
        void* log_sum
        Heads grad, query_grad, key_grad, value_grad

    ctypedef bint (*attention_fn)(const Attention* job) noexcept nogil

cnp.import_array()


cdef bint _heads(Heads* into, cnp.ndarray array, int type_num) except -1:
    """Whether a kernel can read the array: four axes, rows of neighbouring elements of one type."""
    cdef int64_t item = array.descr.itemsize
    if array.ndim != 4 or array.descr.type_num != type_num or (array.shape[3] > 1 and array.strides[3] != item):
        return False
    if not cnp.PyArray_ISBEHAVED_RO(array) or array.strides[0] % item or array.strides[1] % item or array.strides[2] % item:
        return False
    into.data = cnp.PyArray_DATA(array)
    into.batch, into.head, into.row = array.strides[0] // item, array.strides[1] // item, array.strides[2] // item
    return True


cdef bint _describe(Attention* s, query, key, value, mask, bint causal, double scale, out, log_sum) except -1:
    cdef int kind = (<cnp.ndarray?>query).descr.type_num
    s.batch, s.heads, s.queries, s.size = query.shape
    s.keys, s.scale, s.causal = key.shape[2], scale, causal
    if kind != cnp.NPY_FLOAT32 and kind != cnp.NPY_FLOAT64:
        return False
    if not (_heads(&s.query, query, kind) and _heads(&s.key, key, kind) and _heads(&s.value, value, kind)
            and _heads(&s.out, out, kind)):
        return False
    s.masked = NO_MASK
    if mask is not None:
        s.masked = BOOL_MASK if (<cnp.ndarray?>mask).descr.type_num == cnp.NPY_BOOL else ADDED_MASK
        if not _heads(&s.mask, mask, cnp.NPY_BOOL if s.masked == BOOL_MASK else kind):
            return False
    s.log_sum = cnp.PyArray_DATA(<cnp.ndarray?>log_sum)
    return (<cnp.ndarray>log_sum).descr.type_num == kind and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>log_sum)


cdef bint _run(const char* name, Attention* s, object query) except -1:
    cdef attention_fn f = <attention_fn>find("attention", name,
                                             F32 if (<cnp.ndarray>query).descr.type_num == cnp.NPY_FLOAT32 else F64)
    cdef bint filled
    if f == NULL:
        return False
    with nogil:
        filled = f(s)
    return filled


def forward(query, key, value, mask, bint causal, double scale, out, log_sum):
    """Fill `out` and `log_sum`; False if there is no kernel for such arrays."""
    cdef Attention s
    return _describe(&s, query, key, value, mask, causal, scale, out, log_sum) and _run("forward", &s, query)


def backward(grad, query, key, value, mask, bint causal, double scale, out, log_sum, to_query, to_key, to_value):
    """Fill the gradients of query, key and value from what forward made; False if there is no kernel for such arrays."""
    cdef Attention s
    cdef int kind = (<cnp.ndarray?>query).descr.type_num
    if not _describe(&s, query, key, value, mask, causal, scale, out, log_sum):
        return False
    if not (_heads(&s.grad, grad, kind) and _heads(&s.query_grad, to_query, kind) and _heads(&s.key_grad, to_key, kind)
            and _heads(&s.value_grad, to_value, kind)):
        return False
    return _run("backward", &s, query)
