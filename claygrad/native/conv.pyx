"""Native forms of convolution; claygrad/ops/_conv.py has the definitions."""
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32
from claygrad.core.data.kernels cimport find, gemm, gemm_many
from claygrad.core.data.layout cimport Layout, fresh
from claygrad.core.dispatch.guard cimport Arg, for_axes, form_t, memory, vector_of
from claygrad.core.dispatch.registry cimport offer

cdef extern from "conv/conv.hpp" namespace "clay" nogil:
    struct Convolution:
        int64_t n, c, h, w, o, kh, kw, oh, ow
        int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups
        const void* bias

    ctypedef bint (*convolution_fn)(const Convolution* shape, const void* a, const void* b, void* out) noexcept nogil

    struct Volume:
        int64_t n, c, o, groups
        int64_t size[3]
        int64_t kernel[3]
        int64_t out[3]
        int64_t stride[3]
        int64_t pad[3]
        int64_t dilation[3]
        const void* bias

    ctypedef bint (*volume_fn)(const Volume* shape, const void* a, const void* b, void* out) noexcept nogil

    enum ConvolutionPass:
        FORWARD
        TO_INPUT
        TO_WEIGHT
    bint convolve_small(int dtype, const Volume* shape, ConvolutionPass pass_kind, const void* a, const void* b, void* out) noexcept
    void add_bias(int dtype, void* out, int64_t n, int64_t c, int64_t length, const void* bias) noexcept

ctypedef int (*kinds_fn)(const void* x, int64_t n) noexcept nogil


