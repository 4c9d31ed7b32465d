from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.layout cimport Layout
from claygrad.core.graph.node cimport Node
from claygrad.core.tensor cimport Tensor

# `creation` of a view: its lowest bits say how it was made (core/tensor.pxd). If another dtype or other bits were passed on the way from
# its base (Note [Views of another dtype]), there is CONVERTED, and above it the dtype and the bits that the base had.
cdef enum:
    ORIGIN = 15
    CONVERTED = 16
    BASE_BITS = 8                     # shifts
    BASE_DTYPE = 12

cdef class Place:
    cdef dtype kind
    cdef int bits
    cdef tuple shape
    cdef tuple strides
    cdef object offset

cdef Place place_of(Tensor view)                     # the geometry of a converted view in its base; None: it is as_strided of the base
cdef int mark_converted(Tensor view, Tensor t) noexcept           # of a view just made of t
cdef Tensor make_view(Tensor t, Layout layout, bint multi)
cdef object refusal(Tensor view, bint indirect)      # the error for a write to this view; None: it is allowed
cdef int name_after(Tensor view, str before) except -1
cdef Node node_to_view(Tensor view)                        # a node that leads from the base to a view
cdef Tensor replay(Tensor base, int base_bits, dtype kind, int bits, tuple shape, tuple strides, object offset)
