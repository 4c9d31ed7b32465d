from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op
from claygrad.core.data.layout cimport Layout
from claygrad.core.graph.node cimport Node, SavedTensor
from claygrad.core.tensor cimport Tensor

cdef bint should_record(Op op, PyObject** slots) noexcept
cdef Node record_inputs(Op op, PyObject** slots)
cdef int record_output(Node node, Tensor out, bint differentiable=*) except -1
cdef int record_again(Node node, Tensor out) except -1
cdef int move_retained(Tensor t, Node node, int nr) except -1     # move t's retain_grad to this output
cdef int note_view(Node node, Tensor view) except -1         # Note [Outputs written into views]
cdef object unpack_slot(Node node, int k, bint create_graph)
cdef SavedTensor box(Tensor t, bint is_output)
cdef Tensor unbox(SavedTensor saved, Node node, bint create_graph)
cdef object freed_error(Node node)
cdef Layout layout_at(Layout layout, int64_t epoch)                               # the layout on the bytes of that epoch
cdef Tensor attach(Layout layout, Node edge, int nr, bint create_graph)         # a tensor whose gradient flows into the edge
cdef int edge_at(Op op, Node node, int i) noexcept                               # the edge of the i-th tensor parameter
cdef SavedTensor pack(SavedTensor s, Tensor t, tuple hooks)
cdef Tensor unpacked(SavedTensor s, Node node)
