"""Native forms of variances, norms and sums of exponentials."""
from cpython.object cimport PyObject
from libc.math cimport INFINITY, fabs, isfinite, pow, sqrt
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32, F64
from claygrad.core.data.kernels cimport binary_fn, find, reduce_fn, reduce_lines
from claygrad.core.data.layout cimport Layout, Lines, axis_in, fresh_like, lines_along, same_shape
from claygrad.native.reduce cimport arranged, reduced, without
from claygrad.core.dispatch.guard cimport Arg, form_t, is_none
from claygrad.core.dispatch.registry cimport offer, take_loops

cdef extern from "nn/norm.hpp" namespace "clay" nogil:
    ctypedef bint (*variance_fn)(const void*, void*, void*, int64_t, int64_t, int64_t, double) noexcept nogil

cdef extern from "reduce/scan.hpp" namespace "clay" nogil:
    ctypedef void (*log_sums_fn)(const void*, void*, int64_t, int64_t) noexcept nogil
    ctypedef void (*log_slope_fn)(const void*, const void*, const void*, void*, int64_t, int64_t) noexcept nogil

cdef extern from "matmul/scaled_sum.hpp" namespace "clay" nogil:
    ctypedef void (*scale_fn)(const void*, const void*, void*, int64_t, int64_t, int64_t) noexcept nogil

cdef enum:
    RELEASE = 4096


cdef struct Variance:
    Arg input, dim, keepdim, correction
cdef struct VectorNorm:
    Arg input, ord, dim, keepdim, dtype
cdef struct Dist:
    Arg input, other, p
cdef struct Renorm:
    Arg input, p, dim, maxnorm
cdef struct LogSumExp:
    Arg input, dim, keepdim
cdef struct LogSumExpSlope:
    Arg grad, input, total


cdef bint _reduces(Layout x, object dim) noexcept:
    """Whether there are elements and axes to reduce."""
    return x.numel > 0 and (dim is None or x.ndim == 0 or len(<tuple>dim) > 0)


cdef bint _single(Layout x, object dim) noexcept:
    """Whether each result is the reduction of a single element."""
    cdef int axis
    if dim is None or x.ndim == 0:
        return x.numel == 1
    for item in <tuple>dim:
        axis = item
        if x.shape[axis] != 1:
            return False
    return True


cdef double TINY = 1e-36, NEAR = 1e-15        # squares of deviations lose digits; unequal elements this far from 0 deviate by more

# --- variance ------------------------------------------------------------------------------------------------------------
cdef list _moments(Op op, Variance* a):
    cdef Layout x = <Layout>a.input.layout, from_, variance, mean
    cdef variance_fn f = <variance_fn>op.kernels[x.dtype.code]
    cdef object dim = <object>a.dim.given
    cdef bint keep = a.keepdim.value, done
    cdef double less = a.correction.real
    cdef int64_t i
    cdef float value
    cdef Lines s
    if not _reduces(x, dim):
        return None
    from_ = arranged(x, dim, False, &s.outer, &s.n, &s.inner)
    if from_ is None or not s.n - less > 0:
        return None
    variance, mean = without(x.dtype, x, dim, keep), without(x.dtype, x, dim, keep)
    if x.numel > RELEASE:
        with nogil:
            done = f(from_.data(), variance.data(), mean.data(), s.outer, s.n, s.inner, less)
    else:
        done = f(from_.data(), variance.data(), mean.data(), s.outer, s.n, s.inner, less)
    if not done:
        return None
    if op.name == "std" or op.name == "std_mean":
        for i in range(variance.numel):
            if x.dtype.code == F32:
                value = (<float*>variance.data())[i]             # the variance may be too large or small where the deviation is not
                if not isfinite(value) or value < TINY and fabs((<float*>mean.data())[i]) < NEAR:
                    return None
                (<float*>variance.data())[i] = <float>sqrt((<float*>variance.data())[i])
            else:
                (<double*>variance.data())[i] = sqrt((<double*>variance.data())[i])
    return [variance, mean]


cdef Layout _variance(Op op, Variance* a):
    cdef list both = _moments(op, a)
    return None if both is None else <Layout>both[0]


# --- norms ---------------------------------------------------------------------------------------------------------------
cdef reduce_fn _sizes[6][2]              # of norms 2, 1, inf, -inf, 0; and sums


cdef _find_sizes():
    for i, name in enumerate((b"norm", b"size_sum", b"size_max", b"size_min", b"size_count", b"sum")):
        _sizes[<int>i][0], _sizes[<int>i][1] = <reduce_fn>find(b"reduce", name, F32), <reduce_fn>find(b"reduce", name, F64)

_find_sizes()
cdef binary_fn _subtract[2]
_subtract[0], _subtract[1] = <binary_fn>find(b"binary", b"sub", F32), <binary_fn>find(b"binary", b"sub", F64)
cdef scale_fn _scale[2]
_scale[0], _scale[1] = <scale_fn>find(b"combine", b"scale", F32), <scale_fn>find(b"combine", b"scale", F64)
cdef double SHORT = 1e-7                 # as in claygrad/ops/linalg_distance.py


cdef Layout _norm(Op op, VectorNorm* a):
    cdef Layout x = <Layout>a.input.layout
    if not is_none(&a.dtype) and a.dtype.given != <PyObject*>x.dtype:
        return None
    return _norm_of(x, a.ord.real, <object>a.dim.given, a.keepdim.value)


