"""Native forms of pooling; claygrad/ops/_pool.py has the definitions. Pooling over fewer than three axes is done over three,
with leading axes of size 1. Images with their channels last are volumes (h, w, channels), whose windows have one channel."""
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32, I64, of_code
from claygrad.core.data.kernels cimport find
from claygrad.core.data.layout cimport Layout, as_contiguous, fresh, fresh_channels_last, same_shape
from claygrad.core.dispatch.guard cimport Arg, for_axes, form_t, is_none
from claygrad.core.dispatch.registry cimport offer
from claygrad.native.rearrange cimport has_channels_last, in_format_of

cdef extern from "nn/pool.hpp" namespace "clay" nogil:
    struct Pooling:
        int64_t planes, t, h, w, ot, oh, ow, kt, kh, kw
        int64_t stride_t, stride_h, stride_w, pad_t, pad_h, pad_w, dilation_t, dilation_h, dilation_w
        bint counted
        int64_t divisor
        bint channels

    ctypedef bint (*pooling_fn)(const Pooling* shape, const void* a, void* out, int64_t* indices) noexcept nogil

ctypedef fused real:
    float
    double

# Kernel size, stride, padding and dilation per axis.
cdef struct Axes:
    int64_t size[3]
    int64_t out[3]
    int64_t kernel[3]
    int64_t stride[3]
    int64_t padding[3]
    int64_t dilation[3]


cdef void _put(Axes* a, int dims, Pooling* s) noexcept:
    """Read values for up to three axes into the last elements."""
    cdef int h = dims - 2, w = dims - 1
    s.t, s.ot, s.kt, s.stride_t, s.pad_t, s.dilation_t = 1, 1, 1, 1, 0, 1
    s.h, s.oh, s.kh, s.stride_h, s.pad_h, s.dilation_h = 1, 1, 1, 1, 0, 1
    if dims == 3:
        s.t, s.ot, s.kt = a.size[0], a.out[0], a.kernel[0]
        s.stride_t, s.pad_t, s.dilation_t = a.stride[0], a.padding[0], a.dilation[0]
    if dims >= 2:
        s.h, s.oh, s.kh = a.size[h], a.out[h], a.kernel[h]
        s.stride_h, s.pad_h, s.dilation_h = a.stride[h], a.padding[h], a.dilation[h]
    s.w, s.ow, s.kw = a.size[w], a.out[w], a.kernel[w]
    s.stride_w, s.pad_w, s.dilation_w = a.stride[w], a.padding[w], a.dilation[w]
    s.counted, s.divisor, s.channels = True, 0, False


cdef void _ones(Axes* a) noexcept:
    """Windows of one element each."""
    cdef int i
    for i in range(3):
        a.kernel[i] = a.stride[i] = a.dilation[i] = 1
        a.padding[i] = 0


cdef bint _count(Axes* a, int dims, bint ceil) noexcept:
    """Fill in the output sizes; False if an argument is invalid."""
    cdef int i
    cdef int64_t room, reach
    for i in range(dims):
        reach = a.dilation[i] * (a.kernel[i] - 1) + 1
        if a.kernel[i] < 1 or a.stride[i] < 1 or a.dilation[i] < 1 or a.padding[i] < 0 or a.padding[i] > reach // 2:
            return False
        room = a.size[i] + 2 * a.padding[i] - reach
        if a.kernel[i] > a.size[i] + 2:
            return False                               # padding is more than half of the kernel: an error
        if a.size[i] < 1 or room + (a.stride[i] - 1 if ceil else 0) < 0 or room < 0 and dims == 3:
            return False
        a.out[i] = (room + (a.stride[i] - 1 if ceil else 0)) // a.stride[i] + 1
        if ceil and (a.out[i] - 1) * a.stride[i] >= a.size[i] + a.padding[i]:
            a.out[i] -= 1
        if a.out[i] < 1:
            return False
    return True


cdef int64_t _lead(Layout x, int dims, int64_t* shape) noexcept:
    """The number of planes, and the leading shape; -1 if the input is invalid."""
    cdef int i
    cdef int64_t planes = 1
    if x.ndim != dims + 1 and x.ndim != dims + 2 or x.shape[x.ndim - dims - 1] == 0:
        return -1
    for i in range(x.ndim - dims):
        shape[i] = x.shape[i]
        planes *= x.shape[i]
    return planes


