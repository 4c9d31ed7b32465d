"""Python's numbers as elements of a dtype, and the casts from one dtype to another."""
from libc.math cimport INFINITY
from libc.stdint cimport (INT16_MAX, INT16_MIN, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t,
                          uint16_t, uint32_t)

from claygrad.core.data.dtype cimport (BF16, BOOL, C32, C64, C128, F16, F32, F64, I8, I16, I32, I64, N_COMPUTING, N_DTYPES, N_NATIVE, U8,
                                       dtype, number_of, of_code)
from claygrad.core.data.kernels cimport find
from claygrad.core.data.layout cimport Layout, new_layout

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object x, int* overflow) except? -1
    double PyLong_AsDouble(object x) noexcept
    void* PyErr_Occurred() noexcept
    void PyErr_Clear() noexcept

cdef cast_fn _casts[N_DTYPES][N_DTYPES]              # from, to


cdef _find_casts():
    cdef int a, b
    for b in range(N_COMPUTING):
        name = of_code(b).name.encode()
        for a in range(N_NATIVE):
            _casts[a][b] = <cast_fn>find(b"cast", name, a)
    _casts[C32][C64], _casts[C64][C32] = _wide_pairs, _narrow_pairs


# complex32 is pairs of float16.
cdef void _wide_pairs(const void* x, void* out, int64_t n) noexcept nogil:
    _casts[F16][F32](x, out, 2 * n)


cdef void _narrow_pairs(const void* x, void* out, int64_t n) noexcept nogil:
    _casts[F32][F16](x, out, 2 * n)


_find_casts()


cdef cast_fn cast_between(int source, int target) noexcept:
    return _casts[source][target]


cdef inline bint _as_double(object value, double* x):
    """Convert a number; False if it is an int beyond the largest double."""
    if type(value) is not int:
        x[0] = value
        return True
    x[0] = PyLong_AsDouble(value)
    if x[0] == -1 and PyErr_Occurred():
        PyErr_Clear()
        return False
    return True


cdef bint _complex_of(object value, int code, void* into):
    """element_of for a complex dtype."""
    cdef dtype part = of_code(F32 if code == C64 else F64 if code == C128 else F16)
    if type(value) is complex:
        return element_of(value.real, part, into) and element_of(value.imag, part, <char*>into + part.itemsize)
    return element_of(value, part, into) and element_of(0, part, <char*>into + part.itemsize)


cdef bint element_of(object value, dtype d, void* into):
    cdef int overflow = 0
    cdef int64_t n
    cdef double x
    cdef float f
    if d.code == C64 or d.code == C128 or d.code == C32:
        return _complex_of(value, d.code, into)
    if type(value) is not int and type(value) is not float and type(value) is not bool:
        return False
    if d.code == F32 or d.code == F64:
        if not _as_double(value, &x):
            return False
        if d.code == F64:
            (<double*>into)[0] = x
            return True
        f = <float>x
        if f - f != 0 and x - x == 0:              # overflow
            return False
        (<float*>into)[0] = f
        return True
    if d.code == BOOL:
        (<uint8_t*>into)[0] = value != 0
        return True
    if d.code == F16 or d.code == BF16:
        if not _as_double(value, &x):
            return False
        f = <float>x
        _casts[F32][d.code](&f, into, 1)
        n = (<uint16_t*>into)[0] & 0x7fff
        return x - x != 0 or n < (0x7f80 if d.code == BF16 else 0x7c00)
    if type(value) is float:
        return False
    n = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow:
        return False
    if d.code == I64:
        (<int64_t*>into)[0] = n
    elif d.code == I32 and -0x80000000LL <= n < 0x80000000LL:
        (<int32_t*>into)[0] = <int32_t>n
    elif d.code == I16 and -0x8000 <= n < 0x8000:
        (<int16_t*>into)[0] = <int16_t>n
    elif d.code == I8 and -128 <= n < 128:
        (<int8_t*>into)[0] = <int8_t>n
    elif d.code == U8 and 0 <= n < 256:
        (<uint8_t*>into)[0] = <uint8_t>n
    else:
        return False
    return True


