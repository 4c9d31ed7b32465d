"""Recording a call in the graph: the node, its edges, and what it saves; and reading saved values back."""
import weakref

from claygrad.core.graph.anomaly import forward_notes

from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from claygrad.core.op cimport (POINTWISE, P_TENSOR_NUM_OPT, P_TENSORS, R_CONSTANT, R_MISSING, R_NONE, S_AUX, S_DTYPE, S_OUT, S_OUTS,
                               S_PARAM, S_SHAPE, S_STRIDE, Op)
from claygrad.core.data.kernels cimport copy_strided, fingerprint
from claygrad.core.data.layout cimport Layout, fresh, new_layout
from claygrad.core.data.mapped_memory cimport Mapping
from claygrad.core.data.storage cimport INTERCEPTED, unusual
from claygrad.core.graph.intercept cimport dispatches, forward_levels
from claygrad.core.graph.modes cimport ANOMALY, Modes, anomaly, modes, saved_hooks
from claygrad.core.graph.saved_hooks cimport NO, YES, as_it_was, leads_to
from claygrad.core.graph.node cimport BOXED, PLAIN, Node, SavedTensor, clay_scope, clay_scope_take, new_node, new_saved, next_seq
from claygrad.core.graph.provenance cimport here, where_text
from claygrad.core.data.storage cimport Storage
from claygrad.core.tensor cimport AccumulateGrad, Tensor, alias, bare_tensor, gradient_edge, leaf_of, requires, shape_text, size_of
from claygrad.core.tensor import UPCALLS as _UPCALLS

# Memory visible outside claygrad is copied when saved, up to this size; above it a checksum is stored. Memory shared between
# processes is always copied: the others write it during training (Hogwild), and that is no error.
cdef enum:
    COPY_LIMIT = 65536


cdef bint should_record(Op op, PyObject** slots) noexcept:
    cdef int i
    cdef object value
    cdef Modes* now = modes()
    if now.no_grad or now.inference or not op.recorded:
        return False
    for i in range(op.n_tensors):
        value = <object>slots[op.tensors[i]]
        if isinstance(value, Tensor):
            if requires(<Tensor>value) and op.how[i] != R_CONSTANT and op.how[i] != R_NONE:
                return True
        elif i == op.list_at and value is not None:
            for item in value:
                if isinstance(item, Tensor) and requires(<Tensor>item):
                    return True
    return False


cdef int _edge_for(Node node, Tensor t) except -1:
    cdef int nr = 0
    cdef Node target = gradient_edge(t, &nr)
    node.add_edge(target, nr)
    return 0


cdef int _no_edge(Op op, Node node, int i, bint hidden) except -1:
    """An edge that leads to no node; hidden if torch's node has no such edge."""
    if (hidden or op.how[i] == R_MISSING and op.node_label == "torch::autograd::NotImplemented") and node.n_edges < 32:
        node.numbers |= 1U << node.n_edges
    return node.add_edge(None, 0)


cdef bint _among_numbers(Op op, PyObject** slots, int i):
    """Whether a parameter is None and the other bounds are numbers: torch's overload for numbers."""
    cdef int k
    if op.kinds[op.tensors[i]] != P_TENSOR_NUM_OPT:
        return False
    for k in range(op.n_tensors):
        if op.kinds[op.tensors[k]] == P_TENSOR_NUM_OPT and isinstance(<object>slots[op.tensors[k]], Tensor):
            return False
    return True


