"""Looking for NaN and infinity: in a tensor, and as an observer in all that a program computes."""
cimport cython
from cpython.object cimport PyObject
from libc.math cimport isinf, isnan
from libc.stdint cimport int64_t

from claygrad.core.cpython.recursion cimport enter_recursion, leave_recursion
from claygrad.core.op cimport Op
from claygrad.core.data.device cimport CPU
from claygrad.core.data.dtype cimport C64, CAT_COMPLEX, CAT_FLOAT, F32, F64
from claygrad.core.data.kernels cimport find, isa
from claygrad.core.data.layout cimport COO, SPARSE, Layout, dense, fresh_like
from claygrad.core.graph.inplace cimport write_layout
from claygrad.core.graph.observe cimport BACKWARD, FORWARD, INPLACE, MAKE, STEP, Event, Observer, call_of
from claygrad.core.tensor cimport Tensor

ctypedef int (*kinds_fn)(const void* x, int64_t n) noexcept nogil

cdef enum:
    NAN = 1
    INF = 2
    RELEASE = 262144            # elements above which the interpreter lock is released

cdef extern from *:
    """
    static thread_local int clay_finite_depth = 0;      // nesting of operations
    """
    int clay_finite_depth

cdef kinds_fn _kernels[64]              # by the number of the dtype, for the instruction set below
cdef const char* _set = NULL


cdef kinds_fn _kernel(int code) noexcept:
    """Looked for once: by name it takes longer than a small tensor does."""
    global _set
    cdef int i
    if isa() != _set:
        for i in range(64):
            _kernels[i] = <kinds_fn>find("finite", "kinds", i)
        _set = isa()
    return _kernels[code] if 0 <= code < 64 else NULL


cdef int kinds_of(Layout v) except -1:
    """Which of NaN and infinity are among the values, as bits."""
    cdef int code = v.dtype.code, found
    cdef int64_t n = v.numel
    cdef kinds_fn kernel
    cdef const void* data
    if v.dtype.category < CAT_FLOAT or n == 0 or v.storage.where.kind != CPU or v.bits & SPARSE:
        return 0
    if v.dtype.category == CAT_COMPLEX:
        code, n = F32 if code == C64 else F64, 2 * n
    kernel = _kernel(code)
    if kernel == NULL:
        return 0                                # 8-bit floats and complex32
    if not dense(v):
        v = _packed(v)
    data = v.data()
    if n < RELEASE:
        return kernel(data, n)
    with nogil:
        found = kernel(data, n)
    return found


cdef Layout _packed(Layout v):
    cdef Layout out = fresh_like(v)
    write_layout(out, v)
    return out


cdef int kinds_in(object value) except -1:
    """The same for a tensor, or all tensors in a list."""
    cdef int found = 0
    if isinstance(value, Tensor):
        if (<Tensor>value).layout.bits & COO:
            value = value._values()
        return kinds_of((<Tensor>value).layout)
    if type(value) is list or isinstance(value, tuple):
        enter_recursion(b" in an argument or a result")
        try:
            for x in value:
                found |= kinds_in(x)
        finally:
            leave_recursion()
    return found


def kinds(value):
    """Which of "nan" and "inf" are among the values of a tensor, or of those in a list."""
    cdef int found = kinds_in(value)
    return {name for name, bit in (("nan", NAN), ("inf", INF)) if found & bit}


cdef int _numbers_in(object value) except -1:
    """The same for Python numbers among the arguments."""
    cdef int found = 0
    cdef double x
    if type(value) is float:
        x = value
        return NAN if isnan(x) else INF if isinf(x) else 0
    if type(value) is complex:
        return _numbers_in(value.real) | _numbers_in(value.imag)
    if type(value) is list or type(value) is tuple:
        enter_recursion(b" in an argument")
        try:
            for y in value:
                found |= _numbers_in(y)
        finally:
            leave_recursion()
    return found


cdef frozenset _UNWRITTEN = frozenset(("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_",
                                       "empty_permuted", "set_", "_empty_affine_quantized"))


@cython.binding(False)
cdef class NonFiniteObserver(Observer):
    """Calls found(call, kinds, given) for each operation of the program whose results have a NaN or an infinity that is its own.

    Its own means: a NaN if no input has one, an infinity if all inputs are finite, and no Python number in the call is NaN or
    infinite. `given` is True if an input has a NaN that no observed operation produced.
    Operations inside another operation are not reported: only the user's call, and in backward the node.
    """
    cdef public bint tolerant           # do not report NaN that came from outside

    cdef int begin(self, Event* event, int64_t* mark) except -1:
        global clay_finite_depth
        clay_finite_depth += 1
        if event.kind == INPLACE and clay_finite_depth == 1:
            mark[0] = kinds_in(<object>event.args[0])           # the operation will overwrite it
        return 0

    cdef int end(self, Event* event, int64_t mark, PyObject* result) except -1:
        global clay_finite_depth
        cdef int found
        clay_finite_depth -= 1
        if result == NULL or event.kind != BACKWARD and clay_finite_depth:
            return 0
        if event.kind != FORWARD and event.kind != INPLACE and event.kind != BACKWARD and event.kind != STEP and event.kind != MAKE:
            return 0
        if event.kind == MAKE and not _takes_tensors(event):
            return 0
        found = kinds_in(<object>result)
        if not found:
            return 0
        return self.judge(event, found, mark, result)

    cdef int judge(self, Event* event, int found, int64_t mark, PyObject* result) except -1:
        cdef int before = 0, own = 0
        cdef Py_ssize_t i, first = 1 if event.kind == INPLACE else 0
        if event.kind == FORWARD and (<Op>event.what).name in _UNWRITTEN or event.kind == INPLACE and (<Op>event.what).name in _UNWRITTEN:
            return 0
        if event.kind == MAKE and (<object>event.what).__name__ in _UNWRITTEN:
            return 0
        if event.kind != STEP:
            for i in range(first, event.n):
                if event.args[i] != NULL:
                    before |= kinds_in(<object>event.args[i]) | _numbers_in(<object>event.args[i])
        before |= <int>mark
        if found & NAN and not before & NAN:
            own = NAN | (found & INF if not before else 0)
        elif found & INF and not before:
            own = INF
        given = not own and found & NAN and not self.tolerant and not _written_nan(event)
        if own or given:
            call = call_of(event, result)
            self.found(call, {name for name, bit in (("nan", NAN), ("inf", INF)) if (own or NAN) & bit}, bool(given))
        return 0

    def found(self, call, kinds, given):
        raise NotImplementedError


cdef bint _takes_tensors(Event* event):
    cdef Py_ssize_t i
    for i in range(event.n):
        value = <object>event.args[i]
        if isinstance(value, Tensor) or type(value) is list and len(value) and isinstance(value[0], Tensor):
            return True
    return False


cdef bint _written_nan(Event* event):
    """Whether a Python number in the call is NaN."""
    cdef Py_ssize_t i
    for i in range(event.n):
        if event.args[i] != NULL and _numbers_in(<object>event.args[i]) & NAN:
            return True
    return False
