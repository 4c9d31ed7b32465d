cdef bint is_unrecorded_on_cpu(object x) noexcept            # a tensor on the CPU with elements and no history
cdef object matmul(object a, object b)                       # a tensor, or None; of stacks of matrices without a history
