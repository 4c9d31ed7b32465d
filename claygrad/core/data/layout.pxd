from libc.stdint cimport int64_t
from claygrad.core.data.device cimport ACCELERATOR, CPU
from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.storage cimport Storage

cdef enum:
    INLINE_DIMS = 5
    MAX_DIMS = 64

# Bits of a layout whose bytes are not yet the values: Note [Lazy conjugates] in core/graph/conj_view.pxd.
cdef enum:
    CONJ = 1
    NEG = 2
    COO = 4                           # no bytes: indices and values (Note [Sparse tensors] in core/sparse_tensor.pxd)
    COMPRESSED = 8
    SPARSE = 12                       # COO | COMPRESSED

# Storage, dtype, shape, strides and offset of a tensor. Immutable: saved values keep the layout object itself, and a tensor
# whose shape changes in place gets a new one.
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

# Where the bytes are. Native forms are entered with tensors on the CPU (Note [The ladder] in core/dispatch/call.pyx); these are for
# functions that Python calls by another way.
cdef inline bint on_cpu(Layout v) noexcept nogil:
    return v.storage.where.kind == CPU


cdef inline bint on_accelerator(Layout v) noexcept nogil:
    return v.storage.where.kind == ACCELERATOR


# The sizes of a shape before, along and after an axis.
cdef struct Lines:
    int64_t outer, n, inner


cdef inline int axis_in(int64_t dim, int ndim) noexcept nogil:
    """A dim counted from the front; -1 if there is no such axis."""
    dim = dim + ndim if dim < 0 else dim
    return <int>dim if 0 <= dim < ndim else -1


cdef inline Lines lines_along(int ndim, const int64_t* shape, int axis) noexcept nogil:
    cdef Lines s
    cdef int i
    s.outer = s.n = s.inner = 1
    for i in range(ndim):
        if i < axis:
            s.outer *= shape[i]
        elif i == axis:
            s.n = shape[i]
        else:
            s.inner *= shape[i]
    return s


# All C arrays of shapes, strides and axes have MAX_DIMS elements: code that takes a shape of unknown length calls check_dims first.
cdef int check_dims(Py_ssize_t ndim) except -1                  # raises if it is more than MAX_DIMS
cdef int64_t bytes_of(dtype dt, int ndim, const int64_t* shape) except -1       # raises if the number of bytes overflows

cdef Layout new_layout(Storage storage, dtype dt, int ndim, const int64_t* shape, const int64_t* strides, int64_t offset)
cdef Layout new_contiguous(Storage storage, dtype dt, int ndim, const int64_t* shape)   # offset 0
cdef Layout fresh(dtype dt, int ndim, const int64_t* shape)      # contiguous, new CPU storage
cdef Layout fresh_strided(dtype dt, int ndim, const int64_t* shape, const int64_t* strides)     # without gaps; new CPU storage
cdef Layout fresh_channels_last(dtype dt, const int64_t* shape)                 # of four axes
cdef Layout fresh_like(Layout other)                            # same shape and type, contiguous, new CPU storage
cdef Layout from_array(object array)                            # borrows the array's memory (any strides >= 0)
cdef bint same_shape(Layout a, Layout b) noexcept
cdef bint dense(Layout v) noexcept                              # no gaps, no overlaps, in any order of the axes
cdef bint is_broadcast(Layout v) noexcept                          # some axis has stride 0 and more than one element
cdef bint row_major(Layout v) noexcept                          # strides never increase, broadcast axes aside; gaps allowed
cdef void by_stride(Layout v, int count, int* order) noexcept   # the first `count` axes by decreasing stride; stable
cdef Layout permuted(Layout v, const int* order)                # the same elements, the axes in another order
cdef bint channels_last(Layout v) noexcept               # 4-d, channels last in memory, without gaps, no axis of size 1
cdef bint strictly_row_major(Layout v) noexcept                     # as row_major, without overlap, no axis of size 1
cdef bint same_view(Layout a, Layout b) noexcept               # the same elements in the same order
cdef Layout as_contiguous(Layout v)                                  # itself, or a contiguous copy
