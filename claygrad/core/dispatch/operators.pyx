"""Python's operators on tensors: the operation of each, and operands that are not tensors."""
import numpy

from cpython.object cimport PyObject

from claygrad.core.dispatch.arguments cimport from_numpy
from claygrad.core.dispatch.call cimport call_inplace, run, run_in_autocast
from claygrad.core.op cimport Op, find_op
from claygrad.core.dispatch.wrong_arguments import type_name
from claygrad.core.op import op_named
from claygrad.core.data.dtype cimport CAT_FLOAT
from claygrad.core.graph.modes cimport modes
from claygrad.core.overrides cimport asking, hand_on, is_odd, meet, overriding
from claygrad.core.overrides import on_asking
from claygrad.core.tensor cimport ADD, AND, DIV, EQ, GE, INVERT, MATMUL, MUL, N_VERBS, OR, SUB, XOR, Tensor, verbs

cdef extern from "Python.h":
    PyObject* PyTuple_GET_ITEM(PyObject* t, Py_ssize_t i)

# Entry points of operators: Note [Entry points].
cdef extern from *:
    """
    #include "inline_entry.h"
    CLAY_ENTRY_INLINE PyObject* clay_binary(int which, PyObject* a, PyObject* b);
    CLAY_ENTRY_INLINE PyObject* clay_inplace(int which, PyObject* a, PyObject* b);

    static void clay_tell_operator(const char* event, int which, PyObject* a, PyObject* b) {
        PyObject *type, *value, *trace, *given[2] = {a, b};
        PyErr_Fetch(&type, &value, &trace);
        PyObject* number = PyLong_FromLong(which);
        PyErr_Restore(type, value, trace);
        clay_explain_call(event, number, given, 2);
        Py_XDECREF(number);
    }

    static PyObject* clay_binary_entry(int which, PyObject* a, PyObject* b) {
        PyObject* out = clay_binary(which, a, b);
        if (out == NULL) clay_tell_operator("operator", which, a, b);
        return out;
    }

    static PyObject* clay_inplace_entry(int which, PyObject* a, PyObject* b) {
        PyObject* out = clay_inplace(which, a, b);
        if (out == NULL) clay_tell_operator("assignment", which, a, b);
        return out;
    }
    """
    object clay_binary_entry(int which, object a, object b)
    object clay_inplace_entry(int which, object a, object b)

_VERBS = ("add", "sub", "mul", "div", "floor_divide", "remainder", "pow", "matmul", "bitwise_and", "bitwise_or", "bitwise_xor",
          "bitwise_left_shift", "bitwise_right_shift", "eq", "ne", "lt", "le", "gt", "ge", "neg", "abs", "bitwise_not")
