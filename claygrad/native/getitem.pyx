"""Indexing and index assignment: views for ints, slices, None and ...; gathers for masks and index tensors."""

import numpy

from cpython.object cimport PyObject
from cpython.sequence cimport PySequence_Check
from libc.stdint cimport int64_t

from claygrad.core.dispatch.wrong_arguments import type_name
from claygrad.core.user_warnings import warn
from claygrad.core.dispatch.arguments cimport exact_int
from claygrad.core.op cimport Op, find_op
from claygrad.core.data.dtype cimport BOOL, CAT_FLOAT, F32, I64, U8
from claygrad.core.data.kernels cimport take_rows
from claygrad.core.data.layout cimport Layout, check_dims, fresh, new_layout, on_cpu
from claygrad.core.graph.node cimport Node
from claygrad.core.data.storage cimport INTERCEPTED, unusual
from claygrad.core.graph.intercept cimport applies, intercepting
from claygrad.core.graph.intercept import on_intercepting
from claygrad.core.graph.observe cimport INDEX, Event, begin, finish, observing, wanted
from claygrad.core.graph.observe import on_observing
from claygrad.core.overrides cimport asking, hand_on, is_odd, meet, overriding
from claygrad.core.overrides import on_asking
from claygrad.native.view cimport narrowed, with_axis, without_axis
from claygrad.core.graph.record cimport record_inputs, record_output, should_record
from claygrad.core.sparse_tensor cimport index_by
from claygrad.core.tensor cimport Tensor, new_tensor, requires, verbs
from claygrad.core.graph.view cimport make_view
from claygrad.core.tensor import UPCALLS


cdef extern from "Python.h":
    int PySlice_Unpack(object s, Py_ssize_t* start, Py_ssize_t* stop, Py_ssize_t* step) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t length, Py_ssize_t* start, Py_ssize_t* stop, Py_ssize_t step)


cdef class Ops:
    """The operations behind indexing, looked up once."""
    cdef Op select, slice_, unsqueeze, alias, index, index_put_

cdef Ops _ops = None

cdef Ops ops():
    global _ops
    if _ops is None:
        _ops = Ops()
        _ops.select, _ops.slice_, _ops.unsqueeze = find_op("select"), find_op("slice"), find_op("unsqueeze")
        _ops.alias, _ops.index, _ops.index_put_ = find_op("alias"), find_op("index"), find_op("index_put_")
    return _ops


cdef int* _unusual = unusual()


cdef inline Tensor _recorded(Op op, Layout layout, Tensor t, object a, object b, object c, object d):
    """The view of t that an operation gives with these arguments, None after the last of them."""
    cdef PyObject* slots[5]
    cdef Tensor out
    cdef Node node
    slots[0], slots[1], slots[2], slots[3], slots[4] = <PyObject*>t, <PyObject*>a, <PyObject*>b, <PyObject*>c, <PyObject*>d
    if _unusual[0] & INTERCEPTED:
        return <Tensor?>op(*[<object>slots[i] for i in range(op.n_params)])
    out = make_view(t, layout, False)
    if requires(t) and not t.inference and should_record(op, slots):
        node = record_inputs(op, slots)
        record_output(node, out)
    return out


cdef int64_t _long_long(object index) except? -1:
    try:
        return index
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None


cdef Tensor _select(Tensor t, int dim, object index, object shown):
    """t[..., index, ...] along `dim`."""
    cdef Layout v = t.layout
    cdef int64_t at = _long_long(index), n
    n = v.shape[dim] if dim < v.ndim else 0        # dim is out of range if there are two ellipses
    if at < -n or at >= n:
        raise IndexError(f"index {at} is out of bounds for dimension {shown} with size {n}")
    if at < 0:
        at += n
    v = without_axis(v, dim, at)
    if not requires(t) and not _unusual[0] & INTERCEPTED:
        return make_view(t, v, False)
    return _recorded(ops().select, v, t, dim, at, None, None)


