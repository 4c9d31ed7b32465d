"""Native forms of gather, scatter, index_select, index_add and the like, with int64 indices. None: the declaration runs, and
raises errors."""
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

from claygrad.native.mask cimport Blocks, move_blocks
from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport CAT_FLOAT, F32, F64, I64
from claygrad.core.data.scalar cimport element_of
from claygrad.core.data.kernels cimport copy_strided, gather_along, scatter_add_along
from claygrad.core.data.layout cimport Layout, Lines, as_contiguous, axis_in, fresh, lines_along, new_layout, same_shape
from claygrad.native.rearrange cimport copied, has_default_strides, some
from claygrad.core.dispatch.guard cimport Arg, form_t, is_none
from claygrad.core.dispatch.registry cimport offer

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
    void select_along(const void*, const int64_t*, void*, int64_t, int64_t, int64_t, int64_t) noexcept
    bint select_inside(const void*, const int64_t*, void*, int64_t, int64_t, int64_t, int64_t) noexcept
    void add_along(int, void*, const int64_t*, const void*, int64_t, int64_t, int64_t, int64_t) noexcept


# Min elements of an entry that are copied one entry at a time.
cdef enum:
    LARGE = 512


cdef struct Gather:
    Arg input, dim, index, sparse_grad
cdef struct Scatter:
    Arg target, input, dim, index, src, value, reduce
cdef struct ScatterReduce:
    Arg target, input, dim, index, src, reduce, include_self
cdef struct IndexSelect:
    Arg input, dim, index
cdef struct IndexCopy:
    Arg target, input, dim, index, source, alpha
cdef struct IndexReduce:
    Arg target, input, dim, index, source, reduce, include_self
cdef struct IndexFill:
    Arg target, input, dim, index, value

cdef enum:                             # reductions, in the order of _REDUCTIONS
    PROD = 0
    MEAN = 1
    MAX = 2
    MIN = 3
    SUM = 4


cdef Layout _vector(Layout v):
    """A 0-dim tensor as a vector of one element."""
    cdef int64_t one = 1
    return new_layout(v.storage, v.dtype, 1, &one, &one, v.offset) if v is not None and v.ndim == 0 else v


cdef bint _walk(IndexWalk* p, Layout x, int64_t dim, Layout index, Layout other):
    """The iteration of gather and scatter; False if the index is larger than x (except along dim) or than `other`."""
    x, index, other = _vector(x), _vector(index), _vector(other)
    cdef int i, d = axis_in(dim, x.ndim)
    if d < 0 or x.ndim > INDEX_DIMS or index.ndim != x.ndim:
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


cdef bint _same_but_along(Layout x, Layout index, int d):
    """Whether x is contiguous and has the shape of index except along an axis."""
    cdef int i
    if d < 0 or x.ndim != index.ndim or not x.contiguous:
        return False
    for i in range(x.ndim):
        if i != d and x.shape[i] != index.shape[i]:
            return False
    return True


cdef bint _is_one_vector(Layout index, int d, int64_t n):
    """Whether the index is one vector, with values from 0 to n - 1, broadcast over all other axes."""
    cdef int i
    cdef int64_t k
    cdef int64_t* at = <int64_t*>index.data()
    if index.numel <= index.shape[d]:
        return False
    for i in range(index.ndim):
        if index.strides[i] != (1 if i == d else 0) and index.shape[i] != 1:
            return False
    for k in range(index.shape[d]):
        if at[k] < 0 or at[k] >= n:
            return False
    return True


cdef Layout _gather(Op op, Gather* a):
    cdef Layout x = <Layout>a.input.layout, index = <Layout>a.index.layout, out
    cdef int i, d = axis_in(a.dim.value, x.ndim)
    cdef int64_t m
    cdef Lines s
    cdef IndexWalk p
    if not _same_but_along(x, index, d):
        if x.numel == 0 or index.numel == 0 or not _walk(&p, x, a.dim.value, index, None):
            return None
        out = fresh(x.dtype, index.ndim, index.shape)
        for i in range(out.ndim):
            p.other[i] = out.strides[i]
        gather_strided(&p, x.data(), <int64_t*>index.data(), out.data(), x.dtype.itemsize)
        return out
    s, m = lines_along(x.ndim, x.shape, d), index.shape[d]
    out = fresh(x.dtype, index.ndim, index.shape)
    if _is_one_vector(index, d, s.n):
        select_along(x.data(), <int64_t*>index.data(), out.data(), s.outer, s.n, m, s.inner * x.dtype.itemsize)
        return out
    index = as_contiguous(index)
    if gather_along(x.data(), <int64_t*>index.data(), out.data(), s.outer, s.n, m, s.inner, x.dtype.itemsize) >= 0:
        return None                                # out of range: the reference raises the error
    return out


cdef Layout _out(Arg* target, Layout x):
    """Where the result is written: the target, or a copy of x."""
    return copied(x) if target.layout == NULL else <Layout>target.layout


