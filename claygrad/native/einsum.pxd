cdef bint is_unrecorded_on_cpu(object x) noexcept            # a tensor on the CPU with elements and no history
# Each returns a tensor, or None. The operands have no history.
cdef object tensordot(object a, object b, object dims)
cdef object inner(object a, object b)
cdef object kron(object a, object b)
cdef object matmul(object a, object b)