cdef struct MaxPool:
    Arg input, kernel, stride, padding, dilation, ceil
cdef struct AvgPool:
    Arg input, kernel, stride, padding, ceil, include_, divisor
cdef struct MaxPoolBackward:
    Arg grad_output, indices, shape, dims
cdef struct AvgPoolBackward:
    Arg grad_output, shape, kernel, stride, padding, ceil, include_, divisor
cdef struct AdaptivePool:
    Arg input, size
cdef struct AdaptivePoolBackward:
    Arg grad_output, shape, dims
cdef struct FractionalPool:
    Arg input, kernel, size, samples
cdef struct MaxUnpool:
    Arg input, indices, size


cdef bint _windows(Layout x, const Arg* kernel, const Arg* stride, const Arg* padding, const Arg* dilation, bint ceil, Pooling* s,
                   int64_t* shape) noexcept:
    """The measures of the windows, and the shape of the result; False if they do not fit."""
    cdef Axes axes
    cdef int dims = kernel.value, i, first = x.ndim - dims
    cdef int64_t planes
    _ones(&axes)
    if not 1 <= dims <= 3 or not (for_axes(kernel, dims, axes.kernel) and for_axes(stride, dims, axes.stride)
                                  and for_axes(padding, dims, axes.padding)):
        return False
    if dilation != NULL and not for_axes(dilation, dims, axes.dilation):
        return False
    planes = _lead(x, dims, shape)
    if planes < 0:
        return False
    for i in range(dims):
        axes.size[i] = x.shape[first + i]
    if not _count(&axes, dims, ceil):
        return False
    for i in range(dims):
        shape[first + i] = axes.out[i]
    _put(&axes, dims, s)
    s.planes = planes
    return True


cdef bint _channels_inside(Layout x, Pooling* s) noexcept:
    """Make images without gaps, their channels last in memory, volumes of (h, w, channels); False if x is something else."""
    cdef int[4] order = [1, 3, 2, 0]
    cdef int64_t step = 1
    cdef int i
    if x.ndim != 4 or s.t != 1 or s.ot != 1 or s.kt != 1 or not has_channels_last(x):
        return False
    for i in range(4):
        if x.shape[order[i]] > 1 and x.strides[order[i]] != step:
            return False
        step *= x.shape[order[i]]
    s.planes, s.channels = x.shape[0], True
    s.t, s.ot, s.kt, s.stride_t, s.pad_t, s.dilation_t = s.h, s.oh, s.kh, s.stride_h, s.pad_h, s.dilation_h
    s.h, s.oh, s.kh, s.stride_h, s.pad_h, s.dilation_h = s.w, s.ow, s.kw, s.stride_w, s.pad_w, s.dilation_w
    s.w, s.ow, s.kw, s.stride_w, s.pad_w, s.dilation_w = x.shape[1], x.shape[1], 1, 1, 0, 1
    return True


cdef Layout _pooled(const char* name, Layout x, Pooling* s, int ndim, const int64_t* shape, int64_t* indices):
    """Run a pooling kernel on x, contiguous or with its channels inside: a result of this shape, or None. `indices` are written or
    read."""
    cdef Layout out
    cdef pooling_fn f
    cdef bint done
    out = fresh_channels_last(x.dtype, shape) if s.channels else fresh(x.dtype, ndim, shape)
    if out.numel == 0:                        # an empty result may have sizes whose product overflows
        return out
    f = <pooling_fn>find("windows", name, x.dtype.code)
    with nogil:
        done = f(s, x.data(), out.data(), indices)
    return out if done else None


cdef Layout _pooled_in_format(const char* name, Layout x, Pooling* s, int ndim, const int64_t* shape):
    """The same for any x: a result in its memory format."""
    cdef Layout out
    if x.contiguous or _channels_inside(x, s):
        return _pooled(name, x, s, ndim, shape, NULL)
    if x.numel == 0:
        return None
    out = _pooled(name, as_contiguous(x), s, ndim, shape, NULL)
    return None if out is None else in_format_of(out, x)


