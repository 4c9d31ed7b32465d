"""Grad mode, inference mode, anomaly mode and saved-tensor hooks: flags of a thread."""
import threading

cimport cython

cdef extern from *:
    """
    struct ClayModes { int no_grad, inference, tracing_saves, autocast; void* running; };
    static thread_local ClayModes clay_modes = {0, 0, 0, 0, NULL};
    """
    struct ClayModes:
        int no_grad
        int inference
        int tracing_saves
        int autocast
        void* running
    ClayModes clay_modes

cdef Modes* modes() noexcept nogil:
    return <Modes*>&clay_modes

cdef int _anomaly = 0
cdef bint _anomaly_nan = True

cdef bint _deterministic = False
cdef bint _fills = False

cdef bint deterministic() noexcept nogil:
    return _deterministic

cdef bint fills_new_memory() noexcept nogil:
    return _fills

cdef int anomaly() noexcept nogil:
    return _anomaly

cdef void watch_backward(bint on) noexcept:
    global _anomaly
    _anomaly = _anomaly | WATCHED if on else _anomaly & ~WATCHED

cdef bint anomaly_checks_nan() noexcept nogil:
    return _anomaly_nan


def get_grad_enabled():
    return not clay_modes.no_grad

def set_grad_enabled_flag(bint on):
    clay_modes.no_grad = not on

def get_inference():
    return bool(clay_modes.inference)

def set_inference_flag(bint on):
    clay_modes.inference = on

def set_autocast_flag(bint on):
    clay_modes.autocast = on

@cython.binding(False)
cdef class Switch:
    """A context that switches recording on or off; subclasses say which."""
    cdef public bint prev
    cdef bint on

    def __enter__(self):
        self.prev = not clay_modes.no_grad
        clay_modes.no_grad = not self.on

    def __exit__(self, *error):
        clay_modes.no_grad = not self.prev


cdef class SwitchOff(Switch):
    def __cinit__(self, *args):
        self.prev = True
        self.on = False


cdef class SwitchOn(Switch):
    def __cinit__(self, *args):
        self.prev = True
        self.on = True


cdef extern from *:
    """
    /* `with no_grad():` creates a context each time. Without arguments this happens in C; other calls take the usual path. */
    static PyObject* clay_new_switch(PyObject* type, PyObject* const* args, size_t flags, PyObject* names) {
        Py_ssize_t n = PyVectorcall_NARGS(flags), n_named = names ? PyTuple_GET_SIZE(names) : 0;
        PyObject *given = PyTuple_New(n), *named = n_named ? PyDict_New() : NULL, *out = NULL;
        if (given == NULL || (n_named && named == NULL)) goto end;
        if (n == 0 && n_named == 0) {
            out = ((PyTypeObject*)type)->tp_base->tp_new((PyTypeObject*)type, given, NULL);
            goto end;
        }
        for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
        for (Py_ssize_t i = 0; i < n_named; i++)
            if (PyDict_SetItem(named, PyTuple_GET_ITEM(names, i), args[n + i]) < 0) goto end;
        out = PyType_Type.tp_call(type, given, named);
    end:
        Py_XDECREF(given);
        Py_XDECREF(named);
        return out;
    }
    static void clay_use_native_new(PyObject* type) { ((PyTypeObject*)type)->tp_vectorcall = clay_new_switch; }
    """
    void clay_use_native_new(object type)


def use_native_new(cls):
    """Give a subclass of SwitchOff or SwitchOn the constructor in C. Its own subclasses do not inherit it."""
    if not (isinstance(cls, type) and issubclass(cls, (SwitchOff, SwitchOn))):
        raise TypeError(f"use_native_new() takes a class that comes from SwitchOff or SwitchOn, not {cls!r}")
    clay_use_native_new(cls)
    return cls


def set_deterministic(bint on, bint fills):
    """Whether algorithms must be deterministic, and whether memory that would be uninitialised is filled."""
    global _deterministic, _fills
    _deterministic = on
    _fills = on and fills

def get_fills_new_memory():
    return _fills

def get_anomaly():
    return bool(_anomaly & ANOMALY), _anomaly_nan

def set_anomaly(bint on, bint check_nan=True):
    global _anomaly, _anomaly_nan
    _anomaly = _anomaly | ANOMALY if on else _anomaly & ~ANOMALY
    _anomaly_nan = check_nan


_local = threading.local()


cdef list _stack():
    try:
        return _local.hooks
    except AttributeError:
        _local.hooks = []
        return _local.hooks


cdef object saved_hooks():
    """The innermost pair of saved-tensor hooks, or None."""
    cdef list stack = _stack()
    return stack[-1] if stack else None


cdef _refresh():
    clay_modes.tracing_saves = len(_stack()) > 0


def push_saved_hooks(pack, unpack):
    message = getattr(_local, "disabled", None)
    if message is not None:
        raise RuntimeError(message)
    _stack().append((pack, unpack))
    _refresh()


def pop_saved_hooks():
    if _stack():
        _stack().pop()
    _refresh()


def disable_saved_hooks(message):
    """Forbid saved-tensor hooks with this message (None allows them again); returns the former message."""
    former = getattr(_local, "disabled", None)
    if message is not None and _stack():
        raise RuntimeError(message)
    _local.disabled = message
    return former


def get_saved_hooks():
    """The saved-tensor hooks of this thread, and the message that forbids them."""
    return list(_stack()), getattr(_local, "disabled", None)


def set_saved_hooks(state):
    _local.hooks, _local.disabled = list(state[0]), state[1]
    _refresh()
