"""Nested backward: after some levels the next one runs in a new thread, which has a new stack."""
import threading

from claygrad.core.graph.modes cimport Modes, modes

# As in torch. Each level takes a few frames of Python, which allows a thousand of them in a thread.
cdef enum:
    LIMIT = 60
    MAX_THREADS = 100                 # a limit for endless recursion; each thread maps a stack

cdef extern from *:
    """
    static thread_local int clay_depth = 0;
    static thread_local int clay_threads = 0;       // that wait for this one
    static inline int clay_get_threads(void) { return clay_threads; }
    static inline void clay_set_threads(int n) { clay_threads = n; }
    static inline int clay_get_depth(void) { return clay_depth; }
    static inline void clay_add_depth(int n) { clay_depth += n; }
    """
    int clay_get_depth() noexcept
    void clay_add_depth(int n) noexcept
    int clay_get_threads() noexcept
    void clay_set_threads(int n) noexcept

cdef bint too_deep() noexcept:
    return clay_get_depth() >= LIMIT

cdef void deeper() noexcept:
    clay_add_depth(1)

cdef void shallower() noexcept:
    clay_add_depth(-1)


cdef list _carried = []


def carry(read, write):
    """Register per-thread settings that the new thread takes over by write(read())."""
    _carried.append((read, write))


cdef class _Errand:
    """A call that another thread makes, with the settings of the one that asks."""
    cdef object fn, result, error
    cdef tuple args
    cdef Modes here
    cdef list settings
    cdef int threads

    def __call__(self):
        modes()[0] = self.here
        clay_set_threads(self.threads)
        try:
            for write, value in self.settings:
                write(value)
            self.result = self.fn(*self.args)
        except BaseException as error:
            self.error = error
        finally:
            self.settings = self.args = None


cdef object in_new_thread(object fn, tuple args):
    cdef _Errand errand
    if clay_get_threads() >= MAX_THREADS:
        raise RecursionError(f"maximum recursion depth exceeded: more than {LIMIT * MAX_THREADS} calls of backward inside one another")
    errand = _Errand.__new__(_Errand)
    errand.threads = clay_get_threads() + 1
    errand.fn, errand.args, errand.here = fn, args, modes()[0]
    errand.settings = [(write, read()) for read, write in _carried]
    args = None
    thread = threading.Thread(target=errand, name="claygrad-backward", daemon=True)
    thread.start()
    thread.join()
    if errand.error is not None:
        try:
            raise errand.error
        finally:
            errand.error = None
    return errand.result
