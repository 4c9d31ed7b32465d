"""Native forms of composites: pooling, normalisation, convolution and interpolation. They pass their arguments to the operation
behind them (`parts` of the declaration) without a Python frame. None: the declared function runs."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from claygrad.core.dispatch.call cimport run, run_all as _run, view_by
from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport BF16, F16, F32, F64
from claygrad.core.graph.inplace cimport begin_write
from claygrad.core.data.layout cimport Layout, fresh
from claygrad.core.data.scalar cimport cast_between
from claygrad.core.dispatch.convert_half cimport wide_half
from claygrad.core.dispatch.guard cimport (Arg, for_axes, form_t, int_at, ints_at, is_none, layout_of, numel_is, recording,
                                           tuple_of, vector_of)
from claygrad.core.tensor cimport Tensor, new_tensor, requires
from claygrad.core.dispatch.registry cimport offer

cdef struct MaxPool:
    Arg input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
cdef struct AvgPool:
    Arg input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
cdef struct AdaptivePool:
    Arg input, output_size, return_indices
cdef struct LayerNorm:
    Arg input, normalized_shape, weight, bias, eps, cudnn_enable
cdef struct RmsNorm:
    Arg input, normalized_shape, weight, eps
cdef struct GroupNorm:
    Arg input, num_groups, weight, bias, eps, cudnn_enabled
cdef struct BatchNorm:
    Arg input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
cdef struct FunctionalBatchNorm:
    Arg input, running_mean, running_var, weight, bias, training, momentum, eps
cdef struct InstanceNorm:
    Arg input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
cdef struct Conv:
    Arg input, weight, bias, stride, padding, dilation, groups
cdef struct ConvTranspose:
    Arg input, weight, bias, stride, padding, output_padding, groups, dilation
cdef struct Interpolate:
    Arg input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias


cdef inline object _lifted(object x):
    """(N, C, L) as (N, C, 1, L): PyTorch pools that, and returns a view of the result."""
    return view_by("unsqueeze", x, -2, None, None, None)


cdef inline object _lowered(object x):
    return view_by("squeeze", x, -2, None, None, None)


# --- pooling ------------------------------------------------------------------------------------------------------------------
cdef struct Window:
    int64_t kernel[3]
    int64_t stride[3]
    int64_t padding[3]
    int64_t dilation[3]


cdef bint _window(int dims, Window* w, const Arg* kernel, const Arg* stride, const Arg* padding, const Arg* dilation) noexcept:
    """The numbers for every axis; without a stride, that is the kernel's size, without a dilation 1."""
    cdef int i
    for i in range(dims):
        w.dilation[i] = 1
    return (for_axes(kernel, dims, w.kernel) and for_axes(padding, dims, w.padding)
            and for_axes(kernel if is_none(stride) or stride.value == 0 else stride, dims, w.stride)
            and (dilation == NULL or for_axes(dilation, dims, w.dilation)))


cdef bint _line_fits(Layout x, Window* w) noexcept:
    """Whether the arguments for a 1-d input, (C, L) or (N, C, L), are valid."""
    cdef int64_t k = w.kernel[0], p = w.padding[0], n
    if x.ndim != 2 and x.ndim != 3 or k < 1 or w.stride[0] < 1 or w.dilation[0] < 1 or p < 0 or p > k // 2:
        return False
    n = x.shape[x.ndim - 1]
    return x.shape[x.ndim - 2] > 0 and n > 0 and n + 2 * p - w.dilation[0] * (k - 1) - 1 >= 0


cdef object _max_pool(Op op, MaxPool* a):
    """parts: without indices, with them"""
    cdef int dims = <int>op.name[8] - 48
    cdef Window w
    cdef Layout x = <Layout>a.input.layout
    cdef bint with_indices = len(op.name) > 10 or op.n_params == 7 and a.return_indices.value
    cdef bint recorded = recording(a.input.given)
    cdef object input = <object>a.input.given, ceil = <object>a.ceil_mode.given
    if x.ndim != dims + 1 and x.ndim != dims + 2 or not _window(dims, &w, &a.kernel_size, &a.stride, &a.padding, &a.dilation):
        return None
    if dims == 1:
        if not _line_fits(x, &w):
            return None
        if with_indices or requires(<Tensor>input):
            out = _run(op.parts[1 if with_indices or recorded else 0],
                       [_lifted(input), (1, w.kernel[0]), (1, w.stride[0]), (0, w.padding[0]), (1, w.dilation[0]), ceil])
            return (_lowered(out[0]), _lowered(out[1])) if with_indices else _lowered(out[0] if recorded else out)
    out = _run(op.parts[1 if with_indices or recorded else 0],
               [input, tuple_of(dims, w.kernel), tuple_of(dims, w.stride), tuple_of(dims, w.padding), tuple_of(dims, w.dilation), ceil])
    return out[0] if recorded and not with_indices else out


