from libc.stdint cimport int64_t, uint8_t

from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.layout cimport Layout

cdef extern from "index/strided.hpp" namespace "clay" nogil:
    struct Blocks:
        int before
        int after
        int64_t shape[32]
        int64_t strides[32]
        int64_t count
    void move_blocks(const Blocks*, void*, const int64_t*, void*, int64_t, bint) noexcept
    bint add_blocks(int, const Blocks*, void*, const int64_t*, const void*) noexcept

ctypedef void (*where_fn)(const uint8_t*, const void*, const void*, void*, int64_t, bint, bint) noexcept nogil

cdef Layout expanded_copy(Layout v, int ndim, const int64_t* shape)      # contiguous, expanded to a shape that it broadcasts to
cdef int common(Layout a, Layout b, int64_t* shape) noexcept      # broadcast shape; returns its ndim, -1: none, or too large
cdef Layout picked(Layout x, Layout mask)                         # x[mask], same shape, both contiguous
cdef Layout positions(Layout x)                                   # indices of nonzero elements, one row per axis; None: dtype not supported
cdef bint single(object value, dtype d, void* into)               # a number, or a 0-dim tensor of this dtype, as an element
cdef where_fn where_of(Layout x) noexcept                         # the kernel for elements of this size
