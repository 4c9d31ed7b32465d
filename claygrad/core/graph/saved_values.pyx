"""Saved values outside of backward: kept by Python code, or read through `node._saved_…` and `node._raw_saved_…`."""
import weakref

from libc.stdint cimport int64_t

from claygrad.core.op cimport P_TENSORS, S_OUT, S_PARAM, S_SHAPE, Op
from claygrad.core.data.layout cimport Layout
from claygrad.core.graph.node cimport BOXED, PLAIN, Node, SavedTensor, new_saved
from claygrad.core.graph.record cimport attach, box, edge_at, freed_error, layout_at, pack, unpack_slot, unpacked
from claygrad.core.data.storage cimport Storage
from claygrad.core.tensor cimport Tensor, requires


def keep(Tensor t):
    """Save the current value of a tensor; `kept` returns it, also after later writes."""
    cdef SavedTensor s = new_saved()
    s.layout = t.layout
    s.epoch = t.layout.storage.hold()
    s.original = weakref.ref(t)
    return s


def kept(SavedTensor s):
    cdef Tensor t = s.original()
    if t is not None and t.layout is s.layout and s.epoch == s.layout.storage.epoch and not requires(t):
        return t                                  # the tensor itself, while its value is unchanged
    return attach(layout_at(s.layout, s.epoch), None, 0, False)


cdef object _NOTHING = object()                # a custom Function may have saved None
cdef dict _TORCH = {"self": "input", "result": "out"}          # torch's names
cdef dict _OURS = {"input": "self", "out": "result", "outs": "result"}


cdef int _slot_named(Node node, str name, str prefix) except -1:
    cdef Op op = <Op>node.op
    for ours in (_TORCH.get(name, name), name.replace("_sym_sizes", "_shape").replace("self", "input")):
        if ours in op.slot_names:
            return op.slot_names.index(ours)
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '{prefix}{name}'")


def saved_names(Node node):
    """The names under which Python finds what a node saved."""
    cdef Op op = <Op>node.op
    cdef int k, kind
    names = []
    for k, name in enumerate(op.slot_names):
        kind = op.slot_kind[k]
        shown = _OURS.get(name, name)
        if kind == S_SHAPE:
            shown = name.replace("_shape", "_sym_sizes").replace("input", "self")
        names.append(f"_saved_{shown}")
        if kind == S_OUT or kind == S_PARAM and op.kinds[op.slot_param[k]] <= P_TENSORS:
            names.append(f"_raw_saved_{shown}")
    return names


def saved_attribute(Node node, str name):
    """The value behind `node._saved_<name>`."""
    cdef int k = _slot_named(node, name, "_saved_")
    if node.freed:
        raise freed_error(node)
    value = unpack_slot(node, k, True)
    return tuple(value) if type(value) is list else value


def raw_attribute(Node node, str name):
    """The SavedTensor behind `node._raw_saved_<name>`; several of them for a list of tensors."""
    cdef Op op = <Op>node.op
    cdef int i, k = _slot_named(node, name, "_raw_saved_")
    cdef int64_t epoch
    cdef SavedTensor s
    if node.freed:
        s = new_saved()
        s.epoch = -1
        return s
    value = node.slot(k, &epoch)
    if epoch == BOXED:
        return value if isinstance(value, SavedTensor) else tuple([nothing_saved() if x is None else x for x in value])
    if epoch == PLAIN:
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '_raw_saved_{name}'")
    s = new_saved()
    s.layout, s.epoch, s.is_output, s.requires_grad = <Layout>value, epoch, op.slot_kind[k] == S_OUT, op.slot_kind[k] == S_OUT
    if not s.is_output:
        for i in range(op.n_tensors):
            if op.tensors[i] == op.slot_param[k]:
                i = edge_at(op, node, i)
                s.node, s.output_nr = node.edge(i), node.edge_nr(i)
                s.requires_grad = s.node is not None
                break
    node.set_slot(k, s, BOXED)
    return s


def saved_value(SavedTensor s):
    """The saved tensor, or the result of the unpack hook."""
    if s.hooked and s.unpack is not None:
        return unpacked(s, None)
    if s.layout is None:
        raise RuntimeError("Trying to read a saved tensor after it has been freed.")
    return attach(layout_at(s.layout, s.epoch), s.node, s.output_nr, True)


def packed_value(SavedTensor s):
    """The result of the pack hook; without hooks the tensor."""
    return s.packed if s.hooked and s.unpack is not None else saved_value(s)


def make_saved(Tensor t, bint is_output=False):
    """A tensor saved as a node saves it, with the hooks that are in force."""
    return box(t, is_output)


def hook_saved(SavedTensor s, tuple hooks):
    cdef Tensor t
    if len(hooks) != 2 or not callable(hooks[0]) or not callable(hooks[1]):
        raise TypeError("register_hooks(): incompatible function arguments. The following argument types are supported:\n"
                        "    1. (self: torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: "
                        "collections.abc.Callable) -> None")
    if s.hooked and s.unpack is not None:
        raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks "
                           "is allowed at a time.")
    if s.hooked or s.layout is None:
        if s.requires_grad is False and s.original is _NOTHING:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        raise RuntimeError("Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph "
                           "are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
                           "through the graph a second time or if you need to access saved variables after calling backward.")
    t = attach(layout_at(s.layout, s.epoch), None if s.is_output else s.node, s.output_nr, True)
    layout, epoch = s.layout, s.epoch
    s.layout, s.epoch = None, -1
    try:
        pack(s, t, hooks)
    except BaseException:
        s.layout, s.epoch, s.packed = layout, epoch, None
        raise
    (<Layout>layout).storage.release(epoch)


def nothing_saved():
    """The SavedTensor that stands for None."""
    cdef SavedTensor s = new_saved()
    s.epoch, s.original = -1, _NOTHING
    return s


def saved_memory(Node node):
    """The memory that a node keeps for backward: its address, its bytes, and whether it is a copy that a later write made.

    Without values packed by saved-tensor hooks.
    """
    cdef int k
    cdef int64_t epoch
    found = []
    for k in range(node.n_slots):
        value = node.slot(k, &epoch)
        if epoch >= 0:
            _add_memory(found, <Layout>value, epoch)
        elif epoch == BOXED:
            _add_boxed(found, value)
    if node.op is None and not node.freed:
        _add_boxed(found, getattr(node, "_raw_saved_tensors", ()))           # of a custom Function
    return found


cdef _add_boxed(list found, object value):
    for s in (value,) if isinstance(value, SavedTensor) else value:
        if isinstance(s, SavedTensor) and (<SavedTensor>s).layout is not None and (<SavedTensor>s).epoch >= 0:
            _add_memory(found, (<SavedTensor>s).layout, (<SavedTensor>s).epoch)


cdef _add_memory(list found, Layout layout, int64_t epoch):
    cdef Storage now = layout.storage.at(epoch)
    if now.ptr != NULL:
        found.append((<size_t>now.ptr, now.length, now is not layout.storage))