cdef list _pooled_with_indices(const char* name, Layout x, Pooling* s, const int64_t* shape):
    cdef Layout out, indices, dense = x
    if not x.contiguous and not _channels_inside(x, s):
        if x.numel == 0:
            return None
        dense = as_contiguous(x)
    indices = fresh_channels_last(of_code(I64), shape) if s.channels else fresh(of_code(I64), x.ndim, shape)
    out = _pooled(name, dense, s, x.ndim, shape, <int64_t*>indices.data())
    if out is None or s.channels or x.contiguous:
        return None if out is None else [out, indices]
    return [in_format_of(out, x), in_format_of(indices, x)]


cdef Layout _max(Op op, MaxPool* a):
    cdef Layout x = <Layout>a.input.layout
    cdef Pooling s
    cdef int64_t shape[5]
    if not _windows(x, &a.kernel, &a.stride, &a.padding, &a.dilation, a.ceil.value, &s, shape):
        return None
    return _pooled_in_format("max", x, &s, x.ndim, shape)


cdef list _max_at(Op op, MaxPool* a):
    cdef Layout x = <Layout>a.input.layout
    cdef Pooling s
    cdef int64_t shape[5]
    if not _windows(x, &a.kernel, &a.stride, &a.padding, &a.dilation, a.ceil.value, &s, shape):
        return None
    return _pooled_with_indices("max", x, &s, shape)


cdef bint _back(Layout g, int dims, int ndim, const int64_t* shape, Axes* axes, Pooling* s) noexcept:
    """Fill in the sizes for a gradient with respect to an input of this shape; False if it does not fit."""
    cdef int i
    cdef int64_t planes = 1
    if dims < 1 or dims > 3 or g.ndim != ndim or ndim < dims or ndim > 5:
        return False
    for i in range(ndim - dims):
        if g.shape[i] != shape[i]:
            return False
        planes *= shape[i]
    for i in range(dims):
        axes.size[i], axes.out[i] = shape[ndim - dims + i], g.shape[ndim - dims + i]
        if axes.size[i] < 1 or axes.out[i] < 1:
            return False
        if axes.kernel[i] < 1 or axes.kernel[i] > axes.size[i] + 2 or axes.stride[i] < 1 or axes.padding[i] < 0 or axes.dilation[i] < 1:
            return False
    _put(axes, dims, s)
    s.planes = planes
    return True


cdef Layout _max_back(Op op, MaxPoolBackward* a):
    cdef Layout g = <Layout>a.grad_output.layout, indices = <Layout>a.indices.layout
    cdef Pooling s
    cdef Axes axes
    cdef int ndim = a.shape.value
    _ones(&axes)
    if not same_shape(g, indices) or not _back(g, <int>a.dims.value, ndim, a.shape.ints, &axes, &s):
        return None
    return _pooled("max_back", g, &s, ndim, a.shape.ints, <int64_t*>indices.data())


cdef bint _divided(Pooling* s, const Arg* counted, const Arg* divisor) noexcept:
    s.counted, s.divisor = counted.value, 0
    if is_none(divisor):
        return True
    s.divisor = divisor.value
    return s.divisor != 0


cdef Layout _mean(Op op, AvgPool* a):
    cdef Layout x = <Layout>a.input.layout
    cdef Pooling s
    cdef int64_t shape[5]
    if not _windows(x, &a.kernel, &a.stride, &a.padding, NULL, a.ceil.value, &s, shape) or not _divided(&s, &a.include_, &a.divisor):
        return None
    return _pooled_in_format("mean", x, &s, x.ndim, shape)


cdef Layout _mean_back(Op op, AvgPoolBackward* a):
    cdef Layout g = <Layout>a.grad_output.layout
    cdef Pooling s
    cdef Axes axes
    cdef int ndim = a.shape.value, dims = a.kernel.value
    _ones(&axes)
    if not 1 <= dims <= 3 or not (for_axes(&a.kernel, dims, axes.kernel) and for_axes(&a.stride, dims, axes.stride)
                                  and for_axes(&a.padding, dims, axes.padding)):
        return None
    if not _back(g, dims, ndim, a.shape.ints, &axes, &s) or not _divided(&s, &a.include_, &a.divisor):
        return None
    return _pooled_in_format("mean_back", g, &s, ndim, a.shape.ints)


