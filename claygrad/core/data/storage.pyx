"""The bytes that all aliases of a tensor share."""
cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memmove, memset

from claygrad.core.data.device cimport ACCELERATOR, CPU, META, cpu, device
from claygrad.core.data.device cimport parse as parse_device
from claygrad.core.data.dtype import prefix
from claygrad.core.data.kernels cimport pool_alloc, pool_free
from claygrad.core.data.mapped_memory cimport Mapping

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o)

cdef extern from "fast_dealloc.h":
    void clay_set_dealloc(PyTypeObject* type, void (*before_dealloc)(PyObject*) noexcept)
    void clay_release_chain(PyObject* owned) noexcept

cdef extern from "sealed.h":
    ctypedef object (*newfunc)(PyTypeObject* type, PyObject* args, PyObject* kwargs)
    int clay_seal(PyTypeObject* type) except -1
    int clay_replace_new(PyTypeObject* type, newfunc make) except -1
    object clay_make(PyTypeObject* type)


cdef int64_t _bytes(object n) except? -1:
    """A size in bytes as an int64, or PyTorch's error."""
    if n < -(1 << 63) or n >= 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    return n


cdef bint _is_int(object x) noexcept:
    return isinstance(x, int) and not isinstance(x, bool)


@cython.freelist(256)
@cython.binding(False)
@cython.no_gc
cdef class Storage:
    """One block of memory, its write counter and its epochs (Note [Epochs] in core/data/storage.pxd)."""

    cdef int before_write(self) except -1:
        """Copy the bytes for the saved values that read them; to be called before every write."""
        if self.holders == 0:
            return 0
        self.own()
        if self.holders == 0:
            return 0
        cdef Storage copy = storage_on(self.where, self.capacity)
        if self.ptr != NULL:
            memcpy(copy.ptr, self.ptr, self.capacity)
        elif self.where.kind == ACCELERATOR:
            self.where.table.copy_block(copy.owner, self.owner, self.capacity)
        if self.past is None:
            self.past = {}
        self.past[self.epoch] = [copy, self.holders]
        self.holders = 0
        self.epoch += 1
        return 0

    cdef int own(self) except -1:
        cdef Storage block
        if not isinstance(self.owner, Cow):
            return 0
        if Py_REFCNT(<PyObject*>self.owner) == 1:
            block = (<Cow>self.owner).block      # this storage is the last one that shares them
        else:
            block = new_storage(self.capacity)
            if self.capacity:
                memcpy(block.ptr, self.ptr, self.capacity)
        self.holders -= 1
        self.ptr, self.owner = block.ptr, block.owner
        block.ptr = NULL
        block.owner = None
        return 0

    cdef int grow(self, int64_t nbytes) except -1:
        """More bytes under the same aliases; the new ones are uninitialised."""
        cdef Storage larger
        if self.exports:
            raise RuntimeError("Trying to resize storage that is not resizable")
        if nbytes > self.capacity:
            self.before_write()
            if self.where.kind == CPU:
                larger = new_storage(nbytes)
                if self.ptr != NULL:
                    memcpy(larger.ptr, self.ptr, self.capacity)
                self.ptr, larger.ptr = larger.ptr, self.ptr
                larger.length = larger.capacity = self.capacity
                larger.owner, self.owner = self.owner, None             # frees the old block
            elif self.where.kind == ACCELERATOR:
                larger = storage_on(self.where, nbytes)
                self.where.table.copy_block(larger.owner, self.owner, self.capacity)
                self.owner = larger.owner
            self.capacity = nbytes
        self.length = nbytes
        return 0

    cdef int64_t hold(self) noexcept:
        self.holders += 1
        return self.epoch

    cdef void release(self, int64_t epoch):
        if epoch == self.epoch:
            self.holders -= 1
            return
        entry = self.past[epoch]
        if entry[1] == 1:
            del self.past[epoch]
        else:
            entry[1] -= 1

    cdef Storage at(self, int64_t epoch):
        return self if epoch == self.epoch else <Storage>self.past[epoch][0]

    # What Python sees, as torch.UntypedStorage
    def data_ptr(self):
        self.own()                               # the caller may write through the address
        if self.where.kind == ACCELERATOR:
            return self.where.table.address(self.owner) if self.length else 0
        return <size_t>self.ptr if self.length else 0

    def nbytes(self):
        return self.length

    def size(self):
        return self.length

    def __len__(self):
        return self.length

    def element_size(self):
        return 1

    def __getitem__(self, at):
        cdef int64_t first, count
        if isinstance(at, slice):
            self.readable()
            first, count = self.stretch(at)
            return self.part(first, count)
        if not _is_int(at):
            raise TypeError(f"can't index a {prefix()}.UntypedStorage with {type(at).__name__}")
        self.readable()
        first = _bytes(at)
        if first < 0:
            first += self.length
        if not 0 <= first < self.length:
            raise IndexError(f"index {first} out of range for storage of size {self.length}")
        return (<unsigned char*>self.ptr)[first]

    def __setitem__(self, at, value):
        cdef int64_t first, count = 1
        if not _is_int(value):
            raise RuntimeError(f"can only set storage content with a int types, but got {type(value).__name__} instead")
        if isinstance(at, slice):
            first, count = self.stretch(at)
        elif _is_int(at):
            first = _bytes(at)
            if first < 0:
                first += self.length
            if not 0 <= first < self.length:
                raise RuntimeError(f"out of bounds\n  index {at} for a storage of size {self.length}")
        else:
            raise RuntimeError(f"can't index a {prefix()}.UntypedStorage with {type(at).__name__}")
        self.set_bytes(first, count, value)

    def __delitem__(self, at):
        raise TypeError("bytes of a storage cannot be deleted; see resize_")

    cdef tuple stretch(self, object at):
        """First byte and number of bytes of a slice."""
        first, last, step = at.indices(self.length)
        if step != 1:
            raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
        return first, max(last - first, 0)

    cdef int readable(self) except -1:
        if self.where.kind == ACCELERATOR:
            raise NotImplementedError(f"Not available for '{self.where.type}' device type\n  read storage.cpu() in its place")
        if self.where.kind != CPU:
            raise NotImplementedError(f"Not available for '{self.where.type}' device type")
        return 0

    cdef int set_bytes(self, int64_t first, int64_t count, object value) except -1:
        cdef int byte = value & 255
        self.before_write()
        if self.ptr != NULL and count > 0:
            memset(self.ptr + first, byte, count)
        elif self.where.kind == ACCELERATOR and count > 0:
            self.where.table.fill_block(self.owner, first, count, byte)
        return 0

    cdef Storage part(self, int64_t first, int64_t count):
        """Some of the bytes as a storage of their own, on the same memory."""
        cdef Storage out = borrow(self.ptr + first if count else NULL, count, export_of(self))
        out.exports = 1                          # writes may come through this storage too
        return as_class(type(self), out)

    def tolist(self):
        self.readable()
        return list(<bytes>(self.ptr[:self.length])) if self.length else []

    def __iter__(self):
        return iter(self.tolist())

    def fill_(self, value, /):
        """Set every byte."""
        if not _is_int(value):
            raise RuntimeError(f"fill_ expects int, but got {type(value).__name__}")
        self.set_bytes(0, self.length, value)
        return self

    def resize_(self, nbytes, /):
        """Change the number of bytes; new ones are uninitialised. Tensors beyond the new end keep their memory."""
        if not _is_int(nbytes):
            raise RuntimeError(f"resize_ expects an int, but got {type(nbytes).__name__}")
        cdef int64_t wanted = _bytes(nbytes)
        _check_size(wanted)
        if wanted != self.length:
            self.grow(wanted)
        return self

    def copy_(self, source, non_blocking=None):
        """Take over the bytes of another storage of the same size."""
        cdef Storage other
        if not isinstance(source, Storage):
            source = getattr(source, "_untyped", source)
        if not isinstance(source, Storage):
            raise TypeError(f"copy_(): argument 'src' (position 1) must be {prefix()}.Storage, not {type(source).__name__}")
        other = <Storage>source
        if other.length != self.length:
            raise RuntimeError(f"size does not match, self was {self.length} bytes but src was {other.length} bytes")
        if self.where.kind != META and other.where.kind == META:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        if self.where.kind == ACCELERATOR:
            self.before_write()
            if other.where is self.where:
                self.where.table.copy_block(self.owner, other.owner, self.length)
            else:
                self.where.table.upload_block(self.owner, other.on_host())
        elif self.where.kind == CPU:
            other = other.on_host()
            self.before_write()
            if self.length:
                memmove(self.ptr, other.ptr, self.length)
        return self

    cdef Storage on_host(self):
        """This storage, or a copy in main memory of one on an accelerator."""
        cdef Storage out
        if self.where.kind != ACCELERATOR:
            return self
        out = new_storage(self.length)
        if self.length:
            content = self.where.table.download_block(self.owner, self.length)       # bytes
            memcpy(out.ptr, <char*>content, self.length)
        return out

    def to_bytes(self):
        """The bytes as they are now."""
        cdef Storage host = self.on_host()
        return host.ptr[:host.length] if host.ptr != NULL else b""

    def clone(self):
        """A storage of its own with the same bytes."""
        cdef Storage out = storage_on(self.where, self.length)
        if self.ptr != NULL and self.length:
            memcpy(out.ptr, self.ptr, self.length)
        elif self.where.kind == ACCELERATOR:
            self.where.table.copy_block(out.owner, self.owner, self.length)
        return as_class(type(self), out)

    def new(self):
        """An empty storage on the same device."""
        return as_class(type(self), storage_on(self.where, 0))

    def cpu(self):
        """This storage, or a copy on the CPU of one on another device."""
        if self.where.kind == META:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return self if self.where.kind == CPU else as_class(type(self), self.on_host())

    def untyped(self):
        return self

    def type(self, dtype=None, non_blocking=False):
        """The name of the class; given that class, the storage itself. Use `float()` and the like to cast."""
        if dtype is None:
            return f"{prefix()}.storage.UntypedStorage"
        if dtype is self.__class__ or dtype == self.type():
            return self
        raise TypeError(f"type(): bytes are not cast to {dtype!r}; see float(), long() and their like")

    def resizable(self):
        return self.exports == 0

    def is_pinned(self, device=None):            # no-cython-lint: torch's name
        return False

    def is_shared(self):
        """Whether the bytes lie in memory that other processes can see, or in that of a file."""
        return isinstance(self.owner, Mapping)

    def get_device(self):
        return self.where.index if self.where.kind == ACCELERATOR else -1

    @property
    def is_cuda(self):
        return self.where.type == "cuda"

    @property
    def is_sparse(self):
        return False

    @property
    def filename(self):
        """The file whose contents the bytes are, of a storage that `from_file` made."""
        return (<Mapping>self.owner).path if isinstance(self.owner, Mapping) and not (<Mapping>self.owner).apart else None

    @property
    def _cdata(self):
        return <size_t><PyObject*>self

    @property
    def device(self):
        return self.where

    def __sizeof__(self):
        return object.__sizeof__(self) + self.length

    def __repr__(self):
        rows = "..." if self.where.kind == META else "\n".join([f" {x}" for x in self.cpu().tolist()]) or " "
        name = f"{prefix()}.storage.UntypedStorage" if type(self) is Storage else f"{type(self).__module__}.{type(self).__name__}"
        return f"{rows}\n[{name}(device={self.where}) of size {self.length}]"


