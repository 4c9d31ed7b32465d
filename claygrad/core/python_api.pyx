"""Functions on tensors for claygrad's own Python code, beyond the operations: create, wrap, share, write, adopt."""
from math import prod

import numpy

from cpython.object cimport PyTypeObject
from libc.stdint cimport int64_t

from claygrad.core.data.device cimport ACCELERATOR, CPU, WRAPPED, device, wrapped_as
from claygrad.core.data.device cimport parse as parse_device_c
from claygrad.core.data.dtype cimport CAT_FLOAT, cast_array, default_float, dtype
from claygrad.core.data.dtype cimport parse as parse_dtype_c
from claygrad.core.graph.inplace cimport begin_write, check_writable, write_layout
from claygrad.core.data.kernels cimport (blas_ready, isa, max_threads, pool_stats, pool_trim, set_max_threads)
from claygrad.core.data.layout cimport Layout, check_dims, from_array, new_contiguous, new_layout, same_shape
from claygrad.core.graph.node cimport Node, expose
from claygrad.core.graph.provenance cimport here
from claygrad.core.data.storage cimport Storage, storage_on
from claygrad.core.data.transfer cimport to_host
from claygrad.core.tensor import watch_grad_dtypes
from claygrad.core.tensor cimport Tensor, bare_of, gradient_edge, keep_counter, mark_created, new_tensor

cdef extern from *:
    """
    static void clay_unlock(PyTypeObject* t) { t->tp_flags &= ~Py_TPFLAGS_IMMUTABLETYPE; }
    static void clay_lock(PyTypeObject* t) { t->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE; PyType_Modified(t); }

    /* Note [Calls without self]
       The instruction that CPython puts in place of `x.dim()` after some calls with tensors looks at the first argument without
       asking whether there is one. `f(torch.Tensor)` with `def f(x): return x.dim()` then reads a slot of the stack that nobody
       wrote, and may crash. The instruction steps back where a method has other flags than it was made for, before it looks.
       METH_COEXIST is such a flag: it speaks of the making of the type, which is done. The invariant: every method of a compiled
       class that takes arguments by position has it. Tested by tests/survival/test_self.py. */
    static void clay_ask_for_self(PyTypeObject* t) {
        if (t->tp_flags & Py_TPFLAGS_HEAPTYPE) return;
        for (PyMethodDef* def = t->tp_methods; def != NULL && def->ml_name != NULL; def++)
            if (def->ml_flags == METH_FASTCALL || def->ml_flags == (METH_FASTCALL | METH_KEYWORDS)) def->ml_flags |= METH_COEXIST;
    }
    """
    void clay_unlock(PyTypeObject* t)
    void clay_lock(PyTypeObject* t)
    void clay_ask_for_self(PyTypeObject* t)


def ask_for_self(cls):
    """Make calls of methods of a compiled class check for self: Note [Calls without self]."""
    if isinstance(cls, type) and str(cls.__module__).startswith("claygrad"):
        clay_ask_for_self(<PyTypeObject*>cls)


def attach(dict methods, cls=Tensor):
    """Add Python methods to a compiled class."""
    if cls is not Tensor:                             # Tensor can always be changed: Note [Opened class]
        clay_unlock(<PyTypeObject*>cls)
    try:
        for name, fn in methods.items():
            setattr(cls, name, fn)
    finally:
        if cls is not Tensor:
            clay_lock(<PyTypeObject*>cls)


def wrap(array, d=None):
    """A new tensor that owns the array; no copy."""
    if d is not None and array.dtype != (<dtype?>d).numpy:
        array = cast_array(array, (<dtype>d).numpy)
    if not isinstance(array, numpy.ndarray):
        array = numpy.asarray(array)
    if not array.flags.owndata or not array.flags.writeable:
        array = array.copy()
    return mark_created(new_tensor(from_array(array)))


def wrap_on(array, device where):
    """A new tensor with the elements of an array on a device; on the CPU it owns the array."""
    cdef Layout v
    cdef Tensor out
    if where.kind == CPU:
        return wrap(array)
    v = from_array(numpy.ascontiguousarray(array).reshape(array.shape))
    out = new_tensor(new_contiguous(storage_on(where, v.numel * v.dtype.itemsize), v.dtype, v.ndim, v.shape))
    write_layout(out.layout, v)
    return mark_created(out)


def set_elements(Tensor t, array):
    """Write an array, broadcast and cast, to a new tensor: without version, history or saved values."""
    write_layout(t.layout, from_array(numpy.asarray(array)))
    return t


