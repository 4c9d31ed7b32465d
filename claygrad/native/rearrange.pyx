"""Native forms of flip, roll, rot90, tril, triu, diag_embed, and of the gradients of views. None: the declaration runs."""
from libc.stdint cimport int64_t
from libc.string cimport memset

from claygrad.core.op cimport Op
from claygrad.core.graph.inplace cimport write_layout
from claygrad.core.data.kernels cimport copy_bytes, copy_strided
from claygrad.core.data.layout cimport (Layout, as_contiguous, axis_in, channels_last, fresh, fresh_channels_last, fresh_like,
                                        fresh_strided, new_layout, same_shape, strictly_row_major)
from claygrad.native.view cimport at_index, on_diagonal, sliced
from claygrad.native.elementwise cimport fresh_run, is_permuted
from claygrad.core.dispatch.guard cimport Arg, form_t, is_none, layout_of
from claygrad.core.dispatch.registry cimport offer

cdef extern from "elementwise/params.hpp" namespace "clay" nogil:
    void c_triangle "clay::triangle"(const void* x, void* out, int64_t count, int64_t rows, int64_t columns, int64_t diagonal,
                                     bint upper, int64_t item_size) noexcept

cdef extern from "index/strided.hpp" namespace "clay" nogil:
    void fill_elements(void* out, const void* element, int64_t n, int64_t item_size) noexcept

# Bytes above which the interpreter lock is released.
cdef enum:
    RELEASE = 262144


cdef struct Flip:
    Arg input, dims
cdef struct Rot90:
    Arg input, k, dims
cdef struct Roll:
    Arg input, shifts, dims
cdef struct SelectBackward:
    Arg g, shape, dim, index
cdef struct SliceBackward:
    Arg g, shape, dim, start, end, step
cdef struct DiagonalBackward:
    Arg g, shape, offset, dim1, dim2
cdef struct SelectScatter:
    Arg input, src, dim, index
cdef struct SliceScatter:
    Arg input, src, dim, start, end, step
cdef struct DiagonalScatter:
    Arg input, src, offset, dim1, dim2
cdef struct LayOver:
    Arg input, src, own, size, stride, offset
cdef struct DiagEmbed:
    Arg input, offset, dim1, dim2
cdef struct NamedCopy:
    Arg input, name
cdef struct Triangle:
    Arg target, input, diagonal


cdef bint has_default_strides(Layout v) noexcept:
    cdef int64_t step = 1
    cdef int i
    if not v.contiguous or v.numel == 0:
        return False
    for i in range(v.ndim - 1, -1, -1):
        if v.strides[i] != step:
            return False
        step *= v.shape[i]
    return True


cdef Layout channels_at_the_end(Layout v):
    cdef Layout out = fresh_channels_last(v.dtype, v.shape)
    write_layout(out, v)
    return out


cdef bint has_channels_last(Layout v) noexcept:
    """Whether images or volumes that are not in row-major order have their channels last in memory."""
    cdef int64_t smallest = 0
    cdef int i, d
    if v.ndim != 4 and v.ndim != 5 or v.contiguous or v.numel == 0 or v.strides[1] == 0:
        return False
    for i in range(v.ndim):
        d = 1 if i == 0 else 0 if i == v.ndim - 1 else v.ndim - i
        if v.strides[d] < smallest or d == 0 and smallest == v.strides[1]:
            return False
        smallest = v.strides[d] * v.shape[d] if v.shape[d] > 1 else v.strides[d]
    return True


cdef Layout in_format_of(Layout result, Layout x):
    """The result, copied to channels last if x is channels last."""
    cdef int64_t strides[5]
    cdef int64_t step
    cdef int i
    cdef Layout out
    if not has_channels_last(x) or result.ndim != x.ndim or result.numel == 0:
        return result
    strides[1], step = 1, result.shape[1]
    for i in range(result.ndim - 1, 1, -1):
        strides[i] = step
        step *= result.shape[i]
    strides[0] = step
    out = fresh_strided(result.dtype, result.ndim, result.shape, strides)
    write_layout(out, result)
    return out


cdef Layout copied(Layout v):
    cdef Layout out = fresh_like(v)
    if v.contiguous and v.numel * v.dtype.itemsize <= RELEASE:
        copy_bytes(out.data(), v.data(), v.numel * v.dtype.itemsize)
    else:
        write_layout(out, v)
    return out


cdef int fill_with(Layout v, const void* element) except -1:
    """Fill contiguous memory with one element."""
    fill_elements(v.data(), element, v.numel, v.dtype.itemsize)
    return 0


