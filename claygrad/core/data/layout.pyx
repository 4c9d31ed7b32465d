"""Layouts: storage, dtype, shape, strides and offset of a tensor."""
import numpy

from claygrad.core.errors import no_elements

cimport cython
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp

cimport numpy as cnp

from claygrad.core.data.device cimport ACCELERATOR, CPU
from claygrad.core.data.dtype cimport dtype, from_numpy
from claygrad.core.data.kernels cimport copy_strided
from claygrad.core.data.storage cimport Storage, borrow, new_storage

cnp.import_array()

# Bytes above which a copy runs without the interpreter lock.
cdef enum:
    RELEASE = 262144

cdef extern from "fast_dealloc.h":
    void clay_set_dealloc(PyTypeObject* type, void (*before_dealloc)(PyObject*) noexcept)

cdef extern from *:
    """
    /* Multiply; whether it overflows. */
    static inline int clay_multiply(int64_t* n, int64_t by) { return __builtin_mul_overflow(*n, by, n); }
    """
    bint _multiply "clay_multiply" (int64_t* n, int64_t by) noexcept nogil

cdef extern from "sealed.h":
    int clay_seal(PyTypeObject* type) except -1

cdef extern from *:
    """
    static PyObject* clay_array(PyObject* descr, int nd, const npy_intp* dims, const npy_intp* strides, void* data) {
        Py_INCREF(descr);                                /* NewFromDescr takes the reference */
        return PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr*)descr, nd, dims, strides, data, NPY_ARRAY_WRITEABLE, NULL);
    }
    static int clay_set_base(PyObject* array, PyObject* base) {
        Py_INCREF(base);                                 /* and SetBaseObject this one */
        return PyArray_SetBaseObject((PyArrayObject*)array, base);
    }
    """
    object clay_array(object descr, int nd, const cnp.npy_intp* dims, const cnp.npy_intp* strides, void* data)
    int clay_set_base(object array, object base) except -1

@cython.final
@cython.freelist(512)
@cython.no_gc
cdef class Layout:
    cdef char* data(self) noexcept nogil:
        return self.storage.ptr + self.offset * self.dtype.itemsize

    cdef tuple shape_tuple(self):
        return _tuple(self.shape, self.ndim)

    cdef tuple stride_tuple(self):
        return _tuple(self.strides, self.ndim)

    cdef object array(self):
        """A NumPy view of the memory."""
        return self.array_with_base(self.storage)

    cdef object array_with_base(self, object base):
        if self.storage.where.kind == ACCELERATOR:
            return self.array_there()
        if self.storage.where.kind != CPU:
            raise no_elements() if self.bits & SPARSE else NotImplementedError("Cannot copy out of meta tensor; no data!")
        cdef cnp.npy_intp strides[64]
        cdef int i
        cdef uint64_t size = self.dtype.itemsize
        for i in range(self.ndim):                # unsigned: a stride that no element uses may be beyond all memory
            strides[i] = <int64_t>(<uint64_t>self.strides[i] * size)
        out = clay_array(self.dtype.numpy, self.ndim, <cnp.npy_intp*>self.shape, strides, self.data())
        clay_set_base(out, base)
        if self.bits:
            out = _with_bits_applied(out, self.bits)
            out.flags.writeable = False          # writes to a copy would be lost
        return out

    cdef object array_there(self):
        """The same of an accelerator: Note [Accelerators] in core/data/device.pxd."""
        table = self.storage.where.table
        out = table.view(self.storage.owner, self.dtype, self.shape_tuple(), self.stride_tuple(), self.offset, self.storage.where.index)
        if self.bits & CONJ:
            out = table.xp.conj(out)
        return table.xp.negative(out) if self.bits & NEG else out


cdef object _with_bits_applied(object array, int bits):
    """A copy with the conjugate or negative bit applied."""
    if array.dtype.names:                        # complex32
        out = array.copy()
        if bool(bits & NEG) != bool(bits & CONJ):
            numpy.negative(out["imag"], out=out["imag"])
        if bits & NEG:
            numpy.negative(out["real"], out=out["real"])
        return out
    if array.dtype.kind == "b":
        raise NotImplementedError("\"neg_cpu\" not implemented for 'Bool'")
    if bits & CONJ:
        array = numpy.asarray(numpy.conjugate(array))
    if not bits & NEG:
        return array
    if array.dtype.kind == "V" and array.itemsize == 2:      # bfloat16, which NumPy does not know: the sign is its highest bit
        return (array.view("u2") ^ 0x8000).view(array.dtype)
    return numpy.asarray(numpy.negative(array))


cdef tuple _tuple(const int64_t* values, int n):
    cdef int i
    cdef list out = []
    for i in range(n):
        out.append(values[i])
    return tuple(out)


cdef int check_dims(Py_ssize_t ndim) except -1:
    if ndim > MAX_DIMS:
        raise RuntimeError(f"tensors of more than {MAX_DIMS} dimensions are not supported, got {ndim}\n"
                           "  PyTorch makes and loads such tensors, claygrad does not: merge some dimensions before")
    return 0


