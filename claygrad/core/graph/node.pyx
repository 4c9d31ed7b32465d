"""A node of the graph: one recorded operation."""
import functools

cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t

from claygrad.core.graph.anomaly import written_out
from claygrad.core.graph.handles import InputMetadata, RemovableHandle
from claygrad.core.data.size import Size
from claygrad.core.data.device cimport device
from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.layout cimport Layout
from claygrad.core.graph.provenance cimport line_of
from claygrad.core.data.storage cimport Storage

cdef extern from "Python.h":
    void Py_SET_TYPE(PyObject* o, PyTypeObject* t)
    PyObject* PyErr_Occurred()
    void PyErr_Fetch(PyObject** kind, PyObject** value, PyObject** trace)
    void PyErr_Restore(PyObject* kind, PyObject* value, PyObject* trace)

cdef extern from "fast_dealloc.h":
    void clay_set_dealloc(PyTypeObject* type, void (*before_dealloc)(PyObject*) noexcept)
    Py_ssize_t clay_borrowed_at
    ctypedef struct clay_dealloc_level:
        int depth
    clay_dealloc_level* clay_begin_dealloc(clay_dealloc_level* mine) noexcept
    void clay_end_dealloc(clay_dealloc_level* level) noexcept
    void clay_release_later(PyObject* owned) noexcept
    void clay_release_chain(PyObject* owned) noexcept

cdef extern from "sealed.h":
    ctypedef object (*newfunc)(PyTypeObject* type, PyObject* args, PyObject* kwargs)
    int clay_seal(PyTypeObject* type) except -1
    int clay_replace_new(PyTypeObject* type, newfunc make) except -1

cdef int64_t _seq = 0

cdef int64_t next_seq() noexcept:
    global _seq
    _seq += 1
    return _seq


cdef inline void _doom(object x) noexcept:
    if x is not None:
        Py_INCREF(x)
        clay_release_later(<PyObject*>x)


@cython.final
@cython.no_gc_clear
cdef class SavedTensor:
    """A tensor that a node saved, as `node._raw_saved_<name>` shows it."""

    def register_hooks(self, *hooks):
        """Pack the tensor with the first of two hooks, at once; the second makes a tensor of it when backward needs it."""
        from claygrad.core.graph.saved_values import hook_saved
        hook_saved(self, hooks)

    @property
    def data(self):
        """The result of the pack hook; without hooks the tensor."""
        from claygrad.core.graph.saved_values import packed_value
        return packed_value(self)

    @property
    def unpack_hook(self):
        """The unpack hook, or None."""
        return self.unpack if self.hooked else None

    def __getattr__(self, name):
        """`unpack()`, a name that a field has: the saved tensor, or the result of the unpack hook."""
        if name != "unpack":
            raise AttributeError(f"'SavedTensor' object has no attribute '{name}'")
        from claygrad.core.graph.saved_values import saved_value
        return functools.partial(saved_value, self)

    def __dealloc__(self):
        cdef PyObject* node
        self.release()
        if self.node is not None:
            node = <PyObject*>self.node
            Py_INCREF(self.node)
            self.node = None
            clay_release_chain(node)

    cdef void release(self):
        if self.epoch >= 0 and self.layout is not None:
            self.layout.storage.release(self.epoch)
        elif self.epoch >= 0 and self.memory is not None:
            storage = self.memory()
            if storage is not None:
                (<Storage>storage).release(self.epoch)
        self.epoch = -1
        self.layout = None
        self.unpack = None
        self.memory = None
        self.tangents = None
        cdef PyObject* held
        if self.packed is not None:                # may refer to another graph: Note [Iterative free]
            held = <PyObject*>self.packed
            Py_INCREF(self.packed)
            self.packed = None
            clay_release_chain(held)
        if self.original is not None:
            held = <PyObject*>self.original
            Py_INCREF(self.original)
            self.original = None
            clay_release_chain(held)