# --- adaptive pooling ---------------------------------------------------------------------------------------
cdef bint _shared(Layout x, const Arg* size, Pooling* s, int64_t* shape) noexcept:
    """The measures, and the shape of the result; False if they do not fit."""
    cdef Axes axes
    cdef int dims = size.value, i, first = x.ndim - dims
    cdef int64_t planes
    _ones(&axes)
    if not 1 <= dims <= 3 or not for_axes(size, dims, axes.out):
        return False
    planes = _lead(x, dims, shape)
    if planes < 0:
        return False
    for i in range(dims):
        shape[first + i], axes.size[i] = axes.out[i], x.shape[first + i]
        if axes.out[i] < 1 or axes.size[i] < 1:
            return False
    _put(&axes, dims, s)
    s.planes = planes
    return True


cdef Layout _shared_mean(Op op, AdaptivePool* a):
    cdef Layout x = <Layout>a.input.layout
    cdef Pooling s
    cdef int64_t shape[5]
    return _pooled_in_format("shared_mean", x, &s, x.ndim, shape) if _shared(x, &a.size, &s, shape) else None


cdef list _shared_max(Op op, AdaptivePool* a):
    cdef Layout x = <Layout>a.input.layout
    cdef Pooling s
    cdef int64_t shape[5]
    return _pooled_with_indices("shared_max", x, &s, shape) if _shared(x, &a.size, &s, shape) else None


cdef Layout _shared_mean_back(Op op, AdaptivePoolBackward* a):
    cdef Layout g = <Layout>a.grad_output.layout
    cdef Pooling s
    cdef Axes axes
    _ones(&axes)
    if not _back(g, <int>a.dims.value, <int>a.shape.value, a.shape.ints, &axes, &s):
        return None
    return _pooled_in_format("shared_mean_back", g, &s, <int>a.shape.value, a.shape.ints)


# --- fractional pooling ---------------------------------------------------------------------------------------------------
cdef void _starts(real sample, int64_t n, int64_t out, int64_t kernel, int64_t* result) noexcept nogil:
    """As starts() in claygrad/ops/pool_fractional.py."""
    cdef real alpha, moved
    cdef int64_t i, offset
    result[out - 1] = n - kernel
    if out > 1:
        alpha = <real>(n - kernel) / <real>(out - 1)
        moved = sample * alpha
        offset = <int64_t>moved
        for i in range(out - 1):
            moved = (<real>i + sample) * alpha
            result[i] = <int64_t>moved - offset


cdef void _largest(Axes* a, int64_t planes, int dims, const real* x, const real* samples, int64_t* begin, real* out, int64_t* indices) \
        noexcept nogil:
    """The max of every window of each plane; `begin` has room for the window starts along three axes."""
    cdef int64_t _plane, t, h, w, i, j, k, at, best_at
    cdef int64_t* rows = begin + a.out[0]
    cdef int64_t* columns = rows + a.out[1]
    cdef real best, value
    for _plane in range(planes):
        if dims == 3:
            _starts(samples[0], a.size[0], a.out[0], a.kernel[0], begin)
            _starts(samples[1], a.size[1], a.out[1], a.kernel[1], rows)
            _starts(samples[2], a.size[2], a.out[2], a.kernel[2], columns)
        else:                                          # the width is drawn first
            begin[0] = 0
            _starts(samples[1], a.size[1], a.out[1], a.kernel[1], rows)
            _starts(samples[0], a.size[2], a.out[2], a.kernel[2], columns)
        for t in range(a.out[0]):
            for h in range(a.out[1]):
                for w in range(a.out[2]):
                    best_at = (begin[t] * a.size[1] + rows[h]) * a.size[2] + columns[w]
                    best = x[best_at]
                    for i in range(a.kernel[0]):
                        for j in range(a.kernel[1]):
                            at = ((begin[t] + i) * a.size[1] + rows[h] + j) * a.size[2] + columns[w]
                            for k in range(at, at + a.kernel[2]):
                                value = x[k]
                                if value > best or value != value:
                                    best, best_at = value, k
                    out[0], indices[0] = best, best_at
                    out += 1
                    indices += 1
        x += a.size[0] * a.size[1] * a.size[2]
        samples += dims


