"""The native loops of attention; claygrad/ops/attention.py says what they compute."""
from cpython.object cimport PyObject
from libc.math cimport sqrt
from libc.stdint cimport int64_t

from claygrad.core.dispatch.call cimport run
from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport BF16, BOOL, F16, dtype
from claygrad.core.data.kernels cimport find
from claygrad.core.data.layout cimport (MAX_DIMS, Layout, as_contiguous, by_stride, dense, fresh, fresh_strided, is_broadcast, new_layout,
                                        same_shape)
from claygrad.core.dispatch.convert_half cimport cast_half, wide_half
from claygrad.core.dispatch.guard cimport Arg, form_t, is_none
from claygrad.core.dispatch.registry cimport offer

cdef extern from "nn/attention.hpp" namespace "clay" nogil:
    struct Heads:
        void* data
        int64_t batch, head, row
    enum:
        FEW_QUERIES
    enum MaskKind:
        NO_MASK, BOOL_MASK, ADDED_MASK
    struct Attention:
        int64_t batch, heads, queries, keys, size
        double scale
        bint causal
        int masked
        Heads query, key, value, mask, out
        int half
        void* log_sum
        Heads grad, query_grad, key_grad, value_grad

    ctypedef bint (*attention_fn)(const Attention* job) noexcept nogil


cdef struct Attend:
    Arg query, key, value, attn_mask, is_causal, scale
cdef struct AttendBackward:
    Arg grad_output, query, key, value, attn_mask, is_causal, scale, out, log_sum
cdef struct ScaledDotProduct:
    Arg query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa


cdef inline bint _is_half(Layout v) noexcept:
    return v.dtype.code == F16 or v.dtype.code == BF16


cdef Layout _rows(const Arg* a, Heads* into, bint wide=True):
    """As rows of neighbouring elements, half precision as float32 if `wide`."""
    cdef Layout v = <Layout>a.layout
    if v.shape[3] > 1 and v.strides[3] != 1:
        v = as_contiguous(v)
    if wide and _is_half(v):
        v = wide_half(v)
    _place(into, v)
    return v


cdef void _place(Heads* into, Layout v) noexcept:
    into.data = v.data()
    into.batch, into.head, into.row = v.strides[0], v.strides[1], v.strides[2]


cdef bint _fit(Layout query, Layout key, Layout value) noexcept:
    return (key.shape[0] == query.shape[0] and key.shape[1] == query.shape[1] and key.shape[3] == query.shape[3]
            and same_shape(key, value))


cdef Layout _laid_out_as(const Arg* a, dtype computed):
    """A new tensor of this shape in rows whose axes are in the same order in memory as those of the argument."""
    cdef Layout v = <Layout>a.layout
    cdef int order[3]
    cdef int i
    cdef int64_t step = v.shape[3]
    cdef int64_t strides[4]
    if is_broadcast(v) or v.shape[3] > 1 and v.strides[3] != 1:
        return fresh(computed, 4, v.shape)
    if dense(v):
        return fresh_strided(computed, 4, v.shape, v.strides)
    by_stride(v, 3, order)
    strides[3] = 1
    for i in range(2, -1, -1):
        strides[order[i]] = step
        step *= v.shape[order[i]]
    return fresh_strided(computed, 4, v.shape, strides)


cdef Layout _as_given(Layout v, const Arg* a):
    """Rounded to half precision if the argument is."""
    return cast_half(v, (<Layout>a.layout).dtype) if _is_half(<Layout>a.layout) else v


cdef Layout _mask(const Arg* a):
    """Half precision as float32, every element once."""
    cdef int64_t shape[MAX_DIMS]
    cdef int i
    cdef Layout v
    if a.layout == NULL or not _is_half(<Layout>a.layout):
        return None if a.layout == NULL else <Layout>a.layout
    v = <Layout>a.layout
    for i in range(v.ndim):
        shape[i] = v.shape[i] if v.strides[i] else 1
    return wide_half(new_layout(v.storage, v.dtype, v.ndim, shape, v.strides, v.offset))


cdef bint _given(Layout mask, const Arg* is_causal, const Arg* scale, Attention* s, Layout q, Layout k) noexcept:
    s.batch, s.heads, s.queries, s.size, s.keys = q.shape[0], q.shape[1], q.shape[2], q.shape[3], k.shape[2]
    s.masked, s.causal, s.scale, s.half = NO_MASK, is_causal.value, scale.real, 0
    return mask is None or _masked(mask, s, q)