@cython.final
cdef class Hooks:
    cdef int retain_for(self, int nr, object reference) except -1:
        if self.retain is None:
            self.retain = {}
        self.retain[nr] = reference
        return 0


# Note [Nodes are not cleared]
# The garbage collector must not clear a node: on dealloc a node must still release the epochs that it holds. Cycles are broken at
# the tensors, dicts and closures in them.
@cython.freelist(512)
@cython.binding(False)
@cython.no_gc_clear
cdef class Node:
    """A recorded operation: its edges to the nodes of its inputs, what it saved, and where it was recorded."""

    cdef Node edge(self, int i):
        if i == 0:
            return self.edge0
        if i == 1:
            return self.edge1
        return <Node>(<tuple>self.edges[i - 2])[0]

    cdef int edge_nr(self, int i) noexcept:
        if i == 0:
            return self.nr0
        if i == 1:
            return self.nr1
        return <int>(<tuple>self.edges[i - 2])[1]

    cdef int add_edge(self, Node node, int nr) except -1:
        if self.n_edges == 0:
            self.edge0 = node
            self.nr0 = nr
        elif self.n_edges == 1:
            self.edge1 = node
            self.nr1 = nr
        else:
            if self.edges is None:
                self.edges = []
            self.edges.append((node, nr))
        self.n_edges += 1
        return 0

    cdef int save(self, object value, int64_t epoch) except -1:
        if self.n_slots == 0:
            self.slot0 = value
            self.epoch0 = epoch
        elif self.n_slots == 1:
            self.slot1 = value
            self.epoch1 = epoch
        elif self.n_slots == 2:
            self.slot2 = value
            self.epoch2 = epoch
        else:
            self.slots = ((value, epoch),) if self.slots is None else self.slots + ((value, epoch),)
        self.n_slots += 1
        return 0

    cdef int set_slot(self, int k, object value, int64_t epoch) except -1:
        if k == 0:
            self.slot0 = value
            self.epoch0 = epoch
        elif k == 1:
            self.slot1 = value
            self.epoch1 = epoch
        elif k == 2:
            self.slot2 = value
            self.epoch2 = epoch
        else:
            self.slots = self.slots[:k - 3] + ((value, epoch),) + self.slots[k - 2:]
        return 0

    cdef object slot(self, int k, int64_t* epoch):
        if k >= self.n_slots:                      # no slot
            epoch[0] = PLAIN
            return None
        if k == 0:
            epoch[0] = self.epoch0
            return self.slot0
        if k == 1:
            epoch[0] = self.epoch1
            return self.slot1
        if k == 2:
            epoch[0] = self.epoch2
            return self.slot2
        pair = <tuple>self.slots[k - 3]
        epoch[0] = pair[1]
        return pair[0]

    cdef void free_saved(self):
        _free_slots(self)

    cdef int describe_output(self, Layout layout) except -1:
        """Store shape, dtype and device of the next output."""
        cdef int i
        if self.n_outputs == 0:
            self.out_dtype = layout.dtype
            self.out_device = layout.storage.where
            self.out_ndim = layout.ndim
            if layout.ndim <= 5:
                for i in range(layout.ndim):
                    self.out_shape[i] = layout.shape[i]
            else:
                self.out_big = layout.shape_tuple()
        else:
            if self.outs is None:
                self.outs = []
            self.outs.append((layout.shape_tuple(), layout.dtype, layout.storage.where))
        self.n_outputs += 1
        return 0

    cdef int describe_nothing(self) except -1:
        """Count an output that is no tensor and has no gradient."""
        if self.n_outputs == 0:
            self.out_ndim = 0
        else:
            if self.outs is None:
                self.outs = []
            self.outs.append(((), None, None))
        self.n_outputs += 1
        return 0

    cdef tuple shape_of(self, int nr):
        cdef int i
        if nr:
            return <tuple>(<tuple>self.outs[nr - 1])[0]
        if self.out_big is not None:
            return self.out_big
        return tuple([self.out_shape[i] for i in range(self.out_ndim)])

    cdef bint fits(self, int nr, Layout grad):
        cdef int i
        if nr == 0 and self.out_big is None:
            if grad.ndim != self.out_ndim:
                return False
            for i in range(grad.ndim):
                if grad.shape[i] != self.out_shape[i]:
                    return False
            return True
        return grad.shape_tuple() == self.shape_of(nr)

    cdef dtype dtype_of(self, int nr):
        return self.out_dtype if nr == 0 else <dtype>(<tuple>self.outs[nr - 1])[1]

    cdef device device_of(self, int nr):
        return self.out_device if nr == 0 else <device>(<tuple>self.outs[nr - 1])[2]

    cdef int n_shown(self):
        cdef int n = self.n_outputs or 1
        while n > 1 and len(<tuple>self.outs[n - 2]) == 4:          # marked by record_output
            n -= 1
        return n

    cdef Hooks want_hooks(self):
        if self.hooks is None:
            self.hooks = Hooks.__new__(Hooks)
        return self.hooks

    cdef list apply(self, list grads, bint create_graph):
        """The gradients of the inputs, given those of the outputs. Special nodes override it."""
        raise NotImplementedError(f"{self.name()} has no backward")

    cpdef str name(self):
        if self.label is not None:
            return self.label
        return "Node" if self.op is None else self.op.node_label

    # What Python sees
    def __repr__(self):
        return f"<{type(self).__name__} object at {<size_t><PyObject*>self:#x}>"

    @property
    def next_functions(self):
        cdef int i
        return tuple([(expose(self.edge(i)), self.edge_nr(i) if self.edge(i) is not None else 0)
                      for i in range(self.n_edges) if i > 31 or not self.numbers >> i & 1])

    @property
    def metadata(self):
        if self.notes is None:
            self.notes = {}
        written_out(self.notes)
        return self.notes

    @property
    def requires_grad(self):
        return True

    def _sequence_nr(self):
        return 0xffffffffffffffff if self.seq == 0x7fffffffffffffff else self.seq

    def _set_sequence_nr(self, int64_t number):
        """Of the nodes that are ready, backward runs the one with the highest number first."""
        self.seq = number

    @property
    def _input_metadata(self):
        cdef int n = self.n_shown() if self.n_outputs else 0
        return [InputMetadata(Size(self.shape_of(i)), self.dtype_of(i), self.device_of(i)) for i in range(n)]

    def __call__(self, *grads):
        """The gradients of the inputs, given those of the outputs. Hooks do not run."""
        from claygrad.core.graph.backward_pass import call_node
        return call_node(self, grads)

    @property
    def origin(self):
        """File, line, function and source text of the operation that this node records."""
        return line_of(self.code, self.lasti)

    @property
    def module(self):
        """The call of a module in whose forward the operation was recorded: its path, class and what called it; or None."""
        from claygrad.core.graph.module_call import call_of
        return call_of(self)

    def register_hook(self, fn):
        cdef Hooks hooks = self.want_hooks()
        if hooks.post is None:
            hooks.post = {}
        return RemovableHandle(hooks.post, fn)

    def register_prehook(self, fn):
        cdef Hooks hooks = self.want_hooks()
        if hooks.pre is None:
            hooks.pre = {}
        return RemovableHandle(hooks.pre, fn)

    def _register_hook_dict(self, tensor):
        """Run the hooks that a tensor has in `_backward_hooks` when its gradient comes."""
        cdef Hooks hooks = self.want_hooks()
        if hooks.tensor is None:
            hooks.tensor = {}
        hooks.tensor[tensor.output_nr] = tensor._backward_hooks

    def __dir__(self):
        from claygrad.core.graph.saved_values import saved_names
        return sorted([*object.__dir__(self), *(saved_names(self) if self.op is not None else ())])

    def __getattr__(self, name):
        if name.startswith("_saved_") and self.op is not None:
            from claygrad.core.graph.saved_values import saved_attribute
            return saved_attribute(self, name[7:])
        if name.startswith("_raw_saved_") and self.op is not None:
            from claygrad.core.graph.saved_values import raw_attribute
            return raw_attribute(self, name[11:])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


