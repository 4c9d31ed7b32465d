"""The recorder behind profilers: when each operation began and ended, in native records that are decoded later."""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from claygrad.core.op cimport Op
from claygrad.core.data.kernels cimport pool_stats
from claygrad.core.graph.modes cimport modes
from claygrad.core.graph.module_call cimport as_call
from claygrad.core.graph.node cimport Node, clay_scope, clay_scope_release, clay_scope_take
from claygrad.core.graph.observe cimport (BACKWARD, LEAF, Event, EventKind, Observer, call_of, name_of)
from claygrad.core.graph.observe import get_thread
from claygrad.core.graph.provenance cimport here, line_of
from claygrad.core.tensor cimport Tensor

cdef extern from *:
    """
    #include <time.h>
    static inline long long clay_now(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
    }
    // The processor's time stamp counter takes a third of the time of the clock; used where the system trusts it.
    static int clay_counts = 0;
    #if defined(__x86_64__)
    #include <x86intrin.h>
    static inline long long clay_ticks(void) { return clay_counts ? (long long)__rdtsc() : clay_now(); }
    #else
    static inline long long clay_ticks(void) { return clay_now(); }
    #endif
    struct ClayThread { long long number; };
    static thread_local ClayThread clay_thread = {0};
    """
    int64_t clay_now() noexcept nogil
    int64_t clay_ticks() noexcept nogil
    bint clay_counts
    struct ClayThread:
        long long number
    ClayThread clay_thread

cdef enum:
    USER = 100                  # a range that the program marked
    _TAKES = 1                  # of `wants`: shapes
    _STACK = 2
    _MEMORY = 4
    _FLOPS = 8
    _LINES = 16

cdef struct Mark:
    int64_t start
    int64_t end                 # 0: it is still running
    int kind
    bint failed
    PyObject* what              # owned: an Op, a Factory or a name
    PyObject* code              # owned, or NULL
    int lasti
    PyObject* more              # owned: (shapes, stack, flops), or NULL
    clay_scope* scope
    int64_t thread
    int64_t bytes               # of the pool: at the beginning, then what it took

_NAMES = {0: "forward", 1: "in-place", 2: "view", 3: "make", 4: "index", 5: "backward", 6: "leaf", 7: "step", USER: "user"}


cdef int64_t _first_ticks, _first_now


cdef _choose_clock():
    global clay_counts, _first_ticks, _first_now
    try:
        with open("/sys/devices/system/clocksource/clocksource0/current_clocksource") as file:
            clay_counts = file.read().strip() == "tsc"
    except OSError:
        clay_counts = False
    _first_ticks, _first_now = clay_ticks(), clay_now()

_choose_clock()


cdef int64_t _in_nanoseconds(int64_t ticks, double each) noexcept:
    return _first_now + <int64_t>((ticks - _first_ticks) * each)


def now():
    """Nanoseconds of the clock that the records use."""
    return clay_now()


cdef int64_t _thread() noexcept:
    if clay_thread.number == 0:
        clay_thread.number = get_thread()
    return clay_thread.number


cdef object _shape_of(object value):
    if isinstance(value, Tensor):
        return (<Tensor>value).layout.shape_tuple()
    if isinstance(value, (list, tuple)) and len(value) and isinstance(value[0], Tensor):
        return [(<Tensor>x).layout.shape_tuple() if isinstance(x, Tensor) else () for x in value]
    return ()


