"""Forward mode and __torch_dispatch__ in place of operations: Note [Interception] in core/graph/intercept.pxd."""
cimport cython
from cpython.object cimport PyObject, PyTypeObject

from claygrad.core.data.storage cimport INTERCEPTED, unusual
from claygrad.core.graph.modes cimport modes
from claygrad.core.graph.observe cimport INPLACE, EventKind, form_t
from claygrad.core.op cimport COMPOSITE, MULTI_VIEW, POINTWISE, VIEW, Op
from claygrad.core.tensor cimport Tensor, requires
from claygrad.core.tensor import UPCALLS as _UPCALLS

cdef extern from "sealed.h":
    int clay_seal(PyTypeObject* type) except -1

cdef extern from *:
    """
    struct ClayLayers { int levels, modes, off, batches; };
    static thread_local ClayLayers clay_layers = {0, 0, 0, 0};
    """
    struct ClayLayers:
        int levels              # of forward mode in this thread
        int modes               # dispatch modes that are entered
        int off                 # __torch_dispatch__ is disabled
        int batches             # functions under vmap that are running
    ClayLayers clay_layers

cdef set _MAKING = set("empty_like full_like new_empty new_empty_strided new_full new_ones new_zeros ones_like zeros_like".split())
cdef set _classes = set()       # with __torch_dispatch__
cdef int _reasons = 0           # number of levels and modes, all threads
_switches = []                  # functions of modules that change their pointers for this


@cython.final
@cython.binding(False)
cdef class Operation:
    """A call of an operation that may be answered: `op`, `values` (the bound arguments), `in_place`; `run` runs the operation."""

    @property
    def in_place(self):
        return self.what == INPLACE

    @property
    def name(self):
        return self.op.name

    @property
    def kind(self):
        """"pointwise", "view", "views" or "other"."""
        if self.op.kind == POINTWISE:
            return "pointwise"
        return "view" if self.op.kind == VIEW else "views" if self.op.kind == MULTI_VIEW else "other"

    @property
    def differentiable(self):
        """The numbers of the outputs that have derivatives; None: all floating ones."""
        return self.op.differentiable

    def run(self, list values=None):
        """Run the operation and record it; whole tensors are saved (subclass, attributes, tangents)."""
        cdef PyObject* slots[24]
        cdef int i
        cdef bint was = modes().tracing_saves
        cdef list given = self.values if values is None else values
        if len(given) != self.op.n_params:
            raise TypeError(f"{self.op.name}: {len(given)} arguments for {self.op.n_params}")
        for i in range(self.op.n_params):
            slots[i] = <PyObject*>given[i]
        modes().tracing_saves = True
        try:
            return self.form(self.op, slots)
        finally:
            modes().tracing_saves = was


cdef bint dispatches(object value) noexcept:
    return type(value) is not Tensor and isinstance(value, Tensor) and type(value) in _classes


cdef bint dispatching(PyObject** slots, int n) noexcept:
    cdef int i
    cdef object value
    if clay_layers.off:
        return False
    if clay_layers.modes:
        return True
    if not _classes:
        return False
    for i in range(n):
        if slots[i] == NULL:
            continue
        value = <object>slots[i]
        if dispatches(value):
            return True
        if type(value) is list or type(value) is tuple:
            for x in value:
                if dispatches(x):
                    return True
    return False


cdef bint applies(PyObject** slots, int n) noexcept:
    return clay_layers.levels > 0 or clay_layers.batches > 0 or dispatching(slots, n)


cdef int swap_levels(int n) noexcept:
    cdef int was = clay_layers.levels
    clay_layers.levels = n
    return was


cdef int forward_levels() noexcept:
    return clay_layers.levels


cdef bint intercepting() noexcept:
    return unusual()[0] & INTERCEPTED != 0


cdef object intercept(form_t form, EventKind kind, Op op, PyObject** slots):
    cdef Operation call = None
    cdef int i
    if not applies(slots, op.n_params) or op.kind == COMPOSITE and (
            op.name not in _MAKING or not clay_layers.batches and not dispatching(slots, op.n_params)):
        return None
    call = Operation.__new__(Operation)
    call.form, call.op, call.what = form, op, kind
    call.values = [<object>slots[i] for i in range(op.n_params)]
    if clay_layers.batches:
        result = _UPCALLS["batched"](call)
        if result is not None or op.kind == COMPOSITE and not dispatching(slots, op.n_params):
            return result
    if clay_layers.levels and op.kind != COMPOSITE:
        result = _UPCALLS["forward_mode"](call)
        if result is not None:
            return result
    return _UPCALLS["dispatched"](call) if dispatching(slots, op.n_params) else None


# --- what Python sees ------------------------------------------------------------------------------------------------------
def on_intercepting(switch):
    """Register switch(bool), called when interception begins or ends."""
    _switches.append(switch)
    switch(intercepting())


cdef int _refresh() except -1:
    cdef bint on = _reasons > 0 or len(_classes) > 0
    if on != intercepting():
        unusual()[0] = unusual()[0] | INTERCEPTED if on else unusual()[0] & ~INTERCEPTED
        for switch in _switches:
            switch(on)
    return 0


def begin_reason():
    """Count one more level or mode, in some thread."""
    global _reasons
    _reasons += 1
    _refresh()


def end_reason():
    """Count one fewer."""
    global _reasons
    _reasons -= 1
    _refresh()


def get_levels():
    """The number of levels of forward mode in this thread."""
    return clay_layers.levels


def set_levels(int n):
    """Set that number; returns the former one."""
    return swap_levels(n)


def differentiated(*tensors):
    """Whether a computation on these tensors is differentiated: it is recorded, or forward mode is on."""
    if clay_layers.levels or clay_layers.batches:
        return True
    if modes().no_grad or modes().inference:
        return False
    return not tensors or any([requires(<Tensor?>x) for x in tensors])


cdef int batch_levels() noexcept:
    return clay_layers.batches


def get_batches():
    """How many functions under vmap this thread runs, one inside the other."""
    return clay_layers.batches


def set_batches(int n):
    """Tell how many functions under vmap this thread runs, one inside the other."""
    clay_layers.batches = n


def set_modes(int n):
    """Set the number of active dispatch modes of this thread."""
    clay_layers.modes = n


def switch_dispatch(bint off):
    """Disable or enable __torch_dispatch__ in this thread; returns whether it was disabled."""
    cdef bint was = clay_layers.off
    clay_layers.off = off
    return was


def note_dispatch(cls):
    """Register a class with `__torch_dispatch__`."""
    if cls not in _classes:
        _UPCALLS["dispatch_module"]()
        _classes.add(cls)
        _refresh()


def has_dispatch(cls):
    """Whether the class is registered."""
    return cls in _classes


_UPCALLS["note_dispatch"] = note_dispatch
clay_seal(<PyTypeObject*>Operation)               # Note [Sealed types]