cdef Tensor _slice(Tensor t, int dim, object key, bint whole_too):
    """t with `dim` narrowed to a slice; a slice that takes everything gives t itself unless `whole_too`."""
    cdef Layout v = t.layout
    cdef int64_t n = v.shape[dim], length
    cdef Py_ssize_t start, stop, step
    PySlice_Unpack(key, &start, &stop, &step)
    if step < 0:
        raise ValueError("step must be greater than zero")
    cdef bint whole = start == 0 and stop >= n and step == 1       # as written: [-n:] also takes everything, but is a new view
    PySlice_AdjustIndices(n, &start, &stop, step)
    if stop < start:
        stop = start
    if whole and not whole_too:
        return t
    length = (stop - start - 1) // step + 1 if stop > start else 0        # no overflow, whatever the step
    v = narrowed(v, dim, start, length, step)
    if not requires(t) and not _unusual[0] & INTERCEPTED:
        return make_view(t, v, False)
    return _recorded(ops().slice_, v, t, dim, start, stop, step)


cdef int _within(int dim, int ndim) except -1:
    if dim >= ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")
    return 0


cdef Tensor _unsqueeze(Tensor t, int dim):
    check_dims(t.layout.ndim + 1)
    _within(dim, t.layout.ndim + 1)
    return _recorded(ops().unsqueeze, with_axis(t.layout, dim), t, dim, None, None, None)


cdef Tensor _alias(Tensor t):
    cdef Layout v = t.layout
    return _recorded(ops().alias, new_layout(v.storage, v.dtype, v.ndim, v.shape, v.strides, v.offset), t, None, None, None, None)


cdef object _as_index(object item, Tensor t, tuple key):
    """A sequence or array in a key as an index tensor: a mask if it holds booleans or bytes, else int64."""
    cdef Tensor out
    tensor = UPCALLS["tensor"]
    if isinstance(item, (str, bytes)) or isinstance(item, (list, tuple)) and item and isinstance(item[0], (str, bytes)):
        if len(key) > t.layout.ndim:                # letters of a string, which was read as a tuple
            raise IndexError(f"too many indices for tensor of dimension {t.layout.ndim}")
        raise TypeError(f"new(): invalid data type '{type(item if isinstance(item, (str, bytes)) else item[0]).__name__}'")
    if isinstance(item, (list, tuple)) and not item:
        return tensor([], dtype=_long())
    if type(item) is list:
        for x in <list>item:
            if x is item:
                raise TypeError("new(): self-referential lists are incompatible")
    out = tensor(item)
    if out.layout.dtype.code == BOOL or out.layout.dtype.code == U8 or out.layout.dtype.code == I64:
        return out
    return tensor(item, dtype=_long())


cdef object _long():
    from claygrad.core import int64
    return int64


cdef bint _basic(object item) noexcept:
    return item is None or item is Ellipsis or type(item) is slice or type(item) is int


cdef bint _settled(object item):
    """Whether a slice has only ints and None. Other objects run code that may change the tensor, so they are converted first."""
    return ((item.start is None or type(item.start) is int) and (item.stop is None or type(item.stop) is int)
            and (item.step is None or type(item.step) is int))


cdef object _basic_or_tensor(object item, Tensor t, tuple key):
    """An item of a key as int, slice, None, Ellipsis, bool or tensor."""
    if type(item) is slice and not _settled(item):
        return slice(*[None if x is None else exact_int(x) for x in (item.start, item.stop, item.step)])
    if _basic(item) or isinstance(item, (Tensor, bool)):
        return item
    if isinstance(item, (int, numpy.integer)):
        return exact_int(item)
    if PySequence_Check(item):
        return _as_index(item, t, key)
    if hasattr(item, "__index__") and not isinstance(item, numpy.bool_):      # numpy.bool_ has __index__, but it raises
        return exact_int(item)
    raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
                     f"(got {type_name(item)})")


cdef bint _like_tuple(object key):
    """torch's legacy rule: a sequence that holds more than numbers is a tuple of indices."""
    if isinstance(key, (Tensor, numpy.ndarray)) or not PySequence_Check(key):
        return False
    try:
        if len(key) >= 32:
            return False
    except TypeError:
        return False
    for x in key:
        if x is None or x is Ellipsis or isinstance(x, (slice, Tensor)) or PySequence_Check(x):
            return True
    return False


