"""Hooks on tensors and nodes, and the memory of the gradients that they and other user code are given."""
cimport numpy as cnp
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject

from claygrad.core.data.device cimport CPU, apart
from claygrad.core.data.dtype cimport CAT_COMPLEX
from claygrad.core.data.dtype import prefix
from claygrad.core.data.layout cimport Layout, same_shape
from claygrad.core.graph.modes cimport modes
from claygrad.core.graph.node cimport Hooks, Node
from claygrad.core.overrides cimport from_user, to_user
from claygrad.core.graph.provenance cimport place_text
from claygrad.core.tensor cimport AccumulateGrad, Tensor, gradient_edge, leaf_of, requires, shape_text

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)

cnp.import_array()


# Note [Handing out]
# Inside a backward pass gradients share memory freely: both inputs of an addition receive the very same tensor. Whatever user
# code can reach (an argument of a hook or of a custom backward, a result of `grad`, a `.grad`) must have memory of its own, so
# that a write to it changes nothing else. Reference counts tell whether anybody else can reach the memory; only then is it
# copied. Saved values do not count: a write leaves them as they are (Note [Epochs]).
cdef int own(list grads, Py_ssize_t i) except -1:
    """Copy grads[i] if its memory is shared."""
    cdef PyObject* p = <PyObject*>PyList_GET_ITEM(grads, i)
    if <object>p is None or (Py_REFCNT(p) == 1 and _sole(<Tensor>p)):
        return 0
    grads[i] = _copied(<Tensor>p)
    return 0


cdef bint _sole(Tensor t) noexcept:
    """Whether only t, and its base if it is a view, can reach its memory."""
    cdef Py_ssize_t layouts = 1, saved = Py_REFCNT(<PyObject*>t.layout) - 1
    if t.base is not None:
        if Py_REFCNT(<PyObject*>t.base) != 1 or Py_REFCNT(<PyObject*>t.base.layout) != 1:
            return False
        layouts = 2
    if Py_REFCNT(<PyObject*>t.layout.storage) != layouts or t.layout.storage.exports:
        return False
    if saved and (layouts != 1 or saved != t.layout.storage.holders):
        return False
    return t.layout.storage.owner is None or _own_array(<PyObject*>t.layout.storage.owner)


cdef bint _own_array(PyObject* array) noexcept:                       # borrowed, since references are counted
    """Whether no other reference to the array or its base exists."""
    while array != NULL and Py_REFCNT(array) == 1 and cnp.PyArray_CheckExact(<object>array):
        if cnp.PyArray_CHKFLAGS(<cnp.ndarray>array, cnp.NPY_ARRAY_OWNDATA):
            return cnp.PyArray_ISWRITEABLE(<cnp.ndarray>array)
        array = <PyObject*>cnp.PyArray_BASE(<cnp.ndarray>array)       # its base, such as the array before reshape
    return False


cdef bint is_unshared(Tensor t) noexcept:
    """Whether a single reference to this tensor is the only way to its memory, from the pool or of an array that a forward made.
    A view of a whole tensor counts if nothing else refers to that tensor."""
    cdef int seen = 1
    if t.base is not None:
        if Py_REFCNT(<PyObject*>t.base) != 1 or t.base.layout.numel != t.layout.numel or not _without_history(t.base):
            return False
        seen = 2
    if not _without_history(t) or Py_REFCNT(<PyObject*>t.layout.storage) != seen or t.layout.storage.exports:
        return False
    return t.layout.storage.owner is None or _own_array(<PyObject*>t.layout.storage.owner)


cdef bint _without_history(Tensor t) noexcept:
    return Py_REFCNT(<PyObject*>t.layout) == 1 and t.node is None and not t.leaf_grad and not t.layout.bits


cdef Tensor _copied(Tensor g):
    """A copy of the gradient with the same history."""
    cdef bint was = modes().no_grad
    cdef Tensor out
    cdef int nr = 0
    cdef Node node = gradient_edge(g, &nr) if requires(g) else None
    if node is not None and isinstance(node, AccumulateGrad):
        return g.clone()
    modes().no_grad = True
    try:
        out = g.clone()
    finally:
        modes().no_grad = was
    if node is not None:
        out.node = node
        out.output_nr = nr
    return out


# --- hooks -----------------------------------------------------------------------------------------------------
cdef str _name(object hook):
    name = getattr(hook, "__name__", None)
    return name if isinstance(name, str) else "<unknown>"


cdef str _place(object hook):
    """Where a hook is defined."""
    code = getattr(hook, "__code__", None)
    return "" if code is None else f"\n  the hook is defined at {place_text(code.co_filename, code.co_firstlineno)}"


cdef str _kind(Layout v):
    """PyTorch's old name for a dtype on a device."""
    if v.storage.where.kind != CPU:
        return f"{v.storage.where.type.capitalize()}{v.dtype.legacy}Type"
    return f"CPU{v.dtype.legacy}Type" if v.dtype.category == CAT_COMPLEX else f"{prefix()}.{v.dtype.legacy}Tensor"


