"""Element types and how they combine."""
import numpy
import ml_dtypes

cimport cython

from claygrad.core.data.dtype cimport (BF16, BOOL, C32, C64, C128, CAT_BOOL, CAT_COMPLEX, CAT_FLOAT, CAT_INT, F4_X2, F8_E4M3FN, F16, F32,
                                       F64, I8, I16, I32, I64, N_COMPUTING, N_DTYPES, U8, U16, U32, U64)

cdef str _prefix = "claygrad"


def prefix():
    """The name that reprs and messages put before dtypes and sizes."""
    return _prefix


def set_prefix(str name):
    global _prefix
    _prefix = name


cdef bint _complete = False              # all dtypes exist: creating another one is an error


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
        if self.name.startswith("bits"):
            raise RuntimeError("Bits types are undefined")
        if self.name.startswith("q"):
            raise RuntimeError("isSignedType not supported for quantized types")
        return not (self.name.startswith("uint") or self.code == BOOL or self.name == "float8_e8m0fnu")

    @property
    def kind(self):
        """NumPy's letter for it (b, i, u, f, c; V for what is none of these), which code for arrays of any library asks for."""
        if self.category == CAT_INT:
            return "u" if self.name.startswith("uint") else "i" if self.name.startswith("int") else "V"
        return {CAT_BOOL: "b", CAT_FLOAT: "f", CAT_COMPLEX: "c"}.get(self.category, "V")

    def to_complex(self):
        """The complex type with parts of this one."""
        if self.category == CAT_COMPLEX:
            return self
        found = {F16: C32, BF16: C64, F32: C64, F64: C128}.get(self.code)
        if found is None:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.legacy}")
        return of_code(found)

    def to_real(self):
        """The type of this complex type's parts."""
        if self.category != CAT_COMPLEX:
            return self
        return of_code(F16 if self.code == C32 else F32 if self.code == C64 else F64)

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
_define(U16, CAT_INT, "uint16", "UInt16", "short unsigned int", numpy.uint16)
_define(U32, CAT_INT, "uint32", "UInt32", "unsigned int", numpy.uint32)
_define(U64, CAT_INT, "uint64", "UInt64", "long unsigned int", numpy.uint64)
# NumPy has no complex32, and none of the dtypes after the 8-bit floats: structured dtypes hold their bytes.
_define(C32, CAT_COMPLEX, "complex32", "ComplexHalf", "c10::complex<c10::Half>", [("real", "f2"), ("imag", "f2")])


def _define_kept():
    code = F8_E4M3FN
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"):
        legacy = name.capitalize()
        _define(code, CAT_FLOAT, name, legacy, "c10::" + legacy, getattr(ml_dtypes, name))
        code += 1
    _define(code, CAT_FLOAT, "float4_e2m1fn_x2", "Float4_e2m1fn_x2", "c10::Float4_e2m1fn_x2", [("float4_e2m1fn_x2", "u1")])
    names = [(f"{kind}{n}", f"c10::dummy_{kind}1_7_t<{n}>", "u1") for kind in ("uint", "int") for n in range(1, 8)]
    names += [(name, "c10::" + name, "i4" if name == "qint32" else "u2" if name == "bits16" else "u1")
              for name in ("quint8", "qint8", "qint32", "quint4x2", "quint2x4", "bits8", "bits16", "bits1x8", "bits2x4", "bits4x2")]
    for name, c_name, kept in names:
        code += 1
        legacy = name.replace("q", "Q").replace("bits", "Bits").replace("uint", "UInt").replace("int", "Int")
        _define(code, CAT_INT, name, legacy, c_name, [(name, kept)])


_define_kept()


def _named(name):
    return _by_name[name]


_complete = True
DTYPES = {d.name: d for d in _all}

cdef int _category[N_DTYPES]
cdef Py_ssize_t _size[N_DTYPES]
cdef int _promoted[N_DTYPES][N_DTYPES]
cdef dtype _default_float = _all[F32]


cdef _fill_tables():
    cdef int a, b
    for a in range(N_DTYPES):
        _category[a] = (<dtype>_all[a]).category
        _size[a] = (<dtype>_all[a]).itemsize
    for a in range(N_DTYPES):
        for b in range(N_DTYPES):
            _promoted[a][b] = _promote_pair(a, b)


# Note [Unsigned integers]
# PyTorch has uint16, uint32 and uint64, but most of its operations refuse them, and they do not promote with other integers.
# Here they are integers like the others, as the array API standard asks: two integer dtypes promote to the smallest dtype that
# holds both. Where neither the standard nor PyTorch has an answer (uint64 with a signed dtype, uint16 with bool), it is an error.
cdef int _promote_pair(int a, int b):
    cdef int ca = _category[a], cb = _category[b]
    if a == b:
        return a
    if ca > cb:
        a, b, ca, cb = b, a, cb, ca
    if _unpromoted(a) or _unpromoted(b):
        return b if _kept_unsigned(a) and cb == CAT_FLOAT and (b < F8_E4M3FN or b == F4_X2) else -1
    if _unsigned(a) or _unsigned(b):
        if cb == CAT_FLOAT:
            return b
        return _promote_unsigned(a, b) if ca == CAT_INT and cb == CAT_INT else -1
    if cb == CAT_COMPLEX:                       # b is the higher category from here on
        if a == F64 or a == C128 or b == C128:
            return C128
        return C64 if a == F32 or a == BF16 or a == C64 or b == C64 else C32
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