cdef int64_t _wrapped(int64_t x, int code) noexcept:
    """An integer wrapped to a narrow integer dtype."""
    if code == U8:
        return <uint8_t>x
    if code == I8:
        return <int8_t>x
    if code == I16:
        return <int16_t>x
    if code == I32:
        return <int32_t>x
    return x


cdef bint operand_of(object value, int kept, int code, bint round_half, Number* out) except -1:
    """The number as the kernel reads it: rounded (Note [Half precision]) or wrapped to the tensor's dtype, then in the compute dtype."""
    cdef type kind = type(value)
    cdef int overflow = 0
    cdef int64_t whole
    cdef uint16_t half
    cdef uint32_t pair
    if kind is complex:
        if code != C64 and code != C128:
            return False
    elif kind is not float and kind is not int and kind is not bool:
        return False
    if code == F32:
        out.f32 = <float><double>value
        if round_half and (kept == F16 or kept == BF16):
            _casts[F32][kept](&out.f32, &half, 1)
            _casts[kept][F32](&half, &out.f32, 1)
    elif code == F64:
        out.f64 = value
    elif code == I64 or code == I32 or code == I16 or code == U8 or code == I8:
        if kind is float:
            return False
        whole = _wrapped(PyLong_AsLongLongAndOverflow(value, &overflow), kept)
        if code == I64:
            out.i64 = whole
        elif code == I32:
            out.i32 = <int32_t>whole
        elif code == I16:
            out.i16 = <int16_t>whole
        else:
            out.byte = <uint8_t>whole
        return not overflow
    elif code == BOOL:
        if kind is not bool:
            return False
        out.byte = value
    elif code == C64:
        out.c64[0], out.c64[1] = <float><double>value.real, <float><double>value.imag
        if kept == C32:
            _casts[C64][C32](out.c64, &pair, 1)
            _casts[C32][C64](&pair, out.c64, 1)
    elif code == C128:
        out.c128[0], out.c128[1] = value.real, value.imag
    else:
        return False
    return True


cdef bint bound_of(bint above, int code, Number* out) noexcept:
    """The infinite bound that stands for None in clamp; bounds are the last operands, lower before upper."""
    if code == F32:
        out.f32 = INFINITY if above else -INFINITY
    elif code == F64:
        out.f64 = INFINITY if above else -INFINITY
    elif code == I64:
        out.i64 = INT64_MAX if above else INT64_MIN
    elif code == I32:
        out.i32 = INT32_MAX if above else INT32_MIN
    elif code == I16:
        out.i16 = INT16_MAX if above else INT16_MIN
    elif code == I8:
        out.byte = <uint8_t>(127 if above else -128)
    elif code == U8:
        out.byte = 255 if above else 0
    else:
        return False
    return True


cdef object number_at(Layout layout, int64_t at):
    cdef char* p = layout.storage.ptr + at * layout.dtype.itemsize
    cdef int code = layout.dtype.code
    if layout.bits:
        return _lazy_number(layout, at)
    if code == F32:
        return (<float*>p)[0]
    if code == F64:
        return (<double*>p)[0]
    if code == I64:
        return (<int64_t*>p)[0]
    if code == BOOL:
        return bool((<uint8_t*>p)[0])
    if code == I32:
        return (<int32_t*>p)[0]
    if code == I16:
        return (<int16_t*>p)[0]
    if code == I8:
        return (<int8_t*>p)[0]
    if code == U8:
        return (<uint8_t*>p)[0]
    if code == C64:
        return complex((<float*>p)[0], (<float*>p)[1])
    if code == C128:
        return complex((<double*>p)[0], (<double*>p)[1])
    one = new_layout(layout.storage, layout.dtype, 0, NULL, NULL, at)
    return number_of(one.array(), layout.dtype)


cdef object _lazy_number(Layout layout, int64_t at):
    """The element of a layout with bits (Note [Lazy conjugates])."""
    cdef Layout one = new_layout(layout.storage, layout.dtype, 0, NULL, NULL, at)
    one.bits = layout.bits
    return number_of(one.array(), layout.dtype)