@cython.binding(False)
cdef class Timeline(Observer):
    """Records while it is added. `wants` names what is recorded besides times: "shapes", "stack", "memory", "lines".

    flops, if not None, is asked for the number of operations of each call: flops(call).
    """
    cdef vector[Mark] marks_
    cdef int wants
    cdef object flops
    cdef readonly int64_t overlooked          # records beyond the limit
    cdef int64_t limit

    def __init__(self, *wants, flops=None, threads="all", int64_t limit=20_000_000):
        super().__init__(threads=threads)
        bits = {"shapes": _TAKES, "stack": _STACK, "memory": _MEMORY, "lines": _LINES}
        for name in wants:
            self.wants |= bits[name]
        self.flops = flops
        self.limit = limit
        self.marks_.reserve(4096)

    def __dealloc__(self):
        self.empty()

    cdef void empty(self) noexcept:
        cdef size_t i
        for i in range(self.marks_.size()):
            Py_XDECREF(self.marks_[i].what)
            Py_XDECREF(self.marks_[i].code)
            Py_XDECREF(self.marks_[i].more)
            clay_scope_release(self.marks_[i].scope)
        self.marks_.clear()

    def clear(self):
        self.empty()

    def __len__(self):
        return self.marks_.size()

    cdef int64_t put(self, int kind, object what, object code, int lasti, clay_scope* scope, object more) except -1:
        cdef Mark mark
        if <int64_t>self.marks_.size() >= self.limit:
            self.overlooked += 1
            return 0
        mark.kind, mark.failed, mark.lasti, mark.end = kind, False, lasti, 0
        Py_INCREF(what)
        mark.what = <PyObject*>what
        mark.code = NULL
        if code is not None:
            Py_INCREF(code)
            mark.code = <PyObject*>code
        mark.more = NULL
        if more is not None:
            Py_INCREF(more)
            mark.more = <PyObject*>more
        mark.scope = clay_scope_take(scope)
        mark.thread = _thread()
        mark.bytes = pool_stats().allocated if self.wants & _MEMORY else 0
        self.marks_.push_back(mark)
        self.marks_.back().start = clay_ticks()          # the time above does not count for the operation
        return self.marks_.size()

    cdef void close(self, int64_t at, bint failed) noexcept:
        cdef int64_t t = clay_ticks()
        cdef Mark* mark
        if at < 1 or at > <int64_t>self.marks_.size():
            return
        mark = &self.marks_[at - 1]
        mark.end, mark.failed = t, failed
        if self.wants & _MEMORY:
            mark.bytes = pool_stats().allocated - mark.bytes

    cdef int begin(self, Event* event, int64_t* mark) except -1:
        cdef object what = <object>event.what, code = None, more = None
        cdef Node node
        cdef int lasti = 0
        cdef Py_ssize_t i
        cdef clay_scope* scope = <clay_scope*>modes().running
        if event.kind == BACKWARD or event.kind == LEAF:
            node = <Node>event.what
            what = node.op if node.label is None and node.op is not None else node.name()
            scope = node.scope
            if self.wants & _LINES:
                code, lasti = node.code, node.lasti
        elif self.wants & _LINES:
            code = here(&lasti)
        if self.wants & (_TAKES | _STACK):
            more = ([_shape_of(<object>event.args[i]) if event.args[i] != NULL else () for i in range(event.n)]
                    if self.wants & _TAKES else None, _stack() if self.wants & _STACK else None, 0)
        mark[0] = self.put(event.kind, what, code, lasti, scope, more)
        return 0

    cdef int end(self, Event* event, int64_t mark, PyObject* result) except -1:
        cdef Mark* record
        self.close(mark, result == NULL)
        if self.flops is not None and mark and result != NULL:
            count = self.flops(call_of(event, result))
            if count and mark <= <int64_t>self.marks_.size():
                record = &self.marks_[mark - 1]
                shapes, stack = (None, None) if record.more == NULL else (<object>record.more)[:2]
                more = (shapes, stack, count)
                Py_INCREF(more)
                Py_XDECREF(record.more)
                record.more = <PyObject*>more
        return 0

    def enter(self, str name):
        """Begin a user-defined range; returns the argument of leave()."""
        cdef int lasti = 0
        cdef object code = here(&lasti) if self.wants & _LINES else None
        more = (None, _stack(), 0) if self.wants & _STACK else None
        return self.put(USER, name, code, lasti, <clay_scope*>modes().running, more)

    def leave(self, int64_t at):
        self.close(at, False)

    def records(self):
        """All records in the order of their beginnings, as tuples: kind, name, start and end in nanoseconds, thread, bytes, failed,
        (file, line, function, source) or None, the call of the module or None, shapes or None, stack or None, flops."""
        cdef size_t i
        cdef Mark* m
        cdef dict lines = {}
        cdef double each = 1.0
        if clay_counts:                                  # calibrated since this module was loaded
            each = (clay_now() - _first_now) / <double>(clay_ticks() - _first_ticks)
        out = []
        for i in range(self.marks_.size()):
            m = &self.marks_[i]
            if not m.end:
                continue                                  # still running
            place = None
            if m.code != NULL:
                key = (<size_t>m.code, m.lasti)
                place = lines.get(key)
                if place is None:
                    place = lines[key] = line_of(<object>m.code, m.lasti)
            shapes, stack, flops = (None, None, 0) if m.more == NULL else <object>m.more
            out.append((_NAMES[m.kind], _name(m), _in_nanoseconds(m.start, each), _in_nanoseconds(m.end, each), m.thread, m.bytes,
                        bool(m.failed), place, as_call(m.scope), shapes, stack, flops))
        return out


cdef str _name(Mark* m):
    what = <object>m.what
    if isinstance(what, str):
        return what
    if m.kind == BACKWARD:
        return (<Op>what).node_label
    return name_of(<EventKind>m.kind, m.what)


cdef list _stack():
    """The frames of the program, the innermost first: `file(line): function`."""
    import sys
    out = []
    frame = sys._getframe(0)
    while frame is not None:
        out.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return out
