"""Who may answer in place of an operation. Note [Interception] is in core/graph/intercept.pxd."""
cimport cython
from cpython.object cimport PyObject, PyTypeObject

from claygrad.core.data.storage cimport INTERCEPTED, unusual
from claygrad.core.graph.modes cimport modes
from claygrad.core.graph.observe cimport INPLACE, EventKind, form_t
from claygrad.core.op cimport COMPOSITE, MULTI_VIEW, POINTWISE, VIEW, Op
from claygrad.core.tensor cimport Tensor, requires
from claygrad.core.tensor import LATE as _LATE

cdef extern from "sealed.h":
    int clay_seal(PyTypeObject* type) except -1

cdef extern from *:
    """
    struct ClayLayers { int levels, modes, off, batches; };
    static thread_local ClayLayers clay_layers = {0, 0, 0, 0};
    """
    struct ClayLayers:
        int levels              # of forward mode that operations of this thread look at
        int modes               # dispatch modes that are entered
        int off                 # __torch_dispatch__ of nobody is asked
        int batches             # functions under vmap that are running
    ClayLayers clay_layers

cdef set _MAKING = set("empty_like full_like new_empty new_empty_strided new_full new_ones new_zeros ones_like zeros_like".split())
cdef set _classes = set()       # with __torch_dispatch__
cdef int _reasons = 0           # levels and modes of all threads
_switches = []                  # of the modules that have forms for this


@cython.final
@cython.binding(False)
cdef class Operation:
    """A call of an operation that somebody may answer: `op`, `values` (its arguments, bound), `in_place`; `run` is the operation."""

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
        """What the operation gives, recorded; tensors are saved with all that belongs to them."""
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
        result = _LATE["batched"](call)
        if result is not None or op.kind == COMPOSITE and not dispatching(slots, op.n_params):
            return result
    if clay_layers.levels and op.kind != COMPOSITE:
        result = _LATE["forward_mode"](call)
        if result is not None:
            return result
    return _LATE["dispatched"](call) if dispatching(slots, op.n_params) else None


# --- what Python sees ------------------------------------------------------------------------------------------------------
def on_intercepting(switch):
    """Call switch(whether somebody may answer) when that changes."""
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
    """One more level or mode that operations look at, in some thread."""
    global _reasons
    _reasons += 1
    _refresh()


def end_reason():
    """One fewer."""
    global _reasons
    _reasons -= 1
    _refresh()


def get_levels():
    """How many levels of forward mode this thread looks at."""
    return clay_layers.levels


def set_levels(int n):
    """Look at so many; returns the former number."""
    return swap_levels(n)


def differentiated(*tensors):
    """Whether derivatives of what is computed now, of these tensors, may be asked for: it is recorded, or tangents are computed."""
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
    """Tell how many dispatch modes this thread has entered and not left."""
    clay_layers.modes = n


def switch_dispatch(bint off):
    """Ask no __torch_dispatch__ in this thread, or do; returns whether it was off."""
    cdef bint was = clay_layers.off
    clay_layers.off = off
    return was


def note_dispatch(cls):
    """Ask the `__torch_dispatch__` of this class from now on."""
    if cls not in _classes:
        _LATE["dispatch_module"]()
        _classes.add(cls)
        _refresh()


def has_dispatch(cls):
    """Whether instances of this class are asked."""
    return cls in _classes


_LATE["note_dispatch"] = note_dispatch
clay_seal(<PyTypeObject*>Operation)               # Note [Sealed types]
