"""Views: tensors on another tensor's memory, and how their history follows that of their base."""
import weakref

from cpython.object cimport PyObject

from claygrad.core.errors import no_elements
from claygrad.core.op cimport find_op
from claygrad.core.data.dtype cimport CAT_COMPLEX, dtype
from claygrad.core.data.layout cimport CONJ, NEG, SPARSE, Layout
from claygrad.core.data.storage cimport unusual
from claygrad.core.graph.conj_view cimport with_bits
from claygrad.core.graph.modes cimport modes
from claygrad.core.graph.node cimport Node
from claygrad.core.graph.record cimport move_retained, record_again, record_inputs
from claygrad.core.tensor cimport (VIEW_CUSTOM, VIEW_INFERENCE, VIEW_MULTI, VIEW_NO_GRAD, VIEW_DEFAULT, Tensor, bare_tensor, mark_cut,
                                   requires, verbs)
from claygrad.core.tensor import UPCALLS


cdef int* _unusual = unusual()


cdef Tensor make_view(Tensor t, Layout layout, bint multi):
    """A view of t with this layout; its node is recorded by the caller."""
    cdef Tensor out = bare_tensor()
    if _unusual[0] and layout.bits != t.layout.bits:
        if t.layout.bits & SPARSE:
            raise no_elements()
        layout = with_bits(layout, t.layout.bits)
    out.layout = layout
    if not t.inference:                          # views of inference tensors are not tracked
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
        out.creation = VIEW_MULTI if multi else t.creation if t.base is not None else VIEW_DEFAULT
    return out


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
    """The error for a write to this view, or (indirect) to its base; None if it is allowed."""
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
    """Give a view a new node if its base was written since."""
    cdef Tensor base = view.base
    if view.view_version == view.version() or view.inference or (view.node is None and not requires(base)):
        return 0
    error = refusal(view, True)
    if error is not None:
        raise error
    before = None if view.node is None or view.view_version == -1 else view.node.name()        # -1: rebase names it
    if place_of(view) is not None or _lies_otherwise(view):
        _record_replay(view)
    else:
        record_again(strided(view), view)
    view.view_version = view.version()
    name_after(view, before)
    return 0


cdef int name_after(Tensor view, str before) except -1:
    """Name the new node of a view as torch does: after the view operation if that changed dtype or bits."""
    if view.node is None or before is None:
        return 0
    if before in _CHANGING:
        view.node.label = before
    elif place_of(view) is not None or _lies_otherwise(view):
        view.node.label = "AsStridedBackward0"
    return 0


cdef tuple _CHANGING = ("ViewAsRealBackward0", "ViewAsComplexBackward0", "ConjBackward0", "NegViewBackward0")


# Note [Views of another dtype]
# If a view has the dtype and bits of its base, it is as_strided of the base. Other views (view_as_real, view_as_complex, conj, the
# negative imaginary part of a conj) follow from the two layouts as well: undo the bits of the base, view its memory as pairs of reals
# or as complex numbers, apply the strides, and then the bits of the view. `replay` does this by recorded operations.
#
# `view.data = other` gives such a view another layout (or another dtype) without changing which part of the base it is a view of: its
# former geometry is kept in `_moved`. (A view of the same dtype and bits follows its new geometry, as in torch.)
cdef class Place:
    """The geometry of a view in its base."""

    def __cinit__(self, Tensor view):
        cdef Layout v = view.layout
        self.kind, self.bits = v.dtype, v.bits
        self.shape, self.strides, self.offset = v.shape_tuple(), v.stride_tuple(), v.offset


cdef dict _moved = {}                            # id of a view: a weak reference to it, its Place before its data was replaced


cdef Place place_of(Tensor view):
    """The geometry of a view in its base if its data was replaced; else None."""
    return _moved[id(view)][1] if _moved and id(view) in _moved else None


def _keep_place(Tensor view, Tensor new):
    cdef object key = id(view)
    if key not in _moved and (_lies_otherwise(view) or new.layout.dtype is not view.layout.dtype or new.layout.bits):
        _moved[key] = weakref.ref(view, lambda _: _moved.pop(key, None)), Place(view)


cdef bint _lies_otherwise(Tensor view) noexcept:
    return view.layout.dtype is not view.base.layout.dtype or view.layout.bits | view.base.layout.bits


cdef Tensor _with_bits(Tensor t, int bits):
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
        return _placed(_with_bits(base, v.bits ^ bits), shape, strides, offset)
    t = _with_bits(base, v.bits)
    if v.dtype.category == CAT_COMPLEX and kind.category != CAT_COMPLEX and 2 * kind.itemsize == v.dtype.itemsize:
        return _placed(_with_bits(find_op("view_as_real")(t), bits), shape, strides, offset)
    if kind.category == CAT_COMPLEX and v.dtype.category != CAT_COMPLEX and kind.itemsize == 2 * v.dtype.itemsize:
        t = _placed(t, shape + (2,), tuple([2 * n for n in strides]) + (1,), 2 * offset)
        return _with_bits(find_op("view_as_complex")(t), bits)
    return find_op("as_strided")(t, shape, strides, offset)      # `base.data = ...` gave its base another dtype since


cdef Tensor _replayed(Tensor view):
    """The view again, as a recorded view of its base as it is now."""
    cdef Place at = place_of(view)
    cdef bint was = modes().no_grad
    if at is None:
        at = Place(view)
    modes().no_grad = False
    try:
        return replay(view.base, at.kind, at.bits, at.shape, at.strides, at.offset)
    finally:
        modes().no_grad = was


cdef int _record_replay(Tensor view) except -1:
    cdef Tensor out = _replayed(view)
    if out.node is None or out is view.base:
        view.node, view.output_nr = None, 0
        return 0
    move_retained(view, out.node, out.output_nr)
    view.node, view.output_nr, view.leaf_grad = out.node, out.output_nr, False
    return 0


cdef Node node_to_view(Tensor view):
    """A node that leads from the base to a view, without an output."""
    cdef Tensor out
    if place_of(view) is None and not _lies_otherwise(view):
        return strided(view)
    out = _replayed(view)
    return out.node


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
UPCALLS["keep_place"] = _keep_place
