"""Optimizer steps over all parameters of a group in one call; claygrad/optim says what they mean."""
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.math cimport pow, sqrt
from libc.stdint cimport int64_t

from claygrad.core.device cimport CPU
from claygrad.core.dtypes cimport F32, F64
from claygrad.core.inplace cimport begin_write
from claygrad.core.kernels cimport find
from claygrad.core.layout cimport Layout, dense, fresh
from claygrad.core.modes cimport modes
from claygrad.core.tensor cimport Tensor, new_tensor

cdef extern from "optim.hpp" namespace "clay" nogil:
    struct StepTensor:
        void* param
        const void* grad
        void* state[3]
        int64_t n
        double size
        double bias

    struct StepOptions:
        double decay
        double shrink
        double beta1
        double beta2
        double momentum
        double damping
        double eps
        int maximize
        int nesterov
        int decoupled
        int states
        int centered

    ctypedef void (*step_fn)(const StepTensor*, int64_t, const StepOptions*) noexcept nogil

    struct Gradient:
        void* values
        int64_t n

    ctypedef bint (*norms_fn)(const Gradient*, int64_t, double, double*) noexcept nogil
    ctypedef void (*bound_fn)(const Gradient*, int64_t, double) noexcept nogil

cdef extern from "Python.h":
    PyObject* PyDict_GetItem(object d, object key)

# Elements above which a step runs without the interpreter lock.
cdef enum:
    RELEASE = 32768


def clear_gradients(params):
    """p.grad = None for all."""
    for p in params:
        (<Tensor?>p).grad_ = None


def gather(params, state, tuple keys, bint begun=True):
    """Parameters with gradients, the gradients, and columns of their state.

    None if some state did not begin yet; or, if it need not have begun, None in its place.
    """
    cdef list active = [], grads = [], columns = [[] for _ in keys]
    cdef Tensor t
    cdef PyObject* entry
    cdef PyObject* value
    cdef Py_ssize_t i
    for p in params:
        t = <Tensor?>p
        if t.grad_ is None:
            continue
        if keys:
            entry = PyDict_GetItem(state, p)       # of a defaultdict too: nothing is made
            if begun and (entry == NULL or not <object>entry):
                return None
            for i in range(len(keys)):
                value = PyDict_GetItem(<object>entry, keys[i]) if entry != NULL else NULL
                if value == NULL and begun:
                    raise KeyError(keys[i])
                (<list>columns[i]).append(None if value == NULL else <object>value)
        active.append(p)
        grads.append(t.grad_)
    return [active, grads, *columns]


# --- what a kernel can take ------------------------------------------------------------------------------------------
cdef bint _same_order(Layout v, Layout like) noexcept:
    """Whether two layouts hold elements of one dtype and shape in the same order, without gaps."""
    cdef int i
    if v.dtype is not like.dtype or v.ndim != like.ndim or v.storage.where.kind != CPU:
        return False
    for i in range(v.ndim):
        if v.shape[i] != like.shape[i]:
            return False
    if v.contiguous and like.contiguous:
        return True
    for i in range(v.ndim):
        if v.strides[i] != like.strides[i]:
            return False
    return dense(v)


cdef bint _writable(object x, Layout like):
    """Whether x can be written together with a parameter of that layout."""
    if not isinstance(x, Tensor):
        return False
    return _same_order((<Tensor>x).layout, like) and (not (<Tensor>x).inference or modes().inference)


cdef bint _counts(object x):
    if not isinstance(x, Tensor):
        return False
    cdef Layout v = (<Tensor>x).layout
    return v.numel == 1 and (v.dtype.code == F32 or v.dtype.code == F64) and v.storage.where.kind == CPU


cdef double _counted(Tensor step) except? -1:
    """Counts a step; the new count."""
    cdef Layout v = step.layout
    begin_write(step)
    if v.dtype.code == F32:
        (<float*>v.data())[0] += 1
        return (<float*>v.data())[0]
    (<double*>v.data())[0] += 1
    return (<double*>v.data())[0]


