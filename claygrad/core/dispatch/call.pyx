"""What happens when an operation is called: arguments, fast path or general path, recording."""
from cpython.object cimport PyObject
from claygrad.core.user_warnings import warn
from claygrad.native cimport elementwise_strided as each
from claygrad.native cimport elementwise as pointwise
from claygrad.native cimport reduce
from claygrad.native cimport elementwise_params as shaped
from claygrad.core.dispatch.arguments cimport axes, bind_keywords, checked, collect, quick
from claygrad.core.op cimport COMPOSITE, P_ANY, P_TENSOR_NUM, POINTWISE, REDUCTION, VIEW, Op, find_op
from claygrad.core.op import every_op
from claygrad.core.data.device cimport CPU
from claygrad.core.data.dtype cimport CAT_COMPLEX, CAT_FLOAT
from claygrad.core.dispatch.reference cimport call_declared, general
from claygrad.core.graph.inplace cimport begin_write, call_inplace, check_writable, overlaps, write_layout
from claygrad.core.data.layout cimport SPARSE, Layout, dense, new_layout, same_shape, stretched
from claygrad.core.graph.conj_view cimport INTERCEPTED, OBSERVED, any_lazy, resolve, unusual
from claygrad.core.graph.intercept cimport applies, forward_levels, intercept
from claygrad.core.graph.modes cimport modes
from claygrad.core.graph.node cimport Node
from claygrad.core.graph.observe cimport FORWARD, observed, wanted
from claygrad.core.overrides cimport asking, hand_over, meet, overriding
from claygrad.core.overrides import on_asking
from claygrad.core.errors import no_such_overload, old_form
from claygrad.core.graph.record cimport record_inputs, record_output, should_record
from claygrad.core.sparse_tensor cimport any_sparse
from claygrad.core.tensor cimport CUT, Tensor, mark_cut, new_tensor, requires, shape_text
from claygrad.core.tensor import LATE
from claygrad.core.graph.view cimport call_view
from claygrad.core.dispatch.registry cimport offer_short, take

cdef extern from "Python.h":
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf)

# The doors of operations: Note [Leaving].
cdef extern from *:
    """
    #include "door.h"
    CLAY_BEHIND_A_DOOR PyObject* clay_call(PyObject* op, PyObject** args, size_t nargsf, PyObject* kwnames);
    static PyObject* clay_asking(PyObject* op, PyObject** args, size_t nargsf, PyObject* kwnames);

    static void clay_tell_operation(PyObject* op, PyObject** args, size_t nargsf, PyObject* kwnames) {
        clay_tell_call("operation", op, args, PyVectorcall_NARGS(nargsf) + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames)));
    }

    static PyObject* clay_call_door(PyObject* op, PyObject** args, size_t nargsf, PyObject* kwnames) {
        PyObject* out = clay_call(op, args, nargsf, kwnames);
        if (out == NULL) clay_tell_operation(op, args, nargsf, kwnames);
        return out;
    }

    static PyObject* clay_asking_door(PyObject* op, PyObject** args, size_t nargsf, PyObject* kwnames) {
        PyObject* out = clay_asking(op, args, nargsf, kwnames);
        if (out == NULL) clay_tell_operation(op, args, nargsf, kwnames);
        return out;
    }
    """
    object clay_call_door(object self, PyObject** args, size_t nargsf, PyObject* kwnames)
    object clay_asking_door(object self, PyObject** args, size_t nargsf, PyObject* kwnames)

cdef int* _unusual = unusual()


def conj(x):
    """The conjugate of a tensor or number; reals are their own."""
    if isinstance(x, Tensor):
        return x if (<Tensor>x).layout.dtype.category != CAT_COMPLEX else x.conj()
    return x.conjugate() if isinstance(x, complex) else x


cdef object _refused(Op op, PyObject** args, Py_ssize_t n, PyObject* kwnames, object error):
    """Arguments that do not fit: for an object that overrides (Note [Overrides]), what it answers; else an error.

    It is torch's for arguments that fit no signature, where there are several.
    """
    cdef Py_ssize_t k, count = 0 if kwnames == NULL else len(<tuple>kwnames)
    cdef list found = overriding(args, n + count)
    if found and not (op.method and n and not isinstance(<object>args[0], Tensor)):
        meet()
        return hand_over(reported(op), found, args, n, kwnames)
    if not op.info.get("overloads"):
        raise error from None
    given = tuple([<object>args[k] for k in range(n)])
    named = {(<tuple>kwnames)[k]: <object>args[n + k] for k in range(count)}
    raise no_such_overload(op, op.method, op.has_out, given, named) from None


