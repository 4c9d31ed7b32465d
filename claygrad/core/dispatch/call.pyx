"""The call of an operation: bind the arguments, compute by the native form or the reference, record the result."""
from cpython.object cimport PyObject
from claygrad.core.user_warnings import warn
from claygrad.core.dispatch.arguments cimport axes, bind_keywords, checked, collect, is_valid
from claygrad.core.op cimport (COMPOSITE, MULTI_VIEW, P_ANY, P_TENSOR_NUM, POINTWISE, PROMOTE_BOOL, PROMOTE_NONE, REDUCTION, VIEW,
                               Op, run_check)
from claygrad.core.op import every_op
from libc.stdint cimport int64_t
from claygrad.core.data.dtype cimport CAT_COMPLEX, CAT_FLOAT, category_of, dtype, of_code
from claygrad.core.data.layout cimport CONJ, NEG, SPARSE, Layout, check_dims, dense, new_layout, same_shape, is_broadcast
from claygrad.core.data.storage cimport OFF_CPU, INTERCEPTED, OBSERVED, unusual
from claygrad.core.dispatch.convert cimport converted
from claygrad.core.dispatch.promotion cimport result_code
from claygrad.core.dispatch.reference cimport call_declared, check_call, off_cpu, reference
from claygrad.core.graph.conj_view cimport any_off_cpu, any_lazy, resolve, resolved, with_bits
from claygrad.core.graph.intercept cimport applies, forward_levels, intercept
from claygrad.core.graph.inplace cimport begin_write, check_history, check_inference, check_writable, overlaps, rebase, write_layout
from claygrad.core.graph.modes cimport modes
from claygrad.core.graph.node cimport Node
from claygrad.core.graph.observe cimport FORWARD, INPLACE, observed, wanted
from claygrad.core.overrides cimport asking, hand_over, meet, overriding
from claygrad.core.overrides import on_asking
from claygrad.core.dispatch.wrong_arguments import no_such_overload, type_name
from claygrad.core.errors import old_form
from claygrad.core.graph.record cimport record_inputs, record_output, should_record
from claygrad.core.sparse_tensor cimport any_sparse
from claygrad.core.tensor cimport CUT, Tensor, mark_cut, new_tensor, requires, shape_text
from claygrad.core.tensor import UPCALLS
from claygrad.core.graph.view cimport make_view, mark_converted
from claygrad.core.dispatch.registry cimport take, take_table

cdef extern from "Python.h":
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf)

# Entry points of operations: Note [Entry points].
cdef extern from *:
    """
    #include "inline_entry.h"
    CLAY_ENTRY_INLINE PyObject* clay_call(PyObject* op, PyObject** args, size_t nargsf, PyObject* kwnames);
    static PyObject* clay_asking(PyObject* op, PyObject** args, size_t nargsf, PyObject* kwnames);

    static void clay_tell_operation(PyObject* op, PyObject** args, size_t nargsf, PyObject* kwnames) {
        clay_explain_call("operation", op, args, PyVectorcall_NARGS(nargsf) + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames)));
    }

    static PyObject* clay_call_entry(PyObject* op, PyObject** args, size_t nargsf, PyObject* kwnames) {
        PyObject* out = clay_call(op, args, nargsf, kwnames);
        if (out == NULL) clay_tell_operation(op, args, nargsf, kwnames);
        return out;
    }

    static PyObject* clay_asking_entry(PyObject* op, PyObject** args, size_t nargsf, PyObject* kwnames) {
        PyObject* out = clay_asking(op, args, nargsf, kwnames);
        if (out == NULL) clay_tell_operation(op, args, nargsf, kwnames);
        return out;
    }
    """
    object clay_call_entry(object self, PyObject** args, size_t nargsf, PyObject* kwnames)
    object clay_asking_entry(object self, PyObject** args, size_t nargsf, PyObject* kwnames)

cdef int* _unusual = unusual()


def conj(x):
    """The conjugate of a tensor or number; reals are their own."""
    if isinstance(x, Tensor):
        return x if (<Tensor>x).layout.dtype.category != CAT_COMPLEX else x.conj()
    return x.conjugate() if isinstance(x, complex) else x


