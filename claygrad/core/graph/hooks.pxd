from claygrad.core.graph.node cimport Node
from claygrad.core.tensor cimport Tensor

cdef bint is_unshared(Tensor t) noexcept                   # only one reference to the tensor can reach its memory
cdef int own(list grads, Py_ssize_t i) except -1           # Note [Handing out]
cdef bint heard(Node node)                                 # has hooks that are called even without a gradient
cdef int tensor_hooks(Node node, list grads) except -1
cdef list pre_hooks(Node node, list grads)
cdef list post_hooks(Node node, list out, list grads)
cdef list shown_edges(Node node, list out)                 # the gradients of its edges that Python sees
cdef int after_leaf(Node node, Tensor g) except -1          # post hooks of an AccumulateGrad, with its incoming gradient
cdef object checked(object hook, object before, object after)