cdef object _avg_pool(Op op, AvgPool* a):
    cdef int dims = <int>op.name[8] - 48
    cdef Window w
    cdef Layout x = <Layout>a.input.layout
    cdef object input = <object>a.input.given, ceil = <object>a.ceil_mode.given, counted = <object>a.count_include_pad.given
    if x.ndim != dims + 1 and x.ndim != dims + 2 or not _window(dims, &w, &a.kernel_size, &a.stride, &a.padding, NULL):
        return None
    if dims == 1:
        if not _line_fits(x, &w):
            return None
        return _lowered(_run(op.parts[0], [_lifted(input), (1, w.kernel[0]), (1, w.stride[0]), (0, w.padding[0]), ceil, counted, None]))
    return _run(op.parts[0], [input, tuple_of(dims, w.kernel), tuple_of(dims, w.stride), tuple_of(dims, w.padding), ceil, counted,
                              <object>a.divisor_override.given])


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
            elif not int_at(<PyObject*>value, size + i):
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


cdef object _adaptive_avg_pool(Op op, AdaptivePool* a):
    """parts: adaptive pooling, mean"""
    cdef int dims = <int>op.name[17] - 48
    cdef int64_t size[3]
    cdef Layout x = <Layout>a.input.layout
    if not _whole(x, dims) or not _sizes(x, <object>a.output_size.given, dims, size):
        return None
    return _shared_means(<object>a.input.given, x.ndim, dims, size, op.parts[0], op.parts[1])


cdef object _adaptive_max_pool(Op op, AdaptivePool* a):
    cdef int dims = <int>op.name[17] - 48
    cdef int64_t size[3]
    cdef bint with_indices = len(op.name) > 19 or op.n_params == 2 or a.return_indices.value
    cdef Layout x = <Layout>a.input.layout
    if not _whole(x, dims) or not _sizes(x, <object>a.output_size.given, dims, size):
        return None
    if dims == 1:
        out = _run(op.parts[0], [_lifted(<object>a.input.given), (1, size[0])])
        return (_lowered(out[0]), _lowered(out[1])) if with_indices else _lowered(out[0])
    out = _run(op.parts[0], [<object>a.input.given, tuple_of(dims, size)])
    return out if with_indices else out[0]


# --- normalisation --------------------------------------------------------------------------------------------------------------
cdef object _layer_norm(Op op, LayerNorm* a):
    cdef PyObject* parts[5]
    parts[0], parts[1], parts[2] = a.input.given, a.normalized_shape.given, a.weight.given
    parts[3], parts[4] = a.bias.given, a.eps.given
    return (<tuple>run(<Op>op.parts[0], parts))[0]


cdef object _rms_norm(Op op, RmsNorm* a):
    cdef Layout x = <Layout>a.input.layout, w = layout_of(&a.weight)
    cdef int i, n = <int>a.normalized_shape.value
    cdef object eps = <object>a.eps.given
    if n < 1 or n > x.ndim or w is not None and w.ndim != n:
        return None
    for i in range(n):
        if a.normalized_shape.ints[i] != x.shape[x.ndim - n + i] or w is not None and w.shape[i] != x.shape[x.ndim - n + i]:
            return None
    if eps is None:
        eps = 2.220446049250313e-16 if x.dtype.code == F64 else 1.1920928955078125e-07
    return (<tuple>_run(op.parts[0], [<object>a.input.given, <object>a.normalized_shape.given, <object>a.weight.given, eps]))[0]


cdef object _group_norm(Op op, GroupNorm* a):
    cdef Layout x = <Layout>a.input.layout
    cdef int64_t groups = a.num_groups.value, positions
    if groups < 1 or x.shape[1] % groups:
        return None
    positions = x.numel // (x.shape[0] * x.shape[1])
    if x.shape[0] * x.shape[1] // groups * positions == 1 or not numel_is(&a.weight, x.shape[1]) or not numel_is(&a.bias, x.shape[1]):
        return None
    return (<tuple>_run(op.parts[0], [<object>a.input.given, <object>a.weight.given, <object>a.bias.given, x.shape[0], x.shape[1],
                                      positions, groups, <object>a.eps.given]))[0]


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


cdef bint _channels(const Arg* a, Layout like, int64_t n) noexcept:
    """Whether it has a number for each channel in the dtype of `like`, or is None."""
    return is_none(a) or (<Layout>a.layout).dtype is like.dtype and (<Layout>a.layout).numel == n


