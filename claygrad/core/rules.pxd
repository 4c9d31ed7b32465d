from claygrad.core.node cimport Node
from claygrad.core.tensor cimport Tensor

cdef list call_rules(Node node, list grads, bint create_graph, unsigned long long skip)
cdef Tensor fit(Tensor grad, Node source, int index, Node target, int nr)
cdef Tensor zeros_for(Node node, int nr)
