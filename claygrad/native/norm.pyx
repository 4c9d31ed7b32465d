"""Native forms of the normalisations, for tensors of one dtype, float32 or float64; batch_norm and rms_norm also in half precision,
by the kernels of float32. claygrad/ops/norm_*.py say what they compute."""
from libc.math cimport sqrt, sqrtf
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport BF16, F16, F32, F64, dtype, of_code
from claygrad.core.data.kernels cimport find
from claygrad.core.data.layout cimport Layout, fresh, fresh_like, same_shape
from claygrad.native.rearrange cimport in_format_of
from claygrad.core.dispatch.convert_half cimport cast_half
from claygrad.core.dispatch.guard cimport Arg, form_t, memory, numel_is, vector_of
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.registry cimport offer


cdef extern from "nn/norm.hpp" namespace "clay" nogil:
    struct Norm:
        int64_t examples, channels, positions, groups
        const void* x
        const void* g
        const void* weight
        const void* bias
        void* out
        void* mean
        void* rstd
        void* variance
        void* to_x
        void* to_weight
        void* to_bias
        double eps
        bint given

    ctypedef bint (*norm_fn)(const Norm*) noexcept nogil

cdef struct LayerNorm:
    Arg input, normalized_shape, weight, bias, eps
cdef struct LayerNormBackward:
    Arg grad_out, input, normalized_shape, mean, rstd, weight, eps, output_mask
cdef struct RmsNorm:
    Arg input, normalized_shape, weight, eps
cdef struct RmsNormBackward:
    Arg grad_out, input, normalized_shape, rstd, weight, eps, output_mask
cdef struct GroupNorm:
    Arg input, weight, bias, N, C, HxW, group, eps
cdef struct GroupNormBackward:
    Arg grad_out, input, mean, rstd, weight, N, C, HxW, group, eps, output_mask
cdef struct BatchNorm:
    Arg input, weight, bias, running_mean, running_var, training, eps
cdef struct BatchNormBackward:
    Arg grad_out, input, mean, rstd, weight, training, eps, output_mask


cdef inline Layout _given(const Arg* a):
    """The layout of the argument itself, where the guard may have made a contiguous copy."""
    return (<Tensor>a.given).layout


cdef inline bint _is_half(Layout v) noexcept:
    return v.dtype.code == F16 or v.dtype.code == BF16


cdef inline bint _is_float(Layout v) noexcept:
    return v.dtype.code == F32 or v.dtype.code == F64 or _is_half(v)


cdef inline Layout _wide(Layout v):
    return cast_half(v, of_code(F32)) if _is_half(v) else v


cdef inline void* _data(Layout v) noexcept:
    return NULL if v is None else v.data()


cdef Layout _beside(const Arg* a, Layout x, int* kind):
    """A parameter of the dtype of x, or of float32 beside a half, in the dtype in which it is computed. `kind` is the dtype that all
    parameters have (-1 before the first), or -2 if one does not fit."""
    cdef Layout v
    if a.layout == NULL:
        return None
    v = <Layout>a.layout
    if kind[0] == -1 and (v.dtype is x.dtype or v.dtype.code == F32 and _is_half(x)):
        kind[0] = v.dtype.code
    if kind[0] != v.dtype.code:
        kind[0] = -2
        return None
    return _wide(v)


cdef void _clear(Norm* s) noexcept:
    s.x = s.g = s.weight = s.bias = NULL
    s.out = s.mean = s.rstd = s.variance = s.to_x = s.to_weight = s.to_bias = NULL
    s.examples = s.channels = s.positions = s.groups = 1
    s.eps, s.given = 0, False


cdef bint _done(const char* name, Layout x, Norm* s) noexcept:
    cdef norm_fn f = <norm_fn>find("norm", name, x.dtype.code)
    cdef bint done
    with nogil:
        done = f(s)
    return done


cdef inline Layout _vector(dtype kind, int64_t n):
    return fresh(kind, 1, &n)


# --- layer norm and RMS norm ------------------------------------------------------------------------------------------------
cdef int _last_axes(Layout x, const Arg* sizes, Norm* s) noexcept:
    """How many of the last axes are normalised, if these are their sizes, else -1."""
    cdef int i, n = sizes.value
    if n < 1 or n > x.ndim or x.ndim > 16:
        return -1
    s.channels = 1
    for i in range(n):
        if sizes.ints[i] != x.shape[x.ndim - n + i]:
            return -1
        s.channels *= sizes.ints[i]
    s.examples = x.numel // s.channels
    return n


