"""What native forms take: read when an operation is installed, checked and unpacked once on a call. Note [The guard] is in guard.pxd."""
import re
import sys

from cpython.mem cimport PyMem_Calloc
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint64_t

from claygrad.core.data.dtype cimport BF16, BOOL, C32, C64, C128, CAT_FLOAT, F16, F32, F64, I8, I16, I32, I64, N_DTYPES, U8
from claygrad.core.data.layout cimport MAX_DIMS, Layout, as_contiguous, is_broadcast
from claygrad.core.op cimport (MAX_PARAMS, P_BOOL, P_FLOAT, P_FLOAT_OPT, P_INT, P_INT_OPT, P_INTS, P_INTS_OPT, P_TENSOR_NUM_OPT,
                               Op)
from claygrad.core.tensor cimport Tensor

cdef enum:                            # what an argument is unpacked into
    AS_IT_IS = 0
    TENSOR = 1
    INT = 2
    BOOLEAN = 3
    FLOAT = 4
    INTS = 5
    SIZES = 6
    TEXT = 7
    EXACTLY = 8

cdef enum:                            # layouts of tensors
    CONTIGUOUS = 0
    BROADCAST = 1
    COPIED = 2
    STRIDED = 3

cdef struct Take:
    PyObject* default                 # the argument that is known when the table is made, and what it is unpacked into; or NULL
    int64_t value
    double real
    int kind
    int min_ndim                      # of a tensor
    unsigned int span                 # how many axes more it may have
    int strided                       # any layout, as it is
    uint64_t dtypes                   # codes, as bits
    size_t same                       # all bits if it has the dtype of the guard's `like`
    int64_t min_numel
    int layout
    bint optional
    PyObject* choice                  # the texts of a choice; the only value

cdef struct Guard:
    int like                          # the parameter whose dtype is that of others, or -1
    bint target                       # the first Arg is the target
    Take takes[MAX_PARAMS]


# --- on a call -------------------------------------------------------------------------------------------------------------
cdef extern from "Python.h":
    double PyFloat_AS_DOUBLE(PyObject* value) noexcept
    int PyUnicode_Compare(object left, object right) noexcept             # of two texts: does not fail
    PyObject* _true "Py_True"
    PyObject* _false "Py_False"
    bint _is_tensor "PyObject_TypeCheck" (PyObject* value, PyTypeObject* type) noexcept


cdef inline size_t _dtype(Guard* guard, PyObject** slots) noexcept:
    """The address of the dtype that others must have, if a tensor says it."""
    if guard.like < 0 or not _is_tensor(slots[guard.like], <PyTypeObject*>Tensor):
        return 0
    return <size_t><PyObject*>(<Tensor>slots[guard.like]).layout.dtype


cdef inline bint _fits(const Take* take, PyObject* v, size_t like) noexcept:
    """Whether a layout is as declared, in all respects."""
    return (take.dtypes >> (<Layout>v).dtype.code & 1 and not (<size_t><PyObject*>(<Layout>v).dtype ^ like) & take.same
            and <unsigned int>((<Layout>v).ndim - take.min_ndim) <= take.span and (<Layout>v).contiguous | take.strided
            and (<Layout>v).numel >= take.min_numel)


cdef int _layout(const Take* take, PyObject* slot, size_t like, bint* copy) noexcept:
    """Why a tensor does not fit. FITS with `copy`: it does as a contiguous copy."""
    cdef PyObject* v                      # no reference of its own: the tensor has one
    cdef int why = FITS
    if not _is_tensor(slot, <PyTypeObject*>Tensor):
        return FITS if take.optional and slot == <PyObject*>None else OTHER
    v = <PyObject*>(<Tensor>slot).layout
    if not take.dtypes >> (<Layout>v).dtype.code & 1 or (<size_t><PyObject*>(<Layout>v).dtype ^ like) & take.same:
        if (<Layout>v).dtype.category != CAT_FLOAT and (<Layout>v).dtype.code != C32:
            return OTHER
        why = HALF                                        # or the other is one
    if <unsigned int>((<Layout>v).ndim - take.min_ndim) > take.span or (<Layout>v).numel < take.min_numel:
        return OTHER
    if not (<Layout>v).contiguous | take.strided:
        if take.layout == CONTIGUOUS or take.layout == BROADCAST and not is_broadcast(<Layout>v):
            return why | LAYOUT
        copy[0] = True
    return why


cdef int _ints(const Take* take, PyObject* slot, Arg* a) noexcept:
    cdef Py_ssize_t i, n
    cdef bint is_tuple = isinstance(<object>slot, tuple)
    if not is_tuple and not isinstance(<object>slot, list):
        if take.kind == SIZES:
            return OTHER
        a.value = 1
        return FITS if int_at(slot, a.ints) else OTHER
    n = PyTuple_GET_SIZE(<object>slot) if is_tuple else PyList_GET_SIZE(<object>slot)
    if n > MAX_INTS:
        return OTHER
    for i in range(n):
        if not int_at(<PyObject*>(PyTuple_GET_ITEM(<object>slot, i) if is_tuple else PyList_GET_ITEM(<object>slot, i)), a.ints + i):
            return OTHER
    a.value = n
    return FITS