cdef object reported(Op op):
    """As what an operation is known to overrides: as itself, but for attributes such as Tensor.T.__get__."""
    return (<object>op).__dict__.get("reported", op)


cdef object _asking "clay_asking" (object self, PyObject** args, size_t nargsf, PyObject* kwnames):
    """A call where others may answer: Note [Overrides]."""
    cdef Py_ssize_t n = PyVectorcall_NARGS(nargsf)
    cdef list found = overriding(args, n if kwnames == NULL else n + len(<tuple>kwnames))
    if found is None or found and (<Op>self).method and not isinstance(<object>args[0], Tensor):
        return clay_call_door(self, args, nargsf, kwnames)
    return hand_over(reported(<Op>self), found, args, n, kwnames)


cdef tuple _OF_NUMBERS = ("add", "sub", "mul", "div", "floor_divide")            # two numbers are enough for these


cdef object _call "clay_call" (object self, PyObject** args, size_t nargsf, PyObject* kwnames):
    cdef Op op = <Op>self
    cdef Py_ssize_t n = PyVectorcall_NARGS(nargsf), taken
    cdef PyObject* slots[24]
    cdef int i
    cdef list kept = None
    cdef object out = None, value
    for i in range(op.n_params):
        slots[i] = NULL
    taken = n
    if op.varargs >= 0 and n > op.varargs:
        value = collect(op, args, n)
        if value is not None:
            kept = [value]
            slots[op.varargs] = <PyObject*>value
            taken = op.varargs
    if taken > op.n_positional:
        old = old_form(op.name, op.params[:op.n_positional], op.method, op.has_out,
                       tuple([<object>args[i] for i in range(n)]))
        if old is not None:
            named = {} if kwnames == NULL else {name: <object>args[n + i] for i, name in enumerate(<object>kwnames)}
            return op(*old[0], **old[1], **named)
        plural = "" if op.n_positional - op.method == 1 else "s"
        return _refused(op, args, n, kwnames, TypeError(
            f"{op.name}() takes {op.n_positional - op.method} positional argument{plural} but {taken - op.method} "
            f"{'was' if taken - op.method == 1 else 'were'} given"))
    for i in range(taken):
        slots[i] = args[i]
    if kwnames != NULL:
        out = bind_keywords(op, slots, args + n, kwnames)
    for i in range(op.n_params):
        if slots[i] == NULL:
            value = <object>(<tuple>op.defaults)[i]
            if value is ...:
                return _refused(op, args, n, kwnames, TypeError(
                    f"{op.name}() missing 1 required positional arguments: \"{op.params[i]}\""))
            slots[i] = <PyObject*>value
        elif not quick(op.kinds[i], <object>slots[i]):
            try:
                value = checked(op, i, <object>slots[i], i < taken or i == op.varargs)
            except TypeError as error:
                return _refused(op, args, n, kwnames, error)
            if <PyObject*>value != slots[i]:
                if kept is None:
                    kept = []
                kept.append(value)
                slots[i] = <PyObject*>value
    if op.kinds[0] == P_TENSOR_NUM and not isinstance(<object>slots[0], Tensor) and not isinstance(<object>slots[1], Tensor):
        if op.name not in _OF_NUMBERS:
            return _refused(op, args, n, kwnames, TypeError(f"{op.name}(): argument '{op.params[0]}' (position 1) must be Tensor, not "
                                                            f"{type(<object>slots[0]).__name__}"))
        value = LATE["tensor"](<object>slots[0])
        if kept is None:
            kept = []
        kept.append(value)
        slots[0] = <PyObject*>value
    if op.kind == REDUCTION and op.dim_at >= 0 and <object>slots[op.dim_at] is not None:
        value = axes(op, <object>slots[op.dim_at], (<Tensor><object>slots[0]).layout.ndim)
        if kept is None:
            kept = []
        kept.append(value)
        slots[op.dim_at] = <PyObject*>value
    if op.inplace:
        return call_inplace(op, slots)
    if op.inplace_at >= 0 and <object>slots[op.inplace_at] is True:
        return call_inplace(op.in_place, slots)
    if out is not None:
        return _into(op, slots, out)
    return run_in_autocast(op, slots) if modes().autocast else run(op, slots)


