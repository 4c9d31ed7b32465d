"""Native forms of composites: pooling, normalisation, convolution and interpolation. They pass their arguments to the operation
behind them (`parts` of the declaration) without a Python frame. None: the declared function runs."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from claygrad.core.dispatch.call cimport call_view, run, run_all as _run
from claygrad.core.op cimport Op, find_op
from claygrad.core.data.dtype cimport BF16, F16, F32, F64
from claygrad.core.graph.inplace cimport begin_write
from claygrad.core.data.layout cimport Layout, fresh
from claygrad.core.data.scalar cimport cast_between
from claygrad.core.dispatch.convert_half cimport wide_half
from claygrad.core.dispatch.guard cimport floats_at, int_at, ints_at, layout_at, reals_at, recording, tuple_of, vector_or_none
from claygrad.core.tensor cimport Tensor, new_tensor, requires
from claygrad.core.dispatch.registry cimport offer_composite_slots

cdef object _view(str name, object x, object dim):
    cdef PyObject* slots[2]
    slots[0], slots[1] = <PyObject*>x, <PyObject*>dim
    return call_view(find_op(name), slots)


cdef inline object _lifted(object x):
    """(N, C, L) as (N, C, 1, L): PyTorch pools that, and returns a view of the result."""
    return _view("unsqueeze", x, -2)


cdef inline object _lowered(object x):
    return _view("squeeze", x, -2)


cdef inline bint _absent(object stride):
    return stride is None or isinstance(stride, (tuple, list)) and len(stride) == 0


# --- pooling ------------------------------------------------------------------------------------------------------------------
cdef struct Window:
    int64_t kernel[3]
    int64_t stride[3]
    int64_t padding[3]
    int64_t dilation[3]


cdef bint _window(PyObject** slots, int dims, Window* w, bint dilated):
    """The numbers of (input, kernel_size, stride, padding, [dilation], ...) for every axis."""
    cdef int i
    if not ints_at(<object>slots[1], dims, w.kernel) or not ints_at(<object>slots[3], dims, w.padding):
        return False
    if not _absent(<object>slots[2]):
        if not ints_at(<object>slots[2], dims, w.stride):
            return False
    else:
        for i in range(dims):
            w.stride[i] = w.kernel[i]
    return ints_at(<object>slots[4] if dilated else 1, dims, w.dilation)


cdef bint _line_fits(Layout x, Window* w) noexcept:
    """Whether the arguments for a 1-d input, (C, L) or (N, C, L), are valid."""
    cdef int64_t k = w.kernel[0], p = w.padding[0], n
    if x.ndim != 2 and x.ndim != 3 or k < 1 or w.stride[0] < 1 or w.dilation[0] < 1 or p < 0 or p > k // 2:
        return False
    n = x.shape[x.ndim - 1]
    return x.shape[x.ndim - 2] > 0 and n > 0 and n + 2 * p - w.dilation[0] * (k - 1) - 1 >= 0


cdef object _max_pool(Op op, PyObject** slots):
    """(input, kernel_size, stride, padding, dilation, ceil_mode[, return_indices]); parts: without indices, with them"""
    cdef int dims = <int>op.name[8] - 48
    cdef Window w
    cdef Layout x = floats_at(slots[0])
    cdef bint with_indices = len(op.name) > 10 or op.n_params == 7 and <object>slots[6] is True
    cdef bint recorded = recording(slots[0])
    if x is None or x.ndim != dims + 1 and x.ndim != dims + 2 or not _window(slots, dims, &w, True):
        return None
    ceil = <object>slots[5]
    if dims == 1:
        if not _line_fits(x, &w):
            return None
        if with_indices or requires(<Tensor>slots[0]):
            out = _run(op.parts[1 if with_indices or recorded else 0],
                        [_lifted(<object>slots[0]), (1, w.kernel[0]), (1, w.stride[0]), (0, w.padding[0]), (1, w.dilation[0]), ceil])
            return (_lowered(out[0]), _lowered(out[1])) if with_indices else _lowered(out[0] if recorded else out)
    out = _run(op.parts[1 if with_indices or recorded else 0],
                [<object>slots[0], tuple_of(dims, w.kernel), tuple_of(dims, w.stride), tuple_of(dims, w.padding),
                 tuple_of(dims, w.dilation), ceil])
    return out[0] if recorded and not with_indices else out


cdef object _avg_pool(Op op, PyObject** slots):
    """(input, kernel_size, stride, padding, ceil_mode, count_include_pad[, divisor_override])"""
    cdef int dims = <int>op.name[8] - 48
    cdef Window w
    cdef Layout x = floats_at(slots[0])
    if x is None or x.ndim != dims + 1 and x.ndim != dims + 2 or not _window(slots, dims, &w, False):
        return None
    ceil, counted = <object>slots[4], <object>slots[5]
    if dims == 1:
        if not _line_fits(x, &w):
            return None
        return _lowered(_run(op.parts[0], [_lifted(<object>slots[0]), (1, w.kernel[0]), (1, w.stride[0]), (0, w.padding[0]),
                                           ceil, counted, None]))
    return _run(op.parts[0], [<object>slots[0], tuple_of(dims, w.kernel), tuple_of(dims, w.stride), tuple_of(dims, w.padding), ceil,
                              counted, <object>slots[6] if op.n_params == 7 else None])


cdef bint _sizes(Layout x, object given, int dims, int64_t* size):
    """The output size of every axis; None: that of the input."""
    cdef int i
    if not isinstance(given, (tuple, list)):
        if not ints_at(given, dims, size):
            return False
    elif x.ndim <= len(given) or len(given) != dims and len(given) != 1:
        return False
    else:
        for i in range(dims):
            value = given[i if len(given) == dims else 0]
            if value is None:
                size[i] = x.shape[x.ndim - dims + i]
            elif not int_at(value, size + i):
                return False
    for i in range(dims):
        if size[i] < 1:
            return False
    return True


cdef bint _whole(Layout x, int dims) noexcept:
    """Whether it has `dims` spatial axes, and no axis but the batch is empty."""
    cdef int i
    if x.ndim != dims + 1 and x.ndim != dims + 2:
        return False
    for i in range(x.ndim - dims - 1, x.ndim):
        if x.shape[i] == 0:
            return False
    return True


cdef object _shared_means(object input, int ndim, int dims, const int64_t* size, object shares, object mean):
    """Adaptive average pooling, by one of two operations."""
    cdef bint one = True
    cdef int i
    for i in range(dims):
        one = one and size[i] == 1
    if dims == 1:
        lifted = _lifted(input)
        if one:
            return _lowered(_run(mean, [lifted, (ndim - 1, ndim), True, None]))
        return _lowered(_run(shares, [lifted, (1, size[0])]))
    if one:
        return _run(mean, [input, tuple([i for i in range(ndim - dims, ndim)]), True, None])
    return _run(shares, [input, tuple_of(dims, size)])


cdef object _adaptive_avg_pool(Op op, PyObject** slots):
    """(input, output_size); parts: adaptive pooling, mean"""
    cdef int dims = <int>op.name[17] - 48
    cdef int64_t size[3]
    cdef Layout x = floats_at(slots[0])
    if x is None or not _whole(x, dims) or not _sizes(x, <object>slots[1], dims, size):
        return None
    return _shared_means(<object>slots[0], x.ndim, dims, size, op.parts[0], op.parts[1])


cdef object _adaptive_max_pool(Op op, PyObject** slots):
    """(input, output_size[, return_indices])"""
    cdef int dims = <int>op.name[17] - 48
    cdef int64_t size[3]
    cdef bint with_indices = len(op.name) > 19 or op.n_params == 2 or <object>slots[2] is True
    cdef Layout x = floats_at(slots[0])
    if x is None or not _whole(x, dims) or not _sizes(x, <object>slots[1], dims, size):
        return None
    if dims == 1:
        out = _run(op.parts[0], [_lifted(<object>slots[0]), (1, size[0])])
        return (_lowered(out[0]), _lowered(out[1])) if with_indices else _lowered(out[0])
    out = _run(op.parts[0], [<object>slots[0], tuple_of(dims, size)])
    return out if with_indices else out[0]


# --- normalisation --------------------------------------------------------------------------------------------------------------
cdef object _layer_norm(Op op, PyObject** slots):
    """(input, normalized_shape, weight, bias, eps[, cudnn_enable])"""
    if floats_at(slots[0]) is None:
        return None
    return (<tuple>run(<Op>op.parts[0], slots))[0]


cdef object _rms_norm(Op op, PyObject** slots):
    """(input, normalized_shape, weight, eps)"""
    cdef Layout x = reals_at(slots[0]), w
    cdef int i, n
    if x is None or not isinstance(<object>slots[1], (tuple, list)):
        return None
    given, eps = <object>slots[1], <object>slots[3]
    n = len(given)
    if n < 1 or n > x.ndim:
        return None
    for i in range(n):
        if given[i] != x.shape[x.ndim - n + i]:
            return None
    if <object>slots[2] is not None:
        w = layout_at(slots[2])
        if w is None or w.dtype is not x.dtype or w.ndim != n:
            return None
        for i in range(n):
            if w.shape[i] != x.shape[x.ndim - n + i]:
                return None
    if eps is None:
        eps = 2.220446049250313e-16 if x.dtype.code == F64 else 1.1920928955078125e-07
    return (<tuple>_run(op.parts[0], [<object>slots[0], given, <object>slots[2], eps]))[0]


cdef object _group_norm(Op op, PyObject** slots):
    """(input, num_groups, weight, bias, eps[, cudnn_enabled])"""
    cdef Layout x = floats_at(slots[0])
    cdef int64_t groups, positions
    if x is None or x.ndim < 2 or x.numel == 0 or not int_at(<object>slots[1], &groups) or groups < 1 or x.shape[1] % groups:
        return None
    positions = x.numel // (x.shape[0] * x.shape[1])
    if x.shape[0] * x.shape[1] // groups * positions == 1:
        return None
    if not vector_or_none(slots[2], x, x.shape[1]) or not vector_or_none(slots[3], x, x.shape[1]):
        return None
    return (<tuple>_run(op.parts[0], [<object>slots[0], <object>slots[2], <object>slots[3], x.shape[0], x.shape[1], positions, groups,
                                      <object>slots[4]]))[0]


cdef int _move_half(Tensor running, Layout new, double factor, double momentum) except -1:
    cdef Tensor wide = new_tensor(wide_half(running.layout))
    _move(wide, wide_half(new), factor, momentum)
    begin_write(running)
    cast_between(F32, new.dtype.code)(wide.layout.data(), running.layout.data(), new.numel)
    return 0


cdef int _move(Tensor running, Layout new, double factor, double momentum) except -1:
    """running * (1 - momentum) + new * factor * momentum"""
    cdef int64_t i
    if new.dtype.code == F16 or new.dtype.code == BF16:
        return _move_half(running, new, factor, momentum)
    cdef float of_old = <float>(1 - momentum), of_new = <float>momentum, by = <float>factor
    cdef char* from_ = new.data()
    cdef char* into
    begin_write(running)
    into = running.layout.data()
    for i in range(new.numel):
        if new.dtype.code == F32:
            (<float*>into)[i] = (<float*>into)[i] * of_old + (<float*>from_)[i] * by * of_new
        else:
            (<double*>into)[i] = (<double*>into)[i] * (1 - momentum) + (<double*>from_)[i] * factor * momentum
    return 0


cdef object _batch_norm(Op op, PyObject** slots):
    """Both signatures of batch_norm: in nn.functional the running statistics come before weight and bias"""
    cdef Layout x = reals_at(slots[0]), like, wide
    cdef bint functional = op.n_params == 8 and op.params[1] == "running_mean"
    cdef PyObject** weights = slots + (3 if functional else 1)
    cdef PyObject** moments = slots + (1 if functional else 3)
    cdef int64_t count, i
    cdef double momentum, eps
    cdef tuple out
    if x is None or x.ndim < 2 or x.numel == 0 or type(<object>slots[6]) is not float or type(<object>slots[7]) is not float:
        return None
    like = x
    if x.dtype.code == F16 or x.dtype.code == BF16:          # parameters of float32 beside it, or its own dtype for all
        for i in range(2):
            wide = floats_at(weights[i])
            wide = floats_at(moments[i]) if wide is None else wide
            like = wide if wide is not None and wide.dtype.code == F32 else like
    momentum, eps = <object>slots[6], <object>slots[7]
    training = <object>slots[5]
    count = x.numel // x.shape[1]
    if eps <= 0 or count == 1:
        return None
    for i in range(2):
        if not vector_or_none(weights[i], like, x.shape[1]) or not vector_or_none(moments[i], like, x.shape[1]):
            return None
    if (<object>moments[0] is None) != (<object>moments[1] is None) or training is not True and <object>moments[0] is None:
        return None
    out = <tuple>_run(op.parts[0], [<object>slots[0], <object>weights[0], <object>weights[1], <object>moments[0],
                                     <object>moments[1], training, <object>slots[7]])
    if training is True and <object>moments[0] is not None:
        _move(<Tensor>moments[0], (<Tensor>out[1]).layout, 1.0, momentum)
        _move(<Tensor>moments[1], (<Tensor>out[3]).layout, <double>count / <double>(count - 1), momentum)
    return out[:3] if op.name == "native_batch_norm" else out[0]


cdef Layout _repeated(PyObject* slot, Layout x, int64_t examples):
    """A vector repeated n times; None for None."""
    cdef Layout v, out
    cdef int64_t n, i
    if <object>slot is None:
        return None
    v = (<Tensor>slot).layout
    n = examples * v.numel
    out = fresh(v.dtype, 1, &n)
    for i in range(examples):
        memcpy(out.data() + i * v.numel * v.dtype.itemsize, v.data(), v.numel * v.dtype.itemsize)
    return out


cdef int _move_by_mean(Tensor running, Layout new, int64_t examples, double factor, double momentum) except -1:
    """As _move, with the mean over the batch."""
    cdef int64_t i, k, n = running.layout.numel
    cdef double sum
    begin_write(running)
    for i in range(n):
        sum = 0
        for k in range(examples):
            sum += (<float*>new.data())[k * n + i] if new.dtype.code == F32 else (<double*>new.data())[k * n + i]
        sum *= factor * momentum / <double>examples
        if new.dtype.code == F32:
            (<float*>running.layout.data())[i] = <float>((<float*>running.layout.data())[i] * (1 - momentum) + sum)
        else:
            (<double*>running.layout.data())[i] = (<double*>running.layout.data())[i] * (1 - momentum) + sum
    return 0


cdef inline object _tensor(Layout v):
    return None if v is None else new_tensor(v)


cdef object _instance_norm(Op op, PyObject** slots):
    """(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps), if nothing is recorded; parts: batch norm
    of the input as one example with N * C channels"""
    cdef Layout x = floats_at(slots[0])
    cdef int64_t shape[16]
    cdef int64_t positions, i
    cdef double momentum
    cdef tuple result
    cdef PyObject* view[3]
    if x is None or not 3 <= x.ndim <= 16 or x.numel == 0 or <object>slots[5] is not True:
        return None
    if type(<object>slots[6]) is not float or type(<object>slots[7]) is not float or <object>slots[7] <= 0:
        return None
    for i in (0, 3, 4):
        if recording(slots[i]):
            return None
    for i in range(1, 5):
        if not vector_or_none(slots[i], x, x.shape[1]):
            return None
    positions = x.numel // (x.shape[0] * x.shape[1])
    if positions == 1 or (<object>slots[1] is None) != (<object>slots[2] is None):
        return None
    momentum = <object>slots[6]
    shape[0], shape[1] = 1, x.shape[0] * x.shape[1]
    for i in range(2, x.ndim):
        shape[i] = x.shape[i]
    size = tuple_of(x.ndim, shape)
    view[0], view[1], view[2] = slots[0], <PyObject*>size, <PyObject*>None
    flat = call_view(find_op("view"), view)
    result = <tuple>_run(op.parts[0], [flat, _tensor(_repeated(slots[3], x, x.shape[0])), _tensor(_repeated(slots[4], x, x.shape[0])),
                                       None, None, True, <object>slots[7]])
    if <object>slots[1] is not None:
        _move_by_mean(<Tensor>slots[1], (<Tensor>result[1]).layout, x.shape[0], 1.0, momentum)
        _move_by_mean(<Tensor>slots[2], (<Tensor>result[3]).layout, x.shape[0], <double>positions / <double>(positions - 1), momentum)
    out = result[0]
    size = x.shape_tuple()
    view[0], view[1] = <PyObject*>out, <PyObject*>size
    return call_view(find_op("view"), view)


# --- convolution -------------------------------------------------------------------------------------------------------------------
cdef object _each(object value, int dims):
    """An int as a tuple with one value per axis."""
    return (value,) * dims if isinstance(value, int) else value


cdef object _padded_same(Layout weight, object stride, object dilation, int dims):
    """padding='same' as a number, if it is equal on both sides; or None."""
    cdef int64_t steps[3]
    cdef int64_t gaps[3]
    cdef int64_t pads[3]
    cdef int i
    if weight.ndim != dims + 2 or not ints_at(stride, dims, steps) or not ints_at(dilation, dims, gaps):
        return None
    for i in range(dims):
        if steps[i] != 1 or gaps[i] * (weight.shape[2 + i] - 1) % 2:
            return None
        pads[i] = gaps[i] * (weight.shape[2 + i] - 1) // 2
    return tuple_of(dims, pads)


cdef object _conv(Op op, PyObject** slots):
    """(input, weight, bias, stride, padding, dilation, groups) of examples"""
    cdef int dims = <int>op.name[4] - 48
    cdef int64_t pads[3]
    cdef Layout x = (<Tensor>slots[0]).layout
    padding = <object>slots[4]
    if x.ndim != dims + 2:
        return None
    if isinstance(padding, str):
        if padding == "valid":
            padding = 0
        elif padding == "same":
            padding = _padded_same((<Tensor>slots[1]).layout, <object>slots[3], <object>slots[5], dims)
        else:
            return None
    if padding is None or not ints_at(padding, dims, pads):
        return None
    return _run(op.parts[0], [<object>slots[0], <object>slots[1], <object>slots[2], _each(<object>slots[3], dims), _each(padding, dims),
                              _each(<object>slots[5], dims), False, 0, <object>slots[6]])


cdef object _conv_transpose(Op op, PyObject** slots):
    """(input, weight, bias, stride, padding, output_padding, groups, dilation) of examples"""
    cdef int dims = <int>op.name[14] - 48
    cdef Layout x = (<Tensor>slots[0]).layout
    if x.ndim != dims + 2:
        return None
    return _run(op.parts[0], [<object>slots[0], <object>slots[1], <object>slots[2], _each(<object>slots[3], dims),
                              _each(<object>slots[4], dims), _each(<object>slots[7], dims), True, _each(<object>slots[5], dims),
                              <object>slots[6]])


# --- interpolate ---------------------------------------------------------------------------------------------------------------------
cdef dict _AXES = {"nearest": 0, "nearest-exact": 0, "linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2, "area": 0}

cdef object _interpolate(Op op, PyObject** slots):
    """(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias); parts: by weights; two for mode 'area'"""
    cdef Layout x = floats_at(slots[0])
    cdef int64_t areas[3]
    cdef int dims, axes
    cdef list sizes, scales = None
    size, scale, mode, align = <object>slots[1], <object>slots[2], <object>slots[3], <object>slots[4]
    if x is None or <object>slots[6] is not False or (size is None) == (scale is None) or mode not in _AXES:
        return None
    dims, axes = x.ndim - 2, _AXES[mode]
    if not 1 <= dims <= 3 or axes and axes != dims or not axes and align is not None:
        return None
    given = size if size is not None else scale
    if not isinstance(given, (tuple, list)):
        given = [given] * dims
    elif len(given) != dims:
        return None
    if size is not None:
        if <object>slots[5]:
            return None
        for n in given:
            if type(n) is not int:
                return None
        sizes = list(given)
    else:
        for n in given:
            if type(n) is not float and type(n) is not int:
                return None
        sizes = [int(x.shape[2 + i] * given[i]) for i in range(dims)]
        if not <object>slots[5]:
            scales = list(given)
    if mode == "area":
        if not _whole(x, dims) or not _sizes(x, sizes, dims, areas):
            return None
        return _shared_means(<object>slots[0], x.ndim, dims, areas, op.parts[1], op.parts[2])
    return _run(op.parts[0], [<object>slots[0], sizes, mode, bool(align), False, scales])


offer_composite_slots("max_pool", _max_pool)
offer_composite_slots("avg_pool", _avg_pool)
offer_composite_slots("adaptive_avg_pool", _adaptive_avg_pool)
offer_composite_slots("adaptive_max_pool", _adaptive_max_pool)
offer_composite_slots("layer_norm", _layer_norm)
offer_composite_slots("rms_norm", _rms_norm)
offer_composite_slots("group_norm", _group_norm)
offer_composite_slots("batch_norm", _batch_norm)
offer_composite_slots("instance_norm", _instance_norm)
offer_composite_slots("conv", _conv)
offer_composite_slots("conv_transpose", _conv_transpose)
offer_composite_slots("interpolate", _interpolate)
