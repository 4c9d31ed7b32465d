from cpython.object cimport PyObject

from claygrad.core.graph.node cimport Node
from claygrad.core.tensor cimport Tensor

cdef bint own_array(PyObject* array) noexcept               # nobody else has the array, given borrowed
cdef int own(list grads, Py_ssize_t i) except -1           # Note [Handing out]
cdef bint heard(Node node)                                 # a hook waits for it, which hears even of no gradient
cdef int tensor_hooks(Node node, list grads) except -1
cdef list pre_hooks(Node node, list grads)
cdef list post_hooks(Node node, list out, list grads)
cdef list shown_edges(Node node, list out)                 # those of the gradients for its edges that Python sees
cdef int after_leaf(Node node, Tensor g) except -1          # the hooks of an accumulator that ran, on what it was given
cdef object checked(object hook, object before, object after)
