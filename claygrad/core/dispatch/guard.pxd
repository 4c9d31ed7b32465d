# Note [The guard]
# What a native form takes is said beside the line that offers it, a few words for each parameter:
#     offer("conv_input", <form_t>_to_input, "grad_output: float broadcast 3-5d, weight: float same")
# `guard` reads them when the operation is installed, into a table with a row for each parameter. On a call the table is checked once,
# before the form is entered, and the arguments are handed over unpacked: an Arg for each, under the names of the parameters. The form
# names them by a struct whose members are the operation's parameters in their order (tests/core/test_guard.py compares the names):
#     cdef struct ToInput:
#         Arg grad_output, weight, stride, padding, dilation, spare, groups
#     cdef Layout _to_input(Op op, ToInput* a):
#         cdef Layout g = <Layout>a.grad_output.layout
# So a form has only geometry left, sizes that must fit each other, and the call of its kernel. It returns None where they do not fit.
#
# Tensors   dtype     float (float32, float64), half (float16, bfloat16), complex, int64, int32, integer (every signed one and uint8), bool,
#                     any; kernel: those for which the operation has a kernel; same: the dtype of the first tensor that is not optional
#           layout    contiguous if nothing is said; broadcast: or seen more than once, as the gradient of a sum is, and then copied;
#                     copied: any, and copied if it is not contiguous; strided: any, as it is
#           axes      2d, 3-5d, 1d+
#           nonempty  has elements; optional: or None
# Others    An annotation says enough: int, bool, float, ints, each of them exactly (a bool is no int, a tensor no number), ints of
#           moderate size, at most MAX_INTS of them, or None if it says so. What it does not say is handed over as it is.
#           ints: of one int or several; sizes: several only; int, float, bool: where nothing is annotated
#           mean|sum  one of these texts; `value` has its number
#           none      nothing but None; true, false: nothing but that
#           raw       as it is, unchecked
# Target    target    alone, without a colon: the form writes in place. Its struct begins with `Arg target`, whose layout is the
#                     contiguous memory of the first argument, or NULL for a new result. "target: strided": any memory
# Several parameters with the same words: "mean rstd: float same". One that not all operations of the form have: "dtype?: none".
#
# An argument that does not fit says why (HALF, LAYOUT, OTHER). Where it is a half dtype or a layout alone, dispatch converts it and
# enters the form again (core/dispatch/convert.pyx); where it is anything else, there is nothing to try and the reference computes.
#
# On a call it takes some 45 instructions, 35 for each tensor, 25 for an int and 18 for what is left at its default. A view, a product of
# small matrices, a clone or a composite that only passes its arguments on runs in 1,000 to 2,500 and would be 4 to 10 % slower. Such a
# form is offered by `offer_slots` or `offer_composite_slots` and reads the bound arguments as they are, by a struct of Slots that has the
# names of the parameters, or of the first of them:
#     cdef struct Select:
#         Slot input, dim, index
#     cdef Layout _select(Op op, Select* a, Layout target):
# A required Tensor parameter is a tensor; everything else the form checks in the order that is cheapest for it.
# Forms that are found in tables (elementwise.pyx, elementwise_strided.pyx, elementwise_params.pyx, reduce.pyx) run operations whose
# parameters have many names, and know them by their positions; tests/core/test_guard.py counts what is left of that. Factories
# (factory.pyx, random.pyx), getitem.pyx, einsum.pyx, optim.pyx and clip_grad.pyx are called with other arguments than an operation's.
# None of all these asks for the device: Note [The ladder] in call.pyx.
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.data.layout cimport Layout
from claygrad.core.op cimport Op
from claygrad.core.graph.modes cimport modes
from claygrad.core.tensor cimport Tensor, requires

cdef enum:
    MAX_INTS = 8

cdef enum:                            # why an argument does not fit, as bits
    FITS = 0
    HALF = 1                          # float16 or bfloat16 in place of another floating dtype
    LAYOUT = 2
    OTHER = 4

cdef struct Arg:
    PyObject* given                   # the argument itself
    PyObject* layout                  # of a tensor, as it was declared; NULL for None
    int64_t value                     # an int, a bool, the number of a choice; how many ints
    double real                       # a float
    int64_t ints[MAX_INTS]

ctypedef PyObject* Slot                # an argument of a form that is not guarded

ctypedef object (*form_t)(Op op, Arg* args)          # returns a Layout, a list of them, or what a composite returns; None: does not apply

cdef int guard(Op op, str words) except -1           # read what its native form takes
cdef object guarded(Op op, PyObject** slots, Layout target)          # op.fast and op.composite of those that are guarded
cdef object guarded_composite(Op op, PyObject** slots)
cdef int why_not(Op op, PyObject** slots) noexcept   # the reasons of all arguments that do not fit


cdef extern from *:
    """
    /* Whether it is an exact int below 2**30 (on 3.11 of at most a digit), so that sums and products do not overflow. */
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
    bint int_at "clay_moderate_int" (PyObject* value, int64_t* into) noexcept


cdef inline bint is_none(const Arg* a) noexcept:
    return a.given == <PyObject*>None


cdef inline const void* memory(const Arg* a) noexcept:
    """Of a tensor's elements; NULL for None."""
    return NULL if a.layout == NULL else (<Layout>a.layout).data()


cdef inline Layout layout_of(const Arg* a):
    """Of a tensor or the target; None for None."""
    return None if a.layout == NULL else <Layout>a.layout


cdef inline bint numel_is(const Arg* a, int64_t n) noexcept:
    """Whether it has n elements, or is None."""
    return a.layout == NULL or (<Layout>a.layout).numel == n


cdef inline bint vector_of(const Arg* a, int64_t n) noexcept:
    """Whether it is a vector of n elements, or None."""
    return a.layout == NULL or (<Layout>a.layout).ndim == 1 and (<Layout>a.layout).numel == n


cdef inline bint for_axes(const Arg* a, int n, int64_t* into) noexcept:
    """An int for each of n axes, of one for all of them or as many; False if it is another number."""
    cdef int i
    if a.value != n and a.value != 1:
        return False
    for i in range(n):
        into[i] = a.ints[i if a.value == n else 0]
    return True


# --- for what the guard hands over as it is --------------------------------------------------------------------------------------------
cdef inline bint ints_at(object value, int n, int64_t* into):
    """An int for each of n axes, from one int or a sequence."""
    cdef int i
    cdef Py_ssize_t count
    if type(value) is int:
        if not int_at(<PyObject*>value, into):
            return False
        for i in range(1, n):
            into[i] = into[0]
        return True
    if not isinstance(value, (tuple, list)):
        return False
    count = len(value)
    if count != n and count != 1:
        return False
    for i in range(n):
        item = value[i if count == n else 0]
        if not int_at(<PyObject*>item, into + i):
            return False
    return True


cdef inline tuple tuple_of(int n, const int64_t* values):
    if n == 1:
        return (values[0],)
    if n == 2:
        return (values[0], values[1])
    if n == 3:
        return (values[0], values[1], values[2])
    return tuple([values[i] for i in range(n)])


cdef inline bint recording(PyObject* slot):
    """Whether operations on this tensor are recorded."""
    return (not modes().no_grad and not modes().inference and isinstance(<object>slot, Tensor)
            and requires(<Tensor>slot))