cdef Node record_inputs(Op op, PyObject** slots):
    """A new node with edges to the inputs, and the values that its rules need."""
    cdef Node node = new_node()
    cdef int i, k
    cdef unsigned int wanted = 0
    cdef object value
    cdef Tensor t
    node.op = op
    node.seq = next_seq()
    node.code = here(&node.lasti)
    node.scope = clay_scope_take(<clay_scope*>modes().running)
    for i in range(op.n_tensors):
        value = <object>slots[op.tensors[i]]
        if isinstance(value, Tensor):
            t = <Tensor>value
            if requires(t) and op.how[i] != R_CONSTANT and op.how[i] != R_NONE:
                _edge_for(node, t)
                wanted |= op.needs[i]
            else:
                _no_edge(op, node, i, op.how[i] == R_CONSTANT)
        elif i == op.list_at:
            for item in value:
                if isinstance(item, Tensor) and requires(<Tensor>item):
                    _edge_for(node, <Tensor>item)
                    wanted |= op.needs[i]
                else:
                    _no_edge(op, node, i, op.how[i] == R_CONSTANT)
        else:
            _no_edge(op, node, i, op.how[i] == R_CONSTANT or not op.number_edge and (value is not None or _among_numbers(op, slots, i)))
    node.wanted = wanted
    for k in range(op.n_slots if wanted else 0):
        if not wanted >> k & 1:
            node.save(None, PLAIN)
            continue
        if op.slot_kind[k] >= S_OUT:
            node.holds = True
            node.save(None, PLAIN)                    # filled by record_output
            continue
        value = <object>slots[op.slot_param[k]]
        if op.slot_kind[k] == S_PARAM:
            if isinstance(value, Tensor):
                _save(node, <Tensor>value, False)
                node.holds = True
            elif op.kinds[op.slot_param[k]] == P_TENSORS:
                node.save([box(<Tensor>x, False) if isinstance(x, Tensor) else None for x in value], BOXED)
                node.holds = True
            else:
                node.save(value, PLAIN)
                if op.number_edge and op.kinds[op.slot_param[k]] < P_TENSORS and value is not None:
                    node.holds = True                 # a number for a tensor parameter: torch saves it as a tensor
        elif isinstance(value, Tensor):
            if op.slot_kind[k] == S_SHAPE and _edge_knows_shape(op, node, op.slot_param[k], (<Tensor>value).layout):
                node.save(None, PLAIN)                # the node behind the edge has it
            else:
                node.save(_aspect(<Tensor>value, op.slot_kind[k]), PLAIN)
        elif op.kinds[op.slot_param[k]] == P_TENSORS:
            node.save([None if x is None else _aspect(<Tensor>x, op.slot_kind[k]) for x in value], PLAIN)
        else:
            node.save(() if op.slot_kind[k] == S_SHAPE else None, PLAIN)
    if op.node_rule is not None:
        node.label = _label(op, slots)
    if anomaly() & ANOMALY:
        node.notes = forward_notes()
    return node


cdef bint _edge_knows_shape(Op op, Node node, int param, Layout layout):
    cdef int i
    for i in range(op.n_tensors):
        if op.tensors[i] == param:
            i = edge_at(op, node, i)
            return node.edge(i) is not None and node.edge(i).fits(node.edge_nr(i), layout)
    return False


cdef object _aspect(Tensor t, int kind):
    if kind == S_SHAPE:
        return size_of(t.layout)
    if kind == S_DTYPE:
        return t.layout.dtype
    return t.layout.stride_tuple() if kind == S_STRIDE else t.layout.offset


cdef str _label(Op op, PyObject** slots):
    """The name of a node, where it depends on the call."""
    cdef int i
    cdef bint absent = op.node_args is not None and len(op.node_args) == 1 and op.node_args[0] >= 0 and (
        <object>slots[<int>op.node_args[0]] is None)
    if absent:
        if op.none_label is None:
            op.none_label = op.node_rule(None)
        return op.none_label
    if op.node_args is None:
        bound = {op.params[i]: <object>slots[i] for i in range(op.n_params)}
        bound.setdefault("inplace", op.inplace)
        return op.node_rule(**bound)
    return op.node_rule(*[op.inplace if i == -1 else <object>slots[i] for i in op.node_args])


cdef int record_output(Node node, Tensor out, bint differentiable=True) except -1:
    """Make `out` the next output of the node."""
    cdef Op op
    cdef int k
    cdef int number = node.n_outputs
    node.describe_output(out.layout)
    if differentiable:
        out.node = node
        out.output_nr = number
        out.leaf_grad = False
    elif number:
        node.outs[number - 1] = (*node.outs[number - 1], False)          # no gradient comes for it: n_shown
    if node.wanted and node.op is not None:
        op = <Op>node.op
        for k in range(op.n_slots):
            if node.wanted >> k & 1:
                if op.slot_kind[k] == S_OUT and number == 0:
                    _save_at(node, k, out)
                elif op.slot_kind[k] == S_OUTS or (op.slot_kind[k] == S_AUX and number):
                    _save_more(node, k, out)
    return 0


cdef int record_again(Node node, Tensor out) except -1:
    """Make a tensor the next output of the node; its retain_grad moves there."""
    move_retained(out, node, node.n_outputs)
    return record_output(node, out)


cdef int move_retained(Tensor t, Node node, int nr) except -1:
    """Move t's retain_grad to its new node."""
    if t.retains and t.node is not None and t.node.hooks is not None and t.node.hooks.retain is not None:
        reference = t.node.hooks.retain.pop(t.output_nr, None)
        if reference is not None:
            node.want_hooks().retain_for(nr, reference)
    return 0