cdef bint _meets_zeros(Volume* s, int code, const void* weight, const void* result) noexcept:
    """Whether a NaN or infinite weight may have been multiplied by the zeros around the gradient, which would give NaN where no window
    reads. The result is searched first if it is smaller than the weight."""
    cdef int64_t weights = s.o * (s.c // s.groups) * s.kernel[0] * s.kernel[1] * s.kernel[2]
    cdef int64_t results = s.n * s.c * s.size[0] * s.size[1] * s.size[2]
    cdef kinds_fn kinds = <kinds_fn>find("finite", "kinds", code)
    if results < weights and not kinds(result, results):
        return False
    return kinds(weight, weights) != 0


cdef void _flat(Volume* s) noexcept:
    """Set all sizes, strides and dilations to 1, and the padding to 0."""
    cdef int i
    for i in range(3):
        s.size[i] = s.kernel[i] = s.out[i] = s.stride[i] = s.dilation[i] = 1
        s.pad[i] = 0


cdef bint _by_windows(ConvolutionPass pass_kind, Volume* s, int code, const void* a, const void* b, void* result):
    """Run the general kernel, or the one for depthwise convolution."""
    cdef Convolution plane
    cdef void* f
    cdef bint done, alone = s.c == s.groups and s.groups > 1 and s.size[0] * s.kernel[0] * s.out[0] == 1 and s.pad[0] == 0
    f = find("depthwise" if alone else "conv",
             "forward" if pass_kind == FORWARD else "input_grad" if pass_kind == TO_INPUT else "weight_grad", code)
    if f == NULL:
        return False
    plane.n, plane.c, plane.o, plane.groups, plane.bias = s.n, s.c, s.o, s.groups, s.bias
    plane.h, plane.kh, plane.oh = s.size[1], s.kernel[1], s.out[1]
    plane.w, plane.kw, plane.ow = s.size[2], s.kernel[2], s.out[2]
    plane.stride_h, plane.pad_h, plane.dilation_h = s.stride[1], s.pad[1], s.dilation[1]
    plane.stride_w, plane.pad_w, plane.dilation_w = s.stride[2], s.pad[2], s.dilation[2]
    with nogil:
        done = (<convolution_fn>f)(&plane, a, b, result) if alone else (<volume_fn>f)(s, a, b, result)
    if done and pass_kind == TO_INPUT and _meets_zeros(s, code, b, result):
        return False
    if alone and done and s.bias != NULL and pass_kind == TO_INPUT:
        add_bias(code, result, s.n, s.c, s.size[1] * s.size[2], s.bias)
    return done


# --- tensors of one dtype, float32 or float64, in row-major order --------------------------------------------------------------
cdef enum:
    FEW = 4096               # multiplications below which packing costs more than it saves


cdef bint _measure(Volume* s, int dims, const Arg* stride, const Arg* padding, const Arg* dilation) noexcept:
    """Stride, padding and dilation of three axes; with fewer axes, leading ones of size 1 are added."""
    cdef int i
    _flat(s)
    s.bias = NULL
    if not (for_axes(stride, dims, s.stride + 3 - dims) and for_axes(padding, dims, s.pad + 3 - dims)
            and for_axes(dilation, dims, s.dilation + 3 - dims)):
        return False
    for i in range(3 - dims, 3):
        if s.stride[i] < 1 or s.pad[i] < 0 or s.dilation[i] < 1:
            return False
    return True


cdef bint _weighed(Volume* s, Layout w, int64_t groups) noexcept:
    """The kernels, (o, c / groups, *kernel)."""
    cdef int i, dims = w.ndim - 2
    if groups < 1 or w.numel == 0 or w.shape[0] % groups:
        return False
    s.o, s.c, s.groups = w.shape[0], w.shape[1] * groups, groups
    for i in range(dims):
        s.kernel[3 - dims + i] = w.shape[2 + i]
    return True


cdef bint _filled(ConvolutionPass pass_kind, Volume* s, int code, const void* a, const void* b, void* result):
    """Run the convolution: directly if small, else by matrix products or by the window kernels; adds the bias. False: not done."""
    cdef int64_t work = s.n * s.o * s.out[0] * s.out[1] * s.out[2] * (s.c // s.groups) * s.kernel[0] * s.kernel[1] * s.kernel[2]
    cdef bint deep = s.size[0] * s.kernel[0] * s.out[0] != 1 or s.pad[0] != 0
    cdef bint single = s.kernel[0] * s.kernel[1] * s.kernel[2] == 1 and s.groups == 1 and s.pad[0] + s.pad[1] + s.pad[2] == 0
    cdef bint done
    if work > FEW and single:
        return _by_products(pass_kind, s, code, a, b, result)
    if work > FEW or not (single or deep):
        return _by_windows(pass_kind, s, code, a, b, result)
    done = convolve_small(code, s, pass_kind, a, b, result)
    if pass_kind == TO_INPUT and done and s.bias != NULL:
        add_bias(code, result, s.n, s.c, s.size[0] * s.size[1] * s.size[2], s.bias)
    return done


cdef bint _by_products(ConvolutionPass pass_kind, Volume* s, int code, const void* a, const void* b, void* result):
    """1x1 convolution: one matrix product per example."""
    cdef int64_t length = s.out[0] * s.out[1] * s.out[2], i, item = 4 if code == F32 else 8
    if s.size[0] * s.size[1] * s.size[2] != length or length < 16 and s.n > 1:
        return False
    with nogil:
        if pass_kind == FORWARD:
            gemm_many(code, False, False, s.n, s.o, length, s.c, b, s.c, 0, a, length, s.c * length, result)
            if s.bias != NULL:
                add_bias(code, result, s.n, s.o, length, s.bias)
        elif pass_kind == TO_INPUT:
            gemm_many(code, True, False, s.n, s.c, length, s.o, b, s.c, 0, a, length, s.o * length, result)
            if s.bias != NULL:
                add_bias(code, result, s.n, s.c, length, s.bias)
        else:
            for i in range(s.n):
                gemm(code, False, True, s.o, s.c, length, <const char*>b + i * s.o * length * item, length,
                     <const char*>a + i * s.c * length * item, length, result, s.c, i > 0)
    return True


cdef bint _forward_sizes(Volume* s, Layout x) noexcept:
    """Fill in the output size; False if the shapes do not fit."""
    cdef int i, dims = x.ndim - 2
    cdef int64_t room
    s.n = x.shape[0]
    if x.shape[1] != s.c or x.numel == 0:
        return False
    for i in range(dims):
        s.size[3 - dims + i] = x.shape[2 + i]
    for i in range(3 - dims, 3):
        room = s.size[i] + 2 * s.pad[i] - s.dilation[i] * (s.kernel[i] - 1) - 1
        if room < 0:
            return False
        s.out[i] = room // s.stride[i] + 1
    return True


cdef bint _spread_sizes(Volume* s, Layout g, const int64_t* spare) noexcept:
    """Fill in the input size for this output size (transposed convolution, gradient)."""
    cdef int i, dims = g.ndim - 2
    s.n = g.shape[0]
    if g.shape[1] != s.o or g.numel == 0:
        return False
    for i in range(dims):
        s.out[3 - dims + i] = g.shape[2 + i]
    for i in range(3 - dims, 3):
        s.size[i] = (s.out[i] - 1) * s.stride[i] - 2 * s.pad[i] + s.dilation[i] * (s.kernel[i] - 1) + 1 + spare[i]
        if spare[i] < 0 or s.size[i] < 1:
            return False
    return True


cdef Layout _new(Layout like, int64_t n, int64_t c, int dims, const int64_t* size):
    cdef int64_t shape[5]
    cdef int i
    shape[0], shape[1] = n, c
    for i in range(dims):
        shape[2 + i] = size[3 - dims + i]
    return fresh(like.dtype, dims + 2, shape)


cdef struct Convolve:
    Arg input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
cdef struct ToInput:
    Arg grad_output, weight, stride, padding, dilation, spare, groups
cdef struct ToWeight:
    Arg grad_output, input, kernel, stride, padding, dilation, groups


cdef Layout _convolution(Op op, Convolve* a):
    cdef Layout x = <Layout>a.input.layout, w = <Layout>a.weight.layout, out
    cdef Volume s
    cdef int64_t spare[3]
    cdef int dims = x.ndim - 2, i
    if x.ndim != w.ndim or not _measure(&s, dims, &a.stride, &a.padding, &a.dilation) or not _weighed(&s, w, a.groups.value):
        return None
    spare[0] = spare[1] = spare[2] = 0
    if not vector_of(&a.bias, s.c if a.transposed.value else s.o) or not for_axes(&a.output_padding, dims, spare + 3 - dims):
        return None
    s.bias = memory(&a.bias)
    if not a.transposed.value:
        if spare[0] < 0 or spare[1] < 0 or spare[2] < 0 or not _forward_sizes(&s, x):
            return None
        out = _new(x, s.n, s.o, dims, s.out)
        return out if _filled(FORWARD, &s, x.dtype.code, x.data(), w.data(), out.data()) else None
    if not _spread_sizes(&s, x, spare):
        return None
    for i in range(3 - dims, 3):
        if spare[i] >= s.stride[i] and spare[i] >= s.dilation[i]:
            return None                            # the declaration raises the error
    out = _new(x, s.n, s.c, dims, s.size)
    return out if _filled(TO_INPUT, &s, x.dtype.code, x.data(), w.data(), out.data()) else None


cdef Layout _to_input(Op op, ToInput* a):
    cdef Layout g = <Layout>a.grad_output.layout, w = <Layout>a.weight.layout, out
    cdef Volume s
    cdef int64_t spare[3]
    cdef int dims = g.ndim - 2
    spare[0] = spare[1] = spare[2] = 0
    if g.ndim != w.ndim or not _measure(&s, dims, &a.stride, &a.padding, &a.dilation) or not _weighed(&s, w, a.groups.value):
        return None
    if not for_axes(&a.spare, dims, spare + 3 - dims) or not _spread_sizes(&s, g, spare):
        return None
    out = _new(g, s.n, s.c, dims, s.size)
    return out if _filled(TO_INPUT, &s, g.dtype.code, g.data(), w.data(), out.data()) else None


cdef Layout _to_weight(Op op, ToWeight* a):
    cdef Layout g = <Layout>a.grad_output.layout, x = <Layout>a.input.layout, out
    cdef Volume s
    cdef int dims = g.ndim - 2, i
    if g.ndim != x.ndim or not _measure(&s, dims, &a.stride, &a.padding, &a.dilation) or not for_axes(&a.kernel, dims, s.kernel + 3 - dims):
        return None
    s.o, s.c, s.groups = g.shape[1], x.shape[1], a.groups.value
    if s.groups < 1 or s.c % s.groups or s.o % s.groups or not _forward_sizes(&s, x) or g.shape[0] != s.n:
        return None
    for i in range(dims):
        if s.kernel[3 - dims + i] < 1 or g.shape[2 + i] > s.out[3 - dims + i]:
            return None
        s.out[3 - dims + i] = g.shape[2 + i]
    out = _new(g, s.o, s.c // s.groups, dims, s.kernel)
    return out if _filled(TO_WEIGHT, &s, g.dtype.code, x.data(), g.data(), out.data()) else None


offer("convolution", <form_t>_convolution, "input: float broadcast 3-5d, weight: float same, bias: same optional")
offer("conv_input", <form_t>_to_input, "grad_output: float broadcast 3-5d, weight: float same")
offer("conv_weight", <form_t>_to_weight, "grad_output: float broadcast 3-5d nonempty, input: float same broadcast")
