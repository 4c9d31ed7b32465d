"""What keeps memory alive: the blocks of tensors, nodes and arrays, with the bytes that the memory pool counts."""
cimport numpy as cnp
from libc.stdint cimport int64_t

from claygrad.core.op cimport S_OUT, S_OUTS, S_PARAM, Op
from claygrad.core.data.kernels cimport pool_block
from claygrad.core.data.layout cimport Layout
from claygrad.core.graph.node cimport BOXED, Node, SavedTensor, expose
from claygrad.core.graph.record cimport edge_at
from claygrad.core.data.storage cimport Export, Storage
from claygrad.core.tensor cimport AccumulateGrad, Tensor, leaf_of

cnp.import_array()

cdef extern from *:
    """
    /* Whether an array's own memory is the pool's: numpy_allocator.h */
    static int clay_from_pool(PyArrayObject* array) {
        PyObject* handler = PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) ? ((PyArrayObject_fields*)array)->mem_handler : NULL;
        if (handler == NULL || !PyCapsule_CheckExact(handler)) return 0;
        PyDataMem_Handler* h = (PyDataMem_Handler*)PyCapsule_GetPointer(handler, "mem_handler");
        if (h == NULL) { PyErr_Clear(); return 0; }
        return strcmp(h->name, "claygrad_pool") == 0;
    }
    """
    bint clay_from_pool(cnp.ndarray array)

cdef enum:
    FRONT = 64                        # CLAY_FRONT of numpy_allocator.h


cdef tuple _of_array(object array, int64_t reach):
    """(address, bytes of the pool, other bytes, storage or None) of the memory of an array."""
    cdef cnp.ndarray a
    cdef char* front
    while isinstance(array, cnp.ndarray):
        a = <cnp.ndarray>array
        if clay_from_pool(a):
            front = <char*>cnp.PyArray_DATA(a) - FRONT
            return <size_t>front, pool_block(<int64_t>(<size_t*>front)[0] + FRONT), 0, None
        if <object>cnp.PyArray_BASE(a) is None if cnp.PyArray_BASE(a) != NULL else True:
            return <size_t>cnp.PyArray_DATA(a), 0, max(reach, <int64_t>cnp.PyArray_NBYTES(a)), None
        array = <object>cnp.PyArray_BASE(a)
    if isinstance(array, Export):
        return _of_storage((<Export>array).storage)
    return id(array), 0, reach, None


cdef Storage _behind(Storage s):
    """The storage whose memory this one shows, through any number of NumPy arrays."""
    cdef object owner = s.owner
    while owner is not None:
        if isinstance(owner, Export):
            s = (<Export>owner).storage
            owner = s.owner
        elif isinstance(owner, cnp.ndarray) and cnp.PyArray_BASE(<cnp.ndarray>owner) != NULL:
            owner = <object>cnp.PyArray_BASE(<cnp.ndarray>owner)
        else:
            break
    return s


cdef tuple _of_storage(Storage s):
    s = _behind(s)
    if s.owner is None:
        return <size_t>s.ptr, pool_block(s.capacity) if s.ptr != NULL else 0, 0, s
    if isinstance(s.owner, cnp.ndarray):
        return *_of_array(s.owner, s.capacity)[:3], s
    return <size_t>s.ptr, 0, s.capacity, s


def block_of(x):
    """(address, bytes of the pool, other bytes, storage or None) of the memory of a tensor, storage or array."""
    if isinstance(x, Tensor):
        return _of_storage((<Tensor>x).layout.storage)
    if isinstance(x, Storage):
        return _of_storage(<Storage>x)
    if isinstance(x, cnp.ndarray):
        return _of_array(x, 0)
    raise TypeError(f"block_of() takes a tensor, a storage or an array, not {type(x).__name__}")


def is_export(array):
    """Whether an array shows the memory of a storage."""
    while isinstance(array, cnp.ndarray):
        if cnp.PyArray_BASE(<cnp.ndarray>array) == NULL:
            return False
        array = <object>cnp.PyArray_BASE(<cnp.ndarray>array)
    return isinstance(array, Export)


def export_place(Storage s):
    """(code, instruction) of the line that last exported the memory, such as by numpy(); None if unknown."""
    return None if s.export_where is None or s.export_where[0] is None else s.export_where


cdef object _place(Node node):
    return None if node is None or node.code is None else (node.code, node.lasti)


def place_of(Tensor t):
    """(code, instruction) of the line that created or recorded a tensor; None if unknown."""
    if t.node is not None:
        return _place(t.node)
    return None if t.code is None else (t.code, t.lasti)


def node_place(Node node):
    return _place(node)


def saved_by(SavedTensor s):
    """The storage that a saved value reads, or the result of its pack hook; None if it was released."""
    return s.layout.storage.at(s.epoch) if s.layout is not None and s.epoch >= 0 else \
        s.layout.storage if s.layout is not None else s.packed


def is_copy(SavedTensor s):
    """Whether a saved value reads the copy that was made before its memory was written."""
    return s.layout is not None and s.epoch >= 0 and s.epoch != s.layout.storage.epoch


cdef object _edge_of_slot(Node node, Op op, int k):
    """The node of the tensor that a slot holds, if known."""
    cdef int i, at
    if op.slot_kind[k] == S_OUT or op.slot_kind[k] == S_OUTS:
        return node
    if op.slot_kind[k] == S_PARAM:
        for i in range(op.n_tensors):
            if op.tensors[i] == op.slot_param[k]:
                at = edge_at(op, node, i)
                return node.edge(at) if at < node.n_edges else None
    return None


def saved_in(Node node):
    """What a node saved for backward: [(storage or object, origin or None, whether it is a copy)]."""
    cdef int k
    cdef int64_t epoch
    cdef Node maker
    out = []
    if isinstance(node, AccumulateGrad):
        return out
    for k in range(node.n_slots):
        value = node.slot(k, &epoch)
        found = _edge_of_slot(node, <Op>node.op, k) if node.op is not None and k < 24 else None
        maker = <Node>found if found is not None and not isinstance(found, AccumulateGrad) else None
        if epoch >= 0:
            out.append(((<Layout>value).storage.at(epoch), _place(maker), epoch != (<Layout>value).storage.epoch))
        elif epoch == BOXED:
            for one in (value if type(value) is list or type(value) is tuple else (value,)):
                if one is not None:
                    out.append((saved_by(<SavedTensor>one), _place((<SavedTensor>one).node) or _place(maker), is_copy(one)))
        elif isinstance(value, Layout):
            out.append(((<Layout>value).storage, _place(node), False))
        elif isinstance(value, (Storage, cnp.ndarray)):
            out.append((value, _place(node), False))
    return out


def saves(Node node):
    """Whether the node holds values that a backward pass would free."""
    return node.holds and not node.freed


def leaf_behind(Node node):
    """The leaf of an AccumulateGrad; None of other nodes."""
    return leaf_of(node) if isinstance(node, AccumulateGrad) else None


def is_trained(Tensor t):
    """Whether it is a leaf that requires a gradient."""
    return t.leaf_grad and t.node is None and t.base is None


def base_of(Tensor t):
    return t.base


def node_of(Tensor t):
    """The node of a tensor without side effects; `grad_fn` may first bring that of a view up to date."""
    return expose(t.node)


def own_grad(Tensor t):
    """`.grad` without the warning that it may give."""
    return t.grad_