cdef inline int _save(Node node, Tensor t, bint is_output) except -1:
    cdef Storage storage = t.layout.storage
    if storage.exports == 0 and not modes().tracing_saves and not t.inference:
        node.save(t.layout, storage.hold())
    else:
        node.save(box(t, is_output), BOXED)
    return 0


cdef int _save_at(Node node, int k, Tensor t) except -1:
    cdef Storage storage = t.layout.storage
    if storage.exports == 0 and not modes().tracing_saves:
        node.set_slot(k, t.layout, storage.hold())
    else:
        node.set_slot(k, box(t, True), BOXED)
    return 0


cdef int _save_more(Node node, int k, Tensor out) except -1:
    cdef int64_t epoch
    former = node.slot(k, &epoch)
    cdef SavedTensor one = box(out, True)
    one.output_nr = node.n_outputs - 1
    one.is_output = out.node is node
    node.set_slot(k, [one] if former is None else former + [one], BOXED)
    return 0


cdef SavedTensor box(Tensor t, bint is_output):
    """Save a tensor in the general case: with hooks, or a private copy or checksum of exported memory."""
    cdef SavedTensor s = new_saved()
    cdef Layout layout = t.layout, copy
    cdef Storage storage = layout.storage
    if t.inference:
        raise RuntimeError("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference "
                           "mode in computation tracked by autograd. To work around this, you can make a clone to get a "
                           "normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
                           "`torch.inference_mode()`.")
    s.is_output = is_output
    s.requires_grad = requires(t)
    s.epoch = -1
    if not is_output and s.requires_grad:
        s.node = gradient_edge(t, &s.output_nr)
    hooks = saved_hooks() if modes().tracing_saves else None
    if unusual()[0] & INTERCEPTED:
        s.tangents = _UPCALLS["tangents"](t)
        if hooks is None and dispatches(t):
            return _whole(s, t)
    if hooks is not None:
        return pack(s, t, hooks)
    if storage.exports != 0 and (layout.numel * layout.dtype.itemsize <= COPY_LIMIT or isinstance(storage.owner, Mapping)):
        copy = fresh(layout.dtype, layout.ndim, layout.shape)
        _copy_bytes(layout, copy)
        copy.bits = layout.bits
        layout = copy
    elif storage.exports != 0:
        s.print_ = fingerprint(storage.ptr, storage.capacity)
        s.printed = True
    s.layout = layout
    s.epoch = layout.storage.hold()
    return s


cdef SavedTensor _whole(SavedTensor s, Tensor t):
    s.whole = True
    s.print_ = <unsigned long long>t.version()
    s.packed = _UPCALLS["unrecorded"](t.detach) if s.is_output else t      # a node must not hold its own output
    return s


cdef Tensor _from_whole(SavedTensor s, Node node, bint create_graph):
    cdef Tensor t
    if s.packed is None:
        raise freed_error(node)
    t = <Tensor>s.packed
    if not s.is_output and <unsigned long long>t.version() != s.print_:
        raise RuntimeError("one of the variables needed for gradient computation has been modified by an inplace operation: "
                           f"[{type(t).__name__} {shape_text(t.layout)}] is at version {t.version()}; expected version {s.print_} "
                           f"instead.{where_text('it was saved', node.code, node.lasti)}\n"
                           "  The class of this tensor keeps its values itself, so they could not be copied before the write.")
    if not create_graph or not s.is_output and t.node is s.node:
        return t
    if s.node is not None and isinstance(s.node, AccumulateGrad) and leaf_of(s.node) is t:
        return t
    t = <Tensor?>_UPCALLS["unrecorded"](t.detach)
    if s.is_output or s.node is not None:
        t.node = _giver(node) if s.is_output else s.node
        t.output_nr = s.output_nr
    return t


cdef Tensor _with_tangents(SavedTensor s, Node node, Tensor t):
    tangents = s.tangents
    if s.is_output and node is not None and node.notes is not None:
        tangents = node.notes.get(TANGENTS, {}).get(s.output_nr)
    if tangents is not None:
        _UPCALLS["with_tangents"](t, tangents)
    return t


def note_tangent(Tensor t, level, tangent):
    """Add the tangent to the value that the tensor's node saved of it, or the node that wrote into the tensor as a view."""
    cdef Node node = t.node
    cdef int nr = t.output_nr
    if node is not None and node.notes is not None and _WRITER in node.notes:
        node, nr = node.notes[_WRITER](), 0
    if node is not None and node.op is not None and node.holds:
        if node.notes is None:
            node.notes = {}
        node.notes.setdefault(TANGENTS, {}).setdefault(nr, {})[level] = _UPCALLS["kept_tangent"](level, tangent)


