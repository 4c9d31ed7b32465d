"""The tensor: its state, its history, and Python's special methods. Its operations are in ops/."""
cimport cython
from cpython.object cimport PyObject, PyTypeObject, Py_EQ, Py_GT, Py_LE, Py_LT, Py_NE
from libc.stdint cimport int64_t

from claygrad.core.data.device cimport ACCELERATOR, CPU, META, WRAPPED, told
from claygrad.core.data.device cimport SPARSE as SPARSE_PLACE
from claygrad.core.data.dtype cimport BF16, BOOL, C32, CAT_FLOAT
from claygrad.core.data.dtype import prefix
from claygrad.core.data.scalar cimport number_at
from claygrad.core import errors as refusals
from claygrad.core.data.conversions import as_array, as_real
from claygrad.core.cpython.open_class import open_class
from claygrad.core.data.size import Size
from claygrad.core.data.layout cimport COMPRESSED, CONJ, COO, SPARSE, Layout, same_shape
from claygrad.core.data.layout cimport NEG as NEG_BIT
from claygrad.core.graph.modes cimport WATCHED, anomaly, modes
from claygrad.core.graph.node cimport Hooks, Node, expose
from claygrad.core.graph.node import RemovableHandle
from claygrad.core.graph.provenance cimport here, line_of
from claygrad.core.data.storage cimport Export, Storage, export_of
from claygrad.core.data.transfer cimport to_host

UPCALLS = {}       # functions of the layers above that the core calls, filled in when those layers are loaded

cdef Verbs _verbs

cdef Verbs* verbs() noexcept:
    return &_verbs


cdef object size_of(Layout layout):
    return Size(layout.shape_tuple())


cdef str shape_text(Layout layout):
    return "[" + ", ".join([str(n) for n in layout.shape_tuple()]) + "]"


@cython.final
@cython.no_gc
cdef class Counter:
    pass


cdef bint _grad_dtypes = False         # whether a leaf was ever given a `grad_dtype`
cdef bint _intercepting = False        # Note [Interception]: detach and item ask too
cdef bint _watched = False             # Note [Overrides]: the special methods below check for overrides


def watch_slots(bint on):
    global _watched
    _watched = on


def watch_detaching(bint on):
    global _intercepting
    _intercepting = on


def watch_grad_dtypes():
    global _grad_dtypes
    _grad_dtypes = True


cdef extern from "lazy_dict.h":
    int clay_lazy_dict(PyTypeObject* type, Py_ssize_t offset, Py_ssize_t grad, void (*clear_links)(PyObject*) noexcept,
                       const char* name) except -1

cdef extern from "sealed.h":
    ctypedef object (*newfunc)(PyTypeObject* type, PyObject* args, PyObject* kwargs)
    int clay_seal(PyTypeObject* type) except -1
    int clay_replace_new(PyTypeObject* type, newfunc make) except -1
    object clay_make(PyTypeObject* type)


