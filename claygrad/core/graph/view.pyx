"""Views: tensors on another tensor's memory, and how their history follows that of their base."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.errors import no_elements
from claygrad.core.op cimport MULTI_VIEW, Op, find_op
from claygrad.core.data.dtype cimport CAT_COMPLEX, dtype
from claygrad.core.dispatch.reference cimport call_declared
from claygrad.core.data.layout cimport CONJ, NEG, SPARSE, Layout, check_dims, new_layout
from claygrad.core.graph.conj_view cimport unusual, with_bits
from claygrad.core.graph.modes cimport modes
from claygrad.core.graph.node cimport Node
from claygrad.native.view cimport axis_of, sizes_of
from claygrad.core.graph.record cimport move_retained, record_again, record_inputs, record_output, should_record
from claygrad.core.tensor cimport (CUT, VIEW_CUSTOM, VIEW_INFERENCE, VIEW_MULTI, VIEW_NO_GRAD, VIEW_PLAIN, Tensor, bare_tensor, mark_cut,
                                   requires, verbs)
from claygrad.core.dispatch.registry cimport offer


cdef int* _unusual = unusual()


cdef Layout restride(Tensor t, shape, strides, int64_t offset):
    cdef int64_t dims[64]
    cdef int64_t steps[64]
    cdef Py_ssize_t n = len(shape), i
    check_dims(n)
    for i in range(n):
        dims[i] = shape[i]
        steps[i] = strides[i]
    return new_layout(t.layout.storage, t.layout.dtype, <int>n, dims, steps, offset)


cdef Tensor make_view(Tensor t, Layout layout, bint multi):
    """A view of t with this layout; its node is recorded by the caller."""
    cdef Tensor out = bare_tensor()
    if _unusual[0] and layout.bits != t.layout.bits:
        if t.layout.bits & SPARSE:
            raise no_elements()
        layout = with_bits(layout, t.layout.bits)
    out.layout = layout
    if not t.inference:                          # of an inference tensor nobody tracks views
        out.base = t if t.base is None else t.base
    out.counter = None if t.inference else t.counter
    out.inference = t.inference
    out.view_version = t.version()
    if modes().inference and not t.inference:
        out.creation = VIEW_INFERENCE
    elif modes().no_grad:
        out.creation = VIEW_NO_GRAD
        if requires(t):
            mark_cut(out)
    else:
        out.creation = VIEW_MULTI if multi else t.creation if t.base is not None else VIEW_PLAIN
    return out


cdef object call_view(Op op, PyObject** slots):
    cdef Tensor t = <Tensor><object>slots[0], out
    cdef Layout layout = None
    cdef Node node
    cdef int i
    cdef bint retyped = False
    if op.kind == MULTI_VIEW:
        return _call_multi(op, slots)
    if op.fast != NULL:
        layout = op.fast(op, slots, None)
    if layout is None:
        geometry = call_declared(op, [<object>slots[i] for i in range(op.n_params)], 0)
        layout = restride(t, geometry[0], geometry[1], geometry[2])
        if len(geometry) == 4:
            layout = new_layout(layout.storage, <dtype?>geometry[3], layout.ndim, layout.shape, layout.strides, layout.offset)
            retyped = not op.recorded or op.name == "view"
    out = make_view(t, layout, False)
    if op.lazy:                          # Note [Lazy conjugates]
        out.layout = with_bits(layout, t.layout.bits ^ op.lazy)
    if retyped:                          # bytes read as another type: no view in the sense of autograd
        out.base = None
        out.leaf_grad = False
        out.inference = out.inference or modes().inference
    elif not t.inference and should_record(op, slots):
        node = record_inputs(op, slots)
        record_output(node, out)
    elif t.mark == CUT:
        out.mark, out.code, out.lasti = CUT, t.code, t.lasti
    return out


cdef object _call_multi(Op op, PyObject** slots):
    cdef Tensor t = <Tensor><object>slots[0], out
    cdef Node node = None
    cdef list pieces = <list>op.short(op, slots) if op.short != NULL else None
    cdef int i
    if pieces is None:
        geometry = call_declared(op, [<object>slots[i] for i in range(op.n_params)], 0)
        pieces = [restride(t, shape, strides, offset) for shape, strides, offset in geometry]
    outs = []
    if not t.inference and should_record(op, slots):
        node = record_inputs(op, slots)
    for piece in pieces:
        out = make_view(t, <Layout>piece, True)
        if node is not None:
            record_output(node, out)
        outs.append(out)
    return tuple(outs)


# --- keeping up with the base ----------------------------------------------------------------------------------
_WHY = {
    VIEW_MULTI: " This view is the output of a function that returns multiple views. Such functions do not allow the output views to "
                "be modified inplace. You should replace the inplace operation by an out-of-place one.",
    VIEW_CUSTOM: " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
                 "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
                 "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function.",
    VIEW_NO_GRAD: " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
                  "view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both "
                  "outside (if you want the inplace to be tracked).",
    VIEW_INFERENCE: " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
                    "the view and the inplace either both inside the inference_mode block (if you don't want the inplace to be tracked) "
                    "or both outside (if you want the inplace to be tracked).",
}


cdef object refusal(Tensor view, bint indirect):
    """The error for a view whose origin forbids that it, or (indirect) its base, is written; None if it is a plain view."""
    if not view.creation:
        return None
    modified = "its base or another view of its base has been" if indirect else "is being"
    name = "" if view.node is None else view.node.name().replace("Backward0", "").replace("Backward", "")
    if view.creation in (VIEW_INFERENCE, VIEW_NO_GRAD) or view.node is None:
        start = f"Output {view.output_nr} of {name} is a view of a view which was created in" if name else "A view was created in"
        if view.creation == VIEW_INFERENCE:
            text = f"{start} inference mode and {modified} modified inplace in normal mode."
        else:
            text = f"{start} no_grad mode and {modified} modified inplace with grad mode enabled."
    else:
        text = f"Output {view.output_nr} of {name} is a view and {modified} modified inplace."
    return RuntimeError(text + _WHY[view.creation])


cdef int _refresh(Tensor view) except -1:
    """Give a view whose base was written since its node was made a node on the base's new history."""
    cdef Tensor base = view.base
    if view.view_version == view.version() or view.inference or (view.node is None and not requires(base)):
        return 0
    error = refusal(view, True)
    if error is not None:
        raise error
    before = None if view.node is None or view.view_version == -1 else view.node.name()        # -1: rebase names it
    if _lies_otherwise(view):
        _record_replay(view)
    else:
        record_again(strided(view), view)
    view.view_version = view.version()
    name_after(view, before)
    return 0


