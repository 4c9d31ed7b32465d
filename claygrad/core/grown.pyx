"""Fast paths of operations that lay the elements of a tensor out anew: repetitions, pads, channels dealt out as space.
None: the declaration decides."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from claygrad.core.declared cimport Op
from claygrad.core.device cimport CPU
from claygrad.core.inplace cimport write_layout
from claygrad.core.kernels cimport copy_strided
from claygrad.core.layout cimport Layout, fresh, new_layout
from claygrad.core.moves cimport copied, element_of, fill_with, plain, some
from claygrad.core.parts cimport narrowed, sizes_of
from claygrad.core.tensor cimport Tensor

# Bytes above which the interpreter lock is let go, and elements up to which an axis is continued element by element.
cdef enum:
    RELEASE = 262144
    FEW = 16384


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
    if target is not None or n < x.ndim or n > 31 or x.numel == 0 or x.storage.where.kind != CPU:
        return None
    for i in range(n):
        if times[i] < 0:
            return None
        k = i - (n - x.ndim)
        shape[i] = times[i] * (x.shape[k] if k >= 0 else 1)
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


cdef Layout _constant_pad(Op op, PyObject** slots, Layout target):
    """constant_pad_nd(input, pad, value)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout, out, inner = x, into
    cdef int64_t pads[64]
    cdef int64_t shape[64]
    cdef double element[2]
    cdef int64_t before, after
    cdef int i, k, n = sizes_of(<object>slots[1], pads)
    if target is not None or n < 0 or n % 2 or n // 2 > x.ndim or not plain(x) or not element_of(<object>slots[2], x.dtype, element):
        return None
    for i in range(x.ndim):
        k = 2 * (x.ndim - 1 - i)
        shape[i] = x.shape[i]
        if k < n:
            shape[i] += pads[k] + pads[k + 1]
            if shape[i] <= 0 or x.shape[i] + min(pads[k], 0) + min(pads[k + 1], 0) <= 0:
                return None
    out = into = fresh(x.dtype, x.ndim, shape)
    for i in range(x.ndim):
        k = 2 * (x.ndim - 1 - i)
        if k < n:
            before, after = pads[k], pads[k + 1]
            inner = narrowed(inner, i, max(-before, 0), x.shape[i] + min(before, 0) + min(after, 0), 1)
            into = narrowed(into, i, max(before, 0), inner.shape[i], 1)
    if into.numel != out.numel:
        fill_with(out, element)
    write_layout(into, inner)
    return out


cdef int64_t _source(str mode, int64_t at, int64_t n, int64_t before, int64_t after) noexcept:
    """Where an element of an axis that is continued by its own elements comes from."""
    cdef int64_t first, kept
    if mode == "replicate":
        return max(0, min(at, n - 1))
    if mode == "reflect":
        at = -at if at < 0 else at
        return at if at < n else 2 * (n - 1) - at
    first = max(-before, 0)                        # what the cuts leave is repeated
    kept = max(n - first - max(-after, 0), 1)
    at = (at - first) % kept
    return first + (at + kept if at < 0 else at)


cdef Layout _nothing(PyObject** slots, const int64_t* pads, int count):
    """What an empty tensor is continued to."""
    cdef Layout x = (<Tensor><object>slots[0]).layout
    cdef int64_t shape[64]
    cdef int i, k
    if x.storage.where.kind != CPU or count < 2 or count % 2 or count // 2 > x.ndim:
        return None
    for i in range(x.ndim):
        k = 2 * (x.ndim - 1 - i)
        shape[i] = x.shape[i]
        if k < count:
            if not (0 <= pads[k] <= x.shape[i] and 0 <= pads[k + 1] <= x.shape[i]):
                return None
            shape[i] += pads[k] + pads[k + 1]
    return fresh(x.dtype, x.ndim, shape)