@cython.freelist(256)
@cython.binding(False)
cdef class Tensor:
    """A multi-dimensional array of one dtype on one device, with its place in the graph of operations."""

    cdef int64_t version(self) noexcept:
        if self.counter is not None:
            return self.counter.value
        if self.layout.storage.shared_version is not None:
            return (<Counter>self.layout.storage.shared_version).value
        return self.layout.storage.version

    cdef void bump(self) noexcept:
        if self.counter is not None:
            self.counter.value += 1
        elif self.layout.storage.shared_version is not None:
            (<Counter>self.layout.storage.shared_version).value += 1
        else:
            self.layout.storage.version += 1

    # --- shape and type ---------------------------------------------------------------------------------------
    @property
    def shape(self):
        return Size(self.layout.shape_tuple())

    def size(self, dim=None):
        if dim is None:
            return Size(self.layout.shape_tuple())
        return self.layout.shape[_wrap(dim, self.layout.ndim)]

    def stride(self, dim=None):
        if self.layout.bits & COMPRESSED:
            raise refusals.no_strides(self, "strides")
        if dim is None:
            return self.layout.stride_tuple()
        return self.layout.strides[_wrap(dim, self.layout.ndim)]

    @property
    def dtype(self):
        return self.layout.dtype

    @property
    def device(self):
        return self.layout.storage.where if self.layout.storage.where.kind < SPARSE_PLACE else told(self.layout.storage.where)

    @property
    def ndim(self):
        return self.layout.ndim

    def dim(self):
        return self.layout.ndim

    def ndimension(self):
        return self.layout.ndim

    def numel(self):
        return self.layout.numel

    def nelement(self):
        return self.layout.numel

    @property
    def itemsize(self):
        return self.layout.dtype.itemsize

    @property
    def nbytes(self):
        return refusals.bytes_of_sparse(self) if self.layout.bits & SPARSE else self.layout.numel * self.layout.dtype.itemsize

    def element_size(self):
        return self.layout.dtype.itemsize

    def storage_offset(self):
        return self.layout.offset

    def data_ptr(self):
        if self.layout.bits & SPARSE:
            raise refusals.no_elements()
        self.layout.storage.own()                # the caller may write through the address
        if self.layout.storage.where.kind == ACCELERATOR:
            return self.layout.storage.data_ptr() + self.layout.offset * self.layout.dtype.itemsize if self.layout.numel else 0
        return <size_t>self.layout.data() if self.layout.numel else 0

    def untyped_storage(self):
        if self.layout.bits & SPARSE:
            raise refusals.no_storage(self)
        return self.layout.storage

    @property
    def is_cuda(self):
        return self.layout.storage.where.type == "cuda"

    @property
    def is_cpu(self):
        return self.layout.storage.where.kind == CPU or self.layout.storage.where.kind > META and self.layout.storage.where.type == "cpu"

    @property
    def is_meta(self):
        return self.layout.storage.where.kind == META or (self.layout.storage.where.kind == WRAPPED
                                                          and self.layout.storage.where.type == "meta")

    @property
    def is_sparse(self):
        return self.layout.bits & COO != 0

    @property
    def is_quantized(self):
        return False

    def get_device(self):
        return self.layout.storage.where.index if self.layout.storage.where.kind == ACCELERATOR else -1

    # --- autograd state ---------------------------------------------------------------------------------------
    @property
    def requires_grad(self):
        return requires(self)

    @requires_grad.setter
    def requires_grad(self, value):
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        _set_requires_grad(self, value, "only Tensors of floating point and complex dtype can require gradients", False)

    def requires_grad_(self, requires_grad=True):
        if not isinstance(requires_grad, bool):
            raise refusals.no_flag(requires_grad)
        _set_requires_grad(self, requires_grad, "only Tensors of floating point dtype can require gradients", True)
        return self

    @property
    def is_leaf(self):
        if self.base is not None:
            _verbs.refresh(self)
        return self.node is None

    def is_conj(self):
        """Whether this is a conjugate that is not computed yet: a view on memory that holds the conjugates of its values."""
        return self.layout.bits & CONJ != 0

    def is_neg(self):
        """Whether this is a negative that is not computed yet: a view on memory that holds the negatives of its values."""
        return self.layout.bits & NEG_BIT != 0

    def is_contiguous(self, memory_format=None):
        """Whether the tensor is contiguous (in the given memory format)."""
        if self.layout.bits & COMPRESSED:
            raise refusals.no_strides(self, "is_contiguous")
        if memory_format is None:
            return self.layout.contiguous
        return UPCALLS["is_contiguous"](self, memory_format=memory_format)

    @property
    def output_nr(self):
        return self.output_nr

    @property
    def grad_fn(self):
        if self.base is not None:
            _verbs.refresh(self)
        return expose(self.node)

    @property
    def grad(self):
        if self.grad_ is None and self.node is not None and not self.retains:
            refusals.warn_about_grad_of_non_leaf()
        return self.grad_

    @grad.setter
    def grad(self, value):
        if value is None:
            self.grad_ = None
            return
        if not isinstance(value, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
        refusals.check_assigned_grad(self, value)
        self.grad_ = <Tensor>value

    @grad.deleter
    def grad(self):
        self.grad_ = None

    @property
    def _grad(self):
        return self.grad_

    @_grad.setter
    def _grad(self, value):
        self.grad = value

    @property
    def data(self):
        if _intercepting and type(self) is not Tensor and (answer := UPCALLS["detach"](self)) is not None:
            return answer
        return mark_cut(alias(self, True)) if requires(self) else alias(self, True)

    @data.setter
    def data(self, value):
        refusals.check_data(self, value, isinstance(value, Tensor))
        cdef Tensor t = <Tensor?>value
        if self.base is not None or t.layout.dtype is not self.layout.dtype:
            UPCALLS["data_replaced"](self, t)
        if t.layout.storage is not self.layout.storage:
            keep_counter(self)
        if self.accumulator != NULL and (not same_shape(self.layout, t.layout) or self.layout.dtype is not t.layout.dtype
                                         or self.layout.storage.where is not t.layout.storage.where):
            (<Node>self.accumulator).leaf_place = NULL      # the old accumulator is for the old data: later graphs get a new one
            self.accumulator = NULL
        self.layout = t.layout

    @data.deleter
    def data(self):
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def detach(self):
        """A tensor that shares this one's memory and has no history: it does not require a gradient."""
        if _intercepting and (answer := UPCALLS["detach"](self)) is not None:
            return answer
        return UPCALLS["observed_detach"](self) if anomaly() & WATCHED else detached(self)

    def detach_(self):
        if self.base is not None:
            raise refusals.view_detached()
        if _intercepting:
            UPCALLS["forget_tangents"](self)
        self.node = None
        self.leaf_grad = False
        self.output_nr = 0
        return mark_cut(self)

    @property
    def _version(self):
        if self.inference and self.counter is None:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self.version()

    @property
    def _base(self):
        return self.base

    def _is_view(self):
        return self.base is not None

    def is_inference(self):
        return self.inference

    @property
    def retains_grad(self):
        return self.retains

    def retain_grad(self):
        """Make backward store the gradient of this non-leaf tensor in `.grad`."""
        if not requires(self):
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.base is not None:
            _verbs.refresh(self)
        if self.node is None:
            return
        import weakref
        self.retains = True
        self.node.want_hooks().retain_for(self.output_nr, weakref.ref(self))

    def register_hook(self, hook):
        """Register `hook(grad)`, called with the gradient of this tensor in every backward; its result, unless None, replaces it."""
        if not requires(self):
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.base is not None:
            _verbs.refresh(self)
        cdef Hooks hooks
        if self.node is None:
            if self.hooks is None:
                self.hooks = {}
            return RemovableHandle(self.hooks, hook)
        hooks = self.node.want_hooks()
        if hooks.tensor is None:
            hooks.tensor = {}
        return RemovableHandle(hooks.tensor.setdefault(self.output_nr, {}), hook)

    def register_post_accumulate_grad_hook(self, hook):
        """Register `hook(tensor)`, called after each time that backward has accumulated into `.grad` of this leaf."""
        if not requires(self):
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.node is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self.after_hooks is None:
            self.after_hooks = {}
        return RemovableHandle(self.after_hooks, hook)

    @property
    def _backward_hooks(self):
        if self.hooks is None and self.node is not None and self.node.hooks is not None and self.node.hooks.tensor is not None:
            return self.node.hooks.tensor.get(self.output_nr)
        return self.hooks

    @_backward_hooks.setter
    def _backward_hooks(self, value):
        self.hooks = None if value is None else dict(value)

    @property
    def _post_accumulate_grad_hooks(self):
        return self.after_hooks

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Compute the gradients of this tensor with respect to the leaves of its graph, and add them to their `.grad`."""
        if gradient is None and inputs is None and not create_graph:
            _verbs.backward(self, bool(retain_graph))
        else:
            UPCALLS["autograd.backward"](self, gradient, retain_graph, create_graph, inputs=inputs)

    @property
    def origin(self):
        """File, line, function and source of the line that made this tensor, or that cut it from its graph."""
        if self.node is not None:
            return line_of(self.node.code, self.node.lasti)
        if self.code is None and (found := UPCALLS["unrecorded_origin"](self)) is not None:
            return line_of(found[0], found[1])          # from an open ledger: Note [Ledger]
        return line_of(self.code, self.lasti)

    # --- Python's protocol ------------------------------------------------------------------------------------
    def __add__(a, b):
        return _verbs.binary(ADD, a, b)

    def __sub__(a, b):
        return _verbs.binary(SUB, a, b)

    def __mul__(a, b):
        return _verbs.binary(MUL, a, b)

    def __truediv__(a, b):
        return _verbs.binary(DIV, a, b)

    def __floordiv__(a, b):
        return _verbs.binary(FLOORDIV, a, b)

    def __mod__(a, b):
        return _verbs.binary(MOD, a, b)

    def __pow__(a, b, modulo):
        if modulo is not None:
            raise TypeError("pow() with three arguments is not supported for tensors")
        return _verbs.binary(POW, a, b)

    def __matmul__(a, b):
        return _verbs.binary(MATMUL, a, b)

    def __and__(a, b):
        return _verbs.binary(AND, a, b)

    def __or__(a, b):
        return _verbs.binary(OR, a, b)

    def __xor__(a, b):
        return _verbs.binary(XOR, a, b)

    def __lshift__(a, b):
        return _verbs.binary(LSHIFT, a, b)

    def __rshift__(a, b):
        return _verbs.binary(RSHIFT, a, b)

    def __iadd__(self, other):
        return _verbs.inplace(ADD, self, other)

    def __isub__(self, other):
        return _verbs.inplace(SUB, self, other)

    def __imul__(self, other):
        return _verbs.inplace(MUL, self, other)

    def __itruediv__(self, other):
        return _verbs.inplace(DIV, self, other)

    def __ifloordiv__(self, other):
        return _verbs.inplace(FLOORDIV, self, other)

    def __imod__(self, other):
        return _verbs.inplace(MOD, self, other)

    def __ipow__(self, other, modulo):
        return _verbs.inplace(POW, self, other)

    def __iand__(self, other):
        return _verbs.inplace(AND, self, other)

    def __ior__(self, other):
        return _verbs.inplace(OR, self, other)

    def __ixor__(self, other):
        return _verbs.inplace(XOR, self, other)

    def __ilshift__(self, other):
        return _verbs.inplace(LSHIFT, self, other)

    def __irshift__(self, other):
        return _verbs.inplace(RSHIFT, self, other)

    def __neg__(self):
        return _verbs.unary(NEG, self)

    def __pos__(self):
        return self.positive() if _watched or self.layout.dtype.code == BOOL else self

    def __abs__(self):
        return _verbs.unary(ABS, self)

    def __invert__(self):
        return _verbs.unary(INVERT, self)

    def __richcmp__(self, other, int which):
        return _verbs.binary(EQ if which == Py_EQ else NE if which == Py_NE else LT if which == Py_LT else
                             LE if which == Py_LE else GT if which == Py_GT else GE, self, other)

    def __hash__(self):
        return <Py_hash_t><PyObject*>self

    def __getitem__(self, key):
        return _verbs.getitem(self, key)

    def __setitem__(self, key, value):
        _verbs.setitem(self, key, value)

    def __delitem__(self, key):
        raise TypeError("Tensor does not support deleting items")

    def __len__(self):
        if _watched and (answer := UPCALLS["ask_slot"](self, "__len__")) is not None:
            return answer[0]
        if self.layout.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.layout.shape[0]

    def __bool__(self):
        if _watched and (answer := UPCALLS["ask_slot"](self, "__bool__")) is not None:
            return answer[0]
        if self.layout.numel != 1:
            what = "no values" if self.layout.numel == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        return bool(self.item())

    def item(self):
        """The element of a tensor with a single element, as a Python number."""
        if self.layout.numel != 1:
            raise RuntimeError(f"a Tensor with {self.layout.numel} elements cannot be converted to Scalar")
        if _intercepting and (answer := UPCALLS["local_scalar"](self)) is not None:
            return answer[0]
        if self.layout.storage.where.kind != CPU:
            if self.layout.storage.where.kind == META:
                raise RuntimeError("Tensor.item() cannot be called on meta tensors")
            if self.layout.storage.where.kind == ACCELERATOR:
                return number_at(to_host(self.layout), 0)
            if self.layout.storage.where.kind == WRAPPED:
                raise refusals.no_memory(self)
        return number_at(self.layout, self.layout.offset)

    def __float__(self):
        if _watched and (answer := UPCALLS["ask_slot"](self, "__float__")) is not None:
            return answer[0]
        return float(as_real(_scalar(self), "double"))

    def __int__(self):
        if _watched and (answer := UPCALLS["ask_slot"](self, "__int__")) is not None:
            return answer[0]
        return int(as_real(_scalar(self), "int64_t"))

    def __complex__(self):
        return complex(_scalar(self))

    def __index__(self):
        if _watched and (answer := UPCALLS["ask_slot"](self, "__index__")) is not None:
            return answer[0]
        if self.layout.numel != 1 or self.layout.dtype.category >= CAT_FLOAT:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __iter__(self):
        if self.layout.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(parts) if type(parts := self.unbind(0)) is tuple else UPCALLS["entries"](parts)

    def __repr__(self):
        if _watched and (answer := UPCALLS["ask_slot"](self, "__repr__")) is not None:
            return answer[0]
        return UPCALLS["tensor_text"](self)

    def __format__(self, spec):
        if self.layout.ndim == 0 and self.layout.storage.where.kind != META and type(self) is Tensor:
            return self.item().__format__(spec)       # format() would raise a SystemError if spec is no str
        if spec:
            raise TypeError(f"unsupported format string passed to {type(self).__name__}.__format__")
        return repr(self)

    # --- memory shared with NumPy -----------------------------------------------------------------------------
    def numpy(self, *, force=False):
        """A NumPy array that shares the tensor's memory. Writes through it are detected if a graph needs the old values."""
        if self.layout.storage.where.kind != CPU:
            if self.layout.storage.where.kind == META:
                raise refusals.no_array_on_meta()
            if self.layout.storage.where.kind == ACCELERATOR:
                if force:
                    return self.detach().cpu().numpy(force=True)
                raise TypeError(f"can't convert {self.layout.storage.where} device type tensor to numpy. Use Tensor.cpu() to copy the "
                                "tensor to host memory first.")
            raise refusals.no_array(self)
        if not force and requires(self) and not modes().no_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.layout.dtype.code == BF16 or self.layout.dtype.code >= C32:
            raise TypeError(f"Got unsupported ScalarType {self.layout.dtype.legacy}")
        if self.layout.bits:
            if force:
                return self.layout.array().copy()
            raise refusals.no_array_of_bits(self.layout.bits & CONJ != 0)
        return _handed_out(self.layout)

    def __array__(self, *args, **kwargs):
        return as_array(self.numpy(), *args, **kwargs)

    __array_priority__ = 1000

    @staticmethod
    def _make_subclass(cls, data, require_grad=False):
        cdef Tensor source, out
        if not isinstance(data, Tensor) or not isinstance(require_grad, bool):
            raise refusals.cannot_create(data, require_grad, isinstance(data, Tensor))
        source = <Tensor>data
        out = bare_of(cls)
        out.layout = source.layout
        out.counter = source.counter
        out.inference = source.inference
        _set_requires_grad(out, require_grad, "Only Tensors of floating point and complex dtype can require gradients", False)
        return mark_created(out)

    @staticmethod
    def _make_wrapper_subclass(cls, *args, **kwargs):
        """A tensor without memory, of a class that answers every operation by its `__torch_dispatch__`."""
        _check_subclass(cls)
        return UPCALLS["wrapper"](cls, *args, **kwargs)


cdef int _check_subclass(object cls) except -1:
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, Tensor):
        raise refusals.no_subclass()
    return 0


