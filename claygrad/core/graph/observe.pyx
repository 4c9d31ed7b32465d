"""Observing operations, forward and backward. Note [Observers] is in core/graph/observe.pxd."""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t

from claygrad.core.cpython.recursion cimport enter_recursion, leave_recursion
from claygrad.core.op cimport MULTI_VIEW, Op
from claygrad.core.op cimport VIEW as VIEW_OP
from claygrad.core.data.storage cimport OBSERVED, unusual
from claygrad.core.graph.modes cimport watch_backward
from claygrad.core.graph.node cimport Node
from claygrad.core.graph.provenance cimport here, line_of
from claygrad.core.tensor cimport Tensor, detached
from claygrad.core.tensor import UPCALLS

cdef extern from *:
    """
    struct ClayWatch { int quiet, inside; long long thread; };
    static thread_local ClayWatch clay_watch = {0, 0, 0};
    """
    struct ClayWatch:
        int quiet               # an observer is running
        int inside              # the next form is the one that was announced
        long long thread        # this thread's number; 0: it has none yet
    ClayWatch clay_watch

cdef tuple _observers = ()      # replaced, never changed: an event keeps the one it began with
cdef bint _observing = False
cdef bint _open_rules = False
cdef int64_t _threads = 0
_KINDS = ("forward", "in-place", "view", "make", "index", "backward", "leaf", "step")


cdef int64_t _this_thread() noexcept:
    global _threads
    if clay_watch.thread == 0:
        _threads += 1
        clay_watch.thread = _threads
    return clay_watch.thread


def get_thread():
    """The number of this thread for observers."""
    return _this_thread()


def set_thread(int64_t number):
    """This thread continues the work of another."""
    clay_watch.thread = number


def unobserved(run):
    """The result of run(), of whose operations the observers are not told."""
    clay_watch.quiet += 1
    try:
        return run()
    finally:
        clay_watch.quiet -= 1


cdef bint* observing() noexcept:
    return &_observing


cdef bint rules_are_open() noexcept:
    return _open_rules


cdef bint wanted() noexcept:
    if clay_watch.inside:
        clay_watch.inside = 0
        return False
    return not clay_watch.quiet


cdef void announce() noexcept:
    clay_watch.inside = 1


cdef str name_of(EventKind kind, PyObject* what):
    if kind == BACKWARD or kind == LEAF:
        return (<Node>what).name()
    if kind <= VIEW:
        return (<Op>what).name
    return (<object>what).__name__ if kind == MAKE else <str><object>what


# --- what Python sees ------------------------------------------------------------------------------------------------------
cdef list _tensors(object values):
    out = []
    for x in values:
        if isinstance(x, Tensor):
            out.append(x)
        elif isinstance(x, (list, tuple)):
            enter_recursion(b" in an argument or a result")
            try:
                out.extend(_tensors(x))
            finally:
                leave_recursion()
    return out


@cython.binding(False)
cdef class Call:
    """One operation, as a Python observer gets it.

    kind is "forward", "in-place", "view", "make", "index", "backward", "leaf" or "step"; name the operation's, or the node's;
    args are the bound arguments (for a backward, the incoming gradients); result is None until it has ended.
    """
    cdef readonly str kind
    cdef readonly str name
    cdef readonly object what           # the operation, the factory, or the node
    cdef readonly tuple args
    cdef readonly object result
    cdef readonly bint failed
    cdef object code
    cdef int lasti

    @property
    def inputs(self):
        """The tensors among the arguments, those in lists too."""
        return _tensors(self.args)

    @property
    def outputs(self):
        """The tensors that it gave."""
        return _tensors((self.result,))

    @property
    def origin(self):
        """File, line, function and text of the user's line that runs it: of a backward, the line that called backward."""
        return line_of(self.code, self.lasti)

    @property
    def forward_origin(self):
        """Of a backward: the line that recorded the node."""
        cdef Node node
        if not isinstance(self.what, Node):
            return None
        node = <Node>self.what
        return line_of(node.code, node.lasti)

    def __repr__(self):
        return f"<{self.kind} {self.name}>"


cdef Call _call_of(Event* event):
    cdef Call call
    cdef Py_ssize_t i
    if event.call == NULL:
        call = Call.__new__(Call)
        call.kind, call.name, call.what = _KINDS[<int>event.kind], name_of(event.kind, event.what), <object>event.what
        call.args = tuple([None if event.args[i] == NULL else <object>event.args[i] for i in range(event.n)])
        call.code = here(&call.lasti)
        Py_INCREF(call)
        event.call = <PyObject*>call
    return <Call>event.call


cdef object call_of(Event* event, PyObject* result):
    cdef Call call = _call_of(event)
    call.failed = result == NULL
    call.result = None if result == NULL else tuple(<list>result) if event.kind == BACKWARD else <object>result    # a list is reused
    return call


