"""Native forms of grid_sample and its derivatives; claygrad/ops/grid.py has the definitions."""
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op
from claygrad.core.data.kernels cimport find
from claygrad.core.data.layout cimport Layout, fresh, fresh_like
from claygrad.core.dispatch.guard cimport Arg, form_t
from claygrad.core.dispatch.registry cimport offer

cdef extern from "nn/grid_sample.hpp" namespace "clay" nogil:
    struct GridShape:
        int64_t batch, channels, points
        int64_t[3] size
        int axes, mode, padding
        bint align

    ctypedef bint (*grid_fn)(const GridShape*, const void*, const void*, const void*, void*) noexcept nogil

cdef bint _fill(const char* name, int code, GridShape* s, const void* grid, const void* a, const void* b, void* out):
    cdef grid_fn f = <grid_fn>find("grid", name, code)
    cdef bint filled
    if f == NULL:
        return False
    with nogil:
        filled = f(s, grid, a, b, out)
    return filled


# --- the three operations, for orders of 0: values, not derivatives -----------------------------------
cdef struct GridSample:
    Arg input, grid, interpolation_mode, padding_mode, align_corners, orders
cdef struct GridSpread:
    Arg grad_output, grid, interpolation_mode, padding_mode, align_corners, orders, shape
cdef struct GridSlope:
    Arg grad_output, input, grid, interpolation_mode, padding_mode, align_corners, orders


cdef bint _measure(GridShape* s, int ndim, const int64_t* shape, Layout grid, const Arg* mode, const Arg* padding, const Arg* align,
                   const Arg* orders) noexcept:
    """The sizes for an input of this shape; False if the grid is not for it, or values are differentiated."""
    cdef int i
    s.axes = grid.ndim - 2
    if ndim != grid.ndim or grid.shape[0] != shape[0] or grid.shape[grid.ndim - 1] != s.axes:
        return False
    for i in range(orders.value):
        if orders.ints[i] != 0:
            return False
    s.batch, s.channels, s.size[0] = shape[0], shape[1], 1
    s.points = grid.numel // (s.batch * s.axes)
    for i in range(s.axes):
        s.size[3 - s.axes + i] = shape[2 + i]
    s.mode, s.padding, s.align = mode.value, padding.value, align.value
    return s.mode != 2 or s.axes == 2


cdef Layout _sample(Op op, GridSample* a):
    cdef GridShape s
    cdef int64_t shape[5]
    cdef Layout x = <Layout>a.input.layout, grid = <Layout>a.grid.layout, out
    cdef int i
    if not _measure(&s, x.ndim, x.shape, grid, &a.interpolation_mode, &a.padding_mode, &a.align_corners, &a.orders):
        return None
    shape[0], shape[1] = s.batch, s.channels
    for i in range(s.axes):
        shape[2 + i] = grid.shape[1 + i]
    out = fresh(x.dtype, x.ndim, shape)
    return out if _fill("sample", x.dtype.code, &s, grid.data(), x.data(), NULL, out.data()) else None


cdef bint _fits(Layout g, GridShape* s, Layout grid) noexcept:
    """Whether a gradient has the shape of the samples."""
    cdef int i
    if g.ndim != grid.ndim or g.shape[0] != s.batch or g.shape[1] != s.channels:
        return False
    for i in range(s.axes):
        if g.shape[2 + i] != grid.shape[1 + i]:
            return False
    return True


cdef Layout _scatter_to_image(Op op, GridSpread* a):
    cdef GridShape s
    cdef Layout g = <Layout>a.grad_output.layout, grid = <Layout>a.grid.layout, out
    cdef int i
    for i in range(a.shape.value):
        if a.shape.ints[i] < 1:
            return None
    if not _measure(&s, a.shape.value, a.shape.ints, grid, &a.interpolation_mode, &a.padding_mode, &a.align_corners, &a.orders) \
            or not _fits(g, &s, grid):
        return None
    out = fresh(g.dtype, grid.ndim, a.shape.ints)
    return out if _fill("spread", g.dtype.code, &s, grid.data(), g.data(), NULL, out.data()) else None


cdef Layout _slope(Op op, GridSlope* a):
    cdef GridShape s
    cdef Layout g = <Layout>a.grad_output.layout, x = <Layout>a.input.layout, grid = <Layout>a.grid.layout, out
    if not _measure(&s, x.ndim, x.shape, grid, &a.interpolation_mode, &a.padding_mode, &a.align_corners, &a.orders) \
            or not _fits(g, &s, grid):
        return None
    out = fresh_like(grid)
    return out if _fill("slope", g.dtype.code, &s, grid.data(), g.data(), x.data(), out.data()) else None


offer("grid_sampler", <form_t>_sample, "input: float copied nonempty, grid: same copied nonempty 4-5d, orders: sizes")
offer("grid_spread", <form_t>_scatter_to_image,
          "grad_output: float copied nonempty, grid: same copied nonempty 4-5d, orders shape: sizes")
offer("grid_slope", <form_t>_slope, "grad_output input: float same copied nonempty, grid: same copied nonempty 4-5d, orders: sizes")
