"""Element types and how they combine."""
import numpy
import ml_dtypes

cimport cython

from claygrad.core.dtypes cimport (BF16, BOOL, C64, C128, CAT_BOOL, CAT_COMPLEX, CAT_FLOAT, CAT_INT, F16, F32, F64, I8,
                                   I16, I32, I64, N_DTYPES, U8)

cdef str _prefix = "claygrad"


def prefix():
    """The name that reprs and messages put before dtypes and sizes."""
    return _prefix


def set_prefix(str name):
    global _prefix
    _prefix = name


cdef bint _complete = False              # all dtypes are made: there will be no others


@cython.final
@cython.binding(False)
cdef class dtype:
    """The type of a tensor's elements."""

    def __cinit__(self, *args, **kwargs):
        if not _complete:
            return
        raise TypeError(f"cannot create '{_prefix}.dtype' instances")

    @property
    def is_floating_point(self):
        return self.category == CAT_FLOAT

    @property
    def is_complex(self):
        return self.category == CAT_COMPLEX

    @property
    def is_signed(self):
        return self.code != U8 and self.code != BOOL

    def to_complex(self):
        """The complex type with parts of this one."""
        if self.category == CAT_COMPLEX:
            return self
        return of_code(C128 if self.code in (F64, I64) else C64)

    def to_real(self):
        """The type of this complex type's parts."""
        if self.code == C64:
            return of_code(F32)
        return of_code(F64) if self.code == C128 else self

    def __repr__(self):
        return f"{_prefix}.{self.name}"

    def __reduce__(self):
        return _named, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


cdef list _all = []
cdef dict _by_numpy = {}
cdef dict _by_name = {}


cdef _define(int code, int category, str name, str legacy, str c_name, object np_type):
    cdef dtype d = dtype.__new__(dtype)
    d.code = code
    d.category = category
    d.name = name
    d.legacy = legacy
    d.c_name = c_name
    d.numpy = numpy.dtype(np_type)
    d.numpy_num = d.numpy.num
    d.itemsize = d.numpy.itemsize
    _all.append(d)
    _by_numpy[d.numpy] = d
    _by_name[name] = d


_define(U8, CAT_INT, "uint8", "Byte", "unsigned char", numpy.uint8)
_define(I8, CAT_INT, "int8", "Char", "signed char", numpy.int8)
_define(I16, CAT_INT, "int16", "Short", "short int", numpy.int16)
_define(I32, CAT_INT, "int32", "Int", "int", numpy.int32)
_define(I64, CAT_INT, "int64", "Long", "long int", numpy.int64)
_define(F16, CAT_FLOAT, "float16", "Half", "c10::Half", numpy.float16)
_define(F32, CAT_FLOAT, "float32", "Float", "float", numpy.float32)
_define(F64, CAT_FLOAT, "float64", "Double", "double", numpy.float64)
_define(C64, CAT_COMPLEX, "complex64", "ComplexFloat", "c10::complex<float>", numpy.complex64)
_define(C128, CAT_COMPLEX, "complex128", "ComplexDouble", "c10::complex<double>", numpy.complex128)
_define(BOOL, CAT_BOOL, "bool", "Bool", "bool", numpy.bool_)
_define(BF16, CAT_FLOAT, "bfloat16", "BFloat16", "c10::BFloat16", ml_dtypes.bfloat16)


def _named(name):
    return _by_name[name]


_complete = True
DTYPES = {d.name: d for d in _all}

cdef int _category[12]
cdef Py_ssize_t _size[12]
cdef int _promoted[12][12]
cdef dtype _default_float = _all[F32]


cdef _fill_tables():
    cdef int a, b
    for a in range(N_DTYPES):
        _category[a] = (<dtype>_all[a]).category
        _size[a] = (<dtype>_all[a]).itemsize
    for a in range(N_DTYPES):
        for b in range(N_DTYPES):
            _promoted[a][b] = _promote_pair(a, b)

cdef int _promote_pair(int a, int b):
    cdef int ca = _category[a], cb = _category[b]
    if a == b:
        return a
    if ca > cb:
        a, b, ca, cb = b, a, cb, ca
    if cb == CAT_COMPLEX:                       # b is the higher category from here on
        return C128 if (a == F64 or a == C128 or b == C128) else C64
    if cb > ca:
        return b
    if ca == CAT_INT:
        if a == U8 or b == U8:
            other = b if a == U8 else a
            return I16 if other == I8 else other
        return a if _size[a] > _size[b] else b
    if (a == F16 and b == BF16) or (a == BF16 and b == F16):
        return F32
    return a if _size[a] > _size[b] else b

_fill_tables()


cdef dtype of_code(int code):
    return <dtype>_all[code]

cdef dtype from_numpy(object numpy_dtype):
    d = _by_numpy.get(numpy_dtype)
    return <dtype>d

cdef dtype parse(object spec):
    if isinstance(spec, dtype):
        return <dtype>spec
    if spec is float:
        return of_code(F64)
    if spec is int:
        return of_code(I64)
    if spec is bool:
        return of_code(BOOL)
    if spec is complex:
        return of_code(C128)
    return None

cdef dtype default_float():
    return _default_float

cdef int category_of(int code) noexcept nogil:
    return _category[code]

cdef Py_ssize_t size_of(int code) noexcept nogil:
    return _size[code]

cdef int promote(int a, int b) noexcept nogil:
    return _promoted[a][b]

cdef int default_of_category(int category) noexcept:
    if category == CAT_FLOAT:
        return _default_float.code
    if category == CAT_COMPLEX:
        return C128 if _default_float.code == F64 else C64
    return I64 if category == CAT_INT else BOOL


def default_dtype():
    """The dtype that floats get when nothing else is asked."""
    return _default_float


def get_default_dtype():
    """The dtype that floats get when nothing else is asked."""
    return _default_float


def set_default_dtype(d, /):
    """Change the dtype that floats get when nothing else is asked."""
    global _default_float
    cdef dtype found = parse(d)
    if found is None:
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if found.category != CAT_FLOAT:
        raise TypeError("only floating-point types are supported as the default type")
    _default_float = found


def promote_types(type1, type2):
    """The smallest dtype that both convert to without loss of category."""
    cdef dtype a = parse(type1), b = parse(type2)
    if a is None or b is None:
        raise TypeError("promote_types(): arguments must be dtypes")
    return of_code(promote(a.code, b.code))


def dtype_of_numpy(numpy_dtype):
    """The dtype with the same bytes as a NumPy one, or None."""
    return _by_numpy.get(numpy_dtype)


def parse_dtype(spec):
    """A dtype from a dtype or from Python's float, int, bool, complex; None for anything else."""
    return parse(spec)
