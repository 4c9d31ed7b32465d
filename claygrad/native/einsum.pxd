cdef bint plain(object x) noexcept            # a tensor on the CPU with elements and no history
# Of tensors without a history: a tensor, or None
cdef object tensordot(object a, object b, object dims)
cdef object inner(object a, object b)
cdef object kron(object a, object b)
cdef object matmul(object a, object b)
