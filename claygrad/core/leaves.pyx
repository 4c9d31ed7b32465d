"""What backward does besides calling rules: where it starts, hooks, the search for NaN, and adding gradients to leaves."""
import warnings

cimport numpy as cnp
from cpython.object cimport PyObject

from claygrad.core.declared cimport find_op
from claygrad.core.device cimport CPU
from claygrad.core.dtypes cimport CAT_COMPLEX, F32
from claygrad.core.inplace cimport write_layout
from claygrad.core.layout cimport Layout, dense, fresh_like, same_shape
from claygrad.core.modes cimport anomaly_checks_nan, modes
from claygrad.core.node cimport Hooks, Node
from claygrad.core.provenance cimport where_text
from claygrad.core.tensor cimport CUT, AccumulateGrad, Tensor, leaf_of, shape_text, verbs

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)

cnp.import_array()


cdef bint private(Tensor t) noexcept:
    """Whether nobody but one holder of this tensor can see its memory: from the pool, or an array that a forward made.
    It may be a view of the whole of a tensor that is left to it alone."""
    cdef int seen = 1
    if t.base is not None:
        if Py_REFCNT(<PyObject*>t.base) != 1 or t.base.layout.numel != t.layout.numel or not _unseen(t.base):
            return False
        seen = 2
    if not _unseen(t) or Py_REFCNT(<PyObject*>t.layout.storage) != seen or t.layout.storage.exports:
        return False
    if t.layout.storage.owner is None:
        return True
    cdef PyObject* array = <PyObject*>t.layout.storage.owner          # borrowed: references are counted
    while array != NULL and Py_REFCNT(array) == 1 and cnp.PyArray_CheckExact(<object>array):
        if cnp.PyArray_CHKFLAGS(<cnp.ndarray>array, cnp.NPY_ARRAY_OWNDATA):
            return cnp.PyArray_ISWRITEABLE(<cnp.ndarray>array)
        array = <PyObject*>cnp.PyArray_BASE(<cnp.ndarray>array)       # what it is a view of, such as before reshape
    return False


cdef bint _unseen(Tensor t) noexcept:
    return Py_REFCNT(<PyObject*>t.layout) == 1 and t.node is None and not t.leaf_grad


# --- hooks -----------------------------------------------------------------------------------------------------
cdef object _run_hook(object hook, object grad):
    out = hook(grad)
    if out is None:
        return grad
    if grad is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    cdef Layout before = (<Tensor>grad).layout
    if not isinstance(out, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(out).__name__}'")
    if not same_shape((<Tensor>out).layout, before):
        raise RuntimeError(f"hook '{getattr(hook, '__name__', hook)}' has changed the size of value")
    return out


cdef bint heard(Node node):
    """Whether a hook waits for this node, which hears of it even if no gradient comes."""
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
            for hook in list(leaf_of(node).hooks.values()):
                grads[0] = _run_hook(hook, grads[0])
        return 0
    hooks = node.hooks
    if hooks is None:
        return 0
    if hooks.tensor is not None:
        for nr, found in hooks.tensor.items():
            for hook in list(found.values()):
                grads[nr] = _run_hook(hook, grads[nr])
    if hooks.retain is not None:
        for nr, ref in hooks.retain.items():
            kept = ref()
            if kept is not None and grads[nr] is not None:
                kept.grad_ = grads[nr].clone() if kept.grad_ is None else kept.grad_ + grads[nr]
    return 0


cdef list pre_hooks(Node node, list grads):
    for hook in list(node.hooks.pre.values()):
        out = hook(tuple(grads))
        if out is not None:
            grads = list(out) if isinstance(out, (tuple, list)) else [out]
    return grads


cdef list post_hooks(Node node, list out, list grads):
    for hook in list(node.hooks.post.values()):
        made = hook(tuple(out), tuple(grads))
        if made is not None:
            out = list(made) if isinstance(made, (tuple, list)) else [made]
    return out


cdef int look_for_nan(Node node, list out) except -1:
    cdef int i
    if not anomaly_checks_nan():
        return 0
    for i, g in enumerate(out):
        if g is not None and g.dtype.category >= 2 and bool((g != g).any()):
            if node.notes is not None and "traceback_" in node.notes:
                warnings.warn(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n"
                              + "".join(node.notes["traceback_"]), UserWarning, stacklevel=1)
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output."
                               + where_text("the forward ran", node.code, node.lasti))
    return 0


# --- leaves ----------------------------------------------------------------------------------------------------
cdef int accumulate(AccumulateGrad node, Tensor g, bint create_graph) except -1:
    cdef Tensor variable = leaf_of(node)
    if g is None:
        return _after(variable)
    if variable.node is not None:
        raise RuntimeError("leaf variable has been moved into the graph interior"
                           + where_text("that was done", variable.node.code, variable.node.lasti))
    if not variable.leaf_grad:
        return 0                            # requires_grad was switched off since
    if variable.grad_ is None:
        if create_graph:
            variable.grad_ = g if g.node is not None else _own(variable, g)
        else:
            variable.grad_ = _own(variable, g)
    elif create_graph:
        variable.grad_ = variable.grad_ + g
    else:
        if variable.grad_.node is not None:
            variable.grad_ = variable.grad_ + g
        else:
            verbs().inplace(0, variable.grad_, g)
    return _after(variable)


cdef int _after(Tensor variable) except -1:
    if variable.after_hooks:
        for hook in list(variable.after_hooks.values()):
            out = hook(variable)
            if out is not None:
                raise TypeError(f"expected Variable, but hook returned '{type(out).__name__}'")
    return 0


cdef Tensor _own(Tensor variable, Tensor g):
    """The gradient in memory of its own, laid out as its leaf."""
    cdef Tensor out
    if Py_REFCNT(<PyObject*>g) == 1 and private(g) and g.layout.contiguous and variable.layout.contiguous:
        if g.base is None:
            return g
        out = Tensor.__new__(Tensor)
        out.layout = g.layout
        return out
    if variable.layout.contiguous or not dense(variable.layout):
        out = Tensor.__new__(Tensor)
        if g.layout.storage.where.kind != CPU:
            out.layout = g.layout
            return out
        out.layout = fresh_like(g.layout)
        write_layout(out.layout, g.layout)
        return out
    return variable.detach().new_empty_strided(variable.shape, variable.stride()).copy_(g)


# --- roots -----------------------------------------------------------------------------------------------------
cdef object not_required(Tensor t, int k):
    text = f"element {k} of tensors does not require grad and does not have a grad_fn"
    if t.mark == CUT:
        text += where_text("it was cut from its graph", t.code, t.lasti)
    elif t.code is not None:
        text += where_text("it was made", t.code, t.lasti) + "\n  Nothing it was computed from requires grad."
    return RuntimeError(text)


cdef Tensor seed_of(Tensor t):
    """The gradient of a scalar with respect to itself."""
    cdef Layout v
    cdef Tensor out
    if t.layout.numel != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs"
                           f"\n  got a tensor of shape {shape_text(t.layout)}; reduce it (sum(), mean()) or pass gradient="
                           + ("" if t.node is None else where_text("it was made", t.node.code, t.node.lasti)))
    if t.layout.dtype.category == CAT_COMPLEX:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {t.layout.dtype!r}")
    if t.layout.dtype.code == F32 and t.layout.storage.ptr != NULL:
        v = fresh_like(t.layout)
        (<float*>v.data())[0] = 1
        out = Tensor.__new__(Tensor)
        out.layout = v
        return out
    was = modes().no_grad
    modes().no_grad = True
    try:
        return find_op("_ones")(t)
    finally:
        modes().no_grad = was
