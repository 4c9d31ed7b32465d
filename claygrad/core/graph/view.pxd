from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.layout cimport Layout
from claygrad.core.graph.node cimport Node
from claygrad.core.tensor cimport Tensor

cdef class Place:
    cdef dtype kind
    cdef int bits
    cdef tuple shape
    cdef tuple strides
    cdef object offset

cdef Place place_of(Tensor view)                     # where it lies in its base, if `view.data = ...` changed its layout; else None
cdef Tensor make_view(Tensor t, Layout layout, bint multi)
cdef object refusal(Tensor view, bint indirect)      # the error for a write to this view; None: it is allowed
cdef int name_after(Tensor view, str before) except -1
cdef Node node_to_view(Tensor view)                        # a node that leads from the base to a view
cdef Tensor replay(Tensor base, dtype kind, int bits, tuple shape, tuple strides, object offset)   # Note [Views of another dtype]
