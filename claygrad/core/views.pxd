from cpython.object cimport PyObject

from claygrad.core.declared cimport Op
from claygrad.core.layout cimport Layout
from claygrad.core.node cimport Node
from claygrad.core.tensor cimport Tensor

cdef Tensor make_view(Tensor t, Layout layout, bint multi)
cdef object call_view(Op op, PyObject** slots)
cdef object refusal(Tensor view, bint indirect)      # why a view of this origin may not be written; None: it may
cdef Node strided(Tensor view)                       # a node for the geometry of a view in its base
