"""Native forms of flip, roll, rot90, tril, triu, diag_embed, and of the gradients of views. None: the declaration runs."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memset

from claygrad.core.op cimport Op, fast_t
from claygrad.core.graph.inplace cimport write_layout
from claygrad.core.data.kernels cimport copy_bytes, copy_strided
from claygrad.core.data.layout cimport (Layout, as_contiguous, channels_last, fresh, fresh_like, fresh_strided, new_layout, same_shape,
                                        strictly_row_major)
from claygrad.native.view cimport axis_of, narrowed, on_diagonal, sizes_of
from claygrad.native.elementwise cimport fresh_run, is_permuted
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.registry cimport offer_slots

cdef extern from "elementwise/params.hpp" namespace "clay" nogil:
    void c_triangle "clay::triangle"(const void* x, void* out, int64_t count, int64_t rows, int64_t columns, int64_t diagonal,
                                     bint upper, int64_t item_size) noexcept

cdef extern from "index/strided.hpp" namespace "clay" nogil:
    void fill_elements(void* out, const void* element, int64_t n, int64_t item_size) noexcept

# Bytes above which the interpreter lock is released.
cdef enum:
    RELEASE = 262144


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
    cdef int64_t strides[4]
    strides[1], strides[3], strides[2] = 1, v.shape[1], v.shape[1] * v.shape[3]
    strides[0] = strides[2] * v.shape[2]
    cdef Layout out = fresh_strided(v.dtype, 4, v.shape, strides)
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


cdef inline bint _axes(object dims, int ndim, unsigned long long* selected) except -1:
    """Axes as bits; False if they are not all different ones."""
    cdef int d
    selected[0] = 0
    for x in ((dims,) if type(dims) is int else dims):
        d = axis_of(x, ndim)
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


cdef Layout _flip(Op op, PyObject** slots, Layout target):
    """flip(input, dims)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout
    cdef unsigned long long selected = 0
    if target is not None or not has_default_strides(x) and not strictly_row_major(x) and not is_permuted(x):
        return None
    return _flipped(x, selected) if _axes(<object>slots[1], x.ndim, &selected) else None


