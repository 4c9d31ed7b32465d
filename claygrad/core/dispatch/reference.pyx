"""The reference of an operation: its declared forward over an array module, or over shapes alone on the meta device."""
import contextvars

import numpy

cimport numpy as cnp
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.op cimport (GENERAL, P_TENSORS, POINTWISE, PROMOTE_BOOL, PROMOTE_INDEX, REDUCTION, Op, run_check)
from claygrad.core.data.device cimport ACCELERATOR, CPU, META, device
from claygrad.core.data.dtype cimport (BF16, BOOL, C32, C64, C128, CAT_COMPLEX, CAT_FLOAT, CAT_INT, F4_X2, F16, F32, F64, I64,
                                       N_COMPUTING, cast_array, category_of, dtype, narrow, of_code, promote, wider)
from claygrad.core.dispatch.convert_half cimport cast_half
from claygrad.core.dispatch.kernel_names import COMPUTED_BY_BYTES, loop_of
from claygrad.core.data.layout cimport MAX_DIMS, Layout, bytes_of, check_dims, dense, from_array, new_contiguous, new_layout
from claygrad.core.dispatch.promotion cimport broadcast, check_broadcast, common_device, result_code
from claygrad.core.data.storage cimport storage_on
from claygrad.core.data.transfer cimport to_host
from claygrad.core.tensor cimport Tensor

cnp.import_array()

cdef extern from "Python.h":
    int PyContext_Enter(object ctx) except -1
    int PyContext_Exit(object ctx) except -1

cdef extern from "numpy_allocator.h":
    int clay_use_pool_for_numpy() except -1


# Note [Quiet contexts]
# NumPy must not warn of division by zero and the like. numpy.errstate costs as much as a small operation, so contexts with the
# warnings off are kept and entered again; none is entered twice at a time. Inside them NumPy allocates from the memory pool.
cdef list _quiet = []

cdef object _make_quiet():
    ctx = contextvars.copy_context()
    ctx.run(numpy.seterr, all="ignore")
    ctx.run(_use_pool)
    return ctx


def _use_pool():
    clay_use_pool_for_numpy()


cdef object call_declared(Op op, list args, int lead):
    """Call a Python function of a declaration with the arguments (after `lead`)."""
    cdef int i, n = op.n_positional + lead
    if not op.keyword_names:
        return op.forward(*args)
    return op.forward(*args[:n], **{op.keyword_names[i]: args[n + i] for i in range(len(args) - n)})


cdef object run_forward(Op op, list args):
    ctx = enter_quiet()
    try:
        return call_declared(op, args, 1)
    finally:
        end_quiet(ctx)


cdef object enter_quiet():
    ctx = _quiet.pop() if _quiet else _make_quiet()
    PyContext_Enter(ctx)
    return ctx


cdef int end_quiet(object ctx) except -1:
    PyContext_Exit(ctx)
    _quiet.append(ctx)
    return 0


# Note [Half precision]
# float16 and bfloat16 are computed in float32, and complex32, which NumPy lacks, in complex64, even where elements are only moved.
# Other operands (a number, a tensor of another dtype) are rounded to half first, as in torch; except, again as in torch, a number or
# 0-dim tensor in the parameter that the declaration names as `wide`.
cdef inline object _array(Layout v, int code, bint half_raw, bint wide=False):
    """The tensor's array in the compute dtype."""
    array = v.array() if v.storage.where.kind != ACCELERATOR else to_host(v).array()
    cdef int want = code if code >= 0 else v.dtype.code
    if narrow(want) and (not half_raw or want == C32):
        if want != v.dtype.code and not wide:
            return cast_array(cast_array(array, of_code(want).numpy), of_code(wider(want)).numpy)
        want = wider(want)
    if want == F32 and (v.dtype.code == F16 or v.dtype.code == BF16) and v.storage.where.kind == CPU and dense(v):
        return cast_half(v, of_code(F32)).array()
    if want != v.dtype.code:
        array = cast_array(array, of_code(want).numpy)
    return array