cdef int _takes(object item) except -1:
    """How many dimensions an item of the key uses up."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, Tensor) and ((<Tensor>item).layout.dtype.code == BOOL or (<Tensor>item).layout.dtype.code == U8):
        return (<Tensor>item).layout.ndim
    return 1


cdef tuple _apply(Tensor t, tuple key):
    """Apply ints, slices, None and ...; returns the view and a list of index tensors by dimension (None: not indexed). A mask takes
    as many dimensions as it has."""
    cdef int dim = 0, used = 0, rest
    cdef Tensor out = t
    cdef list tensors = []
    items = []
    for item in key:
        used += _takes(item)                       # a mask in a list counts as one here, as in torch
        items.append(_basic_or_tensor(item, t, key))
    if used > t.layout.ndim:
        if t.layout.ndim == 0 and len(items) == 1 and type(items[0]) is int:
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
                             "0-dim tensor to a number")
        raise IndexError(f"too many indices for tensor of dimension {t.layout.ndim}")
    for place, item in enumerate(items):          # errors name the position in the key, as in torch
        if type(item) is int:
            out = _select(out, dim, item, place)
            continue
        if type(item) is slice:
            _within(dim, out.layout.ndim)
            out = _slice(out, dim, item, False)
            rest = 1
        elif item is None:
            out = _unsqueeze(out, dim)
            rest = 1
        elif item is Ellipsis:
            rest = t.layout.ndim - used
        else:
            if isinstance(item, Tensor) and (<Tensor>item).layout.ndim == 0:
                code = (<Tensor>item).layout.dtype.code
                if code == BOOL or code == U8:
                    item = bool(item)
                elif (<Tensor>item).layout.dtype.category < CAT_FLOAT:
                    out = _select(out, dim, item.item(), place)
                    continue
            if isinstance(item, bool):
                out = _unsqueeze(out, dim)
                item = UPCALLS["tensor"]([0] if item else [], dtype=_long())
            if not tensors:
                tensors = [None] * dim
            tensors.append(item)
            dim += max(1, _takes(item))
            continue
        dim += rest
        if tensors:
            tensors += [None] * rest
    while tensors and tensors[-1] is None:
        tensors.pop()
    return out, tensors if tensors else None


cdef Tensor _rows(Tensor t, Tensor index):
    """t[index] for one index tensor and contiguous memory; None: does not apply."""
    cdef Layout v = t.layout, at = index.layout, out
    cdef int64_t shape[64]
    cdef int64_t row = v.dtype.itemsize
    cdef int i
    cdef PyObject* slots[2]
    cdef Tensor result
    if at.dtype.code != I64 or not at.contiguous or not v.contiguous or v.ndim == 0 or at.ndim == 0:
        return None
    if not on_cpu(v) or not on_cpu(at) or at.ndim + v.ndim > 64 or v.shape[0] == 0 or v.bits or at.bits:
        return None
    for i in range(at.ndim):
        shape[i] = at.shape[i]
    for i in range(1, v.ndim):
        shape[at.ndim + i - 1] = v.shape[i]
        row *= v.shape[i]
    out = fresh(v.dtype, at.ndim + v.ndim - 1, shape)
    if take_rows(v.data(), <int64_t*>at.data(), out.data(), at.numel, v.shape[0], row) >= 0:
        return None                                # out of range: the reference raises the error
    result = new_tensor(out)
    indices = [index]
    slots[0] = <PyObject*>t
    slots[1] = <PyObject*>indices
    if requires(t) and should_record(ops().index, slots):
        record_output(record_inputs(ops().index, slots), result)
    return result


# Entry points of indexing: Note [Entry points].
cdef extern from *:
    """
    struct __pyx_obj_8claygrad_4core_6tensor_Tensor;
    #include "inline_entry.h"
    CLAY_ENTRY_INLINE PyObject* clay_getitem(struct __pyx_obj_8claygrad_4core_6tensor_Tensor* t, PyObject* key);
    static int clay_setitem(struct __pyx_obj_8claygrad_4core_6tensor_Tensor* t, PyObject* key, PyObject* value);

    static PyObject* clay_getitem_entry(struct __pyx_obj_8claygrad_4core_6tensor_Tensor* t, PyObject* key) {
        PyObject *given[2] = {(PyObject*)t, key}, *out = clay_getitem(t, key);
        if (out == NULL) clay_explain_call("indexing", NULL, given, 2);
        return out;
    }

    static int clay_setitem_entry(struct __pyx_obj_8claygrad_4core_6tensor_Tensor* t, PyObject* key, PyObject* value) {
        PyObject* given[3] = {(PyObject*)t, key, value};
        int failed = clay_setitem(t, key, value);
        if (failed < 0) clay_explain_call("indexing", NULL, given, value == NULL ? 2 : 3);
        return failed;
    }
    """
    object clay_getitem_entry(Tensor t, object key)
    int clay_setitem_entry(Tensor t, object key, object value) except -1


cdef object _getitem "clay_getitem" (Tensor t, object key):
    cdef Tensor found
    if type(key) is int:
        if t.layout.ndim == 0:
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
                             "0-dim tensor to a number")
        return _select(t, 0, key, 0)
    if type(key) is slice:
        if t.layout.ndim == 0:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        return _slice(t, 0, key, True)
    if key is Ellipsis:
        return _alias(t)
    if key is None:
        return _unsqueeze(t, 0)
    if isinstance(key, Tensor):
        found = _rows(t, <Tensor>key)
        if found is not None:
            return found
    if type(key) is not tuple and is_odd(key) and not asking()[0]:
        meet()
        return verbs().getitem(t, key)
    out, tensors = _apply(t, _as_tuple(key))
    if tensors is None:
        return _alias(t) if out is t else out
    return ops().index(out, tensors)


cdef tuple _as_tuple(object key):
    if type(key) is tuple:
        return <tuple>key
    if not isinstance(key, tuple) and _like_tuple(key):
        warn("Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use "
             "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
             "x[torch.tensor(seq)], which will result either in an error or a different result", UserWarning)
        return tuple(key)
    if isinstance(key, tuple):
        return tuple(key)
    return (key,)


cdef object _value_for(Tensor t, object value):
    """The assigned value as a tensor."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (int, float, complex)):
        return _scalar(value, t)
    if getattr(value, "ndim", 1) == 0 and hasattr(value, "item"):
        return _scalar(value.item(), t)
    kind = "numpy.ndarray" if type(value).__module__ == "numpy" else type(value).__name__
    raise TypeError(f"can't assign a {kind} to a {t.type()}")


