from libc.stdint cimport int64_t
from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.storage cimport Storage

cdef enum:
    INLINE_DIMS = 5
    MAX_DIMS = 64

# What the bytes still need to become the values: Note [Lazy conjugates] in core/graph/conj_view.pxd.
cdef enum:
    CONJ = 1
    NEG = 2
    COO = 4                           # no bytes at all, but indices and values: Note [Sparse tensors] in core/sparse_tensor.pxd
    COMPRESSED = 8
    SPARSE = 12                       # COO | COMPRESSED

# Where the elements of a tensor lie. Immutable once made: a saved value keeps the layout itself, and a
# tensor whose shape changes in place gets another one.
cdef class Layout:
    cdef Storage storage
    cdef dtype dtype
    cdef int64_t offset               # in elements, as strides
    cdef int64_t numel
    cdef int ndim
    cdef bint contiguous
    cdef int bits                     # CONJ | NEG, or COO, or COMPRESSED
    cdef int64_t* shape
    cdef int64_t* strides
    cdef int64_t inline_dims[10]

    cdef char* data(self) noexcept nogil
    cdef tuple shape_tuple(self)
    cdef tuple stride_tuple(self)
    cdef object array_with_base(self, object base)
    cdef object array_there(self)
    cdef object array(self)           # an array-module view on the bytes (numpy.ndarray on the CPU); with bits, a read-only copy

# Buffers for shapes, strides and orders of axes have MAX_DIMS places everywhere: whoever takes a shape of unknown length asks first.
cdef int check_dims(Py_ssize_t ndim) except -1                  # raises if it is more than MAX_DIMS
cdef int64_t bytes_of(dtype dt, int ndim, const int64_t* shape) except -1       # of so many elements; raises if they cannot be counted

cdef Layout new_layout(Storage storage, dtype dt, int ndim, const int64_t* shape, const int64_t* strides, int64_t offset)
cdef Layout new_contiguous(Storage storage, dtype dt, int ndim, const int64_t* shape)   # offset 0
cdef Layout fresh(dtype dt, int ndim, const int64_t* shape)      # contiguous, new CPU storage
cdef Layout fresh_strided(dtype dt, int ndim, const int64_t* shape, const int64_t* strides)     # without gaps; new CPU storage
cdef Layout fresh_like(Layout other)                            # same shape and type, contiguous, new CPU storage
cdef Layout from_array(object array)                            # borrows the array's memory (any strides >= 0)
cdef bint same_shape(Layout a, Layout b) noexcept
cdef bint dense(Layout v) noexcept                              # no gaps, no overlaps, in any order of the axes
cdef bint stretched(Layout v) noexcept                          # elements are seen more than once
cdef bint row_major(Layout v) noexcept                          # axes from the farthest to the nearest, stretched ones aside; with gaps
cdef void by_stride(Layout v, int count, int* order) noexcept   # the first axes from the farthest to the nearest, equal ones as they come
cdef Layout permuted(Layout v, const int* order)                # the same elements, the axes in another order
cdef bint channels_last(Layout v) noexcept               # images as (batch, height, width, channels) in one run, two or more of each
cdef bint falling(Layout v) noexcept                     # row by row, with gaps and stretched axes; each has two elements or more
cdef bint same_place(Layout a, Layout b) noexcept               # the same elements in the same order
cdef Layout in_order(Layout v)                                  # in row-major order without gaps: itself, or a copy