cdef int _move(const char* source, const int64_t* from_, Layout out, const int64_t* shape, int64_t offset, const int64_t* to) except -1:
    """Copy elements from strides of the source to strides of `out` (in elements)."""
    cdef int64_t a[64]
    cdef int64_t b[64]
    cdef int64_t item = out.dtype.itemsize
    cdef int i
    cdef char* target = out.data() + offset * item
    for i in range(out.ndim):
        a[i], b[i] = from_[i] * item, to[i] * item
    if out.numel * item > RELEASE:
        with nogil:
            copy_strided(source, a, target, b, shape, out.ndim, item)
    else:
        copy_strided(source, a, target, b, shape, out.ndim, item)
    return 0


cdef inline bint _axes(Arg* dims, int ndim, unsigned long long* selected) noexcept:
    """Axes as bits; False if they are not all different ones."""
    cdef int d, i
    selected[0] = 0
    for i in range(dims.value):
        d = axis_in(dims.ints[i], ndim)
        if d < 0 or selected[0] >> d & 1:
            return False
        selected[0] |= 1ULL << d
    return True


cdef Layout _flipped(Layout x, unsigned long long selected):
    cdef int64_t steps[64]
    cdef int64_t start = 0
    cdef Layout out = fresh_run(x, x.dtype) if is_permuted(x) else fresh_like(x)
    cdef int i
    for i in range(x.ndim):
        steps[i] = x.strides[i]
        if selected >> i & 1:
            start += (x.shape[i] - 1) * x.strides[i]
            steps[i] = -steps[i]
    _move(x.data() + start * x.dtype.itemsize, steps, out, out.shape, 0, out.strides)
    return out


cdef Layout _flip(Op op, Flip* a):
    cdef Layout x = <Layout>a.input.layout
    cdef unsigned long long selected = 0
    if not has_default_strides(x) and not strictly_row_major(x) and not is_permuted(x):
        return None
    return _flipped(x, selected) if _axes(&a.dims, x.ndim, &selected) else None


cdef Layout _rot90(Op op, Rot90* args):
    cdef Layout x = <Layout>args.input.layout, out
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i, k, a, b
    if not has_default_strides(x) or args.dims.value != 2:
        return None
    a, b = axis_in(args.dims.ints[0], x.ndim), axis_in(args.dims.ints[1], x.ndim)
    if a < 0 or b < 0 or a == b:
        return None
    k = args.k.value & 3
    out = _flipped(x, 0 if k == 0 else 1ULL << b if k == 1 else 1ULL << a | 1ULL << b if k == 2 else 1ULL << a)
    if k % 2 == 0:
        return out
    for i in range(x.ndim):
        shape[i], strides[i] = out.shape[i], out.strides[i]
    shape[a], shape[b], strides[a], strides[b] = out.shape[b], out.shape[a], out.strides[b], out.strides[a]
    return new_layout(out.storage, out.dtype, out.ndim, shape, strides, 0)


cdef bint may_be_channels_last(Layout v) noexcept:
    cdef int i
    if v.ndim != 4 and v.ndim != 5:
        return False
    for i in range(v.ndim):
        if v.shape[i] < 2:
            return True
    for i in range(2, v.ndim):
        if v.strides[i] <= v.strides[i + 1 if i + 1 < v.ndim else 1]:
            return False
    return v.strides[0] > v.strides[2]


cdef Layout _roll(Op op, Roll* a):
    """Every shifted axis is cut in two, and the parts are exchanged."""
    cdef Layout x = <Layout>a.input.layout, out, flat, into
    cdef int64_t* by = a.shifts.ints
    cdef const int64_t* dims = a.dims.ints
    cdef int64_t shape[64]
    cdef int64_t whole[1]
    cdef int64_t from_, to
    cdef int axes[4]
    cdef unsigned long long seen = 0
    cdef int i, k, n = a.shifts.value, part
    if n < 1 or n > 4 or a.dims.value != n and (n != 1 or a.dims.value):
        return None
    if not x.contiguous and a.dims.value and may_be_channels_last(x):
        if not channels_last(x):
            return None
        for i in range(n):                         # after a roll of all elements the result is contiguous
            k = axis_in(dims[i], x.ndim)
            if k < 0 or by[i] % x.shape[k] == 0:
                return None
        out = into = fresh_run(x, x.dtype)
    else:
        out = into = fresh_like(x)
    if a.dims.value == 0:
        x = as_contiguous(x)
        whole[0] = x.numel
        flat = new_layout(x.storage, x.dtype, 1, whole, &STEP, x.offset)
        into = new_layout(out.storage, out.dtype, 1, whole, &STEP, 0)
        axes[0] = 0
    else:
        flat = x
    if a.dims.value and x.numel:
        for i in range(n):
            axes[i] = axis_in(dims[i], x.ndim)
            if axes[i] < 0 or seen >> axes[i] & 1:
                return None
            seen |= 1ULL << axes[i]
    if x.numel == 0:
        return out
    for i in range(n):
        by[i] = (by[i] % flat.shape[axes[i]] + flat.shape[axes[i]]) % flat.shape[axes[i]]
    for part in range(1 << n):
        from_ = to = 0
        for i in range(flat.ndim):
            shape[i] = flat.shape[i]
        for i in range(n):
            k = axes[i]
            if part >> i & 1:                      # the last part, which comes first
                shape[k] = by[i]
                from_ += (flat.shape[k] - by[i]) * flat.strides[k]
            else:
                shape[k] -= by[i]
                to += by[i] * into.strides[k]
        _move(flat.data() + from_ * x.dtype.itemsize, flat.strides, into, shape, to, into.strides)
    return out