cdef object _refused(Op op, PyObject** args, Py_ssize_t n, PyObject* kwnames, object error):
    """Arguments of a wrong type: the answer of an object with __torch_function__ (Note [Overrides]), else torch's error.
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
    """The function that __torch_function__ gets: the operation itself, or for attributes Tensor.T.__get__ and the like."""
    return (<object>op).__dict__.get("reported", op)


cdef object _asking "clay_asking" (object self, PyObject** args, size_t nargsf, PyObject* kwnames):
    """A call that __torch_function__ may answer: Note [Overrides]."""
    cdef Py_ssize_t n = PyVectorcall_NARGS(nargsf)
    cdef list found = overriding(args, n if kwnames == NULL else n + len(<tuple>kwnames))
    if found is None or found and (<Op>self).method and not isinstance(<object>args[0], Tensor):
        return clay_call_entry(self, args, nargsf, kwnames)
    return hand_over(reported(<Op>self), found, args, n, kwnames)


cdef tuple _OF_NUMBERS = ("add", "sub", "mul", "div", "floor_divide")            # these take two Python numbers


cdef object _call "clay_call" (object self, PyObject** args, size_t nargsf, PyObject* kwnames):
    cdef Op op = <Op>self
    cdef Py_ssize_t n = PyVectorcall_NARGS(nargsf), n_bound
    cdef PyObject* slots[24]
    cdef int i
    cdef list kept = None
    cdef object out = None, value
    for i in range(op.n_params):
        slots[i] = NULL
    n_bound = n
    if op.varargs >= 0 and n > op.varargs:
        value = collect(op, args, n)
        if value is not None:
            kept = [value]
            slots[op.varargs] = <PyObject*>value
            n_bound = op.varargs
    if n_bound > op.n_positional:
        old = old_form(op.name, op.params[:op.n_positional], op.method, op.has_out,
                       tuple([<object>args[i] for i in range(n)]))
        if old is not None:
            named = {} if kwnames == NULL else {name: <object>args[n + i] for i, name in enumerate(<object>kwnames)}
            return op(*old[0], **old[1], **named)
        plural = "" if op.n_positional - op.method == 1 else "s"
        return _refused(op, args, n, kwnames, TypeError(
            f"{op.name}() takes {op.n_positional - op.method} positional argument{plural} but {n_bound - op.method} "
            f"{'was' if n_bound - op.method == 1 else 'were'} given"))
    for i in range(n_bound):
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
        elif not is_valid(op.kinds[i], <object>slots[i]):
            try:
                value = checked(op, i, <object>slots[i], i < n_bound or i == op.varargs)
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
                                                            f"{type_name(<object>slots[0])}"))
        value = UPCALLS["tensor"](<object>slots[0])
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
    """Run with the inputs cast as autocast says for this operation (claygrad.amp)."""
    cdef PyObject* cast_slots[24]
    cdef int i
    cdef list selected = UPCALLS["autocast"](op.name, [<object>slots[i] for i in range(op.n_params)])
    if selected is None:
        return run(op, slots)
    for i in range(op.n_params):
        cast_slots[i] = <PyObject*>selected[i]
    modes().autocast = False                       # not for the operations inside
    try:
        return run(op, cast_slots)
    finally:
        modes().autocast = True


cdef object run(Op op, PyObject** slots):
    """Compute and record; the arguments are bound."""
    cdef Tensor t
    cdef Node node
    cdef object result
    cdef int i
    cdef bint native = True
    if _unusual[0]:
        if _unusual[0] & INTERCEPTED and applies(slots, op.n_params):
            result = intercept(run, FORWARD, op, slots)
            if result is not None:
                return result
            if op.kind == COMPOSITE and not any_sparse(slots, op.n_params):
                result = call_declared(op, [<object>slots[i] for i in range(op.n_params)], 0)
                return op.returns(result) if op.returns is not None and type(result) is tuple else result
        if _unusual[0] & OBSERVED and wanted():
            return observed(run, FORWARD, op, slots)
        if any_lazy(slots, op.n_params):
            return _run_lazy(op, slots)
        native = not (_unusual[0] & OFF_CPU and any_off_cpu(slots, op.n_params))
    if op.kind >= VIEW:
        if op.kind == COMPOSITE:
            if op.composite != NULL and native and not modes().autocast:
                result = op.composite(op, slots)
                if result is not None:
                    return result
            result = call_declared(op, [<object>slots[i] for i in range(op.n_params)], 0)
            return op.returns(result) if op.returns is not None and type(result) is tuple else result
        return call_view(op, slots)
    result = compute(op, slots, native)
    if type(result) is not Layout:
        return _several(op, slots, <list>result)
    t = new_tensor(<Layout>result)
    if should_record(op, slots) and t.layout.dtype.category >= CAT_FLOAT:
        node = record_inputs(op, slots)
        record_output(node, t, True)
    else:
        _note_cut(op, slots, t)
    return t


# Note [The ladder]
# An operation is computed by its native form; if that does not take a dtype or a layout, by its native form on converted arguments;
# else by its reference, the declared forward over an array module. This is the only place that tries one after the other.
# Native forms run on the CPU: `native` says that all arguments are there, so that no native form has to check.
cdef inline object compute(Op op, PyObject** slots, bint native):
    """The layout of the result, or a list of them."""
    cdef object result
    if native and op.fast != NULL:
        result = op.fast(op, slots, None)
        if result is not None:
            return result
    return _otherwise(op, slots, native)


cdef object compute_native(Op op, PyObject** slots):
    return compute(op, slots, True)


cdef object _otherwise(Op op, PyObject** slots, bint native):
    """What follows if the native form does not apply: converted arguments, then the reference."""
    cdef object result = None
    cdef int code = -1
    where = check_call(op, slots, &code)             # torch's errors, before anything is cast
    if where is not None:
        return off_cpu(op, slots, code, where)
    if native and op.fast != NULL:
        result = converted(op, slots)
    return reference(op, slots, code) if result is None else result


cdef object _run_lazy(Op op, PyObject** slots):
    """The same with a lazy argument (Note [Lazy conjugates]): compute with its values, record the argument itself."""
    cdef PyObject* resolved_slots[24]
    cdef list _kept                          # keeps them alive
    cdef Tensor t
    cdef object result = None
    cdef int i
    if any_sparse(slots, op.n_params):
        return UPCALLS["sparse"](op, [<object>slots[i] for i in range(op.n_params)])
    if op.kind == COMPOSITE:
        result = call_declared(op, [<object>slots[i] for i in range(op.n_params)], 0)
        return op.returns(result) if op.returns is not None and type(result) is tuple else result
    if op.kind >= VIEW:
        return call_view(op, slots)
    _kept = resolve(slots, op.n_params, resolved_slots)
    result = compute(op, resolved_slots, not any_off_cpu(resolved_slots, op.n_params))
    if type(result) is not Layout:
        return _several(op, slots, <list>result)
    t = new_tensor(<Layout>result)
    if should_record(op, slots) and t.layout.dtype.category >= CAT_FLOAT:
        record_output(record_inputs(op, slots), t, True)
    else:
        _note_cut(op, slots, t)
    return t


cdef inline int _note_cut(Op op, PyObject** slots, Tensor t) except -1:
    """Remember where the graph was cut (no_grad, detach), for later error messages."""
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
            raise TypeError(f"{op.name}(): argument 'out' must be Tensor, not {type_name(t if op.returns is not None else out)}")
    if should_record(op, slots) or (not was and any([requires(<Tensor>t) for t in targets])):
        raise RuntimeError(f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                           "arguments requires grad.")
    if forward_levels():
        for x in [*_flat(op, slots), *targets]:
            if isinstance(x, Tensor) and UPCALLS["tangents"](x) is not None:
                raise NotImplementedError(f"Trying to use forward AD with {op.name}_out that does not support it because it is an out= "
                                          "function")
    if op.info.get("out") == "dtype":             # computed in the dtype of out=
        at = op.params.index("dtype")
        kind = <object>(<Tensor>targets[0]).layout.dtype
        if <object>slots[at] is None:
            slots[at] = <PyObject*>kind
    modes().no_grad = True
    try:
        output = run(op, slots)
    finally:
        modes().no_grad = was
    if op.kind == COMPOSITE and not was and any([isinstance(x, Tensor) and requires(<Tensor>x) for x in _flat(op, slots)]):
        raise RuntimeError(f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                           "arguments requires grad.")
    results = output if isinstance(output, tuple) else (output,)
    if isinstance(output, Tensor) and targets is out:
        raise TypeError(f"{op.name}(): argument 'out' must be Tensor, not {type_name(out)}")
    if isinstance(output, tuple) and targets is not out:       # never taken apart along its first axis
        raise TypeError(f"{op.name}(): argument 'out' must be tuple of Tensors, not {type_name(out)}")
    if len(results) > len(targets):
        raise TypeError(f"expected tuple of {len(results)} elements but got {len(targets)}")
    if len(results) < len(targets) or not all([isinstance(x, Tensor) for x in results]):           # from __torch_dispatch__
        raise TypeError(f"{op.name}(): cannot write {output!r:.200} into out=: "
                        "the answer of __torch_dispatch__ must be Tensor, one for each")
    if op.kind == POINTWISE or op.info.get("out_alias") is not None:       # "refuse": out= must share no memory with an input at all
        for x in _flat(op, slots):
            if isinstance(x, Tensor) and overlaps(<Tensor>x, <Tensor>targets[0], op.info.get("out_alias") == "refuse"):
                raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                                   "single memory location. Please clone() the tensor before performing the operation.")
    for number, (target, result) in enumerate(zip(targets, results)):
        _check_out(op, slots, <Tensor>target, <Tensor>result, number, len(results) > 1)
        write_out(op.name, <Tensor>target, <Tensor>result, op.kind == POINTWISE)
    if hasattr(output, "of_out"):
        return output.of_out(out)
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
    """Checks of the tensor given as out= that only some operations make.

    The declaration has the message for a wrong dtype: a text, a tuple of texts (one per result), or a function of the
    arguments that returns one. A text that starts with `pair:` is for several results only.
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
    """Write a result into out=, which is resized if its shape differs (with the strides of the result, if `strided`)."""
    if result.layout.dtype.category > target.layout.dtype.category:
        raise RuntimeError(f"result type {result.layout.dtype.legacy} can't be cast to the desired output type "
                           f"{target.layout.dtype.legacy}")
    if (result.layout.bits | target.layout.bits) & SPARSE:
        raise NotImplementedError(f"{name}(): sparse tensors are not taken as out=")
    if result.layout.storage.where is not target.layout.storage.where and result.device != target.device:
        raise RuntimeError(f"Expected out tensor to have device {result.device}, but got {target.device} instead")
    check_writable(target, False)
    if is_broadcast(target.layout) and target.layout.numel:
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                           "Please clone() the tensor before performing the operation.")
    if not same_shape(result.layout, target.layout):
        if target.layout.numel:
            warn(f"An output with one or more elements was resized since it had shape {shape_text(target.layout)}, which "
                 f"does not match the required output shape {shape_text(result.layout)}. This behavior is deprecated, "
                 "and in a future PyTorch release outputs will not be resized unless they have zero elements. You can "
                 "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
                 UserWarning)
        target.resize_(result.shape)            # this bumps the version
        target.layout.storage.before_write()
        if strided and dense(result.layout):
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


