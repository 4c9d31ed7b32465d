"""The native loops of attention; claygrad/ops/attention.py says what they compute."""
from cpython.object cimport PyObject
from libc.math cimport sqrt
from libc.stdint cimport int64_t

from claygrad.core.dispatch.call cimport run
from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport BOOL, F32, F64
from claygrad.core.data.kernels cimport find
from claygrad.core.data.layout cimport Layout, by_stride, dense, fresh, fresh_like, fresh_strided, in_order, same_shape, stretched
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.registry cimport offer_many, offer_short

cdef extern from "nn/attention.hpp" namespace "clay" nogil:
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


cdef Layout _rows_at(PyObject* slot, Layout like, Heads* into):
    """A tensor that the kernels can read: four axes, rows of neighbouring elements, the dtype of another if there is one; or None."""
    cdef Layout v
    if not isinstance(<object>slot, Tensor):
        return None
    v = (<Tensor>slot).layout
    if v.ndim != 4 or v.numel == 0 or v.dtype.code != F32 and v.dtype.code != F64:
        return None
    if like is not None and v.dtype is not like.dtype:
        return None
    if v.shape[3] > 1 and v.strides[3] != 1:
        v = in_order(v)
    _place(into, v)
    return v


cdef void _place(Heads* into, Layout v) noexcept:
    into.data = v.data()
    into.batch, into.head, into.row = v.strides[0], v.strides[1], v.strides[2]


cdef bint _fit(Layout query, Layout key, Layout value) noexcept:
    return (key.shape[0] == query.shape[0] and key.shape[1] == query.shape[1] and key.shape[3] == query.shape[3]
            and same_shape(key, value))


cdef Layout _laid_out_as(Layout v):
    """New memory of its shape, the axes following each other as in v; the last one in neighbouring elements, as there."""
    cdef int order[3]
    cdef int i
    cdef int64_t step = v.shape[3]
    cdef int64_t strides[4]
    if stretched(v):
        return fresh_like(v)
    if dense(v):
        return fresh_strided(v.dtype, 4, v.shape, v.strides)
    by_stride(v, 3, order)
    strides[3] = 1
    for i in range(2, -1, -1):
        strides[order[i]] = step
        step *= v.shape[order[i]]
    return fresh_strided(v.dtype, 4, v.shape, strides)


cdef bint _given(PyObject** slots, Attention* s, Layout q, Layout k) except -1:
    """attn_mask, is_causal and scale."""
    if type(<object>slots[1]) is not bool or type(<object>slots[2]) is not float:
        return False
    s.batch, s.heads, s.queries, s.size, s.keys = q.shape[0], q.shape[1], q.shape[2], q.shape[3], k.shape[2]
    s.masked, s.causal, s.scale = NO_MASK, <object>slots[1], <object>slots[2]
    return <object>slots[0] is None or _masked(slots[0], s, q)


cdef bint _masked(PyObject* slot, Attention* s, Layout q) except -1:
    """A mask that is broadcast to (batch, heads, queries, keys), its last axis whole and in neighbouring elements."""
    cdef Layout v = (<Tensor?><object>slot).layout
    cdef int64_t strides[3]
    cdef int64_t sizes[3]
    cdef int i, axis
    if v.dtype.code != BOOL and v.dtype is not q.dtype or not 1 <= v.ndim <= 4 or v.numel == 0:
        return False
    if v.shape[v.ndim - 1] != s.keys or s.keys > 1 and v.strides[v.ndim - 1] != 1:
        return False
    sizes[0], sizes[1], sizes[2] = s.batch, s.heads, s.queries
    for i in range(3):
        axis = v.ndim - 4 + i
        strides[i] = 0
        if axis >= 0 and v.shape[axis] != 1:
            if v.shape[axis] != sizes[i]:
                return False
            strides[i] = v.strides[axis]
    s.masked = BOOL_MASK if v.dtype.code == BOOL else ADDED_MASK
    s.mask.data, s.mask.batch, s.mask.head, s.mask.row = v.data(), strides[0], strides[1], strides[2]
    return True


cdef bint _filled(const char* name, Attention* s, Layout q) noexcept:
    cdef attention_fn f = <attention_fn>find("attention", name, q.dtype.code)
    cdef bint filled
    with nogil:
        filled = f(s)
    return filled


cdef list _attention(Op op, PyObject** slots):
    """(query, key, value, attn_mask, is_causal, scale)"""
    cdef Attention s
    cdef Layout q = _rows_at(slots[0], None, &s.query), k = _rows_at(slots[1], q, &s.key), v = _rows_at(slots[2], q, &s.value)
    cdef Layout out, log_sum
    if q is None or k is None or v is None or not _fit(q, k, v) or not _given(slots + 3, &s, q, k):
        return None
    out, log_sum = _laid_out_as(q), fresh(q.dtype, 3, q.shape)
    _place(&s.out, out)
    s.log_sum = log_sum.data()
    return [out, log_sum] if _filled("forward", &s, q) else None


cdef list _attention_back(Op op, PyObject** slots):
    """(grad_output, query, key, value, attn_mask, is_causal, scale, out, log_sum)"""
    cdef Attention s
    cdef Layout q = _rows_at(slots[1], None, &s.query), k = _rows_at(slots[2], q, &s.key), v = _rows_at(slots[3], q, &s.value)
    cdef Layout g = _rows_at(slots[0], q, &s.grad), out = _rows_at(slots[7], q, &s.out)
    cdef Layout log_sum, to_query, to_key, to_value
    if q is None or k is None or v is None or g is None or out is None or not isinstance(<object>slots[8], Tensor):
        return None
    log_sum = (<Tensor>slots[8]).layout
    if not _fit(q, k, v) or not same_shape(g, q) or not same_shape(out, q) or not _given(slots + 4, &s, q, k):
        return None
    if log_sum.dtype is not q.dtype or not log_sum.contiguous or log_sum.numel != s.batch * s.heads * s.queries:
        return None
    s.log_sum = log_sum.data()
    to_query, to_key, to_value = _laid_out_as(q), _laid_out_as(k), _laid_out_as(v)
    _place(&s.query_grad, to_query)
    _place(&s.key_grad, to_key)
    _place(&s.value_grad, to_value)
    return [to_query, to_key, to_value] if _filled("backward", &s, q) else None


cdef object _scaled_dot_product_attention(Op op, PyObject** slots):
    """(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa). The part: the fused form."""
    cdef PyObject* parts[6]
    cdef Heads heads
    cdef Layout q = _rows_at(slots[0], None, &heads), k = _rows_at(slots[1], q, &heads), v = _rows_at(slots[2], q, &heads)
    cdef object scale = <object>slots[6], dropout = <object>slots[4]
    if q is None or k is None or v is None or not _fit(q, k, v) or <object>slots[3] is not None or <object>slots[7] is not False:
        return None
    if type(dropout) is not float or <double>dropout != 0 or type(<object>slots[5]) is not bool:
        return None
    if scale is None:
        scale = 1 / sqrt(<double>q.shape[3])
    elif type(scale) is not float:
        return None
    parts[0], parts[1], parts[2], parts[3], parts[4], parts[5] = slots[0], slots[1], slots[2], slots[3], slots[5], <PyObject*>scale
    return (<tuple>run(<Op>op.parts[0], parts))[0]


offer_many("attention", _attention)
offer_many("attention_backward", _attention_back)
offer_short("attention", _scaled_dot_product_attention)
