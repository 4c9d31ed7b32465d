"""Native forms of interpolate; claygrad/ops/_resample.py has the definitions."""
from libc.math cimport ceil, fabs, floor, floorf
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32, I64, of_code
from claygrad.core.data.kernels cimport find
from claygrad.core.data.layout cimport Layout, as_contiguous, fresh, permuted
from claygrad.core.dispatch.guard cimport Arg, form_t
from claygrad.core.dispatch.registry cimport offer
from claygrad.native.rearrange cimport has_channels_last

cdef extern from "nn/interpolate.hpp" namespace "clay" nogil:
    struct Resampling:
        int64_t outer, n, out, inner, taps
        const int64_t* index
        const void* weight

    ctypedef void (*resample_fn)(const Resampling* axis, const void* x, void* out) noexcept nogil

ctypedef fused real:
    float
    double

cdef enum:
    NEAREST = 0
    EXACT = 1
    LINEAR = 2
    CUBIC = 3

cdef int[6] _KINDS = [NEAREST, EXACT, LINEAR, LINEAR, LINEAR, CUBIC]          # in the order of the declared modes

cdef struct Upsample:
    Arg input, size, mode, align, antialias, scales
cdef struct UpsampleBackward:
    Arg grad_output, shape, mode, align, antialias, scales


cdef bint _nearest(int64_t n, int64_t out, double scale, bint exact, bint flat, int64_t* index) noexcept:
    """Nearest neighbour: the input index of each output element; returns whether all are unchanged."""
    cdef float step = <float>(1.0 / scale) if scale > 0 else <float>n / <float>out
    cdef int64_t i, at
    if not exact and flat and out == n:
        return True
    for i in range(out):
        if not exact and flat and out == 2 * n:
            at = i // 2
        else:
            at = <int64_t>floorf((<float>i + <float>0.5 if exact else <float>i) * step)
        index[i] = at if at < n - 1 else n - 1
    return False


cdef real _cubic(real x) noexcept:
    """The cubic convolution kernel for x >= 0."""
    if x < 1:
        return (<real>1.25 * x - <real>2.25) * x * x + 1
    if x < 2:
        return ((x - 5) * x + 8) * x * <real>-0.75 + 3
    return 0


cdef void _taps(int64_t n, int64_t out, int kind, bint align, double scale, int64_t* index, real* weight) noexcept:
    cdef real step, place, part
    cdef int64_t i, j, first, at
    if align:
        step = <real>(n - 1) / <real>(out - 1) if out > 1 else 0
    else:
        step = <real>(1.0 / scale) if scale > 0 else <real>n / <real>out
    for i in range(out):
        place = <real>i * step if align else (<real>i + <real>0.5) * step - <real>0.5
        if kind == LINEAR and place < 0:
            place = 0
        first = <int64_t>(floorf(place) if real is float else floor(place))
        if first > n - 1:
            first = n - 1
        part = place - <real>first
        part = 0 if part < 0 else 1 if part > 1 else part
        if kind == LINEAR:
            index[2 * i], index[2 * i + 1] = first, first + 1 if first < n - 1 else n - 1
            weight[2 * i], weight[2 * i + 1] = 1 - part, part
            continue
        for j in range(4):
            at = first - 1 + j
            index[4 * i + j] = 0 if at < 0 else n - 1 if at > n - 1 else at
        weight[4 * i], weight[4 * i + 1] = _cubic(<real>(part + 1)), _cubic(part)
        weight[4 * i + 2], weight[4 * i + 3] = _cubic(<real>(1 - part)), _cubic(<real>(2 - part))


cdef struct Smooth:
    # An axis with antialiasing: the step between output elements, the widening of the kernel, and its support
    double step, widen, support