cdef Layout _scatter(Op op, Scatter* a):
    cdef Layout x = <Layout>a.input.layout, index = <Layout>a.index.layout, src = some(a.src.given), out
    cdef object value = <object>a.src.given
    cdef double element[2]
    cdef IndexWalk p
    if src is None:
        if value is None:
            value = <object>a.value.given
        elif not is_none(&a.value):
            return None
        if not element_of(value, x.dtype, element):
            return None
    elif src.dtype is not x.dtype or not is_none(&a.value):
        return None
    out = _out(&a.target, x)
    if not _walk(&p, out, a.dim.value, index, src):
        return None
    scatter_strided(&p, out.data(), <int64_t*>index.data(), <const void*>element if src is None else src.data(), x.dtype.itemsize)
    return out


cdef Layout _reduced_at(ScatterReduce* a, int reduce, bint include_self):
    """Reduce src into input, or into the target."""
    cdef Layout index = <Layout>a.index.layout, src = <Layout>a.src.layout, out
    cdef IndexWalk p
    if index.numel == 0 or src.numel == 0 or (<Layout>a.input.layout).numel == 0:
        return None
    out = _out(&a.target, <Layout>a.input.layout)
    return _reduced(out, &p, index, src, reduce, include_self) if _walk(&p, out, a.dim.value, index, src) else None


cdef Layout _scatter_add(Op op, ScatterReduce* a):
    """scatter_add(input, dim, index, src), whose arguments are the first ones of ScatterReduce: the later members must not be read."""
    cdef Layout x = <Layout>a.input.layout, index = <Layout>a.index.layout, src = <Layout>a.src.layout, out
    cdef int d = axis_in(a.dim.value, x.ndim)
    cdef int64_t m
    cdef Lines s
    if not same_shape(src, index) or not _same_but_along(x, index, d):
        return _reduced_at(a, SUM, True) if x.dtype.code in (F32, F64, I64) else None
    src, out = as_contiguous(src), _out(&a.target, x)
    s, m = lines_along(x.ndim, x.shape, d), index.shape[d]
    if _is_one_vector(index, d, s.n):
        add_along(x.dtype.code, out.data(), <int64_t*>index.data(), src.data(), s.outer, s.n, m, s.inner)
        return out
    index = as_contiguous(index)
    if scatter_add_along(x.dtype.code, out.data(), <int64_t*>index.data(), src.data(), s.outer, s.n, m, s.inner) >= 0:
        return None
    return out


cdef Layout _reduced(Layout out, IndexWalk* p, Layout index, Layout src, int reduce, bint include_self):
    """Reduce src into `out`, which is contiguous."""
    cdef IndexWalk alone = p[0]
    cdef double first[2]
    cdef int64_t* counts
    cdef int64_t i
    cdef int how, code = out.dtype.code
    cdef bint mean = reduce == MEAN
    cdef const int64_t* at = <int64_t*>index.data()
    if reduce == SUM or mean:
        how, identity = REDUCE_SUM, 0
    elif reduce == PROD:
        how, identity = REDUCE_PROD, 1
    elif reduce == MAX:
        how = REDUCE_MAX
        identity = float("-inf") if code != I64 else -0x8000000000000000
    else:
        how = REDUCE_MIN
        identity = float("inf") if code != I64 else 0x7fffffffffffffff
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


cdef Layout _scatter_reduce(Op op, ScatterReduce* a):
    return _reduced_at(a, a.reduce.value, a.include_self.value)


# --- entries of an axis by an index vector -------------------------------------------------------------------
cdef struct Entries:
    int64_t outer, n, m, inner


cdef bint _sized(Entries* e, Layout x, int64_t dim, Layout index, Layout source):
    """The sizes before, along and after the axis; False if the source does not fit."""
    x, index, source = _vector(x), _vector(index), _vector(source)
    cdef int i, d = axis_in(dim, x.ndim)
    cdef Lines s
    if d < 0:
        return False
    s = lines_along(x.ndim, x.shape, d)
    e.outer, e.n, e.m, e.inner = s.outer, s.n, index.shape[0], s.inner
    if source is None:
        return True
    if source.ndim != x.ndim or source.shape[d] != e.m:
        return False
    for i in range(x.ndim):
        if i != d and source.shape[i] != x.shape[i]:
            return False
    return True


cdef bint _numbered(Entries* e, Layout x, int64_t dim, Layout index, Layout source):
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


cdef Layout _index_select(Op op, IndexSelect* a):
    cdef Layout x = <Layout>a.input.layout, index = <Layout>a.index.layout, offsets, out
    cdef int64_t shape[64]
    cdef int64_t k
    cdef Entries e
    cdef const int64_t* numbers
    cdef int i, d
    cdef bint fine
    if not _sized(&e, x, a.dim.value, index, None) or x.ndim == 0 and e.m != 1:
        return None
    d, numbers = axis_in(a.dim.value, x.ndim), <const int64_t*>index.data()
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