cdef object checked(object hook, object before, object after):
    """The gradient after a tensor hook."""
    cdef Layout was, now
    if after is None or after is before:
        return before
    if before is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(after, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(after).__name__}'{_place(hook)}"
                        "\n  a hook returns None, or a tensor that takes the place of the gradient")
    was, now = (<Tensor>before).layout, (<Tensor>after).layout
    if now.dtype is not was.dtype or apart(now.storage.where, was.storage.where):
        raise RuntimeError(f"hook '{_name(hook)}' has changed the type of value (was {_kind(was)} got {_kind(now)}){_place(hook)}"
                           f"\n  a hook returns None, or a gradient of dtype {was.dtype.name} on {was.storage.where}")
    if not same_shape(now, was):
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value{_place(hook)}"
                           f"\n  a hook returns None, or a gradient of shape {shape_text(was)}; it returned {shape_text(now)}")
    return after


cdef list _all_checked(object hook, list before, object after):
    """The same for node hooks, which return a tuple; a None in it drops the gradient."""
    cdef Py_ssize_t i
    if after is None:
        return before
    if not isinstance(after, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(after).__name__}'{_place(hook)}"
                        f"\n  a hook of a node returns None, or a tuple of {len(before)} gradients")
    if len(after) != len(before):
        raise RuntimeError(f"hook '{_name(hook)}' has returned an incorrect number of values (got {len(after)}, but expected "
                           f"{len(before)})")
    return [None if after[i] is None else checked(hook, before[i], after[i]) for i in range(len(before))]


cdef int _call_all(list hooks, list grads, Py_ssize_t nr) except -1:
    cdef int quiet = to_user()
    for hook in hooks:
        own(grads, nr)
        grads[nr] = checked(hook, grads[nr], hook(grads[nr]))
    from_user(quiet)
    own(grads, nr)                                 # a hook may have kept a reference
    return 0


cdef bint heard(Node node):
    """Whether the node has hooks that are called even without a gradient."""
    cdef Tensor leaf
    if isinstance(node, AccumulateGrad):
        leaf = leaf_of(node)
        return bool(leaf.hooks) or bool(leaf.after_hooks) or node.hooks is not None
    return node.hooks is not None


cdef int tensor_hooks(Node node, list grads) except -1:
    cdef Hooks hooks
    cdef Tensor kept
    if isinstance(node, AccumulateGrad):
        if leaf_of(node).hooks:
            _call_all(list(leaf_of(node).hooks.values()), grads, 0)
        return 0
    hooks = node.hooks
    if hooks is None:
        return 0
    if hooks.tensor is not None:
        for nr, found in list(hooks.tensor.items()):       # a hook may register another
            if found:
                _call_all(list(found.values()), grads, nr)
    if hooks.retain is not None:
        for nr, ref in list(hooks.retain.items()):
            kept = ref()
            if kept is not None and grads[nr] is not None:
                kept.grad_ = grads[nr].clone() if kept.grad_ is None else kept.grad_ + grads[nr]
    return 0


cdef int _own_all(list grads) except -1:
    cdef Py_ssize_t i
    for i in range(len(grads)):
        own(grads, i)
    return 0


cdef list shown_edges(Node node, list out):
    cdef Py_ssize_t i
    if not node.numbers:
        return out
    return [out[i] for i in range(len(out)) if i > 31 or not node.numbers >> i & 1]


cdef list pre_hooks(Node node, list grads):
    """`grads` may be changed."""
    cdef int quiet = to_user()
    cdef list hidden = grads[node.n_shown():]
    del grads[node.n_shown():]
    for hook in list(node.hooks.pre.values()):
        _own_all(grads)
        grads = _all_checked(hook, grads, hook(tuple(grads)))
    from_user(quiet)
    _own_all(grads)
    return grads + hidden


cdef list post_hooks(Node node, list out, list grads):
    """Both lists may be changed."""
    cdef int quiet = to_user()
    cdef Py_ssize_t i, k = 0
    cdef list shown = shown_edges(node, out), whole = out
    if shown is not out:
        out = None
        for i in range(len(whole)):                # `shown` holds the only references
            if i > 31 or not node.numbers >> i & 1:
                whole[i] = None
    del grads[node.n_shown():]
    for hook in list(node.hooks.post.values()):
        _own_all(shown)
        _own_all(grads)
        shown = _all_checked(hook, shown, hook(tuple(shown), tuple(grads)))
    from_user(quiet)
    _own_all(shown)
    if not node.numbers:
        return shown
    for i in range(len(whole)):
        if i > 31 or not node.numbers >> i & 1:
            whole[i] = shown[k]
            k += 1
    return whole


cdef int after_leaf(Node node, Tensor g) except -1:
    """As in torch, the gradient may be the same object as the leaf's .grad."""
    cdef int quiet = to_user()
    for hook in list(node.hooks.post.values()):
        _all_checked(hook, [], hook((), (g,)))
    from_user(quiet)
    return 0