cdef object number_array(object value, int code, bint half_raw, bint wide):
    cdef int want = code if half_raw and code != C32 else wider(code)
    d = of_code(want).numpy
    if want != code and not wide or code == C32:
        return cast_array(cast_array(numpy.asarray(value), of_code(code).numpy), d)[()]
    if category_of(want) == CAT_INT and isinstance(value, int):
        if not -2**63 <= value < 2**64:
            return d.type(value)
        return numpy.array(value if value < 2**63 else value - 2**64, numpy.int64).astype(d)[()]
    return d.type(value)


cdef bint _owns(object array):
    """Whether the array owns its memory, alone or through a base that nothing else refers to."""
    if cnp.PyArray_CHKFLAGS(array, cnp.NPY_ARRAY_OWNDATA):
        return True
    base = array.base
    return type(base) is numpy.ndarray and cnp.PyArray_CHKFLAGS(base, cnp.NPY_ARRAY_OWNDATA)


cdef Layout layout_of_result(object array, dtype want, bint keep_order):
    """The layout of a result; it keeps the array's memory, or a copy."""
    if not isinstance(array, numpy.ndarray):
        array = numpy.asarray(array)
    if want is not None and array.dtype != want.numpy:
        if ((want.code == F16 or want.code == BF16) and array.dtype == numpy.float32
                and cnp.PyArray_CHKFLAGS(array, cnp.NPY_ARRAY_C_CONTIGUOUS)):
            return cast_half(from_array(array), want)
        array = cast_array(array, want.numpy)
    if not _owns(array) or not cnp.PyArray_CHKFLAGS(array, cnp.NPY_ARRAY_WRITEABLE):
        array = array.copy(order="K" if keep_order else "C")
    elif not keep_order and not cnp.PyArray_CHKFLAGS(array, cnp.NPY_ARRAY_C_CONTIGUOUS):
        array = numpy.ascontiguousarray(array)
    return from_array(array)


cdef dtype final_dtype(Op op, int code, object array, int half):
    """The dtype of a result, given what the forward returned."""
    cdef dtype d
    if op.promote == PROMOTE_BOOL:
        return of_code(BOOL) if op.kind != REDUCTION else None
    if op.promote == PROMOTE_INDEX:
        return of_code(I64)
    if code >= 0 and op.kind != GENERAL:
        d = of_code(code)
        if d.category == CAT_COMPLEX and array.dtype.kind == "f":
            return of_code(F64 if code == C128 else F32 if code == C64 else F16)
        return d
    if half == C32:
        return of_code(C32) if array.dtype == numpy.complex64 else of_code(F16) if array.dtype == numpy.float32 else None
    if half >= 0 and array.dtype == numpy.float32:
        return of_code(half)
    return None


cdef int _refuse_dims(object error) except -1:
    """The error for a result of more than 64 dimensions, in place of NumPy's."""
    cdef str text = str(error)
    if text.startswith(("maximum supported dimension for an ndarray", "number of dimensions must be within", "ndmin must be <=")):
        found = [int(word) for word in text.replace(",", " ").split() if word.isdigit()]
        check_dims(max(found + [MAX_DIMS + 1]))
    return 0


cdef int _refuse_shapes(object error) except -1:
    """The error for arrays that do not broadcast, in place of NumPy's."""
    cdef str text = str(error)
    if not text.startswith("operands could not be broadcast together with shapes"):
        return 0
    shapes = [[int(n) for n in part.split(",") if n] for part in text.replace(")", "(").split("(")[1::2]]
    for a in shapes:
        for b in shapes:
            for back in range(1, min(len(a), len(b)) + 1):
                if a[-back] != b[-back] and a[-back] != 1 and b[-back] != 1:
                    raise RuntimeError(f"The size of tensor a ({a[-back]}) must match the size of tensor b ({b[-back]}) at "
                                       f"non-singleton dimension {max(len(a), len(b)) - back}") from None
    return 0