cdef class _Plan:
    """The tensors of a step, checked before anything is written."""
    cdef StepTensor* tensors
    cdef Py_ssize_t count
    cdef int64_t total
    cdef int dtype
    cdef list kept                    # gradients in the order of their parameters
    cdef list written

    def __dealloc__(self):
        PyMem_Free(self.tensors)

    cdef bint fill(self, params, grads, tuple columns) except -1:
        """False if a kernel cannot take them all."""
        cdef Py_ssize_t i, k
        cdef Layout v, g
        if not modes().no_grad and not modes().inference:
            return False
        self.count = len(params)
        self.kept = []
        self.written = []
        self.tensors = <StepTensor*>PyMem_Malloc(self.count * sizeof(StepTensor))
        if self.tensors == NULL:
            raise MemoryError()
        for i in range(self.count):
            v = (<Tensor?>params[i]).layout
            if i == 0:
                self.dtype = v.dtype.code
            if v.dtype.code != self.dtype or not _writable(params[i], v):
                return False
            grad = grads[i]
            if not isinstance(grad, Tensor):
                return False
            g = (<Tensor>grad).layout
            if not _same_order(g, v):
                if not v.contiguous or g.dtype is not v.dtype or g.storage.where.kind != CPU:
                    return False
                grad = grad.contiguous()
                g = (<Tensor?>grad).layout
                if not _same_order(g, v):
                    return False
                self.kept.append(grad)
            self.tensors[i].param = v.data()
            self.tensors[i].grad = g.data()
            self.tensors[i].n = v.numel
            self.tensors[i].size = 0
            self.tensors[i].bias = 1
            self.total += v.numel
            self.written.append(params[i])
            for k in range(len(columns)):
                x = columns[k][i]
                if not _writable(x, v):
                    return False
                self.tensors[i].state[k] = (<Tensor>x).layout.data()
                self.written.append(x)
        return self.dtype == F32 or self.dtype == F64

    cdef int run(self, const char* name, StepOptions* options) except -1:
        cdef step_fn f = <step_fn>find("optim", name, self.dtype)
        cdef StepTensor* tensors = self.tensors
        cdef Py_ssize_t count = self.count
        for t in self.written:
            begin_write(<Tensor>t)
        if self.total > RELEASE:
            with nogil:
                f(tensors, count, options)
        else:
            f(tensors, count, options)
        return 0


cdef int _clear(StepOptions* options, double decay, bint maximize) noexcept:
    options.decay = decay
    options.shrink = 1
    options.beta1 = options.beta2 = options.momentum = options.damping = options.eps = 0
    options.maximize = maximize
    options.nesterov = options.decoupled = options.centered = options.states = 0
    return 0


cdef bint _all_count(steps):
    for step in steps:
        if not _counts(step):
            return False
    return True


# --- the steps: False if the tensors are not such as a kernel takes, and then nothing was done ---------------------------
def sgd(params, grads, buffers, double lr, double momentum, double damping, double decay, bint nesterov,
        bint maximize):
    cdef _Plan plan = _Plan.__new__(_Plan)
    cdef StepOptions options
    cdef Py_ssize_t i
    if not plan.fill(params, grads, (buffers,) if momentum != 0 else ()):
        return False
    _clear(&options, decay, maximize)
    options.momentum, options.damping, options.nesterov = momentum, damping, nesterov
    options.states = momentum != 0
    for i in range(plan.count):
        plan.tensors[i].size = -lr
    plan.run("sgd", &options)
    return True