cdef bint _like_last(const Arg* weight, Layout x, int n) noexcept:
    """Whether a weight has the shape of the last n axes, or there is none."""
    cdef int i
    cdef Layout v
    if weight.layout == NULL:
        return True
    v = <Layout>weight.layout
    if v.ndim != n:
        return False
    for i in range(n):
        if v.shape[i] != x.shape[x.ndim - n + i]:
            return False
    return True


cdef Layout _moments(Layout x, int n):
    """A new tensor with one element per example: the normalised axes have size 1."""
    cdef int64_t shape[16]
    cdef int i
    for i in range(x.ndim):
        shape[i] = x.shape[i] if i < x.ndim - n else 1
    return fresh(x.dtype, x.ndim, shape)


cdef list _layer(Op op, LayerNorm* a):
    cdef Norm s
    cdef Layout x = <Layout>a.input.layout, out, mean, rstd
    cdef int n
    _clear(&s)
    n = _last_axes(x, &a.normalized_shape, &s)
    if n < 0 or not _like_last(&a.weight, x, n) or not _like_last(&a.bias, x, n):
        return None
    out, mean, rstd = fresh_like(x), _moments(x, n), _moments(x, n)
    s.x, s.weight, s.bias = x.data(), memory(&a.weight), memory(&a.bias)
    s.out, s.mean, s.rstd, s.eps = out.data(), mean.data(), rstd.data(), a.eps.real
    return [out, mean, rstd] if _done("layer_forward", x, &s) else None


cdef list _root(Op op, RmsNorm* a):
    cdef Norm s
    cdef Layout given = <Layout>a.input.layout, x, weight, out, rstd
    cdef int n, kind = -1
    if not _is_float(given):
        return None
    weight = _beside(&a.weight, given, &kind)
    if kind >= 0 and kind != given.dtype.code or kind == -2:
        return None
    x = _wide(given)
    _clear(&s)
    n = _last_axes(x, &a.normalized_shape, &s)
    if n < 0 or not _like_last(&a.weight, x, n):
        return None
    out, rstd = fresh_like(x), _moments(x, n)
    s.x, s.weight, s.out, s.rstd, s.eps = x.data(), _data(weight), out.data(), rstd.data(), a.eps.real
    if not _done("layer_forward", x, &s):
        return None
    return [cast_half(out, given.dtype) if _is_half(given) else out, rstd]


cdef list _results(Norm* s, Layout x, const Arg* output_mask, int wanted, int n=0):
    """New tensors for the gradients in output_mask, empty ones for the others: of x, weight and (if `wanted` is 3) bias. The last two
    have the shape of the last n axes, or are vectors."""
    cdef list out = []
    cdef Layout v
    cdef int i
    mask = <object>output_mask.given
    if not isinstance(mask, (tuple, list)) or len(mask) < wanted:
        return None
    for i in range(wanted):
        if not mask[i]:
            out.append(_vector(x.dtype, 0))
            continue
        v = fresh_like(x) if i == 0 else fresh(x.dtype, n, x.shape + x.ndim - n) if n else _vector(x.dtype, s.channels)
        if i == 0:
            s.to_x = v.data()
        elif i == 1:
            s.to_weight = v.data()
        else:
            s.to_bias = v.data()
        out.append(v)
    return out


cdef list _layer_back(Op op, LayerNormBackward* a):
    cdef Norm s
    cdef Layout g = <Layout>a.grad_out.layout, x = <Layout>a.input.layout
    cdef list out
    cdef int n
    _clear(&s)
    n = _last_axes(x, &a.normalized_shape, &s)
    if n < 0 or not same_shape(g, x) or not _like_last(&a.weight, x, n) or not numel_is(&a.mean, s.examples) \
            or not numel_is(&a.rstd, s.examples):
        return None
    out = _results(&s, x, &a.output_mask, 3, n)
    if out is None:
        return None
    s.x, s.g, s.weight, s.mean, s.rstd = x.data(), g.data(), memory(&a.weight), <void*>memory(&a.mean), <void*>memory(&a.rstd)
    return out if _done("layer_backward", x, &s) else None