cdef int _check_kept(Op op, PyObject** slots) except -1:
    """Refuse to compute with dtypes that are only stored: 8-bit floats (but for a few operations, as in torch), bits, quantized."""
    cdef int i, code
    for i in range(op.n_tensors):
        value = <object>slots[op.tensors[i]]
        for x in (value if isinstance(value, (list, tuple)) else (value,)):
            if not isinstance(x, Tensor):
                continue
            code = (<Tensor>x).layout.dtype.code
            if code >= N_COMPUTING and not op.half_raw and not (code < F4_X2 and op.name in COMPUTED_BY_BYTES):
                raise NotImplementedError(f"\"{loop_of(op.name)}\" not implemented for '{(<Tensor>x).layout.dtype.legacy}'\n"
                                          "  such elements are kept, moved and cast: compute in another dtype, say x.to(float32)")
    return 0


cdef off_cpu_t _off_cpu = NULL


cdef void run_off_cpu_by(off_cpu_t run) noexcept:
    global _off_cpu
    _off_cpu = run


cdef int64_t _references_run = 0


def references_run():
    """How many references were run so far: tests use it to see whether a native form ran."""
    return _references_run


cdef device check_call(Op op, PyObject** slots, int* code):
    _check_kept(op, slots)
    run_check(op, slots)
    cdef device where = common_device(op, slots)
    code[0] = result_code(op, slots)
    if op.kind == POINTWISE:
        check_broadcast(op, slots)
    return where if where is not None and (where.kind == META or where.kind == ACCELERATOR) else None


cdef object reference(Op op, PyObject** slots, int code):
    global _references_run
    cdef int i, half = -1
    cdef bint told = False
    cdef list args = [numpy]
    cdef Layout v
    _references_run += 1
    if narrow(code):
        half = code
    ctx = enter_quiet()
    try:
        for i in range(op.n_params):
            if i == op.inplace_at:
                args.append(False)
                continue
            value = <object>slots[i]
            if op.kept[i] and isinstance(value, Tensor):
                value = (<Tensor>value).layout.array()
            elif op.kinds[i] <= P_TENSORS:
                if isinstance(value, Tensor):
                    v = (<Tensor>value).layout
                    if half < 0 and narrow(v.dtype.code) and (not op.half_raw or v.dtype.code == C32 and i == op.tensors[0]):
                        half = v.dtype.code
                    value = _array(v, code if op.dtype_at < 0 or code < 0 else cast_code(op, slots, code, v), op.half_raw,
                                   i == op.wide_at and v.ndim == 0)
                elif op.kinds[i] == P_TENSORS:
                    value = [_list_item(x, code, op.half_raw) for x in value]
                    for x in <object>slots[i]:
                        if x is not None and narrow((<Tensor>x).layout.dtype.code):
                            half = (<Tensor>x).layout.dtype.code if half < 0 else promote(half, (<Tensor>x).layout.dtype.code)
                elif value is not None and code >= 0:
                    value = number_array(value, code, op.half_raw, i == op.wide_at)
            elif isinstance(value, dtype):
                told = True                        # the forward returned an array of the final dtype
            args.append(value)
        if op.half_raw and half != C32 or told or (code >= 0 and not narrow(code)):
            half = -1
        result = call_declared(op, args, 1)
        if isinstance(result, tuple):
            keep = op.kind != REDUCTION and not op.info.get("contiguous")
            return [layout_of_result(x, final_dtype(op, code, numpy.asarray(x), half), keep) for x in result]
        if not isinstance(result, numpy.ndarray):
            result = numpy.asarray(result)
        out = layout_of_result(result, final_dtype(op, code, result, half), op.kind != REDUCTION)
        return _in_iterated_order(op, slots, out) if op.kind == POINTWISE else out
    except ValueError as error:
        if str(error).startswith(("array is too big", "Maximum allowed dimension", "Maximum allowed size")):     # NumPy's messages
            raise RuntimeError("Storage size calculation overflowed" + _sizes_of_result(op, slots)) from None
        _refuse_dims(error)
        _refuse_shapes(error)
        raise
    except IndexError as error:
        _refuse_dims(error)
        raise
    except MemoryError as error:
        wanted = getattr(error, "_total_size", None)                                        # set by NumPy
        tried = "" if wanted is None else f"you tried to allocate {wanted} bytes. "
        raise RuntimeError(f"[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: {tried}"
                           f"Error code 12 (Cannot allocate memory)\n  {op.name}: {error}") from None
    finally:
        end_quiet(ctx)