cdef Tensor _scalar(object value, Tensor t):
    """A number in the dtype of the tensor it is assigned to."""
    cdef Layout out = fresh(t.layout.dtype, 0, NULL)
    cdef double d
    cdef float f
    if t.layout.dtype.code == F32 and type(value) is float:
        d = value
        f = <float>d
        if f - f == 0 or d - d != 0:               # no overflow to infinity
            (<float*>out.data())[0] = f
            return new_tensor(out)
    if isinstance(value, int) and not -0x8000000000000000 <= value <= 0x7fffffffffffffff:
        raise ValueError("Overflow when unpacking long long")
    out.array()[...] = UPCALLS["element"](value, t.layout.dtype)
    return new_tensor(out)


cdef object _without_leading_ones(Tensor value):
    cdef int skip = 0
    while skip < value.layout.ndim and value.layout.shape[skip] == 1:
        skip += 1
    return value.view(value.layout.shape_tuple()[skip:]) if skip else value


cdef int _assign(Tensor target, Tensor value) except -1:
    if target.layout.shape_tuple() == value.layout.shape_tuple():
        target.copy_(value)
    elif value.layout.ndim == 0 and on_cpu(value.layout):
        target.fill_(value)
    else:
        target.copy_(_without_leading_ones(value).expand(target.layout.shape_tuple()))
    return 0