cdef list _root_back(Op op, RmsNormBackward* a):
    cdef Norm s
    cdef Layout g = <Layout>a.grad_out.layout, x = <Layout>a.input.layout
    cdef list out
    cdef int n
    _clear(&s)
    n = _last_axes(x, &a.normalized_shape, &s)
    if n < 0 or not same_shape(g, x) or not _like_last(&a.weight, x, n) or not numel_is(&a.rstd, s.examples):
        return None
    out = _results(&s, x, &a.output_mask, 2, n)
    if out is None:
        return None
    s.x, s.g, s.weight, s.rstd = x.data(), g.data(), memory(&a.weight), <void*>memory(&a.rstd)
    return out if _done("layer_backward", x, &s) else None


# --- group norm ---------------------------------------------------------------------------------------------------------
cdef bint _groups(Norm* s, Layout x, const Arg* N, const Arg* C, const Arg* HxW, const Arg* group) noexcept:
    """The sizes; False if they do not fit."""
    s.examples, s.channels, s.positions, s.groups = N.value, C.value, HxW.value, group.value
    if s.groups < 1 or s.channels < 1 or s.positions < 1 or s.channels % s.groups:
        return False
    return x.numel % (s.channels * s.positions) == 0 and x.numel // (s.channels * s.positions) == s.examples


cdef list _group(Op op, GroupNorm* a):
    cdef Norm s
    cdef Layout x = <Layout>a.input.layout, out, mean, rstd
    cdef int64_t shape[2]
    _clear(&s)
    if not _groups(&s, x, &a.N, &a.C, &a.HxW, &a.group) or not vector_of(&a.weight, s.channels) or not vector_of(&a.bias, s.channels):
        return None
    shape[0], shape[1] = s.examples, s.groups
    out, mean, rstd = fresh_like(x), fresh(x.dtype, 2, shape), fresh(x.dtype, 2, shape)
    s.x, s.weight, s.bias = x.data(), memory(&a.weight), memory(&a.bias)
    s.out, s.mean, s.rstd, s.eps = out.data(), mean.data(), rstd.data(), a.eps.real
    return [in_format_of(out, _given(&a.input)), mean, rstd] if _done("group_forward", x, &s) else None


cdef list _like_input(list out, Layout x):
    """The gradients, that of the input in its memory format."""
    if out[0] is not None:
        out[0] = in_format_of(<Layout>out[0], x)
    return out


cdef list _group_back(Op op, GroupNormBackward* a):
    cdef Norm s
    cdef Layout g = <Layout>a.grad_out.layout, x = <Layout>a.input.layout
    cdef list out
    _clear(&s)
    if g.numel != x.numel or not _groups(&s, x, &a.N, &a.C, &a.HxW, &a.group) or not vector_of(&a.weight, s.channels):
        return None
    if not numel_is(&a.mean, s.examples * s.groups) or not numel_is(&a.rstd, s.examples * s.groups):
        return None
    out = _results(&s, x, &a.output_mask, 2)
    if out is None:
        return None
    s.x, s.g, s.weight, s.mean, s.rstd = x.data(), g.data(), memory(&a.weight), <void*>memory(&a.mean), <void*>memory(&a.rstd)
    return _like_input(out, _given(&a.input)) if _done("group_backward", x, &s) else None


# --- batch norm -------------------------------------------------------------------------------------------------
cdef void _channels(Norm* s, Layout x) noexcept:
    s.examples, s.channels = x.shape[0], x.shape[1]
    s.positions = x.numel // (s.examples * s.channels)


