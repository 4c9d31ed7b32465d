"""Native forms of gather, scatter, index_select, index_add and the like, with int64 indices. None: the declaration runs, and
raises errors."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

from claygrad.native.mask cimport Blocks, move_blocks
from claygrad.core.op cimport Op, fast_t
from claygrad.core.data.dtype cimport F32, F64, I64
from claygrad.core.data.scalar cimport element_of
from claygrad.core.data.kernels cimport copy_strided
from claygrad.core.data.layout cimport Layout, fresh, as_contiguous, new_layout
from claygrad.native.rearrange cimport copied, has_default_strides, some
from claygrad.native.view cimport axis_of
from claygrad.core.dispatch.registry cimport offer_slots

cdef extern from "index/strided.hpp" namespace "clay" nogil:
    enum:
        INDEX_DIMS
        REDUCE_SUM
        REDUCE_PROD
        REDUCE_MAX
        REDUCE_MIN
    struct IndexWalk:
        int ndim
        int64_t shape[16]
        int64_t x[16]
        int64_t index[16]
        int64_t other[16]
        int64_t step
        int64_t n
    bint vector_inside(const int64_t*, int64_t, int64_t) noexcept
    bint all_inside(const IndexWalk*, const int64_t*) noexcept
    void gather_strided(const IndexWalk*, const void*, const int64_t*, void*, int64_t) noexcept
    void scatter_strided(const IndexWalk*, void*, const int64_t*, const void*, int64_t) noexcept
    bint scatter_reduce_strided(int, int, const IndexWalk*, void*, const int64_t*, const void*) noexcept
    void count_strided(const IndexWalk*, int64_t*, const int64_t*) noexcept

cdef extern from "index/dense.hpp" namespace "clay" nogil:
    bint select_inside(const void*, const int64_t*, void*, int64_t, int64_t, int64_t, int64_t) noexcept
    void add_along(int, void*, const int64_t*, const void*, int64_t, int64_t, int64_t, int64_t) noexcept


# Min elements of an entry that are copied one entry at a time.
cdef enum:
    LARGE = 512


cdef Layout _vector(Layout v):
    """A 0-dim tensor as a vector of one element."""
    cdef int64_t one = 1
    return new_layout(v.storage, v.dtype, 1, &one, &one, v.offset) if v is not None and v.ndim == 0 else v


cdef bint _walk(IndexWalk* p, Layout x, object dim, Layout index, Layout other):
    """The iteration of gather and scatter; False if the index is larger than x (except along dim) or than `other`."""
    x, index, other = _vector(x), _vector(index), _vector(other)
    cdef int i, d = axis_of(dim, x.ndim)
    if d < 0 or x.ndim > INDEX_DIMS or index.ndim != x.ndim or index.dtype.code != I64:
        return False
    if other is not None and other.ndim != x.ndim:
        return False
    p.ndim, p.step, p.n = x.ndim, x.strides[d], x.shape[d]
    for i in range(x.ndim):
        if i != d and index.shape[i] > x.shape[i] or other is not None and index.shape[i] > other.shape[i]:
            return False
        p.shape[i], p.index[i] = index.shape[i], index.strides[i]
        p.x[i] = 0 if i == d else x.strides[i]
        p.other[i] = 0 if other is None else other.strides[i]
    return all_inside(p, <int64_t*>index.data())


cdef Layout gathered(PyObject** slots):
    """gather(input, dim, index)"""
    cdef Layout x = some(slots[0]), index = some(slots[2]), out
    cdef IndexWalk p
    if x is None or index is None or not _walk(&p, x, <object>slots[1], index, None):
        return None
    out = fresh(x.dtype, index.ndim, index.shape)
    for i in range(out.ndim):
        p.other[i] = out.strides[i]
    gather_strided(&p, x.data(), <int64_t*>index.data(), out.data(), x.dtype.itemsize)
    return out


cdef Layout _into(Layout x, Layout target, Layout index, Layout src):
    """The output: the target, or a copy of x; None if another operand shares memory with the target."""
    if target is None:
        return copied(x)
    return None if index.storage is target.storage or src is not None and src.storage is target.storage else target


cdef Layout _scatter(Op op, PyObject** slots, Layout target):
    """scatter(input, dim, index, src, *, value, reduce)"""
    cdef Layout x = some(slots[0]), index = some(slots[2]), src = some(slots[3]), out
    cdef object value = <object>slots[3]
    cdef double element[2]
    cdef IndexWalk p
    if x is None or index is None or <object>slots[5] is not None:
        return None
    if src is None:
        if value is None:
            value = <object>slots[4]
        elif <object>slots[4] is not None:
            return None
        if not element_of(value, x.dtype, element):
            return None
    elif src.dtype is not x.dtype or <object>slots[4] is not None:
        return None
    out = _into(x, target, index, src)
    if out is None or not _walk(&p, out, <object>slots[1], index, src):
        return None
    scatter_strided(&p, out.data(), <int64_t*>index.data(), <const void*>element if src is None else src.data(), x.dtype.itemsize)
    return out


cdef inline bint _reducible(Layout x) noexcept:
    return x.dtype.code == F32 or x.dtype.code == F64 or x.dtype.code == I64


cdef Layout _reduced_at(PyObject** slots, Layout target, str reduce, bint include_self):
    """(input, dim, index, src): reduce src into input, or into the target."""
    cdef Layout x = some(slots[0]), index = some(slots[2]), src = some(slots[3]), out
    cdef IndexWalk p
    if x is None or index is None or src is None or src.dtype is not x.dtype or not _reducible(x):
        return None
    out = _into(x, target, index, src)
    if out is None or not _walk(&p, out, <object>slots[1], index, src):
        return None
    return _reduced(out, &p, index, src, reduce, include_self)


cdef Layout scatter_added(PyObject** slots, Layout target):
    """scatter_add(input, dim, index, src)"""
    return _reduced_at(slots, target, "sum", True)


cdef Layout _reduced(Layout out, IndexWalk* p, Layout index, Layout src, str reduce, bint include_self):
    """Reduce src into `out`, which is contiguous."""
    cdef IndexWalk alone = p[0]
    cdef double first[2]
    cdef int64_t* counts
    cdef int64_t i
    cdef int how, code = out.dtype.code
    cdef bint mean = reduce == "mean"
    cdef const int64_t* at = <int64_t*>index.data()
    if reduce == "sum" or mean:
        how, identity = REDUCE_SUM, 0
    elif reduce == "prod":
        how, identity = REDUCE_PROD, 1
    elif reduce == "amax":
        how = REDUCE_MAX
        identity = float("-inf") if code != I64 else -0x8000000000000000
    elif reduce == "amin":
        how = REDUCE_MIN
        identity = float("inf") if code != I64 else 0x7fffffffffffffff
    else:
        return None
    if mean and code == I64:                       # floor division, unlike C
        return None
    if not include_self:
        element_of(identity, out.dtype, first)
        for i in range(p.ndim):
            alone.other[i] = 0
        scatter_strided(&alone, out.data(), at, first, out.dtype.itemsize)
    scatter_reduce_strided(code, how, p, out.data(), at, src.data())
    if mean:
        counts = <int64_t*>calloc(out.numel, sizeof(int64_t))
        if counts == NULL:
            raise MemoryError()
        count_strided(p, counts, at)
        for i in range(out.numel):
            if code == F32 and counts[i] + include_self > 1:
                (<float*>out.data())[i] /= <float>(counts[i] + include_self)
            elif code == F64 and counts[i] + include_self > 1:
                (<double*>out.data())[i] /= <double>(counts[i] + include_self)
        free(counts)
    return out


cdef Layout _scatter_reduce(Op op, PyObject** slots, Layout target):
    """scatter_reduce(input, dim, index, src, reduce, *, include_self)"""
    return _reduced_at(slots, target, <object>slots[4], <object>slots[5] is not False)


# --- entries of an axis by an index vector -------------------------------------------------------------------
cdef struct Entries:
    int64_t outer, n, m, inner


cdef bint _sized(Entries* e, Layout x, object dim, Layout index, Layout source):
    """The sizes before, along and after the axis; False if the index is no contiguous vector, or source does not fit."""
    x, index, source = _vector(x), _vector(index), _vector(source)
    cdef int i, d = axis_of(dim, x.ndim)
    if d < 0 or index is None or index.ndim != 1 or index.dtype.code != I64 or not index.contiguous:
        return False
    e.outer = e.inner = 1
    e.n, e.m = x.shape[d], index.shape[0]
    if source is not None and (source.dtype is not x.dtype or source.ndim != x.ndim or source.shape[d] != e.m):
        return False
    for i in range(x.ndim):
        if i < d:
            e.outer *= x.shape[i]
        elif i > d:
            e.inner *= x.shape[i]
        if source is not None and i != d and source.shape[i] != x.shape[i]:
            return False
    return True


cdef bint _numbered(Entries* e, Layout x, object dim, Layout index, Layout source):
    """The same, and all indices are in range."""
    return _sized(e, x, dim, index, source) and vector_inside(<const int64_t*>index.data(), e.m, e.n)


cdef int entries_apart(Layout x, const int64_t* offsets, int64_t m, Layout out) except -1:
    cdef Blocks b
    cdef int64_t from_[16]
    cdef int64_t to[16]
    cdef int64_t item = x.dtype.itemsize, k
    cdef int i, last = x.ndim - 1
    if x.strides[last] != 1 and out.numel // m >= LARGE:
        for i in range(last):
            from_[i], to[i] = x.strides[i + 1] * item, out.strides[i + 1] * item
        with nogil:
            for k in range(m):
                copy_strided(x.data() + offsets[k] * item, from_, out.data() + k * out.strides[0] * item, to, x.shape + 1, last, item)
        return 0
    b.before, b.after, b.count = 0, last, m
    for i in range(last):
        b.shape[i], b.strides[i] = x.shape[i + 1], x.strides[i + 1]
    with nogil:
        move_blocks(&b, x.data(), offsets, out.data(), item, False)
    return 0


cdef Layout _index_select(Op op, PyObject** slots, Layout target):
    """index_select(input, dim, index)"""
    cdef Layout x = some(slots[0]), index = some(slots[2]), offsets, out
    cdef int64_t shape[64]
    cdef int64_t k
    cdef Entries e
    cdef const int64_t* numbers
    cdef int i, d
    cdef bint fine
    if target is not None or x is None or not _sized(&e, x, <object>slots[1], index, None):
        return None
    if x.ndim == 0 and e.m != 1:
        return None
    d, numbers = axis_of(<object>slots[1], x.ndim), <const int64_t*>index.data()
    for i in range(x.ndim):
        shape[i] = e.m if i == d else x.shape[i]
    out = fresh(x.dtype, x.ndim, shape)
    if (not x.contiguous and d == 0 and 1 < x.ndim <= INDEX_DIMS and (x.strides[x.ndim - 1] == 1 or x.ndim > 2 and e.inner >= LARGE)
            and vector_inside(numbers, e.m, e.n)):
        offsets = fresh(index.dtype, 1, &e.m)
        for k in range(e.m):
            (<int64_t*>offsets.data())[k] = numbers[k] * x.strides[0]
        entries_apart(x, <int64_t*>offsets.data(), e.m, out)
        return out
    x = as_contiguous(x)
    with nogil:
        fine = select_inside(x.data(), <int64_t*>index.data(), out.data(), e.outer, e.n, e.m, e.inner * x.dtype.itemsize)
    return out if fine else None


cdef Layout _index_add(Op op, PyObject** slots, Layout target):
    """index_add(input, dim, index, source, *, alpha)"""
    cdef Layout x = some(slots[0]), index = some(slots[2]), source = some(slots[3]), out
    cdef object alpha = <object>slots[4]
    cdef Entries e
    cdef int64_t i
    cdef double a
    if x is None or source is None or source.ndim != x.ndim or (x.dtype.code != F32 and x.dtype.code != F64):
        return None
    if (type(alpha) is not int and type(alpha) is not float) or not _numbered(&e, x, <object>slots[1], index, source):
        return None
    out = _into(x, target, index, source)
    if out is None:
        return None
    if alpha != 1:
        source = copied(source)
        a = alpha
        for i in range(source.numel):
            if x.dtype.code == F32:
                (<float*>source.data())[i] *= <float>a
            else:
                (<double*>source.data())[i] *= a
    source = as_contiguous(source)
    with nogil:
        add_along(x.dtype.code, out.data(), <int64_t*>index.data(), source.data(), e.outer, e.n, e.m, e.inner)
    return out


cdef bint _broadcast_index(IndexWalk* p, Layout x, object dim, Layout index, Layout source):
    """The iteration of an index vector along an axis, broadcast over the other axes."""
    x, index, source = _vector(x), _vector(index), _vector(source)
    cdef int i, d = axis_of(dim, x.ndim)
    if x.ndim > INDEX_DIMS:
        return False
    p.ndim, p.step, p.n = x.ndim, x.strides[d], x.shape[d]
    for i in range(x.ndim):
        p.shape[i] = index.shape[0] if i == d else x.shape[i]
        p.index[i] = index.strides[0] if i == d else 0
        p.x[i] = 0 if i == d else x.strides[i]
        p.other[i] = 0 if source is None else source.strides[i]
    return True


cdef Layout _index_copy(Op op, PyObject** slots, Layout target):
    """index_copy(input, dim, index, source)"""
    cdef Layout x = some(slots[0]), index = some(slots[2]), source = some(slots[3]), out
    cdef Entries e
    cdef IndexWalk p
    if x is None or source is None or not _numbered(&e, x, <object>slots[1], index, source):
        return None
    out = _into(x, target, index, source)
    if out is None or not _broadcast_index(&p, out, <object>slots[1], index, source):
        return None
    scatter_strided(&p, out.data(), <int64_t*>index.data(), source.data(), x.dtype.itemsize)
    return out


cdef Layout _index_fill(Op op, PyObject** slots, Layout target):
    """index_fill(input, dim, index, value) with a number"""
    cdef Layout x = some(slots[0]), index = some(slots[2]), out
    cdef double element[2]
    cdef Entries e
    cdef IndexWalk p
    if x is None or not has_default_strides(x) or not element_of(<object>slots[3], x.dtype, element):
        return None
    if not _numbered(&e, x, <object>slots[1], index, None):
        return None
    out = _into(x, target, index, None)
    if out is None or not _broadcast_index(&p, out, <object>slots[1], index, None):
        return None
    scatter_strided(&p, out.data(), <int64_t*>index.data(), element, x.dtype.itemsize)
    return out


cdef Layout _index_reduce(Op op, PyObject** slots, Layout target):
    """index_reduce(input, dim, index, source, reduce, *, include_self)"""
    cdef Layout x = some(slots[0]), index = some(slots[2]), source = some(slots[3]), out
    cdef Entries e
    cdef IndexWalk p
    if x is None or source is None or source.ndim != x.ndim or not _reducible(x) or <object>slots[4] == "sum":
        return None
    if not _numbered(&e, x, <object>slots[1], index, source):
        return None
    out = _into(x, target, index, source)
    if out is None or not _broadcast_index(&p, out, <object>slots[1], index, source):
        return None
    return _reduced(out, &p, index, source, <object>slots[4], <object>slots[5] is not False)


offer_slots("scatter", <fast_t>_scatter)
offer_slots("scatter_reduce", <fast_t>_scatter_reduce)
offer_slots("index_select", <fast_t>_index_select)
offer_slots("index_add", <fast_t>_index_add)
offer_slots("index_copy", <fast_t>_index_copy)
offer_slots("index_fill", <fast_t>_index_fill)
offer_slots("index_reduce", <fast_t>_index_reduce)