cdef int iterated_order(Op op, PyObject** slots, int ndim, const int64_t* shape, int* order) except -1:
    """The axes of a pointwise result by increasing stride, as in torch: the first operand with different strides for two axes decides."""
    cdef int64_t steps[16][64]
    cdef int i, k, n = 0, at, before, verdict
    cdef bint by_channels
    cdef Layout v
    for k in range(ndim):
        order[k] = ndim - 1 - k
    if op.info.get("contiguous"):
        return 0
    for i in range(op.n_tensors):
        value = <object>slots[op.tensors[i]]
        if not isinstance(value, Tensor):
            continue
        v = (<Tensor>value).layout
        for k in range(ndim):
            at = k - (ndim - v.ndim)
            steps[n][k] = 0 if at < 0 or v.shape[at] == 1 and shape[k] != 1 else v.strides[at] * v.dtype.itemsize
        n += 1
    by_channels = ndim == 4 and n == op.n_tensors
    for i in range(op.n_tensors):
        by_channels = by_channels and _channels_last((<Tensor><object>slots[op.tensors[i]]).layout, ndim, shape)
    if by_channels:                                   # it decides the strides of axes of size 1
        order[0], order[1], order[2], order[3] = 1, 3, 2, 0
        return 0
    for i in range(1, ndim):
        at = i
        for before in range(i - 1, -1, -1):
            verdict = _slower(steps, n, shape, order[before], order[at])
            if verdict > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif verdict < 0:
                break
    return 0


cdef bint iterated_strides(Op op, PyObject** slots, Layout out, int64_t* strides) except -1:
    """Torch's strides for a pointwise result; returns whether the result has others."""
    cdef int order[64]
    cdef int i, k
    cdef bint all_contiguous = out.contiguous
    cdef int64_t step = 1
    for i in range(op.n_tensors):
        value = <object>slots[op.tensors[i]]
        all_contiguous = all_contiguous and (not isinstance(value, Tensor) or (<Tensor>value).layout.contiguous)
    if all_contiguous or out.numel == 0:
        return False
    iterated_order(op, slots, out.ndim, out.shape, order)
    for k in range(out.ndim):
        strides[order[k]] = step
        step *= out.shape[order[k]]
    for k in range(out.ndim):
        if strides[k] != out.strides[k]:
            return True
    return False


cdef Layout _in_iterated_order(Op op, PyObject** slots, Layout result):
    """A pointwise result with torch's strides."""
    cdef int64_t strides[64]
    cdef Layout out
    if not iterated_strides(op, slots, result, strides):
        return result
    out = new_layout(storage_on(result.storage.where, result.numel * result.dtype.itemsize), result.dtype, result.ndim, result.shape,
                     strides, 0)
    numpy.copyto(out.array(), result.array())
    return out


cdef Layout _ordered(Op op, PyObject** slots, Layout out):
    """The same for a meta tensor."""
    cdef int64_t strides[64]
    if not iterated_strides(op, slots, out, strides):
        return out
    return new_layout(out.storage, out.dtype, out.ndim, out.shape, strides, 0)


cdef bint _channels_last(Layout v, int ndim, const int64_t* shape) noexcept:
    """Whether it is 4-d, channels last, with the shape of the result."""
    cdef int i, axis
    cdef int64_t expected = 1
    if v.ndim != ndim:
        return False
    for i in range(4):
        axis = 1 if i == 0 else 3 if i == 1 else 2 if i == 2 else 0
        if v.shape[i] != shape[i]:
            return False
        if v.shape[axis] != 1 and v.strides[axis] != expected:
            return False
        expected *= v.shape[axis]
    return True


cdef int _slower(int64_t[16][64] steps, int n, const int64_t* shape, int a, int b) noexcept:
    """1 if axis a has the larger stride, -1 if axis b has, 0 if no operand decides."""
    cdef int i
    for i in range(n):
        if steps[i][a] == 0 or steps[i][b] == 0:
            continue
        if steps[i][a] != steps[i][b]:
            return 1 if steps[i][a] > steps[i][b] else -1
        if shape[a] > shape[b]:
            return 1
    return 0


