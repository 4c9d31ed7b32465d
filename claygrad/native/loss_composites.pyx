"""Native forms of composites: losses, embedding_bag, unfold, fold, distances. They call the operation behind them (the first of
`parts` of the declaration) without a Python frame. None: the declared function runs."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.dispatch.call cimport call_view, run, run_all as _run
from claygrad.core.op cimport Op, find_op
from claygrad.core.data.layout cimport Layout, fresh, same_shape
from claygrad.core.dispatch.guard cimport floats_at, int_at, ints_at, numbers_at, recording, tuple_of, vector_or_none
from claygrad.core.tensor cimport Tensor, new_tensor
from claygrad.core.dispatch.registry cimport offer_composite_slots

cdef enum:
    FEW = 16384              # elements up to which the fused form is faster


cdef inline bint _named(object reduction):
    return type(reduction) is str and (reduction == "mean" or reduction == "sum" or reduction == "none")


# Note [Losses by name]
# A loss passes its arguments to the operation's parameters of the same names. `_placed` adds to `parts`: the positions of these
# arguments, and those of the others (size_average, reduce, weight), which must be None.

cdef object _loss(Op op, PyObject** slots):
    """An elementwise loss of two tensors of the same shape and dtype."""
    cdef Layout x = floats_at(slots[0]), y = floats_at(slots[1])
    cdef PyObject* parts[24]
    cdef tuple positions = <tuple>op.parts[1], idle = <tuple>op.parts[2]
    cdef int i
    if x is None or y is None or x.dtype is not y.dtype or not same_shape(x, y):
        return None
    for place in idle:
        if <object>slots[<int>place] is not None:
            return None
    for i in range(len(positions)):
        parts[i] = slots[<int>positions[i]]
        value = <object>parts[i]
        if type(value) is str:
            if not _named(value):
                return None
        elif type(value) is float:                 # beta or delta: other values are errors, or another loss
            if not value > 0:
                return None
        elif value is not None and not isinstance(value, Tensor):
            return None
    return run(<Op>op.parts[0], parts)


cdef object _nll(Op op, PyObject** slots):
    """(input, target, weight, size_average, ignore_index, reduce, reduction) of examples"""
    cdef Layout x = floats_at(slots[0]), target = numbers_at(slots[1])
    cdef int i
    if x is None or target is None or x.ndim < 2 or target.ndim != x.ndim - 1 or x.shape[0] != target.shape[0]:
        return None
    if <object>slots[3] is not None or <object>slots[5] is not None or not _named(<object>slots[6]):
        return None
    if not vector_or_none(slots[2], x, x.shape[1]):
        return None
    for i in range(2, x.ndim):
        if target.shape[i - 1] != x.shape[i]:
            return None
    return _run(op.parts[0], [<object>slots[0], <object>slots[1], <object>slots[2], <object>slots[6], <object>slots[4]])


cdef object _cross_entropy(Op op, PyObject** slots):
    """(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing) of rows"""
    cdef Layout x = floats_at(slots[0]), target = numbers_at(slots[1])
    if x is None or target is None or x.ndim != 2 or target.ndim != 1 or x.shape[0] != target.shape[0] or x.shape[1] < 1:
        return None
    if <object>slots[2] is not None or <object>slots[3] is not None or <object>slots[5] is not None or not _named(<object>slots[6]):
        return None
    if <object>slots[7] != 0:
        return None
    return (<tuple>_run(op.parts[0], [<object>slots[0], <object>slots[1], <object>slots[6], <object>slots[4]]))[0]


cdef object _multi_margin(Op op, PyObject** slots):
    """(input, target, p, margin, weight, size_average, reduce, reduction)"""
    cdef Layout x = floats_at(slots[0])
    p = <object>slots[2]
    if x is None or x.numel == 0 or numbers_at(slots[1]) is None or p != 1 and p != 2 or type(p) is not int:
        return None
    if <object>slots[5] is not None or <object>slots[6] is not None or not _named(<object>slots[7]):
        return None
    if not vector_or_none(slots[4], x, x.shape[x.ndim - 1] if x.ndim else 1):
        return None
    return _run(op.parts[0], [<object>slots[0], <object>slots[1], p, <object>slots[3], <object>slots[4], <object>slots[7]])


cdef object _multilabel(Op op, PyObject** slots):
    """(input, target, size_average, reduce, reduction)"""
    if floats_at(slots[0]) is None or numbers_at(slots[1]) is None or <object>slots[2] is not None or <object>slots[3] is not None:
        return None
    return _run(op.parts[0], [<object>slots[0], <object>slots[1], <object>slots[4]]) if _named(<object>slots[4]) else None


# --- bags ------------------------------------------------------------------------------------------------------------------------
cdef object _line(object x, int64_t n):
    """A flat view."""
    cdef PyObject* slots[3]
    size = (n,)
    slots[0], slots[1], slots[2] = <PyObject*>x, <PyObject*>size, <PyObject*>None
    return call_view(find_op("view"), slots)


cdef object _embedding_bag(Op op, PyObject** slots):
    """(input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
    padding_idx)"""
    cdef Layout index = numbers_at(slots[0]), table = floats_at(slots[1]), starts, samples
    cdef int64_t padding = -1, i
    cdef object mode = <object>slots[6], entries = <object>slots[0], offsets = <object>slots[2], weights = <object>slots[8]
    cdef object last = <object>slots[9]
    if index is None or table is None or table.ndim != 2 or table.numel == 0:
        return None
    if <object>slots[3] is not None or <object>slots[7] is not False:
        return None
    mode = 0 if mode == "sum" else 1 if mode == "mean" else 2 if mode == "max" else -1
    if mode < 0 or mode == 2 and <object>slots[5] is not False:
        return None
    if <object>slots[10] is not None:
        if not int_at(<object>slots[10], &padding) or not -table.shape[0] <= padding < table.shape[0]:
            return None
        padding = padding + table.shape[0] if padding < 0 else padding
    if weights is not None:
        samples = floats_at(slots[8])
        if mode != 0 or samples is None or not same_shape(samples, index):
            return None
    if index.ndim == 2:
        if offsets is not None or index.numel == 0:
            return None
        starts = fresh(index.dtype, 1, index.shape)
        for i in range(index.shape[0]):
            (<int64_t*>starts.data())[i] = i * index.shape[1]
        offsets, last, entries = new_tensor(starts), False, _line(entries, index.numel)
        weights = None if weights is None else _line(weights, index.numel)
    elif index.ndim != 1 or numbers_at(slots[2]) is None or (<Tensor>slots[2]).layout.ndim != 1:
        return None
    return (<tuple>_run(op.parts[0], [<object>slots[1], entries, offsets, mode, weights, last, padding, <object>slots[5], False]))[0]


# --- sliding blocks --------------------------------------------------------------------------------------------------------------
cdef object _blocks(Op op, PyObject** slots):
    """unfold(input, kernel_size, dilation, padding, stride) and fold(input, output_size, ...): two numbers each"""
    cdef int64_t pair[2]
    cdef list values = [<object>slots[0]]
    cdef int i
    if floats_at(slots[0]) is None:
        return None
    for i in range(1, op.n_params):
        if not ints_at(<object>slots[i], 2, pair):
            return None
        values.append(tuple_of(2, pair))
    return _run(op.parts[0], values)


# --- distances ---------------------------------------------------------------------------------------------------------------------
cdef object _cdist(Op op, PyObject** slots):
    """cdist(x1, x2, p, compute_mode) without matrix products"""
    cdef Layout x = floats_at(slots[0]), y = floats_at(slots[1])
    cdef int64_t m, n
    p, mode = <object>slots[2], <object>slots[3]
    if x is None or y is None or x.dtype is not y.dtype or x.ndim < 2 or y.ndim < 2 or x.shape[x.ndim - 1] != y.shape[y.ndim - 1]:
        return None
    if type(p) is not float and type(p) is not int or not p >= 0 or type(mode) is not str:
        return None
    m, n = x.shape[x.ndim - 2], y.shape[y.ndim - 2]
    if mode == "use_mm_for_euclid_dist_if_necessary":
        if p == 2 and (m > 25 or n > 25):
            return None
    elif mode != "donot_use_mm_for_euclid_dist" and (mode != "use_mm_for_euclid_dist" or p == 2):
        return None
    return _run(op.parts[0], [<object>slots[0], <object>slots[1], p])


cdef object _cosine(Op op, PyObject** slots):
    """cosine_similarity(x1, x2, dim, eps) of few elements, where nothing is recorded"""
    cdef Layout x = floats_at(slots[0]), y = floats_at(slots[1])
    cdef int64_t dim
    if x is None or y is None or x.dtype is not y.dtype or not same_shape(x, y) or not 0 < x.numel <= FEW or x.ndim > 16:
        return None
    if not int_at(<object>slots[2], &dim) or not -x.ndim <= dim < x.ndim or type(<object>slots[3]) is not float:
        return None
    return None if recording(slots[0]) or recording(slots[1]) else run(<Op>op.parts[0], slots)


cdef int _placed(Op op) except -1:
    cdef Op part = <Op>op.parts[0]
    indices = tuple([op.params.index(word) for word in part.params])
    op.parts = (part, indices, tuple([i for i in range(op.n_params) if i not in indices]))
    return 0


offer_composite_slots("loss", _loss).ready = _placed
offer_composite_slots("nll", _nll)
offer_composite_slots("cross_entropy", _cross_entropy)
offer_composite_slots("multi_margin", _multi_margin)
offer_composite_slots("multilabel", _multilabel)
offer_composite_slots("embedding_bag", _embedding_bag)
offer_composite_slots("cdist", _cdist)
offer_composite_slots("cosine", _cosine)
offer_composite_slots("blocks", _blocks)