cdef int _text(const Take* take, PyObject* slot, Arg* a) noexcept:
    cdef Py_ssize_t i, n = PyTuple_GET_SIZE(<object>take.choice)
    cdef PyObject* text
    for i in range(n):                   # as a literal it is the same object
        if slot == <PyObject*>PyTuple_GET_ITEM(<object>take.choice, i):
            a.value = i
            return FITS
    if type(<object>slot) is not str:
        return OTHER
    for i in range(n):
        text = <PyObject*>PyTuple_GET_ITEM(<object>take.choice, i)
        if PyUnicode_Compare(<object>slot, <object>text) == 0:
            a.value = i
            return FITS
    return OTHER


cdef inline int _other(const Take* take, PyObject* slot, Arg* a) noexcept:
    """What is no tensor, and not None for an optional parameter."""
    if take.kind == INT:
        return FITS if int_at(slot, &a.value) else OTHER
    if take.kind == BOOLEAN:
        a.value = slot == _true
        return FITS if a.value or slot == _false else OTHER
    if take.kind == FLOAT:
        if type(<object>slot) is float:
            a.real = PyFloat_AS_DOUBLE(slot)
            return FITS
        if not int_at(slot, &a.value):
            return OTHER
        a.real = <double>a.value
        return FITS
    if take.kind == TEXT:
        return _text(take, slot, a)
    if take.kind == EXACTLY:
        return FITS if slot == take.choice else OTHER
    return _ints(take, slot, a)


cdef inline int64_t _unpack(Op op, Guard* guard, PyObject** slots, Arg* a) noexcept:
    """The arguments that a native form takes as copies, as bits; -1 if some do not fit."""
    cdef Take* take = guard.takes
    cdef size_t like = _dtype(guard, slots)
    cdef PyObject* slot
    cdef int64_t copies = 0
    cdef bint copy = False
    cdef int i
    for i in range(op.n_params):
        slot = a.given = slots[i]
        if slot == take.default:
            a.layout = NULL
            a.value, a.real = take.value, take.real
        elif take.kind == TENSOR:
            if _is_tensor(slot, <PyTypeObject*>Tensor):
                a.layout = <PyObject*>(<Tensor>slot).layout
                if not _fits(take, a.layout, like):
                    if _layout(take, slot, like, &copy):
                        return -1
                    copies |= 1 << i
            else:
                a.layout = NULL
                if slot != <PyObject*>None or not take.optional:
                    return -1
        elif take.kind and not (take.optional and slot == <PyObject*>None) and _other(take, slot, a):
            return -1
        take += 1
        a += 1
    return copies


cdef object _with_copies(Op op, Arg* args, Arg* a, int64_t copies):
    """Enter the native form; copies live as long as its call."""
    cdef list held = []
    cdef Layout copy
    cdef int i
    for i in range(op.n_params):
        if copies >> i & 1:
            copy = as_contiguous(<Layout>a[i].layout)
            a[i].layout = <PyObject*>copy
            held.append(copy)
    return (<form_t>op.form)(op, args)


cdef object guarded(Op op, PyObject** slots, Layout target):
    cdef Arg args[MAX_PARAMS + 1]
    cdef Arg* a = args
    cdef Guard* guard = <Guard*>op.takes
    cdef int64_t copies
    if guard.target:
        args[0].layout = NULL
        if target is not None:
            args[0].layout = <PyObject*>target
        a += 1
    elif target is not None:
        return None
    copies = _unpack(op, guard, slots, a)
    if copies == 0:
        return (<form_t>op.form)(op, args)
    return None if copies < 0 else _with_copies(op, args, a, copies)


cdef object guarded_composite(Op op, PyObject** slots):
    return guarded(op, slots, None)


cdef int why_not(Op op, PyObject** slots) noexcept:
    cdef Guard* guard = <Guard*>op.takes
    cdef Take* take = guard.takes
    cdef size_t like = _dtype(guard, slots)
    cdef PyObject* v
    cdef Arg a
    cdef bint copy = False
    cdef int i, why = FITS
    for i in range(op.n_params):
        if take.kind == TENSOR:
            why |= _layout(take, slots[i], like, &copy)
        if take.kind <= TENSOR and _is_tensor(slots[i], <PyTypeObject*>Tensor):
            v = <PyObject*>(<Tensor>slots[i]).layout                # a form that takes any may have met what its kernel does not take
            if (take.strided or not take.kind) and not (<Layout>v).contiguous:
                why |= LAYOUT
            if (<Layout>v).dtype.code == F16 or (<Layout>v).dtype.code == BF16:
                why |= HALF
        elif take.kind > TENSOR and not (take.optional and slots[i] == <PyObject*>None):
            why |= _other(take, slots[i], &a)
        if why & OTHER:
            break
        take += 1
    return why