cdef Layout _bent_pad(Op op, PyObject** slots, Layout target):
    """_pad_enum(input, pad, mode) of small tensors"""
    cdef Layout x = some(slots[0]), out
    cdef int64_t pads[64]
    cdef int64_t shape[64]
    cdef int64_t sizes[3]
    cdef int64_t befores[3]
    cdef int64_t item, outer = 1, i, j, k, o, n, at
    cdef int64_t* maps
    cdef const char* source
    cdef char* to
    cdef str mode = <object>slots[2]
    cdef int d, axis, count = sizes_of(<object>slots[1], pads)
    if x is None and target is None and mode == "circular":
        return _nothing(slots, pads, count)
    if target is not None or x is None or not plain(x) or count < 2 or count % 2 or count > 6 or count // 2 > x.ndim:
        return None
    if mode != "replicate" and mode != "reflect" and mode != "circular" or x.dtype.category < 2:
        return None
    for d in range(x.ndim):
        shape[d] = x.shape[d]
        axis = x.ndim - 1 - d
        if axis >= count // 2:
            outer *= x.shape[d]
            continue
        shape[d] += pads[2 * axis] + pads[2 * axis + 1]
        if shape[d] <= 0:
            return None
        if mode == "reflect" and max(pads[2 * axis], pads[2 * axis + 1]) >= x.shape[d]:
            return None
        if mode == "circular" and max(pads[2 * axis], pads[2 * axis + 1]) > x.shape[d]:
            return None
    out = fresh(x.dtype, x.ndim, shape)
    if out.numel > FEW:
        return None
    n = 0
    for d in range(3):                             # the last three axes, or ones in their place
        axis = x.ndim - 3 + d
        sizes[d] = shape[axis] if 2 - d < count // 2 else 1
        n += sizes[d]
    maps = <int64_t*>malloc(n * sizeof(int64_t))
    if maps == NULL:
        raise MemoryError()
    n = 0
    for d in range(3):
        axis, k = x.ndim - 3 + d, 2 - d
        befores[d] = n
        for i in range(sizes[d]):
            at = 0
            if k < count // 2:
                at = _source(mode, i - pads[2 * k], x.shape[axis], pads[2 * k], pads[2 * k + 1]) * x.strides[axis]
            maps[n + i] = at
        n += sizes[d]
    item, source, to = x.dtype.itemsize, x.data(), out.data()
    n = x.numel // outer
    for o in range(outer):
        for i in range(sizes[0]):
            for j in range(sizes[1]):
                at = o * n + maps[befores[0] + i] + maps[befores[1] + j]
                for k in range(sizes[2]):
                    if item == 4:
                        memcpy(to, source + (at + maps[befores[2] + k]) * 4, 4)
                    elif item == 8:
                        memcpy(to, source + (at + maps[befores[2] + k]) * 8, 8)
                    else:
                        memcpy(to, source + (at + maps[befores[2] + k]) * item, item)
                    to += item
    free(maps)
    return out


# --- channels and space ------------------------------------------------------------------------------------------
cdef Layout _pixels(Op op, PyObject** slots, Layout target):
    """pixel_shuffle(input, upscale_factor), pixel_unshuffle(input, downscale_factor)"""
    cdef Layout x = some(slots[0]), made
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
    made = copied(new_layout(x.storage, x.dtype, n + 5, shape, strides, x.offset))
    shape[n], shape[n + 1], shape[n + 2] = (c // (r * r), h * r, w * r) if up else (c * r * r, h // r, w // r)
    return _reshaped(made, x.ndim, shape)


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
    return _reshaped(copied(new_layout(x.storage, x.dtype, x.ndim + 1, shape, strides, x.offset)), x.ndim, x.shape)


cdef Layout _reshaped(Layout v, int ndim, const int64_t* shape):
    """Contiguous memory in another shape."""
    cdef int64_t strides[64]
    cdef int64_t step = 1
    cdef int i
    for i in range(ndim - 1, -1, -1):
        strides[i] = step
        step *= shape[i]
    return new_layout(v.storage, v.dtype, ndim, shape, strides, 0)


cdef int prepare(Op op) except -1:
    kernel = op.info.get("kernel")
    if kernel == "repeat":
        op.fast = _repeat
    elif kernel == "constant_pad":
        op.fast = _constant_pad
    elif kernel == "bent_pad":
        op.fast = _bent_pad
    elif kernel == "pixel_shuffle" or kernel == "pixel_unshuffle":
        op.fast = _pixels
    elif kernel == "channel_shuffle":
        op.fast = _channels
    return 0
