"""Views: tensors on another tensor's memory, and how their history follows that of their base."""
import weakref

from cpython.object cimport PyObject

from claygrad.core.errors import no_elements
from claygrad.core.op cimport find_op
from claygrad.core.data.dtype cimport C32, C64, C128, CAT_COMPLEX, F16, F32, F64, dtype, of_code
from claygrad.core.data.layout cimport CONJ, NEG, SPARSE, Layout
from claygrad.core.data.storage cimport unusual
from claygrad.core.graph.conj_view cimport with_bits
from claygrad.core.graph.modes cimport modes
from claygrad.core.graph.node cimport Node
from claygrad.core.graph.record cimport move_retained, record_again, record_inputs
from claygrad.core.graph.rules cimport note_complex
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
    cdef int origin = view.creation & ORIGIN
    if not origin:
        return None
    modified = "its base or another view of its base has been" if indirect else "is being"
    name = "" if view.node is None else view.node.name().replace("Backward0", "").replace("Backward", "")
    if origin in (VIEW_INFERENCE, VIEW_NO_GRAD) or view.node is None:
        start = f"Output {view.output_nr} of {name} is a view of a view which was created in" if name else "A view was created in"
        if origin == VIEW_INFERENCE:
            text = f"{start} inference mode and {modified} modified inplace in normal mode."
        else:
            text = f"{start} no_grad mode and {modified} modified inplace with grad mode enabled."
    else:
        text = f"Output {view.output_nr} of {name} is a view and {modified} modified inplace."
    return RuntimeError(text + _WHY[origin])


cdef int _refresh(Tensor view) except -1:
    """Give a view a new node if its base was written since."""
    cdef Tensor base = view.base
    cdef Place at
    if view.view_version == view.version() or view.inference or (view.node is None and not requires(base)):
        return 0
    error = refusal(view, True)
    if error is not None:
        raise error
    before = None if view.node is None or view.view_version == -1 else view.node.name()        # -1: rebase names it
    at = place_of(view)
    if at is None:
        record_again(strided(view), view)
    else:
        _record_replay(view, at)
    view.view_version = view.version()
    name_after(view, before)
    return 0


cdef int name_after(Tensor view, str before) except -1:
    """Name the new node of a view as torch does: after the view operation if that changed dtype or bits."""
    if view.node is None or before is None:
        return 0
    if before in _CHANGING:
        view.node.label = before
    elif view.creation & CONVERTED:
        view.node.label = "AsStridedBackward0"
    return 0


cdef tuple _CHANGING = ("ViewAsRealBackward0", "ViewAsComplexBackward0", "ConjBackward0", "NegViewBackward0")


# Note [Views of another dtype]
# A view is as_strided of its base, unless another dtype or other bits were passed on the way to it: view_as_real, view_as_complex, conj,
# the negative imaginary part of a conj, and what is a view of these, even if it has dtype and bits of the base again, as y.conj().conj()
# has. Such a view is marked CONVERTED. It follows from the layouts of the two as well: undo the bits of the base, view its memory as
# pairs of reals or as complex numbers, apply the strides, and then the bits of the view. `replay` does this by recorded operations.
#
# `view.data = other` does not change which part of the base a converted view is a view of: its former geometry is kept in `_moved`.
# (Any other view follows its new geometry, as in torch, whatever the dtype.) After `base.data = other` of another dtype a converted
# view passes the dtype that corresponds; where there is none, the operation that it came from raises.
cdef class Place:
    """The geometry of a view in its base."""

    def __cinit__(self, Tensor view):
        cdef Layout v = view.layout
        self.kind, self.bits = v.dtype, v.bits
        self.shape, self.strides, self.offset = v.shape_tuple(), v.stride_tuple(), v.offset


cdef dict _moved = {}                            # id of a view: a weak reference to it, its Place before its data was replaced


cdef int mark_converted(Tensor view, Tensor t) noexcept:
    if view.base is not None and not view.creation & CONVERTED:
        view.creation |= CONVERTED | t.layout.bits << BASE_BITS | t.layout.dtype.code << BASE_DTYPE
    return 0


cdef int _base_bits(Tensor view) noexcept:
    return view.creation >> BASE_BITS & 15


