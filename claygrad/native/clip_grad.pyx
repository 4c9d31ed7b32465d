"""Gradient clipping over all tensors in one call; claygrad/nn/utils has the definitions."""
from cpython.object cimport PyObject
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport sqrt
from libc.stdint cimport int64_t

from claygrad.core.data.dtype cimport F32, F64
from claygrad.core.graph.inplace cimport begin_write
from claygrad.core.data.kernels cimport find
from claygrad.core.data.layout cimport Layout, dense, fresh, on_cpu
from claygrad.core.graph.modes cimport modes
from claygrad.core.graph.observe cimport STEP, Event, announce, begin, finish, observing, wanted
from claygrad.core.tensor cimport Tensor, new_tensor

cdef extern from "optim/optim.hpp" namespace "clay" nogil:
    struct Gradient:
        void* values
        int64_t n

    ctypedef bint (*norms_fn)(const Gradient*, int64_t, double, double*) noexcept nogil
    ctypedef void (*bound_fn)(const Gradient*, int64_t, double) noexcept nogil


cdef class _Gradients:
    cdef Gradient* each
    cdef Py_ssize_t count
    cdef int dtype
    cdef Layout first

    def __dealloc__(self):
        PyMem_Free(self.each)

    cdef bint fill(self, list tensors, bint write) except -1:
        cdef Py_ssize_t i
        cdef Layout v
        self.count = len(tensors)
        if self.count == 0:
            return False
        self.each = <Gradient*>PyMem_Malloc(self.count * sizeof(Gradient))
        if self.each == NULL:
            raise MemoryError()
        for i in range(self.count):
            if not isinstance(tensors[i], Tensor):
                return False
            v = (<Tensor>tensors[i]).layout
            if i == 0:
                self.first, self.dtype = v, v.dtype.code
            if v.dtype.code != self.dtype or not on_cpu(v) or not (v.contiguous or dense(v)) or v.bits:
                return False
            if write and ((<Tensor>tensors[i]).inference and not modes().inference):
                return False
            self.each[i].values, self.each[i].n = v.data(), v.numel
        return self.dtype == F32 or self.dtype == F64

    cdef int run(self, list tensors, const char* name, double number) except -1:
        """Change all in place."""
        cdef bound_fn f = <bound_fn>find("optim", name, self.dtype)
        cdef Py_ssize_t i
        for i in range(self.count):
            begin_write(<Tensor>tensors[i])
            self.each[i].values = (<Tensor>tensors[i]).layout.data()
        with nogil:
            f(self.each, self.count, number)
        return 0


cdef object _observed(function, list tensors, tuple rest):
    """Call one of the functions below with observers: Note [Observers]."""
    cdef PyObject* given = <PyObject*>tensors
    cdef Event event
    what = function.__name__
    event.kind, event.what, event.args, event.n = STEP, <PyObject*>what, &given, 1
    begin(&event)
    announce()
    try:
        result = function(tensors, *rest)
    except:
        finish(&event, NULL)
        raise
    finish(&event, <PyObject*>result if isinstance(result, Tensor) else given)
    return result


def total_norm(list tensors, double order):
    """The norm of all elements of all tensors, of order 1, 2 or infinity; or None."""
    cdef _Gradients all_ = _Gradients.__new__(_Gradients)
    cdef norms_fn f
    cdef double* norms
    cdef double total = 0, norm = 0
    cdef Py_ssize_t i
    cdef bint done
    cdef Layout out
    if observing()[0] and wanted():
        return _observed(total_norm, tensors, (order,))
    if not (order == 1 or order == 2 or order == float("inf")) or not all_.fill(tensors, False):
        return None
    for i in range(all_.count):
        if order > 2 and all_.each[i].n == 0:      # empty: the infinity norm raises the error
            return None
    f = <norms_fn>find("optim", "norms", all_.dtype)
    norms = <double*>PyMem_Malloc(all_.count * sizeof(double))
    if f == NULL or norms == NULL:
        PyMem_Free(norms)
        return None
    with nogil:
        done = f(all_.each, all_.count, order, norms)
    for i in range(all_.count):
        norm = norms[i]
        if order > 2:
            total = norm if norm > total or norm != norm else total
        else:
            total += norm * norm if order == 2 else norm
    PyMem_Free(norms)
    if not done:
        return None
    if order == 2:
        total = norm if all_.count == 1 else sqrt(total)
    out = fresh(all_.first.dtype, 0, NULL)
    if all_.dtype == F32:
        (<float*>out.data())[0] = <float>total
    else:
        (<double*>out.data())[0] = total
    return new_tensor(out)


def scale_to_norm(list tensors, Tensor total, double max_norm):
    """Multiply all by min(max_norm / (total + 1e-6), 1): False if they are not such as a kernel takes."""
    cdef _Gradients all_ = _Gradients.__new__(_Gradients)
    cdef Layout v = total.layout
    cdef double factor
    cdef float single
    if observing()[0] and wanted():
        return _observed(scale_to_norm, tensors, (total, max_norm))
    if not all_.fill(tensors, True) or v.numel != 1 or v.dtype.code != all_.dtype or not on_cpu(v) or v.bits:
        return False
    if all_.dtype == F32:                          # rounded as float32 operations round
        single = (<float*>v.data())[0] + <float>1e-6
        single = <float>max_norm / single
        factor = single
    else:
        factor = max_norm / ((<double*>v.data())[0] + 1e-6)
    all_.run(tensors, "scale", 1 if factor > 1 else factor)
    return True


def limit(list tensors, double bound):
    """Bring every element between -bound and bound: False if they are not such as a kernel takes."""
    cdef _Gradients all_ = _Gradients.__new__(_Gradients)
    if observing()[0] and wanted():
        return _observed(limit, tensors, (bound,))
    if not bound >= 0 or not all_.fill(tensors, True):
        return False
    all_.run(tensors, "limit", bound)
    return True