cdef Tensor bare_tensor():
    return Tensor.__new__(Tensor)


cdef Tensor bare_of(object cls):
    _check_subclass(cls)
    if cls is not Tensor:
        UPCALLS["note_class"](cls)
    return <Tensor>clay_make(<PyTypeObject*>cls)


# Note [No tensor without storage]
# Every function here reads t.layout without checking for None. C code creates a bare tensor and sets its layout at once; Python
# (`Tensor(...)`, `Tensor.__new__(cls, ...)`, the `__new__` of a subclass) comes through this slot, which creates a complete tensor,
# as PyTorch's legacy constructor does. So Tensor needs no `__init__`.
cdef object _new(PyTypeObject* type, PyObject* args, PyObject* kwargs):
    cdef Tensor out
    cdef Tensor result
    if kwargs == NULL:
        result = <Tensor?>UPCALLS["legacy_tensor"](*(<tuple>args))
    else:
        result = <Tensor?>UPCALLS["legacy_tensor"](*(<tuple>args), **(<dict>kwargs))
    if <object>type is not Tensor:
        UPCALLS["note_class"](<object>type)
    out = <Tensor>clay_make(type)
    out.layout, out.node, out.output_nr, out.counter, out.leaf_grad = (result.layout, result.node, result.output_nr, result.counter,
                                                                       result.leaf_grad)
    out.base, out.view_version, out.creation, out.inference = result.base, result.view_version, result.creation, result.inference
    return mark_created(out)