cdef list _batch(Op op, BatchNorm* a):
    cdef Norm s
    cdef Layout given = <Layout>a.input.layout, x, weight, bias, running_mean, running_var, out, mean, rstd, variance
    cdef list results
    cdef dtype kept
    cdef int64_t i
    cdef int kind = -1
    cdef double eps = a.eps.real
    if not _is_float(given):
        return None
    weight, bias = _beside(&a.weight, given, &kind), _beside(&a.bias, given, &kind)
    running_mean, running_var = _beside(&a.running_mean, given, &kind), _beside(&a.running_var, given, &kind)
    if kind == -2 or (running_mean is None) != (running_var is None) or not a.training.value and running_var is None:
        return None
    x = _wide(given)                                 # of a half: memory of its own, which is written over
    _clear(&s)
    _channels(&s, x)
    if not (numel_is(&a.weight, s.channels) and numel_is(&a.bias, s.channels) and numel_is(&a.running_mean, s.channels)
            and numel_is(&a.running_var, s.channels)):
        return None
    out, rstd = fresh_like(x) if x is given else x, _vector(x.dtype, s.channels)
    kept = given.dtype if kind < 0 else of_code(kind)
    s.x, s.weight, s.bias, s.out, s.rstd = x.data(), _data(weight), _data(bias), out.data(), rstd.data()
    if a.training.value:
        mean, variance = _vector(x.dtype, s.channels), _vector(x.dtype, s.channels)
        s.mean, s.variance, s.eps = mean.data(), variance.data(), eps
        results = [out, mean, rstd, variance]
        if kept is not x.dtype:                      # as in torch, half-precision statistics are rounded before use
            s.out = NULL
            _done("batch_forward", x, &s)
            results = [out, cast_half(mean, kept), cast_half(rstd, kept), cast_half(variance, kept)]
            mean, rstd = _wide(<Layout>results[1]), _wide(<Layout>results[2])
            s.mean, s.rstd, s.out, s.given = mean.data(), rstd.data(), out.data(), True
    else:
        s.mean, s.given = running_mean.data(), True
        for i in range(s.channels):
            if x.dtype.code == F32:
                (<float*>s.rstd)[i] = 1 / sqrtf((<const float*>running_var.data())[i] + <float>eps)
            else:
                (<double*>s.rstd)[i] = 1 / sqrt((<const double*>running_var.data())[i] + eps)
        results = [out, _vector(kept, 0), _vector(kept, 0), _vector(kept, 0)]
    if not _done("batch_forward", x, &s):
        return None
    out = in_format_of(out, _given(&a.input))
    results[0] = out if x is given else cast_half(out, given.dtype)
    return results


cdef list _batch_back(Op op, BatchNormBackward* a):
    cdef Norm s
    cdef Layout g = <Layout>a.grad_out.layout, given = <Layout>a.input.layout, x, mean, rstd, weight
    cdef list out
    cdef int i, kind = -1
    if not _is_float(given):
        return None
    mean, rstd, weight = _beside(&a.mean, given, &kind), _beside(&a.rstd, given, &kind), _beside(&a.weight, given, &kind)
    if kind == -2:
        return None
    g, x = _wide(g), _wide(given)
    _clear(&s)
    _channels(&s, x)
    if not same_shape(g, x) or not (numel_is(&a.weight, s.channels) and numel_is(&a.mean, s.channels) and numel_is(&a.rstd, s.channels)):
        return None
    out = _results(&s, x, &a.output_mask, 3)
    if out is None:
        return None
    s.x, s.g, s.weight, s.mean, s.rstd = x.data(), g.data(), _data(weight), mean.data(), rstd.data()
    s.given = not a.training.value
    if not _done("batch_backward", x, &s):
        return None
    out = _like_input(out, _given(&a.input))
    if x is not given:                               # the gradients of parameters are of their dtype
        for i in range(3):
            if weight is None or kind != F32 or i == 0 and (<Layout>out[0]).numel:
                out[i] = cast_half(<Layout>out[i], given.dtype)
    return out


offer("layer_norm", <form_t>_layer, "input: float copied nonempty, normalized_shape: sizes, weight bias: same optional")
offer("layer_norm_backward", <form_t>_layer_back,
              "grad_out input: float same copied nonempty, normalized_shape: sizes, mean rstd: same copied, weight: same optional")
offer("rms_norm", <form_t>_root, "input: any copied nonempty, normalized_shape: sizes, weight: any optional")
offer("rms_norm_backward", <form_t>_root_back,
              "grad_out input: float same copied nonempty, normalized_shape: sizes, rstd: same copied, weight: same optional")
offer("group_norm", <form_t>_group, "input: float copied nonempty, weight bias: same optional")
offer("group_norm_backward", <form_t>_group_back,
              "grad_out input: float same copied nonempty, mean rstd: same copied, weight: same optional")
offer("batch_norm", <form_t>_batch,
              "input: any copied nonempty 2d+, weight bias running_mean running_var: any optional")
offer("batch_norm_backward", <form_t>_batch_back,
              "grad_out: any copied nonempty 2d+, input: same copied nonempty 2d+, mean rstd: any copied, weight: any optional")
