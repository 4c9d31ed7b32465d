"""Calls derivative rules, and fits their results to the inputs."""
import weakref

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t

from claygrad.core.op cimport (A_G, A_GS, A_NEEDS, MULTI_VIEW, POINTWISE, R_MISSING, R_RULE, R_ZERO, VIEW, Op, find_op, straight)
from claygrad.core.data.device cimport ACCELERATOR, WRAPPED, device, told
from claygrad.core.data.dtype cimport CAT_COMPLEX, dtype
from claygrad.core.data.layout cimport Layout, bytes_of, new_contiguous
from claygrad.core.data.storage cimport OFF_CPU, INTERCEPTED, unusual
from claygrad.core.graph.conj_view cimport any_off_cpu, any_lazy
from claygrad.core.graph.hooks cimport is_unshared
from claygrad.core.graph.intercept cimport applies
from claygrad.core.graph.node cimport Node, next_seq
from claygrad.core.graph.observe cimport rules_are_open
from claygrad.core.graph.provenance cimport where_text
from claygrad.core.graph.record cimport freed_error, unpack_slot
from claygrad.core.data.storage cimport storage_on
from claygrad.core.tensor cimport Tensor, bare_tensor, new_tensor, shape_text
from libc.string cimport memset

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)
    object PyObject_Vectorcall(object fn, PyObject** args, size_t n, PyObject* kwnames)


cdef int* _unusual = unusual()


cdef Tensor zeros_for(Node node, int nr):
    """Zeros that look like the gradient of an output."""
    cdef int64_t dims[64]
    cdef int i = 0
    cdef int64_t n
    cdef dtype d = node.dtype_of(nr)
    cdef Tensor t
    for x in node.shape_of(nr):
        dims[i] = x
        i += 1
    n = bytes_of(d, i, dims)
    t = bare_tensor()
    t.layout = new_contiguous(storage_on(_place(node.device_of(nr)), n), d, i, dims)
    if t.layout.storage.ptr != NULL:
        memset(t.layout.storage.ptr, 0, n)
    elif t.layout.storage.where.kind == ACCELERATOR and n:
        t.layout.storage.where.table.fill_block(t.layout.storage.owner, 0, n, 0)
    return t


cdef inline device _place(device where):
    return where if where.kind < WRAPPED else told(where)


cdef bint _by_operations(PyObject** args, int n) except -1:
    """Whether a rule must run as operations: an argument is lazy or off the CPU, or an observer wants to see them."""
    return rules_are_open() or any_lazy(args, n) or _unusual[0] & OFF_CPU and any_off_cpu(args, n) \
        or _unusual[0] & INTERCEPTED and applies(args, n)


cdef int call_rules_into(Node node, Tensor g, bint create_graph, unsigned long long skip, PyObject** out) except -1:
    cdef Op op = <Op>node.op
    cdef int i, k, at, n = op.n_tensors
    cdef PyObject* args[26]
    cdef PyObject* values[24]
    cdef unsigned int known = 0
    cdef object result, gs = None, needs = None
    cdef Layout output
    cdef int last = -1                               # the rule that runs last: it may overwrite g if that is unshared
    if node.freed and node.holds:
        raise freed_error(node)
    for i in range(n):
        out[i] = NULL
        if op.how[i] == R_RULE and node.edge(i) is not None and not skip >> i & 1:
            last = i
    try:
        for i in range(n):
            if node.edge(i) is None or skip >> i & 1:
                continue
            if op.how[i] == R_RULE:
                for at in range(op.rule_count[i]):
                    k = op.rule_sources[i][at]
                    if k >= 0:
                        if not known >> k & 1:
                            result = unpack_slot(node, k, create_graph)
                            Py_INCREF(result)
                            values[k] = <PyObject*>result
                            known |= 1U << k
                        args[at] = values[k]
                    elif k == A_G:
                        args[at] = <PyObject*>g
                    elif k == A_GS:
                        gs = (g,)
                        args[at] = <PyObject*>gs
                    else:
                        needs = tuple([node.edge(k) is not None for k in range(n)])
                        args[at] = <PyObject*>needs
                at = op.rule_count[i]
                result = None
                if not create_graph and not (_unusual[0] and _by_operations(args, at)):
                    output = op.fast_rules[i](args) if i < 4 and op.fast_rules[i] != NULL else _straight(op, i, args, at, g, i == last)
                    if output is not None:
                        result = new_tensor(output)
                if result is None:
                    result = PyObject_Vectorcall(<object>(<tuple>op.rule_fns)[i], args, at, NULL)
                if result is None:
                    result = zeros_for(node.edge(i), node.edge_nr(i))
                Py_INCREF(result)
                out[i] = <PyObject*>result
            elif op.how[i] == R_MISSING:
                raise RuntimeError(f"derivative for aten::{op.name.rstrip('_')} is not implemented"
                                   + where_text(f"{node.name()} was recorded", node.code, node.lasti))
            elif op.how[i] == R_ZERO:
                result = zeros_for(node.edge(i), node.edge_nr(i))
                Py_INCREF(result)
                out[i] = <PyObject*>result
    except:
        for i in range(n):
            Py_XDECREF(out[i])
            out[i] = NULL
        raise
    finally:
        for k in range(op.n_slots):
            if known >> k & 1:
                Py_DECREF(<object>values[k])
    return 0


