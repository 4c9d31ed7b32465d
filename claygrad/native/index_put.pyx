"""Native forms of x[i, j] and x[i, j] = y with index tensors, numbers and masks. None: the declaration runs, and raises errors."""
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from claygrad.native.mask cimport Blocks, add_blocks, move_blocks, picked, positions, expanded_copy, where_fn, where_of
from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport BOOL, F32, F64, I64, of_code
from claygrad.core.graph.inplace cimport write_layout
from claygrad.core.data.kernels cimport take_rows
from claygrad.core.data.layout cimport (Layout, as_contiguous, by_stride, fresh, fresh_like, fresh_strided, is_broadcast, lines_along,
                                        new_layout, permuted, same_shape, strictly_row_major)
from claygrad.native.rearrange cimport copied, has_default_strides
from claygrad.native.scatter cimport entries_apart
from claygrad.native.elementwise cimport is_permuted
from claygrad.core.dispatch.promotion cimport broadcast
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.guard cimport Arg, form_t, layout_of
from claygrad.core.dispatch.registry cimport offer

cdef extern from "index/dense.hpp" namespace "clay" nogil:
    void select_along(const void*, const int64_t*, void*, int64_t, int64_t, int64_t, int64_t) noexcept

cdef extern from "index/strided.hpp" namespace "clay" nogil:
    enum:
        INDEX_DIMS
    void fill_blocks(const Blocks*, void*, const int64_t*, const void*, int64_t) noexcept


# A tensor with gaps is copied first if more than one in MANY elements along the last axis are selected.
cdef enum:
    MANY = 8


cdef struct Index:
    Arg input, indices
cdef struct IndexPut:
    Arg target, input, indices, values, accumulate


cdef struct Selection:
    Blocks blocks
    int ndim
    int64_t shape[48]                    # of the result


cdef int _keep(list into, list axes, Layout v, int axis) except -1:
    into.append(v)
    axes.append(axis)
    return 0


cdef Layout _offsets(Layout x, object indices, Selection* c):
    """The offsets of the selected entries, as a vector; x is row-major."""
    cdef list given = [], axes = []
    cdef Layout v, found, out
    cdef int64_t wide[64]
    cdef int64_t at[16]
    cdef int64_t value, place, total = 1, step
    cdef int64_t* offsets
    cdef const int64_t* numbers
    cdef int i, k, d = 0, ndim = 0, first, last
    for item in indices:
        if item is None:
            d += 1
            continue
        v = (<Tensor?>item).layout
        if v.numel == 0:
            return None
        if v.dtype.code == I64:
            if d >= x.ndim or v.ndim > INDEX_DIMS or (v.numel > 1 and not has_default_strides(v)):
                return None
            _keep(given, axes, v, d)
            d += 1
        elif v.dtype.code == BOOL and 0 < v.ndim and d + v.ndim <= x.ndim:
            for i in range(v.ndim):
                if v.shape[i] != x.shape[d + i]:
                    return None
            found = positions(v)
            if found.numel == 0:
                return None
            for i in range(v.ndim):
                _keep(given, axes, new_layout(found.storage, found.dtype, 1, found.shape + 1, found.strides + 1, i * found.shape[1]), d)
                d += 1
        else:
            return None
    if not given or d > x.ndim or x.ndim > INDEX_DIMS:
        return None
    for item in given:
        ndim = broadcast(<Layout>item, wide, ndim)
        if ndim < 0:
            return None
    if ndim + x.ndim > 32 or ndim > INDEX_DIMS:
        return None
    for i in range(ndim):
        total *= wide[64 - ndim + i]
    out = fresh(of_code(I64), 1, &total)
    offsets = <int64_t*>out.data()
    memset(offsets, 0, total * sizeof(int64_t))
    for i, item in enumerate(given):
        v, d = <Layout>item, axes[i]
        numbers = <const int64_t*>v.data()
        step = x.strides[d]
        if len(given) == 1 and v.numel == total:         # a single index tensor
            for value in range(total):
                place = numbers[value]
                if place < -x.shape[d] or place >= x.shape[d]:
                    return None
                offsets[value] = (place + x.shape[d] if place < 0 else place) * step
            continue
        for k in range(ndim):
            at[k] = 0
        place = 0
        for value in range(total):                       # the element of v for each index
            if numbers[place] < -x.shape[d] or numbers[place] >= x.shape[d]:
                return None
            offsets[value] += (numbers[place] + x.shape[d] if numbers[place] < 0 else numbers[place]) * step
            for k in range(ndim - 1, -1, -1):
                place += _stride_at(v, k, ndim)
                at[k] += 1
                if at[k] < wide[64 - ndim + k]:
                    break
                place -= _stride_at(v, k, ndim) * at[k]
                at[k] = 0
    first, last = axes[0], axes[len(axes) - 1]
    if last - first + 1 != len(axes):
        first = 0                                        # not adjacent: the indexed axes come first in the result
    c.blocks.before = c.blocks.after = c.ndim = 0
    c.blocks.count = total
    for i in range(x.ndim):
        if i not in axes:
            k = c.blocks.before + c.blocks.after
            c.blocks.shape[k], c.blocks.strides[k] = x.shape[i], x.strides[i]
            if i < first:
                c.blocks.before += 1
            else:
                c.blocks.after += 1
    for i in range(c.blocks.before + ndim + c.blocks.after):
        if i < c.blocks.before:
            c.shape[i] = c.blocks.shape[i]
        elif i < c.blocks.before + ndim:
            c.shape[i] = wide[64 - ndim + i - c.blocks.before]
        else:
            c.shape[i] = c.blocks.shape[i - ndim]
    c.ndim = c.blocks.before + ndim + c.blocks.after
    return out