def host_array(Tensor t):
    """The elements as an array in main memory: a view on the live bytes, or a copy of those on an accelerator."""
    return to_host(t.layout).array()


def share(array):
    """A tensor on an array's memory, which others may write."""
    cdef Layout layout = from_array(array)
    cdef int lasti = 0
    layout.storage.exports = 1
    layout.storage.export_where = (here(&lasti), lasti)
    return mark_created(new_tensor(layout))


def array_of(Tensor t):
    """A view on the live bytes, for reading inside claygrad."""
    return t.layout.array()


def write_into(Tensor t, value):
    """Assign an array (broadcast and cast) to the tensor's memory: saved values are kept, the write is counted, no history."""
    cdef Layout src
    if t.layout.storage.where.kind == ACCELERATOR and t.layout.storage.where.table.is_array(value):
        begin_write(t)
        t.layout.storage.where.table.assign(t.layout.array_there(), value)
        return t
    if isinstance(value, Tensor):
        src = (<Tensor>value).layout
    else:
        src = from_array(numpy.asarray(value))
    begin_write(t)
    write_layout(t.layout, src)
    return t


def prepare_write(Tensor t):
    """Prepare a write by another library or process: copy for saved values, and bump the version."""
    begin_write(t)


cdef int _dims(shape, int64_t* out, int64_t* numel) except -1:
    cdef object n = 1
    for x in shape:
        if x < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {x}: [{', '.join(map(str, shape))}]")
        n = n * x
    check_dims(len(shape))
    if n == 0 and prod([x for x in shape[1:] if x]) >= 1 << 63:
        raise RuntimeError("Stride calculation overflowed")
    if n >= 1 << 59:
        raise RuntimeError(f"Storage size calculation overflowed with sizes=[{', '.join(map(str, shape))}]")
    for i, x in enumerate(shape):
        out[<int>i] = x
    numel[0] = n
    return <int>len(shape)


cdef dtype _asked_dtype(d):
    """The dtype that an argument means; the default one for None."""
    cdef dtype found = default_float() if d is None else parse_dtype_c(d)
    if found is None:
        raise TypeError(f"empty(): argument 'dtype' must be torch.dtype, not {type(d).__name__}")
    return found


def empty(shape, d=None, where=None):
    """An uninitialised contiguous tensor."""
    cdef int64_t dims[64]
    cdef int64_t numel = 0
    cdef dtype kind = _asked_dtype(d)
    cdef device place = parse_device_c(where)
    cdef int n = _dims(shape, dims, &numel)
    return mark_created(new_tensor(new_contiguous(storage_on(place, numel * kind.itemsize), kind, n, dims)))


def empty_strided(shape, strides, d=None, where=None):
    """An uninitialised tensor with these strides."""
    cdef int64_t dims[64]
    cdef int64_t steps[64]
    cdef int64_t numel = 0
    cdef object span = 1                       # a Python int: strides may overflow 64 bits
    cdef dtype kind = _asked_dtype(d)
    cdef device place = parse_device_c(where)
    cdef int i, n = _dims(shape, dims, &numel)
    for i in range(n):
        steps[i] = strides[i]
        span += (shape[i] - 1) * strides[i]
    if numel == 0:
        span = 0
    if span >= 1 << 59:
        raise RuntimeError(f"Storage size calculation overflowed with sizes=[{', '.join(map(str, shape))}] and "
                           f"strides=[{', '.join(map(str, strides))}]")
    return mark_created(new_tensor(new_layout(storage_on(place, span * kind.itemsize), kind, n, dims, steps, 0)))


def adopt(Tensor t, Tensor other, str label="", bint record=True, bint new_leaf=False):
    """Make t what other is (memory, shape, history) and count it as a write: unsqueeze_, t_, set_, resize_ ...

    label: the name of the new node; "Name+3" adds to the number that it has.
    new_leaf: former graphs end at the leaf that it was.
    """
    if t.layout.storage is not other.layout.storage:
        keep_counter(t)
    if t.accumulator != NULL and (new_leaf or not same_shape(t.layout, other.layout)):
        (<Node>t.accumulator).leaf_place = NULL      # the old accumulator is for the old shape: later graphs get a new one
        t.accumulator = NULL
    t.layout = other.layout
    if record and other.node is not None:
        t.node = other.node
        t.output_nr = other.output_nr
        t.leaf_grad = False
        if "+" in label:
            name, _, more = label.partition("+")
            t.node.label = f"{name}{int(t.node.name()[len(name):]) + int(more)}"
        elif label:
            t.node.label = label
        t.view_version = t.version() + 1
    t.bump()
    return t