cdef object run_in_autocast(Op op, PyObject** slots):
    """Run with the inputs in the dtype that autocast has for the operation (claygrad.amp)."""
    cdef PyObject* cast_slots[24]
    cdef int i
    cdef list chosen = LATE["autocast"](op.name, [<object>slots[i] for i in range(op.n_params)])
    if chosen is None:
        return run(op, slots)
    for i in range(op.n_params):
        cast_slots[i] = <PyObject*>chosen[i]
    modes().autocast = False                       # what it is made of is not asked again
    try:
        return run(op, cast_slots)
    finally:
        modes().autocast = True


cdef object run(Op op, PyObject** slots):
    """Compute and record; the arguments are bound."""
    cdef Layout made = None
    cdef Tensor t
    cdef Node node
    cdef object result
    cdef int i
    if _unusual[0]:
        if _unusual[0] & INTERCEPTED and applies(slots, op.n_params):
            result = intercept(run, FORWARD, op, slots)
            if result is not None:
                return result
            if op.kind == COMPOSITE:
                result = call_declared(op, [<object>slots[i] for i in range(op.n_params)], 0)
                return op.returns(result) if op.returns is not None and type(result) is tuple else result
        if _unusual[0] & OBSERVED and wanted():
            return observed(run, FORWARD, op, slots)
        if any_lazy(slots, op.n_params):
            return _run_lazy(op, slots)
    if op.kind >= VIEW:
        if op.kind == COMPOSITE:
            if op.short != NULL and not modes().autocast:
                result = op.short(op, slots)
                if result is not None:
                    return result
            result = call_declared(op, [<object>slots[i] for i in range(op.n_params)], 0)
            return op.returns(result) if op.returns is not None and type(result) is tuple else result
        return call_view(op, slots)
    if op.n_tensors > 1 and op.kind != POINTWISE and not _in_main_memory(op, slots):
        pass                                     # the general path says which tensor is elsewhere
    elif op.fast != NULL:
        made = op.fast(op, slots, None)
    elif op.many != NULL:
        result = op.many(op, slots)
        if result is not None:
            return _several(op, slots, <list>result)
    if made is None:
        result = general(op, slots)
        if type(result) is not Layout:
            return _several(op, slots, <list>result)
        made = <Layout>result
    t = new_tensor(made)
    if should_record(op, slots) and made.dtype.category >= CAT_FLOAT:
        node = record_inputs(op, slots)
        record_output(node, t, True)
    else:
        _note_cut(op, slots, t)
    return t


cdef object _run_lazy(Op op, PyObject** slots):
    """The same where an argument is lazy (Note [Lazy conjugates]): computed of its values, recorded of itself."""
    cdef PyObject* plain[24]
    cdef list _kept                          # keeps them alive
    cdef Tensor t
    cdef object result = None
    cdef int i
    if any_sparse(slots, op.n_params):
        return LATE["sparse"](op, [<object>slots[i] for i in range(op.n_params)])
    if op.kind == COMPOSITE:
        result = call_declared(op, [<object>slots[i] for i in range(op.n_params)], 0)
        return op.returns(result) if op.returns is not None and type(result) is tuple else result
    if op.kind >= VIEW:
        return call_view(op, slots)
    _kept = resolve(slots, op.n_params, plain)
    if op.fast != NULL:
        result = op.fast(op, plain, None)
    elif op.many != NULL:
        result = op.many(op, plain)
    if result is None:
        result = general(op, plain)
    if type(result) is not Layout:
        return _several(op, slots, <list>result)
    t = new_tensor(<Layout>result)
    if should_record(op, slots) and t.layout.dtype.category >= CAT_FLOAT:
        record_output(record_inputs(op, slots), t, True)
    else:
        _note_cut(op, slots, t)
    return t


cdef bint _in_main_memory(Op op, PyObject** slots) noexcept:
    """Whether all tensors are on the CPU. Native ways look at the first one, and read the others."""
    cdef int i
    for i in range(op.n_tensors):
        if isinstance(<object>slots[op.tensors[i]], Tensor) and (<Tensor>slots[op.tensors[i]]).layout.storage.where.kind != CPU:
            return False
    return True