cdef void _before_dealloc(PyObject* dying) noexcept:
    cdef Node node = <Node>dying
    cdef PyObject* kind = NULL                     # an exception that is set meanwhile
    cdef PyObject* value = NULL
    cdef PyObject* trace = NULL
    if PyErr_Occurred() != NULL:
        PyErr_Fetch(&kind, &value, &trace)
    if not node.freed:
        _free_slots(node)                          # not free_saved: the fields of a subclass are cleared already
    if node.scope != NULL:
        clay_scope_release(node.scope)
        node.scope = NULL
    if node.edge0 is not None and node.edge0.leaf_place == NULL or node.edge1 is not None and node.edge1.leaf_place == NULL \
            or node.edges is not None or node.hooks is not None:         # a leaf alone is no chain
        _leave_edges(node)
    if kind != NULL:
        PyErr_Restore(kind, value, trace)


cdef void _leave_edges(Node node) noexcept:
    cdef clay_dealloc_level mine
    cdef clay_dealloc_level* level = clay_begin_dealloc(&mine)
    _doom(node.edge0)
    _doom(node.edge1)
    _doom(node.edges)
    _doom(node.hooks)
    node.edge0 = node.edge1 = None                 # else the fields would be released after the loop, recursively
    node.edges = None
    node.hooks = None
    clay_end_dealloc(level)


