cdef struct Modes:
    bint no_grad              # recording is off
    bint inference            # results are inference tensors
    bint tracing_saves        # saved-tensor hooks are active, or forbidden
    bint autocast             # autocast is on
    void* running             # the scope of the module whose forward runs (Note [Running modules]), or NULL

cdef Modes* modes() noexcept nogil

cdef enum:
    ANOMALY = 1               # detect_anomaly is on
    WATCHED = 2               # there is an observer: Note [Observers]

cdef int anomaly() noexcept nogil             # these bits
cdef void watch_backward(bint on) noexcept
cdef bint deterministic() noexcept nogil      # use_deterministic_algorithms(True)
cdef bint fills_new_memory() noexcept nogil   # empty() and the like fill with NaN or the largest number
cdef bint anomaly_checks_nan() noexcept nogil
cdef object saved_hooks()                      # (pack, unpack) or None
