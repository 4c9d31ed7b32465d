"""Native forms of the Fourier transforms; claygrad/ops/_fft.py has the definitions."""
from libc.math cimport sqrt
from libc.stdint cimport int64_t
from libc.string cimport memset

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport C64, C128, F32, F64, of_code
from claygrad.core.data.kernels cimport find, isa
from claygrad.core.graph.inplace cimport write_layout
from claygrad.core.data.layout cimport Layout, fresh, fresh_like, as_contiguous, new_layout
from claygrad.core.dispatch.guard cimport Arg, form_t
from claygrad.core.dispatch.registry cimport offer

cdef extern from "fft/fft.hpp" namespace "clay" nogil:
    enum FourierKind:
        COMPLEX, TO_HALF, TO_WHOLE, FROM_HALF

    struct Fourier:
        int kind
        bint backward
        double scale
        int ndim, axes
        int64_t* shape
        int* axis
        int64_t last

    ctypedef bint (*fourier_prepare_fn)(Fourier*) noexcept nogil
    ctypedef bint (*fourier_run_fn)(const Fourier*, const void*, void*, void*) noexcept nogil
    ctypedef void (*fourier_release_fn)(Fourier*) noexcept nogil

cdef enum:
    MAX_AXES = 32                           # axes

cdef struct Complex:
    Arg input, dim, scale, forward
cdef struct FromReal:
    Arg input, dim, scale, onesided
cdef struct ToReal:
    Arg input, dim, scale, last

cdef struct Loops:
    fourier_prepare_fn prepare
    fourier_run_fn run
    fourier_release_fn release

cdef Loops[2] _loops                    # float32, float64
cdef const char* _of = NULL             # the instruction set of these kernels


cdef void _look() noexcept:
    global _of
    cdef int k
    for k in range(2):
        _loops[k].prepare = <fourier_prepare_fn>find("fft", "prepare", F64 if k else F32)
        _loops[k].run = <fourier_run_fn>find("fft", "run", F64 if k else F32)
        _loops[k].release = <fourier_release_fn>find("fft", "release", F64 if k else F32)
    _of = isa()


cdef Layout _transform(Layout x, int kind, int64_t count, const int64_t* dim, int64_t scale, bint forward, int64_t last):
    """Transform along `count` axes, of which the last may be real; None: does not apply."""
    cdef Fourier job
    cdef int64_t shape[MAX_AXES]
    cdef double points = 1
    cdef int i, code = x.dtype.code, axis
    cdef bint single = code == F32 or code == C64, done
    cdef Layout out, work = None
    job.kind, job.backward, job.ndim, job.axes = kind, not forward, x.ndim, <int>count
    if job.axes < 1 or job.axes > x.ndim or (kind == TO_WHOLE and job.axes > 1):
        return None
    for i in range(x.ndim):
        job.shape[i] = shape[i] = x.shape[i]
    for i in range(job.axes):
        axis = <int>dim[i]
        if axis < 0 or axis >= x.ndim:
            return None
        job.axis[i] = axis
        points *= x.shape[axis]
    job.last = last if kind == FROM_HALF else x.shape[axis]
    code = C64 if single else C128
    if kind == FROM_HALF:
        if last < 1 or last // 2 + 1 != x.shape[axis]:
            return None
        points = points / x.shape[axis] * last
        shape[axis] = last
        code = F32 if single else F64
        if job.axes > 1:
            work = fresh_like(x)
    elif kind == TO_HALF:
        shape[axis] = shape[axis] // 2 + 1
    job.scale = 1 if scale == 0 else 1 / sqrt(points) if scale == 1 else 1 / points
    if _of != isa():
        _look()
    cdef Loops loops = _loops[not single]
    x = as_contiguous(x)
    out = fresh(of_code(code), x.ndim, shape)
    if not loops.prepare(&job):
        return None
    cdef const void* at = x.data()
    cdef void* between = NULL if work is None else work.data()
    cdef void* to = out.data()
    with nogil:
        done = loops.run(&job, at, between, to)
    loops.release(&job)
    return out if done else None


