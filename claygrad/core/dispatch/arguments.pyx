"""Binding the arguments of a call: type checks with torch's messages, keywords, positional ints as one tuple."""
from operator import index

import numpy

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.op cimport (P_ANY, P_BOOL, P_DTYPE_OPT, P_FLOAT, P_FLOAT_OPT, P_INT, P_INT_OPT, P_INTS, P_INTS_OPT, P_NUMBER, P_STR,
                               P_STR_OPT, P_TENSOR_NUM, P_TENSOR_NUM_OPT, P_TENSOR_OPT, P_TENSORS, Op)
from claygrad.core.data.dtype cimport CAT_FLOAT, parse
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.wrong_arguments import SEVERAL_FORMS, type_name, unexpected_keyword
from claygrad.core.tensor import UPCALLS

cdef extern from "Python.h":
    PyObject* PyTuple_GET_ITEM(PyObject* t, Py_ssize_t i)
    Py_ssize_t PyTuple_GET_SIZE(PyObject* t)
    long long PyLong_AsLongLongAndOverflow(object x, int* overflow) except? -1

_NAMES = ("Tensor", "Tensor", "Tensor", "Tensor", "tuple of Tensors", "Number", "int", "int", "float", "float", "bool", "str", "str",
          "tuple of ints", "tuple of ints", "claygrad.dtype", "")


cdef object _wrong(Op op, int i, object value, bint by_place):
    wanted = _NAMES[op.kinds[i]]
    place = f" (position {i + 1 - (op.method and i > 0)})" if by_place else ""       # no method is called on what is no tensor
    kind = type_name(value)
    if op.kinds[i] in (P_INTS, P_INTS_OPT) and isinstance(value, (tuple, list)) and value:
        bad = next((k for k, x in enumerate(value) if not _is_int(x)), 0)
        return TypeError(f"{op.name}(): argument '{op.params[i]}'{place} must be tuple of ints, but found element of type "
                         f"{type_name(value[bad])} at pos {bad}")
    if op.kinds[i] == P_TENSORS and isinstance(value, (tuple, list)):
        for k, x in enumerate(value):
            if not isinstance(x, Tensor):
                return TypeError(f"expected Tensor as element {k} in argument {i}, but got {type_name(x)}")
    return TypeError(f"{op.name}(): argument '{op.params[i]}'{place} must be {wanted}, not {kind}")


cdef bint _is_int(object x):
    return (isinstance(x, int) and not isinstance(x, bool)) or (hasattr(x, "__index__") and not isinstance(x, bool))


cdef bint _is_number(object value):
    """Whether a NumPy object or a tensor is a single number. Not a tensor that requires grad: its history would be lost."""
    if isinstance(value, Tensor):
        return (<Tensor>value).layout.ndim == 0 and not value.requires_grad
    return type(value).__module__ == "numpy" and value.ndim == 0


cdef object exact_int(object x):
    """The result of __index__ as an exact int: an object's own __index__ may return anything."""
    return int.__index__(index(x))


cdef object from_numpy(object value):
    """A NumPy scalar as a Python number; an array operand as a tensor."""
    return UPCALLS["as_tensor"](value) if isinstance(value, numpy.ndarray) else value.item()


cdef object checked(Op op, int i, object value, bint by_place):
    """Convert the argument to what its kind needs, or raise. Only called if `is_valid` was not sure."""
    cdef int kind = op.kinds[i]
    if kind == P_TENSOR_OPT and value is None or kind == P_TENSOR_NUM_OPT and value is None:
        return value
    if kind <= P_TENSOR_NUM_OPT:
        if kind >= P_TENSOR_NUM:
            if isinstance(value, (int, float, complex)):
                return value
            if isinstance(value, numpy.generic):
                return value.item()
        elif isinstance(value, (int, float, complex)) and op.info.get("numbers"):
            return UPCALLS["as_tensor"](numpy.asarray(value))
        raise _wrong(op, i, value, by_place)
    if kind == P_TENSORS:
        if not isinstance(value, (tuple, list)):
            raise _wrong(op, i, value, by_place)
        for x in value:
            if not isinstance(x, Tensor) and x is not None:
                raise _wrong(op, i, value, by_place)
        return value
    if value is None and kind in (P_INT_OPT, P_FLOAT_OPT, P_STR_OPT, P_INTS_OPT, P_DTYPE_OPT):
        return value
    if kind == P_NUMBER:
        if isinstance(value, (int, float, complex)):
            return value
        if _is_number(value):
            return value.item()
    elif kind == P_INT or kind == P_INT_OPT:
        if _is_int(value):
            return _whole(value)
    elif kind == P_FLOAT or kind == P_FLOAT_OPT:
        if isinstance(value, (int, float)):
            return value
        if _is_number(value):
            return float(value)
    elif kind == P_BOOL:
        if isinstance(value, bool):
            return value
        if type(value).__name__ in ("bool_", "bool"):
            return bool(value)
    elif kind == P_STR or kind == P_STR_OPT:
        if isinstance(value, str):
            return value
    elif kind == P_INTS or kind == P_INTS_OPT:
        if _is_int(value):
            return _whole(value)
        if value is None and op.defaults[i] == ():
            return ()
        if isinstance(value, (tuple, list)):
            if all([_is_int(x) for x in value]):
                out = tuple([exact_int(x) for x in value])
                for k, x in enumerate(out):
                    if not _fits(x):
                        raise TypeError(f"{op.name}(): argument '{op.params[i]}' failed to unpack the object at pos {k + 1} with error "
                                        "\"Overflow when unpacking long long")
                return out
        elif isinstance(value, Tensor) and value.dtype.category < CAT_FLOAT and value.ndim <= 1:
            out = value.tolist()
            return out if isinstance(out, int) else tuple(out)
    elif kind == P_DTYPE_OPT:
        found = parse(value)
        if found is not None:
            return found
    else:
        return value
    raise _wrong(op, i, value, by_place)