# --- views ---------------------------------------------------------------------------------------------------
cdef Layout restride(Tensor t, shape, strides, int64_t offset):
    cdef int64_t dims[64]
    cdef int64_t steps[64]
    cdef Py_ssize_t n = len(shape), i
    check_dims(n)
    for i in range(n):
        dims[i] = shape[i]
        steps[i] = strides[i]
    return new_layout(t.layout.storage, t.layout.dtype, <int>n, dims, steps, offset)


cdef object call_view(Op op, PyObject** slots):
    cdef Tensor t = <Tensor><object>slots[0], out
    cdef Layout layout = None
    cdef Node node
    cdef int i
    cdef bint retyped = False
    if op.kind == MULTI_VIEW:
        return _call_multi(op, slots)
    if op.fast != NULL and not (_unusual[0] & OFF_CPU and any_off_cpu(slots, op.n_params)):
        layout = <Layout>op.fast(op, slots, None)
    if layout is None:
        geometry = call_declared(op, [<object>slots[i] for i in range(op.n_params)], 0)
        layout = restride(t, geometry[0], geometry[1], geometry[2])
        if len(geometry) == 4:
            layout = new_layout(layout.storage, <dtype?>geometry[3], layout.ndim, layout.shape, layout.strides, layout.offset)
            retyped = not op.recorded or op.name == "view"
    out = make_view(t, layout, False)
    if op.lazy:                          # Note [Lazy conjugates]; Note [Views of another dtype]
        out.layout = with_bits(layout, t.layout.bits ^ op.lazy & (CONJ | NEG))
        mark_converted(out, t)
    if retyped:                          # another dtype: no view for autograd
        out.base = None
        out.leaf_grad = False
        out.inference = out.inference or modes().inference
    elif not t.inference and should_record(op, slots):
        node = record_inputs(op, slots)
        record_output(node, out)
    elif t.mark == CUT:
        out.mark, out.code, out.lasti = CUT, t.code, t.lasti
    return out