cdef inline int _note_cut(Op op, PyObject** slots, Tensor t) except -1:
    """Remember where a result, or what it was computed from, was cut from a graph."""
    cdef int i
    cdef Tensor x
    for i in range(op.n_tensors):
        value = <object>slots[op.tensors[i]]
        if isinstance(value, Tensor):
            x = <Tensor>value
            if x.mark == CUT:
                t.mark, t.code, t.lasti = CUT, x.code, x.lasti
                return 0
            if requires(x) and (op.recorded or t.layout.dtype.category < CAT_FLOAT):
                mark_cut(t)
                return 0
    return 0


cdef object _several(Op op, PyObject** slots, list layouts):
    cdef Node node = None
    cdef Tensor t
    cdef int i
    outs = []
    if should_record(op, slots):
        node = record_inputs(op, slots)
    for i, layout in enumerate(layouts):
        t = new_tensor(<Layout>layout)
        if node is not None:
            record_output(node, t, t.layout.dtype.category >= CAT_FLOAT
                          and (op.differentiable is None or i in op.differentiable))
            if t.node is None:
                mark_cut(t)
        else:
            _note_cut(op, slots, t)
        outs.append(t)
    return tuple(outs) if op.returns is None else op.returns(outs)


cdef object _into(Op op, PyObject** slots, object out):
    """Call with out=: compute without recording, then write."""
    cdef bint was = modes().no_grad
    targets = out if isinstance(out, (tuple, list)) else (out,)
    for t in targets:
        if not isinstance(t, Tensor):
            raise TypeError(f"{op.name}(): argument 'out' must be Tensor, not {type(t).__name__}")
    if should_record(op, slots) or (not was and any([requires(<Tensor>t) for t in targets])):
        raise RuntimeError(f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                           "arguments requires grad.")
    if forward_levels():
        for x in [*_flat(op, slots), *targets]:
            if isinstance(x, Tensor) and LATE["tangents"](x) is not None:
                raise NotImplementedError(f"Trying to use forward AD with {op.name}_out that does not support it because it is an out= "
                                          "function")
    if op.info.get("out") == "dtype":             # what is computed in the dtype of out=
        at = op.params.index("dtype")
        kind = <object>(<Tensor>targets[0]).layout.dtype
        if <object>slots[at] is None:
            slots[at] = <PyObject*>kind
    modes().no_grad = True
    try:
        made = run(op, slots)
    finally:
        modes().no_grad = was
    if op.kind == COMPOSITE and not was and any([isinstance(x, Tensor) and requires(<Tensor>x) for x in _flat(op, slots)]):
        raise RuntimeError(f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                           "arguments requires grad.")
    results = made if isinstance(made, tuple) else (made,)
    if op.kind == POINTWISE or op.info.get("out_alias") is not None:       # "refuse": not even all of an input's own memory
        for x in _flat(op, slots):
            if isinstance(x, Tensor) and overlaps(<Tensor>x, <Tensor>targets[0], op.info.get("out_alias") == "refuse"):
                raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                                   "single memory location. Please clone() the tensor before performing the operation.")
    for number, (target, result) in enumerate(zip(targets, results)):
        _check_out(op, slots, <Tensor>target, <Tensor>result, number, len(results) > 1)
        write_out(op.name, <Tensor>target, <Tensor>result, op.kind == POINTWISE)
    return out if not isinstance(out, list) else tuple(out)


cdef list _flat(Op op, PyObject** slots):
    """All tensor arguments, those in lists too."""
    cdef int i
    out = []
    for i in range(op.n_params):
        value = <object>slots[i]
        out.extend(value if isinstance(value, (list, tuple)) else [value])
    return out