_SYMBOLS = ("+", "-", "*", "/", "//", "%", "** or pow()", "@", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=")
cdef list _verb_ops = [None] * N_VERBS


def install_verbs():
    """Bind Python's operators to the declared operations."""
    for i, name in enumerate(_VERBS):
        _verb_ops[i] = op_named(name)


cdef inline bint _number(object x) noexcept:
    cdef type kind = type(x)
    return kind is float or kind is int or kind is bool or kind is complex


cdef str _class_name(object x):
    return "Tensor" if type(x) is Tensor else type_name(x)


cdef object _binary "clay_binary" (int which, object a, object b):
    cdef PyObject* slots[24]
    cdef Op op
    cdef int i
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        if not _number(b if isinstance(a, Tensor) else a):
            return _odd_binary(which, a, b)
        if which == MATMUL:
            return NotImplemented
        if not isinstance(a, Tensor):                  # as torch: for commutative operators the tensor comes first
            if which == SUB:
                return find_op("rsub")(b, a)
            if which == DIV:
                return find_op("mul")(find_op("reciprocal")(b), a)
            if which == ADD or which == MUL or which == AND or which == OR or which == XOR:
                a, b = b, a
    op = <Op>_verb_ops[which]
    slots[0] = <PyObject*>a
    slots[1] = <PyObject*>b
    for i in range(2, op.n_params):
        slots[i] = PyTuple_GET_ITEM(<PyObject*>op.defaults, i)
    return run_in_autocast(op, slots) if modes().autocast else run(op, slots)


cdef object _odd_binary(int which, object a, object b):
    """An operator with an operand that is neither a tensor nor a Python number."""
    other = b if isinstance(a, Tensor) else a
    if isinstance(other, numpy.generic):
        return clay_binary_entry(which, a, other.item()) if other is b else clay_binary_entry(which, other.item(), b)
    if isinstance(other, numpy.ndarray) and not other.dtype.hasobject:
        if which < EQ or other is a:
            return NotImplemented        # NumPy computes it (Tensor.__array_ufunc__), as for torch
        return clay_binary_entry(which, a, from_numpy(other))
    if isinstance(other, (int, float, complex)):
        return clay_binary_entry(which, a, other.__class__.__mro__[1](other)) if other is b else NotImplemented
    if is_odd(other) and not asking()[0]:
        meet()
        return verbs().binary(which, a, b)
    if which >= EQ and which <= GE:
        return NotImplemented
    if other is None or isinstance(other, (str, list, tuple, dict)) or type_name(other) != type(other).__name__ and (
            type(other).__module__.startswith("claygrad")):          # a dtype, say: Python would print the name of a compiled module
        if which == MUL and isinstance(a, (str, list, tuple)):
            return NotImplemented        # Python repeats it, as often as the index of the tensor says
        if which == ADD and isinstance(a, (str, list, tuple)):
            kind = "str" if isinstance(a, str) else "list" if isinstance(a, list) else "tuple"
            raise TypeError(f"can only concatenate {kind} (not \"{_class_name(b)}\") to {kind}")
        raise TypeError(f"unsupported operand type(s) for {_SYMBOLS[which]}: '{_class_name(a)}' and '{_class_name(b)}'")
    return NotImplemented


cdef object _inplace "clay_inplace" (int which, object a, object b):
    cdef Op op = (<Op>_verb_ops[which]).in_place
    cdef PyObject* slots[24]
    cdef int i
    if op is None or not (isinstance(b, Tensor) or _number(b)):
        if is_odd(b) and not asking()[0]:
            meet()
            return verbs().inplace(which, a, b)
        if op is None or not hasattr(b, "dtype") or isinstance(b, numpy.ndarray):
            return NotImplemented
        return op(a, b)
    slots[0] = <PyObject*>a
    slots[1] = <PyObject*>b
    for i in range(2, op.n_params):
        slots[i] = PyTuple_GET_ITEM(<PyObject*>op.defaults, i)
    return call_inplace(op, slots)


cdef object _unary(int which, Tensor a):
    if which == INVERT and a.layout.dtype.category >= CAT_FLOAT:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return _run_unary(<Op>_verb_ops[which], a)


cdef object _run_unary(Op op, Tensor a):
    cdef PyObject* slots[24]
    cdef int i
    slots[0] = <PyObject*>a
    for i in range(1, op.n_params):
        slots[i] = PyTuple_GET_ITEM(<PyObject*>op.defaults, i)
    return run(op, slots)


# --- operators that __torch_function__ may answer: Note [Overrides] ------------------------------------------------------------------
_METHODS = ("add sub mul div __floordiv__ remainder pow matmul __and__ __or__ __xor__ __lshift__ __rshift__ "
            "__eq__ ne lt le gt ge neg abs __invert__").split()
_REVERSED = ("add __rsub__ mul __rdiv__ __rfloordiv__ __rmod__ __rpow__ __rmatmul__ bitwise_and bitwise_or bitwise_xor __rlshift__ "
             "__rrshift__").split()
_INPLACE = ("add_ sub_ mul_ div_ floor_divide_ remainder_ pow_ __imatmul__ __iand__ __ior__ __ixor__ __ilshift__ __irshift__").split()


cdef inline bint _operand(int which, object x):
    """Whether an operator accepts it as an operand."""
    return isinstance(x, Tensor) or which != MATMUL and (_number(x) or isinstance(x, (int, float, complex, numpy.generic))) or is_odd(x)


cdef object _handed(str name, list found, tuple args):
    """As torch: an operator that raises TypeError returns NotImplemented, so that Python asks the other operand."""
    try:
        return hand_on(getattr(Tensor, name), found, args, None)
    except TypeError:
        return NotImplemented


cdef object _binary_asking(int which, object a, object b):
    cdef PyObject* args[2]
    cdef list found
    args[0], args[1] = <PyObject*>a, <PyObject*>b
    found = overriding(args, 2)
    if found is None or not _operand(which, a) or not _operand(which, b):
        return clay_binary_entry(which, a, b)
    if isinstance(a, Tensor):
        return _handed(_METHODS[which], found, (a, b))
    return _handed(_REVERSED[which], found, (b, a))


cdef object _inplace_asking(int which, object a, object b):
    cdef PyObject* args[2]
    cdef list found
    args[0], args[1] = <PyObject*>a, <PyObject*>b
    found = overriding(args, 2)
    if found is None or which == MATMUL or not _operand(which, b):
        return clay_inplace_entry(which, a, b)
    return _handed(_INPLACE[which], found, (a, b))


cdef object _unary_asking(int which, Tensor a):
    cdef PyObject* args[1]
    args[0] = <PyObject*>a
    cdef list found = overriding(args, 1)
    return _unary(which, a) if found is None else hand_on(getattr(Tensor, _METHODS[which]), found, (a,), None)


def _switch(bint on):
    verbs().binary = _binary_asking if on else clay_binary_entry
    verbs().inplace = _inplace_asking if on else clay_inplace_entry
    verbs().unary = _unary_asking if on else _unary


on_asking(_switch)