cdef void _clear_links(PyObject* cleared) noexcept:
    cdef Tensor t = <Tensor>cleared
    t.node = None
    t.grad_ = None
    t.base = None
    t.hooks = None
    t.after_hooks = None


cdef _init():
    cdef Tensor probe = Tensor.__new__(Tensor), mark = Tensor.__new__(Tensor)
    cdef Py_ssize_t grad = 0
    probe.grad_ = mark                           # Cython has no offsetof for such fields: search for it
    while (<PyObject**><PyObject*>probe)[grad] != <PyObject*>mark:
        grad += 1
    clay_lazy_dict(<PyTypeObject*>Tensor, <char*>&probe.attributes - <char*><PyObject*>probe, grad * sizeof(PyObject*), _clear_links,
                   b"Tensor")
    clay_replace_new(<PyTypeObject*>Tensor, _new)
    open_class(Tensor, prefix)

_init()


cdef object _handed_out(Layout layout):
    cdef Storage storage = layout.storage
    cdef int lasti = 0
    cdef Export token = export_of(storage)
    storage.export_where = (here(&lasti), lasti)
    return layout.array_with_base(token)


cdef _scalar(Tensor t):
    if t.layout.numel != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    if requires(t):
        refusals.warn_about_scalar()
    return t.item()