cdef inline bint _fits(object value) noexcept:
    """Whether an int fits in 64 bits, as all sizes and indices must."""
    cdef int overflow = 0
    PyLong_AsLongLongAndOverflow(value, &overflow)
    return overflow == 0


cdef object _whole(object value):
    """A number as an int of 64 bits."""
    value = exact_int(value)
    if not _fits(value):
        raise ValueError("Overflow when unpacking long long")
    return value


cdef bint is_valid(int kind, object value) noexcept:
    """Whether the argument is valid for its kind: a fast test that may say False for a valid one."""
    if kind <= P_TENSOR_NUM_OPT:
        return isinstance(value, Tensor)
    if kind == P_ANY:
        return True
    if kind == P_BOOL:
        return value is True or value is False
    if kind == P_INT or kind == P_INTS or kind == P_INT_OPT or kind == P_INTS_OPT:
        if type(value) is int:
            return _fits(value)
        if kind >= P_INTS and isinstance(value, tuple):
            for x in <tuple>value:
                if type(x) is not int or not _fits(x):
                    return False
            return True
        return value is None and (kind == P_INT_OPT or kind == P_INTS_OPT)
    if kind == P_NUMBER:
        return type(value) is float or type(value) is int
    return False


class Axes(tuple):
    """Non-negative axes together with the dims as given, which some error messages name."""

    given = ()


cdef object axes(Op op, object dim, int ndim):
    """Reduction dims as a tuple of non-negative axes; None for all of them."""
    cdef int n = ndim if ndim else 1
    cdef int64_t d
    if dim is None:
        return None
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    if not given:
        return () if op.info.get("no_dims") == "keep" else None
    out = []
    for x in given:
        d = x
        if d < -n or d >= n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
        d = d + n if d < 0 else d
        if d in out:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        out.append(d)
    if op.names_given_dims and ndim:
        result = Axes(out)
        result.given = given
        return result
    return tuple(out) if ndim else ()


# NumPy's names for the same parameters, as torch accepts them.
cdef dict _ALIASES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}

cdef int _index_of(Op op, str name) noexcept:
    cdef int i
    for i in range(op.n_params):
        if <object>(<tuple>op.params)[i] is name:
            return i
    for i in range(op.n_params):
        if (<tuple>op.params)[i] == name:
            return i
    alias = _ALIASES.get(name)
    return _index_of(op, alias) if alias is not None and alias != name else -1


cdef object _unexpected(Op op, PyObject** slots, PyObject** values, tuple names, Py_ssize_t k):
    """The error for keyword `k`; the keywords before it are already bound."""
    cdef int i
    bound = [_index_of(op, name) for name in names[:k]]
    given = [<object>slots[i] for i in range(op.method, op.n_params) if slots[i] != NULL and i not in bound]
    return unexpected_keyword(op.name, op.params[op.method:], given, {name: <object>values[i] for i, name in enumerate(names)}, names[k])


cdef object bind_keywords(Op op, PyObject** slots, PyObject** values, PyObject* kwnames):
    """Bind keyword arguments to their slots; returns out=."""
    cdef Py_ssize_t k
    cdef int j
    out = None
    for k in range(PyTuple_GET_SIZE(kwnames)):
        name = <object>PyTuple_GET_ITEM(kwnames, k)
        if name == "out" and op.has_out:
            out = <object>values[k]
            continue
        j = _index_of(op, name)
        if j < 0 or op.method and j == op.inplace_at:
            raise _unexpected(op, slots, values, <object>kwnames, k)
        if slots[j] != NULL:
            raise TypeError(f"{op.name}() got multiple values for argument '{name}'")
        slots[j] = values[k]
    return out


cdef object collect(Op op, PyObject** args, Py_ssize_t n):
    """Positional ints that stand for one tuple: x.view(2, 3). None if the call is not of that form."""
    cdef Py_ssize_t i
    if n == op.varargs + 1 and not _is_int(<object>args[op.varargs]):
        return None
    value = tuple([<object>args[i] for i in range(op.varargs, n)])
    for i, x in enumerate(value):
        if _is_int(x):
            continue
        if i and len(value) > 1:
            raise TypeError(f"{op.name}(): argument '{op.params[op.varargs]}' failed to unpack the object at pos {i + 1} with error "
                            f"\"type must be tuple of ints,but got {type_name(x)}\"")
        if len(value) > 1 and _is_int(value[1]) and op.name in SEVERAL_FORMS:
            raise TypeError(f"{op.name}() received an invalid combination of arguments - got "
                            f"({', '.join([type_name(given) for given in value])}), but expected one of:\n"
                            f" * (tuple of ints {op.params[op.varargs]})")
        return None
    value = tuple([x if type(x) is int else exact_int(x) for x in value])
    for i, x in enumerate(value):
        if x > 0x7fffffffffffffff:
            raise TypeError(f"{op.name}(): argument '{op.params[op.varargs]}' failed to unpack the object at pos {i + 1} with error "
                            "\"Overflow when unpacking long long")
    return value
