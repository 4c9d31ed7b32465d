"""Native forms of repeat, pad, pixel_shuffle and channel_shuffle. None: the declaration runs."""
from libc.stdint cimport INT64_MAX, int64_t

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport CAT_FLOAT
from claygrad.core.data.scalar cimport element_of
from claygrad.core.data.kernels cimport copy_strided
from claygrad.core.data.layout cimport Layout, channels_last, strictly_row_major, fresh, fresh_channels_last, as_contiguous, new_layout
from claygrad.native.rearrange cimport copied, in_format_of, may_be_channels_last, has_default_strides
from claygrad.core.dispatch.guard cimport MAX_INTS, Arg, form_t
from claygrad.core.dispatch.registry cimport offer

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

cdef PadMode* _MODES = [PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR]        # in the order of the words below

cdef struct Repeat:
    Arg input, repeats
cdef struct ConstantPad:
    Arg input, pad, value
cdef struct Pad:
    Arg input, pad, mode
cdef struct PadBackward:
    Arg grad_output, pad, mode, shape
cdef struct PixelShuffle:
    Arg input, upscale_factor
cdef struct PixelUnshuffle:
    Arg input, downscale_factor
cdef struct ChannelShuffle:
    Arg input, groups


cdef Layout _repeat(Op op, Repeat* a):
    cdef Layout x = <Layout>a.input.layout, out
    cdef const int64_t* times = a.repeats.ints
    cdef int64_t shape[MAX_INTS]
    cdef int64_t wide[2 * MAX_INTS]
    cdef int64_t from_[2 * MAX_INTS]
    cdef int64_t to[2 * MAX_INTS]
    cdef int64_t item = x.dtype.itemsize
    cdef int i, k, n = a.repeats.value
    if n < x.ndim:
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


cdef bint _padding(Padding* p, int ndim, const int64_t* shape, Arg* pads, PadMode mode, bint may_cut):
    """Read the pads of up to three last axes; False if a pad is invalid for its axis."""
    cdef const int64_t* given = pads.ints
    cdef int64_t before, after, smallest, largest
    cdef int i, k, count = pads.value
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


cdef Layout _padded_channels_last(Layout x, Arg* pads, const void* value):
    """Constant padding of channels-last images along height and width; None if other axes are padded."""
    cdef Padding p
    cdef int64_t indices[3]
    cdef int64_t shape[4]
    cdef int i
    cdef Layout out
    if pads.value > 4:
        return None
    indices[0], indices[1], indices[2] = x.shape[0], x.shape[2], x.shape[3]
    if not _padding(&p, 3, indices, pads, PAD_CONSTANT, True):
        return None
    for i in range(2):                                   # a line is all channels of a pixel
        p.size[i], p.before[i], p.after[i] = p.size[i + 1], p.before[i + 1], p.after[i + 1]
    p.size[2], p.before[2], p.after[2] = x.shape[1], 0, 0
    shape[0], shape[1], shape[3] = x.shape[0], x.shape[1], x.shape[3] + p.before[1] + p.after[1]
    shape[2] = x.shape[2] + (p.before[0] + p.after[0] if pads.value == 4 else 0)
    out = fresh_channels_last(x.dtype, shape)
    with nogil:
        pad_lines(x.data(), out.data(), &p, x.dtype.itemsize, value)
    return out


cdef bint _only_cut(Arg* pads) noexcept:
    """Whether no axis grows: then the result keeps the order of the axes in memory."""
    cdef int i
    for i in range(pads.value):
        if pads.ints[i] > 0:
            return False
    return True


cdef Layout _padded(Layout x, Arg* pads, PadMode mode, const void* value):
    cdef Padding p
    cdef int64_t shape[64]
    cdef Layout out
    if not x.contiguous:
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


cdef Layout _constant_pad(Op op, ConstantPad* a):
    cdef Layout x = <Layout>a.input.layout
    cdef double element[2]
    return _padded(x, &a.pad, PAD_CONSTANT, element) if element_of(<object>a.value.given, x.dtype, element) else None


cdef Layout _nothing(Layout x, const int64_t* pads, int count):
    """Padding of an empty tensor."""
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


cdef Layout _reflected(Op op, Pad* a):
    cdef Layout x = <Layout>a.input.layout
    cdef PadMode mode = _MODES[a.mode.value]
    if x.numel == 0:
        return _nothing(x, a.pad.ints, a.pad.value) if mode == PAD_CIRCULAR else None
    return _padded(x, &a.pad, mode, NULL) if x.dtype.category >= CAT_FLOAT else None


cdef Layout _reflected_backward(Op op, PadBackward* a):
    cdef Layout g = <Layout>a.grad_output.layout, out
    cdef Padding p
    cdef const int64_t* shape = a.shape.ints
    cdef int64_t padded[64]
    cdef int i
    if not has_default_strides(g) or a.shape.value != g.ndim or not _padding(&p, g.ndim, shape, &a.pad, _MODES[a.mode.value], False):
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
cdef Layout _pixels(Layout x, int64_t r, bint up):
    cdef Layout out
    cdef int64_t shape[66]
    cdef int64_t strides[66]
    cdef int64_t c, h, w
    cdef int i, n = x.ndim - 3
    if not 0 < r < 0x8000:
        return None
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


cdef Layout _pixel_shuffle(Op op, PixelShuffle* a):
    return _pixels(<Layout>a.input.layout, a.upscale_factor.value, True)


cdef Layout _pixel_unshuffle(Op op, PixelUnshuffle* a):
    return _pixels(<Layout>a.input.layout, a.downscale_factor.value, False)


cdef Layout _channels(Op op, ChannelShuffle* a):
    cdef Layout x = <Layout>a.input.layout
    cdef int64_t shape[66]
    cdef int64_t strides[66]
    cdef int64_t groups = a.groups.value
    cdef int i
    if not 0 < groups <= x.shape[1] or x.shape[1] % groups:
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


offer("repeat", <form_t>_repeat, "input: any strided nonempty 0-8d")
offer("constant_pad", <form_t>_constant_pad, "input: any strided, pad: sizes")
offer("reflect_pad", <form_t>_reflected, "input: any strided, pad: sizes, mode: reflect|replicate|circular")
offer("reflect_pad_backward", <form_t>_reflected_backward,
      "grad_output: float nonempty, pad shape: sizes, mode: reflect|replicate|circular")
offer("pixel_shuffle", <form_t>_pixel_shuffle, "input: any strided nonempty 3-32d")
offer("pixel_unshuffle", <form_t>_pixel_unshuffle, "input: any strided nonempty 3-32d")
offer("channel_shuffle", <form_t>_channels, "input: any strided nonempty 3-32d")