cdef list _fractional(Op op, FractionalPool* given):
    cdef Layout x = <Layout>given.input.layout, samples = <Layout>given.samples.layout, out, indices, begin
    cdef Axes a
    cdef int64_t shape[5]
    cdef int64_t planes, room, k
    cdef int dims = given.kernel.value, i, at = 3 - dims
    a.size[0] = a.out[0] = a.kernel[0] = 1
    if not 2 <= dims <= 3 or not for_axes(&given.kernel, dims, a.kernel + at) or not for_axes(&given.size, dims, a.out + at):
        return None
    planes = _lead(x, dims, shape)
    if planes < 1 or samples.shape[0] < (x.shape[0] if x.ndim == dims + 2 else 1) or samples.shape[1] != x.shape[x.ndim - dims - 1]:
        return None
    if samples.shape[2] != dims:
        return None
    for i in range(dims):
        a.size[at + i], shape[x.ndim - dims + i] = x.shape[x.ndim - dims + i], a.out[at + i]
        if a.kernel[at + i] < 1 or a.out[at + i] < 1 or a.out[at + i] + a.kernel[at + i] - 1 + (dims == 3) > a.size[at + i]:
            return None
    for k in range(planes * dims):                     # a sample outside [0, 1) would give starts out of range
        if not 0 <= ((<float*>samples.data())[k] if x.dtype.code == F32 else (<double*>samples.data())[k]) < 1:
            return None
    room = a.out[0] + a.out[1] + a.out[2]
    out, indices, begin = fresh(x.dtype, x.ndim, shape), fresh(of_code(I64), x.ndim, shape), fresh(of_code(I64), 1, &room)
    with nogil:
        if x.dtype.code == F32:
            _largest[float](&a, planes, dims, <const float*>x.data(), <const float*>samples.data(), <int64_t*>begin.data(),
                            <float*>out.data(), <int64_t*>indices.data())
        else:
            _largest[double](&a, planes, dims, <const double*>x.data(), <const double*>samples.data(), <int64_t*>begin.data(),
                             <double*>out.data(), <int64_t*>indices.data())
    return [out, indices]


# --- max unpooling ---------------------------------------------------------------------------------------------------
cdef Layout _put_at(Op op, MaxUnpool* a):
    cdef Layout x = <Layout>a.input.layout, indices = <Layout>a.indices.layout
    cdef Pooling s
    cdef Axes axes
    cdef int64_t shape[5]
    cdef int64_t planes
    cdef int dims = a.size.value, d
    _ones(&axes)
    if not same_shape(x, indices) or not 1 <= dims <= 3 or not for_axes(&a.size, dims, axes.size):
        return None
    planes = _lead(x, dims, shape)
    if planes < 1:
        return None
    for d in range(dims):
        shape[x.ndim - dims + d], axes.out[d] = axes.size[d], x.shape[x.ndim - dims + d]
        if axes.size[d] < 1:
            return None
    _put(&axes, dims, &s)
    s.planes = planes
    return _pooled("put", x, &s, x.ndim, shape, <int64_t*>indices.data())


offer("max_pool", <form_t>_max, "input: float strided, kernel: sizes")
offer("max_pool_with_indices", <form_t>_max_at, "input: float strided, kernel: sizes")
offer("max_pool_backward", <form_t>_max_back, "grad_output: float copied, indices: int64 copied, shape: sizes")
offer("avg_pool", <form_t>_mean, "input: float strided, kernel: sizes")
offer("avg_pool_backward", <form_t>_mean_back, "grad_output: float strided, shape kernel: sizes")
offer("adaptive_avg_pool", <form_t>_shared_mean, "input: float strided, size: sizes")
offer("adaptive_max_pool", <form_t>_shared_max, "input: float strided, size: sizes")
offer("adaptive_avg_pool_backward", <form_t>_shared_mean_back, "grad_output: float strided, shape: sizes")
offer("fractional_max_pool", <form_t>_fractional, "input: float, kernel size: sizes, samples: float same 3d")
offer("max_unpool", <form_t>_put_at, "input: float nonempty, indices: int64, size: sizes")
