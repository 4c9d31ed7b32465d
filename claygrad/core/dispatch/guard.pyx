"""What native forms take: read when an operation is installed, checked and unpacked once on a call. Note [The guard] is in guard.pxd."""
import re
import sys

from cpython.mem cimport PyMem_Calloc
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint64_t

from claygrad.core.data.dtype cimport BF16, BOOL, CAT_FLOAT, F16, F32, F64, I32, I64, N_DTYPES
from claygrad.core.data.layout cimport MAX_DIMS, Layout, as_contiguous, is_broadcast
from claygrad.core.op cimport (MAX_PARAMS, P_BOOL, P_FLOAT, P_FLOAT_OPT, P_INT, P_INT_OPT, P_INTS, P_INTS_OPT, P_TENSOR_NUM_OPT,
                               Op)
from claygrad.core.tensor cimport Tensor

cdef enum:                            # what an argument is unpacked into
    AS_IT_IS = 0
    TENSOR = 1
    INT = 2
    FLOAT = 3
    BOOLEAN = 4
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
    int kind
    int like                          # of the first row: the parameter whose dtype is that of others, or -1
    int layout
    uint64_t dtypes                   # codes, as bits
    bint same                         # has that dtype
    bint optional
    bint nonempty
    int min_ndim
    int max_ndim
    PyObject* value                   # the texts of a choice; the only value


# --- on a call -------------------------------------------------------------------------------------------------------------
cdef extern from *:
    """
    /* A Python int below 2**30: on 3.11 one of at most a digit. */
    static inline int clay_moderate_int(PyObject* value, int64_t* into) {
        if (!PyLong_CheckExact(value)) return 0;
    #if PY_VERSION_HEX >= 0x030C0000
        if (PyUnstable_Long_IsCompact((PyLongObject*)value)) {
            *into = PyUnstable_Long_CompactValue((PyLongObject*)value);
            return -0x40000000 < *into && *into < 0x40000000;
        }
    #elif PYLONG_BITS_IN_DIGIT == 30
        Py_ssize_t size = Py_SIZE(value);
        if (size < -1 || size > 1) return 0;
        *into = size * (int64_t)((PyLongObject*)value)->ob_digit[0];
        return 1;
    #endif
        int overflow = 0;
        *into = PyLong_AsLongLongAndOverflow(value, &overflow);
        return overflow == 0 && -0x40000000 < *into && *into < 0x40000000;
    }
    """
    bint _int "clay_moderate_int" (PyObject* value, int64_t* into) noexcept

cdef extern from "Python.h":
    double PyFloat_AS_DOUBLE(PyObject* value) noexcept


cdef inline PyObject* _dtype(PyObject** slots, int at) noexcept:
    """Of the tensor at a place, if there is one."""
    if at < 0 or not isinstance(<object>slots[at], Tensor):
        return NULL
    return <PyObject*>(<Tensor>slots[at]).layout.dtype


cdef int _layout(const Take* take, PyObject* slot, const PyObject* like, Arg* a) noexcept:
    """Of a tensor. A layout that is to be copied is left to the caller: a.value says so."""
    cdef PyObject* v                      # no reference of its own: the tensor has one
    cdef int why = FITS
    a.value = 0
    if not isinstance(<object>slot, Tensor):
        a.layout = NULL
        return FITS if take.optional and <object>slot is None else OTHER
    v = a.layout = <PyObject*>(<Tensor>slot).layout
    if not take.dtypes >> (<Layout>v).dtype.code & 1 or take.same and <PyObject*>(<Layout>v).dtype != like:
        if (<Layout>v).dtype.category != CAT_FLOAT:
            return OTHER
        why = HALF                                        # or the other is one
    if (<Layout>v).ndim < take.min_ndim or (<Layout>v).ndim > take.max_ndim or take.nonempty and (<Layout>v).numel == 0:
        return OTHER
    if not (<Layout>v).contiguous and take.layout != STRIDED:
        if take.layout == CONTIGUOUS or take.layout == BROADCAST and not is_broadcast(<Layout>v):
            return why | LAYOUT
        a.value = 1
    return why


