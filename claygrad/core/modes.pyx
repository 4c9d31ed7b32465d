"""Grad mode, inference mode, anomaly mode and saved-tensor hooks: flags of a thread."""
import threading

cdef extern from *:
    """
    struct ClayModes { int no_grad, inference, tracing_saves, autocast; };
    static thread_local ClayModes clay_modes = {0, 0, 0, 0};
    """
    struct ClayModes:
        int no_grad
        int inference
        int tracing_saves
        int autocast
    ClayModes clay_modes

cdef Modes* modes() noexcept nogil:
    return <Modes*>&clay_modes

cdef bint _anomaly = False
cdef bint _anomaly_nan = True

cdef bint anomaly() noexcept nogil:
    return _anomaly

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

cdef class Switch:
    """The context that turns recording on or off; `on` is told by the kind below."""
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


def get_anomaly():
    return _anomaly, _anomaly_nan

def set_anomaly(bint on, bint check_nan=True):
    global _anomaly, _anomaly_nan
    _anomaly = on
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
    _stack().pop()
    _refresh()


def disable_saved_hooks(message):
    """Forbid saved-tensor hooks with this message (None allows them again); returns the former message."""
    former = getattr(_local, "disabled", None)
    if message is not None and _stack():
        raise RuntimeError(message)
    _local.disabled = message
    return former
