from libc.stdint cimport int64_t

from claygrad.core.data.storage cimport Storage

cdef enum:
    NO = 0
    YES = 1
    UNKNOWN = 2

cdef int leads_to(object packed, Storage storage, int depth) except -1          # Note [Packed values]
cdef object as_it_was(object x, Storage storage, int64_t epoch, int depth)      # x with the memory of that epoch
