from claygrad.core.declared cimport Op
from claygrad.core.layout cimport Layout
cdef int prepare(Op op) except -1
cdef Layout products(Layout a, Layout b)       # of two batches of matrices that fit, in new memory
