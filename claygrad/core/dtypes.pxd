# The element types. A code indexes every table of the core and of the kernels.
cdef enum:
    U8 = 0
    I8 = 1
    I16 = 2
    I32 = 3
    I64 = 4
    F16 = 5
    F32 = 6
    F64 = 7
    C64 = 8
    C128 = 9
    BOOL = 10
    BF16 = 11
    N_DTYPES = 12

# Categories, in the order in which a number of a higher one changes the result type.
cdef enum:
    CAT_BOOL = 0
    CAT_INT = 1
    CAT_FLOAT = 2
    CAT_COMPLEX = 3

cdef class dtype:
    cdef readonly int code
    cdef readonly int category
    cdef readonly Py_ssize_t itemsize
    cdef readonly str name            # float32
    cdef readonly str legacy          # Float (as in FloatTensor and in messages)
    cdef readonly str c_name          # float (as matmul's messages say it)
    cdef readonly object numpy        # the numpy.dtype with the same bytes
    cdef int numpy_num

cdef dtype of_code(int code)
cdef dtype from_numpy(object numpy_dtype)
cdef dtype parse(object spec)                 # dtype, or Python's float/int/bool/complex
cdef dtype default_float()
cdef int category_of(int code) noexcept nogil
cdef Py_ssize_t size_of(int code) noexcept nogil
cdef int promote(int a, int b) noexcept nogil
cdef int default_of_category(int category) noexcept
