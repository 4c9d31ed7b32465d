from libc.stdint cimport int64_t

from claygrad.core.data.layout cimport Layout

# out[k] = the entry of x at offsets[k], without a copy of x: entries along the first of 2 to 16 axes; m > 0
cdef int entries_apart(Layout x, const int64_t* offsets, int64_t m, Layout out) except -1
