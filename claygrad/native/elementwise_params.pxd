from claygrad.core.op cimport Op
cdef bint prepare(Op op, str kernel) except -1       # give the op the kernels of this name; whether there are any