def settled(Tensor view, str label):
    """Make a view of an otherwise unreferenced tensor an ordinary tensor, whose node has this name."""
    view.base, view.creation = None, 0
    if view.node is not None:
        view.node.label = label
    return view


def recast(Tensor t, cls):
    """The same tensor as an instance of another class, with its history."""
    cdef Tensor out = bare_of(cls)
    out.layout, out.node, out.output_nr, out.leaf_grad = t.layout, t.node, t.output_nr, t.leaf_grad
    out.base, out.view_version, out.creation, out.counter, out.inference = (t.base, t.view_version, t.creation, t.counter,
                                                                            t.inference)
    return out


def refuse_unwritable(Tensor t, bint recording=False):
    """Raise what an in-place operation on t would raise."""
    check_writable(t, recording)


def require_grad(Tensor t, bint value):
    """Set requires_grad on a new leaf."""
    t.leaf_grad = value
    return t


def storage_shares(Tensor a, Tensor b):
    """Whether two tensors lie in one storage."""
    return a.layout.storage is b.layout.storage


def on_storage(Storage storage, d, shape, strides, offset):
    """A tensor on an existing storage."""
    cdef int64_t dims[64]
    cdef int64_t steps[64]
    cdef Py_ssize_t i, n = len(shape)
    check_dims(n)
    for i in range(n):
        dims[i] = shape[i]
        steps[i] = strides[i]
    return new_tensor(new_layout(storage, <dtype?>d, <int>n, dims, steps, offset))


def fresh_storage(int64_t nbytes, where=None):
    return storage_on(parse_device_c(where), nbytes)


def memory_stats():
    """Bytes in use, bytes held by the pool, and the peak of bytes in use."""
    stats = pool_stats()
    return stats.allocated, stats.reserved, stats.peak


def empty_cache():
    """Give memory that the pool keeps back to the system."""
    pool_trim()


def get_num_threads():
    return max_threads()


def set_num_threads(n):
    if not isinstance(n, int):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(n).__name__}")
    if not -(1 << 63) <= n < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    if n <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    set_max_threads(min(n, 0x7fffffff))


cdef extern from *:
    """
    #if defined(__SSE__)
    #include <xmmintrin.h>
    static int clay_flush_denormals(int on) {       /* flush results to zero, take inputs as zeros */
        const unsigned now = _mm_getcsr();
        _mm_setcsr(on ? now | 0x8040u : now & ~0x8040u);
        return 1;
    }
    #else
    static int clay_flush_denormals(int on) { return 0; }
    #endif
    """
    bint clay_flush_denormals(bint on) noexcept


def flush_denormals(bint on):
    """Flush denormal numbers to zero in this thread; False if the processor cannot."""
    return clay_flush_denormals(on)


def instruction_set():
    """The instruction set that the kernels run on: base, avx2, avx512 or avx512_bf16."""
    return isa().decode()


def has_blas():
    return blas_ready()


def gradient_edge_of(Tensor t):
    """(node, output number) that receives the gradient of t; (None, 0) if it requires none."""
    cdef int nr = 0
    node = gradient_edge(t, &nr)
    return expose(node), nr


def take_grads_as(Tensor leaf, d):
    """Cast gradients of a leaf to this dtype; None: no cast."""
    watch_grad_dtypes()
    if leaf.accumulator != NULL:                     # for later gradients
        (<Node>leaf.accumulator).out_dtype = <dtype?>d if d is not None else None


def increment_version(Tensor t):
    """Bump the version after a write by other code."""
    t.bump()


def without_writes(Tensor t):
    """Reset the version of a new tensor that was filled by writes."""
    if t.counter is None and t.layout.storage.shared_version is None:
        t.layout.storage.version = 0
    return t


def is_wrapper(Tensor t):
    """Whether it is a wrapper tensor: without memory, of a class with __torch_dispatch__."""
    return t.layout.storage.where.kind == WRAPPED


def new_wrapper(cls, shape, strides, offset, dtype kind, where, bint requires_grad):
    """A tensor without memory: Note [Interception]."""
    cdef int64_t dims[64]
    cdef int64_t steps[64]
    cdef Py_ssize_t i, n = len(shape)
    cdef Tensor out = bare_of(cls)
    check_dims(n)
    for i in range(n):
        dims[i], steps[i] = shape[i], strides[i]
    out.layout = new_layout(storage_on(wrapped_as(where), 0), kind, <int>n, dims, steps, offset)
    if requires_grad and kind.category < CAT_FLOAT:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    out.leaf_grad = requires_grad
    return mark_created(out)
