"""Sparse tensors as the core sees them: Note [Sparse tensors] is in core/sparse_tensor.pxd. What they can do is in claygrad.sparse."""
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.data.device cimport scattered
from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.layout cimport COMPRESSED, COO, SPARSE, Layout, bytes_of, check_dims, new_layout
from claygrad.core.data.storage cimport LAZY, unusual
from claygrad.core.graph.node cimport Node
from claygrad.core.data.storage cimport Storage, storage_on
from claygrad.core.tensor cimport Tensor, getitem_verb, mark_created, new_tensor, setitem_verb, verbs
from claygrad.core.tensor import UPCALLS

cdef getitem_verb _dense_getitem = NULL
cdef setitem_verb _dense_setitem = NULL


@cython.final
cdef class Parts:
    """What a sparse tensor is made of."""

    def __init__(self, layout, tuple indices, Tensor values, bint coalesced):
        self.layout, self.indices, self.values, self.coalesced = layout, indices, values, coalesced


cdef Parts parts_of(Tensor t):
    if not t.layout.bits & SPARSE:
        raise TypeError("a sparse tensor is needed")
    return <Parts?>t.layout.storage.owner


def parts(Tensor t):
    """The parts of a sparse tensor; None of a dense one."""
    return parts_of(t) if t.layout.bits & SPARSE else None


cdef bint _sparse(object value) noexcept:
    return isinstance(value, Tensor) and (<Tensor>value).layout is not None and (<Tensor>value).layout.bits & SPARSE != 0


cdef bint any_sparse(PyObject** slots, int n) except -1:
    cdef int i
    for i in range(n):
        if _sparse(<object>slots[i]):
            return True
        if type(<object>slots[i]) is list or type(<object>slots[i]) is tuple:
            for x in <object>slots[i]:
                if _sparse(x):
                    return True
    return False


cdef Layout _layout(Parts parts, shape):
    cdef int64_t dims[64]
    cdef int64_t steps[64]
    cdef Py_ssize_t i, n = len(shape)
    cdef dtype kind = parts.values.layout.dtype
    cdef Storage storage = storage_on(scattered, 0)
    cdef Layout out
    check_dims(n)
    for i in range(n):
        dims[i] = shape[i]
        steps[i] = 0
    bytes_of(kind, <int>n, dims)                 # raises if the size overflows
    storage.owner = parts
    out = new_layout(storage, kind, <int>n, dims, steps, 0)
    out.bits = COO if len(parts.indices) == 1 else COMPRESSED
    out.contiguous = False
    unusual()[0] |= LAZY
    return out


def sparse_tensor(Parts parts, shape):
    """A new tensor of these parts."""
    _watch_indexing()
    return mark_created(new_tensor(_layout(parts, shape)))


def replace(Tensor t, Tensor other):
    """Write: give a tensor the parts and the history of another."""
    t.layout = other.layout
    t.bump()
    if other.node is not None:
        t.node, t.output_nr, t.leaf_grad = other.node, other.output_nr, False
    return t


def relabel(Tensor t, str label):
    """Name the node that made a tensor."""
    if t.node is not None and label:
        (<Node>t.node).label = label
    return t


# --- indexing ----------------------------------------------------------------------------------------------------
cdef object _getitem(Tensor t, object key):
    return UPCALLS["sparse[]"](t, key) if t.layout.bits & SPARSE else _dense_getitem(t, key)


cdef int _setitem(Tensor t, object key, object value) except -1:
    if t.layout.bits & SPARSE or _sparse(value):
        UPCALLS["sparse[]="](t, key, value)
        return 0
    return _dense_setitem(t, key, value)


cdef void index_by(getitem_verb getitem, setitem_verb setitem) noexcept:
    global _dense_getitem, _dense_setitem
    if _dense_getitem == NULL:
        verbs().getitem, verbs().setitem = getitem, setitem
    else:
        _dense_getitem, _dense_setitem = getitem, setitem


cdef int _watch_indexing() except -1:
    """Switch indexing to the form that checks for sparse tensors, when the first one is created."""
    global _dense_getitem, _dense_setitem
    if _dense_getitem == NULL:
        _dense_getitem, _dense_setitem = verbs().getitem, verbs().setitem
        verbs().getitem, verbs().setitem = _getitem, _setitem
    return 0


def sparse_tensors_exist():
    """Whether a sparse tensor was ever made."""
    return _dense_getitem != NULL