cdef int name_after(Tensor view, str before) except -1:
    """Give the new node of a view torch's name: of the operation that made the view if that changed dtype or bits."""
    if view.node is None or before is None:
        return 0
    if before in _CHANGING:
        view.node.label = before
    elif _lies_otherwise(view):
        view.node.label = "AsStridedBackward0"
    return 0


cdef tuple _CHANGING = ("ViewAsRealBackward0", "ViewAsComplexBackward0", "ConjBackward0", "NegViewBackward0")


# Note [Views of another dtype]
# The place of a view in its base is told by geometry alone, as strides on the base's memory, as long as both are of one dtype and
# have the same bits. For the others (view_as_real, view_as_complex, conj, the negative imaginary part of a conj) the way from the
# base to the view follows from their two layouts too: the bits of the base are undone, its memory is seen as pairs of reals or as
# complex numbers, the strides follow, and then the bits of the view. `replay` goes that way by recorded operations.
cdef bint _lies_otherwise(Tensor view) noexcept:
    return view.layout.dtype is not view.base.layout.dtype or view.layout.bits | view.base.layout.bits


cdef Tensor _turned(Tensor t, int bits):
    if bits & CONJ:
        t = find_op("_conj")(t)
    return find_op("_neg_view")(t) if bits & NEG else t


cdef Tensor _placed(Tensor t, tuple shape, tuple strides, object offset):
    if t.layout.shape_tuple() == shape and t.layout.stride_tuple() == strides and t.layout.offset == offset:
        return t
    return find_op("as_strided")(t, shape, strides, offset)


cdef Tensor replay(Tensor base, dtype kind, int bits, tuple shape, tuple strides, object offset):
    cdef Layout v = base.layout
    cdef Tensor t
    if kind is v.dtype:
        return _placed(_turned(base, v.bits ^ bits), shape, strides, offset)
    t = _turned(base, v.bits)
    if v.dtype.category == CAT_COMPLEX and kind.category != CAT_COMPLEX and 2 * kind.itemsize == v.dtype.itemsize:
        return _placed(_turned(find_op("view_as_real")(t), bits), shape, strides, offset)
    if kind.category == CAT_COMPLEX and v.dtype.category != CAT_COMPLEX and kind.itemsize == 2 * v.dtype.itemsize:
        t = _placed(t, shape + (2,), tuple([2 * n for n in strides]) + (1,), 2 * offset)
        return _turned(find_op("view_as_complex")(t), bits)
    raise RuntimeError(f"a view of {v.dtype!r} in {kind!r} cannot be followed after a write to its base; take the view again")