cdef int _wrap(object dim, int ndim) except? -1:
    """A dimension counted from either end, as an axis; 0-dim tensors take 0 and -1."""
    cdef int d = dim
    cdef int n = ndim if ndim > 0 else 1
    if d < -n or d >= n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
    if ndim == 0:
        raise IndexError(f"Dimension specified as {d} but tensor has no dimensions")
    return d + n if d < 0 else d


cdef _set_requires_grad(Tensor t, bint value, str int_text, bint method):
    if t.node is not None:
        if value and method:
            return
        raise refusals.not_a_leaf(value)
    if value and t.layout.dtype.category < CAT_FLOAT:
        raise RuntimeError(int_text)
    if value and t.inference and not modes().inference:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    t.leaf_grad = value


@cython.final
@cython.binding(False)
@cython.no_gc_clear
cdef class AccumulateGrad(Node):
    """The node of a leaf: adds the gradient to its `.grad`."""

    cpdef str name(self):
        return "torch::autograd::AccumulateGrad"

    @property
    def variable(self):
        return leaf_of(self)


clay_seal(<PyTypeObject*>AccumulateGrad)           # Note [Sealed types]
clay_seal(<PyTypeObject*>Counter)


cdef int keep_counter(Tensor t) except -1:
    """Keep the version counter of a tensor that moves to another storage; its views on the old one share it."""
    cdef Counter own
    if t.counter is None:
        if t.layout.storage.shared_version is None:
            own = Counter.__new__(Counter)
            own.value = t.version()
            t.layout.storage.shared_version = own
        t.counter = <Counter>t.layout.storage.shared_version
    return 0


