"""The native loops of pooling; claygrad/ops/_pool.py says what they compute. A pool over fewer than three axes is one over
three, the first of them of size 1."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

cimport numpy as cnp

from claygrad.core.declared cimport Op
from claygrad.core.dtypes cimport F32, F64, I64, of_code
from claygrad.core.kernels cimport find
from claygrad.core.layout cimport Layout, fresh, same_shape
from claygrad.core.taken cimport floats_at, int_at, ints_at, numbers_at, spread_at
from claygrad.core.ways cimport offer, offer_many

cdef extern from "windows.hpp" namespace "clay" nogil:
    struct Pooling:
        int64_t planes, t, h, w, ot, oh, ow, kt, kh, kw
        int64_t stride_t, stride_h, stride_w, pad_t, pad_h, pad_w, dilation_t, dilation_h, dilation_w
        bint counted
        int64_t divisor

    ctypedef bint (*pooling_fn)(const Pooling* shape, const void* a, void* made, int64_t* places) noexcept nogil

cnp.import_array()

# The numbers of each axis in a row, as they are given.
cdef struct Axes:
    int64_t size[3]
    int64_t out[3]
    int64_t kernel[3]
    int64_t stride[3]
    int64_t padding[3]
    int64_t dilation[3]


cdef void _put(Axes* a, int dims, Pooling* s) noexcept:
    """The numbers of up to three axes in the places of the last ones."""
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
    s.counted, s.divisor = True, 0


cdef bint _plain(object array, int type_num) noexcept:
    return (isinstance(array, cnp.ndarray) and (<cnp.ndarray>array).descr.type_num == type_num
            and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>array) and cnp.PyArray_ISBEHAVED_RO(<cnp.ndarray>array))


def run(str name, a, made, places, tuple size, tuple out, kernel, stride, padding, dilation, bint counted=True,
        int64_t divisor=0):
    """Fill `made` (and `places`) by a kernel: max, max_back, mean or mean_back, from planes of this size to `out` or back.
    False if there is none for such arrays."""
    cdef Pooling s
    cdef Axes axes
    cdef int kind = (<cnp.ndarray?>a).descr.type_num, i, dims = len(size)
    cdef bint filled
    cdef int64_t plane
    if dims not in (1, 2, 3) or (kind != cnp.NPY_FLOAT32 and kind != cnp.NPY_FLOAT64):
        return False
    if not _plain(a, kind) or not _plain(made, kind) or (places is not None and not _plain(places, cnp.NPY_INT64)):
        return False
    for i in range(dims):
        axes.size[i], axes.out[i], axes.kernel[i] = size[i], out[i], kernel[i]
        axes.stride[i], axes.padding[i], axes.dilation[i] = stride[i], padding[i], dilation[i]
    _put(&axes, dims, &s)
    s.counted, s.divisor = counted, divisor
    plane = s.t * s.h * s.w if name == "max" or name == "mean" else s.ot * s.oh * s.ow
    s.planes = cnp.PyArray_SIZE(<cnp.ndarray>a) // plane if plane else 0
    cdef bytes said = name.encode()
    cdef pooling_fn f = <pooling_fn>find("windows", said, F32 if kind == cnp.NPY_FLOAT32 else F64)
    if f == NULL:
        return False
    cdef void* x = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void* y = cnp.PyArray_DATA(<cnp.ndarray>made)
    cdef int64_t* at = <int64_t*>cnp.PyArray_DATA(<cnp.ndarray>places) if places is not None else NULL
    with nogil:
        filled = f(&s, x, y, at)
    return filled


# --- fast paths: tensors of float32 and float64 in row-major order, arguments that nobody refuses -----------------------
cdef bint _count(Axes* a, int dims, bint ceil) noexcept:
    """How many windows there are along each axis; False if one of the numbers is refused."""
    cdef int i
    cdef int64_t room, reach
    for i in range(dims):
        reach = a.dilation[i] * (a.kernel[i] - 1) + 1
        if a.kernel[i] < 1 or a.stride[i] < 1 or a.dilation[i] < 1 or a.padding[i] < 0 or a.padding[i] > reach // 2:
            return False
        room = a.size[i] + 2 * a.padding[i] - reach
        if a.size[i] < 1 or room + (a.stride[i] - 1 if ceil else 0) < 0 or room < 0 and dims == 3:
            return False
        a.out[i] = (room + (a.stride[i] - 1 if ceil else 0)) // a.stride[i] + 1
        if ceil and (a.out[i] - 1) * a.stride[i] >= a.size[i] + a.padding[i]:
            a.out[i] -= 1
        if a.out[i] < 1:
            return False
    return True


cdef int64_t _lead(Layout x, int dims, int64_t* shape) noexcept:
    """How many planes there are, and the shape before their axes; -1 if that is refused."""
    cdef int i
    cdef int64_t planes = 1
    if x.ndim != dims + 1 and x.ndim != dims + 2 or x.shape[x.ndim - dims - 1] == 0:
        return -1
    for i in range(x.ndim - dims):
        shape[i] = x.shape[i]
        planes *= x.shape[i]
    return planes


cdef Layout _windows(PyObject** slots, bint dilated, Pooling* s, int64_t* shape):
    """The layout of (input, kernel, stride, padding, [dilation], ceil, ...), the measures of its windows and the shape of
    the result; or None."""
    cdef Layout x = floats_at(slots[0])
    cdef Axes axes
    cdef object kernel = <object>slots[1]
    cdef int dims, i, first
    if x is None or type(kernel) is not tuple or not 1 <= len(<tuple>kernel) <= 3:
        return None
    dims = len(<tuple>kernel)
    if not (ints_at(kernel, dims, axes.kernel) and ints_at(<object>slots[2], dims, axes.stride)
            and ints_at(<object>slots[3], dims, axes.padding) and ints_at(<object>slots[4] if dilated else 1, dims, axes.dilation)):
        return None
    s.planes = _lead(x, dims, shape)
    first = x.ndim - dims
    if s.planes < 0:
        return None
    for i in range(dims):
        axes.size[i] = x.shape[first + i]
    if not _count(&axes, dims, <object>slots[5 if dilated else 4] is True):
        return None
    for i in range(dims):
        shape[first + i] = axes.out[i]
    cdef int64_t planes = s.planes
    _put(&axes, dims, s)
    s.planes = planes
    return x


cdef inline bint _fill(const char* name, int code, Pooling* s, const void* a, void* made, int64_t* places) noexcept nogil:
    return (<pooling_fn>find("windows", name, code))(s, a, made, places)


cdef Layout _max(Op op, PyObject** slots, Layout target):
    """_max_pool(input, kernel, stride, padding, dilation, ceil)"""
    cdef Pooling s
    cdef int64_t shape[5]
    cdef Layout x = _windows(slots, True, &s, shape), out
    if x is None or target is not None:
        return None
    out = fresh(x.dtype, x.ndim, shape)
    with nogil:
        done = _fill("max", x.dtype.code, &s, x.data(), out.data(), NULL)
    return out if done else None


cdef list _max_at(Op op, PyObject** slots):
    """_max_pool_with_indices(input, kernel, stride, padding, dilation, ceil)"""
    cdef Pooling s
    cdef int64_t shape[5]
    cdef Layout x = _windows(slots, True, &s, shape), out, places
    if x is None:
        return None
    out, places = fresh(x.dtype, x.ndim, shape), fresh(of_code(I64), x.ndim, shape)
    with nogil:
        done = _fill("max", x.dtype.code, &s, x.data(), out.data(), <int64_t*>places.data())
    return [out, places] if done else None


cdef int _shape_at(PyObject* slot, int64_t* shape):
    """A shape given as a tuple; its number of axes, or -1."""
    cdef int i, n
    if type(<object>slot) is not tuple or len(<tuple><object>slot) > 5:
        return -1
    n = len(<tuple><object>slot)
    for i in range(n):
        if not int_at((<tuple><object>slot)[i], shape + i):
            return -1
    return n


cdef bint _back(Layout g, int dims, int ndim, const int64_t* shape, Axes* axes, Pooling* s) noexcept:
    """Fill in the sizes for a gradient of pooled planes of this shape; False if it does not fit."""
    cdef int i
    cdef int64_t planes = 1
    if dims < 1 or dims > 3 or g.ndim != ndim or ndim < dims:
        return False
    for i in range(ndim - dims):
        if g.shape[i] != shape[i]:
            return False
        planes *= shape[i]
    for i in range(dims):
        axes.size[i], axes.out[i] = shape[ndim - dims + i], g.shape[ndim - dims + i]
        if axes.size[i] < 1 or axes.out[i] < 1:
            return False
    _put(axes, dims, s)
    s.planes = planes
    return True


cdef Layout _max_back(Op op, PyObject** slots, Layout target):
    """_max_pool_backward(grad_output, indices, shape, dims)"""
    cdef Pooling s
    cdef Axes axes
    cdef int64_t shape[5]
    cdef int64_t dims = 0
    cdef Layout g = spread_at(slots[0]), places = numbers_at(slots[1]), out
    cdef int ndim = _shape_at(slots[2], shape), i
    if target is not None or g is None or places is None or not same_shape(g, places) or not int_at(<object>slots[3], &dims):
        return None
    for i in range(3):
        axes.kernel[i] = axes.stride[i] = axes.dilation[i] = 1
        axes.padding[i] = 0
    if not _back(g, <int>dims, ndim, shape, &axes, &s):
        return None
    out = fresh(g.dtype, ndim, shape)
    with nogil:
        done = _fill("max_back", g.dtype.code, &s, g.data(), out.data(), <int64_t*>places.data())
    return out if done else None


cdef bint _divided(Pooling* s, object counted, object divisor):
    s.counted = counted is True
    if divisor is None:
        s.divisor = 0
        return True
    return int_at(divisor, &s.divisor) and s.divisor != 0


cdef Layout _mean(Op op, PyObject** slots, Layout target):
    """_avg_pool(input, kernel, stride, padding, ceil, include, divisor)"""
    cdef Pooling s
    cdef int64_t shape[5]
    cdef Layout x = _windows(slots, False, &s, shape), out
    if x is None or target is not None or not _divided(&s, <object>slots[5], <object>slots[6]):
        return None
    out = fresh(x.dtype, x.ndim, shape)
    with nogil:
        done = _fill("mean", x.dtype.code, &s, x.data(), out.data(), NULL)
    return out if done else None


cdef Layout _mean_back(Op op, PyObject** slots, Layout target):
    """_avg_pool_backward(grad_output, shape, kernel, stride, padding, ceil, include, divisor)"""
    cdef Pooling s
    cdef Axes axes
    cdef int64_t shape[5]
    cdef Layout g = spread_at(slots[0]), out
    cdef int ndim = _shape_at(slots[1], shape), dims
    if target is not None or g is None or type(<object>slots[2]) is not tuple or not 1 <= len(<tuple><object>slots[2]) <= 3:
        return None
    dims = len(<tuple><object>slots[2])
    if not (ints_at(<object>slots[2], dims, axes.kernel) and ints_at(<object>slots[3], dims, axes.stride)
            and ints_at(<object>slots[4], dims, axes.padding) and ints_at(1, dims, axes.dilation)):
        return None
    if not _back(g, dims, ndim, shape, &axes, &s) or not _divided(&s, <object>slots[6], <object>slots[7]):
        return None
    out = fresh(g.dtype, ndim, shape)
    with nogil:
        done = _fill("mean_back", g.dtype.code, &s, g.data(), out.data(), NULL)
    return out if done else None


# --- windows that share an axis out ---------------------------------------------------------------------------------------
cdef Layout _shared(PyObject** slots, Pooling* s, int64_t* shape):
    """The layout of (input, size), its measures and the shape of the result; or None."""
    cdef Layout x = floats_at(slots[0])
    cdef Axes axes
    cdef int dims, i, first
    cdef int64_t planes
    if x is None or type(<object>slots[1]) is not tuple or not 1 <= len(<tuple><object>slots[1]) <= 3:
        return None
    dims = len(<tuple><object>slots[1])
    if not ints_at(<object>slots[1], dims, axes.out):
        return None
    planes = _lead(x, dims, shape)
    first = x.ndim - dims
    if planes < 0:
        return None
    for i in range(dims):
        shape[first + i], axes.size[i] = axes.out[i], x.shape[first + i]
        axes.kernel[i] = axes.stride[i] = axes.dilation[i] = 1
        axes.padding[i] = 0
        if axes.out[i] < 1 or axes.size[i] < 1:
            return None
    _put(&axes, dims, s)
    s.planes = planes
    return x


cdef Layout _shared_mean(Op op, PyObject** slots, Layout target):
    """_adaptive_avg_pool(input, size)"""
    cdef Pooling s
    cdef int64_t shape[5]
    cdef Layout x = _shared(slots, &s, shape), out
    if x is None or target is not None:
        return None
    out = fresh(x.dtype, x.ndim, shape)
    with nogil:
        done = _fill("shared_mean", x.dtype.code, &s, x.data(), out.data(), NULL)
    return out if done else None


cdef list _shared_max(Op op, PyObject** slots):
    """_adaptive_max_pool(input, size)"""
    cdef Pooling s
    cdef int64_t shape[5]
    cdef Layout x = _shared(slots, &s, shape), out, places
    if x is None:
        return None
    out, places = fresh(x.dtype, x.ndim, shape), fresh(of_code(I64), x.ndim, shape)
    with nogil:
        done = _fill("shared_max", x.dtype.code, &s, x.data(), out.data(), <int64_t*>places.data())
    return [out, places] if done else None


cdef Layout _shared_mean_back(Op op, PyObject** slots, Layout target):
    """_adaptive_avg_pool_backward(grad_output, shape, dims)"""
    cdef Pooling s
    cdef Axes axes
    cdef int64_t shape[5]
    cdef int64_t dims = 0
    cdef Layout g = spread_at(slots[0]), out
    cdef int ndim = _shape_at(slots[1], shape), i
    if target is not None or g is None or not int_at(<object>slots[2], &dims):
        return None
    for i in range(3):
        axes.kernel[i] = axes.stride[i] = axes.dilation[i] = 1
        axes.padding[i] = 0
    if not _back(g, <int>dims, ndim, shape, &axes, &s):
        return None
    out = fresh(g.dtype, ndim, shape)
    with nogil:
        done = _fill("shared_mean_back", g.dtype.code, &s, g.data(), out.data(), NULL)
    return out if done else None


# --- values put at places ---------------------------------------------------------------------------------------------------
cdef Layout _put_at(Op op, PyObject** slots, Layout target):
    """_max_unpool(input, indices, size)"""
    cdef Layout x = floats_at(slots[0]), places = numbers_at(slots[1]), out
    cdef int64_t shape[5]
    cdef int64_t size[3]
    cdef int64_t inside = 1, many = 1, planes, i, k
    cdef int64_t* at
    cdef int dims, d
    if target is not None or x is None or places is None or not same_shape(x, places) or type(<object>slots[2]) is not tuple:
        return None
    dims = len(<tuple><object>slots[2])
    if not 1 <= dims <= 3 or not ints_at(<object>slots[2], dims, size) or x.numel == 0:
        return None
    planes = _lead(x, dims, shape)
    if planes < 1:
        return None
    for d in range(dims):
        shape[x.ndim - dims + d] = size[d]
        inside *= size[d]
        many *= x.shape[x.ndim - dims + d]
        if size[d] < 1:
            return None
    at = <int64_t*>places.data()
    for i in range(x.numel):
        if at[i] < 0 or at[i] >= inside:
            return None                            # the general path says which
    out = fresh(x.dtype, x.ndim, shape)
    cdef char* into = out.data()
    cdef char* source = x.data()
    with nogil:
        for i in range(out.numel):
            if x.dtype.code == F32:
                (<float*>into)[i] = 0
            else:
                (<double*>into)[i] = 0
        for i in range(planes):
            for k in range(i * many, (i + 1) * many):
                if x.dtype.code == F32:
                    (<float*>into)[i * inside + at[k]] = (<float*>source)[k]
                else:
                    (<double*>into)[i * inside + at[k]] = (<double*>source)[k]
    return out


offer("max_pool", _max)
offer_many("max_pool_with_indices", _max_at)
offer("max_pool_backward", _max_back)
offer("avg_pool", _mean)
offer("avg_pool_backward", _mean_back)
offer("adaptive_avg_pool", _shared_mean)
offer_many("adaptive_max_pool", _shared_max)
offer("adaptive_avg_pool_backward", _shared_mean_back)
offer("max_unpool", _put_at)