cdef Tensor _replayed(Tensor view):
    """The view again, as a recorded view of its base as it is now."""
    cdef Layout v = view.layout
    cdef bint was = modes().no_grad
    modes().no_grad = False
    try:
        return replay(view.base, v.dtype, v.bits, v.shape_tuple(), v.stride_tuple(), v.offset)
    finally:
        modes().no_grad = was


cdef int _record_replay(Tensor view) except -1:
    cdef Tensor made = _replayed(view)
    if made.node is None or made is view.base:
        view.node, view.output_nr = None, 0
        return 0
    move_retained(view, made.node, made.output_nr)
    view.node, view.output_nr, view.leaf_grad = made.node, made.output_nr, False
    return 0


cdef Node way_to(Tensor view):
    """A node that leads from the base to a view, without an output."""
    cdef Tensor made
    if not _lies_otherwise(view):
        return strided(view)
    made = _replayed(view)
    return made.node


cdef Node strided(Tensor view):
    """A node for the geometry of a view in its base."""
    cdef Tensor base = view.base
    cdef PyObject* slots[4]
    cdef object shape = view.layout.shape_tuple(), strides = view.layout.stride_tuple(), offset = view.layout.offset
    slots[0] = <PyObject*>base
    slots[1] = <PyObject*>shape
    slots[2] = <PyObject*>strides
    slots[3] = <PyObject*>offset
    return record_inputs(find_op("as_strided"), slots)


verbs().refresh = _refresh


# --- native geometry of the views that programs use all the time ------------------------------------------------
cdef Layout _transposed(Layout v, int a, int b):
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i
    for i in range(v.ndim):
        shape[i] = v.shape[i]
        strides[i] = v.strides[i]
    shape[a], shape[b] = v.shape[b], v.shape[a]
    strides[a], strides[b] = v.strides[b], v.strides[a]
    return new_layout(v.storage, v.dtype, v.ndim, shape, strides, v.offset)


cdef Layout _t(Op op, PyObject** slots, Layout target):
    cdef Layout v = (<Tensor><object>slots[0]).layout
    return _transposed(v, 0, 1) if v.ndim == 2 else None


cdef Layout _transpose(Op op, PyObject** slots, Layout target):
    cdef Layout v = (<Tensor><object>slots[0]).layout
    first, second = <object>slots[1], <object>slots[2]
    if type(first) is not int or type(second) is not int:
        return None
    cdef int64_t a = first, b = second
    a = a + v.ndim if a < 0 else a
    b = b + v.ndim if b < 0 else b
    return _transposed(v, <int>a, <int>b) if 0 <= a < v.ndim and 0 <= b < v.ndim else None


cdef Layout _unsqueeze(Op op, PyObject** slots, Layout target):
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    if type(<object>slots[1]) is not int or v.ndim >= 63:
        return None
    cdef int i, d = axis_of(<object>slots[1], v.ndim + 1)
    if d < 0:
        return None
    for i in range(v.ndim):
        shape[i if i < d else i + 1] = v.shape[i]
        strides[i if i < d else i + 1] = v.strides[i]
    shape[d] = 1
    strides[d] = v.shape[d] * v.strides[d] if d < v.ndim else 1
    return new_layout(v.storage, v.dtype, v.ndim + 1, shape, strides, v.offset)


cdef Layout _view(Op op, PyObject** slots, Layout target):
    """Where the memory allows it; the Python form does the rest, errors included."""
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int64_t known = 1
    cdef int i, hole = -1
    if v.numel == 0 or op is not None and op.n_params > 2 and <object>slots[2] is not None:      # a dtype beside a shape; None: _view_back
        return None
    cdef int n = sizes_of(<object>slots[1], shape)
    if n < 0:
        return None
    for i in range(n):
        if shape[i] == -1 and hole < 0:
            hole = i
        elif shape[i] < 0:
            return None
        else:
            known *= shape[i]
    if hole >= 0:
        if known == 0 or v.numel % known:
            return None
        shape[hole] = v.numel // known
        known *= shape[hole]
    if known != v.numel or not _strides_of_view(v, n, shape, strides):
        return None
    return new_layout(v.storage, v.dtype, n, shape, strides, v.offset)


