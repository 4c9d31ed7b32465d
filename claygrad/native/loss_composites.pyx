"""Native forms of composites: losses, embedding_bag, unfold, fold, distances. They call the operation behind them (the first of
`parts` of the declaration) without a Python frame. None: the declared function runs."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.dispatch.call cimport run, run_all as _run, view_by
from claygrad.core.op cimport P_FLOAT, Op
from claygrad.core.data.layout cimport Layout, axis_in, fresh, same_shape
from claygrad.core.dispatch.guard cimport Arg, for_axes, form_t, is_none, recording, tuple_of, vector_of
from claygrad.core.tensor cimport new_tensor
from claygrad.core.dispatch.registry cimport offer

cdef enum:
    FEW = 16384              # elements up to which the fused form is faster


cdef struct NllLoss:
    Arg input, target, weight, size_average, ignore_index, reduce, reduction
cdef struct CrossEntropy:
    Arg input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing
cdef struct MultiMargin:
    Arg input, target, p, margin, weight, size_average, reduce, reduction
cdef struct Multilabel:
    Arg input, target, size_average, reduce, reduction
cdef struct EmbeddingBag:
    Arg input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx
cdef struct Unfold:
    Arg input, kernel_size, dilation, padding, stride
cdef struct Fold:
    Arg input, output_size, kernel_size, dilation, padding, stride
cdef struct Cdist:
    Arg x1, x2, p, compute_mode
cdef struct Cosine:
    Arg x1, x2, dim, eps


# Note [Losses by name]
# A loss passes its arguments to the operation's parameters of the same names. `_placed` adds to `parts` the positions of these
# arguments.

cdef object _loss(Op op, Arg* a):
    """An elementwise loss of two tensors of the same shape. beta and delta: other values are errors, or another loss."""
    cdef PyObject* parts[24]
    cdef tuple positions = <tuple>op.parts[1]
    cdef int i
    if not same_shape(<Layout>a[0].layout, <Layout>a[1].layout):
        return None
    for i in range(2, op.n_params):
        if op.kinds[i] == P_FLOAT and not a[i].real > 0:
            return None
    for i in range(len(positions)):
        parts[i] = a[<int>positions[i]].given
    return run(<Op>op.parts[0], parts)


cdef object _nll(Op op, NllLoss* a):
    """Of examples."""
    cdef Layout x = <Layout>a.input.layout, target = <Layout>a.target.layout
    cdef int i
    if target.ndim != x.ndim - 1 or x.shape[0] != target.shape[0] or not vector_of(&a.weight, x.shape[1]):
        return None
    for i in range(2, x.ndim):
        if target.shape[i - 1] != x.shape[i]:
            return None
    return _run(op.parts[0], [<object>a.input.given, <object>a.target.given, <object>a.weight.given, <object>a.reduction.given,
                              <object>a.ignore_index.given])


cdef object _cross_entropy(Op op, CrossEntropy* a):
    """Of rows."""
    cdef Layout x = <Layout>a.input.layout
    if x.shape[0] != (<Layout>a.target.layout).shape[0] or x.shape[1] < 1 or a.label_smoothing.real != 0:
        return None
    return (<tuple>_run(op.parts[0], [<object>a.input.given, <object>a.target.given, <object>a.reduction.given,
                                      <object>a.ignore_index.given]))[0]


cdef object _multi_margin(Op op, MultiMargin* a):
    cdef Layout x = <Layout>a.input.layout
    if a.p.value != 1 and a.p.value != 2 or not vector_of(&a.weight, x.shape[x.ndim - 1] if x.ndim else 1):
        return None
    return _run(op.parts[0], [<object>a.input.given, <object>a.target.given, <object>a.p.given, <object>a.margin.given,
                              <object>a.weight.given, <object>a.reduction.given])


cdef object _multilabel(Op op, Multilabel* a):
    return _run(op.parts[0], [<object>a.input.given, <object>a.target.given, <object>a.reduction.given])


# --- bags ------------------------------------------------------------------------------------------------------------------------
cdef object _embedding_bag(Op op, EmbeddingBag* a):
    cdef Layout index = <Layout>a.input.layout, starts
    cdef int64_t rows = (<Layout>a.weight.layout).shape[0], padding = -1, i
    cdef object entries = <object>a.input.given, offsets = <object>a.offsets.given, weights = <object>a.per_sample_weights.given
    cdef object last = <object>a.include_last_offset.given
    if a.mode.value == 2 and a.scale_grad_by_freq.value:
        return None
    if not is_none(&a.padding_idx):
        if not -rows <= a.padding_idx.value < rows:
            return None
        padding = a.padding_idx.value + rows if a.padding_idx.value < 0 else a.padding_idx.value
    if weights is not None and (a.mode.value != 0 or not same_shape(<Layout>a.per_sample_weights.layout, index)):
        return None
    if index.ndim == 2:
        if offsets is not None or index.numel == 0:
            return None
        starts = fresh(index.dtype, 1, index.shape)
        for i in range(index.shape[0]):
            (<int64_t*>starts.data())[i] = i * index.shape[1]
        offsets, last, entries = new_tensor(starts), False, view_by("view", entries, (index.numel,), None, None, None)
        weights = None if weights is None else view_by("view", weights, (index.numel,), None, None, None)
    elif offsets is None:
        return None
    return (<tuple>_run(op.parts[0], [<object>a.weight.given, entries, offsets, a.mode.value, weights, last, padding,
                                      <object>a.scale_grad_by_freq.given, False]))[0]


# --- sliding blocks --------------------------------------------------------------------------------------------------------------
cdef object _blocks(Op op, Arg* a):
    """With two numbers for every parameter but the first."""
    cdef int64_t pair[2]
    cdef list values = [<object>a.given]
    cdef int i
    for i in range(1, op.n_params):
        if not for_axes(a + i, 2, pair):
            return None
        values.append(tuple_of(2, pair))
    return _run(op.parts[0], values)


cdef object _unfold(Op op, Unfold* a):
    return _blocks(op, &a.input)


cdef object _fold(Op op, Fold* a):
    return _blocks(op, &a.input)


# --- distances ---------------------------------------------------------------------------------------------------------------------
cdef object _cdist(Op op, Cdist* a):
    """Without matrix products."""
    cdef Layout x = <Layout>a.x1.layout, y = <Layout>a.x2.layout
    if x.shape[x.ndim - 1] != y.shape[y.ndim - 1] or not a.p.real >= 0:
        return None
    if a.compute_mode.value == 2 and a.p.real == 2 or (a.compute_mode.value == 0 and a.p.real == 2
                                                       and (x.shape[x.ndim - 2] > 25 or y.shape[y.ndim - 2] > 25)):
        return None
    return _run(op.parts[0], [<object>a.x1.given, <object>a.x2.given, <object>a.p.given])


cdef object _cosine(Op op, Cosine* a):
    """Of few elements, where nothing is recorded."""
    cdef Layout x = <Layout>a.x1.layout
    if not same_shape(x, <Layout>a.x2.layout) or x.numel > FEW or axis_in(a.dim.value, x.ndim) < 0 or a.eps.real < 0:
        return None
    if recording(a.x1.given) or recording(a.x2.given):
        return None
    return _run(op.parts[0], [<object>a.x1.given, <object>a.x2.given, <object>a.dim.given, <object>a.eps.given])


cdef int _placed(Op op) except -1:
    cdef Op part = <Op>op.parts[0]
    op.parts = (part, tuple([op.params.index(word) for word in part.params]))
    return 0


cdef str _REDUCTION = ", size_average? reduce?: none, reduction: mean|sum|none"

offer("loss", <form_t>_loss, "input: float, target: same, weight?: none" + _REDUCTION, True).ready = _placed
offer("weighted_loss", <form_t>_loss,
      "input: float, target: same, weight pos_weight?: any strided optional" + _REDUCTION, True).ready = _placed
offer("unfold", <form_t>_unfold, "input: float", True)
offer("fold", <form_t>_fold, "input: float", True)
offer("nll", <form_t>_nll, "input: float 2d+, target: int64, weight: same optional" + _REDUCTION, True)
offer("cross_entropy", <form_t>_cross_entropy, "input: float 2d, target: int64 1d, weight: none" + _REDUCTION, True)
offer("multi_margin", <form_t>_multi_margin, "input: float nonempty, target: int64, weight: same optional" + _REDUCTION, True)
offer("multilabel", <form_t>_multilabel, "input: float, target: int64" + _REDUCTION, True)
offer("embedding_bag", <form_t>_embedding_bag,
      "input: int64 1-2d, weight: float nonempty 2d, offsets: int64 1d optional, max_norm: none, mode: sum|mean|max, sparse: false, "
      "per_sample_weights: float optional", True)
offer("cdist", <form_t>_cdist, "x1: float 2d+, x2: same 2d+, compute_mode: "
      "use_mm_for_euclid_dist_if_necessary|donot_use_mm_for_euclid_dist|use_mm_for_euclid_dist", True)
offer("cosine", <form_t>_cosine, "x1: float nonempty 1-16d, x2: same", True)