cdef inline int64_t _stride_at(Layout v, int k, int ndim) noexcept:
    """The stride of v along axis k of a shape with ndim axes that v broadcasts to."""
    k -= ndim - v.ndim
    return 0 if k < 0 or v.shape[k] == 1 else v.strides[k]


cdef Layout _first_axis(Layout x, object indices):
    """x[index] along the first axis, for any order of axes in memory; None: does not apply.
    The other axes keep their order in memory; the first axis is outermost."""
    cdef Layout at, out
    cdef int64_t shape[64]
    cdef int64_t* offsets
    cdef Selection c
    cdef int64_t k
    cdef int i
    cdef bint farthest = True
    if x.ndim < 2 or x.shape[x.ndim - 1] < 2 or len(indices) != 1 or not isinstance(indices[0], Tensor):
        return None
    out = (<Tensor>indices[0]).layout
    if out.ndim != 1 or out.dtype.code != I64 or out.numel < 2:
        return None
    at = _offsets(x, indices, &c)
    if at is None:
        return None
    offsets = <int64_t*>at.data()
    shape[0] = at.numel
    for i in range(1, x.ndim):
        shape[i] = x.shape[i]
        farthest = farthest and x.strides[i] < x.strides[0]
    if farthest and is_permuted(x):                           # an entry is one run of memory
        for k in range(at.numel):
            offsets[k] = offsets[k] // x.strides[0]
        out = fresh_strided(x.dtype, x.ndim, shape, x.strides)
        with nogil:
            take_rows(x.data(), offsets, out.data(), at.numel, x.shape[0], x.strides[0] * x.dtype.itemsize)
        return out
    if x.ndim > 2 and not strictly_row_major(new_layout(x.storage, x.dtype, x.ndim - 1, x.shape + 1, x.strides + 1, x.offset)):
        return None
    out = fresh(x.dtype, x.ndim, shape)
    entries_apart(x, offsets, at.numel, out)
    return out


cdef Layout _counted(Layout v, int64_t n):
    """An index vector with negative indices made non-negative; None if one is out of range."""
    cdef Layout out = fresh(v.dtype, 1, v.shape)
    cdef const int64_t* given
    cdef int64_t* to = <int64_t*>out.data()
    cdef int64_t k
    v = as_contiguous(v)
    given = <const int64_t*>v.data()
    for k in range(v.numel):
        if given[k] < -n or given[k] >= n:
            return None
        to[k] = given[k] + n if given[k] < 0 else given[k]
    return out


