"""`__torch_function__` of arguments, and function modes: Note [Overrides] in overrides.pxd."""
import threading

cimport cython
from cpython.object cimport PyObject, PyTypeObject

from claygrad.core.user_warnings import warn
from claygrad.core.data.size import Size
from claygrad.core.cpython.recursion cimport enter_recursion, leave_recursion
from claygrad.core.tensor cimport Tensor
from claygrad.core.tensor import UPCALLS, watch_slots

cdef extern from *:
    """
    struct ClayOverrides { int off, all_off, modes, backward, skip; };
    static thread_local ClayOverrides clay_overrides = {0, 0, 0, 0, 0};
    """
    struct ClayOverrides:
        int off                 # __torch_function__ of arguments is disabled
        int all_off             # function modes too
        int modes               # how many are active
        int skip                # the next call is not reported
        int backward            # backward is running, outside of user code
    ClayOverrides clay_overrides

cdef extern from "Python.h":
    PyObject* _PyType_Lookup(PyTypeObject* type, object name)
    PyTypeObject* Py_TYPE(object value)

cdef extern from "watched_methods.h":
    object (*clay_ask)(PyObject* function, PyObject** args, Py_ssize_t n, PyObject* kwnames, int* answered)
    int clay_learn_methods(PyTypeObject* type, set left_out) except -1
    void clay_watch_methods(bint on)

cdef object _WORD = "__torch_function__"
cdef bint _asking = False
cdef bint _for_good = False                         # not only because of modes
cdef int _active = 0                                # modes of all threads
_stack = threading.local()                          # modes of this thread, the innermost last


# --- arguments that override ---------------------------------------------------------------------------------------------------------
cdef inline PyObject* _method_of(object value) noexcept:
    """The `__torch_function__` of its class; None for Tensor itself, numbers and None."""
    cdef type kind = type(value)
    if kind is Tensor or kind is float or kind is int or value is None or kind is bool or kind is str:
        return NULL
    return _PyType_Lookup(<PyTypeObject*>kind, _WORD)


cdef bint is_odd(object value) noexcept:
    cdef PyObject* method = _method_of(value)
    return method != NULL and <object>method is not _disabled_torch_function_impl


cdef list _joined(list found, object value):
    """Add an argument: one per class, subclasses before their bases, else in order."""
    cdef Py_ssize_t i
    cdef type kind = type(value)
    if found is None:
        return [value]
    for x in found:
        if type(x) is kind:
            return found
    for i in range(len(found)):
        if issubclass(kind, type(found[i])):
            found.insert(i, value)
            return found
    found.append(value)
    return found


cdef list overriding(PyObject** args, Py_ssize_t n):
    cdef Py_ssize_t i
    cdef list found = None
    cdef object value
    if clay_overrides.all_off or clay_overrides.backward:
        return None
    if clay_overrides.skip:
        clay_overrides.skip = 0
        return None
    if not clay_overrides.off:
        for i in range(n):
            value = <object>args[i]
            if type(value) is tuple or type(value) is list:
                for x in value:
                    if is_odd(x):
                        found = _joined(found, x)
            elif is_odd(value):
                found = _joined(found, value)
    return [] if found is None and clay_overrides.modes else found


# --- calling overrides ------------------------------------------------------------------------------------------------
cdef object hand_over(object function, list found, PyObject** args, Py_ssize_t n, PyObject* kwnames):
    cdef Py_ssize_t i
    cdef tuple names = () if kwnames == NULL else <tuple>kwnames
    given = tuple([<object>args[i] for i in range(n)])
    named = {name: <object>args[n + i] for i, name in enumerate(names)} if names else None
    return hand_on(function, found, given, named)


cdef dict _forms = None                             # Note [What overrides receive] in claygrad/_override_forms.py


cdef object hand_on(object function, list found, tuple args, object kwargs):
    global _forms
    cdef list counted
    if _forms is None:
        _forms = UPCALLS["override_forms"]()
    form = _forms.get(function)
    if form is not None:
        bound, named, values = form.handed(args, kwargs)
        counted = _counted(values)
        if not found or _any_odd(counted):
            return _hand(function, found, _types(counted), bound, named, None)
    return _hand(function, found, _types(found), args, kwargs, None)


cdef tuple _types(list values):
    return () if values is None else tuple([type(x) for x in values])


cdef bint _any_odd(list values):
    for x in values or ():
        if is_odd(x):
            return True
    return False


cdef list _counted(values):
    """Those that override, and the plain tensors among them, in order of precedence: what functions written in Python count."""
    cdef list found = None
    for x in values:
        if type(x) is Tensor or is_odd(x):
            found = _joined(found, x)
    return found