cdef bint _unsigned(int code):
    return code == U16 or code == U32 or code == U64


cdef bint _kept_unsigned(int code):
    return code != U8 and (<dtype>_all[code]).name.startswith("uint")


cdef bint _unpromoted(int code):
    return code >= N_COMPUTING


cdef int _promote_unsigned(int a, int b):
    """The smallest integer dtype that holds both, one of which is uint16, uint32 or uint64; -1: there is none."""
    cdef bint a_unsigned = _unsigned(a) or a == U8, b_unsigned = _unsigned(b) or b == U8
    if a_unsigned and b_unsigned:
        return a if _size[a] > _size[b] else b
    if b_unsigned:
        a, b = b, a
    if _size[b] > _size[a]:
        return b
    return I32 if a == U16 else I64 if a == U32 else -1


cdef object no_common_type(int a, int b):
    """PyTorch's error for two dtypes that do not promote."""
    cdef dtype x = of_code(a), y = of_code(b)
    if x.name.startswith("q") or y.name.startswith("q"):
        return RuntimeError("promoteTypes with quantized numbers is not handled yet; figure out what the correct rules should be, "
                            f"offending types: {x.legacy} {y.legacy}")
    if x.name.startswith("bits") or y.name.startswith("bits"):
        return RuntimeError(f"Promotion from {x.legacy} and {y.legacy} is unsupported.")
    for kinds, said in (("float8", "Float8 Types"), ("uint", "uint16, uint32, uint64 types")):
        if any([d.name.startswith(kinds) and d.code != U8 for d in (x, y)]):
            return RuntimeError(f"Promotion for {said} is not supported, attempted to promote {x.legacy} and {y.legacy}")
    return RuntimeError(f"Promotion from {x.legacy} and {y.legacy} is unsupported.")


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

cdef bint narrow(int code) noexcept nogil:
    return code == F16 or code == BF16 or C32 <= code < F4_X2

cdef int wider(int code) noexcept nogil:
    return C64 if code == C32 else F32 if narrow(code) else code

cdef object _COMPLEX32 = (<dtype>_all[C32]).numpy


cdef bint _foreign(object numpy_dtype):
    """Whether it is a float of ml_dtypes."""
    return numpy_dtype.kind == "V" or numpy_dtype.kind == "f" and numpy_dtype.itemsize == 1


cdef object _to_byte(object array, object numpy_dtype):
    """Float32 values prepared for rounding to an 8-bit float as torch does: for a dtype without infinity, too large values become
    its largest number; for float8_e8m0fnu (powers of two) signs are dropped and small values become the smallest number."""
    array = (array.real if array.dtype.kind == "c" else array).astype(numpy.float32)
    if numpy_dtype == ml_dtypes.float8_e4m3fn:
        return numpy.clip(array, -448, 448)
    return numpy.maximum(numpy.abs(array), 2.0 ** -127) if numpy_dtype == ml_dtypes.float8_e8m0fnu else array


cdef object cast_array(object array, object numpy_dtype):
    cdef object out
    if array.dtype == _COMPLEX32:
        out = numpy.empty_like(array, numpy.complex64)
        out.real, out.imag = array["real"], array["imag"]
        return out if numpy_dtype == numpy.complex64 else cast_array(out, numpy_dtype)
    if numpy_dtype != _COMPLEX32:
        if array.dtype == numpy_dtype:
            return array
        if _foreign(array.dtype) and numpy_dtype.kind != "b":                # ml_dtypes has only some casts
            array = array.astype(numpy.float32)
        return (_to_byte(array, numpy_dtype) if _foreign(numpy_dtype) and numpy_dtype.itemsize == 1 else array).astype(numpy_dtype)
    if _foreign(array.dtype):
        array = array.astype(numpy.float32)
    out = numpy.empty_like(array, _COMPLEX32)
    out["real"], out["imag"] = array.real, array.imag
    return out

cdef int default_of_category(int category) noexcept:
    if category == CAT_FLOAT:
        return _default_float.code
    if category == CAT_COMPLEX:
        return C128 if _default_float.code == F64 else C64
    return I64 if category == CAT_INT else BOOL


def default_dtype():
    """The default floating-point dtype: that of new tensors of floats for which no dtype is given."""
    return _default_float


def get_default_dtype():
    """The default floating-point dtype: that of new tensors of floats for which no dtype is given."""
    return _default_float


def set_default_dtype(d, /):
    """Set the default floating-point dtype."""
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
    if promote(a.code, b.code) < 0:
        raise no_common_type(a.code, b.code)
    return of_code(promote(a.code, b.code))


def dtype_of_numpy(numpy_dtype):
    """The dtype that corresponds to a NumPy dtype, or None."""
    return _by_numpy.get(numpy_dtype)


cdef object number_of(object array, dtype d):
    if d.code >= F4_X2:
        raise NotImplementedError(f"\"_local_scalar_dense_cpu\" not implemented for '{d.legacy}'")
    if d.code == C32:
        array = cast_array(array, numpy.dtype(numpy.complex64))
    return float(array) if d.category == CAT_FLOAT else array.item()


def recast_array(array, numpy_dtype):
    """Cast an array, also to or from dtypes that NumPy cannot cast."""
    return cast_array(array, numpy.dtype(numpy_dtype))


def parse_dtype(spec):
    """A dtype from a dtype or from Python's float, int, bool, complex; None for anything else."""
    return parse(spec)