cdef bint _masked(Layout v, Attention* s, Layout q) noexcept:
    """A mask broadcast to (batch, heads, queries, keys), its last axis not broadcast and with stride 1."""
    cdef int64_t strides[3]
    cdef int64_t sizes[3]
    cdef int i, axis
    if v.dtype.code == BOOL:
        s.masked = BOOL_MASK
    elif v.dtype is q.dtype:
        s.masked = ADDED_MASK
    else:
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
    s.mask.data, s.mask.batch, s.mask.head, s.mask.row = v.data(), strides[0], strides[1], strides[2]
    return True


cdef bint _filled(const char* name, Attention* s, Layout q) noexcept:
    cdef attention_fn f = <attention_fn>find("attention", name, q.dtype.code)
    cdef bint filled
    with nogil:
        filled = f(s)
    return filled


cdef list _attention(Op op, Attend* a):
    cdef Attention s
    cdef bint wide = (<Layout>a.query.layout).shape[2] >= FEW_QUERIES        # of few queries the kernel converts the rest by tiles
    cdef Layout q = _rows(&a.query, &s.query), k = _rows(&a.key, &s.key, wide), v = _rows(&a.value, &s.value, wide)
    cdef Layout mask = _mask(&a.attn_mask), out, log_sum
    if not _fit(q, k, v) or not _given(mask, &a.is_causal, &a.scale, &s, q, k):
        return None
    s.half = k.dtype.code if _is_half(k) else 0
    out, log_sum = _laid_out_as(&a.query, q.dtype), fresh(q.dtype, 3, q.shape)
    _place(&s.out, out)
    s.log_sum = log_sum.data()
    return [_as_given(out, &a.query), log_sum] if _filled("forward", &s, q) else None


cdef list _attention_back(Op op, AttendBackward* a):
    cdef Attention s
    cdef Layout q = _rows(&a.query, &s.query), k = _rows(&a.key, &s.key), v = _rows(&a.value, &s.value), mask = _mask(&a.attn_mask)
    cdef Layout g = _rows(&a.grad_output, &s.grad), out = _rows(&a.out, &s.out), log_sum = <Layout>a.log_sum.layout
    cdef Layout to_query, to_key, to_value
    if not _fit(q, k, v) or not same_shape(g, q) or not same_shape(out, q) or log_sum.dtype is not q.dtype:
        return None
    if not _given(mask, &a.is_causal, &a.scale, &s, q, k) or log_sum.numel != s.batch * s.heads * s.queries:
        return None
    s.log_sum = log_sum.data()
    to_query, to_key, to_value = _laid_out_as(&a.query, q.dtype), _laid_out_as(&a.key, q.dtype), _laid_out_as(&a.value, q.dtype)
    _place(&s.query_grad, to_query)
    _place(&s.key_grad, to_key)
    _place(&s.value_grad, to_value)
    if not _filled("backward", &s, q):
        return None
    return [_as_given(to_query, &a.query), _as_given(to_key, &a.key), _as_given(to_value, &a.value)]


cdef object _scaled_dot_product_attention(Op op, ScaledDotProduct* a):
    """Calls the fused operation."""
    cdef PyObject* parts[6]
    cdef Layout q = <Layout>a.query.layout
    cdef object scale = <object>a.scale.given
    if not _fit(q, <Layout>a.key.layout, <Layout>a.value.layout) or a.dropout_p.real != 0:
        return None
    if is_none(&a.scale):
        scale = 1 / sqrt(<double>q.shape[3])
    parts[0], parts[1], parts[2], parts[3] = a.query.given, a.key.given, a.value.given, a.attn_mask.given
    parts[4], parts[5] = a.is_causal.given, <PyObject*>scale
    return (<tuple>run(<Op>op.parts[0], parts))[0]


cdef str _HEADS = "query: float half strided nonempty 4d, key value: same strided nonempty 4d, "

offer("attention", <form_t>_attention, _HEADS + "attn_mask: any strided nonempty 1-4d optional")
offer("attention_backward", <form_t>_attention_back,
              _HEADS + "attn_mask: any strided nonempty 1-4d optional, grad_output out: same strided nonempty 4d, log_sum: float")
offer("attention", <form_t>_scaled_dot_product_attention, _HEADS + "attn_mask: none, enable_gqa: false", True)
