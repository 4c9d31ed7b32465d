"""Copies between main memory and accelerators, and results of an accelerator's array module as layouts."""
import numpy

from libc.stdint cimport int64_t

from claygrad.core.data.device cimport ACCELERATOR, META, device
from claygrad.core.data.dtype cimport BF16, C32, CAT_COMPLEX, F32, cast_array, dtype, of_code
from claygrad.core.data.layout cimport CONJ, NEG, SPARSE, Layout, bytes_of, from_array, new_contiguous, new_layout
from claygrad.core.data.storage cimport storage_of_block, storage_on


cdef Layout to_host(Layout v):
    if v.storage.where.kind != ACCELERATOR:
        return v
    array = v.storage.where.table.to_host(v.array_there())
    if array.dtype != v.dtype.numpy:
        array = array.view(v.dtype.numpy)
    return from_array(numpy.array(array, order="C"))


cdef object _upload(object array, device where):
    """Upload an array. Elements of a dtype that the device lacks are stored as integers with the same bits."""
    table = where.table
    kept = table.kept_as(array.dtype)
    array = numpy.ascontiguousarray(array).reshape(array.shape)
    return table.from_host(array if array.dtype == kept else array.view(kept), where.index)


cdef object array_on(Layout v, device where):
    if v.storage.where is where:
        return v.array_there()
    if v.storage.where.kind == META or v.bits & SPARSE:
        return v.array()                                  # raises
    return _upload(to_host(v).array(), where)


cdef object cast_on(object table, object array, dtype have, dtype want):
    """Cast on the device: complex numbers become their real parts, bfloat16 is stored as integers with the same bits."""
    if have is want:
        return array
    if have.code >= C32 and have.code != BF16 or want.code >= C32 and want.code != BF16:
        raise NotImplementedError(f"The operator 'aten::copy_' of {(want if want.code >= C32 else have).name} is not currently implemented "
                                  f"for the {table.type} device.\n  cast on the CPU: x.cpu().to(dtype)")
    if have.code == BF16:
        array, have = table.from_bfloat16(array), of_code(F32)
        if have is want:
            return array
    if have.category == CAT_COMPLEX and want.category != CAT_COMPLEX:
        array = array != 0 if want.name == "bool" else array.real
    if want.code == BF16:
        return table.to_bfloat16(array.astype(numpy.float32))
    return array.astype(want.numpy)


cdef Layout adopt_array(device where, object array, dtype d, bint keep_order, list others):
    """The layout of a result: takes over a new array of the device's module; an array that shares memory is copied.

    d: the dtype of the elements, also where the device stores them as integers with the same bits.
    """
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i, ndim = array.ndim
    table = where.table
    found = table.block_of(array, keep_order, others)
    for i in range(ndim):
        shape[i] = array.shape[i]
    if found is None:
        out = new_contiguous(storage_on(where, bytes_of(d, ndim, shape)), d, ndim, shape)
        if out.numel:
            table.assign(out.array_there(), array)
        return out
    block, nbytes, steps = found
    for i in range(ndim):
        strides[i] = steps[i]
    return new_layout(storage_of_block(where, nbytes, block), d, ndim, shape, strides, 0)


cdef int write_across(Layout dst, Layout src) except -1:
    cdef Layout memory = dst
    cdef device where = dst.storage.where
    if dst.numel == 0:
        return 0
    table = where.table
    if src.storage.where is where:
        array = cast_on(table, src.array_there(), src.dtype, dst.dtype)
    else:
        host = to_host(src).array()
        if src.dtype.category == CAT_COMPLEX and dst.dtype.category != CAT_COMPLEX and host.dtype.kind == "c":
            host = host.real
        array = _upload(cast_array(host, dst.dtype.numpy), where)
    if dst.bits:
        memory = new_layout(dst.storage, dst.dtype, dst.ndim, dst.shape, dst.strides, dst.offset)
        if dst.bits & CONJ and dst.dtype.category == CAT_COMPLEX:
            array = table.xp.conj(array)
        if dst.bits & NEG:
            array = table.xp.negative(array)
    table.assign(memory.array_there(), array)
    return 0
