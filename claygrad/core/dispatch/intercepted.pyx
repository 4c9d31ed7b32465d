"""Operations whose result comes from __torch_dispatch__ or forward mode (Note [Interception]), recorded like any other."""
from cpython.object cimport PyObject

from claygrad.core.data.device cimport WRAPPED
from claygrad.core.data.dtype cimport CAT_FLOAT
from claygrad.core.data.layout cimport new_layout
from claygrad.core.graph.inplace cimport check_writable, rebase
from claygrad.core.graph.intercept cimport Operation, batch_levels, forward_levels
from claygrad.core.graph.modes cimport modes
from claygrad.core.graph.node cimport Node
from claygrad.core.graph.record cimport record_inputs, record_output, should_record
from claygrad.core.graph.rules cimport call_rules
from claygrad.core.op cimport MULTI_VIEW, VIEW, Op
from claygrad.core.tensor cimport CREATED, VIEW_MULTI, VIEW_DEFAULT, Tensor, alias, mark_cut
from claygrad.core.tensor import UPCALLS as _UPCALLS
from claygrad.core.tensor import watch_detaching as _watch_detaching
from claygrad.core.graph.intercept import on_intercepting as _on_intercepting


cdef Node _recorded(Op op, PyObject** slots):
    """A node that saves whole tensors (subclass, attributes, tangents)."""
    cdef bint was = modes().tracing_saves
    modes().tracing_saves = True
    try:
        return record_inputs(op, slots)
    finally:
        modes().tracing_saves = was


cdef object _answer(Operation call):
    cdef bint was = modes().no_grad
    modes().no_grad = True
    try:
        return _UPCALLS["torch_dispatch"](call.op, call.values)
    finally:
        modes().no_grad = was


cdef object _written(Operation call, PyObject** slots):
    cdef Tensor t = <Tensor?>call.values[0]
    cdef Node node = None
    cdef bint record = t.layout.dtype.category >= CAT_FLOAT and should_record(call.op, slots)
    cdef long long before
    check_writable(t, record)
    if record:
        node = _recorded(call.op, slots)
    before = t.version()
    _answer(call)
    if t.version() == before:
        t.bump()
    if record:
        rebase(t, node)
    return t


cdef int _as_view(Tensor t, Tensor out, bint multi) except -1:
    """Make the view that __torch_dispatch__ returned, which is unrecorded, a view of t for autograd."""
    cdef Tensor base = t
    while base.base is not None:
        base = base.base
    if base is out:                          # __torch_dispatch__ returned the base itself
        return 0
    if t.layout.storage.where.kind == WRAPPED:
        out.layout = new_layout(t.layout.storage, out.layout.dtype, out.layout.ndim, out.layout.shape, out.layout.strides,
                                out.layout.offset)
    if t.inference or modes().no_grad or modes().inference:
        return 0
    out.base = base
    out.counter, out.view_version = t.counter, t.version()
    out.creation = VIEW_MULTI if multi else t.creation if t.base is not None else VIEW_DEFAULT
    out.mark, out.code = CREATED, None
    return 0


cdef Tensor _own(Operation call, Tensor out):
    """A result that may get a history: an alias if it is an argument or has a history already."""
    cdef bint given = False
    for x in call.values:
        given = given or x is out
    if given:
        out = <Tensor?>_UPCALLS["unrecorded"](out.detach)
        for x in call.values:                # __torch_dispatch__ answers detach too, and may return an argument again
            if x is out and type(out) is Tensor:
                return alias(out, False)
    return alias(out, False) if type(out) is Tensor and (out.node is not None or out.leaf_grad) else out


