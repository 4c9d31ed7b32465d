from claygrad.core.declared cimport Op
cdef bint prepare(Op op, str kernel) except -1       # give the op the kernels of this name for any layout; whether there are any
