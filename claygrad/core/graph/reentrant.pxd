cdef bint too_deep() noexcept                   # as many runs as one stack should hold are under way in this thread
cdef void deeper() noexcept
cdef void shallower() noexcept
cdef object elsewhere(object fn, tuple args)    # fn(*args) in a thread of its own, with the modes of this one, which waits
