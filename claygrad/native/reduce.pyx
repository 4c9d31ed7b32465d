"""Native forms of reductions and of the softmax family."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from claygrad.core.op cimport POINTWISE, PROMOTE_BOOL, PROMOTE_INDEX, PROMOTE_SUM, REDUCTION, Op, fast_t
from claygrad.core.data.dtype cimport BF16, BOOL, CAT_FLOAT, F16, F32, F64, I64, N_NATIVE, dtype, of_code
from claygrad.core.dispatch.convert_half cimport cast_half
from claygrad.core.data.kernels cimport ReduceInput, find, reduce_fn, reduce_lines, rows2_fn, rows_fn
from claygrad.core.data.layout cimport (Layout, Lines, as_contiguous, axis_in, by_stride, dense, fresh, fresh_like, is_broadcast,
                                        lines_along, new_contiguous, new_layout, permuted, same_shape)
from claygrad.core.graph.intercept cimport intercepting
from claygrad.core.graph.modes cimport modes
from claygrad.native.view cimport narrowed
from claygrad.core.tensor cimport Tensor, bare_tensor, requires
from claygrad.core.dispatch.guard cimport Arg, Slot, guard, guarded
from claygrad.core.dispatch.registry cimport REDUCE_TABLE, offer_slots, take_loops, offer_table

cdef enum:
    RELEASE = 16384
    # Max elements of a broadcast or permuted tensor that is copied first.
    COPIED = 1 << 22


cdef Layout arranged(Layout x, object dim, bint ordered, int64_t* outer, int64_t* n, int64_t* inner):
    """The elements as (outer, n, inner) in memory, the axes `dim` in the middle: x itself, or a copy; None if neither will do.

    The other axes keep their order; so do those of `dim` if `ordered`.
    """
    cdef bint selected[64]
    cdef int order[64]
    cdef int i, k, at, count = 0, first = -1, last = -1
    cdef int64_t expected = 1
    outer[0] = n[0] = inner[0] = 1
    if dim is None or x.ndim == 0 or len(<tuple>dim) == x.ndim and not ordered:
        n[0] = x.numel
        if x.contiguous or not ordered and dense(x):
            return x
        if x.numel > COPIED:
            return None
        if ordered:
            return as_contiguous(x)
        by_stride(x, x.ndim, order)
        return as_contiguous(permuted(x, order))
    for i in range(x.ndim):
        selected[i] = False
        order[i] = i
    for axis in <tuple>dim:
        selected[<int>axis] = True
        count += 1
    if not x.contiguous:                       # the axes by decreasing stride; those of size 1 stay
        for i in range(1, x.ndim):
            for k in range(i, 0, -1):
                if x.strides[order[k]] <= x.strides[order[k - 1]]:
                    break
                if (selected[order[k]] == selected[order[k - 1]] and (ordered or not selected[order[k]])
                        and x.shape[order[k]] != 1 and x.shape[order[k - 1]] != 1):
                    break                      # these two must keep their order
                order[k], order[k - 1] = order[k - 1], order[k]
        for i in range(x.ndim - 1, -1, -1):
            if x.shape[order[i]] != 1:
                if x.strides[order[i]] != expected:
                    expected = -1
                    break
                expected *= x.shape[order[i]]
    for i in range(x.ndim):
        if selected[order[i]]:
            first = i if first < 0 else first
            last = i
    if expected < 0 or last - first + 1 != count:
        if x.numel > COPIED:
            return None
        if last - first + 1 != count:          # else no copy is needed
            at = 0
            for k in range(2):
                for i in range(x.ndim):
                    if selected[i] == k:
                        order[at] = i
                        at += 1
            first, last = x.ndim - count, x.ndim - 1
        x = as_contiguous(permuted(x, order))
        for i in range(x.ndim):
            order[i] = i
    for i in range(x.ndim):
        if i < first:
            outer[0] *= x.shape[order[i]]
        elif i <= last:
            n[0] *= x.shape[order[i]]
        else:
            inner[0] *= x.shape[order[i]]
    return x


cdef Layout without(dtype kind, Layout x, object dim, bint keep):
    """A new tensor without these axes, or with size 1 there."""
    cdef int64_t shape[64]
    cdef int i, k = 0
    for i in range(x.ndim):
        if dim is None or i in <tuple>dim:
            if not keep:
                continue
            shape[k] = 1
        else:
            shape[k] = x.shape[i]
        k += 1
    return fresh(kind, k, shape)


cdef Layout _last_run(reduce_fn f, Layout x, list axes, dtype kind):
    """x as a view for reducing its last group of adjacent axes first, which are removed from the list; None if there is one group."""
    cdef int64_t shape[64]
    cdef int64_t outer = 1, n = 1, inner = 1
    cdef int i, k = 0, last = axes[len(axes) - 1], first = last
    cdef Layout out
    while len(axes) and <int>axes[len(axes) - 1] == first:
        axes.pop()
        first -= 1
    first += 1
    if not axes:
        return None
    for i in range(x.ndim):
        if first <= i <= last:
            n *= x.shape[i]
            continue
        shape[k] = x.shape[i]
        k += 1
        if i < first:
            outer *= x.shape[i]
        else:
            inner *= x.shape[i]
    out = fresh(kind, k, shape)
    with nogil:
        reduce_lines(f, x.data(), out.data(), outer, n, inner)
    return out


cdef struct Axis:
    int64_t size, step


cdef int _merged(Axis* axes, int count) noexcept:
    """Merge axes that form one in memory; returns the new number of axes."""
    cdef int i, at = 0
    for i in range(1, count):
        if axes[at].step == axes[i].step * axes[i].size:
            axes[at].size *= axes[i].size
        else:
            at += 1
            axes[at].size = axes[i].size
        axes[at].step = axes[i].step
    return at + 1 if count else 0


# Note [Gaps]
# Slices of a larger tensor, overlapping windows and broadcast axes are read without a copy if the innermost stride is 1: that axis
# is either reduced as a row, or kept as columns. Reduced axes that cannot be merged are reduced one after the other, innermost first.
cdef Layout _with_gaps(reduce_fn f, reduce_fn again, Layout x, object dim, bint keep, dtype kind):
    cdef Axis gone[64]
    cdef Axis kept[64]
    cdef Axis axis
    cdef ReduceInput s
    cdef int n_gone = 0, n_kept = 0, i, k, row = -1
    cdef int64_t others = 1, results = 1
    cdef Layout out, result
    for i in range(x.ndim):
        if x.shape[i] == 1:
            continue
        axis.size, axis.step = x.shape[i], x.strides[i]
        if dim is not None and i not in <tuple>dim:
            kept[n_kept] = axis
            n_kept += 1
            continue
        k = n_gone                             # the farthest first; those of one element broadcast before all
        while k > 0 and (not axis.step or gone[k - 1].step and gone[k - 1].step < axis.step):
            gone[k] = gone[k - 1]
            k -= 1
        gone[k] = axis
        n_gone += 1
    if n_gone == 0:
        gone[0].size, gone[0].step, n_gone = 1, 0, 1
    n_gone, n_kept = _merged(gone, n_gone), _merged(kept, n_kept)
    if n_gone > 1 and again == NULL:
        return None
    for i in range(n_gone):
        if gone[i].step == 1:
            row = i
    s.inner = 1
    if row < 0 or n_kept and kept[n_kept - 1].step == 1 and kept[n_kept - 1].size >= gone[row].size:
        if not n_kept or kept[n_kept - 1].step != 1:
            return None
        row = n_gone - 1
        n_kept -= 1
        s.inner = results = kept[n_kept].size
    s.x, s.n, s.pitch, s.axes = x.data(), gone[row].size, gone[row].step, 0
    for i in range(n_gone):
        if i != row:
            s.shape[s.axes], s.leap[s.axes] = gone[i].size, gone[i].step
            others *= gone[i].size
            s.axes += 1
    for i in range(n_kept):
        s.shape[s.axes], s.leap[s.axes] = kept[i].size, kept[i].step
        results *= kept[i].size
        s.axes += 1
    if s.axes == 0:
        s.shape[0], s.leap[0], s.axes = 1, 0, 1
    out = without(kind, x, dim, keep)
    result = out
    if others > 1:
        results *= others
        result = fresh(kind, 1, &results)
    if x.numel > RELEASE:
        with nogil:
            f(s, result.data())
            if others > 1:
                reduce_lines(again, result.data(), out.data(), 1, others, results // others)
    else:
        f(s, result.data())
        if others > 1:
            reduce_lines(again, result.data(), out.data(), 1, others, results // others)
    return out


cdef Layout reduced(reduce_fn f, reduce_fn again, Layout x, object dim, bint keep, dtype kind):
    """Reduce x over the axes: one kernel for the first group of axes, another for the results. None: does not apply."""
    cdef int64_t outer, n, inner
    cdef Layout from_, out
    if f == NULL or x.numel == 0 or dim is not None and len(<tuple>dim) == 0 and x.ndim:
        return None
    if not x.contiguous:
        out = _with_gaps(f, again, x, dim, keep, kind)
        if out is not None:
            return out
        if x.numel <= COPIED and is_broadcast(x):
            x = as_contiguous(x)
    if again != NULL and x.contiguous and dim is not None and 1 < len(<tuple>dim) < x.ndim and x.numel > RELEASE:
        axes = sorted(<tuple>dim)
        from_ = _last_run(f, x, axes, kind)
        if from_ is not None:
            from_ = reduced(again, again, from_, tuple(axes), False, kind)
            if from_ is None:
                return None
            out = without(kind, x, dim, keep)
            return new_contiguous(from_.storage, kind, out.ndim, out.shape)
    from_ = arranged(x, dim, False, &outer, &n, &inner)
    if from_ is None:
        return _in_parts(f, again, x, dim, keep, kind)
    out = without(kind, x, dim, keep)
    if x.numel > RELEASE:
        with nogil:
            reduce_lines(f, from_.data(), out.data(), outer, n, inner)
    else:
        reduce_lines(f, from_.data(), out.data(), outer, n, inner)
    return out


cdef Layout _in_parts(reduce_fn f, reduce_fn again, Layout x, object dim, bint keep, dtype kind):
    """Reduce a tensor that is too large to copy at once, slice by slice along its first kept axis."""
    cdef Layout out = without(kind, x, dim, keep), result
    cdef int64_t each, start = 0, count, one
    cdef int axis = 0
    if dim is None:
        return None
    while axis < x.ndim and (axis in <tuple>dim or x.shape[axis] == 1):
        axis += 1
    if axis == x.ndim:
        return None
    each, one = COPIED // (x.numel // x.shape[axis]), out.numel // x.shape[axis] * kind.itemsize
    if each == 0:
        return None
    while start < x.shape[axis]:
        count = min(each, x.shape[axis] - start)
        result = reduced(f, again, narrowed(x, axis, start, count, 1), dim, keep, kind)
        if result is None:
            return None
        memcpy(out.data() + start * one, result.data(), count * one)
        start += count
    return out


cdef struct Both:
    Slot input, dim, keepdim
cdef struct Rows:
    Arg input, dim
cdef struct RowsBackward:
    Arg grad_output, output, dim


cdef Layout _reduce(Op op, PyObject** slots, Layout target):
    cdef Layout x = (<Tensor><object>slots[0]).layout, out
    cdef dtype kind = x.dtype
    cdef bint half = kind.code == F16 or kind.code == BF16
    if op.kernels[kind.code] == NULL:
        return None
    if op.promote == PROMOTE_BOOL:
        kind = of_code(BOOL)
    elif op.promote == PROMOTE_INDEX or op.promote == PROMOTE_SUM and kind.category < CAT_FLOAT:
        kind = of_code(I64)
    if op.dtype_at >= 0 and <object>slots[op.dtype_at] is not None and <object>slots[op.dtype_at] is not kind:
        return None
    out = reduced(<reduce_fn>op.kernels[x.dtype.code], <reduce_fn>op.number_kernels[x.dtype.code], x,
                   None if op.dim_at < 0 else <object>slots[op.dim_at], op.keepdim_at >= 0 and <object>slots[op.keepdim_at] is True,
                   of_code(F32) if half else kind)
    return cast_half(out, kind) if half and out is not None else out


def spread_over(Tensor t, shape):
    """One reduced element as a tensor of this shape, without a graph: the gradient of a full sum. None if it does not apply."""
    cdef int64_t dims[64]
    cdef int64_t zeros[64]
    cdef int i = 0
    cdef Tensor out
    if t.layout.numel != 1 or len(shape) > 64 or requires(t) and not modes().no_grad or t.layout.bits or intercepting():
        return None
    for n in shape:
        dims[i] = n
        zeros[i] = 0
        i += 1
    out = bare_tensor()
    out.layout = new_layout(t.layout.storage, t.layout.dtype, i, dims, zeros, t.layout.offset)
    return out


cdef Layout _sum_back(PyObject** args):
    """The gradient of a sum: g over the axes that are gone. Arguments: g, the shape of the input, dim, keepdim."""
    cdef Layout g = (<Tensor>args[0]).layout
    cdef tuple shape = <tuple>args[1]
    cdef object dim = <object>args[2]
    cdef bint keep = <object>args[3] is True
    cdef int64_t dims[64]
    cdef int64_t steps[64]
    cdef int i, k = 0, ndim = len(shape)
    if ndim > 64 or (g.numel != 1 and dim is None):
        return None
    for i in range(ndim):
        dims[i] = shape[i]
        steps[i] = 0
        if dim is None:
            continue
        if i not in <tuple>dim:
            steps[i] = g.strides[k]
            k += 1
        elif keep:
            k += 1
    return new_layout(g.storage, g.dtype, ndim, dims, steps, g.offset)


cdef list _both(Op op, Both* a, Layout target):
    """The smallest and the largest."""
    cdef Layout x = (<Tensor>a.input).layout, low
    cdef bint keep = <object>a.keepdim is True
    low = reduced(<reduce_fn>op.kernels[x.dtype.code], NULL, x, <object>a.dim, keep, x.dtype)
    return None if low is None else [low, reduced(<reduce_fn>op.number_kernels[x.dtype.code], NULL, x, <object>a.dim, keep, x.dtype)]


# (x, the result or NULL, out; outer, n, inner)
ctypedef void (*columns_fn)(const void*, const void*, void*, int64_t, int64_t, int64_t) noexcept nogil


cdef Layout _rows(Op op, Rows* a):
    """softmax and log_softmax."""
    cdef Layout x = <Layout>a.input.layout, out
    cdef rows_fn f = <rows_fn>op.kernels[x.dtype.code]
    cdef columns_fn across = <columns_fn>op.number_kernels[x.dtype.code]
    cdef int d = axis_in(a.dim.value, x.ndim)
    cdef Lines s
    if d < 0:
        return None
    s, out = lines_along(x.ndim, x.shape, d), fresh_like(x)
    if s.inner > 1:
        with nogil:
            across(x.data(), NULL, out.data(), s.outer, s.n, s.inner)
    elif x.numel > RELEASE:
        with nogil:
            f(x.data(), out.data(), s.outer, s.n)
    else:
        f(x.data(), out.data(), s.outer, s.n)
    return out


cdef Layout _rows_backward(Op op, RowsBackward* a):
    cdef Layout g = <Layout>a.grad_output.layout, y = <Layout>a.output.layout, out
    cdef rows2_fn f = <rows2_fn>op.kernels[y.dtype.code]
    cdef columns_fn across = <columns_fn>op.number_kernels[y.dtype.code]
    cdef int d = axis_in(a.dim.value, y.ndim)
    cdef Lines s
    if d < 0 or not same_shape(g, y):
        return None
    s, out = lines_along(y.ndim, y.shape, d), fresh_like(y)
    if s.inner > 1:
        with nogil:
            across(g.data(), y.data(), out.data(), s.outer, s.n, s.inner)
    elif y.numel > RELEASE:
        with nogil:
            f(g.data(), y.data(), out.data(), s.outer, s.n)
    else:
        f(g.data(), y.data(), out.data(), s.outer, s.n)
    return out


cdef int _loops_of_both(Op op) except -1:
    cdef int code
    take_loops(op, b"reduce", b"amin")
    for code in range(N_NATIVE):
        op.number_kernels[code] = find(b"reduce", b"amax", code)
    return 0


offer_slots("both", <fast_t>_both).ready = _loops_of_both


cdef bint _table(Op op, str kernel, bint found) except -1:
    """Give an operation its reduction or softmax kernel."""
    cdef int code
    cdef bytes said = kernel.encode(), name = said
    if found or op.kind == POINTWISE:
        return False
    if op.kind == REDUCTION:
        if not take_loops(op, b"reduce", name):
            return False
        op.fast = <fast_t>_reduce
        name = b"sum" if kernel == "nansum" or kernel == "count" else name
        for code in range(N_NATIVE):                     # kernels for the results, if there are several groups of axes
            op.number_kernels[code] = find(b"reduce", name, code if op.promote != PROMOTE_BOOL else BOOL)
        for code in (F16, BF16):                         # half precision: float32 sums, rounded at the end
            op.kernels[<int>code], op.number_kernels[<int>code] = find(b"reduce_half", said, code), op.number_kernels[F32]
        if kernel == "count" or op.promote == PROMOTE_SUM:       # int64 results
            for code in range(N_NATIVE):
                if kernel == "count" or of_code(code).category < CAT_FLOAT:
                    op.number_kernels[code] = op.number_kernels[I64]
        if kernel == "sum":
            op.fast_rules[0] = _sum_back
        return True
    family = b"rows" if find(b"rows", name, F32) != NULL else b"rows2"
    if not take_loops(op, family, name):
        return False
    op.fast, op.form = guarded, <void*>_rows if family == b"rows" else <void*>_rows_backward
    for code in (F32, F64):
        op.number_kernels[<int>code] = find(family, name + b"_columns", code)
    guard(op, "input: kernel copied nonempty" if family == b"rows" else "grad_output: kernel copied, output: same copied nonempty")
    return True


offer_table(REDUCE_TABLE, _table)