cdef object _call_multi(Op op, PyObject** slots):
    cdef Tensor t = <Tensor><object>slots[0], out
    cdef Node node = None
    cdef list pieces = None
    cdef int i
    if op.composite != NULL and not (_unusual[0] & OFF_CPU and any_off_cpu(slots, op.n_params)):
        pieces = <list>op.composite(op, slots)
    if pieces is None:
        geometry = call_declared(op, [<object>slots[i] for i in range(op.n_params)], 0)
        pieces = [restride(t, shape, strides, offset) for shape, strides, offset in geometry]
    outs = []
    if not t.inference and should_record(op, slots):
        node = record_inputs(op, slots)
    for piece in pieces:
        out = make_view(t, <Layout>piece, True)
        if node is not None:
            record_output(node, out)
        outs.append(out)
    return tuple(outs)


# --- in place --------------------------------------------------------------------------------------------------
# Note [Overlap]
# A declaration says what its in-place form does with memory that appears twice, by a word or a function of the arguments:
# overlap  several indices of the written tensor reach one element: refused; "ok"; any other text is a warning
# alias    an input shares memory with it: refused where it partly does; "refuse": also if they are the same; "ok"
cdef int _check_overlap(Op op, Tensor t, PyObject** slots) except -1:
    cdef int i
    cdef Layout target = t.layout
    if target.numel and is_broadcast(target):
        said = _said(op, "overlap", slots)
        if said is None:
            raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single "
                               "memory location. Please clone() the tensor before performing the operation.")
        if said != "ok":
            warn(said, UserWarning)
    for i in range(1, op.n_tensors):
        value = <object>slots[op.tensors[i]]
        for x in (value if isinstance(value, (list, tuple)) else (value,)):
            if not isinstance(x, Tensor) or (<Tensor>x).layout.storage is not target.storage:
                continue
            alias = _said(op, "alias", slots)
            if alias == "ok":
                return 0
            if overlaps(<Tensor>x, t, alias == "refuse"):
                raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                                   "single memory location. Please clone() the tensor before performing the operation.")
    return 0


