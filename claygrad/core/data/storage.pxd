from libc.stdint cimport int64_t
from claygrad.core.data.device cimport device

# Note [Epochs]
# A saved value reads its storage as it was when it was saved. `holders` counts the saved values that
# read the storage as it is now (epoch `epoch`). A write with holders > 0 first copies the bytes to
# `past[epoch]` and hands the holders over to that copy; a write with none costs one comparison.

# Note [Lazy clones]
# `_lazy_clone` gives a storage of its own that reads the same bytes until one of the two is written. Meanwhile both have a `Cow` for
# owner, which keeps the bytes, and count one holder more, so that a write comes to where it is seen.

# Note [Unusual]
# What most programs never make is looked for only once it was made: `unusual()` points to bits that tell what the process has seen,
# and a call asks them with one comparison.
cdef enum:
    LAZY = 1                          # a layout with bits was made: Note [Lazy conjugates]
    OBSERVED = 2                      # somebody observes: Note [Observers]
    ELSEWHERE = 4                     # a storage was made that is not the CPU's: no native form may see it

cdef int* unusual() noexcept

cdef class Storage:
    cdef char* ptr                    # NULL on meta
    cdef int64_t length                # bytes, as told
    cdef int64_t capacity              # bytes there are: tensors made before the storage shrank still read them
    cdef object owner                 # what keeps the bytes alive; None: the pool
    cdef device where
    cdef int64_t version              # counts writes seen through tensors (not through .data)
    cdef object shared_version        # a Counter in its place, once a tensor took its count elsewhere (x.data = t)
    cdef int64_t epoch
    cdef int64_t holders
    cdef dict past                    # epoch -> [Storage, holders]
    cdef int64_t exports              # live arrays outside claygrad that share these bytes
    cdef object export_where          # (code, lasti) of the newest export
    cdef object __weakref__

    cdef int before_write(self) except -1
    cdef int own(self) except -1              # bytes that no lazy clone reads: Note [Lazy clones]
    cdef int grow(self, int64_t nbytes) except -1
    cdef int64_t hold(self) noexcept
    cdef void release(self, int64_t epoch)
    cdef Storage at(self, int64_t epoch)      # the storage that holds that epoch's bytes
    cdef tuple stretch(self, object at)
    cdef int readable(self) except -1
    cdef int set_bytes(self, int64_t first, int64_t count, object value) except -1
    cdef Storage on_host(self)
    cdef Storage part(self, int64_t first, int64_t count)

cdef Storage new_storage(int64_t nbytes)                       # CPU, from the pool, not initialised
cdef Storage borrow(char* ptr, int64_t nbytes, object owner)   # CPU, somebody else's bytes
cdef Storage storage_on(device where, int64_t nbytes)
cdef Storage storage_of_block(device where, int64_t nbytes, object block)     # on an accelerator, memory that is there
cdef Storage as_class(object cls, Storage made)

cdef class Cow:
    cdef Storage block                # owns the bytes

# Stands for bytes that others can see, such as an array that was handed out: it is what such an array keeps alive, and tells the
# storage when the last one is gone.
cdef class Export:
    cdef Storage storage

cdef Export export_of(Storage storage)
