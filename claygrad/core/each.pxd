from claygrad.core.declared cimport Op
cdef int prepare(Op op) except -1     # give the op its kernels for any layout
