"""Native forms of repeat, pad, pixel_shuffle and channel_shuffle. None: the declaration runs."""
from cpython.object cimport PyObject
from libc.stdint cimport INT64_MAX, int64_t

from claygrad.core.op cimport Op, fast_t
from claygrad.core.data.dtype cimport F32, F64
from claygrad.core.data.scalar cimport element_of
from claygrad.core.data.kernels cimport copy_strided
from claygrad.core.data.layout cimport Layout, channels_last, strictly_row_major, fresh, fresh_strided, as_contiguous, new_layout
from claygrad.native.rearrange cimport copied, in_format_of, may_be_channels_last, has_default_strides, some
from claygrad.native.view cimport sizes_of
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.registry cimport offer_slots

cdef extern from "copy/pad.hpp" namespace "clay" nogil:
    enum PadMode:
        PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR
    struct Padding:
        int64_t outer
        int64_t size[3]
        int64_t before[3]
        int64_t after[3]
        int mode
    void pad_lines(const void* x, void* out, const Padding* shape, int64_t item_size, const void* value) noexcept
    void pad_back(int dtype, const void* grad, void* out, const Padding* shape) noexcept

cdef enum:
    RELEASE = 262144                    # bytes above which the interpreter lock is released


cdef Layout _repeat(Op op, PyObject** slots, Layout target):
    """repeat(input, repeats)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout, out
    cdef int64_t times[64]
    cdef int64_t shape[64]
    cdef int64_t wide[64]
    cdef int64_t from_[64]
    cdef int64_t to[64]
    cdef int64_t item = x.dtype.itemsize
    cdef object repeats = <object>slots[1]
    cdef int i, k, n = sizes_of((repeats,) if type(repeats) is int else repeats, times)
    if target is not None or n < x.ndim or n > 31 or x.numel == 0:
        return None
    for i in range(n):
        if times[i] < 0:
            return None
        k = i - (n - x.ndim)
        shape[i] = 1 if k < 0 else x.shape[k]
        if shape[i] > INT64_MAX >> 30:               # overflow; x.shape and times are positive
            return None
        shape[i] *= times[i]
    out = fresh(x.dtype, n, shape)
    if out.numel == 0:
        return out
    for i in range(n):
        k = i - (n - x.ndim)
        wide[2 * i], wide[2 * i + 1] = times[i], x.shape[k] if k >= 0 else 1
        from_[2 * i], from_[2 * i + 1] = 0, x.strides[k] * item if k >= 0 else 0
        to[2 * i], to[2 * i + 1] = wide[2 * i + 1] * out.strides[i] * item, out.strides[i] * item
    if out.numel * item > RELEASE:
        with nogil:
            copy_strided(x.data(), from_, out.data(), to, wide, 2 * n, item)
    else:
        copy_strided(x.data(), from_, out.data(), to, wide, 2 * n, item)
    return out


cdef bint _padding(Padding* p, int ndim, const int64_t* shape, object pads, PadMode mode, bint may_cut):
    """Read the pads of up to three last axes; False if a pad is invalid for its axis."""
    cdef int64_t given[64]
    cdef int64_t before, after, smallest, largest
    cdef int i, k, count = sizes_of(pads, given)
    if count < 2 or count % 2 or count > 6 or count // 2 > ndim:
        return False
    p.mode, p.outer = mode, 1
    for i in range(3):
        p.size[i], p.before[i], p.after[i] = 1, 0, 0
    for i in range(ndim):
        k = ndim - 1 - i
        if k >= count // 2:
            p.outer *= shape[i]
            continue
        before, after = given[2 * k], given[2 * k + 1]
        largest = shape[i] - 1 if mode == PAD_REFLECT else shape[i] if mode == PAD_CIRCULAR else INT64_MAX
        smallest = -shape[i] if may_cut else 0
        if not (smallest <= before <= largest and smallest <= after <= largest) or shape[i] + before + after <= 0:
            return False
        p.size[2 - k], p.before[2 - k], p.after[2 - k] = shape[i], before, after
    return True


cdef void _padded_shape(const Padding* p, int ndim, const int64_t* shape, int64_t* out) noexcept:
    cdef int i, k
    for i in range(ndim):
        k = i - ndim + 3
        out[i] = shape[i] if k < 0 else shape[i] + p.before[k] + p.after[k]


cdef Layout _padded_channels_last(Layout x, object pads, const void* value):
    """Constant padding of channels-last images along height and width; None if other axes are padded."""
    cdef Padding p
    cdef int64_t indices[3]
    cdef int64_t shape[4]
    cdef int64_t strides[4]
    cdef int i
    cdef Layout out
    if len(pads) > 4:
        return None
    indices[0], indices[1], indices[2] = x.shape[0], x.shape[2], x.shape[3]
    if not _padding(&p, 3, indices, pads, PAD_CONSTANT, True):
        return None
    for i in range(2):                                   # a line is all channels of a pixel
        p.size[i], p.before[i], p.after[i] = p.size[i + 1], p.before[i + 1], p.after[i + 1]
    p.size[2], p.before[2], p.after[2] = x.shape[1], 0, 0
    shape[0], shape[1], shape[3] = x.shape[0], x.shape[1], x.shape[3] + p.before[1] + p.after[1]
    shape[2] = x.shape[2] + (p.before[0] + p.after[0] if len(pads) == 4 else 0)
    strides[1], strides[3], strides[2], strides[0] = 1, shape[1], shape[1] * shape[3], shape[1] * shape[3] * shape[2]
    out = fresh_strided(x.dtype, 4, shape, strides)
    with nogil:
        pad_lines(x.data(), out.data(), &p, x.dtype.itemsize, value)
    return out


cdef bint _only_cut(object pads) except -1:
    """Pad; the result keeps the order of the axes in memory."""
    for n in pads:
        if type(n) is not int or n > 0:
            return False
    return True


cdef Layout _padded(Layout x, object pads, PadMode mode, const void* value):
    cdef Padding p
    cdef int64_t shape[64]
    cdef Layout out
    if not x.contiguous and type(pads) in (tuple, list):
        if strictly_row_major(x):
            x = as_contiguous(x)
        elif mode == PAD_CONSTANT and not _only_cut(pads):
            if channels_last(x):
                return _padded_channels_last(x, pads, value)
            if not may_be_channels_last(x):
                x = as_contiguous(x)
    if not has_default_strides(x) or not _padding(&p, x.ndim, x.shape, pads, mode, mode != PAD_CIRCULAR):
        return None
    _padded_shape(&p, x.ndim, x.shape, shape)
    out = fresh(x.dtype, x.ndim, shape)
    cdef const void* source = x.data()
    cdef void* to = out.data()
    cdef int64_t item = x.dtype.itemsize
    if out.numel * item > RELEASE:
        with nogil:
            pad_lines(source, to, &p, item, value)
    else:
        pad_lines(source, to, &p, item, value)
    return out


cdef Layout _constant_pad(Op op, PyObject** slots, Layout target):
    """constant_pad_nd(input, pad, value)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout
    cdef double element[2]
    if target is not None or not element_of(<object>slots[2], x.dtype, element):
        return None
    return _padded(x, <object>slots[1], PAD_CONSTANT, element)