def dispatched(Operation call):
    """The result of `__torch_dispatch__`, recorded as the operation."""
    cdef Op op = call.op
    cdef PyObject* slots[24]
    cdef int i
    cdef Node node = None
    cdef Tensor first, out
    cdef bint record, floating = False
    for i in range(op.n_params):
        slots[i] = <PyObject*>call.values[i]
    if call.in_place:
        return _written(call, slots)
    record = should_record(op, slots)
    if record:                       # before __torch_dispatch__ runs, as in torch: a saved-tensor hook may raise here
        node = _recorded(op, slots)
    result = _answer(call)
    outs = list(result) if isinstance(result, (tuple, list)) else [result]
    for i in range(len(outs)):
        if isinstance(outs[i], Tensor):
            outs[i] = out = _own(call, <Tensor>outs[i])
            if op.kind == VIEW or op.kind == MULTI_VIEW:
                first = <Tensor?>call.values[0]
                if out.layout.storage is first.layout.storage or (
                        first.layout.storage.where.kind == WRAPPED and out.layout.storage.where.kind == WRAPPED):
                    _as_view(first, out, op.kind == MULTI_VIEW)
            floating = floating or out.layout.dtype.category >= CAT_FLOAT
    if floating and node is not None:
        _outputs(op, node, outs)
    if not isinstance(result, (tuple, list)):
        return outs[0]
    return op.returns(outs) if op.returns is not None else tuple(outs)


cdef int _outputs(Op op, Node node, list outs) except -1:
    cdef bint was = modes().tracing_saves
    cdef int i
    modes().tracing_saves = True
    try:
        for i, t in enumerate(outs):
            if isinstance(t, Tensor):
                record_output(node, <Tensor>t, (<Tensor>t).layout.dtype.category >= CAT_FLOAT
                              and (op.differentiable is None or i in op.differentiable))
                if (<Tensor>t).node is None:
                    mark_cut(<Tensor>t)
    finally:
        modes().tracing_saves = was
    return 0


def begin_node(Operation call, list values):
    """A node of the operation on these arguments, which are saved as they are now."""
    cdef PyObject* slots[24]
    cdef int i
    if len(values) != call.op.n_params:
        raise TypeError(f"{call.op.name}: {len(values)} arguments for {call.op.n_params}")
    for i in range(call.op.n_params):
        slots[i] = <PyObject*>values[i]
    return _recorded(call.op, slots)


def end_node(Operation call, Node node, list results):
    """Aliases of the results as outputs of a node that was begun."""
    cdef list outs = [alias(<Tensor>x, False) if type(x) is Tensor else unrecorded(x.detach) if isinstance(x, Tensor) else x
                      for x in results]
    _outputs(call.op, node, outs)
    return outs


def rule_alone(Node node, Tensor g, int i, bint create_graph):
    """The result of the rule of the i-th tensor argument, before it is fitted to the shape of the input."""
    if not 0 <= i < node.n_edges or i > 62:
        raise IndexError(f"the node has {node.n_edges} edges, and none of number {i}")
    return call_rules(node, [g], create_graph, ~(1ULL << i))[i]


def unrecorded(call):
    """call() with grad mode off."""
    cdef bint was = modes().no_grad
    modes().no_grad = True
    try:
        return call()
    finally:
        modes().no_grad = was


def make(factory, bint takes_none, list args, dict kwargs):
    """A function that binds its own arguments: vmap or a dispatch mode may answer it, else its inner operations run."""
    if batch_levels():
        result = _UPCALLS["batched_make"](factory, args, kwargs)
        if result is not None:
            return result
    result = _UPCALLS["dispatched_make"](factory, takes_none, args, kwargs)
    if result is not None:
        return result
    result = factory.__wrapped__(*args, **kwargs)
    return _UPCALLS["forward_make"](factory, args, kwargs, result) if forward_levels() else result


def _nobody(*args):
    return None


_UPCALLS.update(dispatched=dispatched, unrecorded=unrecorded, make=make)
_UPCALLS.update(dict.fromkeys(("detach", "local_scalar", "dispatched_make", "tangents", "forget_tangents"), _nobody))
_on_intercepting(_watch_detaching)