cdef void _before_dealloc(PyObject* dying) noexcept:
    cdef Storage s = <Storage>dying
    cdef PyObject* owner
    if s.owner is None:
        if s.ptr != NULL:
            pool_free(s.ptr, s.capacity)
        return
    owner = <PyObject*>s.owner                   # an array, which may be the first of a long chain: Note [Iterative free]
    Py_INCREF(s.owner)
    s.owner = None
    clay_release_chain(owner)


clay_set_dealloc(<PyTypeObject*>Storage, _before_dealloc)                # Note [Fast dealloc]


# As for tensors (Note [No tensor without storage] in tensor.pyx): Python gets complete storages only.
cdef object _new(PyTypeObject* type, PyObject* args, PyObject* kwargs):
    given = <tuple>args
    named = dict(<dict>kwargs) if kwargs != NULL else {}
    words = dict(named)
    where, allocator = named.pop("device", None), named.pop("allocator", None)
    content = given[0] if given else named.pop("size", None) if "size" in named else named.pop("sequence", 0)
    if len(given) > 1 or named or allocator is not None or given and ("size" in words or "sequence" in words):
        got = ", ".join([x.__class__.__name__ for x in given] + [f"{k}={v.__class__.__name__}" for k, v in words.items()])
        raise TypeError(f"{prefix()}.UntypedStorage() received an invalid combination of arguments - got ({got}), but expected one of:\n"
                        f" * (*, int allocator = None, {prefix()}.device device = None)\n"
                        f" * (int size, *, int allocator = None, {prefix()}.device device = None)\n"
                        f" * (object sequence, *, int allocator = None, {prefix()}.device device = None)\n")
    cdef device place = cpu if where is None else parse_device(where)
    if place is None:
        raise TypeError(f"{prefix()}.UntypedStorage(): argument 'device' must be {prefix()}.device, not {where.__class__.__name__}")
    return as_class(<object>type, storage_on(place, _bytes(content)) if _is_int(content) else _from_sequence(content, place))