cdef Layout _index_add(Op op, IndexCopy* a):
    cdef Layout x = <Layout>a.input.layout, index = <Layout>a.index.layout, source = <Layout>a.source.layout, out
    cdef double alpha = a.alpha.real
    cdef Entries e
    cdef int64_t i
    if source.ndim != x.ndim or not _numbered(&e, x, a.dim.value, index, source):
        return None
    if alpha != 1 and x.dtype.category < CAT_FLOAT:
        return None
    out = _out(&a.target, x)
    if alpha != 1:
        source = copied(source)
        for i in range(source.numel):
            if x.dtype.code == F32:
                (<float*>source.data())[i] *= <float>alpha
            else:
                (<double*>source.data())[i] *= alpha
    with nogil:
        add_along(x.dtype.code, out.data(), <int64_t*>index.data(), source.data(), e.outer, e.n, e.m, e.inner)
    return out


cdef bint _broadcast_index(IndexWalk* p, Layout x, int64_t dim, Layout index, Layout source):
    """The iteration of an index vector along an axis, broadcast over the other axes."""
    x, index, source = _vector(x), _vector(index), _vector(source)
    cdef int i, d = axis_in(dim, x.ndim)
    if x.ndim > INDEX_DIMS:
        return False
    p.ndim, p.step, p.n = x.ndim, x.strides[d], x.shape[d]
    for i in range(x.ndim):
        p.shape[i] = index.shape[0] if i == d else x.shape[i]
        p.index[i] = index.strides[0] if i == d else 0
        p.x[i] = 0 if i == d else x.strides[i]
        p.other[i] = 0 if source is None else source.strides[i]
    return True


cdef Layout _index_copy(Op op, IndexCopy* a):
    cdef Layout x = <Layout>a.input.layout, index = <Layout>a.index.layout, source = <Layout>a.source.layout, out
    cdef Entries e
    cdef IndexWalk p
    if not _numbered(&e, x, a.dim.value, index, source):
        return None
    out = _out(&a.target, x)
    if not _broadcast_index(&p, out, a.dim.value, index, source):
        return None
    scatter_strided(&p, out.data(), <int64_t*>index.data(), source.data(), x.dtype.itemsize)
    return out


cdef Layout _index_fill(Op op, IndexFill* a):
    """index_fill(input, dim, index, value) with a number as value"""
    cdef Layout x = <Layout>a.input.layout, index = <Layout>a.index.layout, out
    cdef double element[2]
    cdef Entries e
    cdef IndexWalk p
    if not has_default_strides(x) or not element_of(<object>a.value.given, x.dtype, element):
        return None
    if not _numbered(&e, x, a.dim.value, index, None):
        return None
    out = _out(&a.target, x)
    if not _broadcast_index(&p, out, a.dim.value, index, None):
        return None
    scatter_strided(&p, out.data(), <int64_t*>index.data(), element, x.dtype.itemsize)
    return out


cdef Layout _index_reduce(Op op, IndexReduce* a):
    cdef Layout x = <Layout>a.input.layout, index = <Layout>a.index.layout, source = <Layout>a.source.layout, out
    cdef Entries e
    cdef IndexWalk p
    if source.ndim != x.ndim or not _numbered(&e, x, a.dim.value, index, source):
        return None
    out = _out(&a.target, x)
    if not _broadcast_index(&p, out, a.dim.value, index, source):
        return None
    return _reduced(out, &p, index, source, a.reduce.value, a.include_self.value)


cdef str _INDEX = ", index: int64 strided nonempty", _ENTRIES = ", index: int64 copied nonempty 0-1d"
cdef str _REDUCTIONS = ", reduce: prod|mean|amax|amin"

offer("gather", <form_t>_gather, "input: any strided, index: int64 strided")
offer("scatter", <form_t>_scatter, "target, input: any strided nonempty, src: raw, reduce: none" + _INDEX)
offer("scatter_add", <form_t>_scatter_add, "target, input: float integer strided, index: int64 strided, src: same strided")
offer("scatter_reduce", <form_t>_scatter_reduce,
      "target, input: float int64 strided nonempty, src: same strided nonempty" + _INDEX + _REDUCTIONS + "|sum")
offer("index_select", <form_t>_index_select, "input: any strided nonempty" + _ENTRIES)
offer("index_add", <form_t>_index_add,
      "target, input: float integer strided nonempty, source: same copied nonempty, alpha: float" + _ENTRIES)
offer("index_copy", <form_t>_index_copy, "target, input: any strided nonempty, source: same strided nonempty" + _ENTRIES)
offer("index_fill", <form_t>_index_fill, "target, input: any strided nonempty, value: raw" + _ENTRIES)
offer("index_reduce", <form_t>_index_reduce,
      "target, input: float int64 strided nonempty, source: same strided nonempty" + _ENTRIES + _REDUCTIONS)