cdef int _ints(const Take* take, PyObject* slot, Arg* a) noexcept:
    cdef Py_ssize_t i, n
    if take.kind == INTS and type(<object>slot) is int:
        a.value = 1
        return FITS if _int(slot, a.ints) else OTHER
    cdef bint is_tuple = isinstance(<object>slot, tuple)
    if not is_tuple and not isinstance(<object>slot, list):
        return OTHER
    n = PyTuple_GET_SIZE(<object>slot) if is_tuple else PyList_GET_SIZE(<object>slot)
    if n > MAX_INTS:
        return OTHER
    for i in range(n):
        if not _int(<PyObject*>(PyTuple_GET_ITEM(<object>slot, i) if is_tuple else PyList_GET_ITEM(<object>slot, i)), a.ints + i):
            return OTHER
    a.value = n
    return FITS


cdef int _other(const Take* take, PyObject* slot, Arg* a) except -1:
    """What is no tensor."""
    cdef Py_ssize_t i, n
    if take.optional and <object>slot is None:
        return FITS
    if take.kind == INT:
        return FITS if _int(slot, &a.value) else OTHER
    if take.kind == BOOLEAN:
        a.value = <object>slot is True
        return FITS if a.value or <object>slot is False else OTHER
    if take.kind == INTS or take.kind == SIZES:
        return _ints(take, slot, a)
    if take.kind == FLOAT:
        if type(<object>slot) is float:
            a.real = PyFloat_AS_DOUBLE(slot)
            return FITS
        if not _int(slot, &a.value):
            return OTHER
        a.real = <double>a.value
        return FITS
    if take.kind == EXACTLY:
        return FITS if slot == take.value else OTHER
    if type(<object>slot) is not str:
        return OTHER
    n = PyTuple_GET_SIZE(<object>take.value)
    for i in range(n):                   # as a literal it is the same object
        if slot == <PyObject*>PyTuple_GET_ITEM(<object>take.value, i):
            a.value = i
            return FITS
    for i in range(n):
        if <object>slot == <object>PyTuple_GET_ITEM(<object>take.value, i):
            a.value = i
            return FITS
    return OTHER


cdef list _copied(Arg* a, list copies):
    cdef Layout copy = as_contiguous(<Layout>a.layout)
    a.layout = <PyObject*>copy
    if copies is None:
        return [copy]
    copies.append(copy)
    return copies


cdef object _unpack(Op op, PyObject** slots, Arg* args):
    """None if all arguments fit; a list of copies, which live as long as it does; or False."""
    cdef const Take* take = <const Take*>op.takes
    cdef PyObject* like = _dtype(slots, take.like)
    cdef list copies = None
    cdef int i
    for i in range(op.n_params):
        args[i].given = slots[i]
        if take.kind == TENSOR:
            if _layout(take, slots[i], like, args + i):
                return False
            if args[i].value:
                copies = _copied(args + i, copies)
        elif take.kind and _other(take, slots[i], args + i):
            return False
        take += 1
    return copies


cdef Layout guarded_one(Op op, PyObject** slots, Layout target):
    cdef Arg args[MAX_PARAMS]
    if target is not None:
        return None
    copies = _unpack(op, slots, args)
    return None if copies is False else (<one_t>op.form)(op, args)


cdef list guarded_several(Op op, PyObject** slots):
    cdef Arg args[MAX_PARAMS]
    copies = _unpack(op, slots, args)
    return None if copies is False else (<several_t>op.form)(op, args)


cdef object guarded_composite(Op op, PyObject** slots):
    cdef Arg args[MAX_PARAMS]
    copies = _unpack(op, slots, args)
    return None if copies is False else (<composite_t>op.form)(op, args)


cdef int why_not(Op op, PyObject** slots) except -1:
    cdef const Take* take = <const Take*>op.takes
    cdef Arg args[MAX_PARAMS]
    cdef PyObject* like = _dtype(slots, take.like)
    cdef int i, why = FITS
    for i in range(op.n_params):
        if take.kind == TENSOR:
            why |= _layout(take, slots[i], like, args + i)
            if args[i].layout != NULL:                # a form that takes any may have met what its kernel does not take
                if take.layout == STRIDED and not (<Layout>args[i].layout).contiguous:
                    why |= LAYOUT
                if (<Layout>args[i].layout).dtype.code == F16 or (<Layout>args[i].layout).dtype.code == BF16:
                    why |= HALF
        elif take.kind:
            why |= _other(take, slots[i], args + i)
        if why & OTHER:
            break
        take += 1
    return why


