"""Custom operations: `autograd.Function`, whose context is the node itself."""
import functools
import weakref

cimport cython
from cpython.object cimport PyObject, PyTypeObject

from claygrad.core.graph.intercept cimport batch_levels, forward_levels, swap_levels
from claygrad.core.tensor import UPCALLS
from claygrad.core.graph.anomaly import forward_notes
from claygrad.core.user_warnings import warn
from claygrad.core.errors import no_node
from claygrad.core.data.dtype cimport CAT_FLOAT
from claygrad.core.data.dtype import prefix
from claygrad.core.graph.inplace cimport check_writable, rebase
from claygrad.core.graph.hooks cimport own
from claygrad.core.graph.modes cimport ANOMALY, anomaly, modes
from claygrad.core.graph.node cimport Node, SavedTensor, clay_scope, clay_scope_take, next_seq
from claygrad.core.overrides cimport from_user, to_user
from claygrad.core.graph.provenance cimport here, place_text, where_text
from claygrad.core.graph.saved_values import nothing_saved
from claygrad.core.graph.record cimport box, freed_error, record_output, unbox
from claygrad.core.graph.rules cimport zeros_for
from claygrad.core.tensor cimport (VIEW_CUSTOM, VIEW_MULTI, AccumulateGrad, Tensor, bare_of, gradient_edge, requires)
from claygrad.core.graph.view cimport make_view

cdef extern from "sealed.h":
    int clay_seal(PyTypeObject* type) except -1
    object clay_make(PyTypeObject* type)


cdef object _of_user(FunctionNode ctx, str name):
    """An attribute of the context: the user's own if there is one, else that of the node."""
    given = getattr(ctx, "__dict__", {})
    return given[name] if name in given else getattr(Node, name).__get__(ctx)