cdef _find_leaf_place():
    global clay_borrowed_at
    cdef Node probe = Node.__new__(Node)
    clay_borrowed_at = <char*>&probe.leaf_place - <char*><PyObject*>probe


cdef object _no_saved_tensor(PyTypeObject* cls, PyObject* args, PyObject* kwargs):
    raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")


clay_set_dealloc(<PyTypeObject*>Node, _before_dealloc)    # Note [Fast dealloc]
_find_leaf_place()
clay_seal(<PyTypeObject*>Node)                     # Note [Sealed types]
clay_replace_new(<PyTypeObject*>SavedTensor, _no_saved_tensor)
clay_seal(<PyTypeObject*>Hooks)


cdef Node new_node():
    return Node.__new__(Node)


cdef SavedTensor new_saved():
    return SavedTensor.__new__(SavedTensor)


cdef void _free_slots(Node node):
    cdef int k
    cdef int64_t epoch
    if node.n_slots == 0:
        return
    for k in range(node.n_slots):
        value = node.slot(k, &epoch)
        if epoch >= 0:
            (<Layout>value).storage.release(epoch)
        elif epoch == BOXED:
            _release_boxed(value)
    node.n_slots = 0
    node.slot0 = node.slot1 = node.slot2 = None
    node.slots = None


cdef _release_boxed(object value):
    if isinstance(value, SavedTensor):
        (<SavedTensor>value).release()
    elif value is not None:
        for item in value:
            if item is not None:
                (<SavedTensor>item).release()


cdef dict _classes = {}

cdef object expose(Node node):
    """The node as Python sees it: of a class named after it.

    Nodes are created as `Node`, which is faster, and get their own class when Python first sees them.
    """
    if node is None:
        return None
    if type(node) is not Node:
        return node
    name = node.name()
    cls = _classes.get(name)
    if cls is None:
        cls = type(name.rpartition("::")[2], (Node,), {"__slots__": (), "__module__": "claygrad.autograd.graph"})
        _classes[name] = cls
    Py_INCREF(cls)
    Py_SET_TYPE(<PyObject*>node, <PyTypeObject*>cls)
    return node