cdef Tensor new_tensor(Layout layout):
    cdef Tensor t = Tensor.__new__(Tensor)
    t.layout = layout
    if modes().inference:
        t.inference = True
    return t


cdef Tensor mark_created(Tensor t):
    t.code = here(&t.lasti)
    t.mark = CREATED
    return t


cdef Tensor mark_cut(Tensor t):
    t.code = here(&t.lasti)
    t.mark = CUT
    return t


cdef Tensor detached(Tensor t):
    cdef Tensor out = alias(t, False)
    return mark_cut(out) if requires(t) else out


cdef Tensor alias(Tensor t, bint own_counter):
    """A Tensor (no subclass) on the same memory."""
    cdef Tensor out = Tensor.__new__(Tensor)
    out.layout = t.layout
    out.inference = t.inference
    out.counter = t.counter
    if own_counter or (t.inference and not modes().inference):         # it may be written outside inference mode
        out.counter = Counter.__new__(Counter)
    return out


cdef Node gradient_edge(Tensor t, int* nr):
    """The node (and its output number) that receives the gradient of t."""
    cdef AccumulateGrad acc
    if t.base is not None:
        _verbs.refresh(t)
    if t.node is not None:
        nr[0] = t.output_nr
        return t.node
    nr[0] = 0
    if not t.leaf_grad:
        return None
    if t.accumulator != NULL:
        return <Node>t.accumulator
    acc = AccumulateGrad.__new__(AccumulateGrad)
    acc.slot0, acc.leaf_place, acc.seq = t, &t.accumulator, 0x7fffffffffffffff
    acc.describe_output(t.layout)
    if _grad_dtypes:
        acc.out_dtype = UPCALLS["grad_dtype"](t)
    t.accumulator = <PyObject*>acc
    return acc