cdef bint _strides_of_view(Layout v, int n, const int64_t* shape, int64_t* strides) noexcept:
    """Strides under which the elements of v have another shape, axes of one element included as torch has them.

    Axes that follow each other in memory form a chunk; those of the view must fill chunk after chunk.
    """
    cdef int64_t base = v.strides[v.ndim - 1] if v.ndim else 1, own = 1, filled = 1
    cdef int i, at = n - 1
    for i in range(v.ndim - 1, -1, -1):
        own *= v.shape[i]
        if i > 0 and (v.shape[i - 1] == 1 or v.strides[i - 1] == own * base):
            continue
        while at >= 0 and (filled < own or shape[at] == 1):
            strides[at] = filled * base
            filled *= shape[at]
            at -= 1
        if filled != own:
            return False
        if i > 0:
            base = v.strides[i - 1]
            own = filled = 1
    if v.ndim == 0:
        for i in range(n):
            strides[i] = 1
        return True
    return at < 0


cdef Layout _expand(Op op, PyObject** slots, Layout target):
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i, k, n = sizes_of(<object>slots[1], shape)
    if n < v.ndim:
        return None
    for i in range(n):
        k = i - (n - v.ndim)
        if k < 0:
            if shape[i] < 0:
                return None
            strides[i] = 0
        elif shape[i] == -1 or shape[i] == v.shape[k]:
            shape[i] = v.shape[k]
            strides[i] = v.strides[k]
        elif v.shape[k] == 1 and shape[i] >= 0:
            strides[i] = 0
        else:
            return None
    if n > v.ndim and v.ndim > 0:        # torch: a new leading axis of size 1 has the stride of a contiguous one
        for i in range(n - v.ndim - 1, -1, -1):
            strides[i] = 0 if shape[i] != 1 else shape[i + 1] * strides[i + 1]
    return new_layout(v.storage, v.dtype, n, shape, strides, v.offset)


cdef Layout _permute(Op op, PyObject** slots, Layout target):
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int64_t order[64]
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef unsigned long long seen = 0
    cdef int i, n = sizes_of(<object>slots[1], order)
    if n != v.ndim:
        return None
    for i in range(n):
        if order[i] < 0:
            order[i] += n
        if order[i] < 0 or order[i] >= n or seen >> order[i] & 1:
            return None
        seen |= 1ULL << order[i]
        shape[i] = v.shape[order[i]]
        strides[i] = v.strides[order[i]]
    return new_layout(v.storage, v.dtype, n, shape, strides, v.offset)


cdef Layout _squeeze(Op op, PyObject** slots, Layout target):
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef unsigned long long chosen = 0
    cdef int i, k = 0, d
    dim = <object>slots[1]
    if dim is not None:
        for x in (dim if type(dim) is tuple else (dim,)):
            d = axis_of(x, v.ndim)
            if d < 0 or chosen >> d & 1:
                return None
            chosen |= 1ULL << d
    for i in range(v.ndim):
        if v.shape[i] == 1 and (dim is None or chosen >> i & 1):
            continue
        shape[k] = v.shape[i]
        strides[k] = v.strides[i]
        k += 1
    return new_layout(v.storage, v.dtype, k, shape, strides, v.offset)


# What a declaration names as its geometry.
cdef Layout _t_back(PyObject** args):
    """The gradient of t(): g.t()"""
    return _t(None, args, None)


cdef int _rules_of_t(Op op) except -1:
    op.fast_rules[0] = _t_back
    return 0


cdef Layout _transpose_back(PyObject** args):
    """(g, dim0, dim1): the same axes of the gradient exchanged"""
    return _transpose(None, args, None)


cdef int _rules_of_transpose(Op op) except -1:
    op.fast_rules[0] = _transpose_back
    return 0


cdef Layout _view_back(PyObject** args):
    """(g, input_shape): the gradient in the shape of the input, where that needs no copy"""
    return _view(None, args, None)


cdef int _rules_of_view(Op op) except -1:
    op.fast_rules[0] = _view_back
    return 0


offer("t", _t).ready = _rules_of_t
offer("transpose", _transpose).ready = _rules_of_transpose
offer("unsqueeze", _unsqueeze)
offer("view", _view).ready = _rules_of_view
offer("permute", _permute)
offer("squeeze", _squeeze)
offer("expand", _expand)