@cython.binding(False)
@cython.no_gc_clear
cdef class FunctionNode(Node):
    """The node of a custom Function, and the `ctx` of its forward and backward."""
    cdef public object needs_input_grad
    cdef tuple to_save
    cdef list saved
    cdef tuple dirty
    cdef tuple constant
    cdef bint materialize
    cdef public bint _materialize_non_diff_grads
    cdef unsigned long long no_gradient      # outputs marked as non-differentiable, as bits
    cdef tuple is_tensor            # by argument: whether it has an edge
    cdef int n_args
    cdef bint looked_at             # saved tensors were read once and released: OneLook
    cdef tuple for_forward          # what jvp reads as saved_tensors
    cdef bint in_jvp

    def __cinit__(self):
        self.materialize = True
        self._materialize_non_diff_grads = True

    cpdef str name(self):
        return type(self).__name__

    # Users may put attributes of any name on a context.
    @property
    def origin(self):
        return _of_user(self, "origin")

    @origin.setter
    def origin(self, value):
        self.__dict__["origin"] = value

    @property
    def module(self):
        return _of_user(self, "module")

    @module.setter
    def module(self, value):
        self.__dict__["module"] = value

    def __repr__(self):
        return f"<{prefix()}.autograd.function.{type(self).__name__} object at {<size_t><PyObject*>self:#x}>"

    def save_for_backward(self, *tensors):
        """Save tensors for backward; later writes to them do not change what backward sees."""
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        for t in tensors:
            if not isinstance(t, Tensor) and t is not None:
                raise AssertionError("save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes "
                                     "on ctx.")
        self.for_forward = tensors

    def mark_dirty(self, *tensors):
        """Mark inputs that forward has changed in place."""
        self.dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Mark outputs as not differentiable."""
        self.constant = tensors

    def mark_shared_storage(self, *pairs):
        warn("function 'mark_shared_storage' is deprecated. Tensors with shared storages are automatically tracked. Note "
             "that calls to `set_()` are not tracked", FutureWarning)

    def set_materialize_grads(self, bint value):
        """Choose whether absent gradients are passed to backward as zeros (the default) or as None."""
        self.materialize = value

    @property
    def _raw_saved_tensors(self):
        if self.freed:
            raise freed_error(self)
        return tuple([nothing_saved() if x is None else x for x in self.saved or ()])

    @property
    def saved_tensors(self):
        if self.in_jvp:
            return self.for_forward or ()
        if self.freed:
            raise freed_error(self)
        if self.saved is None:
            return ()
        return tuple([_restore(self, x) for x in self.saved])

    @property
    def saved_variables(self):
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    cdef void free_saved(self):
        if self.saved is not None:
            for x in self.saved:
                if x is not None:
                    (<SavedTensor>x).release()
        self.saved = None

    cdef bint fills(self, int i):
        """Whether an absent gradient of output i is given as zeros."""
        if not self.materialize or self.dtype_of(i) is None:
            return False
        return self._materialize_non_diff_grads or i > 63 or not self.no_gradient >> i & 1

    cdef list apply(self, list grads, bint create_graph):
        cdef int i
        cdef list out
        given = []
        for i in range(len(grads)):
            own(grads, i)                         # Note [Handing out]
            given.append(zeros_for(self, i) if grads[i] is None and self.fills(i) else grads[i])
        if self.hooks is None or not self.hooks.post:
            grads.clear()                         # else a gradient that backward returns unchanged would count as shared
        cdef int quiet = to_user()
        if _boxed and self._forward_cls.boxed_grads_call:
            boxed, given = [given], None          # the only reference to the list: backward may release gradients one by one
            out = _sorted_out(self, _backward_of(self._forward_cls)(self, boxed.pop()))
        else:
            given = tuple(given)
            out = _sorted_out(self, _backward_of(self._forward_cls)(self, *given))
        from_user(quiet)
        given = None
        for i in range(len(out)):
            own(out, i)
        return out


class OneLook(FunctionNode):
    """The node of a Function with `clear_saved_tensors_on_access`: its saved tensors are released when they are first read."""

    @property
    def saved_tensors(self):
        cdef FunctionNode node = self
        if node.looked_at and not node.freed:
            raise RuntimeError("saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                               "autograd.Function. Either access saved_tensors only once, or set clear_saved_tensors_on_access=False.")
        found = FunctionNode.saved_tensors.__get__(node)
        node.free_saved()
        node.looked_at = True
        return found


cdef object _restore(FunctionNode node, SavedTensor s):
    """A saved tensor: the saved object itself if its value has not changed."""
    cdef Tensor t
    if s is None:
        return None
    if s.original is not None and not s.hooked:
        t = s.original()
        if t is not None and t.layout is s.layout and s.epoch == s.layout.storage.epoch:
            if not s.requires_grad or t.node is s.node or (t.node is None and isinstance(s.node, AccumulateGrad)):
                return t
    return unbox(s, node, True)


cdef object _backward_of(cls):
    has_backward = cls.backward is not Function.backward
    has_vjp = cls.vjp is not Function.vjp
    if has_backward and has_vjp:
        raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one "
                           "of them.")
    return cls.vjp if has_vjp else cls.backward


cdef str _lines_of_function(FunctionNode node):
    """Where the backward of a user's Function is defined, and where it was applied."""
    code = getattr(_backward_of(node._forward_cls), "__code__", None)
    applied = where_text("it was applied", node.code, node.lasti)
    if code is None:
        return applied
    return f"\n  its backward is at {place_text(code.co_filename, code.co_firstlineno)}, in {node._forward_cls.__name__}{applied}"