cdef int _mode_of(object name) except -1:
    return PAD_REFLECT if name == "reflect" else PAD_REPLICATE if name == "replicate" else PAD_CIRCULAR


cdef Layout _nothing(PyObject** slots, const int64_t* pads, int count):
    """Padding of an empty tensor."""
    cdef Layout x = (<Tensor><object>slots[0]).layout
    cdef int64_t shape[64]
    cdef int i, k
    if count < 2 or count % 2 or count // 2 > x.ndim:
        return None
    for i in range(x.ndim):
        k = 2 * (x.ndim - 1 - i)
        shape[i] = x.shape[i]
        if k < count:
            if not (0 <= pads[k] <= x.shape[i] <= INT64_MAX // 4 and 0 <= pads[k + 1] <= x.shape[i]):
                return None
            shape[i] += pads[k] + pads[k + 1]
    return fresh(x.dtype, x.ndim, shape)


cdef Layout _reflected(Op op, PyObject** slots, Layout target):
    """_pad_enum(input, pad, mode)"""
    cdef Layout x = some(slots[0])
    cdef int64_t pads[64]
    if x is None and target is None and <object>slots[2] == "circular":
        return _nothing(slots, pads, sizes_of(<object>slots[1], pads))
    if target is not None or x is None or x.dtype.category < 2:
        return None
    return _padded(x, <object>slots[1], <PadMode>_mode_of(<object>slots[2]), NULL)


cdef Layout _reflected_backward(Op op, PyObject** slots, Layout target):
    """_pad_enum_backward(grad_output, pad, mode, shape)"""
    cdef Layout g = some(slots[0]), out
    cdef Padding p
    cdef int64_t shape[64]
    cdef int64_t padded[64]
    cdef int i
    if target is not None or g is None or not has_default_strides(g) or g.dtype.code != F32 and g.dtype.code != F64:
        return None
    if sizes_of(<object>slots[3], shape) != g.ndim:
        return None
    if not _padding(&p, g.ndim, shape, <object>slots[1], <PadMode>_mode_of(<object>slots[2]), False):
        return None
    _padded_shape(&p, g.ndim, shape, padded)
    for i in range(g.ndim):
        if g.shape[i] != padded[i]:
            return None
    out = fresh(g.dtype, g.ndim, shape)
    cdef const void* source = g.data()
    cdef void* to = out.data()
    cdef int code = g.dtype.code
    if g.numel * g.dtype.itemsize > RELEASE:
        with nogil:
            pad_back(code, source, to, &p)
    else:
        pad_back(code, source, to, &p)
    return out


# --- channels and space ------------------------------------------------------------------------------------------
cdef Layout _pixels(Op op, PyObject** slots, Layout target):
    """pixel_shuffle(input, upscale_factor), pixel_unshuffle(input, downscale_factor)"""
    cdef Layout x = some(slots[0]), out
    cdef int64_t shape[66]
    cdef int64_t strides[66]
    cdef int64_t r, c, h, w
    cdef int i, n
    cdef bint up = op.info["kernel"] == "pixel_shuffle"
    if target is not None or x is None or x.ndim < 3 or x.ndim > 32 or type(<object>slots[1]) is not int:
        return None
    if not 0 < <object>slots[1] < 0x8000:
        return None
    r, n = <object>slots[1], x.ndim - 3
    c, h, w = x.shape[n], x.shape[n + 1], x.shape[n + 2]
    for i in range(n):
        shape[i], strides[i] = x.shape[i], x.strides[i]
    if up:
        if c % (r * r):
            return None
        shape[n], shape[n + 1], shape[n + 2], shape[n + 3], shape[n + 4] = c // (r * r), h, r, w, r
        strides[n], strides[n + 1], strides[n + 2] = x.strides[n] * r * r, x.strides[n + 1], x.strides[n] * r
        strides[n + 3], strides[n + 4] = x.strides[n + 2], x.strides[n]
    else:
        if h % r or w % r:
            return None
        shape[n], shape[n + 1], shape[n + 2], shape[n + 3], shape[n + 4] = c, r, r, h // r, w // r
        strides[n], strides[n + 1], strides[n + 2] = x.strides[n], x.strides[n + 1], x.strides[n + 2]
        strides[n + 3], strides[n + 4] = x.strides[n + 1] * r, x.strides[n + 2] * r
    out = copied(new_layout(x.storage, x.dtype, n + 5, shape, strides, x.offset))
    shape[n], shape[n + 1], shape[n + 2] = (c // (r * r), h * r, w * r) if up else (c * r * r, h // r, w // r)
    return in_format_of(_reshaped(out, x.ndim, shape), x)


cdef Layout _channels(Op op, PyObject** slots, Layout target):
    """channel_shuffle(input, groups)"""
    cdef Layout x = some(slots[0])
    cdef int64_t shape[66]
    cdef int64_t strides[66]
    cdef int64_t groups
    cdef int i
    if target is not None or x is None or x.ndim < 3 or x.ndim > 32 or type(<object>slots[1]) is not int:
        return None
    if not 0 < <object>slots[1] <= x.shape[1]:
        return None
    groups = <object>slots[1]
    if x.shape[1] % groups:
        return None
    shape[0], shape[1], shape[2] = x.shape[0], x.shape[1] // groups, groups
    strides[0], strides[1], strides[2] = x.strides[0], x.strides[1], x.strides[1] * (x.shape[1] // groups)
    for i in range(2, x.ndim):
        shape[i + 1], strides[i + 1] = x.shape[i], x.strides[i]
    return in_format_of(_reshaped(copied(new_layout(x.storage, x.dtype, x.ndim + 1, shape, strides, x.offset)), x.ndim, x.shape), x)


cdef Layout _reshaped(Layout v, int ndim, const int64_t* shape):
    """A view of contiguous memory in another shape."""
    cdef int64_t strides[64]
    cdef int64_t step = 1
    cdef int i
    for i in range(ndim - 1, -1, -1):
        strides[i] = step
        step *= shape[i]
    return new_layout(v.storage, v.dtype, ndim, shape, strides, 0)


offer_slots("repeat", <fast_t>_repeat)
offer_slots("constant_pad", <fast_t>_constant_pad)
offer_slots("bent_pad", <fast_t>_reflected)
offer_slots("bent_back", <fast_t>_reflected_backward)
offer_slots("pixel_shuffle", <fast_t>_pixels)
offer_slots("pixel_unshuffle", <fast_t>_pixels)
offer_slots("channel_shuffle", <fast_t>_channels)