cdef int cast_code(Op op, PyObject** slots, int code, Layout v):
    """A reduction casts its input first only if dtype= was given; nansum drops NaN before that, since no integer is NaN."""
    if op.name == "nansum" and category_of(code) < CAT_FLOAT and v.dtype.category == CAT_FLOAT:
        return v.dtype.code
    return code if <object>slots[op.dtype_at] is not None else v.dtype.code


cdef object _list_item(object x, int code, bint half_raw):
    return None if x is None else _array((<Tensor?>x).layout, code, half_raw)


cdef str _sizes_of_result(Op op, PyObject** slots):
    """The shape of the result for an error message, if the declaration has a meta function."""
    cdef int i
    if op.kind == POINTWISE:
        return f" with sizes={_common_sizes(op, slots)}"
    if op.meta is None or op.meta == "data":
        return ""
    given = {op.params[i]: <object>slots[i] for i in range(op.n_params)}
    out = op.meta(*[given[name] for name in op.meta.__code__.co_varnames[:op.meta.__code__.co_argcount]])
    shape = out[0] if out and isinstance(out[0], tuple) else out
    return f" with sizes={list(shape)}" if all([isinstance(n, int) for n in shape]) else ""


# --- meta: shapes and dtypes only ------------------------------------------------------------------------------
cdef Layout _meta_layout(device where, dtype d, shape):
    cdef int64_t dims[64]
    cdef int i = 0
    check_dims(len(shape))
    for x in shape:
        dims[i] = x
        i += 1
    return new_contiguous(storage_on(where, bytes_of(d, i, dims)), d, i, dims)


cdef list _common_sizes(Op op, PyObject** slots):
    """The shape that the tensors are broadcast to."""
    cdef int64_t shape[64]
    cdef int i, ndim = 0
    for i in range(op.n_tensors):
        if isinstance(<object>slots[op.tensors[i]], Tensor):
            ndim = broadcast((<Tensor><object>slots[op.tensors[i]]).layout, shape, ndim)
    return [shape[64 - ndim + i] for i in range(ndim)]


cdef object off_cpu(Op op, PyObject** slots, int code, device where):
    return _on_meta(op, slots, code, where) if where.kind == META else _off_cpu(op, slots, code, where)


cdef object _on_meta(Op op, PyObject** slots, int code, device where):
    cdef int i
    if op.kind == POINTWISE:
        d = final_dtype(op, code, numpy.empty(0, of_code(code).numpy), -1) if code >= 0 else None
        out_shape = _common_sizes(op, slots)
        if d is None or (category_of(code) == CAT_COMPLEX):
            d = _probe_dtype(op, slots, code)
        return _ordered(op, slots, _meta_layout(where, d, out_shape))
    if op.meta == "data":
        raise NotImplementedError(f"{op.name}: the shape of the result depends on the data, which a meta tensor does not have")
    values = [<object>slots[i] for i in range(op.n_params)]
    if op.meta is not None:
        names = op.meta.__code__.co_varnames[:op.meta.__code__.co_argcount]
        given = dict(zip(op.params, values))
        out = op.meta(*[given[n] for n in names])
        if isinstance(out, list) and out and isinstance(out[0], tuple) and len(out[0]) == 2 and isinstance(out[0][1], dtype):
            return _with_strides(op, given, [_meta_layout(where, d, s) for s, d in out])
        if isinstance(out, tuple) and len(out) == 2 and isinstance(out[1], dtype):
            return _with_strides(op, given, _meta_layout(where, <dtype>out[1], out[0]))
        return _with_strides(op, given, _meta_layout(where, of_code(code) if code >= 0 else _first_dtype(values), out))
    if op.kind == REDUCTION:
        return _meta_reduce(op, slots, code, where)
    return _with_strides(op, dict(zip(op.params, values)), _meta_by_zeros(op, values, where))