cdef Layout _rot90(Op op, PyObject** slots, Layout target):
    """rot90(input, k, dims)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout, out
    cdef int64_t dims[64]
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i, k, a, b
    if target is not None or not has_default_strides(x) or type(<object>slots[1]) is not int or sizes_of(<object>slots[2], dims) != 2:
        return None
    a, b = axis_of(dims[0], x.ndim), axis_of(dims[1], x.ndim)
    if a < 0 or b < 0 or a == b:
        return None
    k = <object>slots[1] % 4
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


cdef Layout _roll(Op op, PyObject** slots, Layout target):
    """roll(input, shifts, dims): every shifted axis is cut in two, and the parts are exchanged."""
    cdef Layout x = (<Tensor><object>slots[0]).layout, out, flat, into
    cdef object shifts = <object>slots[1], dims = <object>slots[2]
    cdef int64_t by[64]
    cdef int64_t shape[64]
    cdef int64_t whole[1]
    cdef int64_t from_, to
    cdef int axes[64]
    cdef unsigned long long seen = 0
    cdef int i, k, n, part
    if target is not None:
        return None
    shifts = (shifts,) if type(shifts) is int else shifts
    dims = (dims,) if type(dims) is int else dims
    n = sizes_of(shifts, by)
    if n < 1 or n > 4:
        return None
    if not x.contiguous and len(dims) and may_be_channels_last(x):
        if not channels_last(x) or len(dims) != n:
            return None
        for i in range(n):                         # after a roll of all elements the result is contiguous
            k = axis_of(dims[i], x.ndim)
            if k < 0 or by[i] % x.shape[k] == 0:
                return None
        out = into = fresh_run(x, x.dtype)
    else:
        out = into = fresh_like(x)
    if len(dims) == 0:
        if n != 1:
            return None
        x = as_contiguous(x)
        whole[0] = x.numel
        flat = new_layout(x.storage, x.dtype, 1, whole, &STEP, x.offset)
        into = new_layout(out.storage, out.dtype, 1, whole, &STEP, 0)
        axes[0] = 0
    elif len(dims) != n:
        return None
    else:
        flat = x
    if len(dims) and x.numel:
        for i in range(n):
            axes[i] = axis_of(dims[i], x.ndim)
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


cdef Layout _zeros_of(Layout like, object shape):
    """Zeros of a shape given as a tuple; None if it is not such."""
    cdef int64_t sizes[64]
    cdef int i, n = sizes_of(shape, sizes)
    if n < 0:
        return None
    for i in range(n):
        if sizes[i] < 0:
            return None
    return _zeros(like, n, sizes)


cdef Layout _with(Layout out, Layout part, Layout src):
    """Write src to a part of `out` and return out; None if the shapes differ."""
    if part is None or not same_shape(part, src) or part.dtype is not src.dtype:
        return None
    write_layout(part, src)
    return out


cdef Layout _part(Layout v, PyObject** at, int kind):
    """The view that select, slice or diagonal arguments describe; None if an argument is unusual."""
    cdef Layout part
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int64_t numbers[3]
    cdef int64_t n
    cdef int i, a, b
    for i in range(3 if kind == SLICE else 1):
        numbers[i] = 0
        value = <object>at[i if kind == DIAGONAL else i + 1]
        if value is None and kind == SLICE and i < 2:
            continue
        if type(value) is not int or not -0x40000000 < value < 0x40000000:
            return None
        numbers[i] = value
    if kind == DIAGONAL:
        a, b = axis_of(<object>at[1], v.ndim), axis_of(<object>at[2], v.ndim)
        return None if a < 0 or b < 0 or a == b else on_diagonal(v, numbers[0], a, b)
    a = axis_of(<object>at[0], v.ndim)
    if a < 0:
        return None
    n = v.shape[a]
    if kind == SLICE:
        if numbers[2] <= 0:
            return None
        if <object>at[2] is None:
            numbers[1] = n
        for i in range(2):
            numbers[i] = max(numbers[i] + n, 0) if numbers[i] < 0 else min(numbers[i], n)
        return narrowed(v, a, numbers[0], max(0, (numbers[1] - numbers[0] + numbers[2] - 1) // numbers[2]), numbers[2])
    if numbers[0] < -n or numbers[0] >= n:
        return None
    part = narrowed(v, a, numbers[0] + n if numbers[0] < 0 else numbers[0], 1, 1)
    for i in range(v.ndim - 1):
        shape[i], strides[i] = part.shape[i if i < a else i + 1], part.strides[i if i < a else i + 1]
    return new_layout(v.storage, v.dtype, v.ndim - 1, shape, strides, part.offset)


cdef enum:
    SELECT = 0
    SLICE = 1
    DIAGONAL = 2


cdef Layout _select_backward(Op op, PyObject** slots, Layout target):
    """select_backward(g, shape, dim, index)"""
    cdef Layout g = (<Tensor><object>slots[0]).layout, out = _zeros_of(g, <object>slots[1])
    return None if target is not None or out is None else _with(out, _part(out, slots + 2, SELECT), g)


cdef Layout _slice_backward(Op op, PyObject** slots, Layout target):
    """slice_backward(g, shape, dim, start, end, step)"""
    cdef Layout g = (<Tensor><object>slots[0]).layout, out = _zeros_of(g, <object>slots[1])
    return None if target is not None or out is None else _with(out, _part(out, slots + 2, SLICE), g)


cdef Layout _diagonal_backward(Op op, PyObject** slots, Layout target):
    """diagonal_backward(g, shape, offset, dim1, dim2)"""
    cdef Layout g = (<Tensor><object>slots[0]).layout, out = _zeros_of(g, <object>slots[1])
    return None if target is not None or out is None else _with(out, _part(out, slots + 2, DIAGONAL), g)


cdef Layout _scattered(PyObject** slots, Layout target, int kind):
    """select_scatter and the like: a copy of slots[0] with slots[1] in the view that the other arguments describe."""
    cdef Layout x = (<Tensor><object>slots[0]).layout, out
    if target is not None or not has_default_strides(x):
        return None
    out = copied(x)
    return _with(out, _part(out, slots + 2, kind), (<Tensor><object>slots[1]).layout)


cdef Layout _select_scatter(Op op, PyObject** slots, Layout target):
    return _scattered(slots, target, SELECT)


cdef Layout _slice_scatter(Op op, PyObject** slots, Layout target):
    return _scattered(slots, target, SLICE)


cdef Layout _diagonal_scatter(Op op, PyObject** slots, Layout target):
    return _scattered(slots, target, DIAGONAL)


cdef Layout _lay_over(Op op, PyObject** slots, Layout target):
    """lay_over(input, src, own, size, stride, offset) if no two elements of src overlap."""
    cdef Layout x = (<Tensor><object>slots[0]).layout, out
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int64_t reach, offset, near
    cdef int i, k, n = sizes_of(<object>slots[3], shape)
    if target is not None or not has_default_strides(x) or n < 0 or n > 8 or sizes_of(<object>slots[4], strides) != n:
        return None
    if <object>slots[2] != x.stride_tuple() or type(<object>slots[5]) is not int:
        return None
    if not 0 <= <object>slots[5] < x.numel:
        return None
    offset = reach = <object>slots[5]
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
    return _with(out, new_layout(out.storage, out.dtype, n, shape, strides, offset), (<Tensor><object>slots[1]).layout)


cdef Layout _diag_embed(Op op, PyObject** slots, Layout target):
    """diag_embed(input, offset, dim1, dim2)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout, out
    cdef int64_t shape[64]
    cdef int64_t n, offset
    cdef int i, k = 0, a = axis_of(<object>slots[2], x.ndim + 1), b = axis_of(<object>slots[3], x.ndim + 1)
    if target is not None or x.ndim == 0 or x.ndim > 62 or a < 0 or b < 0 or a == b:
        return None
    if type(<object>slots[1]) is not int or not -0x40000000 < <object>slots[1] < 0x40000000:
        return None
    offset = <object>slots[1]
    n = x.shape[x.ndim - 1] + abs(offset)
    for i in range(x.ndim + 1):
        if i == a or i == b:
            shape[i] = n
        else:
            shape[i] = x.shape[k]
            k += 1
    out = _zeros(x, x.ndim + 1, shape)
    return _with(out, on_diagonal(out, offset, a, b), x)


