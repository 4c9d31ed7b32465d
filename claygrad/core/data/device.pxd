cdef enum:
    CPU = 0
    CUDA = 1
    META = 2
    OTHER = 3
    SPARSE = 4                    # main memory, but not as elements in a row: Note [Sparse tensors]
    WRAPPED = 5                   # no memory: the tensor stands for others, and its class answers (Note [Interception])

cdef class device:
    cdef readonly str type
    cdef readonly object index
    cdef int kind

cdef device cpu
cdef device scattered                         # the CPU, as the place of sparse tensors
cdef device parse(object spec)                # device, str, int, None (the default device)
cdef device wrapped_as(object spec)           # the place of a tensor without memory that says it is on this device
cdef device told(device where)                # what the attribute `device` says of a place that is no device of its own
