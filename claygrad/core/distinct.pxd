from claygrad.core.declared cimport Op
cdef int prepare(Op op) except -1
