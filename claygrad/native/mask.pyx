"""Native forms of masked operations, where, nonzero, take and put. None: the declaration runs, and raises errors."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from claygrad.core.op cimport Op, fast_t
from claygrad.core.data.dtype cimport BOOL, CAT_FLOAT, CAT_INT, F32, F64, I16, I64, U8, dtype, of_code
from claygrad.core.data.scalar cimport element_of
from claygrad.core.graph.inplace cimport write_layout
from claygrad.core.data.kernels cimport find, take_rows
from claygrad.core.data.layout cimport Layout, strictly_row_major, fresh, fresh_like, as_contiguous, new_layout, same_shape
from claygrad.core.graph.modes cimport deterministic
from claygrad.native.rearrange cimport copied, has_default_strides, some
from claygrad.native.elementwise cimport fresh_run, same_run, is_permuted
from claygrad.core.dispatch.promotion cimport broadcast
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.registry cimport offer_slots

cdef extern from "index/dense.hpp" namespace "clay" nogil:
    int64_t stretches(int64_t n) noexcept
    int64_t count_mask(const uint8_t*, int64_t, int64_t*) noexcept
    void select_by_mask(const void*, const uint8_t*, void*, int64_t, const int64_t*, int64_t) noexcept
    void place_by_mask(const void*, const uint8_t*, const void*, void*, int64_t, const int64_t*, int64_t) noexcept
    void indices_of_mask(const uint8_t*, const int64_t*, int, int64_t*, int64_t, int64_t, const int64_t*) noexcept

cdef extern from "index/strided.hpp" namespace "clay" nogil:
    bint nonzero_mask(int, const void*, uint8_t*, int64_t) noexcept

# Max elements of an operand that is expanded to the common shape.
cdef enum:
    EXPANDED = 16384


cdef Layout expanded_copy(Layout v, int ndim, const int64_t* shape):
    """v expanded to a shape that it broadcasts to, contiguous."""
    cdef Layout out
    cdef int i
    if v.contiguous and v.ndim == ndim:
        for i in range(ndim):
            if v.shape[i] != shape[i]:
                break
        else:
            return v
    out = fresh(v.dtype, ndim, shape)
    write_layout(out, v)
    return out


cdef int common(Layout a, Layout b, int64_t* shape) noexcept:
    """Fill in the broadcast shape and return its ndim; -1 if there is none, or it is too large."""
    cdef int64_t wide[64]
    cdef int64_t total = 1
    cdef int i, ndim
    if same_shape(a, b):
        memcpy(shape, a.shape, a.ndim * sizeof(int64_t))
        return a.ndim
    ndim = broadcast(a, wide, 0)
    ndim = broadcast(b, wide, ndim)
    for i in range(ndim):
        shape[i] = wide[64 - ndim + i]
        total *= shape[i]
        if total > EXPANDED:
            return -1
    return ndim


# --- masks -------------------------------------------------------------------------------------------------------
cdef class Mask:
    """A contiguous mask, and the number of True elements before each block of it."""
    cdef const uint8_t* at
    cdef int64_t n, total
    cdef int64_t few[2]
    cdef int64_t* counts

    def __dealloc__(self):
        if self.counts != self.few:
            free(self.counts)


cdef Mask _mask(const uint8_t* at, int64_t n):
    cdef Mask m = Mask.__new__(Mask)
    m.at, m.n, m.counts = at, n, m.few
    if stretches(n) > 1:
        m.counts = <int64_t*>malloc((stretches(n) + 1) * sizeof(int64_t))
        if m.counts == NULL:
            raise MemoryError()
    m.total = count_mask(at, n, m.counts)
    return m


cdef Layout _masked_select(Op op, PyObject** slots, Layout target):
    """masked_select(input, mask)"""
    cdef Layout x = some(slots[0]), mask = some(slots[1])
    cdef int64_t shape[64]
    cdef int ndim
    if target is not None or x is None or mask is None or mask.dtype.code != BOOL:
        return None
    ndim = common(x, mask, shape)
    if ndim < 0:
        return None
    x, mask = expanded_copy(x, ndim, shape), expanded_copy(mask, ndim, shape)
    return picked(x, mask)


cdef Layout picked(Layout x, Layout mask):
    cdef Mask m = _mask(<const uint8_t*>mask.data(), mask.numel)
    cdef Layout out = fresh(x.dtype, 1, &m.total)
    with nogil:
        select_by_mask(x.data(), m.at, out.data(), m.n, m.counts, x.dtype.itemsize)
    return out


cdef Layout _masked_scatter(Op op, PyObject** slots, Layout target):
    """masked_scatter(input, mask, source)"""
    cdef Layout x = some(slots[0]), mask = some(slots[1]), source = some(slots[2]), out
    cdef int64_t shape[64]
    cdef Mask m
    cdef int ndim
    if x is None or mask is None or source is None or mask.dtype.code != BOOL or source.dtype is not x.dtype:
        return None
    ndim = common(x, mask, shape)
    if ndim < 0 or target is not None and (ndim != x.ndim or mask.storage is x.storage or source.storage is x.storage):
        return None
    x, mask, source = expanded_copy(x, ndim, shape), expanded_copy(mask, ndim, shape), as_contiguous(source)
    m = _mask(<const uint8_t*>mask.data(), mask.numel)
    if source.numel < m.total or target is not None and not same_shape(x, target):
        return None
    out = fresh_like(x) if target is None else target
    with nogil:
        place_by_mask(x.data(), m.at, source.data(), out.data(), m.n, m.counts, x.dtype.itemsize)
    return out


cdef where_fn where_of(Layout x) noexcept:
    cdef int item = x.dtype.itemsize
    return <where_fn>find("select", "where", U8 if item == 1 else I16 if item == 2 else F32 if item == 4 else F64 if item == 8 else -1)


cdef bint _single(object value, dtype d, void* into):
    """Write a number, or a 0-dim tensor of this dtype, as an element."""
    cdef Layout v
    if not isinstance(value, Tensor):
        return element_of(value, d, into)
    v = (<Tensor>value).layout
    if v.ndim or v.dtype is not d:
        return False
    memcpy(into, v.data(), d.itemsize)
    return True


cdef Layout _masked_fill(Op op, PyObject** slots, Layout target):
    """masked_fill(input, mask, value)"""
    cdef Layout x = some(slots[0]), mask = some(slots[1]), out
    cdef int64_t shape[64]
    cdef double element[2]
    cdef where_fn f
    cdef int ndim
    if x is None or mask is None or mask.dtype.code != BOOL or x.dtype.itemsize > 8 or not _single(<object>slots[2], x.dtype, element):
        return None
    ndim = common(x, mask, shape)
    if ndim < 0 or target is not None and (ndim != x.ndim or mask.storage is x.storage):
        return None
    x, mask, f = expanded_copy(x, ndim, shape), expanded_copy(mask, ndim, shape), where_of(x)
    if target is not None and not same_shape(x, target):
        return None
    out = fresh_like(x) if target is None else target
    with nogil:
        f(<const uint8_t*>mask.data(), element, x.data(), out.data(), x.numel, False, True)
    return out


cdef Layout _beside(PyObject* slot, Layout like, void* into):
    """An operand of where: a tensor of the dtype of the other, or a number that does not promote it."""
    cdef object value = <object>slot
    cdef Layout v = some(slot)
    if v is not None:
        return v if v.dtype is like.dtype else None
    if type(value) is float and like.dtype.category < CAT_FLOAT or type(value) is int and like.dtype.category < CAT_INT:
        return None
    return like if not isinstance(value, Tensor) and element_of(value, like.dtype, into) else None


cdef Layout _by_rows(Layout v):
    """v as contiguous memory if it is row-major, so that the result is contiguous too; else None."""
    return v if v.contiguous else as_contiguous(v) if strictly_row_major(v) else None


cdef Layout _where(Op op, PyObject** slots, Layout target):
    """_where(condition, input, other)"""
    cdef Layout mask = some(slots[0]), x = some(slots[1]), y = some(slots[2]), out
    cdef int64_t shape[64]
    cdef double a[2]
    cdef double b[2]
    cdef int ndim
    cdef bint x_one = x is None, y_one = y is None
    cdef where_fn f
    if target is not None or mask is None or mask.dtype.code != BOOL or x_one and y_one:
        return None
    x, y = _beside(slots[1], y if x_one else x, a), _beside(slots[2], x if y_one else y, b)
    if x is None or y is None or x.dtype is not y.dtype or x.dtype.itemsize > 8:
        return None
    if is_permuted(mask) and same_run(x, mask) and same_run(y, mask):           # all dense with the same strides
        out = fresh_run(mask, x.dtype)
    else:
        mask = _by_rows(mask)
        x = None if x_one else _by_rows(x)
        y = x if y_one else _by_rows(y)
        x = y if x_one else x
        if mask is None or x is None or y is None:
            return None
        if not (same_shape(x, mask) and same_shape(y, mask)):
            ndim = common(x, y, shape)
            if ndim < 0:
                return None
            ndim = common(fresh(x.dtype, ndim, shape), mask, shape)
            if ndim < 0:
                return None
            mask = expanded_copy(mask, ndim, shape)
            x = x if x_one else expanded_copy(x, ndim, shape)
            y = y if y_one else expanded_copy(y, ndim, shape)
        out = fresh(x.dtype, mask.ndim, mask.shape)
    f = where_of(x)
    cdef const void* first = <const void*>a if x_one else x.data()
    cdef const void* second = <const void*>b if y_one else y.data()
    with nogil:
        f(<const uint8_t*>mask.data(), first, second, out.data(), out.numel, not x_one, not y_one)
    return out


cdef Layout _nonzero(Op op, PyObject** slots, Layout target):
    """nonzeropositions(input): one row of indices per axis"""
    cdef Layout x = some(slots[0]), out
    cdef int64_t shape[2]
    cdef int64_t strides[2]
    if target is not None or x is None:
        return None
    out = positions(x)
    if out is None:
        return None
    shape[0], shape[1], strides[0], strides[1] = out.shape[1], x.ndim, 1, out.shape[1]
    return new_layout(out.storage, out.dtype, 2, shape, strides, 0)


cdef Layout positions(Layout x):
    """The indices of the nonzero elements, one row per axis."""
    cdef Layout mask = as_contiguous(x), out
    cdef int64_t shape[2]
    cdef Mask m
    x = mask
    if x.dtype.code != BOOL:
        mask = fresh(of_code(BOOL), x.ndim, x.shape)
        if not nonzero_mask(x.dtype.code, x.data(), <uint8_t*>mask.data(), x.numel):
            return None
    m = _mask(<const uint8_t*>mask.data(), mask.numel)
    shape[0], shape[1] = x.ndim, m.total
    out = fresh(of_code(I64), 2, shape)
    if m.total and x.ndim:
        with nogil:
            indices_of_mask(m.at, x.shape, x.ndim, <int64_t*>out.data(), m.n, m.total, m.counts)
    return out


cdef Layout _nonzero_static(Op op, PyObject** slots, Layout target):
    """nonzero_static(input, *, size, fill_value)"""
    cdef Layout x = some(slots[0]), found, out
    cdef int64_t shape[2]
    cdef int64_t i, k, total, fill
    cdef int64_t* to
    cdef const int64_t* from_
    if target is not None or x is None:
        return None
    for i in range(1, 3):
        if type(<object>slots[i]) is not int or not -EXPANDED < <object>slots[i] < EXPANDED:
            return None
    shape[0], shape[1], fill = <object>slots[1], x.ndim, <object>slots[2]
    found = positions(x) if shape[0] >= 0 else None
    if found is None:
        return None
    out = fresh(found.dtype, 2, shape)
    total, to, from_ = found.shape[1], <int64_t*>out.data(), <int64_t*>found.data()
    for i in range(shape[0]):
        for k in range(shape[1]):
            to[i * shape[1] + k] = from_[k * total + i] if i < total else fill
    return out


# --- flat indices -------------------------------------------------------------------------------------------------
cdef Layout _take(Op op, PyObject** slots, Layout target):
    """take(input, index)"""
    cdef Layout x = some(slots[0]), index = some(slots[1]), out
    if target is not None or x is None or index is None or index.dtype.code != I64:
        return None
    x, index = as_contiguous(x), as_contiguous(index)
    out = fresh(x.dtype, index.ndim, index.shape)
    if take_rows(x.data(), <int64_t*>index.data(), out.data(), index.numel, x.numel, x.dtype.itemsize) >= 0:
        return None
    return out


cdef Layout _put(Op op, PyObject** slots, Layout target):
    """put(input, index, source, accumulate)"""
    cdef Layout x = some(slots[0]), index = some(slots[1]), source = some(slots[2]), out, indices
    cdef int64_t i, n
    cdef int64_t* at
    cdef Blocks b
    if x is None or index is None or source is None or index.dtype.code != I64 or source.dtype is not x.dtype or not has_default_strides(x):
        return None
    if deterministic() and <object>slots[3] is not True:         # the forward raises the error
        return None
    if source.numel != index.numel or <object>slots[3] is True and x.dtype.code != F32 and x.dtype.code != F64:
        return None
    if target is not None and (index.storage is x.storage or source.storage is x.storage):
        return None
    indices, source, n = copied(index), as_contiguous(source), x.numel
    at = <int64_t*>indices.data()
    for i in range(indices.numel):
        if at[i] < -n or at[i] >= n:
            return None
        at[i] = at[i] + n if at[i] < 0 else at[i]
    out = copied(x) if target is None else target
    b.before = b.after = 0
    b.count = indices.numel
    if <object>slots[3] is True:
        add_blocks(x.dtype.code, &b, out.data(), at, source.data())
    else:
        move_blocks(&b, out.data(), at, source.data(), x.dtype.itemsize, True)
    return out


offer_slots("masked_select", <fast_t>_masked_select)
offer_slots("masked_scatter", <fast_t>_masked_scatter)
offer_slots("masked_fill", <fast_t>_masked_fill)
offer_slots("where", <fast_t>_where)
offer_slots("nonzero", <fast_t>_nonzero)
offer_slots("nonzero_static", <fast_t>_nonzero_static)
offer_slots("take", <fast_t>_take)
offer_slots("put_flat", <fast_t>_put)
