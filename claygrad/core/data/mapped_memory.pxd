from libc.stdint cimport int64_t

# Note [Mapped memory]
# Pages of a file, most often one without a name that lives in memory alone. Whoever else maps the file sees the same bytes and
# may write them at any time. A Mapping is the owner of a storage's bytes, and one object owns the pages and the descriptor: both
# are given back when it dies, once in every process that has them (a forked child has its own). The pages stay until the last
# process lets go, also if that one is killed.
cdef class Mapping:
    cdef char* ptr
    cdef int64_t size                 # bytes that are mapped; a file without bytes has one
    cdef int descriptor               # kept to be sent to other processes; -1: none
    cdef bint apart                   # what is written stays in this process
    cdef object name                  # by which other processes find the file; None: by the descriptor
    cdef object path                  # the user's file
    cdef object former                # a storage with the bytes that arrays see which were handed out before
    cdef object __weakref__