cdef list _sorted_out(FunctionNode node, object result):
    """Returned gradients, one for each tensor argument."""
    cdef int i
    grads = result if isinstance(result, tuple) else (result,)
    n = len(grads)
    while n > node.n_args and grads[n - 1] is None:
        n -= 1
    if n != node.n_args:
        raise RuntimeError(f"function {node.name()} returned an incorrect number of gradients (expected {node.n_args}, got "
                           f"{len(grads)})" + _lines_of_function(node)
                           + "\n  backward returns one gradient for each argument of forward after ctx, in their order: None for what "
                             f"needs none. forward took {node.n_args}.")
    out = []
    for i in range(node.n_args):
        g = grads[i]
        if not node.is_tensor[i]:
            if g is not None:
                raise RuntimeError(f"function {node.name()} returned a gradient different from None at position {i + 1}, but the "
                                   "corresponding forward input was not a Variable" + _lines_of_function(node)
                                   + f"\n  return None in place {i + 1}: that argument of forward was no tensor")
            continue
        if g is not None and not isinstance(g, Tensor):
            if node.edge(len(out)) is None:
                g = None
            else:
                raise RuntimeError(f"expected Variable or None (got {type(g).__name__})" + _lines_of_function(node)
                                   + f"\n  return a tensor, or None, in place {i + 1}")
        out.append(g)
    return out


@cython.final
@cython.binding(False)
@cython.no_gc_clear
cdef class Error(Node):
    """A node whose backward raises an error that says why there is no gradient."""
    cdef str text

    cpdef str name(self):
        return "Error"

    cdef list apply(self, list grads, bint create_graph):
        raise RuntimeError(self.text)


def once_differentiable(fn):
    """Decorator for a backward that is not differentiable: second derivatives are an error."""
    @functools.wraps(fn)
    def wrapper(ctx, *args):
        cdef bint was = modes().no_grad
        cdef Error node
        cdef int nr = 0
        modes().no_grad = True
        try:
            out = fn(ctx, *args)
        finally:
            modes().no_grad = was
        if was or not any([isinstance(a, Tensor) and requires(<Tensor>a) for a in args]):
            return out
        outs = out if isinstance(out, tuple) else (out,)
        node = Error.__new__(Error)
        node.text = "trying to differentiate twice a function that was marked with @once_differentiable"
        node.seq = next_seq()
        for t in outs:                            # as torch: a new leaf for every output
            if isinstance(t, Tensor) and (<Tensor>t).layout.dtype.category >= CAT_FLOAT:
                node.add_edge(gradient_edge(t.detach().requires_grad_(), &nr), 0)
            else:
                node.add_edge(None, 0)
        wrapped = []
        for t in outs:
            if isinstance(t, Tensor) and (<Tensor>t).layout.dtype.category >= CAT_FLOAT:
                t = t.detach()
                record_output(node, <Tensor>t)
            wrapped.append(t)
        return tuple(wrapped) if isinstance(out, tuple) else wrapped[0]
    return wrapper


cdef bint _boxed = False                # whether any Function has boxed_grads_call


class FunctionMeta(type):
    def __init__(cls, name, bases, members):
        global _boxed
        super().__init__(name, bases, members)
        base = OneLook if cls.clear_saved_tensors_on_access else FunctionNode
        cls._backward_cls = type(name + "Backward", (base,), {"_forward_cls": cls, "__module__": "claygrad.autograd.function"})
        _boxed = _boxed or cls.boxed_grads_call