cdef int _check_out(Op op, PyObject** slots, Tensor target, Tensor result, int number, bint several) except -1:
    """What an operation demands of the tensor given as out=, beside what all do.

    A text, a tuple of them (one per result), or a function of the arguments that gives one, is the refusal of another
    dtype; one that starts with `pair:` is meant for several results only.
    """
    cdef int i
    check, said = op.info.get("check_out"), op.info.get("out")
    if callable(said):
        said = said(*[<object>slots[i] for i in range(op.n_params)])
    if isinstance(said, tuple):
        said = said[number]
    if check is not None:
        check(target, result)
    elif said == "dtype":
        asked = <object>slots[op.params.index("dtype")]
        if asked is not target.layout.dtype:
            raise RuntimeError(f"Expected out tensor to have dtype {asked.c_name}, but got {target.dtype.c_name} instead")
    elif isinstance(said, str) and target.layout.dtype is not result.layout.dtype:
        if said.startswith("pair:"):
            if not several:
                return 0
            said = said[5:]
        if said == "exact":
            said = "Expected out tensor to have dtype {0.c_name}, but got {1.c_name} instead"
        raise RuntimeError(said.format(result.layout.dtype, target.layout.dtype))
    return 0


cdef int write_out(str name, Tensor target, Tensor result, bint strided) except -1:
    """Put a result into the tensor given as out=, resized (and laid out as the result, if `strided`) where its shape differs."""
    if result.layout.dtype.category > target.layout.dtype.category:
        raise RuntimeError(f"result type {result.layout.dtype.legacy} can't be cast to the desired output type "
                           f"{target.layout.dtype.legacy}")
    if (result.layout.bits | target.layout.bits) & SPARSE:
        raise NotImplementedError(f"{name}(): sparse tensors are not taken as out=")
    if result.layout.storage.where is not target.layout.storage.where and result.device != target.device:
        raise RuntimeError(f"Expected out tensor to have device {result.device}, but got {target.device} instead")
    check_writable(target, False)
    if stretched(target.layout) and target.layout.numel:
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                           "Please clone() the tensor before performing the operation.")
    if not same_shape(result.layout, target.layout):
        if target.layout.numel:
            warn(f"An output with one or more elements was resized since it had shape {shape_text(target.layout)}, which "
                 f"does not match the required output shape {shape_text(result.layout)}. This behavior is deprecated, "
                 "and in a future PyTorch release outputs will not be resized unless they have zero elements. You can "
                 "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
                 UserWarning)
        target.resize_(result.shape)            # counts as the write
        target.layout.storage.before_write()
        if strided and not result.layout.contiguous and dense(result.layout):
            bits = target.layout.bits
            target.layout = new_layout(target.layout.storage, target.layout.dtype, result.layout.ndim, result.layout.shape,
                                       result.layout.strides, target.layout.offset)
            target.layout.bits = bits
    else:
        begin_write(target)
    write_layout(target.layout, result.layout)
    return 0


def into(str name, target, result):
    """Write a composite's result into out=; returns out."""
    write_out(name, <Tensor?>target, <Tensor?>result, False)
    return target


# --- composites in their common case, without a Python frame -----------------------------------------------------
cdef object _softmax(Op op, PyObject** slots):
    return run(find_op("_softmax"), slots) if <object>slots[2] is None else None


cdef object _log_softmax(Op op, PyObject** slots):
    return run(find_op("_log_softmax"), slots) if <object>slots[2] is None else None


offer_short("softmax", _softmax)
offer_short("log_softmax", _log_softmax)


# --- registration -------------------------------------------------------------------------------------------
def install(Op op):
    """Make a declared operation callable, and give it the short way that it names: Note [Short ways]."""
    cdef bint found
    cdef str name = op.info.get("short") if op.kind == COMPOSITE else op.info.get("kernel") or op.info.get("geometry")
    op.vectorcall = clay_asking_door if asking()[0] or _loose(op) else clay_call_door
    if name is None:
        return op
    found = take(op, name)
    if op.kind == POINTWISE:
        found = pointwise.prepare(op) or found or shaped.prepare(op, name)
        found = each.prepare(op, name) or found
    elif op.kind < VIEW and not found:
        found = reduce.prepare(op, name) or shaped.prepare(op, name)
    if not found:
        raise TypeError(f"{op.name}: nobody offers the short way '{name}'")
    return op


cdef bint _loose(Op op):
    """Whether it takes tensors where the check of the arguments lets anything pass, and so must always ask."""
    said = op.info.get("declaration")
    return said is not None and any(["Tensor" in str(kind) and op.kinds[i] == P_ANY for i, kind in
                                     enumerate([said.fn.__annotations__.get(name, "") for name in op.params])])


def _switch_operations(bint on):
    cdef Op op
    for op in every_op:
        op.vectorcall = clay_asking_door if on or _loose(op) else clay_call_door


on_asking(_switch_operations)
