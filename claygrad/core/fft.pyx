"""Fast paths of the Fourier transforms; claygrad/ops/_fft.py says what they compute."""
from cpython.object cimport PyObject
from libc.math cimport sqrt
from libc.stdint cimport int64_t

from claygrad.core.declared cimport Op
from claygrad.core.device cimport CPU
from claygrad.core.dtypes cimport C64, C128, F32, F64, of_code
from claygrad.core.kernels cimport copy_strided, find, isa
from claygrad.core.layout cimport MAX_DIMS, Layout, fresh, fresh_like
from claygrad.core.tensor cimport Tensor

cdef extern from "fft.hpp" namespace "clay" nogil:
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
    MOST = 32                           # axes

cdef struct Doors:
    fourier_prepare_fn prepare
    fourier_run_fn run
    fourier_release_fn release

cdef Doors[2] _doors                    # single, double
cdef const char* _of = NULL             # the instruction set that they are of


cdef void _look() noexcept:
    global _of
    cdef int k
    for k in range(2):
        _doors[k].prepare = <fourier_prepare_fn>find("fft", "prepare", F64 if k else F32)
        _doors[k].run = <fourier_run_fn>find("fft", "run", F64 if k else F32)
        _doors[k].release = <fourier_release_fn>find("fft", "release", F64 if k else F32)
    _of = isa()


cdef Layout in_order(Layout x):
    if x.contiguous:
        return x
    cdef Layout out = fresh_like(x)
    cdef int64_t from_steps[MAX_DIMS]
    cdef int64_t to_steps[MAX_DIMS]
    cdef int64_t item = x.dtype.itemsize
    cdef int i
    for i in range(x.ndim):
        from_steps[i], to_steps[i] = x.strides[i] * item, out.strides[i] * item
    with nogil:
        copy_strided(x.data(), from_steps, out.data(), to_steps, x.shape, x.ndim, item)
    return out


cdef Layout _transform(Layout x, int kind, object dim, object scale, bint forward, int64_t last):
    """Along the axes `dim`, the last of which is the real one; None if there is no native way."""
    cdef Fourier job
    cdef int64_t shape[MOST]
    cdef double points = 1
    cdef int i, code = x.dtype.code, axis
    cdef bint single = code == F32 or code == C64, done
    cdef bint from_complex = kind == COMPLEX or kind == FROM_HALF
    cdef Layout out, work = None
    if x.storage.where.kind != CPU or x.ndim > MOST or x.numel == 0 or type(dim) is not tuple:
        return None
    if code != (C64 if single else C128) if from_complex else code != (F32 if single else F64):
        return None
    job.kind, job.backward, job.ndim, job.axes = kind, not forward, x.ndim, <int>len(<tuple>dim)
    if job.axes < 1 or job.axes > x.ndim or (kind == TO_WHOLE and job.axes > 1):
        return None
    for i in range(x.ndim):
        job.shape[i] = shape[i] = x.shape[i]
    for i in range(job.axes):
        axis = (<tuple>dim)[i]
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
    cdef Doors doors = _doors[not single]
    x = in_order(x)
    out = fresh(of_code(code), x.ndim, shape)
    if not doors.prepare(&job):
        return None
    cdef const void* at = x.data()
    cdef void* between = NULL if work is None else work.data()
    cdef void* to = out.data()
    with nogil:
        done = doors.run(&job, at, between, to)
    doors.release(&job)
    return out if done else None


cdef Layout _c2c(Op op, PyObject** slots, Layout target):
    return _transform((<Tensor>slots[0]).layout, COMPLEX, <object>slots[1], <object>slots[2], <object>slots[3], 0)


cdef Layout _r2c(Op op, PyObject** slots, Layout target):
    return _transform((<Tensor>slots[0]).layout, TO_HALF if <object>slots[3] else TO_WHOLE, <object>slots[1], <object>slots[2],
                      True, 0)


cdef Layout _c2r(Op op, PyObject** slots, Layout target):
    return _transform((<Tensor>slots[0]).layout, FROM_HALF, <object>slots[1], <object>slots[2], False, <object>slots[3])


cdef int prepare(Op op) except -1:
    if op.name == "fft_c2c":
        op.fast = _c2c
    elif op.name == "fft_r2c":
        op.fast = _r2c
    elif op.name == "fft_c2r":
        op.fast = _c2r
    return 0
