cdef enum:
    CPU = 0
    CUDA = 1
    META = 2
    OTHER = 3
    SPARSE = 4                    # main memory, but not as elements in a row: Note [Sparse tensors]

cdef class device:
    cdef readonly str type
    cdef readonly object index
    cdef int kind

cdef device cpu
cdef device scattered                         # the CPU, as the place of sparse tensors
cdef device parse(object spec)                # device, str, int, None (the default device)
