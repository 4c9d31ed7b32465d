from claygrad.core.declared cimport Op
from claygrad.core.layout cimport Layout
cdef Layout in_order(Layout x)          # its elements in row-major order, copied if they are not
cdef int prepare(Op op) except -1