@cython.binding(False)
cdef class Observer:
    """Base class of observers: a Python class defines before(call) and after(call), a Cython class begin and end.

        class Printer(Observer):
            def after(self, call):
                print(call.kind, call.name, [x.shape for x in call.inputs])

        with Printer():
            ...

    The arguments: threads="own" (this thread) or "all"; rules=True makes derivative rules run as operations, so that each is
    seen.
    """

    def __init__(self, *, threads="own", bint rules=False):
        if threads != "own" and threads != "all":
            raise ValueError(f"threads must be 'own' or 'all', not {threads!r}")
        self.thread = 0 if threads == "all" else -1
        self.rules = rules

    cdef int begin(self, Event* event, int64_t* mark) except -1:
        self.before(_call_of(event))
        return 0

    cdef int end(self, Event* event, int64_t mark, PyObject* result) except -1:
        self.after(call_of(event, result))
        return 0

    def before(self, call):
        """An operation begins."""

    def after(self, call):
        """It has ended; `call.failed` tells whether by an exception."""

    @property
    def is_active(self):
        return self.active

    def add(self):
        """Begin to observe."""
        global _observers
        if self.active:
            raise RuntimeError("this observer is active already")
        if len(_observers) == MAX_OBSERVERS:
            raise RuntimeError(f"more than {MAX_OBSERVERS} observers at once")
        if self.thread != 0:
            self.thread = _this_thread()
        self.active = True
        _observers += (self,)
        _refresh()

    def remove(self):
        """Stop; also from inside before or after, and from another thread."""
        global _observers
        if self.active:
            self.active = False
            _observers = tuple([x for x in _observers if x is not self])
            _refresh()

    def __enter__(self):
        self.add()
        return self

    def __exit__(self, *error):
        self.remove()


_switches = []                  # functions of modules that change their pointers for this


def on_observing(switch):
    """Register switch(bool), called when the first observer comes or the last one goes."""
    _switches.append(switch)
    switch(_observing)


cdef int _refresh() except -1:
    global _observing, _open_rules
    cdef bint on = len(_observers) > 0
    _open_rules = any([(<Observer>x).rules for x in _observers])
    if on != _observing:
        _observing = on
        unusual()[0] = unusual()[0] | OBSERVED if on else unusual()[0] & ~OBSERVED
        watch_backward(on)
        for switch in _switches:
            switch(on)
    return 0


# --- calling observers ----------------------------------------------------------------------------------------------------------
cdef int begin(Event* event) except -1:
    cdef Observer observer
    cdef tuple who = _observers
    cdef int i, n = len(who)
    cdef int64_t here_ = _this_thread()
    Py_INCREF(who)
    event.who = <PyObject*>who
    event.call = NULL
    event.begun = 0
    clay_watch.quiet += 1
    try:
        for i in range(n):
            observer = <Observer>who[i]
            if observer.active and (observer.thread == 0 or observer.thread == here_):
                event.marks[i] = 0
                observer.begin(event, &event.marks[i])
                event.begun |= 1U << i
    except:
        finish(event, NULL)
        raise
    finally:
        clay_watch.quiet -= 1
    return 0


cdef int finish(Event* event, PyObject* result) except -1:
    cdef Observer observer
    cdef tuple who = <tuple>event.who
    cdef int i, n = len(who)
    cdef object first = None
    clay_watch.quiet += 1
    for i in range(n - 1, -1, -1):
        observer = <Observer>who[i]
        if event.begun >> i & 1 and observer.active:
            try:
                observer.end(event, event.marks[i], result)
            except BaseException as error:
                if first is None:
                    first = error
    clay_watch.quiet -= 1
    Py_DECREF(who)
    Py_XDECREF(event.call)
    event.call = NULL
    if first is not None:
        raise first
    return 0


cdef object observed(form_t form, EventKind kind, Op op, PyObject** slots):
    cdef Event event
    cdef object result
    event.kind = VIEW if kind == FORWARD and (op.kind == VIEW_OP or op.kind == MULTI_VIEW) else kind
    event.what, event.args, event.n = <PyObject*>op, slots, op.n_params
    begin(&event)
    clay_watch.inside = 1
    try:
        result = form(op, slots)
    except:
        clay_watch.inside = 0
        finish(&event, NULL)
        raise
    clay_watch.inside = 0               # it is still set if the last observer was removed meanwhile
    finish(&event, <PyObject*>result)
    return result


def _observed_detach(Tensor self):
    """detach() with observers."""
    cdef Event event
    cdef PyObject* given = <PyObject*>self
    if not wanted():
        return detached(self)
    event.kind, event.what, event.args, event.n = MAKE, <PyObject*>_DETACH, &given, 1
    begin(&event)
    result = detached(self)
    finish(&event, <PyObject*>result)
    return result


_DETACH = Tensor.detach
UPCALLS["observed_detach"] = _observed_detach