# --- when an operation is installed ------------------------------------------------------------------------------------------
cdef dict _KINDS = {P_INT: INT, P_INT_OPT: INT, P_FLOAT: FLOAT, P_FLOAT_OPT: FLOAT, P_BOOL: BOOLEAN, P_INTS: INTS, P_INTS_OPT: INTS}
cdef dict _DTYPES = {"float": 1 << F32 | 1 << F64, "int64": 1 << I64, "int32": 1 << I32, "bool": 1 << BOOL,
                     "any": (<uint64_t>1 << N_DTYPES) - 1}
cdef dict _LAYOUTS = {"broadcast": BROADCAST, "copied": COPIED, "strided": STRIDED}
cdef dict _OTHERS = {"int": INT, "float": FLOAT, "bool": BOOLEAN, "ints": INTS, "sizes": SIZES, "raw": AS_IT_IS}
cdef dict _VALUES = {"none": None, "true": True, "false": False}
cdef object _AXES = re.compile(r"(\d+)(?:-(\d+))?d(\+?)")


cdef int guard(Op op, str words) except -1:
    cdef Take* takes = <Take*>PyMem_Calloc(MAX_PARAMS, sizeof(Take))
    cdef int i
    cdef dict said = {}
    cdef int like = -1
    cdef bint same = False
    if takes == NULL:
        raise MemoryError()
    for part in filter(None, words.split(",")):
        names, _, what = part.partition(":")
        for name in names.split():
            if not name.endswith("?") or name.rstrip("?") in op.params:
                said[name.rstrip("?")] = what.split()
    unknown = [name for name in said if name not in op.params]
    if unknown:
        raise TypeError(f"{op.name}: its native form takes {', '.join(unknown)}, which is no parameter")
    for i in range(op.n_params):
        takes[i].optional = op.kinds[i] in (P_INT_OPT, P_FLOAT_OPT, P_INTS_OPT)
        takes[i].kind = _KINDS.get(op.kinds[i], AS_IT_IS)
        if op.kinds[i] <= P_TENSOR_NUM_OPT:
            if op.params[i] not in said:
                raise TypeError(f"{op.name}: its native form does not say what it takes as '{op.params[i]}'")
            takes[i].kind, takes[i].max_ndim = TENSOR, MAX_DIMS
        for word in said.get(op.params[i], ()):
            _read(op, takes + i, word)
        if takes[i].kind == TENSOR:
            if not takes[i].dtypes:
                takes[i].dtypes = _DTYPES["any" if takes[i].same else "float"]
            if like < 0 and not takes[i].optional:
                like = i
            same = same or takes[i].same
    if same and like < 0:
        raise TypeError(f"{op.name}: its native form takes tensors of the same dtype as others, but all of those may be None")
    takes[0].like = like
    op.takes = takes                       # as long as the process: operations are never forgotten
    return 0


cdef int _read(Op op, Take* take, str word) except -1:
    """A word about a parameter."""
    cdef int code
    axes = _AXES.fullmatch(word)
    if "|" in word or word in _VALUES:
        value = tuple([sys.intern(text) for text in word.split("|")]) if "|" in word else _VALUES[word]
        Py_INCREF(value)
        take.kind, take.value = TEXT if "|" in word else EXACTLY, <PyObject*>value
    elif take.kind == TENSOR and word == "kernel":
        for code in range(N_DTYPES):
            if op.kernels[code] != NULL:
                take.dtypes |= <uint64_t>1 << code
    elif take.kind == TENSOR and word in _DTYPES:
        take.dtypes |= <uint64_t>_DTYPES[word]
    elif take.kind == TENSOR and word in _LAYOUTS:
        take.layout = _LAYOUTS[word]
    elif take.kind == TENSOR and axes:
        take.min_ndim, take.max_ndim = int(axes[1]), MAX_DIMS if axes[3] else int(axes[2] or axes[1])
    elif take.kind == TENSOR and word == "same":
        take.same = True
    elif take.kind == TENSOR and word == "nonempty":
        take.nonempty = True
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