cdef Place place_of(Tensor view):
    """The geometry of a converted view in its base; None: it is as_strided of the base."""
    cdef Place at
    cdef dtype was
    if not view.creation & CONVERTED:
        return None
    at = _moved[id(view)][1] if _moved and id(view) in _moved else Place(view)
    was = of_code(view.creation >> BASE_DTYPE)
    if was is not view.base.layout.dtype:
        at = _corresponding(at, was, view.base)
    return at


cdef Place _corresponding(Place at, dtype was, Tensor base):
    """The same place in a base that had another dtype before its data was replaced."""
    cdef Place out = Place.__new__(Place, base)
    cdef dtype now = base.layout.dtype
    out.bits, out.shape, out.strides, out.offset = at.bits, at.shape, at.strides, at.offset
    if was.category == CAT_COMPLEX and now.category != CAT_COMPLEX:
        find_op("view_as_real" if at.kind.category != CAT_COMPLEX else "_conj")(base)            # raises
    if was.category != CAT_COMPLEX and now.category == CAT_COMPLEX:
        find_op("view_as_complex")(base)                                                         # raises
    if at.kind is was:
        out.kind = now
    elif at.kind.category == CAT_COMPLEX:
        out.kind = of_code(C64 if now.code == F32 else C128 if now.code == F64 else C32)
    else:
        out.kind = of_code(F32 if now.code == C64 else F64 if now.code == C128 else F16)
    return out


def _data_replaced(Tensor t, Tensor new):
    """Before `t.data = new`, where t is a view or new has another dtype."""
    cdef object key = id(t)
    if t.base is not None and t.creation & CONVERTED and key not in _moved:
        _moved[key] = weakref.ref(t, lambda _: _moved.pop(key, None)), Place(t)
    if t.node is not None and t.layout.dtype.category != CAT_COMPLEX and new.layout.dtype.category == CAT_COMPLEX:
        note_complex(t.node)


cdef Tensor _with_bits(Tensor t, int bits):
    if bits & CONJ:
        t = find_op("_conj")(t)
    return find_op("_neg_view")(t) if bits & NEG else t


cdef Tensor _placed(Tensor t, tuple shape, tuple strides, object offset):
    if t.layout.shape_tuple() == shape and t.layout.stride_tuple() == strides and t.layout.offset == offset:
        return t
    return find_op("as_strided")(t, shape, strides, offset)


cdef Tensor replay(Tensor base, int base_bits, dtype kind, int bits, tuple shape, tuple strides, object offset):
    """The view at this place of a base that had `base_bits` when the view was made."""
    cdef dtype was = base.layout.dtype
    cdef Tensor t
    if kind is was:
        return _placed(_with_bits(base, base_bits ^ bits), shape, strides, offset)
    t = _with_bits(base, base_bits)
    if was.category == CAT_COMPLEX:
        return _placed(_with_bits(find_op("view_as_real")(t), bits), shape, strides, offset)
    t = _placed(t, shape + (2,), tuple([2 * n for n in strides]) + (1,), 2 * offset)
    return _with_bits(find_op("view_as_complex")(t), bits)


cdef Tensor _replayed(Tensor view, Place at):
    """A converted view again, as a recorded view of its base as it is now."""
    cdef bint was = modes().no_grad
    cdef Tensor out
    modes().no_grad = False
    try:
        out = replay(view.base, _base_bits(view), at.kind, at.bits, at.shape, at.strides, at.offset)
        return find_op("alias")(out) if out is view.base else out
    finally:
        modes().no_grad = was


cdef int _record_replay(Tensor view, Place at) except -1:
    cdef Tensor out = _replayed(view, at)
    if out.node is None:
        view.node, view.output_nr = None, 0
        return 0
    move_retained(view, out.node, out.output_nr)
    view.node, view.output_nr, view.leaf_grad = out.node, out.output_nr, False
    return 0


cdef Node node_to_view(Tensor view):
    """A node that leads from the base to a view, without an output."""
    cdef Place at = place_of(view)
    return strided(view) if at is None else _replayed(view, at).node


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
UPCALLS["data_replaced"] = _data_replaced