cdef int _setitem "clay_setitem" (Tensor t, object key, object value) except -1:
    cdef Tensor given, target
    if not isinstance(value, Tensor) and is_odd(value) and not asking()[0]:
        meet()
        return verbs().setitem(t, key, value)
    given = <Tensor>_value_for(t, value)
    if key is Ellipsis:
        return _assign(t, given)
    if type(key) is slice and t.layout.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if type(key) is int and t.layout.ndim == 0:
        raise IndexError(f"index {key} is out of bounds for dimension 0 with size 0")
    out, tensors = _apply(t, _as_tuple(key))
    target = <Tensor>out
    if tensors is None:
        return _assign(target, given)
    if given.layout.ndim > 1:
        given = _without_leading_ones(given)
    if not isinstance(value, Tensor):
        given = given.to(t.layout.dtype)
    ops().index_put_(target, tensors, given)
    return 0


# --- with __torch_function__: Note [Overrides] ----------------------------------------------------------------------------
cdef object _getitem_asking(Tensor t, object key):
    cdef PyObject* args[2]
    cdef list found
    args[0], args[1] = <PyObject*>t, <PyObject*>key
    found = overriding(args, 2)
    return clay_getitem_entry(t, key) if found is None else hand_on(Tensor.__getitem__, found, (t, key), None)


cdef int _setitem_asking(Tensor t, object key, object value) except -1:
    cdef PyObject* args[3]
    cdef list found
    args[0], args[1], args[2] = <PyObject*>t, <PyObject*>key, <PyObject*>value
    found = overriding(args, 3)
    if found is None:
        return clay_setitem_entry(t, key, value)
    hand_on(Tensor.__setitem__, found, (t, key, value), None)
    return 0


# --- with __torch_dispatch__ or forward mode: Note [Interception] -------------------------------------------------------------------------
cdef bint applies_to(Tensor t, object key) noexcept:
    cdef PyObject* args[2]
    args[0], args[1] = <PyObject*>t, <PyObject*>key
    return applies(args, 2)


cdef object _getitem_open(Tensor t, object key):
    """The same by recorded operations only."""
    cdef PyObject* args[2]
    cdef list found
    args[0], args[1] = <PyObject*>t, <PyObject*>key
    found = overriding(args, 2)
    if found is not None:
        return hand_on(Tensor.__getitem__, found, (t, key), None)
    if not isinstance(key, Tensor):
        return clay_getitem_entry(t, key)
    out, tensors = _apply(t, (key,))
    return out if tensors is None else ops().index(out, tensors)


# --- with observers: Note [Observers] ------------------------------------------------------------------------------
cdef object _getitem_observed(Tensor t, object key):
    cdef PyObject* args[2]
    cdef Event event
    cdef object what = "__getitem__"
    if intercepting() and applies_to(t, key):
        return _getitem_open(t, key)
    if not observing()[0] or not wanted():
        return _getitem_asking(t, key)
    args[0], args[1] = <PyObject*>t, <PyObject*>key
    event.kind, event.what, event.args, event.n = INDEX, <PyObject*>what, args, 2
    begin(&event)
    try:
        result = _getitem_asking(t, key)
    except:
        finish(&event, NULL)
        raise
    finish(&event, <PyObject*>result)
    return result


cdef int _setitem_observed(Tensor t, object key, object value) except -1:
    cdef PyObject* args[3]
    cdef Event event
    cdef object what = "__setitem__"
    if not observing()[0] or not wanted():
        return _setitem_asking(t, key, value)
    args[0], args[1], args[2] = <PyObject*>t, <PyObject*>key, <PyObject*>value
    event.kind, event.what, event.args, event.n = INDEX, <PyObject*>what, args, 3
    begin(&event)
    try:
        _setitem_asking(t, key, value)
    except:
        finish(&event, NULL)
        raise
    finish(&event, <PyObject*>t)
    return 0


def _switch(bint _):
    if observing()[0] or intercepting():
        index_by(_getitem_observed, _setitem_observed)
    elif asking()[0]:
        index_by(_getitem_asking, _setitem_asking)
    else:
        index_by(clay_getitem_entry, clay_setitem_entry)


on_asking(_switch)
on_observing(_switch)
on_intercepting(_switch)
