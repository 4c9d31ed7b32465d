"""Parts of backward beside the rules: the initial gradient, the NaN check, and accumulation into leaves."""

from cpython.object cimport PyObject

from claygrad.core.graph.anomaly import tell_forward
from claygrad.core.graph.value_ranges import around
from claygrad.core.op cimport find_op
from claygrad.core.data.device cimport ACCELERATOR, CPU
from claygrad.core.data.dtype cimport CAT_COMPLEX, F32
from claygrad.core.graph.inplace cimport write_layout
from claygrad.core.data.layout cimport SPARSE, Layout, dense, fresh_like
from claygrad.core.graph.hooks cimport checked, is_unshared
from claygrad.core.graph.intercept cimport dispatching, forward_levels, intercepting
from claygrad.core.graph.modes cimport anomaly_checks_nan, modes
from claygrad.core.graph.node cimport Node
from claygrad.core.overrides cimport from_user, to_user
from claygrad.core.graph.provenance cimport where_text
from claygrad.core.tensor cimport CUT, AccumulateGrad, Tensor, bare_tensor, leaf_of, shape_text, verbs
from claygrad.core.tensor import UPCALLS

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)


cdef object _kinds = None


cdef int look_for_nan(Node node, list grads, list out) except -1:
    cdef int i
    if not anomaly_checks_nan():
        return 0
    global _kinds
    if _kinds is None:
        from claygrad.core.graph.finite import kinds         # loaded after this module
        _kinds = kinds
    for i, g in enumerate(out):
        if g is not None and "nan" in _kinds(g):
            tell_forward(node)
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output."
                               + where_text("the forward ran", node.code, node.lasti) + around(node, grads))
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
        return _after(variable)             # requires_grad was set to False since
    if variable.grad_ is None:
        variable.grad_ = _recorded(variable, g) if create_graph else _own(variable, g)
    elif create_graph or variable.grad_.layout.bits & SPARSE and not g.layout.bits & SPARSE:
        variable.grad_ = g + variable.grad_ if variable.grad_.layout.bits & SPARSE else variable.grad_ + g
    else:
        verbs().inplace(0, variable.grad_, g)      # in place, and recorded if it has a graph
    return _after(variable)


cdef int _after(Tensor variable) except -1:
    cdef int quiet
    if variable.after_hooks:
        quiet = to_user()
        for hook in list(variable.after_hooks.values()):
            out = hook(variable)
            if out is not None:
                checked(hook, variable, out)
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        from_user(quiet)
    return 0


cdef Tensor _own(Tensor variable, Tensor g):
    """The gradient in its own memory, with the strides of its leaf."""
    cdef Tensor out
    cdef PyObject* args[1]
    if intercepting():
        args[0] = <PyObject*>g
        if forward_levels() or dispatching(args, 1):       # as torch: an unshared gradient is kept without a copy
            alone = Py_REFCNT(<PyObject*>g) == 1 and is_unshared(g) and g.base is None and _laid_out_as(g.layout, variable.layout)
            if not forward_levels() and (alone or type(g) is not Tensor):
                return <Tensor?>g.detach()
            return <Tensor?>UPCALLS["unrecorded"](g.clone)
    if Py_REFCNT(<PyObject*>g) == 1 and is_unshared(g) and _laid_out_as(g.layout, variable.layout):
        if g.base is None:
            return g
        out = bare_tensor()
        out.layout = g.layout
        return out
    if variable.layout.contiguous or not dense(variable.layout) or g.layout.bits & SPARSE:
        out = bare_tensor()
        if g.layout.storage.where.kind == ACCELERATOR:
            return g.detach().clone()
        if g.layout.storage.where.kind != CPU:
            out.layout = g.layout
            return out
        out.layout = fresh_like(g.layout)
        write_layout(out.layout, g.layout)
        return out
    return variable.detach().new_empty_strided(variable.shape, variable.stride()).copy_(g)


cdef bint _laid_out_as(Layout g, Layout leaf) noexcept:
    """Whether a gradient has the strides of its leaf; if the leaf has gaps, whether it is contiguous."""
    cdef int i
    if leaf.contiguous or not dense(leaf):
        return g.contiguous
    for i in range(leaf.ndim):
        if leaf.shape[i] != 1 and leaf.strides[i] != g.strides[i]:
            return False
    return True


cdef Tensor _recorded(Tensor variable, Tensor g):
    """A recorded copy with the strides of the leaf: it is part of the gradient's graph."""
    if g.layout.bits & SPARSE:
        return g.clone()
    if dense(variable.layout) and not variable.layout.bits & SPARSE:
        return g.new_empty_strided(variable.shape, variable.stride()).copy_(g)
    return g.clone() if g.layout.contiguous else g.contiguous()


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
    if t.layout.dtype.code == F32 and t.layout.storage.ptr != NULL and not intercepting():
        v = fresh_like(t.layout)
        (<float*>v.data())[0] = 1
        out = bare_tensor()
        out.layout = v
        return out
    was = modes().no_grad
    modes().no_grad = True
    try:
        return find_op("_ones")(t)
    finally:
        modes().no_grad = was
