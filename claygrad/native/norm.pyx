"""Native forms of the normalisations, for tensors of one dtype, float32 or float64; claygrad/ops/norm_*.py say what they compute."""
from cpython.object cimport PyObject
from libc.math cimport sqrt, sqrtf
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32, F64, dtype
from claygrad.core.data.kernels cimport find
from claygrad.core.data.layout cimport Layout, fresh, fresh_like, in_order, same_shape
from claygrad.native.rearrange cimport in_format_of
from claygrad.core.dispatch.guard cimport int_at, vector_at
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.registry cimport offer_many


cdef extern from "nn/norm.hpp" namespace "clay" nogil:
    struct Norm:
        int64_t examples, channels, places, groups
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

cdef Layout _floats(PyObject* slot):
    """A tensor with elements in row-major order, copied if they are not; or None."""
    cdef Layout v
    if not isinstance(<object>slot, Tensor):
        return None
    v = (<Tensor>slot).layout
    if v.numel == 0 or v.dtype.code != F32 and v.dtype.code != F64:
        return None
    return in_order(v)


cdef void _clear(Norm* s) noexcept:
    s.x = s.g = s.weight = s.bias = NULL
    s.out = s.mean = s.rstd = s.variance = s.to_x = s.to_weight = s.to_bias = NULL
    s.examples = s.channels = s.places = s.groups = 1
    s.eps, s.given = 0, False


cdef bint _done(const char* name, Layout x, Norm* s) noexcept:
    cdef norm_fn f = <norm_fn>find("norm", name, x.dtype.code)
    cdef bint done
    with nogil:
        done = f(s)
    return done


cdef inline Layout _vector(dtype kind, int64_t n):
    return fresh(kind, 1, &n)


# --- every example by itself ------------------------------------------------------------------------------------------------
cdef int _last_axes(Layout x, object given, Norm* s):
    """How many of the last axes are normalised, if a tuple or list names their sizes, else -1."""
    cdef int i, n
    cdef int64_t size
    if not isinstance(given, (tuple, list)):
        return -1
    n = len(given)
    if n < 1 or n > x.ndim or x.ndim > 16:
        return -1
    s.channels = 1
    for i in range(n):
        if not int_at(given[i], &size) or size != x.shape[x.ndim - n + i]:
            return -1
        s.channels *= size
    s.examples = x.numel // s.channels
    return n


cdef bint _weight_at(PyObject* slot, Layout x, int n, int64_t count, const void** into):
    """A weight of the shape of the last n axes, or none."""
    cdef int i
    cdef Layout v
    if not vector_at(slot, x, count, into):
        return False
    if into[0] != NULL:
        v = (<Tensor>slot).layout
        if v.ndim != n:
            return False
        for i in range(n):
            if v.shape[i] != x.shape[x.ndim - n + i]:
                return False
    return True


cdef Layout _moments(Layout x, int n):
    """A number for each example: the normalised axes have size 1."""
    cdef int64_t shape[16]
    cdef int i
    for i in range(x.ndim):
        shape[i] = x.shape[i] if i < x.ndim - n else 1
    return fresh(x.dtype, x.ndim, shape)


cdef list _layer(Op op, PyObject** slots):
    """native_layer_norm(input, normalized_shape, weight, bias, eps)"""
    cdef Norm s
    cdef Layout x = _floats(slots[0]), out, mean, rstd
    cdef int n
    if x is None or type(<object>slots[4]) is not float:
        return None
    _clear(&s)
    n = _last_axes(x, <object>slots[1], &s)
    if n < 0 or not _weight_at(slots[2], x, n, s.channels, &s.weight) or not _weight_at(slots[3], x, n, s.channels, &s.bias):
        return None
    out, mean, rstd = fresh_like(x), _moments(x, n), _moments(x, n)
    s.x, s.out, s.mean, s.rstd, s.eps = x.data(), out.data(), mean.data(), rstd.data(), <object>slots[4]
    return [out, mean, rstd] if _done("layer_forward", x, &s) else None


cdef list _root(Op op, PyObject** slots):
    """_rms_norm(input, normalized_shape, weight, eps)"""
    cdef Norm s
    cdef Layout x = _floats(slots[0]), out, rstd
    cdef int n
    if x is None or type(<object>slots[3]) is not float:
        return None
    _clear(&s)
    n = _last_axes(x, <object>slots[1], &s)
    if n < 0 or not _weight_at(slots[2], x, n, s.channels, &s.weight):
        return None
    out, rstd = fresh_like(x), _moments(x, n)
    s.x, s.out, s.rstd, s.eps = x.data(), out.data(), rstd.data(), <object>slots[3]
    return [out, rstd] if _done("layer_forward", x, &s) else None


