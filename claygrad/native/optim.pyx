"""Optimizer steps over all parameters of a group in one call; claygrad/optim has the definitions."""
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.math cimport pow, sqrt
from libc.stdint cimport int64_t

from claygrad.core.data.dtype cimport F32, F64
from claygrad.core.graph.inplace cimport begin_write
from claygrad.core.data.kernels cimport find
from claygrad.core.data.layout cimport Layout, dense, on_cpu
from claygrad.core.graph.modes cimport modes
from claygrad.core.graph.observe cimport STEP, Event, announce, begin, finish, observing, wanted
from claygrad.core.overrides cimport asking, is_odd
from claygrad.core.tensor cimport Tensor

cdef extern from "optim/optim.hpp" namespace "clay" nogil:
    struct StepTensor:
        void* param
        const void* grad
        void* state[3]
        int64_t n
        double size
        double bias
        double numbers[2]

    struct StepOptions:
        double decay
        double shrink
        double beta1
        double beta2
        double momentum
        double damping
        double eps
        double min_step
        double max_step
        int maximize
        int nesterov
        int decoupled
        int states
        int centered

    ctypedef void (*step_fn)(const StepTensor*, int64_t, const StepOptions*) noexcept nogil

cdef extern from "Python.h":
    PyObject* PyDict_GetItem(object d, object key)

# Elements above which a step runs without the interpreter lock.
cdef enum:
    RELEASE = 32768


def clear_gradients(params):
    """p.grad = None for all."""
    cdef bint unusual = asking()[0]
    for p in params:
        if unusual and is_odd(p):                   # a subclass may override the setter of grad
            if p.grad is not None:
                p.grad = None
        else:
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
            entry = PyDict_GetItem(state, p)       # adds no entry, also for a defaultdict
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
    if v.dtype is not like.dtype or v.ndim != like.ndim or not on_cpu(v) or v.bits:
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
    (<Tensor>x).layout.storage.own()             # before the address is read
    return _same_order((<Tensor>x).layout, like) and (not (<Tensor>x).inference or modes().inference)


cdef bint _counts(object x):
    if not isinstance(x, Tensor):
        return False
    cdef Layout v = (<Tensor>x).layout
    return v.numel == 1 and (v.dtype.code == F32 or v.dtype.code == F64) and on_cpu(v) and not v.bits


cdef double _number(Tensor t) noexcept:
    """The value of a step counter."""
    return (<float*>t.layout.data())[0] if t.layout.dtype.code == F32 else (<double*>t.layout.data())[0]


cdef double _set(Tensor t, double value) except? -1:
    """Set a step counter; returns the rounded value."""
    begin_write(t)
    if t.layout.dtype.code == F32:
        (<float*>t.layout.data())[0] = <float>value
    else:
        (<double*>t.layout.data())[0] = value
    return _number(t)


cdef double _counted(Tensor step) except? -1:
    """Increment a step counter; returns the new count."""
    return _set(step, _number(step) + 1)


cdef double _multiplied(Tensor t, double by) except? -1:
    """The same by a number, rounded to the dtype of the counter."""
    return _set(t, <float>_number(t) * <float>by if t.layout.dtype.code == F32 else _number(t) * by)


cdef class _Plan:
    """The tensors of a step, checked before anything is written."""
    cdef StepTensor* tensors
    cdef Py_ssize_t count
    cdef int64_t total
    cdef int dtype
    cdef StepOptions options
    cdef object params
    cdef list kept                    # gradients in the order of their parameters
    cdef list written

    def __dealloc__(self):
        PyMem_Free(self.tensors)

    cdef bint fill(self, params, grads, tuple columns, tuple counters) except -1:
        """False if a kernel cannot take them all."""
        cdef Py_ssize_t i, k
        cdef Layout v, g
        if not modes().no_grad and not modes().inference:
            return False
        for numbers in counters:
            for x in numbers:
                if not _counts(x):
                    return False
        self.params = params
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
                if not v.contiguous or g.dtype is not v.dtype or not on_cpu(g):
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

    cdef bint run(self, const char* name, int writes=1) except -1:
        """`writes`: how many writes to a parameter torch's step makes, for its version counter. Returns True."""
        cdef step_fn f = <step_fn>find("optim", name, self.dtype)
        cdef StepTensor* tensors = self.tensors
        cdef StepOptions* options = &self.options
        cdef Py_ssize_t count = self.count
        if observing()[0] and wanted():
            return self.observe(name, writes)
        for t in self.written:
            begin_write(<Tensor>t)
        for t in self.params if writes > 1 else ():
            for _ in range(1, writes):
                (<Tensor>t).bump()
        if self.total > RELEASE:
            with nogil:
                f(tensors, count, options)
        else:
            f(tensors, count, options)
        return True

    cdef bint observe(self, const char* name, int writes) except -1:
        """The same, observed: Note [Observers]."""
        cdef object parameters = list(self.params)
        cdef PyObject* given = <PyObject*>parameters
        cdef Event event
        cdef object what = (<bytes>name).decode()
        event.kind, event.what, event.args, event.n = STEP, <PyObject*>what, &given, 1
        begin(&event)
        announce()
        try:
            self.run(name, writes)
        except:
            finish(&event, NULL)
            raise
        finish(&event, given)
        return True


