"""The native loops of sampling at the points of a grid; claygrad/ops/grid.py says what they compute."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32, F64
from claygrad.core.data.kernels cimport find
from claygrad.core.data.layout cimport Layout, fresh, fresh_like, in_order
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.registry cimport offer

cdef extern from "nn/grid_sample.hpp" namespace "clay" nogil:
    struct GridShape:
        int64_t batch, channels, points
        int64_t[3] size
        int axes, mode, padding
        bint align

    ctypedef bint (*grid_fn)(const GridShape*, const void*, const void*, const void*, void*) noexcept nogil

cdef bint _fill(const char* name, int code, GridShape* s, const void* grid, const void* a, const void* b, void* made):
    cdef grid_fn f = <grid_fn>find("grid", name, code)
    cdef bint filled
    if f == NULL:
        return False
    with nogil:
        filled = f(s, grid, a, b, made)
    return filled


# --- the three operations, for tensors that fit each other and values that are not differentiated ------
cdef bint _plain(object orders):
    for order in <tuple?>orders:
        if order != 0:
            return False
    return True


cdef Layout _in_memory(PyObject* slot, int ndim, int code):
    """A tensor of so many axes and this dtype (or of any, for the first one) in row-major order, or None."""
    if not isinstance(<object>slot, Tensor):
        return None
    cdef Layout x = (<Tensor>slot).layout
    if x.numel == 0 or x.ndim != ndim or (code >= 0 and x.dtype.code != code):
        return None
    return in_order(x) if x.dtype.code == F32 or x.dtype.code == F64 else None


cdef bint _measure(GridShape* s, int64_t* shape, Layout grid, PyObject** how) except -1:
    """The sizes for an input of this shape; False if the grid is not for it."""
    cdef int i
    s.axes = grid.ndim - 2
    if s.axes not in (2, 3) or grid.shape[0] != shape[0] or grid.shape[grid.ndim - 1] != s.axes:
        return False
    s.batch, s.channels, s.size[0] = shape[0], shape[1], 1
    s.points = grid.numel // (s.batch * s.axes)
    for i in range(s.axes):
        s.size[3 - s.axes + i] = shape[2 + i]
    s.mode, s.padding, s.align = <object>how[0], <object>how[1], <object>how[2]
    return s.mode != 2 or s.axes == 2


cdef Layout _sample(Op op, PyObject** slots, Layout target):
    """_grid_sampler(input, grid, mode, padding, align, orders)"""
    cdef GridShape s
    cdef int64_t shape[5]
    cdef Layout grid = _in_memory(slots[1], (<Tensor>slots[1]).layout.ndim, -1), x, out
    cdef int i
    if grid is None or type(<object>slots[5]) is not tuple or not _plain(<object>slots[5]):
        return None
    x = _in_memory(slots[0], grid.ndim, grid.dtype.code)
    if x is None or not _measure(&s, x.shape, grid, slots + 2):
        return None
    shape[0], shape[1] = s.batch, s.channels
    for i in range(s.axes):
        shape[2 + i] = grid.shape[1 + i]
    out = fresh(x.dtype, x.ndim, shape)
    return out if _fill("sample", x.dtype.code, &s, grid.data(), x.data(), NULL, out.data()) else None


cdef bint _fits(Layout g, GridShape* s, Layout grid) noexcept:
    """Whether a gradient has the shape of the samples."""
    cdef int i
    if g.shape[0] != s.batch or g.shape[1] != s.channels:
        return False
    for i in range(s.axes):
        if g.shape[2 + i] != grid.shape[1 + i]:
            return False
    return True


cdef Layout _spread(Op op, PyObject** slots, Layout target):
    """_grid_spread(gradient, grid, mode, padding, align, orders, shape)"""
    cdef GridShape s
    cdef int64_t shape[5]
    cdef Layout grid = _in_memory(slots[1], (<Tensor>slots[1]).layout.ndim, -1), g, out
    cdef int i
    if grid is None or grid.ndim > 5 or type(<object>slots[5]) is not tuple or not _plain(<object>slots[5]):
        return None
    given = <object>slots[6]
    g = _in_memory(slots[0], grid.ndim, grid.dtype.code)
    if g is None or type(given) is not tuple or len(<tuple>given) != grid.ndim:
        return None
    for i in range(grid.ndim):
        shape[i] = given[i]
        if shape[i] < 1:
            return None
    if not _measure(&s, shape, grid, slots + 2) or not _fits(g, &s, grid):
        return None
    out = fresh(g.dtype, grid.ndim, shape)
    return out if _fill("spread", g.dtype.code, &s, grid.data(), g.data(), NULL, out.data()) else None


cdef Layout _slope(Op op, PyObject** slots, Layout target):
    """_grid_slope(gradient, input, grid, mode, padding, align, orders)"""
    cdef GridShape s
    cdef Layout grid = _in_memory(slots[2], (<Tensor>slots[2]).layout.ndim, -1), g, x, out
    if grid is None or type(<object>slots[6]) is not tuple or not _plain(<object>slots[6]):
        return None
    g, x = _in_memory(slots[0], grid.ndim, grid.dtype.code), _in_memory(slots[1], grid.ndim, grid.dtype.code)
    if g is None or x is None or not _measure(&s, x.shape, grid, slots + 3) or not _fits(g, &s, grid):
        return None
    out = fresh_like(grid)
    return out if _fill("slope", g.dtype.code, &s, grid.data(), g.data(), x.data(), out.data()) else None


offer("grid_sampler", _sample)
offer("grid_spread", _spread)
offer("grid_slope", _slope)