cdef inline Layout _bare(Storage storage, dtype dt, int ndim, const int64_t* shape, int64_t offset):
    cdef Layout v = Layout.__new__(Layout)
    cdef int i
    cdef int64_t n = 1
    v.storage = storage
    v.dtype = dt
    v.offset = offset
    v.ndim = ndim
    if ndim <= INLINE_DIMS:
        v.shape = v.inline_dims
        v.strides = v.inline_dims + INLINE_DIMS
    else:
        v.shape = NULL
        check_dims(ndim)
        v.shape = <int64_t*>malloc(2 * ndim * sizeof(int64_t))
        v.strides = v.shape + ndim
    cdef bint huge = False
    for i in range(ndim):
        v.shape[i] = shape[i]
        huge |= _multiply(&n, shape[i])
    if huge and not _has_zero(shape, ndim):
        raise RuntimeError(f"numel: integer multiplication overflow\n  sizes {list(_tuple(shape, ndim))}")
    v.numel = n
    return v


cdef void _before_dealloc(PyObject* dying) noexcept:
    cdef Layout v = <Layout>dying
    if v.shape != v.inline_dims and v.shape != NULL:
        free(v.shape)


clay_set_dealloc(<PyTypeObject*>Layout, _before_dealloc)                # Note [Fast dealloc]
clay_seal(<PyTypeObject*>Layout)                                 # Note [Sealed types]


cdef bint _has_zero(const int64_t* shape, int ndim) noexcept:
    cdef int i
    for i in range(ndim):
        if shape[i] == 0:
            return True
    return False


cdef Layout new_layout(Storage storage, dtype dt, int ndim, const int64_t* shape, const int64_t* strides, int64_t offset):
    cdef Layout v = _bare(storage, dt, ndim, shape, offset)
    cdef int i
    cdef int64_t expected = 1
    v.contiguous = True
    for i in range(ndim - 1, -1, -1):
        v.strides[i] = strides[i]
        if shape[i] != 1:
            if strides[i] != expected:
                v.contiguous = False
            expected *= shape[i]
    if v.numel == 0:
        v.contiguous = True
    return v


cdef Layout new_contiguous(Storage storage, dtype dt, int ndim, const int64_t* shape):
    cdef Layout v = _bare(storage, dt, ndim, shape, 0)
    cdef int i
    cdef int64_t step = 1
    for i in range(ndim - 1, -1, -1):
        v.strides[i] = step
        if shape[i] > 1:
            step = <int64_t>(<uint64_t>step * <uint64_t>shape[i])
    v.contiguous = True
    return v


cdef int _too_large(int ndim, const int64_t* shape) except -1:
    cdef int i
    for i in range(ndim):
        if shape[i] < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {shape[i]}: {list(_tuple(shape, ndim))}")
    raise RuntimeError(f"Storage size calculation overflowed with sizes={list(_tuple(shape, ndim))}")


cdef int64_t bytes_of(dtype dt, int ndim, const int64_t* shape) except -1:
    cdef int64_t n = dt.itemsize, signs = 0
    cdef double about = n                       # n without overflow
    cdef int i
    for i in range(ndim):
        n = <int64_t>(<uint64_t>n * <uint64_t>shape[i])
        about *= shape[i]
        signs |= shape[i]
    if about >= 4611686018427387904.0 or signs < 0:
        _too_large(ndim, shape)
    return n


cdef Layout fresh(dtype dt, int ndim, const int64_t* shape):
    return new_contiguous(new_storage(bytes_of(dt, ndim, shape)), dt, ndim, shape)


cdef Layout fresh_strided(dtype dt, int ndim, const int64_t* shape, const int64_t* strides):
    return new_layout(new_storage(bytes_of(dt, ndim, shape)), dt, ndim, shape, strides, 0)


cdef Layout fresh_channels_last(dtype dt, const int64_t* shape):
    cdef int64_t[4] strides = [shape[1] * shape[2] * shape[3], 1, shape[1] * shape[3], shape[1]]
    return fresh_strided(dt, 4, shape, strides)


cdef Layout fresh_like(Layout other):
    cdef Layout v = Layout.__new__(Layout)
    cdef int i
    cdef int64_t step = 1
    if other.ndim > INLINE_DIMS:
        return fresh(other.dtype, other.ndim, other.shape)
    if other.numel >= 1 << 58:
        _too_large(other.ndim, other.shape)
    v.storage = new_storage(other.numel * other.dtype.itemsize)
    v.dtype = other.dtype
    v.ndim = other.ndim
    v.numel = other.numel
    v.shape = v.inline_dims
    v.strides = v.inline_dims + INLINE_DIMS
    v.contiguous = True
    for i in range(other.ndim - 1, -1, -1):
        v.shape[i] = other.shape[i]
        v.strides[i] = step
        if v.shape[i] > 1:
            step = <int64_t>(<uint64_t>step * <uint64_t>v.shape[i])      # of an empty tensor it may wrap around
    return v


