cdef enum:
    CPU = 0
    CUDA = 1
    META = 2
    OTHER = 3

cdef class device:
    cdef readonly str type
    cdef readonly object index
    cdef int kind

cdef device cpu
cdef device parse(object spec)                # device, str, int, None (the default device)
