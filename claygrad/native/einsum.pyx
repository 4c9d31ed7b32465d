"""Native forms of einsum, tensordot, inner, matmul and kron as one batched matrix product, if nothing is recorded.
claygrad/ops/contraction.py has the definitions. A function returns None if it does not apply."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op, composite_slots_t, find_op
from claygrad.core.data.dtype cimport BF16, CAT_FLOAT, F32, F64, I64
from claygrad.core.graph.inplace cimport write_layout
from claygrad.core.data.kernels cimport find, gemm_takes, reduce_fn
from claygrad.core.data.layout cimport Layout, bytes_of, fresh, new_contiguous, new_layout, on_cpu
from claygrad.native.matmul cimport products
from claygrad.core.graph.intercept cimport intercepting
from claygrad.core.graph.modes cimport modes
from claygrad.core.dispatch.call cimport run
from claygrad.core.dispatch.guard cimport Slot
from claygrad.core.dispatch.registry cimport offer_composite_slots
from claygrad.native.reduce cimport reduced
from claygrad.core.tensor cimport CUT, Tensor, new_tensor, requires
from claygrad.core.graph.view cimport make_view

ctypedef fused real:
    float
    double

cdef enum:
    MAX_AXES = 16                            # axes of an operand

# The axes of an operand: batch axes, free axes (rows or columns), and summed axes.
cdef struct Pair:
    Slot input, other
cdef struct Tensordot:
    Slot a, b, dims


cdef struct Axes:
    int batch[MAX_AXES]
    int free[MAX_AXES]
    int summed[MAX_AXES]
    int n_batch, n_free, n_summed


cdef bint is_unrecorded_on_cpu(object x) noexcept:
    """Whether it is a tensor on the CPU with elements and no history."""
    cdef Tensor t
    if not isinstance(x, Tensor):
        return False
    t = <Tensor>x
    return not requires(t) and t.mark != CUT and on_cpu(t.layout) and t.layout.numel > 0 and not t.layout.bits


cdef bint _is_float_operand(object x) noexcept:
    """The same, and float32 or float64."""
    cdef Layout v
    if not is_unrecorded_on_cpu(x):
        return False
    v = (<Tensor>x).layout
    return v.ndim <= MAX_AXES and (v.dtype.code == F32 or v.dtype.code == F64)


cdef bint _factor(object x) noexcept:
    """The same, or bfloat16 if the processor has instructions for it."""
    return _is_float_operand(x) or (is_unrecorded_on_cpu(x) and (<Tensor>x).layout.ndim <= MAX_AXES
                                    and (<Tensor>x).layout.dtype.code == BF16 and gemm_takes(BF16))


cdef bint _factors(object a, object b) noexcept:
    return _factor(a) and _factor(b) and (<Tensor>a).layout.dtype is (<Tensor>b).layout.dtype


cdef bint _fused(Layout v, const int* axes, int n, int64_t* size, int64_t* step) noexcept:
    """Merge axes into one; False if their strides do not allow it."""
    cdef int i
    cdef int64_t next = -1
    size[0], step[0] = 1, 0
    for i in range(n - 1, -1, -1):
        if v.shape[axes[i]] == 1:
            continue
        if next < 0:
            step[0] = v.strides[axes[i]]
        elif v.strides[axes[i]] != next:
            return False
        size[0] *= v.shape[axes[i]]
        next = v.strides[axes[i]] * v.shape[axes[i]]
    return True


cdef Layout _matrices(Layout v, const Axes* s, bint summed_last):
    """The operand as a batch of matrices: a view if possible, else a copy."""
    cdef int64_t shape[3]
    cdef int64_t steps[3]
    cdef int64_t sizes[MAX_AXES]
    cdef int64_t strides[MAX_AXES]
    cdef const int* second = &s.free[0]
    cdef const int* third = &s.summed[0]
    cdef int n_second = s.n_free if summed_last else s.n_summed, n_third = s.n_summed if summed_last else s.n_free
    cdef int i, k = 0
    cdef bint lies
    cdef Layout out
    if not summed_last:
        second = &s.summed[0]
        third = &s.free[0]
    lies = _fused(v, s.batch, s.n_batch, &shape[0], &steps[0])
    lies = _fused(v, second, n_second, &shape[1], &steps[1]) and lies
    lies = _fused(v, third, n_third, &shape[2], &steps[2]) and lies
    if lies:
        return new_layout(v.storage, v.dtype, 3, shape, steps, v.offset)
    shape[0] = shape[1] = shape[2] = 1
    for i in range(s.n_batch):
        sizes[k], strides[k] = v.shape[s.batch[i]], v.strides[s.batch[i]]
        shape[0] *= sizes[k]
        k += 1
    for i in range(n_second):
        sizes[k], strides[k] = v.shape[second[i]], v.strides[second[i]]
        shape[1] *= sizes[k]
        k += 1
    for i in range(n_third):
        sizes[k], strides[k] = v.shape[third[i]], v.strides[third[i]]
        shape[2] *= sizes[k]
        k += 1
    out = fresh(v.dtype, k, sizes)
    write_layout(out, new_layout(v.storage, v.dtype, k, sizes, strides, v.offset))
    steps[2], steps[1], steps[0] = 1, shape[2], shape[1] * shape[2]
    return new_layout(out.storage, v.dtype, 3, shape, steps, 0)


# --- einsum ----------------------------------------------------------------------------------------------------------------
cdef struct Equation:
    signed char at[2][128]               # the axis of each letter in each operand, or -1
    char output[2 * MAX_AXES]
    int ranks[2]
    int operands, n_output


cdef bint _read(str text, Equation* e) except -1:
    """Parse an equation of one or two operands: letters only, no letter twice in one operand."""
    cdef Py_UCS4 c
    cdef int i, which = 0, times
    cdef bint out = False, arrow = False
    for i in range(128):
        e.at[0][i] = e.at[1][i] = -1
    e.ranks[0] = e.ranks[1] = e.n_output = 0
    for c in text:
        if c == u" ":
            continue
        if arrow:
            if c != u">":
                return False
            arrow, out = False, True
        elif c == u"-" and not out:
            arrow = True
        elif c == u"," and not out:
            which += 1
            if which > 1:
                return False
        elif not (u"a" <= c <= u"z" or u"A" <= c <= u"Z"):
            return False
        elif out:
            if e.n_output == 2 * MAX_AXES or e.at[0][<int>c] < 0 and e.at[1][<int>c] < 0:
                return False
            for i in range(e.n_output):
                if e.output[i] == <char>c:
                    return False
            e.output[e.n_output] = <char>c
            e.n_output += 1
        else:
            if e.at[which][<int>c] >= 0 or e.ranks[which] == MAX_AXES:
                return False
            e.at[which][<int>c] = e.ranks[which]
            e.ranks[which] += 1
    e.operands = which + 1
    if not out and not arrow:                            # no arrow: letters that occur once, in alphabetical order
        for i in range(128):
            times = (e.at[0][i] >= 0) + (e.at[1][i] >= 0)
            if times == 1:
                e.output[e.n_output] = <char>i
                e.n_output += 1
    return not arrow


cdef Layout _one(Layout a, const Equation* e):
    """The sum over the letters that the result lacks."""
    cdef int64_t shape[MAX_AXES]
    cdef int64_t strides[MAX_AXES]
    cdef int i, k = 0, axis
    cdef bint kept[MAX_AXES]
    if e.n_output == a.ndim:
        return None                                      # a view
    for i in range(a.ndim):
        kept[i] = False
    for i in range(e.n_output):
        axis = e.at[0][<int>e.output[i]]
        shape[k], strides[k], kept[axis] = a.shape[axis], a.strides[axis], True
        k += 1
    for i in range(a.ndim):
        if not kept[i]:
            shape[k], strides[k] = a.shape[i], a.strides[i]
            k += 1
    if a.dtype.category < CAT_FLOAT and a.dtype.code != I64:
        return None                                      # integers are summed in 64 bits
    cdef reduce_fn f = <reduce_fn>find(b"reduce", b"sum", a.dtype.code)
    return reduced(f, f, new_layout(a.storage, a.dtype, a.ndim, shape, strides, a.offset),
                   tuple(range(e.n_output, a.ndim)), False, a.dtype)


cdef Tensor _viewed(Layout out):
    """The result as a view of the product, as in the declared form."""
    cdef Tensor root = new_tensor(new_contiguous(out.storage, out.dtype, 1, &out.numel))
    return make_view(root, out, False)


cdef Tensor _ordered(Layout v, const Equation* e, int which):
    """An operand with the axes of the result, those that it lacks of size 1."""
    cdef int64_t shape[2 * MAX_AXES]
    cdef int64_t strides[2 * MAX_AXES]
    cdef int i, axis
    for i in range(e.n_output):
        axis = e.at[which][<int>e.output[i]]
        shape[i], strides[i] = 1 if axis < 0 else v.shape[axis], 0 if axis < 0 else v.strides[axis]
    return new_tensor(new_layout(v.storage, v.dtype, e.n_output, shape, strides, v.offset))


cdef object _multiplied(Layout a, Layout b, const Equation* e):
    """The product if nothing is summed."""
    cdef PyObject* pair[2]
    cdef Tensor x = _ordered(a, e, 0), y = _ordered(b, e, 1)
    pair[0], pair[1] = <PyObject*>x, <PyObject*>y
    return run(find_op("mul"), pair)


cdef object _two(Layout a, Layout b, const Equation* e):
    cdef Axes of_a, of_b
    cdef int64_t shape[2 * MAX_AXES]
    cdef int64_t strides[2 * MAX_AXES]
    cdef int group[2 * MAX_AXES]
    cdef int i, j, k, letter
    cdef int64_t n, m, step
    cdef bint in_result[128]
    cdef Layout out
    of_a.n_batch = of_a.n_free = of_a.n_summed = of_b.n_batch = of_b.n_free = of_b.n_summed = 0
    for i in range(128):
        in_result[i] = False
    for i in range(e.n_output):
        letter = e.output[i]
        in_result[letter] = True
        j, k = e.at[0][letter], e.at[1][letter]
        n, m = 1 if j < 0 else a.shape[j], 1 if k < 0 else b.shape[k]
        if n != m and n != 1 and m != 1:
            return None
        shape[i] = n if m == 1 else m
        if n != 1 and m != 1:
            group[i] = 0
            of_a.batch[of_a.n_batch], of_b.batch[of_b.n_batch] = j, k
            of_a.n_batch += 1
            of_b.n_batch += 1
        elif m == 1:
            group[i] = 1
            if j >= 0:
                of_a.free[of_a.n_free] = j
                of_a.n_free += 1
        else:
            group[i] = 2
            of_b.free[of_b.n_free] = k
            of_b.n_free += 1
    for i in range(128):
        j, k = e.at[0][i], e.at[1][i]
        if in_result[i] or j < 0 and k < 0:
            continue
        n, m = 1 if j < 0 else a.shape[j], 1 if k < 0 else b.shape[k]
        if n != m:
            return None                                  # summed in one operand only, or an error
        if n != 1:
            of_a.summed[of_a.n_summed], of_b.summed[of_b.n_summed] = j, k
            of_a.n_summed += 1
            of_b.n_summed += 1
    if of_a.n_summed == 0:
        return _multiplied(a, b, e)
    out = products(_matrices(a, &of_a, True), _matrices(b, &of_b, False))
    step = 1
    for k in range(2, -1, -1):
        for i in range(e.n_output - 1, -1, -1):
            if group[i] == k:
                strides[i] = step
                step *= shape[i]
    return _viewed(new_layout(out.storage, out.dtype, e.n_output, shape, strides, 0))


def einsum(equation, operands):
    """einsum(equation, *operands) of one or two tensors without a history; or None."""
    cdef Equation e
    cdef Layout out, a
    cdef Py_ssize_t n = len(operands)
    if type(equation) is not str or n == 0 or n > 2 or modes().autocast or intercepting():
        return None
    if not _factor(operands[0]) or not _read(equation, &e):
        return None
    a = (<Tensor>operands[0]).layout
    if e.operands != n or e.ranks[0] != a.ndim:
        return None
    if n == 1:
        out = _one(a, &e) if _is_float_operand(operands[0]) else None
    elif not _factor(operands[1]) or (<Tensor>operands[1]).layout.ndim != e.ranks[1] or (<Tensor>operands[1]).layout.dtype is not a.dtype:
        return None
    else:
        return _two(a, (<Tensor>operands[1]).layout, &e)
    return None if out is None else new_tensor(out)


# --- tensordot ---------------------------------------------------------------------------------------------------------------
cdef int _numbers(object dims, int ndim, int* into) except -2:
    """Non-negative axes; returns their number, or -1 if they are invalid or repeated."""
    cdef int n = 0, i
    cdef int64_t d
    if type(dims) is int:
        dims = (dims,)
    elif not isinstance(dims, (tuple, list)):
        return -1
    for x in dims:
        if type(x) is not int or not -ndim <= x < ndim or n == MAX_AXES:
            return -1
        d = x
        into[n] = d + ndim if d < 0 else d
        for i in range(n):
            if into[i] == into[n]:
                return -1
        n += 1
    return n


cdef int _unsummed(Layout v, const int* summed, int n, Axes* axes, int64_t* shape) noexcept:
    """Fill in the axes of v that are not summed, and their sizes; returns how many."""
    cdef int i, j
    axes.n_batch = axes.n_free = 0
    axes.n_summed = n
    for j in range(n):
        axes.summed[j] = summed[j]
    for i in range(v.ndim):
        for j in range(n):
            if summed[j] == i:
                break
        else:
            axes.free[axes.n_free] = i
            shape[axes.n_free] = v.shape[i]
            axes.n_free += 1
    return axes.n_free


cdef Layout _over(Layout a, Layout b, const int* of_a, const int* of_b, int n):
    """Sum over pairs of axes. The result has the free axes of a, then those of b."""
    cdef Axes left, right
    cdef int64_t shape[2 * MAX_AXES]
    cdef int i, k
    cdef Layout out
    for i in range(n):
        if a.shape[of_a[i]] != b.shape[of_b[i]]:
            return None
    k = _unsummed(a, of_a, n, &left, shape)
    k += _unsummed(b, of_b, n, &right, shape + k)
    out = products(_matrices(a, &left, True), _matrices(b, &right, False))
    return new_contiguous(out.storage, out.dtype, k, shape)


cdef object _tensordot(Op op, Tensordot* given):
    """Of tensors without a history."""
    cdef object a = <object>given.a, b = <object>given.b, dims = <object>given.dims
    cdef int of_a[MAX_AXES]
    cdef int of_b[MAX_AXES]
    cdef int n = 0, i
    cdef Layout x, y, out
    if not _factors(a, b):
        return None
    x, y = (<Tensor>a).layout, (<Tensor>b).layout
    if type(dims) is int:
        if not 0 <= dims <= min(x.ndim, y.ndim):
            return None
        n = dims
        for i in range(n):
            of_a[i], of_b[i] = x.ndim - n + i, i
    elif isinstance(dims, (tuple, list)) and len(dims) == 2:
        n = _numbers(dims[0], x.ndim, of_a)
        if n < 0 or _numbers(dims[1], y.ndim, of_b) != n:
            return None
    else:
        return None
    out = _over(x, y, of_a, of_b, n)
    return None if out is None else _viewed(out)


cdef object _inner(Op op, Pair* given):
    """Of tensors without a history."""
    cdef Layout x, y, out
    cdef int last_a, last_b
    if not _factors(<object>given.input, <object>given.other):
        return None
    x, y = (<Tensor>given.input).layout, (<Tensor>given.other).layout
    last_a, last_b = x.ndim - 1, y.ndim - 1
    if last_a < 0 or last_b < 0:
        return None
    out = _over(x, y, &last_a, &last_b, 1)
    return None if out is None else _viewed(out)


# --- matmul ------------------------------------------------------------------------------------------------------------------
cdef Layout _broadcast_batch(Layout v, int batch, const int64_t* shape):
    """v as a batch of matrices, broadcast to this batch shape without a copy."""
    cdef int64_t sizes[MAX_AXES]
    cdef int64_t strides[MAX_AXES]
    cdef int i, k
    for i in range(batch):
        k = i - (batch + 2 - v.ndim)
        sizes[i], strides[i] = shape[i], 0 if k < 0 or v.shape[k] == 1 else v.strides[k]
    for i in range(2):
        sizes[batch + i], strides[batch + i] = v.shape[v.ndim - 2 + i], v.strides[v.ndim - 2 + i]
    return new_layout(v.storage, v.dtype, batch + 2, sizes, strides, v.offset)


cdef object matmul(object a, object b):
    """a @ b of stacks of matrices without a history; or None."""
    cdef Layout x, y, out
    cdef Axes left, right
    cdef int64_t shape[MAX_AXES]
    cdef int i, batch
    cdef int64_t n, m
    if not _factors(a, b):
        return None
    x, y = (<Tensor>a).layout, (<Tensor>b).layout
    if x.ndim < 2 or y.ndim < 2 or x.shape[x.ndim - 1] != y.shape[y.ndim - 2] or max(x.ndim, y.ndim) > MAX_AXES - 2:
        return None
    left.n_batch = right.n_batch = 0
    left.n_summed = right.n_summed = right.n_free = 1
    if y.ndim == 2:                                      # merge the batch into the rows
        left.n_free = x.ndim - 1
        for i in range(x.ndim - 1):
            left.free[i] = i
            shape[i] = x.shape[i]
        left.summed[0], right.summed[0], right.free[0] = x.ndim - 1, 0, 1
        shape[x.ndim - 1] = y.shape[1]
        out = products(_matrices(x, &left, True), _matrices(y, &right, False))
        return new_tensor(new_contiguous(out.storage, out.dtype, x.ndim, shape))
    batch = max(x.ndim, y.ndim) - 2
    for i in range(batch):
        n = 1 if i < batch + 2 - x.ndim else x.shape[i - (batch + 2 - x.ndim)]
        m = 1 if i < batch + 2 - y.ndim else y.shape[i - (batch + 2 - y.ndim)]
        if n != m and n != 1 and m != 1:
            return None
        shape[i] = n if m == 1 else m
        left.batch[i] = right.batch[i] = i
    x, y = _broadcast_batch(x, batch, shape), _broadcast_batch(y, batch, shape)
    left.n_batch = right.n_batch = batch
    left.n_free = 1
    left.free[0], left.summed[0], right.summed[0], right.free[0] = batch, batch + 1, batch, batch + 1
    shape[batch], shape[batch + 1] = x.shape[batch], y.shape[batch + 1]
    out = products(_matrices(x, &left, True), _matrices(y, &right, False))
    return new_tensor(new_contiguous(out.storage, out.dtype, batch + 2, shape))


# --- Kronecker's product -------------------------------------------------------------------------------------------------------
cdef void _times(real* out, const real* a, int64_t a_row, int64_t a_column, const real* b, int64_t b_row, int64_t b_column, int64_t m,
                 int64_t n, int64_t p, int64_t q) noexcept nogil:
    """out[i, k, j, c] = a[i, j] * b[k, c], a (m, n) and b (p, q)"""
    cdef int64_t i, j, k, c
    cdef real by
    for i in range(m):
        for k in range(p):
            for j in range(n):
                by = a[i * a_row + j * a_column]
                if b_column == 1:
                    for c in range(q):
                        out[c] = by * b[k * b_row + c]
                else:
                    for c in range(q):
                        out[c] = by * b[k * b_row + c * b_column]
                out += q


cdef object _kron(Op op, Pair* given):
    """Of matrices and vectors without a history."""
    cdef object a = <object>given.input, b = <object>given.other
    cdef Layout x, y, out
    cdef int64_t shape[2]
    cdef int64_t sizes[4]
    cdef int64_t m = 1, n = 1, p = 1, q = 1, a_row = 0, a_column = 0, b_row = 0, b_column = 0
    if not _is_float_operand(a) or not _is_float_operand(b) or (<Tensor>a).layout.dtype is not (<Tensor>b).layout.dtype:
        return None
    x, y = (<Tensor>a).layout, (<Tensor>b).layout
    if x.ndim > 2 or y.ndim > 2 or x.ndim == 0 or y.ndim == 0:
        return None
    n, a_column = x.shape[x.ndim - 1], x.strides[x.ndim - 1]
    q, b_column = y.shape[y.ndim - 1], y.strides[y.ndim - 1]
    if x.ndim == 2:
        m, a_row = x.shape[0], x.strides[0]
    if y.ndim == 2:
        p, b_row = y.shape[0], y.strides[0]
    if (m > 1 and a_row < a_column) or (p > 1 and b_row < b_column):       # the result then lies as its factors do
        return None
    sizes[0], sizes[1], sizes[2], sizes[3] = m, p, n, q
    bytes_of(x.dtype, 4, sizes)                          # raises on overflow
    shape[0], shape[1] = m * p, n * q
    out = fresh(x.dtype, 2, shape) if x.ndim == 2 or y.ndim == 2 else fresh(x.dtype, 1, &shape[1])
    if x.dtype.code == F32:
        _times(<float*>out.data(), <const float*>x.data(), a_row, a_column, <const float*>y.data(), b_row, b_column, m, n, p, q)
    else:
        _times(<double*>out.data(), <const double*>x.data(), a_row, a_column, <const double*>y.data(), b_row, b_column, m, n, p, q)
    return new_tensor(out)


offer_composite_slots("tensordot", <composite_slots_t>_tensordot)
offer_composite_slots("inner", <composite_slots_t>_inner)
offer_composite_slots("kron", <composite_slots_t>_kron)