cdef Layout from_array(object array):
    cdef dtype dt = from_numpy(array.dtype)
    if dt is None:
        raise TypeError(f"can't convert np.ndarray of type {array.dtype.type.__module__}.{array.dtype.type.__name__}. "
                        "The only supported types are: float64, float32, float16, complex64, complex128, int64, int32, "
                        "int16, int8, uint64, uint32, uint16, uint8, and bool.")
    cdef int i, ndim = cnp.PyArray_NDIM(array)
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int64_t span = 1
    cdef int64_t item = dt.itemsize
    cdef cnp.npy_intp* s = cnp.PyArray_STRIDES(array)
    cdef cnp.npy_intp* d = cnp.PyArray_DIMS(array)
    for i in range(ndim):
        if s[i] % item != 0:
            raise ValueError("given numpy array strides not a multiple of the element byte size. "
                             "Copy the numpy array to reallocate the memory.")
        shape[i] = d[i]
        strides[i] = s[i] // item
        if d[i] == 0:
            span = 0
        elif span:
            span += (d[i] - 1) * strides[i]
    cdef Storage storage = borrow(<char*>cnp.PyArray_DATA(array), span * item, array)
    if span == 0:
        for i in range(ndim):
            if strides[i]:
                break
        else:                                 # NumPy gives empty arrays no strides
            return new_contiguous(storage, dt, ndim, shape)
    return new_layout(storage, dt, ndim, shape, strides, 0)


cdef bint same_shape(Layout a, Layout b) noexcept:
    return a.ndim == b.ndim and memcmp(a.shape, b.shape, a.ndim * sizeof(int64_t)) == 0


cdef bint dense(Layout v) noexcept:
    cdef int64_t step = 1
    cdef int i, found, left = 0
    cdef unsigned long long done = 0
    if v.contiguous:
        return True
    for i in range(v.ndim):
        if v.shape[i] == 1:
            done |= 1ULL << i
        else:
            left += 1
    while left:
        found = -1
        for i in range(v.ndim):
            if not done >> i & 1 and v.strides[i] == step:
                found = i
                break
        if found < 0:
            return False
        done |= 1ULL << found
        step *= v.shape[found]
        left -= 1
    return True


cdef bint is_broadcast(Layout v) noexcept:
    cdef int i
    for i in range(v.ndim):
        if v.strides[i] == 0 and v.shape[i] > 1:
            return True
    return False


cdef bint row_major(Layout v) noexcept:
    cdef int i
    cdef int64_t near = 0
    if v.contiguous:
        return True
    for i in range(v.ndim - 1, -1, -1):
        if v.shape[i] == 1 or v.strides[i] == 0:
            continue
        if v.strides[i] < near:
            return False
        near = v.strides[i]
    return True


cdef void by_stride(Layout v, int count, int* order) noexcept:
    cdef int i, k
    for i in range(count):
        order[i] = i
        for k in range(i, 0, -1):
            if v.strides[order[k]] <= v.strides[order[k - 1]]:
                break
            order[k], order[k - 1] = order[k - 1], order[k]


cdef Layout permuted(Layout v, const int* order):
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i
    for i in range(v.ndim):
        shape[i], strides[i] = v.shape[order[i]], v.strides[order[i]]
    return new_layout(v.storage, v.dtype, v.ndim, shape, strides, v.offset)


cdef bint channels_last(Layout v) noexcept:
    cdef int i
    if v.ndim != 4:
        return False
    for i in range(4):
        if v.shape[i] < 2:
            return False
    return (v.strides[1] == 1 and v.strides[3] == v.shape[1] and v.strides[2] == v.strides[3] * v.shape[3]
            and v.strides[0] == v.strides[2] * v.shape[2])


cdef bint strictly_row_major(Layout v) noexcept:
    cdef int i
    cdef int64_t near = 1
    for i in range(v.ndim - 1, -1, -1):
        if v.shape[i] < 2 or v.strides[i] and v.strides[i] < near:
            return False
        if v.strides[i]:
            near = v.strides[i] * v.shape[i]
    return True


cdef bint same_view(Layout a, Layout b) noexcept:
    cdef int i
    if a.storage is not b.storage or a.offset != b.offset or a.dtype is not b.dtype or a.bits != b.bits or not same_shape(a, b):
        return False
    for i in range(a.ndim):
        if a.strides[i] != b.strides[i]:
            return False
    return True


cdef Layout as_contiguous(Layout v):
    cdef Layout out
    cdef int64_t from_[64]
    cdef int64_t to[64]
    cdef int64_t item = v.dtype.itemsize
    cdef int i
    if v.contiguous:
        return v
    out = fresh_like(v)
    for i in range(v.ndim):
        from_[i], to[i] = v.strides[i] * item, out.strides[i] * item
    if v.numel * item > RELEASE:
        with nogil:
            copy_strided(v.data(), from_, out.data(), to, v.shape, v.ndim, item)
    else:
        copy_strided(v.data(), from_, out.data(), to, v.shape, v.ndim, item)
    return out