cdef list _results(Norm* s, Layout x, object mask, int wanted, int n=0):
    """New memory for the gradients that the mask asks for, empty for the others: of x, and of weight and (if `wanted` is 3)
    bias, which have the shape of the last n axes or are vectors."""
    cdef list made = []
    cdef Layout v
    cdef int i
    if not isinstance(mask, (tuple, list)) or len(mask) < wanted:
        return None
    for i in range(wanted):
        if not mask[i]:
            made.append(_vector(x.dtype, 0))
            continue
        v = fresh_like(x) if i == 0 else fresh(x.dtype, n, x.shape + x.ndim - n) if n else _vector(x.dtype, s.channels)
        if i == 0:
            s.to_x = v.data()
        elif i == 1:
            s.to_weight = v.data()
        else:
            s.to_bias = v.data()
        made.append(v)
    return made


cdef list _layer_back(Op op, PyObject** slots):
    """native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, eps, output_mask)"""
    cdef Norm s
    cdef Layout g = _floats(slots[0]), x = _floats(slots[1]), mean = _floats(slots[3]), rstd = _floats(slots[4])
    cdef list made
    cdef int n
    if g is None or x is None or mean is None or rstd is None or not same_shape(g, x):
        return None
    if g.dtype is not x.dtype or mean.dtype is not x.dtype or rstd.dtype is not x.dtype:
        return None
    _clear(&s)
    n = _last_axes(x, <object>slots[2], &s)
    if n < 0 or not _weight_at(slots[5], x, n, s.channels, &s.weight) or mean.numel != s.examples or rstd.numel != s.examples:
        return None
    made = _results(&s, x, <object>slots[7], 3, n)
    if made is None:
        return None
    s.x, s.g, s.mean, s.rstd = x.data(), g.data(), mean.data(), rstd.data()
    return made if _done("layer_backward", x, &s) else None


cdef list _root_back(Op op, PyObject** slots):
    """rms_backward(grad_out, input, normalized_shape, rstd, weight, eps, output_mask)"""
    cdef Norm s
    cdef Layout g = _floats(slots[0]), x = _floats(slots[1]), rstd = _floats(slots[3])
    cdef list made
    cdef int n
    if g is None or x is None or rstd is None or not same_shape(g, x) or g.dtype is not x.dtype or rstd.dtype is not x.dtype:
        return None
    _clear(&s)
    n = _last_axes(x, <object>slots[2], &s)
    if n < 0 or not _weight_at(slots[4], x, n, s.channels, &s.weight) or rstd.numel != s.examples:
        return None
    made = _results(&s, x, <object>slots[6], 2, n)
    if made is None:
        return None
    s.x, s.g, s.rstd = x.data(), g.data(), rstd.data()
    return made if _done("layer_backward", x, &s) else None


# --- groups of channels ---------------------------------------------------------------------------------------------------------
cdef bint _groups(Norm* s, Layout x, PyObject** sizes):
    """The sizes N, C, HxW and group; False if they do not fit."""
    return (int_at(<object>sizes[0], &s.examples) and int_at(<object>sizes[1], &s.channels) and int_at(<object>sizes[2], &s.places)
            and int_at(<object>sizes[3], &s.groups) and s.groups > 0 and s.channels > 0 and s.channels % s.groups == 0
            and s.examples * s.channels * s.places == x.numel)


cdef list _group(Op op, PyObject** slots):
    """native_group_norm(input, weight, bias, N, C, HxW, group, eps)"""
    cdef Norm s
    cdef Layout x = _floats(slots[0]), out, mean, rstd
    cdef int64_t shape[2]
    if x is None or type(<object>slots[7]) is not float:
        return None
    _clear(&s)
    if not _groups(&s, x, slots + 3) or not _line(slots[1], x, s.channels, &s.weight) or not _line(slots[2], x, s.channels, &s.bias):
        return None
    shape[0], shape[1] = s.examples, s.groups
    out, mean, rstd = fresh_like(x), fresh(x.dtype, 2, shape), fresh(x.dtype, 2, shape)
    s.x, s.out, s.mean, s.rstd, s.eps = x.data(), out.data(), mean.data(), rstd.data(), <object>slots[7]
    return [in_format_of(out, (<Tensor>slots[0]).layout), mean, rstd] if _done("group_forward", x, &s) else None


cdef bint _line(PyObject* slot, Layout x, int64_t n, const void** into):
    """A vector of n elements, or none."""
    return vector_at(slot, x, n, into) and (into[0] == NULL or (<Tensor>slot).layout.ndim == 1)


cdef list _like_input(list made, Layout x):
    """The gradients, that of the input in its memory format."""
    if made[0] is not None:
        made[0] = in_format_of(<Layout>made[0], x)
    return made


