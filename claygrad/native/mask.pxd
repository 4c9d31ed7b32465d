from libc.stdint cimport int64_t, uint8_t

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

cdef Layout spread(Layout v, int ndim, const int64_t* shape)      # in row-major order, stretched to a shape that it fits
cdef int common(Layout a, Layout b, int64_t* shape) noexcept      # the number of axes of the common shape; -1: none, or a large one
cdef Layout picked(Layout x, Layout mask)                         # x[mask], of one shape, both in row-major order
cdef Layout positions(Layout x)                                   # of elements that are not zero, one row per axis; None: no such dtype
cdef where_fn where_of(Layout x) noexcept                         # the loop that chooses among elements of this size