cdef object _batch_norm(Op op, BatchNorm* a):
    cdef Layout x = <Layout>a.input.layout, like = x, wide
    cdef Arg* vectors = &a.weight
    cdef int64_t count, i
    cdef double momentum = a.momentum.real
    cdef tuple out
    if x.dtype.code == F16 or x.dtype.code == BF16:          # parameters of float32 beside it, or its own dtype for all
        for i in range(4):
            wide = layout_of(vectors + i)
            like = wide if wide is not None and wide.dtype.code == F32 else like
    count = x.numel // x.shape[1]
    if a.eps.real <= 0 or count == 1 or is_none(&a.momentum):
        return None
    for i in range(4):
        if not _channels(vectors + i, like, x.shape[1]):
            return None
    if is_none(&a.running_mean) != is_none(&a.running_var) or not a.training.value and is_none(&a.running_mean):
        return None
    out = <tuple>_run(op.parts[0], [<object>a.input.given, <object>a.weight.given, <object>a.bias.given, <object>a.running_mean.given,
                                    <object>a.running_var.given, <object>a.training.given, <object>a.eps.given])
    if a.training.value and not is_none(&a.running_mean):
        _move(<Tensor>a.running_mean.given, (<Tensor>out[1]).layout, 1.0, momentum)
        _move(<Tensor>a.running_var.given, (<Tensor>out[3]).layout, <double>count / <double>(count - 1), momentum)
    return out[:3] if op.name == "native_batch_norm" else out[0]


cdef object _functional_batch_norm(Op op, FunctionalBatchNorm* a):
    """In nn.functional the running statistics come before weight and bias."""
    cdef BatchNorm b
    b.input, b.weight, b.bias, b.running_mean, b.running_var = a.input, a.weight, a.bias, a.running_mean, a.running_var
    b.training, b.momentum, b.eps = a.training, a.momentum, a.eps
    return _batch_norm(op, &b)


cdef Tensor _repeated(const Arg* a, int64_t examples):
    """A vector repeated n times; None for None."""
    cdef Layout v = layout_of(a), out
    cdef int64_t n, i
    if v is None:
        return None
    n = examples * v.numel
    out = fresh(v.dtype, 1, &n)
    for i in range(examples):
        memcpy(out.data() + i * v.numel * v.dtype.itemsize, v.data(), v.numel * v.dtype.itemsize)
    return new_tensor(out)


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


cdef object _instance_norm(Op op, InstanceNorm* a):
    """If nothing is recorded. parts: batch norm of the input as one example with N * C channels"""
    cdef Layout x = <Layout>a.input.layout
    cdef Arg* vectors = &a.running_mean
    cdef int64_t shape[16]
    cdef int64_t positions = x.numel // (x.shape[0] * x.shape[1]), i
    cdef tuple result
    if a.eps.real <= 0 or positions == 1 or is_none(&a.running_mean) != is_none(&a.running_var):
        return None
    if recording(a.input.given) or recording(a.weight.given) or recording(a.bias.given):
        return None
    for i in range(4):
        if not vector_of(vectors + i, x.shape[1]):
            return None
    shape[0], shape[1] = 1, x.shape[0] * x.shape[1]
    for i in range(2, x.ndim):
        shape[i] = x.shape[i]
    flat = view_by("view", <object>a.input.given, tuple_of(x.ndim, shape), None, None, None)
    result = <tuple>_run(op.parts[0], [flat, _repeated(&a.weight, x.shape[0]), _repeated(&a.bias, x.shape[0]), None, None, True,
                                       <object>a.eps.given])
    if not is_none(&a.running_mean):
        _move_by_mean(<Tensor>a.running_mean.given, (<Tensor>result[1]).layout, x.shape[0], 1.0, a.momentum.real)
        _move_by_mean(<Tensor>a.running_var.given, (<Tensor>result[3]).layout, x.shape[0], <double>positions / <double>(positions - 1),
                      a.momentum.real)
    return view_by("view", result[0], x.shape_tuple(), None, None, None)


# --- convolution -------------------------------------------------------------------------------------------------------------------
cdef object _each(object value, int dims):
    """An int as a tuple with one value per axis."""
    return (value,) * dims if isinstance(value, int) else value


