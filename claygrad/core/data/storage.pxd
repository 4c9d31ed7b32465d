from libc.stdint cimport int64_t
from claygrad.core.data.device cimport device

# Note [Epochs]
# A saved value reads its storage as it was when it was saved. `holders` counts the saved values that read the current bytes
# (epoch `epoch`). A write with holders > 0 first copies the bytes to `past[epoch]`, which the holders read from then on, and
# begins a new epoch. A write without holders costs one comparison.

# Note [Lazy clones]
# `_lazy_clone` returns a new storage that shares the bytes until one of the two is written (copy on write). Meanwhile the owner of
# both is a `Cow`, which keeps the bytes, and both count one more holder, so that a write takes the slow path that copies.

# Note [Unusual]
# Things that most programs never create are checked for only once the first one exists: `unusual()` points to bits that say which
# of them the process has created, so that a call tests for all of them with one comparison.
cdef enum:
    LAZY = 1                          # a layout with bits exists: Note [Lazy conjugates]
    OBSERVED = 2                      # there is an observer: Note [Observers]
    OFF_CPU = 4                     # a storage on another device exists: native forms must not get it
    INTERCEPTED = 8                   # a mode, a subclass or forward mode may answer in place of operations: Note [Interception]

cdef int* unusual() noexcept

cdef class Storage:
    cdef char* ptr                    # NULL on meta
    cdef int64_t length                # bytes, as nbytes() says
    cdef int64_t capacity              # allocated bytes: tensors may still read those beyond the end of a shrunken storage
    cdef object owner                 # what keeps the bytes alive; None: they are from the memory pool
    cdef device where
    cdef int64_t version              # counts writes seen through tensors (not through .data)
    cdef object shared_version        # a Counter used instead, once a tensor moved to another storage (x.data = t)
    cdef int64_t epoch
    cdef int64_t holders
    cdef dict past                    # epoch -> [Storage, holders]
    cdef int64_t exports              # live arrays outside claygrad that share these bytes
    cdef object export_where          # (code, lasti) of the newest export
    cdef object __weakref__

    cdef int before_write(self) except -1
    cdef int own(self) except -1              # make the bytes its own, before a write: Note [Lazy clones]
    cdef int grow(self, int64_t nbytes) except -1
    cdef int64_t hold(self) noexcept
    cdef void release(self, int64_t epoch)
    cdef Storage at(self, int64_t epoch)      # the storage that holds that epoch's bytes
    cdef tuple stretch(self, object at)
    cdef int readable(self) except -1
    cdef int set_bytes(self, int64_t first, int64_t count, object value) except -1
    cdef Storage on_host(self)
    cdef Storage part(self, int64_t first, int64_t count)

cdef Storage new_storage(int64_t nbytes)                       # CPU, from the memory pool, uninitialised
cdef Storage borrow(char* ptr, int64_t nbytes, object owner)   # CPU, memory of another library
cdef Storage storage_on(device where, int64_t nbytes)
cdef Storage storage_of_block(device where, int64_t nbytes, object block)     # on an accelerator, existing memory
cdef Storage as_class(object cls, Storage out)

cdef class Cow:
    cdef Storage block                # owns the bytes

# Memory that is visible outside claygrad, such as through tensor.numpy(). The array keeps this object alive; the storage learns from
# it when the last such array is gone.
cdef class Export:
    cdef Storage storage

cdef Export export_of(Storage storage)