cdef Storage as_class(object cls, Storage result):
    """A new storage, or an instance of a subclass that takes over its bytes."""
    cdef Storage out
    if cls is Storage:
        return result
    out = <Storage>clay_make(<PyTypeObject*>cls)
    out.where, out.length, out.capacity, out.exports, out.owner = result.where, result.length, result.capacity, result.exports, result.owner
    out.ptr = result.ptr
    result.ptr = NULL
    return out


cdef Storage _from_sequence(object content, device place):
    cdef int64_t i = 0
    name = content.__class__.__name__
    if isinstance(content, (bool, dict, set)) or not hasattr(content, "__getitem__") or hasattr(content, "untyped_storage"):
        raise RuntimeError(f"{prefix()}.UntypedStorage(): Expected a sequence type, but got {name}")
    values = list(content)
    cdef Storage out = storage_on(place, len(values))
    for value in values:
        if not _is_int(value):
            raise RuntimeError(f"{prefix()}.UntypedStorage(): tried to construct a storage from a sequence ({name}), but one of the items "
                               f"was of type {value.__class__.__name__} instead of int")
        if out.ptr != NULL:
            (<unsigned char*>out.ptr)[i] = <unsigned char>(<int>(value & 255))
        i += 1
    if place.kind == ACCELERATOR and values:
        place.table.upload_block(out.owner, bytes([value & 255 for value in values]))
    return out