cdef object TANGENTS = object()         # a key of .metadata that no user has
cdef object AS_PACKED = object()        # in place of `memory`: the layout is that of the packed tensor itself


cdef SavedTensor pack(SavedTensor s, Tensor t, tuple hooks):
    cdef int64_t before = t.version()
    cdef bint was = modes().no_grad
    cdef int leads
    modes().no_grad = True
    try:
        s.packed = hooks[0](t if not s.is_output else alias(t, False) if type(t) is Tensor else t.detach())
    finally:
        modes().no_grad = was
    if t.version() != before:
        raise RuntimeError("A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                           "cannot be modified by in-place operations as this can lead to unexpected side-effects. Please "
                           "open an issue if you need to perform in-place operations on the input to a pack hook.")
    s.unpack = hooks[1]
    s.hooked = True
    s.original = (t.layout.shape_tuple(), t.layout.dtype, t.layout.storage.where)
    leads = leads_to(s.packed, t.layout.storage, 0)
    if leads != NO:
        s.epoch = t.layout.storage.hold()
        if leads == YES and isinstance(s.packed, Tensor) and (<Tensor>s.packed).layout.storage is t.layout.storage:
            s.layout, s.memory = (<Tensor>s.packed).layout, AS_PACKED
        elif leads == YES:
            s.layout = t.layout
        else:
            s.memory = weakref.ref(t.layout.storage)
    return s


cdef void _copy_bytes(Layout src, Layout dst):
    cdef int64_t item = src.dtype.itemsize
    cdef int64_t a[64]
    cdef int64_t b[64]
    cdef int i
    for i in range(src.ndim):
        a[i] = src.strides[i] * item
        b[i] = dst.strides[i] * item
    copy_strided(src.data(), a, dst.data(), b, src.shape, src.ndim, item)


cdef Layout layout_at(Layout layout, int64_t epoch):
    cdef Storage storage = layout.storage
    if epoch == storage.epoch:
        return layout
    cdef Layout then = new_layout(storage.at(epoch), layout.dtype, layout.ndim, layout.shape, layout.strides, layout.offset)
    then.bits = layout.bits
    return then


cdef Tensor attach(Layout layout, Node edge, int nr, bint create_graph):
    cdef Tensor t, variable
    if create_graph and edge is not None and isinstance(edge, AccumulateGrad):
        variable = leaf_of(edge)
        if variable.layout is layout:
            return variable
    t = bare_tensor()
    t.layout = layout
    if create_graph and edge is not None:
        t.node = edge
        t.output_nr = nr
    return t


# Note [Outputs written into views]
# The node of a write into a view is part of the history of the base (CopySlices). If it saved its output, that value belongs to
# the view, which has a new node on that history: gradients of the saved output must flow to that node, where the hooks of the view
# are. It is held by a weak reference, because it refers to this node; once it is freed, its hooks are too.

cdef object _VIEW = object()                       # keys that no user of .metadata can have: the node of the view,
cdef object _WRITER = object()                     # and the node that wrote into it, for its tangents

cdef int note_view(Node node, Tensor view) except -1:
    cdef int k
    if node.op is None:
        return 0
    for k in range((<Op>node.op).n_slots):
        if node.wanted >> k & 1 and (<Op>node.op).slot_kind[k] == S_OUT:
            if node.notes is None:
                node.notes = {}
            node.notes[_VIEW] = weakref.ref(view.node)
            if unusual()[0] & INTERCEPTED:
                if view.node.notes is None:
                    view.node.notes = {}
                view.node.notes[_WRITER] = weakref.ref(node)
    return 0


cdef Node _giver(Node node):
    """The node whose output the saved output of this node is."""
    if node.notes is not None and _VIEW in node.notes:
        found = node.notes[_VIEW]()
        if found is not None:
            return <Node>found
    return node


cdef object unpack_slot(Node node, int k, bint create_graph):
    """The value of a saved slot; tensors take part in the graph again under create_graph."""
    cdef int64_t epoch
    cdef Op op = <Op>node.op
    cdef int i
    value = node.slot(k, &epoch)
    if epoch == PLAIN:
        if value is None and op.slot_kind[k] == S_SHAPE:
            for i in range(op.n_tensors):
                if op.tensors[i] == op.slot_param[k]:
                    i = edge_at(op, node, i)
                    return node.edge(i).shape_of(node.edge_nr(i))
        return value
    if epoch >= 0:
        if op.slot_kind[k] == S_OUT:
            return attach(layout_at(<Layout>value, epoch), _giver(node), 0, create_graph)
        if create_graph:
            for i in range(op.n_tensors):
                if op.tensors[i] == op.slot_param[k]:
                    i = edge_at(op, node, i)
                    return attach(layout_at(<Layout>value, epoch), node.edge(i), node.edge_nr(i), True)
        return attach(layout_at(<Layout>value, epoch), None, 0, False)
    if isinstance(value, SavedTensor):
        return unbox(<SavedTensor>value, node, create_graph)
    return [None if x is None else unbox(<SavedTensor>x, node, create_graph) for x in value]