cdef Layout _c2c(Op op, Complex* a):
    return _transform(<Layout>a.input.layout, COMPLEX, a.dim.value, a.dim.ints, a.scale.value, a.forward.value, 0)


cdef Layout _r2c(Op op, FromReal* a):
    return _transform(<Layout>a.input.layout, TO_HALF if a.onesided.value else TO_WHOLE, a.dim.value, a.dim.ints, a.scale.value, True, 0)


cdef Layout _c2r(Op op, ToReal* a):
    return _transform(<Layout>a.input.layout, FROM_HALF, a.dim.value, a.dim.ints, a.scale.value, False, a.last.value)


# --- along several axes at once, of a tensor without a history ----------------------------------------------------------------
cdef Layout _sized(Layout x, const int64_t* shape, bint as_complex):
    """x cut or zero-padded to this shape, and cast to complex if wanted."""
    cdef int64_t sizes[MAX_AXES]
    cdef int64_t steps[MAX_AXES]
    cdef int i
    cdef bint single = x.dtype.code == F32 or x.dtype.code == C64, fits = True, wider
    cdef Layout out
    wider = as_complex and (x.dtype.code == F32 or x.dtype.code == F64)
    for i in range(x.ndim):
        fits = fits and x.shape[i] == shape[i]
        sizes[i] = min(x.shape[i], shape[i])
    if fits and not wider:
        return x
    out = fresh(of_code(C64 if single else C128) if wider else x.dtype, x.ndim, shape)
    memset(out.data(), 0, out.numel * out.dtype.itemsize)
    for i in range(x.ndim):
        steps[i] = out.strides[i] * (2 if wider else 1)
    write_layout(new_layout(out.storage, x.dtype, x.ndim, sizes, steps, 0),
                 new_layout(x.storage, x.dtype, x.ndim, sizes, x.strides, x.offset))
    return out


cdef Layout several(Layout x, object s, object dim, object norm, bint half, bint forward):
    """fftn, ifftn, and rfftn (`half`); None: does not apply."""
    cdef int64_t shape[MAX_AXES]
    cdef int64_t d, n
    cdef int i, count, scale
    cdef bint seen[MAX_AXES]
    cdef int64_t axes[MAX_AXES]
    if x.ndim == 0 or x.ndim > MAX_AXES or x.numel == 0:
        return None
    if half and x.dtype.code != F32 and x.dtype.code != F64 or not (F32 <= x.dtype.code <= C128):
        return None
    scale = 0 if norm is None or norm == "backward" else 1 if norm == "ortho" else 2 if norm == "forward" else -1
    if scale < 0 or s is not None and type(s) is not tuple and type(s) is not list:
        return None
    scale = scale if forward else 2 - scale
    for i in range(x.ndim):
        shape[i], seen[i] = x.shape[i], False
    if dim is None:
        count = x.ndim if s is None else <int>len(s)
        dim = range(x.ndim - count, x.ndim)
    elif type(dim) is not tuple and type(dim) is not list:
        return None
    count = <int>len(dim)
    if count == 0 or count > x.ndim or s is not None and len(s) != count:
        return None
    for i in range(count):
        d = dim[i]
        if not -x.ndim <= d < x.ndim:
            return None
        d = d + x.ndim if d < 0 else d
        if seen[d]:
            return None
        seen[d] = True
        axes[i] = d
        if s is not None:
            n = s[i]
            if n != -1:
                shape[d] = n
        if shape[d] < 1:
            return None
    return _transform(_sized(x, shape, not half), TO_HALF if half else COMPLEX, count, axes, scale, forward, 0)


offer("fft_c2c", <form_t>_c2c, "input: complex strided nonempty 1-32d, dim: sizes")
offer("fft_r2c", <form_t>_r2c, "input: float strided nonempty 1-32d, dim: sizes")
offer("fft_c2r", <form_t>_c2r, "input: complex strided nonempty 1-32d, dim: sizes")
