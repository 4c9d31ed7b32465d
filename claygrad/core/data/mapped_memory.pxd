from libc.stdint cimport int64_t

# Note [Mapped memory]
# Pages of a file, usually an anonymous one in memory. Other processes that map the file see the same bytes and may write them at
# any time. A Mapping is the owner of a storage's bytes: it owns the pages and the descriptor and releases both, once per process
# (a forked child has its own). The system keeps the pages until the last process releases them or ends.
cdef class Mapping:
    cdef char* ptr
    cdef int64_t size                 # bytes that are mapped; a file without bytes has one
    cdef int descriptor               # kept to be sent to other processes; -1: none
    cdef bint apart                   # private: writes stay in this process
    cdef object name                  # under which other processes find the file; None: they are sent the descriptor
    cdef object path                  # the user's file
    cdef object former                # the storage before it was moved here, for NumPy arrays that still use it
    cdef object __weakref__
