"""Native forms of masked operations, where, nonzero, take and put. None: the declaration runs, and raises errors."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from claygrad.core.op cimport Op
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
from claygrad.core.dispatch.guard cimport Arg, form_t, layout_of
from claygrad.core.dispatch.registry cimport offer

cdef extern from "index/dense.hpp" namespace "clay" nogil:
    int64_t stretches(int64_t n) noexcept
    int64_t count_mask(const uint8_t*, int64_t, int64_t*) noexcept
    void select_by_mask(const void*, const uint8_t*, void*, int64_t, const int64_t*, int64_t) noexcept
    void place_by_mask(const void*, const uint8_t*, const void*, void*, int64_t, const int64_t*, int64_t) noexcept
    void indices_of_mask(const uint8_t*, const int64_t*, int, int64_t*, int64_t, int64_t, const int64_t*) noexcept

cdef extern from "index/strided.hpp" namespace "clay" nogil:
    bint nonzero_mask(int, const void*, uint8_t*, int64_t) noexcept

# Max elements of an operand that is expanded to the common shape: a copy costs a hundredth of what the reference does.
cdef enum:
    EXPANDED = 1 << 24


cdef struct MaskedSelect:
    Arg input, mask
cdef struct MaskedScatter:
    Arg target, input, mask, source
cdef struct MaskedFill:
    Arg target, input, mask, value
cdef struct Where:
    Arg condition, input, other
cdef struct Nonzero:
    Arg input, size, fill_value
cdef struct Take:
    Arg input, index
cdef struct Put:
    Arg target, input, index, source, accumulate


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
    if same_shape(a, b):
        memcpy(shape, a.shape, a.ndim * sizeof(int64_t))
        return a.ndim
    return _sizes_of(wide, broadcast(b, wide, broadcast(a, wide, 0)), shape)


cdef int _sizes_of(const int64_t* wide, int ndim, int64_t* shape) noexcept:
    """The sizes at the end of `wide`; -1 if their product is too large, or one is 0."""
    cdef int64_t total = 1
    cdef int i
    for i in range(ndim):
        shape[i] = wide[64 - ndim + i]
        if shape[i] < 1 or shape[i] > EXPANDED // total:
            return -1
        total *= shape[i]
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


cdef Layout _masked_select(Op op, MaskedSelect* a):
    cdef Layout x = <Layout>a.input.layout, mask = <Layout>a.mask.layout
    cdef int64_t shape[64]
    cdef int ndim = common(x, mask, shape)
    return None if ndim < 0 else picked(expanded_copy(x, ndim, shape), expanded_copy(mask, ndim, shape))


cdef Layout picked(Layout x, Layout mask):
    cdef Mask m = _mask(<const uint8_t*>mask.data(), mask.numel)
    cdef Layout out = fresh(x.dtype, 1, &m.total)
    with nogil:
        select_by_mask(x.data(), m.at, out.data(), m.n, m.counts, x.dtype.itemsize)
    return out


cdef Layout _masked_scatter(Op op, MaskedScatter* a):
    cdef Layout x = <Layout>a.input.layout, mask = <Layout>a.mask.layout, source = <Layout>a.source.layout, out = layout_of(&a.target)
    cdef int64_t shape[64]
    cdef Mask m
    cdef int ndim = common(x, mask, shape)
    if ndim < 0 or out is not None and ndim != x.ndim:
        return None
    x, mask = expanded_copy(x, ndim, shape), expanded_copy(mask, ndim, shape)
    m = _mask(<const uint8_t*>mask.data(), mask.numel)
    if source.numel < m.total or out is not None and not same_shape(x, out):
        return None
    out = fresh_like(x) if out is None else out
    with nogil:
        place_by_mask(x.data(), m.at, source.data(), out.data(), m.n, m.counts, x.dtype.itemsize)
    return out


cdef where_fn where_of(Layout x) noexcept:
    cdef int item = x.dtype.itemsize
    return <where_fn>find("select", "where", U8 if item == 1 else I16 if item == 2 else F32 if item == 4 else F64 if item == 8 else -1)


cdef bint single(object value, dtype d, void* into):
    """Write a number, or a 0-dim tensor of this dtype, as an element."""
    cdef Layout v
    if not isinstance(value, Tensor):
        return element_of(value, d, into)
    v = (<Tensor>value).layout
    if v.ndim or v.dtype is not d:
        return False
    memcpy(into, v.data(), d.itemsize)
    return True


cdef Layout _masked_fill(Op op, MaskedFill* a):
    cdef Layout x = <Layout>a.input.layout, mask = <Layout>a.mask.layout, out = layout_of(&a.target)
    cdef int64_t shape[64]
    cdef double element[2]
    cdef where_fn f
    cdef int ndim
    if x.dtype.itemsize > 8 or not single(<object>a.value.given, x.dtype, element):
        return None
    ndim = common(x, mask, shape)
    if ndim < 0 or out is not None and (ndim != x.ndim or mask.storage is x.storage):
        return None
    x, mask, f = expanded_copy(x, ndim, shape), expanded_copy(mask, ndim, shape), where_of(x)
    if out is not None and not same_shape(x, out):
        return None
    out = fresh_like(x) if out is None else out
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


cdef Layout _where(Op op, Where* args):
    cdef Layout mask = <Layout>args.condition.layout, x = some(args.input.given), y = some(args.other.given), out
    cdef int64_t shape[64]
    cdef int64_t wide[64]
    cdef double a[2]
    cdef double b[2]
    cdef int ndim
    cdef bint x_one = x is None, y_one = y is None
    cdef where_fn f
    if x_one and y_one:
        return None
    x, y = _beside(args.input.given, y if x_one else x, a), _beside(args.other.given, x if y_one else y, b)
    if x is None or y is None or x.dtype is not y.dtype or x.dtype.itemsize > 8:
        return None
    if not x_one and x.ndim == 0 and mask.ndim and not y_one and y.ndim:          # one element, as a number is
        memcpy(a, x.data(), x.dtype.itemsize)
        x, x_one = y, True
    elif not y_one and y.ndim == 0 and mask.ndim and not x_one and x.ndim:
        memcpy(b, y.data(), y.dtype.itemsize)
        y, y_one = x, True
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
            ndim = broadcast(mask, wide, 0)
            ndim = ndim if x_one or ndim < 0 else broadcast(x, wide, ndim)
            ndim = ndim if y_one or ndim < 0 else broadcast(y, wide, ndim)
            ndim = _sizes_of(wide, ndim, shape)
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


cdef Layout _nonzero(Op op, Nonzero* a):
    """One row of indices per axis."""
    cdef Layout x = <Layout>a.input.layout, out = positions(x)
    cdef int64_t shape[2]
    cdef int64_t strides[2]
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


cdef Layout _nonzero_static(Op op, Nonzero* a):
    cdef Layout x = <Layout>a.input.layout, found, out
    cdef int64_t shape[2]
    cdef int64_t i, k, total, fill = a.fill_value.value
    cdef int64_t* to
    cdef const int64_t* from_
    shape[0], shape[1] = a.size.value, x.ndim
    found = positions(x) if 0 <= shape[0] < EXPANDED else None
    if found is None:
        return None
    out = fresh(found.dtype, 2, shape)
    total, to, from_ = found.shape[1], <int64_t*>out.data(), <int64_t*>found.data()
    for i in range(shape[0]):
        for k in range(shape[1]):
            to[i * shape[1] + k] = from_[k * total + i] if i < total else fill
    return out


# --- flat indices -------------------------------------------------------------------------------------------------
cdef Layout _take(Op op, Take* a):
    cdef Layout x = <Layout>a.input.layout, index = <Layout>a.index.layout
    cdef Layout out = fresh(x.dtype, index.ndim, index.shape)
    if take_rows(x.data(), <int64_t*>index.data(), out.data(), index.numel, x.numel, x.dtype.itemsize) >= 0:
        return None
    return out


cdef Layout _put(Op op, Put* a):
    cdef Layout x = <Layout>a.input.layout, source = <Layout>a.source.layout, indices, out
    cdef bint accumulate = a.accumulate.value
    cdef int64_t i, n = x.numel
    cdef int64_t* at
    cdef Blocks b
    if not has_default_strides(x) or source.numel != (<Layout>a.index.layout).numel:
        return None
    if deterministic() and not accumulate or accumulate and x.dtype.code != F32 and x.dtype.code != F64:
        return None                                # the forward raises the error of the first
    indices = copied(<Layout>a.index.layout)
    at = <int64_t*>indices.data()
    for i in range(indices.numel):
        if at[i] < -n or at[i] >= n:
            return None
        at[i] = at[i] + n if at[i] < 0 else at[i]
    out = copied(x) if a.target.layout == NULL else <Layout>a.target.layout
    b.before = b.after = 0
    b.count = indices.numel
    if accumulate:
        add_blocks(x.dtype.code, &b, out.data(), at, source.data())
    else:
        move_blocks(&b, out.data(), at, source.data(), x.dtype.itemsize, True)
    return out


offer("masked_select", <form_t>_masked_select, "input: any strided nonempty, mask: bool strided nonempty")
offer("masked_scatter", <form_t>_masked_scatter,
      "target, input: any strided nonempty, mask: bool strided nonempty, source: same copied nonempty")
offer("masked_fill", <form_t>_masked_fill, "target, input: any strided nonempty, mask: bool strided nonempty, value: raw")
offer("where", <form_t>_where, "condition: bool strided nonempty, input other: raw")
offer("nonzero", <form_t>_nonzero, "input: any strided nonempty")
offer("nonzero_static", <form_t>_nonzero_static, "input: any strided nonempty")
offer("take", <form_t>_take, "input: any copied nonempty, index: int64 copied nonempty")
offer("put_flat", <form_t>_put, "target, input: any strided nonempty, index: int64 strided nonempty, source: same copied nonempty")