cdef Layout _straight(Op op, int i, PyObject** args, int n, Tensor g, bint last):
    """The result of a rule that is a single native operation (Note [Straight rules]); None for other rules."""
    cdef Op one = straight(op)[i]
    if one is None or one.kind != POINTWISE or one.fast == NULL or one.n_params != n or g.layout.dtype.category == CAT_COMPLEX:
        return None
    return one.fast(one, args, g.layout if last and Py_REFCNT(<PyObject*>g) == 1 and is_unshared(g) and g.layout.contiguous else None)


cdef list call_rules(Node node, list grads, bint create_graph, unsigned long long skip):
    """Gradients for every edge of an op's node (None where none is needed); `skip` has a bit for each edge to leave out."""
    cdef Op op = <Op>node.op
    cdef int i
    cdef PyObject* out[16]
    g = grads[0]
    if g is None:
        g = zeros_for(node, 0)
    if op.joint is not None or op.list_at >= 0 or node.n_outputs > 1:
        if node.freed and node.holds:
            raise freed_error(node)
        if op.joint is not None:
            return _call_joint(op, node, grads, g, create_graph, skip)
        return _call_apart(op, node, grads, g, create_graph, skip)
    call_rules_into(node, <Tensor>g, create_graph, skip, out)
    result = []
    for i in range(op.n_tensors):
        if out[i] == NULL:
            result.append(None)
        else:
            result.append(<object>out[i])
            Py_DECREF(<object>out[i])
    return result


cdef list _call_apart(Op op, Node node, list grads, object g, bint create_graph, unsigned long long skip):
    """A rule per parameter, for ops with a list of tensors or several outputs."""
    cdef int i, j, edge = 0
    cdef int n_list = node.n_edges - (op.n_tensors - 1)
    cdef list out = [None] * node.n_edges
    values = {}
    for i in range(op.n_tensors):
        span = range(edge, edge + (n_list if i == op.list_at else 1))
        if any([node.edge(j) is not None and not skip >> (j if j < 63 else 63) & 1 for j in span]):
            if op.how[i] == R_RULE:
                args = []
                for place in <tuple>op.rule_args[i]:
                    if place >= 0:
                        if place not in values:
                            values[place] = unpack_slot(node, place, create_graph)
                        args.append(values[place])
                    elif place == A_NEEDS:
                        args.append(tuple([node.edge(j) is not None for j in range(node.n_edges)]))
                    else:
                        args.append(g if place == A_G else tuple(grads))
                result = op.rule_fns[i](*args)
                if i == op.list_at:
                    for j, x in zip(span, result):
                        out[j] = x
                else:
                    out[edge] = zeros_for(node.edge(edge), node.edge_nr(edge)) if result is None else result
            elif op.how[i] == R_MISSING:
                raise RuntimeError(f"derivative for aten::{op.name.rstrip('_')} is not implemented"
                                   + where_text(f"{node.name()} was recorded", node.code, node.lasti))
            elif op.how[i] == R_ZERO:
                for j in span:
                    if node.edge(j) is not None:
                        out[j] = zeros_for(node.edge(j), node.edge_nr(j))
        edge += len(span)
    return out