# --- when an operation is installed ------------------------------------------------------------------------------------------
cdef dict _KINDS = {P_INT: INT, P_INT_OPT: INT, P_FLOAT: FLOAT, P_FLOAT_OPT: FLOAT, P_BOOL: BOOLEAN, P_INTS: INTS, P_INTS_OPT: INTS}
cdef dict _DTYPES = {"float": 1 << F32 | 1 << F64, "half": 1 << F16 | 1 << BF16, "int64": 1 << I64, "int32": 1 << I32, "bool": 1 << BOOL,
                     "integer": 1 << U8 | 1 << I8 | 1 << I16 | 1 << I32 | 1 << I64, "complex": 1 << C64 | 1 << C128,
                     "any": (<uint64_t>1 << N_DTYPES) - 1}
cdef dict _LAYOUTS = {"broadcast": BROADCAST, "copied": COPIED, "strided": STRIDED}
cdef dict _OTHERS = {"int": INT, "float": FLOAT, "bool": BOOLEAN, "ints": INTS, "sizes": SIZES, "raw": AS_IT_IS}
cdef dict _VALUES = {"none": None, "true": True, "false": False}
cdef object _AXES = re.compile(r"(\d+)(?:-(\d+))?d(\+?)")


cdef int guard(Op op, str words) except -1:
    cdef Guard* guard = <Guard*>PyMem_Calloc(1, sizeof(Guard))
    cdef Take* take
    cdef int i
    cdef dict said = {}
    cdef bint same = False
    if guard == NULL:
        raise MemoryError()
    for part in filter(None, words.split(",")):
        names, _, what = part.partition(":")
        for name in names.split():
            if not name.endswith("?") or name.rstrip("?") in op.params:
                said[name.rstrip("?")] = what.split()
    if "target" in said and "target" not in op.params:
        guard.target, op.fast_any = True, said.pop("target") == ["strided"]
    unknown = [name for name in said if name not in op.params]
    if unknown:
        raise TypeError(f"{op.name}: its native form takes {', '.join(unknown)}, which is no parameter")
    guard.like = -1
    for i in range(op.n_params):
        take = guard.takes + i
        take.optional = op.kinds[i] in (P_INT_OPT, P_FLOAT_OPT, P_INTS_OPT)
        take.kind = _KINDS.get(op.kinds[i], AS_IT_IS)
        if op.kinds[i] <= P_TENSOR_NUM_OPT:
            if op.params[i] not in said:
                raise TypeError(f"{op.name}: its native form does not say what it takes as '{op.params[i]}'")
            take.kind, take.span = TENSOR, MAX_DIMS
        for word in said.get(op.params[i], ()):
            _read(op, take, word)
        if take.kind == TENSOR:
            if not take.dtypes:
                take.dtypes = _DTYPES["any" if take.same else "float"]
            if guard.like < 0 and not take.optional:
                guard.like = i
            same = same or take.same != 0
        _read_default(take, op.defaults[i])
    if same and guard.like < 0:
        raise TypeError(f"{op.name}: its native form takes tensors of the same dtype as others, but all of those may be None")
    if not same:
        guard.like = -1                    # nobody asks
    op.takes = guard                       # as long as the process: operations are never forgotten
    return 0


cdef int _read_default(Take* take, object default) except -1:
    """Unpack the default of a parameter, if that is one value and fits."""
    cdef Arg a
    cdef PyObject* slot = <PyObject*>default
    if default is ... or take.kind == AS_IT_IS or take.kind == INTS and default is not None or take.kind == SIZES:
        return 0
    a.value, a.real = 0, 0
    if not (take.optional and default is None) and (take.kind == TENSOR or _other(take, slot, &a)):
        return 0
    take.default, take.value, take.real = slot, a.value, a.real        # the operation keeps its defaults
    return 0


cdef int _read(Op op, Take* take, str word) except -1:
    """A word about a parameter."""
    cdef int code
    axes = _AXES.fullmatch(word)
    if "|" in word or word in _VALUES:
        value = tuple([sys.intern(text) for text in word.split("|")]) if "|" in word else _VALUES[word]
        Py_INCREF(value)
        take.kind, take.choice = TEXT if "|" in word else EXACTLY, <PyObject*>value
    elif take.kind == TENSOR and word == "kernel":
        for code in range(N_DTYPES):
            if op.kernels[code] != NULL:
                take.dtypes |= <uint64_t>1 << code
    elif take.kind == TENSOR and word in _DTYPES:
        take.dtypes |= <uint64_t>_DTYPES[word]
    elif take.kind == TENSOR and word in _LAYOUTS:
        take.layout = _LAYOUTS[word]
        take.strided = take.layout == STRIDED
    elif take.kind == TENSOR and axes:
        take.min_ndim = int(axes[1])
        take.span = (MAX_DIMS if axes[3] else int(axes[2] or axes[1])) - take.min_ndim
    elif take.kind == TENSOR and word == "same":
        take.same = ~<size_t>0
    elif take.kind == TENSOR and word == "nonempty":
        take.min_numel = 1
    elif word == "optional":
        take.optional = True
    elif word == "raw" or take.kind != TENSOR and word in _OTHERS:
        take.kind = _OTHERS[word]
    else:
        raise TypeError(f"{op.name}: a native form cannot take '{word}'")
    return 0


def is_guarded(Op op):
    """Whether its native form says what it takes."""
    return op.takes != NULL
