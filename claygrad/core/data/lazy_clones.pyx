"""What is asked of storages that share or exchange their bytes: Note [Lazy clones] in core/data/storage.pxd."""
from libc.stdint cimport int64_t

from claygrad.core.data.storage cimport Cow, Storage


def swap_bytes(Storage self, Storage other not None):
    """Exchange the memory of two storages under all tensors on them."""
    if self.where != other.where:
        raise RuntimeError(f"_swap_data_ptr_: storages must be on the same device, got {self.where} and {other.where}")
    if self.length and other.length and self.length != other.length:
        raise RuntimeError("_swap_data_ptr_: storages must have the same nbytes or one must have 0, "
                           f"got {self.length} and {other.length}")
    if self.exports or other.exports:
        raise RuntimeError("_swap_data_ptr_: arrays outside see the memory of a storage, which would not follow")
    self.before_write()                          # saved values keep what they read, and lazy clones part
    other.before_write()
    _reserve(self, other.capacity)               # tensors that read beyond the end told still find memory there
    _reserve(other, self.capacity)
    self.ptr, other.ptr = other.ptr, self.ptr
    self.owner, other.owner = other.owner, self.owner
    self.length, other.length = other.length, self.length


cdef int _reserve(Storage self, int64_t nbytes) except -1:
    """At least so many bytes, of which as many are told as before."""
    cdef int64_t told = self.length
    if nbytes > self.capacity:
        self.grow(nbytes)
        self.length = told
    return 0


def has_lazy_clones(Storage self):
    """Whether a write would copy, or take over, bytes that lazy clones read."""
    return isinstance(self.owner, Cow)


def address_of(Storage self):
    """Where the bytes lie; asking does not part a storage from its lazy clones."""
    return <size_t>self.ptr