def adam(params, grads, averages, squares, largest, steps, double lr, double beta1,
         double beta2, double decay, double eps, bint amsgrad, bint maximize, bint decoupled):
    cdef _Plan plan = _Plan.__new__(_Plan)
    cdef StepOptions options
    cdef Py_ssize_t i
    cdef double count, last = -1, size = 0, bias = 1
    if not _all_count(steps) or not plan.fill(params, grads, (averages, squares, largest) if amsgrad else (averages, squares)):
        return False
    _clear(&options, decay, maximize)
    options.beta1, options.beta2, options.eps, options.decoupled = beta1, beta2, eps, decoupled
    options.shrink = 1 - lr * decay
    options.states = 3 if amsgrad else 2
    for i in range(plan.count):
        count = _counted(<Tensor>steps[i])
        if count != last:
            size, bias, last = -(lr / (1 - pow(beta1, count))), sqrt(1 - pow(beta2, count)), count
        plan.tensors[i].size, plan.tensors[i].bias = size, bias
    plan.run("adam", &options)
    return True


def rmsprop(params, grads, squares, averages, buffers, steps, double lr, double alpha,
            double eps, double decay, double momentum, bint centered, bint maximize):
    cdef _Plan plan = _Plan.__new__(_Plan)
    cdef StepOptions options
    cdef Py_ssize_t i
    cdef tuple columns = (squares,)
    if centered:
        columns += (averages,)
    if momentum > 0:
        columns += (buffers,)
    if not _all_count(steps) or not plan.fill(params, grads, columns):
        return False
    _clear(&options, decay, maximize)
    options.beta2, options.eps, options.momentum, options.centered = alpha, eps, momentum, centered
    options.states = len(columns)
    for i in range(plan.count):
        _counted(<Tensor>steps[i])
        plan.tensors[i].size = -lr
    plan.run("rmsprop", &options)
    return True


def adagrad(params, grads, sums, steps, double lr, double lr_decay, double eps, double decay,
            bint maximize):
    cdef _Plan plan = _Plan.__new__(_Plan)
    cdef StepOptions options
    cdef Py_ssize_t i
    if not _all_count(steps) or not plan.fill(params, grads, (sums,)):
        return False
    _clear(&options, decay, maximize)
    options.eps = eps
    options.states = 1
    for i in range(plan.count):
        plan.tensors[i].size = -(lr / (1 + (_counted(<Tensor>steps[i]) - 1) * lr_decay))
    plan.run("adagrad", &options)
    return True


# --- gradients kept within bounds, all in one call ------------------------------------------------------------------------
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
            if v.dtype.code != self.dtype or v.storage.where.kind != CPU or not (v.contiguous or dense(v)):
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


def total_norm(list tensors, double order):
    """The norm of all elements of all tensors, of order 1, 2 or infinity; or None."""
    cdef _Gradients all_ = _Gradients.__new__(_Gradients)
    cdef norms_fn f
    cdef double* norms
    cdef double total = 0, norm = 0
    cdef Py_ssize_t i
    cdef bint done
    cdef Layout out
    if not (order == 1 or order == 2 or order == float("inf")) or not all_.fill(tensors, False):
        return None
    for i in range(all_.count):
        if order > 2 and all_.each[i].n == 0:      # there is no largest element: refused by the norm of that tensor
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


def scale_to_norm(list tensors, Tensor total, double most):
    """Multiply all by min(most / (total + 1e-6), 1): False if they are not such as a kernel takes."""
    cdef _Gradients all_ = _Gradients.__new__(_Gradients)
    cdef Layout v = total.layout
    cdef double factor
    cdef float single
    if not all_.fill(tensors, True) or v.numel != 1 or v.dtype.code != all_.dtype or v.storage.where.kind != CPU:
        return False
    if all_.dtype == F32:                          # rounded as operations on such tensors round
        single = (<float*>v.data())[0] + <float>1e-6
        single = <float>most / single
        factor = single
    else:
        factor = most / ((<double*>v.data())[0] + 1e-6)
    all_.run(tensors, "scale", 1 if factor > 1 else factor)
    return True


def limit(list tensors, double bound):
    """Bring every element between -bound and bound: False if they are not such as a kernel takes."""
    cdef _Gradients all_ = _Gradients.__new__(_Gradients)
    if not bound >= 0 or not all_.fill(tensors, True):
        return False
    all_.run(tensors, "limit", bound)
    return True