clay_replace_new(<PyTypeObject*>Storage, _new)


@cython.final
@cython.no_gc                                    # as Export
cdef class Cow:
    """The owner of storages that share bytes until a write (copy on write): Note [Lazy clones] in core/data/storage.pxd."""


clay_seal(<PyTypeObject*>Cow)                    # Note [Sealed types]


def lazy_clone(Storage self):
    """A storage that shares the bytes until one of the two is written; None if the bytes are visible outside claygrad."""
    cdef Cow cow
    cdef Storage out
    if self.exports or self.where.kind != CPU:
        return None
    if isinstance(self.owner, Cow):
        cow = <Cow>self.owner
    else:
        cow = Cow.__new__(Cow)
        cow.block = borrow(self.ptr, self.capacity, self.owner)
        self.owner = cow
        self.holders += 1
    out = borrow(self.ptr, self.length, cow)
    out.capacity = self.capacity
    out.holders = 1
    return out


@cython.final
@cython.no_gc                                    # it holds a storage, which the collector does not know
cdef class Export:
    def __dealloc__(self):
        if self.storage is not None:
            self.storage.exports -= 1


clay_seal(<PyTypeObject*>Export)                 # Note [Sealed types]


cdef Export export_of(Storage storage):
    cdef Export token = Export.__new__(Export)
    storage.before_write()                       # what saved values read must not change behind their back
    token.storage = storage
    storage.exports += 1
    return token


