from cpython.object cimport PyObject

from claygrad.core.data.layout cimport Layout
from claygrad.core.tensor cimport Tensor


cdef inline Layout some(PyObject* slot):
    """Of a tensor that has elements, or None."""
    cdef Layout v
    if not isinstance(<object>slot, Tensor):
        return None
    v = (<Tensor><object>slot).layout
    return v if v.numel else None


cdef bint may_be_channels_last(Layout v) noexcept        # of images: strides that may mean channels last (axes of size 1)
cdef bint has_default_strides(Layout v) noexcept                       # contiguous, with the default strides also for axes of size 1
cdef bint has_channels_last(Layout v) noexcept
cdef Layout in_format_of(Layout out, Layout x)
cdef Layout copied(Layout v)                             # in row-major order, in new memory
cdef Layout channels_at_the_end(Layout v)                # images with their channels last, in new memory
cdef int fill_with(Layout v, const void* element) except -1