cdef _Plan _plan(params, grads, tuple columns, tuple counters, double decay, bint maximize):
    """`columns`: the states of all parameters; `counters`: lists of a number for each. None: the kernel does not take them."""
    cdef _Plan plan = _Plan.__new__(_Plan)
    plan.options.decay, plan.options.shrink, plan.options.maximize = decay, 1, maximize
    plan.options.states = <int>len(columns)
    return plan if plan.fill(params, grads, columns, counters) else None


# --- the steps: False if the kernel does not take the tensors; then nothing was written ---------------------------
def sgd(params, grads, buffers, double lr, double momentum, double damping, double decay, bint nesterov,
        bint maximize):
    cdef Py_ssize_t i
    cdef _Plan plan = _plan(params, grads, (buffers,) if momentum != 0 else (), (), decay, maximize)
    if plan is None:
        return False
    plan.options.momentum, plan.options.damping, plan.options.nesterov = momentum, damping, nesterov
    for i in range(plan.count):
        plan.tensors[i].size = -lr
    return plan.run("sgd")


def adam(params, grads, averages, squares, largest, steps, double lr, double beta1,
         double beta2, double decay, double eps, bint amsgrad, bint maximize, bint decoupled):
    cdef Py_ssize_t i
    cdef double count, last = -1, size = 0, bias = 1
    cdef _Plan plan = _plan(params, grads, (averages, squares, largest) if amsgrad else (averages, squares), (steps,), decay, maximize)
    if plan is None:
        return False
    plan.options.beta1, plan.options.beta2, plan.options.eps, plan.options.decoupled = beta1, beta2, eps, decoupled
    plan.options.shrink = 1 - lr * decay
    for i in range(plan.count):
        count = _counted(<Tensor>steps[i])
        if count != last:
            size, bias, last = -(lr / (1 - pow(beta1, count))), sqrt(1 - pow(beta2, count)), count
        plan.tensors[i].size, plan.tensors[i].bias = size, bias
    return plan.run("adam", 1 + (decoupled and decay != 0))


def rmsprop(params, grads, squares, averages, buffers, steps, double lr, double alpha,
            double eps, double decay, double momentum, bint centered, bint maximize):
    cdef Py_ssize_t i
    cdef tuple columns = (squares,)
    if centered:
        columns += (averages,)
    if momentum > 0:
        columns += (buffers,)
    cdef _Plan plan = _plan(params, grads, columns, (steps,), decay, maximize)
    if plan is None:
        return False
    plan.options.beta2, plan.options.eps, plan.options.momentum, plan.options.centered = alpha, eps, momentum, centered
    for i in range(plan.count):
        _counted(<Tensor>steps[i])
        plan.tensors[i].size = -lr
    return plan.run("rmsprop")


def adagrad(params, grads, sums, steps, double lr, double lr_decay, double eps, double decay,
            bint maximize):
    cdef Py_ssize_t i
    cdef _Plan plan = _plan(params, grads, (sums,), (steps,), decay, maximize)
    if plan is None:
        return False
    plan.options.eps = eps
    for i in range(plan.count):
        plan.tensors[i].size = -(lr / (1 + (_counted(<Tensor>steps[i]) - 1) * lr_decay))
    return plan.run("adagrad")


def adadelta(params, grads, squares, deltas, steps, double lr, double rho, double eps, double decay, bint maximize):
    cdef Py_ssize_t i
    cdef _Plan plan = _plan(params, grads, (squares, deltas), (steps,), decay, maximize)
    if plan is None:
        return False
    plan.options.beta2, plan.options.eps = rho, eps
    for i in range(plan.count):
        _counted(<Tensor>steps[i])
        plan.tensors[i].size = -lr
    return plan.run("adadelta")