# Note [Strides on meta]
# A result without memory is row-major, unless its declaration says otherwise by `strides=`: "columns" (matrices by columns, as LAPACK
# writes them), "like" (its axes in the order of those of the first tensor with as many), a list of these words and None for several
# results, or a function of the arguments that returns such, or the strides themselves.
cdef object _with_strides(Op op, dict given, object out):
    said = op.info.get("strides")
    if said is None:
        return out
    if callable(said):
        said = said(*[given[n] for n in said.__code__.co_varnames[:said.__code__.co_argcount]])
    if isinstance(out, list):
        words = said if isinstance(said, list) else [said] * len(out)
        return [_strided(<Layout>x, word, given) for x, word in zip(out, words)]
    return _strided(<Layout>out, said, given)


cdef Layout _strided(Layout v, object word, dict given):
    cdef int64_t strides[64]
    cdef int64_t step = 1
    cdef int i
    if word is None or v.numel == 0 or v.ndim == 0 or (word == "columns" and v.ndim < 2):
        return v
    if isinstance(word, tuple):
        for i in range(v.ndim):
            strides[i] = word[i]
        return new_layout(v.storage, v.dtype, v.ndim, v.shape, strides, 0)
    order = list(range(v.ndim))                       # the axes, farthest first
    if word == "columns":
        order[v.ndim - 2], order[v.ndim - 1] = v.ndim - 1, v.ndim - 2
    else:
        for x in given.values():
            if isinstance(x, Tensor) and (<Tensor>x).layout.ndim == v.ndim:
                if (<Tensor>x).layout.shape_tuple() == v.shape_tuple() and dense((<Tensor>x).layout):
                    return _strided(v, x.stride(), given)
                order.sort(key=lambda k: -x.stride(k))
                break
    for i in reversed(order):
        strides[i] = step
        step *= v.shape[i]
    return new_layout(v.storage, v.dtype, v.ndim, v.shape, strides, 0)


cdef dtype _probe_dtype(Op op, PyObject** slots, int code):
    """The dtype of a pointwise result, from the forward on empty arrays."""
    cdef int i
    args = [numpy]
    for i in range(op.n_params):
        value = <object>slots[i]
        if isinstance(value, Tensor):
            value = numpy.empty(0, of_code(code if code >= 0 else (<Tensor>value).layout.dtype.code).numpy)
        args.append(value)
    out = numpy.asarray(run_forward(op, args))
    return layout_of_result(out, final_dtype(op, code, out, -1), False).dtype


cdef dtype _first_dtype(list values):
    for v in values:
        if isinstance(v, Tensor):
            return (<Tensor>v).layout.dtype
        if isinstance(v, (list, tuple)) and v and isinstance(v[0], Tensor):
            return (<Tensor>v[0]).layout.dtype


cdef object _meta_reduce(Op op, PyObject** slots, int code, device where):
    cdef Layout v = (<Tensor><object>slots[0]).layout
    dim = <object>slots[op.dim_at] if op.dim_at >= 0 else None
    keep = op.keepdim_at >= 0 and <object>slots[op.keepdim_at]
    axes = range(v.ndim) if dim is None else dim
    shape = [1 if i in axes else n for i, n in enumerate(v.shape_tuple()) if keep or i not in axes]
    d = final_dtype(op, code, numpy.empty(0, of_code(code).numpy), -1) if code >= 0 else v.dtype
    if code >= 0 and op.promote == PROMOTE_BOOL:
        d = of_code(BOOL)
    return _meta_layout(where, d if d is not None else of_code(code), shape)


cdef object _meta_by_zeros(Op op, list values, device where):
    """Shapes from running the forward on zeros: only for small inputs."""
    total = sum([(<Tensor>v).layout.numel for v in values if isinstance(v, Tensor)])
    if total > 1 << 22:
        raise NotImplementedError(f"{op.name}: not available for meta tensors of this size")
    def zeros(v):
        if isinstance(v, Tensor):
            return numpy.zeros(v.shape, (<Tensor>v).layout.dtype.numpy)
        return [zeros(x) for x in v] if isinstance(v, (list, tuple)) and v and isinstance(v[0], Tensor) else v
    out = run_forward(op, [numpy, *[zeros(v) for v in values]])
    def describe(x):
        x = numpy.asarray(x)
        return _meta_layout(where, layout_of_result(x, None, False).dtype, x.shape)
    return [describe(x) for x in out] if isinstance(out, tuple) else describe(out)
