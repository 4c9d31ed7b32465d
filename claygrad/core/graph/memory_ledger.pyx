"""Which line and which module allocated each block of memory: for the peak always, for every block while a ledger is open."""
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from cython.operator cimport dereference as at
from libc.stdint cimport int64_t
from libcpp.map cimport map as ordered_map
from libcpp.pair cimport pair
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from claygrad.core.data.kernels cimport PoolWatch, pool_reset_peak, pool_stats, pool_watch
from claygrad.core.graph.provenance cimport here
from claygrad.core.tensor cimport Tensor
from claygrad.core.tensor import UPCALLS as _UPCALLS

cdef extern from "Python.h":
    int PyGILState_Check() noexcept
    unsigned long PyThread_get_thread_ident() noexcept

# Note [Ledger]
# The pool reports each allocation and release (Note [Watched pool], platform/allocator.cpp). A tally counts the live bytes of a line
# or of a module. Tallies are not copied at every new peak: a tally that changes first stores its value at the latest peak, and one
# that has not changed since still has that value.
cdef struct Tally:
    PyObject* code                # of a line; kept alive until the next ledger
    int lasti
    int64_t live
    int64_t blocks
    int64_t at_peak
    int64_t changed               # the number of the peak that `at_peak` belongs to

cdef struct Block:
    int64_t bytes
    int line
    int module

cdef object _peak_code = None     # the line that allocated last at the peak
cdef int _peak_lasti = 0
cdef int _open = 0                # ledgers
cdef unordered_map[size_t, Block] _blocks
cdef vector[Tally] _lines         # the first of both counts older blocks
cdef vector[Tally] _modules
cdef ordered_map[pair[size_t, int], int] _line_of
cdef unordered_map[unsigned long, int] _running        # thread -> the module that runs in it
cdef int64_t _now = 0, _highest = 0, _peaks = 0
cdef int _peak_line = 0, _peak_module = 0


cdef void _note_peak() noexcept:
    global _peak_code
    if PyGILState_Check():
        _peak_code = here(&_peak_lasti)


cdef void _change(Tally* tally, int64_t bytes, int count) noexcept:
    if tally.changed != _peaks:
        tally.at_peak = tally.live
        tally.changed = _peaks
    tally.live += bytes
    tally.blocks += count


cdef Tally _new_tally(PyObject* code, int lasti) noexcept:
    cdef Tally tally
    tally.code, tally.lasti, tally.live, tally.blocks, tally.at_peak, tally.changed = code, lasti, 0, 0, 0, _peaks
    return tally


cdef int _line_index() noexcept:
    cdef int lasti = 0
    code = here(&lasti)
    cdef pair[size_t, int] key = pair[size_t, int](<size_t><PyObject*>code, lasti)
    if code is None:
        return 0
    found = _line_of.find(key)
    if found != _line_of.end():
        return at(found).second
    Py_INCREF(code)
    _lines.push_back(_new_tally(<PyObject*>code, lasti))
    _line_of[key] = <int>_lines.size() - 1
    return <int>_lines.size() - 1


cdef void _allocated(void* address, int64_t bytes) noexcept:
    global _now, _highest, _peaks, _peak_line, _peak_module
    cdef Block block
    if not PyGILState_Check():
        return
    block.bytes, block.line, block.module = bytes, _line_index(), 0
    running = _running.find(PyThread_get_thread_ident())
    if running != _running.end() and at(running).second < <int>_modules.size():
        block.module = at(running).second
    _blocks[<size_t>address] = block
    _change(&_lines[block.line], bytes, 1)
    _change(&_modules[block.module], bytes, 1)
    _now += bytes
    if _now > _highest:
        _highest, _peak_line, _peak_module = _now, block.line, block.module
        _peaks += 1


cdef void _freed(void* address, int64_t bytes) noexcept:
    global _now
    found = _blocks.find(<size_t>address)
    _now -= bytes
    if found == _blocks.end():
        _change(&_lines[0], -bytes, -1)
        _change(&_modules[0], -bytes, -1)
        return
    _change(&_lines[at(found).second.line], -bytes, -1)
    _change(&_modules[at(found).second.module], -bytes, -1)
    _blocks.erase(found)


cdef _watch(bint every):
    cdef PoolWatch by
    by.peak = _note_peak
    by.allocated = NULL
    by.freed = NULL
    if every:
        by.allocated = _allocated
        by.freed = _freed
    pool_watch(by)


def open_ledger():
    """Note the line and the module of every block from now on, until `close_ledger` was called as often."""
    global _open, _now
    _open += 1
    if _open == 1:
        _blocks.clear()
        for tally in _lines:
            if tally.code != NULL:
                Py_DECREF(<object>tally.code)
        _lines.clear()
        _modules.clear()
        _line_of.clear()
        _running.clear()
        _lines.push_back(_new_tally(NULL, 0))
        _modules.push_back(_new_tally(NULL, 0))
        _now = pool_stats().allocated
        _lines[0].live = _modules[0].live = _now
        _watch(True)
    reset_ledger_peak()


def close_ledger():
    """Stop recording. The ledger can still be read; blocks released from now on stay in it."""
    global _open
    if _open:
        _open -= 1
        if _open == 0:
            _watch(False)
            _blocks.clear()


def reset_ledger_peak():
    global _highest, _peaks, _peak_line, _peak_module
    _highest, _peak_line, _peak_module = _now, 0, 0
    _peaks += 1


def ledger_open():
    return _open > 0


def enter_module(int number):
    """Count the allocations of this thread for a module (a number from `new_module`); returns the former one."""
    cdef unsigned long me = PyThread_get_thread_ident()
    cdef int before = _running[me]
    _running[me] = number
    return before


def new_module():
    """A number for a module, whose blocks are counted together."""
    _modules.push_back(_new_tally(NULL, 0))
    return <int>_modules.size() - 1


cdef object _place(PyObject* code, int lasti):
    return None if code == NULL else (<object>code, lasti)


cdef list _read(vector[Tally]* tallies):
    cdef size_t i
    cdef Tally* t
    out = []
    for i in range(tallies[0].size()):
        t = &tallies[0][i]
        out.append((_place(t.code, t.lasti), t.live, t.blocks, t.at_peak if t.changed == _peaks else t.live))
    return out


def read_ledger():
    """The lines and the modules, each as (origin or None, live bytes, blocks, bytes at the peak); the first counts older blocks."""
    return _read(&_lines), _read(&_modules)


def ledger_peak():
    """Bytes, line and module (as indices into `read_ledger`) of the peak since the ledger was opened or its peak reset."""
    return _highest, _peak_line, _peak_module


def peak_place():
    """(code, instruction) of the allocation at the peak; None if unknown."""
    return None if _peak_code is None else (_peak_code, _peak_lasti)


def reset_peak():
    """Reset the peak to the bytes in use now."""
    pool_reset_peak()


def block_place(size_t address):
    """((code, instruction) or None, module) of the block at this address, if the ledger recorded its allocation."""
    found = _blocks.find(address)
    if found == _blocks.end():
        return None
    return _place(_lines[at(found).second.line].code, _lines[at(found).second.line].lasti), at(found).second.module


def unrecorded_origin(Tensor t):
    """(code, instruction) of the line that created an unrecorded tensor, from the ledger."""
    if not _open:
        return None
    from claygrad.core.graph.memory_holders import block_of
    found = block_place(block_of(t)[0])
    return found[0] if found is not None else None


_UPCALLS["unrecorded_origin"] = unrecorded_origin
_watch(False)
