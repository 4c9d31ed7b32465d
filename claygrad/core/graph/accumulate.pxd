from claygrad.core.graph.node cimport Node
from claygrad.core.tensor cimport AccumulateGrad, Tensor

cdef int look_for_nan(Node node, list grads, list out) except -1
cdef int accumulate(AccumulateGrad node, Tensor g, bint create_graph) except -1       # g may be None: no gradient
cdef object not_required(Tensor t, int k)                   # the error for root k
cdef Tensor seed_of(Tensor t)                              # the gradient of a scalar with respect to itself