cdef int64_t STEP = 1


# --- in zeros, or in a copy --------------------------------------------------------------------------------------
cdef Layout _zeros(Layout like, int ndim, const int64_t* shape):
    cdef Layout out = fresh(like.dtype, ndim, shape)
    memset(out.data(), 0, out.numel * out.dtype.itemsize)
    return out


cdef Layout _zeros_of(Layout like, Arg* shape):
    """Zeros of a shape; None if a size is negative."""
    cdef int i
    for i in range(shape.value):
        if shape.ints[i] < 0:
            return None
    return _zeros(like, <int>shape.value, shape.ints)


cdef Layout _with(Layout out, Layout part, Layout src):
    """Write src to a part of `out` and return out; None if the shapes differ."""
    if part is None or not same_shape(part, src) or part.dtype is not src.dtype:
        return None
    write_layout(part, src)
    return out


cdef Layout _selected(Layout v, Arg* dim, Arg* index):
    """The view of select; None if an argument is out of range."""
    cdef int a = axis_in(dim.value, v.ndim)
    return None if a < 0 else at_index(v, a, index.value)


cdef Layout _sliced(Layout v, Arg* dim, Arg* start, Arg* end, Arg* step):
    cdef int a = axis_in(dim.value, v.ndim)
    if a < 0 or step.value <= 0:
        return None
    return sliced(v, a, 0 if is_none(start) else start.value, v.shape[a] if is_none(end) else end.value, step.value)


cdef Layout _diagonal(Layout v, Arg* offset, Arg* dim1, Arg* dim2):
    cdef int a = axis_in(dim1.value, v.ndim), b = axis_in(dim2.value, v.ndim)
    return None if a < 0 or b < 0 or a == b else on_diagonal(v, offset.value, a, b)


cdef Layout _select_backward(Op op, SelectBackward* a):
    cdef Layout out = _zeros_of(<Layout>a.g.layout, &a.shape)
    return None if out is None else _with(out, _selected(out, &a.dim, &a.index), <Layout>a.g.layout)


cdef Layout _slice_backward(Op op, SliceBackward* a):
    cdef Layout out = _zeros_of(<Layout>a.g.layout, &a.shape)
    return None if out is None else _with(out, _sliced(out, &a.dim, &a.start, &a.end, &a.step), <Layout>a.g.layout)


cdef Layout _diagonal_backward(Op op, DiagonalBackward* a):
    cdef Layout out = _zeros_of(<Layout>a.g.layout, &a.shape)
    return None if out is None else _with(out, _diagonal(out, &a.offset, &a.dim1, &a.dim2), <Layout>a.g.layout)


cdef Layout _select_scatter(Op op, SelectScatter* a):
    cdef Layout out = _whole_copy(<Layout>a.input.layout)
    return None if out is None else _with(out, _selected(out, &a.dim, &a.index), <Layout>a.src.layout)


cdef Layout _slice_scatter(Op op, SliceScatter* a):
    cdef Layout out = _whole_copy(<Layout>a.input.layout)
    return None if out is None else _with(out, _sliced(out, &a.dim, &a.start, &a.end, &a.step), <Layout>a.src.layout)


cdef Layout _diagonal_scatter(Op op, DiagonalScatter* a):
    cdef Layout out = _whole_copy(<Layout>a.input.layout)
    return None if out is None else _with(out, _diagonal(out, &a.offset, &a.dim1, &a.dim2), <Layout>a.src.layout)


