cdef bint too_deep() noexcept                   # whether this thread has as many nested runs as one stack should hold
cdef void deeper() noexcept
cdef void shallower() noexcept
cdef object in_new_thread(object fn, tuple args)    # fn(*args) in a new thread with the modes of this one, which waits
