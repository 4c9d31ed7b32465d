"""Storages that share or swap their bytes: Note [Lazy clones] in core/data/storage.pxd."""
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
    self.before_write()                          # copies for saved values and lazy clones, which must not see the swap
    other.before_write()
    _reserve(self, other.capacity)               # tensors may still read beyond the end of a shrunken storage
    _reserve(other, self.capacity)
    self.ptr, other.ptr = other.ptr, self.ptr
    self.owner, other.owner = other.owner, self.owner
    self.length, other.length = other.length, self.length


cdef int _reserve(Storage self, int64_t nbytes) except -1:
    """Grow the capacity to so many bytes; the length stays."""
    cdef int64_t told = self.length
    if nbytes > self.capacity:
        self.grow(nbytes)
        self.length = told
    return 0


def has_lazy_clones(Storage self):
    """Whether a write would copy, or take over, bytes that lazy clones read."""
    return isinstance(self.owner, Cow)


def address_of(Storage self):
    """The address of the bytes. Lazy clones keep sharing them."""
    return <size_t>self.ptr