def adamax(params, grads, averages, largest, steps, double lr, double beta1, double beta2, double eps, double decay, bint maximize):
    cdef Py_ssize_t i
    cdef _Plan plan = _plan(params, grads, (averages, largest), (steps,), decay, maximize)
    if plan is None:
        return False
    plan.options.beta1, plan.options.beta2, plan.options.eps = beta1, beta2, eps
    for i in range(plan.count):
        plan.tensors[i].size = -lr / (1 - pow(beta1, _counted(<Tensor>steps[i])))
    return plan.run("adamax")


def nadam(params, grads, averages, squares, products, steps, double lr, double beta1, double beta2, double decay,
          double momentum_decay, double eps, bint maximize, bint decoupled):
    cdef Py_ssize_t i
    cdef double count, now, soon, so_far
    cdef _Plan plan = _plan(params, grads, (averages, squares), (steps, products), decay, maximize)
    if plan is None:
        return False
    plan.options.beta1, plan.options.beta2, plan.options.eps, plan.options.decoupled = beta1, beta2, eps, decoupled
    plan.options.shrink = 1 - lr * decay
    for i in range(plan.count):
        count = _counted(<Tensor>steps[i])
        now = beta1 * (1 - 0.5 * pow(0.96, count * momentum_decay))
        soon = beta1 * (1 - 0.5 * pow(0.96, (count + 1) * momentum_decay))
        so_far = _multiplied(<Tensor>products[i], now)
        plan.tensors[i].bias = 1 - pow(beta2, count)
        plan.tensors[i].size = -lr * (1 - now) / (1 - so_far)
        plan.tensors[i].numbers[0] = -lr * soon / (1 - so_far * soon)
    return plan.run("nadam", 2 + (decoupled and decay != 0))


def radam(params, grads, averages, squares, steps, double lr, double beta1, double beta2, double decay, double eps,
          bint maximize, bint decoupled):
    cdef Py_ssize_t i
    cdef double count, bias, length, longest = 2 / (1 - beta2) - 1
    cdef _Plan plan = _plan(params, grads, (averages, squares), (steps,), decay, maximize)
    if plan is None:
        return False
    plan.options.beta1, plan.options.beta2, plan.options.eps, plan.options.decoupled = beta1, beta2, eps, decoupled
    plan.options.shrink = 1 - lr * decay
    for i in range(plan.count):
        count = _counted(<Tensor>steps[i])
        bias = 1 - pow(beta2, count)
        length = longest - 2 * count * pow(beta2, count) / bias
        plan.tensors[i].size, plan.tensors[i].bias = lr, 1 - pow(beta1, count)
        plan.tensors[i].numbers[0], plan.tensors[i].numbers[1] = sqrt(bias), 0
        if length > 5:
            plan.tensors[i].numbers[1] = sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
    return plan.run("radam", 1 + (decoupled and decay != 0))


def asgd(params, grads, averages, shares, rates, steps, double lr, double lambd, double t0, double alpha, double decay, bint maximize):
    cdef Py_ssize_t i
    cdef double count, rate
    cdef _Plan plan = _plan(params, grads, (averages,), (steps, shares, rates), decay, maximize)
    if plan is None:
        return False
    for i in range(plan.count):
        count, rate = _counted(<Tensor>steps[i]), _number(<Tensor>rates[i])
        plan.tensors[i].size = -rate
        plan.tensors[i].numbers[0], plan.tensors[i].numbers[1] = 1 - lambd * rate, _number(<Tensor>shares[i])
        _set(<Tensor>rates[i], lr / pow(1 + lambd * lr * count, alpha))
        _set(<Tensor>shares[i], 1 / (count - t0 if count - t0 > 1 else 1))
    return plan.run("asgd", 2)


def rprop(params, grads, previous, sizes, steps, double shrink, double grow, double min_step, double max_step, bint maximize):
    cdef Py_ssize_t i
    cdef _Plan plan = _plan(params, grads, (previous, sizes), (steps,), 0, maximize)
    if plan is None:
        return False
    plan.options.beta1, plan.options.beta2, plan.options.min_step, plan.options.max_step = shrink, grow, min_step, max_step
    for i in range(plan.count):
        _counted(<Tensor>steps[i])
    return plan.run("rprop")