cdef int _check_size(int64_t nbytes) except -1:
    if nbytes < 0:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:98] ((ptrdiff_t)nbytes) >= 0. alloc_cpu() seems to have been called with "
                           f"negative number: {nbytes + (1 << 64)}")
    return 0


cdef Storage new_storage(int64_t nbytes):
    cdef Storage s = Storage.__new__(Storage)
    s.where = cpu
    s.length = s.capacity = nbytes
    s.ptr = <char*>pool_alloc(nbytes) if nbytes >= 0 else NULL
    if s.ptr == NULL:
        s.length = s.capacity = 0
        _check_size(nbytes)
        raise RuntimeError(f"[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
                           f"you tried to allocate {nbytes} bytes. Error code 12 (Cannot allocate memory)")
    return s


cdef Storage borrow(char* ptr, int64_t nbytes, object owner):
    cdef Storage s = Storage.__new__(Storage)
    s.where = cpu
    s.length = s.capacity = nbytes
    s.ptr = ptr
    s.owner = owner
    return s


cdef int _unusual = 0


cdef int* unusual() noexcept:
    return &_unusual


cdef Storage storage_on(device where, int64_t nbytes):
    global _unusual
    if where.kind == CPU:
        return new_storage(nbytes)
    _check_size(nbytes)
    _unusual |= OFF_CPU                # Note [Unusual]
    cdef Storage s = Storage.__new__(Storage)
    s.where = where
    s.length = s.capacity = nbytes
    if where.kind == ACCELERATOR:
        s.owner = where.table.allocate(nbytes, where.index)
    return s


cdef Storage storage_of_block(device where, int64_t nbytes, object block):
    global _unusual
    _unusual |= OFF_CPU
    cdef Storage s = Storage.__new__(Storage)
    s.where = where
    s.length = s.capacity = nbytes
    s.owner = block
    return s


# Note [Mapped memory] in core/data/mapped_memory.pxd
def on_mapping(Mapping block, int64_t nbytes, cls=Storage):
    """A storage of class `cls` on mapped memory. Other processes can write it, so it counts as exported."""
    if not isinstance(cls, type) or not issubclass(cls, Storage):
        raise TypeError(f"a storage cannot be of class {cls!r}")
    if nbytes < 0 or nbytes > block.size:
        raise RuntimeError(f"a storage of {nbytes} bytes does not fit in {block.size} bytes of mapped memory")
    cdef Storage s = borrow(block.ptr, nbytes, block)
    s.exports = 1
    return as_class(cls, s)


def move_to_mapping(Storage self, Mapping block):
    """Move the bytes to mapped memory. Other processes can write it, so it counts as exported."""
    cdef Storage former
    if isinstance(self.owner, Mapping) and not (<Mapping>self.owner).apart:
        return                                   # another thread did it meanwhile
    if self.where.kind != CPU or block.size < self.capacity:
        raise RuntimeError("the bytes of this storage do not fit in that memory")
    self.before_write()                          # what saved values read must not change behind their back
    if self.capacity:
        memcpy(block.ptr, self.ptr, self.capacity)
    former = borrow(self.ptr, self.capacity, self.owner)
    if self.exports:
        block.former = former                    # existing NumPy arrays use it, and keep this storage alive
    self.ptr, self.owner = block.ptr, block
    self.exports += 1


def mapping_of(Storage self):
    """(mapping, its descriptor or -1, its name or None) of memory that other processes can see; None of other memory."""
    cdef Mapping block
    if not isinstance(self.owner, Mapping) or (<Mapping>self.owner).apart:
        return None
    block = <Mapping>self.owner
    return block, block.descriptor, block.name


def capacity_of(Storage self):
    """Allocated bytes, including those beyond the end of a shrunken storage."""
    return self.capacity