cdef void _spans(int64_t n, int64_t i, Smooth* s, real* centre, int64_t* low, int64_t* count) noexcept:
    """The input elements with nonzero weights for an output element."""
    cdef int64_t high, largest = 2 * <int64_t>ceil(s.support) + 1
    cdef real support = <real>s.support
    centre[0] = (<real>i + <real>0.5) * <real>s.step
    low[0], high = <int64_t>(centre[0] - support + <real>0.5), <int64_t>(centre[0] + support + <real>0.5)
    low[0] = 0 if low[0] < 0 else low[0]
    high = n if high > n else high
    count[0] = 0 if high < low[0] else largest if high - low[0] > largest else high - low[0]


cdef int64_t _measure(int64_t n, int64_t out, int kind, bint align, double scale, Smooth* s, real unused) noexcept:
    """The max number of weights per output element."""
    cdef real step, centre
    cdef int64_t i, low, count, largest = 0
    if align:
        step = <real>(n - 1) / <real>(out - 1) if out > 1 else 0
    else:
        step = <real>(1.0 / scale) if scale > 0 else <real>n / <real>out
    s.step, s.widen = step, step if step > 1 else 1.0
    s.support = <real>(1 if kind == LINEAR else 2) * <real>s.widen
    for i in range(out):
        _spans(n, i, s, &centre, &low, &count)
        largest = count if count > largest else largest
    return largest


cdef void _smoothed(int64_t n, int64_t out, int kind, Smooth* s, int64_t taps, int64_t* index, real* weight) noexcept:
    """The weights of antialiasing: a kernel as wide as the step between output elements."""
    cdef real centre, x, total, near = <real>(1 / s.widen)
    cdef int64_t i, j, low, count, last
    for i in range(out):
        _spans(n, i, s, &centre, &low, &count)
        total, last = 0, low + count - 1 if low + count > 0 else 0
        for j in range(taps):
            index[j], weight[j] = low + j if low + j < last else last, 0
            if j < count:
                x = <real>fabs((<real>(low + j) - centre + <real>0.5) * near)
                if kind == LINEAR:
                    weight[j] = 1 - x if x < 1 else 0
                elif x < 2:
                    weight[j] = (<real>1.5 * x - <real>2.5) * x * x + 1 if x < 1 else ((x - 5) * x + 8) * x * <real>-0.5 + 2
                total += weight[j]
        for j in range(taps):
            if total != 0:
                weight[j] /= total
        index += taps
        weight += taps


cdef Layout _resampled(Layout x, int dims, const int64_t* old, const int64_t* new, const Arg* mode, bint align, bint smooth,
                       const Arg* given_scales, bint back, int first):
    """x resized along its axes from `first` on, from `old` to `new`; with `back`, the gradient; or None."""
    cdef int kind = _KINDS[mode.value], axis, step, i
    cdef int64_t shape[5]
    cdef Resampling s
    cdef Layout index, weight = None, result
    cdef double scale
    cdef object scales = <object>given_scales.given
    cdef const char* name = "back" if back else "apply"
    cdef bint same, shrinks
    cdef double before = 1, after = 1
    cdef Smooth wide
    if smooth and kind <= EXACT or scales is not None and len(scales) != dims:
        return None
    wide.step = wide.widen = wide.support = 1
    for i in range(x.ndim):
        shape[i] = x.shape[i]
    result = x
    for i in range(dims):
        before, after = before * old[i], after * new[i]
    shrinks = after < before if not back else before < after          # shrink the first axis first, which skips whole rows
    for step in range(dims):
        axis = step if shrinks else dims - 1 - step
        scale = 0
        if scales is not None:
            if type(scales[axis]) is not float and type(scales[axis]) is not int:
                return None
            scale = scales[axis]
        s.n, s.out = old[axis], new[axis]
        s.taps = 1 if kind <= EXACT else 2 if kind == LINEAR else 4
        if (kind == LINEAR or smooth) and s.n == s.out:
            continue
        if smooth and x.dtype.code == F32:
            s.taps = _measure[float](s.n, s.out, kind, align, scale, &wide, 0)
        elif smooth:
            s.taps = _measure[double](s.n, s.out, kind, align, scale, &wide, 0)
        if s.taps < 1:
            return None
        shape[first + axis] = s.out * s.taps
        index = fresh(of_code(I64), 1, shape + first + axis)
        s.index, s.weight = <int64_t*>index.data(), NULL
        same = False
        if kind <= EXACT:
            same = _nearest(s.n, s.out, scale, kind == EXACT, dims == 2, <int64_t*>index.data())
        else:
            weight = fresh(x.dtype, 1, shape + first + axis)
            s.weight = weight.data()
            if smooth and x.dtype.code == F32:
                _smoothed[float](s.n, s.out, kind, &wide, s.taps, <int64_t*>index.data(), <float*>weight.data())
            elif smooth:
                _smoothed[double](s.n, s.out, kind, &wide, s.taps, <int64_t*>index.data(), <double*>weight.data())
            elif x.dtype.code == F32:
                _taps[float](s.n, s.out, kind, align, scale, <int64_t*>index.data(), <float*>weight.data())
            else:
                _taps[double](s.n, s.out, kind, align, scale, <int64_t*>index.data(), <double*>weight.data())
        shape[first + axis] = s.n if back else s.out
        if same:
            continue
        s.outer = s.inner = 1
        for i in range(x.ndim):
            if i < first + axis:
                s.outer *= shape[i]
            elif i > first + axis:
                s.inner *= shape[i]
        x = result
        result = fresh(x.dtype, x.ndim, shape)
        with nogil:
            (<resample_fn>find("resample", name, x.dtype.code))(&s, x.data(), result.data())
    return result


