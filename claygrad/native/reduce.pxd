from libc.stdint cimport int64_t

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.kernels cimport reduce_fn
from claygrad.core.data.layout cimport Layout

# x as (outer, n, inner) with the axes `dim` (None: all) in the middle, in memory order; copied if need be, or None
cdef Layout arranged(Layout x, object dim, bint ordered, int64_t* outer, int64_t* n, int64_t* inner)
cdef Layout without(dtype kind, Layout x, object dim, bint keep)       # room for a result that lacks those axes
cdef Layout reduced(reduce_fn f, reduce_fn again, Layout x, object dim, bint keep, dtype kind)
