# The dtypes. A code is an index into every table of the core. Codes below N_NATIVE have kernels; those below N_COMPUTING are
# computed by the reference; the others can only be stored, copied and cast.
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
    N_NATIVE = 12
    U16 = 12
    U32 = 13
    U64 = 14
    C32 = 15
    N_COMPUTING = 16
    F8_E4M3FN = 16                    # the first of the 8-bit floats
    F4_X2 = 21                        # the first of those that cannot be cast
    N_DTYPES = 46

# Categories for promotion: a number of a higher category than the tensor's changes the dtype of the result.
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
cdef int promote(int a, int b) noexcept nogil           # -1: they have no common type
cdef object no_common_type(int a, int b)                # the error that says so
cdef bint narrow(int code) noexcept nogil               # float16, bfloat16, complex32: computed in a wider dtype, then rounded
cdef int wider(int code) noexcept nogil                 # the dtype that a narrow one is computed in
cdef object number_of(object array, dtype d)           # the only element as a Python number
cdef object cast_array(object array, object numpy_dtype)     # array.astype for any of our types
cdef int default_of_category(int category) noexcept
