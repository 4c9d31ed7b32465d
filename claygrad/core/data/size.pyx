"""Shapes."""
from operator import index

from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_SIZE

from claygrad.core.data.dtype import prefix

cdef extern from *:
    """
    typedef PyObject* (*clay_subscript)(PyObject*, PyObject*);
    static void clay_set_subscript(PyObject* type, clay_subscript f) { ((PyTypeObject*)type)->tp_as_mapping->mp_subscript = f; }
    #define clay_item_at(t, i) PyTuple_GET_ITEM(t, i)
    /* All shapes are created here. The usual case, a tuple of ints, costs only a check of their types. */
    static PyObject* (*clay_mend)(PyObject*) = 0;
    static PyObject* clay_new_size(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
        PyObject* out = PyTuple_Type.tp_new(type, args, kwargs);
        if (out) {
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out); i++) {
                if (!PyLong_Check(PyTuple_GET_ITEM(out, i)) || PyBool_Check(PyTuple_GET_ITEM(out, i))) {
                    PyObject* mended = clay_mend(out);
                    Py_DECREF(out);
                    return mended;
                }
            }
        }
        return out;
    }
    static void clay_check_items(PyObject* type, PyObject* (*mend)(PyObject*)) {
        clay_mend = mend;
        ((PyTypeObject*)type)->tp_new = clay_new_size;
    }
    """
    ctypedef object (*clay_mender)(object)
    void clay_check_items(object type, clay_mender mend)
    ctypedef object (*clay_subscript)(object, object)
    void clay_set_subscript(object type, clay_subscript f)
    PyObject* clay_item_at(object t, Py_ssize_t i)
    Py_ssize_t PyNumber_AsSsize_t(object x, PyObject* kind)


class Size(tuple):
    """A shape: a tuple of ints that prints as torch's does."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        out = 1
        for n in self:
            out *= n
        return out

    def __repr__(self) -> str:
        return f"{prefix()}.Size([{', '.join([str(int(n)) for n in self])}])"

    def __getitem__(self, key):
        if not isinstance(self, tuple):                # Python lets any object be passed as self here
            raise TypeError(f"descriptor '__getitem__' requires a 'Size' object but received a '{type(self).__name__}'")
        return _part(self, key)

    def __add__(self, other):
        if isinstance(other, tuple):
            return Size(tuple.__add__(self, other))
        added = getattr(type(other), "__radd__", None)
        result = NotImplemented if added is None else added(other, self)
        if result is not NotImplemented:
            return result
        raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")

    def __radd__(self, other):
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, n):
        return Size(tuple.__mul__(self, n))

    def __rmul__(self, n):
        return Size(tuple.__mul__(self, n))

    def __reduce__(self):
        return Size, (tuple(self),)


cdef object _part(object self, object key):
    cdef Py_ssize_t i, n = PyTuple_GET_SIZE(self)
    if type(key) is int:
        i = PyNumber_AsSsize_t(key, NULL)          # too large an index is clipped
        if i < 0:
            i += n
        if 0 <= i < n:
            return <object>clay_item_at(self, i)
    out = tuple.__getitem__(self, key)
    return Size(out) if isinstance(key, slice) else out


# `shape[i]` is frequent in rules and forwards: the slot calls this function directly, without a lookup by name.
clay_set_subscript(Size, _part)


cdef object _as_ints(object given):
    ints = []
    for i, item in enumerate(given):
        try:
            ints.append(int(index(item)))
        except TypeError:
            kind = type(item)
            name = f"{kind.__module__}.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__
            raise TypeError(f"{prefix()}.Size() takes an iterable of 'int' (item {i} is '{name}')") from None
    return type(given)(ints)


clay_check_items(Size, _as_ints)