class Function(metaclass=FunctionMeta):
    """A differentiable operation with a forward and a backward of your own, as static methods; call it by `apply`."""
    generate_vmap_rule = False
    clear_saved_tensors_on_access = False   # True: saved_tensors can be read once, which releases them
    boxed_grads_call = False                # True: backward takes one list, from which it may remove gradients as it goes

    def __init__(self, *args, **kwargs):
        warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke "
             "them on the class itself. Instantiating an autograd function will raise an error in a future version of "
             "PyTorch.", DeprecationWarning)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
                           "function with static forward method. (Example: "
                           "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)")

    def __getattr__(self, name):
        raise no_node(self, name)

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it "
                                  "with backward mode AD.")

    @staticmethod
    def vjp(ctx, *grad_outputs):
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it "
                                  "with backward mode AD.")

    @staticmethod
    def jvp(ctx, *grad_inputs):
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @staticmethod
    def vmap(info, in_dims, *args):
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
                                  "generate_vmap_rule=True.")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run forward and record the node."""
        return _apply(cls, args, kwargs)


InplaceFunction = Function


cdef FunctionNode _new_context(object kind):
    if not isinstance(kind, type) or not issubclass(kind, FunctionNode):
        raise TypeError(f"_backward_cls of a Function must be the class that it was given, not {kind!r}")
    return <FunctionNode>clay_make(<PyTypeObject*>kind)


clay_seal(<PyTypeObject*>FunctionNode)             # Note [Sealed types]
clay_seal(<PyTypeObject*>Error)


cdef object _apply(object cls, tuple args, dict kwargs):
    if batch_levels():
        answer = UPCALLS["batched_function"](cls, args, kwargs)
        if answer is not None:
            return answer[0]
    cdef FunctionNode ctx = _new_context(cls._backward_cls)
    cdef bint was = modes().no_grad, record = False
    cdef Node target
    cdef int nr = 0, levels = forward_levels()
    cdef object before = None
    if kwargs or cls.setup_context is not Function.setup_context:
        args = _positional(cls, ctx, args, kwargs)
    needs, tensors = [], []
    for a in args:
        if isinstance(a, Tensor):
            tensors.append(True)
            needs.append(requires(<Tensor>a))
            record = record or requires(<Tensor>a)
        else:
            tensors.append(False)
            needs.append(False)
    record = record and not was and not modes().inference
    ctx.needs_input_grad = tuple(needs)
    ctx.is_tensor = tuple(tensors)
    ctx.n_args = len(args)
    ctx.code = here(&ctx.lasti)
    ctx.scope = clay_scope_take(<clay_scope*>modes().running)
    if record:                                    # before forward, which may write to them
        for a in args:
            if isinstance(a, Tensor):
                target = gradient_edge(<Tensor>a, &nr)
                ctx.add_edge(target, nr)
    modes().no_grad = True
    if levels:
        before = UPCALLS["before_function"](args)
        swap_levels(0)
    try:
        if cls.setup_context is not Function.setup_context:
            out = cls.forward(*args)
            cls.setup_context(ctx, args, out)
        else:
            out = cls.forward(ctx, *args)
    finally:
        modes().no_grad = was
        if levels:
            swap_levels(levels)
    if record:
        ctx.seq = next_seq()
        ctx.holds = True
        ctx.always = True
        if anomaly() & ANOMALY:
            ctx.notes = forward_notes()
    dirty, constant = ctx.dirty, ctx.constant
    outs = _wrapped(ctx, out, args, record)
    ctx.dirty = ctx.constant = None               # a node must not hold its own outputs
    if levels:
        _push_forward(cls, ctx, args, out, outs, before, dirty or (), constant or ())
    if record:
        _save(ctx)
    ctx.for_forward = None
    return outs


cdef int _push_forward(object cls, FunctionNode ctx, tuple args, object out, object outs, object before, tuple dirty,
                       tuple constant) except -1:
    """Tangents of the outputs, by the Function's jvp."""
    ctx.in_jvp = True
    try:
        UPCALLS["after_function"](cls, ctx, args, out, outs, before, dirty, constant, bool(ctx.materialize))
    finally:
        ctx.in_jvp = False
    return 0


cdef tuple _positional(object cls, FunctionNode ctx, tuple args, dict kwargs):
    """Bind keyword arguments to the parameters of forward."""
    import inspect
    lead = () if cls.setup_context is not Function.setup_context else (ctx,)
    bound = inspect.signature(cls.forward).bind(*lead, *args, **kwargs)
    if not lead:
        bound.apply_defaults()
    return tuple(bound.args[len(lead):]) + tuple(bound.kwargs.values())