cdef Layout _whole_copy(Layout x):
    return copied(x) if has_default_strides(x) else None


cdef Layout _lay_over(Op op, LayOver* a):
    """Write src to a strided part of a copy of the input, if no two elements of src overlap."""
    cdef Layout x = <Layout>a.input.layout, out
    cdef const int64_t* shape = a.size.ints
    cdef const int64_t* strides = a.stride.ints
    cdef int64_t reach = a.offset.value, near
    cdef int i, k, n = a.size.value
    if not has_default_strides(x) or a.stride.value != n or a.own.value != x.ndim or not 0 <= reach < x.numel:
        return None
    for i in range(x.ndim):
        if a.own.ints[i] != x.strides[i]:
            return None
    for i in range(n):
        if shape[i] < 1 or strides[i] < 0:
            return None
        reach += (shape[i] - 1) * strides[i]
        near = 0
        for k in range(n):
            if k != i and (strides[k] < strides[i] or strides[k] == strides[i] and shape[k] > 1):
                near += (shape[k] - 1) * strides[k]
        if shape[i] > 1 and strides[i] <= near:
            return None
    if reach >= x.numel:
        return None
    out = copied(x)
    return _with(out, new_layout(out.storage, out.dtype, n, shape, strides, a.offset.value), <Layout>a.src.layout)


cdef Layout _diag_embed(Op op, DiagEmbed* args):
    cdef Layout x = <Layout>args.input.layout, out
    cdef int64_t shape[64]
    cdef int64_t n, offset = args.offset.value
    cdef int i, k = 0, a = axis_in(args.dim1.value, x.ndim + 1), b = axis_in(args.dim2.value, x.ndim + 1)
    if a < 0 or b < 0 or a == b:
        return None
    n = x.shape[x.ndim - 1] + abs(offset)
    for i in range(x.ndim + 1):
        if i == a or i == b:
            shape[i] = n
        else:
            shape[i] = x.shape[k]
            k += 1
    out = _zeros(x, x.ndim + 1, shape)
    return _with(out, on_diagonal(out, offset, a, b), x)


cdef Layout _diagonal_copy(Op op, DiagEmbed* a):
    return copied(on_diagonal(<Layout>a.input.layout, a.offset.value, 0, 1))


cdef Layout _named_copy(Op op, NamedCopy* a):
    return copied(<Layout>a.input.layout)


cdef Layout _triangle(Op op, Triangle* a):
    cdef Layout x = <Layout>a.input.layout, out = fresh_like(x), target = layout_of(&a.target)
    cdef int64_t rows = x.shape[x.ndim - 2], columns = x.shape[x.ndim - 1]
    cdef int64_t diagonal = max(-rows - columns, min(rows + columns, a.diagonal.value))
    cdef bint upper = op.info["kernel"] == "triu"
    if x.numel * x.dtype.itemsize > RELEASE:
        with nogil:
            c_triangle(x.data(), out.data(), x.numel // (rows * columns), rows, columns, diagonal, upper, x.dtype.itemsize)
    else:
        c_triangle(x.data(), out.data(), x.numel // (rows * columns), rows, columns, diagonal, upper, x.dtype.itemsize)
    if target is not None:
        write_layout(target, out)
        return target
    return out


offer("flip", <form_t>_flip, "input: any strided")
offer("rot90", <form_t>_rot90, "input: any strided, dims: sizes")
offer("roll", <form_t>_roll, "input: any strided")
offer("select_backward", <form_t>_select_backward, "g: any strided, shape: sizes")
offer("slice_backward", <form_t>_slice_backward, "g: any strided, shape: sizes")
offer("diagonal_backward", <form_t>_diagonal_backward, "g: any strided, shape: sizes")
offer("select_scatter", <form_t>_select_scatter, "input: any strided, src: same strided")
offer("slice_scatter", <form_t>_slice_scatter, "input: any strided, src: same strided")
offer("diagonal_scatter", <form_t>_diagonal_scatter, "input: any strided, src: same strided")
offer("lay_over", <form_t>_lay_over, "input: any strided, src: same strided, own size stride: sizes")
offer("diag_embed", <form_t>_diag_embed, "input: any strided 1-62d")
offer("diagonal_copy", <form_t>_diagonal_copy, "input: any strided 2d")
offer("named_copy", <form_t>_named_copy, "input: any strided")
offer("triu", <form_t>_triangle, "target, input: any copied nonempty 2d+")
offer("tril", <form_t>_triangle, "target, input: any copied nonempty 2d+")