cdef list _group_back(Op op, PyObject** slots):
    """group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, eps, output_mask)"""
    cdef Norm s
    cdef Layout g = _floats(slots[0]), x = _floats(slots[1]), mean = _floats(slots[2]), rstd = _floats(slots[3])
    cdef list made
    if g is None or x is None or mean is None or rstd is None or g.numel != x.numel:
        return None
    if g.dtype is not x.dtype or mean.dtype is not x.dtype or rstd.dtype is not x.dtype:
        return None
    _clear(&s)
    if not _groups(&s, x, slots + 5) or not _line(slots[4], x, s.channels, &s.weight):
        return None
    if mean.numel != s.examples * s.groups or rstd.numel != mean.numel:
        return None
    made = _results(&s, x, <object>slots[10], 2)
    if made is None:
        return None
    s.x, s.g, s.mean, s.rstd = x.data(), g.data(), mean.data(), rstd.data()
    return _like_input(made, (<Tensor>slots[1]).layout) if _done("group_backward", x, &s) else None


# --- every channel over the batch -------------------------------------------------------------------------------------------------
cdef bint _channels(Norm* s, Layout x) noexcept:
    if x.ndim < 2:
        return False
    s.examples, s.channels = x.shape[0], x.shape[1]
    s.places = x.numel // (s.examples * s.channels)
    return True


cdef list _batch(Op op, PyObject** slots):
    """_batch_norm(input, weight, bias, running_mean, running_var, training, eps)"""
    cdef Norm s
    cdef Layout x = _floats(slots[0]), out, mean, rstd, variance
    cdef const void* running[2]
    cdef int64_t i
    cdef double eps
    if x is None or type(<object>slots[6]) is not float:
        return None
    _clear(&s)
    if not _channels(&s, x) or not vector_at(slots[1], x, s.channels, &s.weight) or not vector_at(slots[2], x, s.channels, &s.bias):
        return None
    if not vector_at(slots[3], x, s.channels, &running[0]) or not vector_at(slots[4], x, s.channels, &running[1]):
        return None
    if (running[0] == NULL) != (running[1] == NULL):
        return None
    eps = <object>slots[6]
    out = fresh_like(x)
    s.x, s.out = x.data(), out.data()
    if <object>slots[5] is True:
        mean, rstd, variance = _vector(x.dtype, s.channels), _vector(x.dtype, s.channels), _vector(x.dtype, s.channels)
        s.mean, s.rstd, s.variance, s.eps = mean.data(), rstd.data(), variance.data(), eps
        if not _done("batch_forward", x, &s):
            return None
        return [in_format_of(out, (<Tensor>slots[0]).layout), mean, rstd, variance]
    if running[0] == NULL:
        return None
    rstd = _vector(x.dtype, s.channels)
    s.mean, s.rstd, s.given = <void*>running[0], rstd.data(), True
    for i in range(s.channels):
        if x.dtype.code == F32:
            (<float*>s.rstd)[i] = 1 / sqrtf((<const float*>running[1])[i] + <float>eps)
        else:
            (<double*>s.rstd)[i] = 1 / sqrt((<const double*>running[1])[i] + eps)
    if not _done("batch_forward", x, &s):
        return None
    return [in_format_of(out, (<Tensor>slots[0]).layout), _vector(x.dtype, 0), _vector(x.dtype, 0), _vector(x.dtype, 0)]


cdef list _batch_back(Op op, PyObject** slots):
    """batch_norm_backward(grad_out, input, mean, rstd, weight, training, eps, output_mask)"""
    cdef Norm s
    cdef Layout g = _floats(slots[0]), x = _floats(slots[1]), mean = _floats(slots[2]), rstd = _floats(slots[3])
    cdef list made
    if g is None or x is None or mean is None or rstd is None or not same_shape(g, x):
        return None
    if g.dtype is not x.dtype or mean.dtype is not x.dtype or rstd.dtype is not x.dtype:
        return None
    _clear(&s)
    if not _channels(&s, x) or not vector_at(slots[4], x, s.channels, &s.weight):
        return None
    if mean.numel != s.channels or rstd.numel != s.channels:
        return None
    made = _results(&s, x, <object>slots[7], 3)
    if made is None:
        return None
    s.x, s.g, s.mean, s.rstd, s.given = x.data(), g.data(), mean.data(), rstd.data(), <object>slots[5] is not True
    return _like_input(made, (<Tensor>slots[1]).layout) if _done("batch_backward", x, &s) else None


offer_many("layer_norm", _layer)
offer_many("layer_norm_backward", _layer_back)
offer_many("rms_norm", _root)
offer_many("rms_norm_backward", _root_back)
offer_many("group_norm", _group)
offer_many("group_norm_backward", _group_back)
offer_many("batch_norm", _batch)
offer_many("batch_norm_backward", _batch_back)