cdef Layout _own(Layout out, Layout x):
    """The result, copied if it is x itself."""
    if out is x:
        out = fresh(x.dtype, x.ndim, x.shape)
        memcpy(out.data(), x.data(), x.numel * x.dtype.itemsize)
    return out


cdef Layout _in_format(Layout x, int dims, const int64_t* old, const int64_t* new, const Arg* mode, bint align, bint smooth,
                       const Arg* scales, bint back):
    """The same for any x: a result in its memory format."""
    cdef Layout out
    cdef int[5] last                                     # the axes with the channels last, and back again
    cdef int[5] again
    cdef int i
    if not has_channels_last(x):
        x = as_contiguous(x)
        out = _resampled(x, dims, old, new, mode, align, smooth, scales, back, 2)
        return None if out is None else _own(out, x)
    last[0], last[dims + 1], again[0], again[1] = 0, 1, 0, dims + 1
    for i in range(dims):
        last[i + 1], again[i + 2] = i + 2, i + 1
    x = as_contiguous(permuted(x, last))
    out = _resampled(x, dims, old, new, mode, align, smooth, scales, back, 1)
    return None if out is None else permuted(_own(out, x), again)


cdef Layout _upsample(Op op, Upsample* a):
    cdef Layout x = <Layout>a.input.layout
    cdef int i, dims = x.ndim - 2
    if a.size.value != dims:
        return None
    for i in range(dims):
        if a.size.ints[i] < 1:
            return None
    return _in_format(x, dims, x.shape + 2, a.size.ints, &a.mode, a.align.value, a.antialias.value, &a.scales, False)


cdef Layout _upsample_back(Op op, UpsampleBackward* a):
    cdef Layout g = <Layout>a.grad_output.layout
    cdef int i
    if a.shape.value != g.ndim:
        return None
    for i in range(g.ndim):
        if a.shape.ints[i] < 1 or i < 2 and a.shape.ints[i] != g.shape[i]:
            return None
    return _in_format(g, g.ndim - 2, a.shape.ints + 2, g.shape + 2, &a.mode, a.align.value, a.antialias.value, &a.scales, True)


offer("upsample", <form_t>_upsample,
          "input: float strided nonempty 3-5d, size: sizes, mode: nearest|nearest-exact|linear|bilinear|trilinear|bicubic")
offer("upsample_backward", <form_t>_upsample_back,
          "grad_output: float strided nonempty 3-5d, shape: sizes, mode: nearest|nearest-exact|linear|bilinear|trilinear|bicubic")