cdef object _padded_same(Layout weight, object stride, object dilation, int dims):
    """padding='same' as a number, if it is equal on both sides; or None."""
    cdef int64_t[3] steps, gaps, pads
    cdef int i
    if weight.ndim != dims + 2 or not ints_at(stride, dims, steps) or not ints_at(dilation, dims, gaps):
        return None
    for i in range(dims):
        if steps[i] != 1 or gaps[i] * (weight.shape[2 + i] - 1) % 2:
            return None
        pads[i] = gaps[i] * (weight.shape[2 + i] - 1) // 2
    return tuple_of(dims, pads)


cdef object _conv(Op op, Conv* a):
    """conv1d, conv2d, conv3d of a batch of inputs"""
    cdef int dims = <int>op.name[4] - 48
    cdef int64_t pads[3]
    cdef object padding = <object>a.padding.given
    if (<Layout>a.input.layout).ndim != dims + 2:
        return None
    if isinstance(padding, str):
        if padding == "valid":
            padding = 0
        elif padding == "same":
            padding = _padded_same(<Layout>a.weight.layout, <object>a.stride.given, <object>a.dilation.given, dims)
        else:
            return None
    if padding is None or not ints_at(padding, dims, pads):
        return None
    return _run(op.parts[0], [<object>a.input.given, <object>a.weight.given, <object>a.bias.given, _each(<object>a.stride.given, dims),
                              _each(padding, dims), _each(<object>a.dilation.given, dims), False, 0, <object>a.groups.given])


cdef object _conv_transpose(Op op, ConvTranspose* a):
    """conv_transpose1d, 2d, 3d of a batch of inputs"""
    cdef int dims = <int>op.name[14] - 48
    if (<Layout>a.input.layout).ndim != dims + 2:
        return None
    return _run(op.parts[0], [<object>a.input.given, <object>a.weight.given, <object>a.bias.given, _each(<object>a.stride.given, dims),
                              _each(<object>a.padding.given, dims), _each(<object>a.dilation.given, dims), True,
                              _each(<object>a.output_padding.given, dims), <object>a.groups.given])


# --- interpolate ---------------------------------------------------------------------------------------------------------------------
cdef dict _AXES = {"nearest": 0, "nearest-exact": 0, "linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2, "area": 0}

cdef object _interpolate(Op op, Interpolate* a):
    """parts: by weights; two for mode 'area'"""
    cdef Layout x = <Layout>a.input.layout
    cdef int64_t areas[3]
    cdef int dims, axes
    cdef list sizes, scales = None
    cdef object size = <object>a.size.given, scale = <object>a.scale_factor.given, mode = <object>a.mode.given
    cdef object align = <object>a.align_corners.given, recompute = <object>a.recompute_scale_factor.given
    if (size is None) == (scale is None) or mode not in _AXES:
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
        if recompute:
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
        if not recompute:
            scales = list(given)
    if mode == "area":
        if not _whole(x, dims) or not _sizes(x, sizes, dims, areas):
            return None
        return _shared_means(<object>a.input.given, x.ndim, dims, areas, op.parts[1], op.parts[2])
    return _run(op.parts[0], [<object>a.input.given, sizes, mode, bool(align), False, scales])


cdef str _VECTORS = "weight bias running_mean running_var: float half 1d optional"

offer("max_pool", <form_t>_max_pool, "input: float", True)
offer("avg_pool", <form_t>_avg_pool, "input: float, divisor_override?: raw", True)
offer("adaptive_avg_pool", <form_t>_adaptive_avg_pool, "input: float", True)
offer("adaptive_max_pool", <form_t>_adaptive_max_pool, "input: float", True)
offer("layer_norm", <form_t>_layer_norm, "input: float, normalized_shape weight bias eps: raw", True)
offer("rms_norm", <form_t>_rms_norm, "input: float half, normalized_shape: sizes, weight: same optional", True)
offer("group_norm", <form_t>_group_norm, "input: float nonempty 2d+, weight bias: same 1d optional", True)
offer("batch_norm", <form_t>_batch_norm, "input: float half nonempty 2d+, training: bool, momentum eps: float, " + _VECTORS, True)
offer("functional_batch_norm", <form_t>_functional_batch_norm,
      "input: float half nonempty 2d+, training: bool, momentum eps: float, " + _VECTORS, True)
offer("instance_norm", <form_t>_instance_norm,
      "input: float nonempty 3-16d, weight bias running_mean running_var: same 1d optional, use_input_stats: true", True)
offer("conv", <form_t>_conv, "input weight: any strided, bias stride padding dilation groups: raw", True)
offer("conv_transpose", <form_t>_conv_transpose,
      "input weight: any strided, bias stride padding output_padding groups dilation: raw", True)
offer("interpolate", <form_t>_interpolate,
      "input: float, size scale_factor mode align_corners recompute_scale_factor: raw, antialias: false", True)