cdef Layout _diagonal_copy(Op op, PyObject** slots, Layout target):
    """diagonal_copy(input, offset) of a matrix"""
    cdef Layout x = (<Tensor><object>slots[0]).layout
    if target is not None or x.ndim != 2:
        return None
    if type(<object>slots[1]) is not int or not -0x40000000 < <object>slots[1] < 0x40000000:
        return None
    return copied(on_diagonal(x, <object>slots[1], 0, 1))


cdef Layout _named_copy(Op op, PyObject** slots, Layout target):
    """named_copy(input, name)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout
    return None if target is not None else copied(x)


cdef Layout _triangle(Op op, PyObject** slots, Layout target):
    """tril(input, diagonal), triu(input, diagonal)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout, out
    cdef int64_t rows, columns, limit, diagonal
    cdef bint upper = op.info["kernel"] == "triu"
    if x.ndim < 2 or x.numel == 0 or type(<object>slots[1]) is not int:
        return None
    rows, columns = x.shape[x.ndim - 2], x.shape[x.ndim - 1]
    limit = rows + columns
    diagonal = max(-limit, min(limit, <object>slots[1]))
    out = fresh_like(x)
    x = as_contiguous(x)
    if x.numel * x.dtype.itemsize > RELEASE:
        with nogil:
            c_triangle(x.data(), out.data(), x.numel // (rows * columns), rows, columns, diagonal, upper, x.dtype.itemsize)
    else:
        c_triangle(x.data(), out.data(), x.numel // (rows * columns), rows, columns, diagonal, upper, x.dtype.itemsize)
    if target is not None:
        write_layout(target, out)
        return target
    return out


offer_slots("flip", <fast_t>_flip)
offer_slots("rot90", <fast_t>_rot90)
offer_slots("roll", <fast_t>_roll)
offer_slots("select_backward", <fast_t>_select_backward)
offer_slots("slice_backward", <fast_t>_slice_backward)
offer_slots("diagonal_backward", <fast_t>_diagonal_backward)
offer_slots("select_scatter", <fast_t>_select_scatter)
offer_slots("slice_scatter", <fast_t>_slice_scatter)
offer_slots("diagonal_scatter", <fast_t>_diagonal_scatter)
offer_slots("lay_over", <fast_t>_lay_over)
offer_slots("diag_embed", <fast_t>_diag_embed)
offer_slots("diagonal_copy", <fast_t>_diagonal_copy)
offer_slots("named_copy", <fast_t>_named_copy)
offer_slots("triu", <fast_t>_triangle)
offer_slots("tril", <fast_t>_triangle)
