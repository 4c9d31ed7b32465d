from cpython.object cimport PyObject

from claygrad.core.graph.node cimport Node
from claygrad.core.tensor cimport Tensor

cdef list call_rules(Node node, list grads, bint create_graph, unsigned long long skip)
# The same into out[n_edges], which gets new references or NULL; for nodes whose op has neither a joint rule nor a list.
cdef int call_rules_into(Node node, Tensor g, bint create_graph, unsigned long long skip, PyObject** out) except -1
cdef Tensor fit(Tensor grad, Node source, int index, Node target, int nr)
cdef Tensor zeros_for(Node node, int nr)
cdef int note_complex(Node node) except -1           # its output, which is real, gets complex data: `t.data = ...`