cdef int edge_at(Op op, Node node, int i) noexcept:
    """The edge of the i-th tensor parameter; a list parameter before it has several edges."""
    if op.list_at >= 0 and i > op.list_at:
        return i + node.n_edges - op.n_tensors
    return i


cdef int _check_unpacked(SavedTensor s, Tensor t, Node node) except -1:
    """Raise if an unpack hook returned another shape, dtype or device than was packed: native derivatives rely on them.
    Elementwise derivatives do not: they check and broadcast their operands."""
    if type(s.original) is not tuple or node is None or node.op is None or (<Op>node.op).kind == POINTWISE:
        return 0
    shape, kind, where = s.original
    if t.layout.dtype is kind and t.layout.storage.where == where and t.layout.shape_tuple() == shape:
        return 0
    raise RuntimeError(f"Output of saved tensor unpack_hook expected to be a {kind} tensor of shape {list(shape)} on {where}, as it was "
                       f"saved, but got a {t.layout.dtype} tensor of shape {list(t.layout.shape_tuple())} on {t.layout.storage.where}"
                       f"{where_text(f'{node.name()} was recorded', node.code, node.lasti)}")


cdef Tensor unbox(SavedTensor s, Node node, bint create_graph):
    if s.whole:
        return _from_whole(s, node, create_graph)
    if forward_levels():
        return _with_tangents(s, node, _unbox(s, node, create_graph))
    return _unbox(s, node, create_graph)


cdef Tensor _unbox(SavedTensor s, Node node, bint create_graph):
    cdef Tensor t, out
    cdef Storage now
    if s.hooked:
        t = unpacked(s, node)
        _check_unpacked(s, t, node)
        if not create_graph or s.node is None and not s.is_output and not requires(t):
            return t
        out = bare_tensor()
        out.layout = t.layout
        out.node = _giver(node) if s.is_output else s.node
        out.output_nr = s.output_nr
        return out
    if s.layout is None:
        raise freed_error(node)
    if s.printed:
        now = s.layout.storage.at(s.epoch)
        if fingerprint(now.ptr, now.capacity) != s.print_:
            code, lasti = s.layout.storage.export_where or (None, 0)
            raise RuntimeError("one of the variables needed for gradient computation has been modified by an inplace "
                               f"operation: [{s.layout.dtype!r} {shape_text(s.layout)}] was changed through memory shared with "
                               f"another library.{where_text('its memory was handed out', code, lasti)}"
                               f"{where_text('it was saved', node.code, node.lasti)}\n"
                               "  Give the other library a copy, or change the tensor with claygrad's own operations.")
    if s.is_output:
        return attach(layout_at(s.layout, s.epoch), _giver(node), s.output_nr, create_graph)
    out = attach(layout_at(s.layout, s.epoch), s.node, s.output_nr, create_graph)
    if create_graph and s.node is None and s.requires_grad:      # a view made under no_grad: its base requires grad, it is a leaf
        out.leaf_grad = True
    return out


cdef Tensor unpacked(SavedTensor s, Node node):
    """The result of the unpack hook, with memory as it was when it was packed."""
    cdef Storage storage = None
    if s.unpack is None:
        raise freed_error(node)
    packed = s.packed
    if s.epoch >= 0:
        storage = s.layout.storage if s.layout is not None else s.memory()
    if s.memory is AS_PACKED and (<Tensor>packed).layout is not s.layout:       # its memory or shape changed since
        out = s.unpack(attach(layout_at(s.layout, s.epoch), None, 0, False))
    elif storage is None or storage.epoch == s.epoch:
        out = s.unpack(packed)
    else:
        out = as_it_was(s.unpack(as_it_was(packed, storage, s.epoch, 0)), storage, s.epoch, 0)
    if not isinstance(out, Tensor):
        raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                        f"{type(out).__name__}")
    return <Tensor>out


cdef object freed_error(Node node):
    text = ("Trying to backward through the graph a second time (or directly access saved tensors after they have already "
            "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
            "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
            "tensors after calling backward.")
    return RuntimeError(text + where_text(f"{node.name()} was recorded", node.code, node.lasti)
                        + where_text("its values were freed by the backward", node.freed_code, node.freed_lasti))