cdef object _wrapped(FunctionNode ctx, object out, tuple args, bint record):
    """The outputs of forward with their history set."""
    cdef Tensor t
    cdef int views = 0
    if not isinstance(out, (tuple, Tensor)):
        if ctx.dirty is not None:
            _check_dirty(ctx, ())
        return out
    outs = out if isinstance(out, tuple) else (out,)
    dirty = [id(x) for x in (ctx.dirty or ())]
    constant = [id(x) for x in (ctx.constant or ())]
    _check_dirty(ctx, outs)
    inputs = [id(a) for a in args if isinstance(a, Tensor)]
    for x in ctx.dirty or ():
        if id(x) not in inputs:
            said = ("ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should "
                    "be passed to ctx.mark_dirty().")
            if (<Tensor>x).base is not None:
                raise RuntimeError(said)
            warn(said, UserWarning)
    for x in outs:
        if isinstance(x, Tensor) and ((<Tensor>x).base is not None or id(x) in inputs and id(x) not in dirty):
            views += 1
    result = []
    for x in outs:
        if not isinstance(x, Tensor):
            if record:
                ctx.describe_nothing()
            result.append(x)
            continue
        t = <Tensor>x
        if id(x) in dirty:
            t.bump()
        if id(x) in dirty and id(x) in inputs:
            if record:
                if requires(t) and t.node is None:
                    raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation."
                                       + where_text("the leaf was made", t.code, t.lasti))
                if t.base is not None and len(outs) > 1:
                    raise RuntimeError("If your Function modifies inplace an input that is a view of another Tensor, your Function "
                                       "cannot return more than one Tensor. This is not supported by the current autograd engine. You "
                                       "should either make sure the input is not a view (using .clone() for example) or make your "
                                       "Function only return one Tensor (potentially splitting it into two Functions: one doing the "
                                       "inplace that returns a single Tensor and a second one that does the other operations). You can "
                                       "ask on the forum https://discuss.pytorch.org/ if you need help to do this change.")
                t.grad_ = None
                check_writable(t, True)
                rebase(t, ctx)
            result.append(t)
            continue
        was_view = t.base is not None
        if id(x) in inputs:
            t = make_view(t, t.layout, False)
            if type(x) is not Tensor and not getattr(x, "_is_param", False):
                t = _of_class(t, type(x))
            was_view = True
        if not record or id(x) in constant or t.layout.dtype.category < CAT_FLOAT:
            if record:
                if ctx.n_outputs < 64:
                    ctx.no_gradient |= 1ULL << ctx.n_outputs
                t.node = None
                t.leaf_grad = False
                ctx.describe_output(t.layout)
            elif was_view and not modes().no_grad:
                t.creation = VIEW_MULTI if views > 1 else VIEW_CUSTOM
            result.append(t)
            continue
        t.leaf_grad = False
        t.inference = False
        record_output(ctx, t)
        if was_view:
            t.creation = VIEW_MULTI if views > 1 else VIEW_CUSTOM
            t.view_version = t.version()
        result.append(t)
    return tuple(result) if isinstance(out, tuple) else result[0]


cdef Tensor _of_class(Tensor t, object cls):
    """The same view as an instance of a subclass."""
    cdef Tensor out = bare_of(cls)
    out.layout, out.base, out.counter, out.inference = t.layout, t.base, t.counter, t.inference
    out.view_version, out.creation = t.view_version, t.creation
    return out


cdef int _check_dirty(FunctionNode ctx, tuple outs) except -1:
    """Tensors marked as dirty must be inputs and outputs of forward."""
    returned = [id(x) for x in outs]
    for i, x in enumerate(ctx.dirty or ()):
        if not isinstance(x, Tensor):
            raise RuntimeError(f"mark_dirty can only accept variables, but argument {i} is of type {type(x).__name__}")
        if id(x) not in returned:
            raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                               "modified inplace must all be outputs of the Function.")
    return 0


cdef int _save(FunctionNode ctx) except -1:
    cdef SavedTensor s
    cdef int i
    cdef object tensors = ctx.to_save or ()
    ctx.to_save = None                            # now, since a hook may raise: a node must not hold its own outputs
    ctx.saved = []
    for i, x in enumerate(tensors):
        if x is None:
            ctx.saved.append(None)
            continue
        if not isinstance(x, Tensor):
            raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type {type(x).__name__}")
        is_output = (<Tensor>x).node is ctx
        s = box(<Tensor>x, is_output)
        if is_output:
            s.output_nr = (<Tensor>x).output_nr
        else:
            s.original = weakref.ref(x)
        ctx.saved.append(s)
    return 0
