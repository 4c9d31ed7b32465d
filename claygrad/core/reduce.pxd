from claygrad.core.declared cimport Op
cdef int prepare(Op op) except -1
cdef bint take_kernels(Op op, bytes family, bytes name)      # into op.kernels, by dtype; whether there are any
