"""Results of pack hooks: whether they refer to the saved memory, and how they read it after a write."""
import numpy

from libc.stdint cimport int64_t

from claygrad.core.data.device import device
from claygrad.core.data.dtype import dtype
from claygrad.core.graph.handles import Placeholder
from claygrad.core.data.layout cimport Layout, new_layout
from claygrad.core.data.storage cimport Storage
from claygrad.core.tensor cimport Tensor, bare_tensor

# Note [Packed values]
# A pack hook may return the tensor itself, a view of it, or a container with one of these: then later writes would change the saved
# value. Such a value holds the epoch of the storage, like any saved value; if there was a write since, the unpack hook gets tensors
# on the bytes of that epoch. Other results, such as the key of a dict, may also lead to the memory: they hold the epoch, but do not
# keep the memory alive, and the result of unpack is checked.
cdef enum:
    DEEPEST = 8                 # nesting of containers that is searched

_INERT = (device, dtype, numpy.ndarray, numpy.generic, bytes, bytearray, Placeholder, type(None))


cdef int leads_to(object x, Storage storage, int depth) except -1:
    """Whether a packed value gives access to the storage."""
    cdef int found = NO, more
    if isinstance(x, Tensor):
        return YES if _within((<Tensor>x).layout, storage) else NO
    if isinstance(x, numpy.ndarray) and storage.exports:
        return UNKNOWN
    if isinstance(x, _INERT) or depth and isinstance(x, (int, float, str)):
        return NO
    if isinstance(x, (tuple, list, dict)) and depth < DEEPEST:
        for item in (x.values() if isinstance(x, dict) else x):
            more = leads_to(item, storage, depth + 1)
            if more == YES:
                return YES
            found = more or found
        return found
    return UNKNOWN


cdef bint _within(Layout v, Storage storage) noexcept:
    """Whether a layout lies in the live memory of a storage, itself or an array on it."""
    cdef char* p = v.storage.ptr
    return v.storage is storage or p != NULL and storage.ptr != NULL and storage.ptr <= p < storage.ptr + storage.capacity


cdef object as_it_was(object x, Storage storage, int64_t epoch, int depth):
    cdef Tensor t, out
    cdef Layout v
    if isinstance(x, Tensor):
        t = <Tensor>x
        v = t.layout
        if not _within(v, storage):
            return x
        out = bare_tensor()
        out.layout = new_layout(storage.at(epoch), v.dtype, v.ndim, v.shape, v.strides,
                                v.offset + (v.storage.ptr - storage.ptr) // v.dtype.itemsize)
        out.layout.bits = v.bits
        return out
    if depth == DEEPEST:
        return x
    if type(x) is tuple or type(x) is list:
        return type(x)([as_it_was(item, storage, epoch, depth + 1) for item in x])
    if isinstance(x, tuple) and hasattr(x, "_make"):
        return x._make([as_it_was(item, storage, epoch, depth + 1) for item in x])
    if type(x) is dict:
        return {key: as_it_was(item, storage, epoch, depth + 1) for key, item in x.items()}
    return x