cdef bint _reads_target(Op op, Tensor t, PyObject** slots):
    """Whether the written memory is also an input of an operation that is not elementwise."""
    cdef int i
    if op.kind == POINTWISE:
        return False
    for i in range(1, op.n_tensors):
        value = <object>slots[op.tensors[i]]
        for x in (value if isinstance(value, (list, tuple)) else (value,)):
            if isinstance(x, Tensor) and (<Tensor>x).layout.storage is t.layout.storage:
                return True
    return False


cdef object _said(Op op, str what, PyObject** slots):
    cdef int i
    said = op.info.get(what)
    return said(*[<object>slots[i] for i in range(op.n_params)]) if callable(said) else said


cdef int _write_changed(Layout dst, Layout src) except -1:
    """Write to memory in which several indices share an element: one of the assigned values stays."""
    old, new = dst.array(), src.array()
    changed = (new != old) & ~((new != new) & (old != old))
    old[changed] = new[changed]
    return 0


cdef int _check_result(Op op, PyObject** slots, Layout target) except -1:
    """An in-place operation keeps the dtype: a result of a higher category is an error."""
    cdef int code
    if op.kind != POINTWISE or op.promote == PROMOTE_NONE or op.promote == PROMOTE_BOOL:
        return 0
    if (target.dtype.category >= CAT_FLOAT and op.n_tensors == 2 and isinstance(<object>slots[1], Tensor)
            and (<Tensor>slots[1]).layout.dtype is target.dtype):
        return 0                                      # the common case: nothing to promote
    code = result_code(op, slots)
    if category_of(code) > target.dtype.category:
        run_check(op, slots)                          # the operation's own error comes first
        raise RuntimeError(f"result type {of_code(code).legacy} can't be cast to the desired output type {target.dtype.legacy}")
    return 0