cdef list _call_joint(Op op, Node node, list grads, object g, bint create_graph, unsigned long long skip):
    cdef int i, j
    cdef list args = [], out = []
    needs = tuple([node.edge(j) is not None and not skip >> (j if j < 63 else 63) & 1 for j in range(node.n_edges)])
    for place in <tuple>op.rule_args[0]:
        if place >= 0:
            args.append(unpack_slot(node, place, create_graph))
        elif place == A_G:
            args.append(g)
        elif place == A_GS:
            args.append(tuple(grads))
        else:
            args.append(needs)
    result = op.joint(*args)
    if not isinstance(result, tuple):
        result = (result,)
    for i, x in enumerate(result):
        if i == op.list_at:
            out.extend(x if x is not None else [None] * (node.n_edges - op.n_tensors + 1))
        else:
            out.append(x)
    return [x if need else None for x, need in zip(out, needs)]


cdef Tensor fit(Tensor grad, Node source, int index, Node target, int nr):
    """The gradient in the shape, dtype and device of what it is a gradient of.

    Broadcasting in the forward is undone here by summing, and nowhere else.
    """
    cdef dtype want = target.dtype_of(nr)
    cdef Layout v = grad.layout
    if v.storage.where is not target.device_of(nr) and v.storage.where != target.device_of(nr):
        if source.op is not None or source.name() == "torch::autograd::CopySlices":       # a copy, or a 0-dim CPU tensor as a scalar
            if not target.fits(nr, v):
                grad = _sum_to(grad, target.shape_of(nr), source, index)
            return fit(grad.to(target.device_of(nr)), source, index, target, nr)
        raise RuntimeError(f"Function {source.name()} returned an invalid gradient at index {index} - expected device "
                           f"{target.device_of(nr)} but got {v.storage.where}"
                           + where_text("recorded", source.code, source.lasti))
    if not target.fits(nr, v):
        grad = _sum_to(grad, target.shape_of(nr), source, index)
        v = grad.layout
    if v.dtype is not want and want is not None:          # None: the grad_dtype of a leaf that takes any
        if v.dtype.category == CAT_COMPLEX and want.category != CAT_COMPLEX:
            _check_real(source, index, target)
            grad = find_op("real")(grad)
        if grad.layout.dtype is not want:
            grad = grad.to(want)
    return grad


# Rules return the complex gradient of a real input, and `fit` takes the real part. It must not where the input was not real: in a graph
# that was recorded after the input got complex data, or through a view of it. What a custom Function returns must be right by itself.
cdef dict _complex_since = {}            # id of a node: a weak reference to it, the time at which its real output got complex data


cdef int note_complex(Node node) except -1:
    cdef object key = id(node)
    if key not in _complex_since:
        _complex_since[key] = weakref.ref(node, lambda _: _complex_since.pop(key, None)), next_seq()
    return 0


cdef int _check_real(Node source, int index, Node target) except -1:
    cdef Op op = source.op
    if op is None:
        wrong = index == 0 or source.name() != "torch::autograd::CopySlices"
    elif op.kind == VIEW or op.kind == MULTI_VIEW:
        wrong = True
    else:
        wrong = _complex_since and id(target) in _complex_since and source.seq > _complex_since[id(target)][1]
    if wrong:
        raise RuntimeError("Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but got "
                           "false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
                           f"\n  {source.name()} returned a complex gradient for a real input"
                           + where_text(f"{source.name()} was recorded", source.code, source.lasti)
                           + "\n  return its real part; if `.data` of the input became complex, record the graph again")
    return 0


cdef Tensor _sum_to(Tensor grad, tuple shape, Node source, int index):
    cdef tuple have = grad.layout.shape_tuple()
    cdef int lead = len(have) - len(shape)
    cdef int i
    ok = lead >= 0
    if ok:
        for i in range(len(shape)):
            if shape[i] != have[lead + i] and shape[i] != 1:
                ok = False
    if not ok:
        raise RuntimeError(f"Function {source.name()} returned an invalid gradient at index {index} - got "
                           f"{shape_text(grad.layout)} but expected shape compatible with [{', '.join(map(str, shape))}]"
                           + where_text(f"{source.name()} was recorded", source.code, source.lasti)
                           + f"\n  the gradient of an input has the shape of that input, {shape}")
    axes = [i for i in range(len(have)) if i < lead or (shape[i - lead] == 1 and have[i] != 1)]
    if len(axes) == lead:
        return find_op("sum")(grad, tuple(axes))
    out = find_op("sum")(grad, tuple(axes), True)
    return out.view(shape) if lead else out
