"""Below autograd: an operation whose result somebody else gives (Note [Interception]) is recorded like any other."""
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
from claygrad.core.tensor cimport MADE, VIEW_MULTI, VIEW_PLAIN, Tensor, alias, mark_cut
from claygrad.core.tensor import LATE as _LATE
from claygrad.core.tensor import watch_detaching as _watch_detaching
from claygrad.core.graph.intercept import on_intercepting as _on_intercepting


cdef Node _recorded(Op op, PyObject** slots):
    """A node that saves tensors with all that belongs to them."""
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
        return _LATE["torch_dispatch"](call.op, call.values)
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
    """Whoever answered made the view unrecorded: let it be one of t as if it had been made here."""
    cdef Tensor base = t
    while base.base is not None:
        base = base.base
    if base is out:                          # the answer is what it should be a view of
        return 0
    if t.layout.storage.where.kind == WRAPPED:
        out.layout = new_layout(t.layout.storage, out.layout.dtype, out.layout.ndim, out.layout.shape, out.layout.strides,
                                out.layout.offset)
    if t.inference or modes().no_grad or modes().inference:
        return 0
    out.base = base
    out.counter, out.view_version = t.counter, t.version()
    out.creation = VIEW_MULTI if multi else t.creation if t.base is not None else VIEW_PLAIN
    out.mark, out.code = MADE, None
    return 0


cdef Tensor _own(Operation call, Tensor out):
    """A result that may be given a history: not an argument, and nothing that has one."""
    cdef bint given = False
    for x in call.values:
        given = given or x is out
    if given:
        out = <Tensor?>_LATE["unrecorded"](out.detach)
        for x in call.values:                # whoever answers is asked for that too, and may give an argument again
            if x is out and type(out) is Tensor:
                return alias(out, False)
    return alias(out, False) if type(out) is Tensor and (out.node is not None or out.leaf_grad) else out


def dispatched(Operation call):
    """What `__torch_dispatch__` makes of an operation, recorded as the operation."""
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
    if record:                       # before anybody answers, as in torch: a hook on what is saved may end it here
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
    """What the rule of the i-th tensor argument makes of a gradient, in the shape in which the rule gives it."""
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
    """A function that binds for itself, by the operations that it is made of, unless a dispatch mode answers."""
    if batch_levels():
        result = _LATE["batched_make"](factory, args, kwargs)
        if result is not None:
            return result
    result = _LATE["dispatched_make"](factory, takes_none, args, kwargs)
    if result is not None:
        return result
    result = factory.__wrapped__(*args, **kwargs)
    return _LATE["forward_make"](factory, args, kwargs, result) if forward_levels() else result


def _nobody(*args):
    return None


_LATE.update(dispatched=dispatched, unrecorded=unrecorded, make=make)
_LATE.update(dict.fromkeys(("detach", "local_scalar", "dispatched_make", "tangents", "forget_tangents"), _nobody))
_on_intercepting(_watch_detaching)