cdef object call_inplace(Op op, PyObject** slots):
    cdef Tensor t = <Tensor?><object>slots[0]
    cdef Layout target = t.layout, out = None
    cdef int i
    cdef bint record, lazy = False, native = True
    cdef Node node = None
    if _unusual[0]:
        if _unusual[0] & INTERCEPTED:
            answer = intercept(call_inplace, INPLACE, op, slots)
            if answer is not None:
                return answer
        if _unusual[0] & OBSERVED and wanted():
            return observed(call_inplace, INPLACE, op, slots)
        lazy = any_lazy(slots, op.n_params)
        native = not (_unusual[0] & OFF_CPU and any_off_cpu(slots, op.n_params))
    record = target.dtype.category >= CAT_FLOAT and should_record(op, slots)
    if lazy and any_sparse(slots, op.n_params):
        return UPCALLS["sparse_"](op, [<object>slots[i] for i in range(op.n_params)])
    if t.inference:
        _check_overlap(op, t, slots)                  # its error comes first
        check_inference(t)
    check_history(t, record)
    if op.fast == NULL or not target.contiguous or not native:
        _check_overlap(op, t, slots)
    _check_result(op, slots, target)
    if record:
        node = record_inputs(op, slots)
    if lazy:
        out = _write_lazy(op, t, slots)
    elif native and op.fast != NULL and (target.contiguous or op.fast_any) and op.promote != PROMOTE_BOOL \
            and not (op.n_tensors > 1 and _reads_target(op, t, slots)):
        target.storage.before_write()
        out = <Layout>op.fast(op, slots, target)
    if out is None:
        if op.fast != NULL:
            _check_overlap(op, t, slots)
        result = compute(op, slots, native and not is_broadcast(target))          # in new memory first
        out = <Layout>(result[0] if isinstance(result, list) else result)
        if not same_shape(out, target):
            raise RuntimeError(f"output with shape {shape_text(target)} doesn't match the broadcast shape {shape_text(out)}")
        target.storage.before_write()
        if target.numel and is_broadcast(target):
            _write_changed(target, out)
        else:
            write_layout(target, out)
    t.bump()
    if record:
        rebase(t, node)
    return t


cdef Layout _write_lazy(Op op, Tensor t, PyObject** slots):
    """In-place call where t or another argument is lazy: Note [Lazy conjugates]. Returns what is written to t."""
    cdef PyObject* resolved_slots[24]
    cdef Layout target = t.layout, out
    cdef list _kept = resolve(slots, op.n_params, resolved_slots)          # keeps them alive
    _check_overlap(op, t, slots)
    result = compute(op, resolved_slots, not any_off_cpu(resolved_slots, op.n_params))
    out = <Layout>(result[0] if isinstance(result, list) else result)
    if not same_shape(out, target):
        raise RuntimeError(f"output with shape {shape_text(target)} doesn't match the broadcast shape {shape_text(out)}")
    target.storage.before_write()
    if target.numel and is_broadcast(target):
        _write_changed(with_bits(target, 0), resolved(with_bits(out, target.bits)))
    else:
        write_layout(target, out)
    return out


# --- registration -------------------------------------------------------------------------------------------
def install(Op op):
    """Make a declared operation callable, and give it the native form that it names: Note [Native forms]."""
    cdef bint found
    cdef str name = op.info.get("native") if op.kind == COMPOSITE else op.info.get("kernel") or op.info.get("geometry")
    op.vectorcall = clay_asking_entry if asking()[0] or _loose(op) else clay_call_entry
    if name is None:
        return op
    found = take_table(op, name, take(op, name))
    if not found:
        raise TypeError(f"{op.name}: nobody offers the native form '{name}'")
    return op


cdef bint _loose(Op op):
    """Whether a parameter accepts any object, which may have __torch_function__: then it must always be asked."""
    said = op.info.get("declaration")
    return said is not None and any(["Tensor" in str(kind) and op.kinds[i] == P_ANY for i, kind in
                                     enumerate([said.fn.__annotations__.get(name, "") for name in op.params])])


def _switch_operations(bint on):
    cdef Op op
    for op in every_op:
        op.vectorcall = clay_asking_entry if on or _loose(op) else clay_call_entry


on_asking(_switch_operations)