cdef Layout _last_axis(Layout x, object indices):
    """x[..., index] along the last axis, for any order of axes in memory; None: does not apply.
    The last axis of the result has stride 1; the other axes keep their order in memory."""
    cdef Layout at, rows, out
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int order[64]
    cdef int i, last = x.ndim - 1
    cdef int64_t step
    for i in range(last):
        if indices[i] is not None:
            return None
    if not isinstance(indices[last], Tensor):
        return None
    at = (<Tensor>indices[last]).layout
    if at.ndim != 1 or at.dtype.code != I64 or at.numel < 2:
        return None
    for i in range(x.ndim):
        if x.shape[i] < 2 or x.ndim > 2 and x.strides[i] == 0:
            return None
    by_stride(x, last, order)
    order[last] = last
    at = _counted(at, x.shape[last])
    if at is None:
        return None
    shape[last], strides[last] = at.numel, 1
    step = at.numel
    for i in range(last - 1, -1, -1):
        shape[order[i]], strides[order[i]] = x.shape[order[i]], step
        step *= x.shape[order[i]]
    out = fresh_strided(x.dtype, x.ndim, shape, strides)
    if last == 1 and x.strides[0] == 1 and x.strides[1] == x.shape[0]:     # columns are contiguous: copy them one by one
        shape[0], shape[1] = at.numel, x.shape[0]
        rows = fresh(x.dtype, 2, shape)
        with nogil:
            take_rows(x.data(), <int64_t*>at.data(), rows.data(), at.numel, x.shape[1], x.shape[0] * x.dtype.itemsize)
        order[0], order[1] = 1, 0
        write_layout(out, permuted(rows, order))
        return out
    rows = as_contiguous(permuted(x, order))
    with nogil:
        select_along(rows.data(), <int64_t*>at.data(), out.data(), x.numel // x.shape[last], x.shape[last], at.numel, x.dtype.itemsize)
    return out


cdef Layout _index(Op op, Index* a):
    cdef Layout x = <Layout>a.input.layout, at, out, mask
    cdef Selection c
    cdef int64_t outer, inner, k
    cdef int64_t* numbers
    cdef int d
    indices = <object>a.indices.given
    if not has_default_strides(x) and (is_broadcast(x) or not strictly_row_major(x)):
        return _last_axis(x, indices) if len(indices) == x.ndim > 1 else _first_axis(x, indices)
    if len(indices) == 1 and isinstance(indices[0], Tensor):
        mask = (<Tensor>indices[0]).layout
        if mask.dtype.code == BOOL and x.ndim and same_shape(mask, x):
            return picked(as_contiguous(x), as_contiguous(mask))
    at = _offsets(x, indices, &c)
    if at is None:
        return None
    out = fresh(x.dtype, c.ndim, c.shape)
    d = c.blocks.before
    if d + c.blocks.after + 1 == x.ndim and (x.contiguous or c.blocks.after == 0 and at.numel >= x.shape[d] // MANY):    # along one axis
        numbers = <int64_t*>at.data()
        outer = lines_along(x.ndim, x.shape, d).outer
        if x.strides[d] > 1:
            for k in range(at.numel):
                numbers[k] = numbers[k] // x.strides[d]
        x = as_contiguous(x)
        inner = x.strides[d] * x.dtype.itemsize
        with nogil:
            select_along(x.data(), numbers, out.data(), outer, x.shape[d], at.numel, inner)
        return out
    with nogil:
        move_blocks(&c.blocks, x.data(), <int64_t*>at.data(), out.data(), x.dtype.itemsize, False)
    return out


cdef Layout _index_put(Op op, IndexPut* a):
    cdef Layout x = <Layout>a.input.layout, values = <Layout>a.values.layout, target = layout_of(&a.target), at, out, mask
    cdef bint accumulate = a.accumulate.value
    cdef Selection c
    cdef where_fn f
    cdef int i, k
    indices = <object>a.indices.given
    if not has_default_strides(x) or accumulate and x.dtype.code != F32 and x.dtype.code != F64 and x.dtype.code != I64:
        return None
    if len(indices) == 1 and values.numel == 1 and not accumulate and isinstance(indices[0], Tensor):
        mask = (<Tensor>indices[0]).layout
        if mask.dtype.code == BOOL and x.ndim and same_shape(mask, x) and values.ndim <= 1:
            f = where_of(x)
            if f == NULL:
                return None
            mask = as_contiguous(mask)
            out = fresh_like(x) if target is None else target
            with nogil:
                f(<const uint8_t*>mask.data(), values.data(), x.data(), out.data(), x.numel, False, True)
            return out
    at = _offsets(x, indices, &c)
    if at is None or values.ndim > c.ndim:
        return None
    for i in range(values.ndim):
        k = i + c.ndim - values.ndim
        if values.shape[i] != 1 and values.shape[i] != c.shape[k]:
            return None
    out = copied(x) if target is None else target
    if values.numel == 1 and not accumulate:
        fill_blocks(&c.blocks, out.data(), <int64_t*>at.data(), values.data(), x.dtype.itemsize)
        return out
    values = expanded_copy(values, c.ndim, c.shape)
    with nogil:
        if accumulate:
            add_blocks(x.dtype.code, &c.blocks, out.data(), <int64_t*>at.data(), values.data())
        else:
            move_blocks(&c.blocks, out.data(), <int64_t*>at.data(), values.data(), x.dtype.itemsize, True)
    return out


offer("index", <form_t>_index, "input: any strided nonempty")
offer("put", <form_t>_index_put, "target, input: any strided nonempty, values: same strided nonempty")