cdef object _hand(object function, list found, tuple types, tuple args, object kwargs, object refusal):
    mode = None
    if clay_overrides.modes and not clay_overrides.all_off:
        mode = _stack.modes.pop()
        clay_overrides.modes -= 1
        try:
            result = mode.__torch_function__(function, types, args, kwargs)
        finally:
            _stack.modes.append(mode)
            clay_overrides.modes += 1
        if result is not NotImplemented:
            return result
    for x in found:
        method = x.__torch_function__
        if getattr(method, "__self__", None) is x and method is not _disabled_torch_function_impl:
            warn("Defining your `__torch_function__` as a plain method is deprecated and will be an error in future, please define it as "
                 "a classmethod.", UserWarning)
        result = method(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise _unanswered(function, found, mode) if refusal is None else TypeError(refusal(function, types))


cdef object _unanswered(object function, list found, object mode):
    name, module = getattr(function, "__name__", None), getattr(function, "__module__", None)
    qualified = getattr(function, "__qualname__", name) or name
    said = f"{module}.{qualified}" if module and name else repr(function)
    lines = [] if mode is None else [f"  - mode object {mode!r}"]
    lines += [f"  - tensor subclass {type(x)!r}" for x in found]
    return TypeError(f"Multiple dispatch failed for '{said}'; all __torch_function__ handlers returned NotImplemented:\n\n"
                     + "\n".join(lines) + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


cdef object _ask(PyObject* function, PyObject** args, Py_ssize_t n, PyObject* kwnames, int* answered):
    """For the methods that watched_methods.h replaces."""
    cdef list found = overriding(args, n + (0 if kwnames == NULL else len(<tuple>kwnames)))
    if found is None:
        return None
    answered[0] = True
    return hand_over(<object>function, found, args, n, kwnames)


def ask_slot(Tensor self, str name):
    """For len(), bool() and the like: the answer of an override in a tuple, or None."""
    cdef PyObject* args[1]
    args[0] = <PyObject*>self
    cdef list found = overriding(args, 1)
    if found is None:
        return None
    answer = hand_on(getattr(Tensor, name), found, (self,), None)
    if name == "__bool__" and type(answer) is not bool:          # of a tensor it would be asked again, for ever
        raise TypeError(f"__bool__ should return bool, returned {type(answer).__name__}")
    return (answer,)


def overriding_of(values):
    """The arguments that override, in order of precedence; a list, empty for modes alone, or None."""
    cdef list found = None
    if clay_overrides.all_off or clay_overrides.backward:
        return None
    if clay_overrides.skip:
        clay_overrides.skip = 0
        return None
    if not clay_overrides.off:
        for x in values:
            if is_odd(x):
                found = _joined(found, x)
    return [] if found is None and clay_overrides.modes else found


def hand(function, list found, values, tuple args, kwargs, refusal):
    """Call the overrides, with the classes of `values`; `refusal` is the error if all return NotImplemented."""
    return _hand(function, found, _types(_counted(values)), args, kwargs, refusal)


def skip_one():
    """Do not report the next call of this thread."""
    clay_overrides.skip = 1


# --- switching checks on and off -----------------------------------------------------------------------------------------------
_switches = [watch_slots]                           # functions of modules that change their pointers for this


def on_asking(switch):
    """Register switch(bool), called when checking begins or ends."""
    _switches.append(switch)
    switch(_asking)


cdef bint* asking() noexcept:
    return &_asking


cdef int _set_asking(bint on) except -1:
    global _asking
    if on == _asking:
        return 0
    _asking = on
    clay_watch_methods(on)
    for switch in _switches:
        switch(on)
    return 0


cdef int meet() except -1:
    global _for_good
    _for_good = True
    return _set_asking(True)


def note_class(cls):
    """Check from now on, if instances of this class override."""
    cdef PyObject* method = _PyType_Lookup(<PyTypeObject*>cls, _WORD)
    cdef PyObject* dispatch = _PyType_Lookup(<PyTypeObject*>cls, "__torch_dispatch__")
    if dispatch != NULL and <object>dispatch is not _disabled_torch_dispatch_impl:
        UPCALLS["note_dispatch"](cls)
        if method == _PyType_Lookup(<PyTypeObject*>Tensor, _WORD):           # as in PyTorch: __torch_dispatch__ alone is asked
            cls.__torch_function__ = _disabled_torch_function_impl
            return
    if not _for_good and method != NULL and <object>method is not _disabled_torch_function_impl:
        meet()


def push_mode(mode):
    """Make a function mode the innermost of this thread."""
    global _active
    if not hasattr(type(mode), "__torch_function__"):
        raise TypeError(f"a mode with __torch_function__ expected, got {type(mode).__name__}")
    if not hasattr(_stack, "modes"):
        _stack.modes = []
    _active += 1
    _set_asking(True)
    _stack.modes.append(mode)
    clay_overrides.modes += 1


def pop_mode():
    """Take the innermost function mode of this thread away."""
    global _active
    if not clay_overrides.modes:
        raise RuntimeError("no function mode is active in this thread")
    mode = _stack.modes.pop()
    clay_overrides.modes -= 1
    _active -= 1
    if not _active and not _for_good:
        _set_asking(False)
    return mode


def mode_stack():
    """The function modes of this thread, the innermost last."""
    return list(getattr(_stack, "modes", ()))


def mode_is_active():
    """Whether a function mode would be asked now."""
    return clay_overrides.modes > 0 and not clay_overrides.all_off


def overrides_are_on():
    """Whether `__torch_function__` of arguments would be asked now."""
    return not clay_overrides.off and not clay_overrides.all_off


cdef int begin_backward() noexcept:
    cdef int was = clay_overrides.backward
    clay_overrides.backward = 1
    return was


cdef void end_backward(int was) noexcept:
    clay_overrides.backward = was


cdef int to_nobody() noexcept:
    cdef int was = clay_overrides.all_off
    clay_overrides.all_off = 1
    return was


cdef void to_somebody(int was) noexcept:
    clay_overrides.all_off = was


cdef int to_user() noexcept:
    cdef int was = clay_overrides.backward
    clay_overrides.backward = 0
    return was


cdef void from_user(int was) noexcept:
    clay_overrides.backward = was


@cython.binding(False)
cdef class DisableTorchFunctionSubclass:
    """A context in which `__torch_function__` of arguments is not asked; function modes still are."""
    cdef list was

    def __enter__(self):
        if self.was is None:
            self.was = []
        self.was.append(clay_overrides.off)
        clay_overrides.off = 1

    def __exit__(self, *error):
        clay_overrides.off = self.was.pop()


@cython.binding(False)
cdef class DisableTorchFunction:
    """A context in which neither `__torch_function__` of arguments nor function modes are asked."""
    cdef list was

    def __enter__(self):
        if self.was is None:
            self.was = []
        self.was.append(clay_overrides.all_off)
        clay_overrides.all_off = 1

    def __exit__(self, *error):
        clay_overrides.all_off = self.was.pop()


@cython.binding(False)
cdef class EnableTorchFunction:
    """A context in which both are asked, inside a context that switched them off."""
    cdef list was

    def __enter__(self):
        if self.was is None:
            self.was = []
        self.was.append((clay_overrides.off, clay_overrides.all_off))
        clay_overrides.off = clay_overrides.all_off = 0

    def __exit__(self, *error):
        clay_overrides.off, clay_overrides.all_off = self.was.pop()


# --- attributes of classes -------------------------------------------------------------------------------------------
@cython.binding(False)                              # an attribute of classes that must not become a bound method
def _disabled_torch_function_impl(function, types, args=(), kwargs=None):
    """The `__torch_function__` of classes that disable overrides: runs the operation."""
    cdef int was = clay_overrides.off
    clay_overrides.off = 1
    try:
        return function(*args, **({} if kwargs is None else kwargs))
    finally:
        clay_overrides.off = was


@cython.binding(False)
def _disabled_torch_dispatch_impl(function, types, args=(), kwargs=None):
    """The `__torch_dispatch__` of every class: there is none."""
    return function(*args, **({} if kwargs is None else kwargs))


cdef set _unwrapped = None                          # functions whose results keep their class


cdef object _converted(object value, object cls):
    if cls is Tensor:
        return value
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else value.as_subclass(cls)
    if isinstance(value, (tuple, list)) and type(value) is not Size:
        enter_recursion(b" in the result of an operation")
        try:
            return type(value)([_converted(x, cls) for x in value])
        finally:
            leave_recursion()
    return value


def _torch_function(cls, func, types, args=(), kwargs=None):
    """Run an operation, and make its results instances of the class it was called for."""
    cdef int was = clay_overrides.off
    global _unwrapped
    for kind in types:
        if not issubclass(cls, kind):
            return NotImplemented
    clay_overrides.off = 1
    try:
        result = func(*args, **({} if kwargs is None else kwargs))
        if _unwrapped is None:
            _unwrapped = {Tensor.grad.__get__, Tensor._grad.__get__, Tensor._base.__get__}
        return result if func in _unwrapped else _converted(result, cls)
    finally:
        clay_overrides.off = was


def _init():
    global clay_ask
    clay_ask = _ask
    operators = "add sub mul truediv floordiv mod matmul and or xor lshift rshift".split()      # they are checked in Verbs
    clay_learn_methods(<PyTypeObject*>Tensor, {f"__{name}__" for name in operators}
                       | {"__dict__", "origin", "__array__", "_make_subclass", "_make_wrapper_subclass"})
    Tensor.__torch_function__ = classmethod(_torch_function)
    Tensor.__torch_dispatch__ = _disabled_torch_dispatch_impl
    UPCALLS["note_class"], UPCALLS["ask_slot"] = note_class, ask_slot

_init()
