from claygrad.core.op cimport Op
from claygrad.core.data.scalar cimport cast_fn
from claygrad.core.data.layout cimport Layout

cdef int cast_apart(cast_fn f, Layout x, Layout out) except -1         # the elements of x in row-major order, in the type of out