cdef Layout _norm_of(Layout x, double p, object dim, bint keep):
    cdef int which
    if not _reduces(x, dim):
        return None
    if _single(x, dim):                # single elements: abs, without a power that could overflow
        p = 1 if p != 0 else p
    which = 0 if p == 2 else 1 if p == 1 else 2 if p == INFINITY else 3 if p == -INFINITY else 4 if p == 0 else -1
    if which < 0:
        return _power_norm(x, dim, keep, p) if p == p else None
    return reduced(_sizes[which][x.dtype.code == F64], _sizes[5 if which == 4 else which][x.dtype.code == F64], x, dim, keep, x.dtype)


cdef Layout _power_norm(Layout x, object dim, bint keep, double p):
    """sum(|x| ** p) ** (1 / p) of a few elements."""
    cdef Layout from_, out
    cdef Lines s
    cdef int64_t o, k, i
    cdef double sum
    if x.numel > RELEASE:
        return None
    from_ = arranged(x, dim, False, &s.outer, &s.n, &s.inner)
    if from_ is None:
        return None
    out = without(x.dtype, x, dim, keep)
    for o in range(s.outer):
        for i in range(s.inner):
            sum = 0
            if x.dtype.code == F32:
                for k in range(s.n):
                    sum += <float>pow(fabs((<float*>from_.data())[(o * s.n + k) * s.inner + i]), p)
                (<float*>out.data())[o * s.inner + i] = <float>pow(<float>sum, 1 / p)
            else:
                for k in range(s.n):
                    sum += pow(fabs((<double*>from_.data())[(o * s.n + k) * s.inner + i]), p)
                (<double*>out.data())[o * s.inner + i] = pow(sum, 1 / p)
    return out


cdef Layout _distance(Op op, Dist* a):
    cdef Layout x = <Layout>a.input.layout, y = <Layout>a.other.layout, gap
    if not same_shape(x, y):
        return None
    gap = fresh_like(x)
    with nogil:
        _subtract[x.dtype.code == F64](x.data(), y.data(), gap.data(), x.numel, 0)
    return _norm_of(gap, a.p.real, None, False)


cdef Layout _renorm(Op op, Renorm* a):
    cdef Layout x = <Layout>a.input.layout, size, out
    cdef Lines s
    cdef int64_t k
    cdef double limit = a.maxnorm.real
    cdef float single
    cdef double scale
    cdef int d = axis_in(a.dim.value, x.ndim), j
    if not a.p.real > 0 or d < 0 or limit < 0:
        return None
    size = _norm_of(x, a.p.real, tuple([j for j in range(x.ndim) if j != d]), False)
    if size is None:
        return None
    s, out = lines_along(x.ndim, x.shape, d), fresh_like(x)
    for k in range(s.n):
        if x.dtype.code == F32:
            single = (<float*>size.data())[k]
            (<float*>size.data())[k] = <float>limit / (single + <float>SHORT) if single > limit else 1
        else:
            scale = (<double*>size.data())[k]
            (<double*>size.data())[k] = limit / (scale + SHORT) if scale > limit else 1
    with nogil:
        _scale[x.dtype.code == F64](x.data(), size.data(), out.data(), s.outer, s.n, s.inner)
    return out


# --- sums of exponentials ------------------------------------------------------------------------------------------------
cdef Layout _log_sums(Op op, LogSumExp* a):
    cdef Layout x = <Layout>a.input.layout, from_, out
    cdef log_sums_fn f = <log_sums_fn>op.kernels[x.dtype.code]
    cdef object dim = <object>a.dim.given
    cdef Lines s
    if not _reduces(x, dim):
        return None
    from_ = arranged(x, dim, False, &s.outer, &s.n, &s.inner)
    if from_ is None:
        return None
    out = without(x.dtype, x, dim, a.keepdim.value)
    if s.inner > 1:
        with nogil:
            reduce_lines(<reduce_fn>op.number_kernels[x.dtype.code], from_.data(), out.data(), s.outer, s.n, s.inner)
    elif x.numel > RELEASE:
        with nogil:
            f(from_.data(), out.data(), s.outer, s.n)
    else:
        f(from_.data(), out.data(), s.outer, s.n)
    return out


cdef Layout _log_slope(Op op, LogSumExpSlope* a):
    cdef Layout g = <Layout>a.grad.layout, x = <Layout>a.input.layout, total = <Layout>a.total.layout, out
    cdef log_slope_fn f = <log_slope_fn>op.kernels[x.dtype.code]
    if g.numel != total.numel or x.numel % total.numel:
        return None
    out = fresh_like(x)
    if x.numel > RELEASE:
        with nogil:
            f(g.data(), x.data(), total.data(), out.data(), total.numel, x.numel // total.numel)
    else:
        f(g.data(), x.data(), total.data(), out.data(), total.numel, x.numel // total.numel)
    return out


cdef int _loops_of_sums(Op op) except -1:
    take_loops(op, b"scan", b"logsumexp")
    op.number_kernels[F32], op.number_kernels[F64] = find(b"reduce", b"logsumexp", F32), find(b"reduce", b"logsumexp", F64)
    return 0


offer("moments", <form_t>_moments, "input: kernel strided, dim: raw, correction: float").loops = (b"variance", b"variance")
offer("variance", <form_t>_variance, "input: kernel strided, dim: raw, correction: float").loops = (b"variance", b"variance")
offer("vector_norm", <form_t>_norm, "input: float strided, ord: float, dim: raw")
offer("dist", <form_t>_distance, "input: float nonempty, other: same, p: float")
offer("renorm", <form_t>_renorm, "input: float 2d+, p maxnorm: float")
offer("logsumexp", <form_t>_log_sums, "input: kernel strided, dim: raw").ready = _loops_of_sums
offer("logsumexp_slope", <form_t>_log_slope, "grad: kernel copied, input total: same nonempty").loops = (b"scan", b"logsumexp_slope")
