"""Operations on an accelerator: the declared forward over the device's array module (Note [Accelerators] in core/data/device.pxd)."""
import sys

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.cpython.recursion cimport enter_recursion, leave_recursion
from claygrad.core.data.device cimport ACCELERATOR, device
from claygrad.core.data.dtype cimport BF16, C32, F16, F32, dtype, from_numpy, narrow, of_code, promote, wider
from claygrad.core.data.layout cimport Layout, bytes_of, new_layout
from claygrad.core.data.storage cimport storage_on
from claygrad.core.data.transfer cimport adopt_array, array_on, cast_on, to_host
from claygrad.core.dispatch.call cimport compute_native
from claygrad.core.dispatch.reference cimport (call_declared, cast_code, enter_quiet, final_dtype, iterated_strides,
                                               end_quiet, number_array, run_off_cpu_by)
from claygrad.core.errors import Lacking
from claygrad.core.op cimport P_TENSORS, POINTWISE, REDUCTION, Op
from claygrad.core.tensor cimport Tensor, new_tensor


cdef object _array(Layout v, device where, int code, bint half_raw, bint wide):
    """A tensor's elements on the device, in the compute dtype: Note [Half precision] in core/dispatch/reference.pyx."""
    cdef int want = code if code >= 0 else v.dtype.code
    cdef dtype have = v.dtype
    array = array_on(v, where)
    if narrow(want) and (not half_raw or want != F16):    # of the two half dtypes, array modules know only float16
        if want != have.code and not wide:
            array, have = cast_on(where.table, array, have, of_code(want)), of_code(want)
        want = wider(want)
    return cast_on(where.table, array, have, of_code(want))


cdef object _listed(object x, device where, int code, bint half_raw):
    return None if x is None else _array((<Tensor?>x).layout, where, code, half_raw, False)


cdef object _arguments(Op op, PyObject** slots, int code, device where, int* half):
    """The arguments of the forward after `xp`; `half` becomes the dtype that float32 results are rounded to, or -1."""
    cdef int i
    cdef int rounded = -1
    cdef bint told = False
    cdef Layout v
    cdef list args = []
    half[0] = code if narrow(code) else -1
    if op.name == "bincount" and isinstance(<object>slots[1], Tensor) and (<Tensor>slots[1]).layout.dtype.code == BF16:
        raise Lacking("weights of dtype bfloat16")
    for i in range(op.n_params):
        value = <object>slots[i]
        if i == op.inplace_at:
            value = False
        elif op.kept[i] and isinstance(value, Tensor):
            v = (<Tensor>value).layout
            value = _array(v, where, -1, True, False)
        elif op.kinds[i] <= P_TENSORS:
            if isinstance(value, Tensor):
                v = (<Tensor>value).layout
                if half[0] < 0 and narrow(v.dtype.code) and (not op.half_raw or v.dtype.code != F16):
                    half[0] = v.dtype.code
                value = _array(v, where, code if op.dtype_at < 0 or code < 0 else cast_code(op, slots, code, v), op.half_raw,
                               i == op.wide_at and v.ndim == 0)
            elif op.kinds[i] == P_TENSORS:
                for x in value:
                    if x is not None and narrow((<Tensor>x).layout.dtype.code):
                        half[0] = (<Tensor>x).layout.dtype.code if half[0] < 0 else promote(half[0], (<Tensor>x).layout.dtype.code)
                value = [_listed(x, where, code, op.half_raw) for x in value]
            elif value is not None and code >= 0:
                value = number_array(value, code, op.half_raw and code == F16, i == op.wide_at)
        elif isinstance(value, dtype):
            told = True
            if (<dtype>value).code >= C32:
                raise Lacking(f"results of dtype {(<dtype>value).name}")
            if (<dtype>value).code == BF16:           # computed in float32, and rounded at the end
                rounded, value = BF16, of_code(F32)
        args.append(value)
    if op.half_raw and half[0] == F16 or told or (code >= 0 and not narrow(code)):
        half[0] = rounded
    return args


cdef list _told(Op op, PyObject** slots):
    """The dtypes of several results, where the declaration tells them."""
    cdef int i
    if op.meta is None or op.meta == "data":
        return []
    given = {op.params[i]: <object>slots[i] for i in range(op.n_params)}
    out = op.meta(*[given[name] for name in op.meta.__code__.co_varnames[:op.meta.__code__.co_argcount]])
    return [x[1] for x in out] if isinstance(out, list) and all([len(x) == 2 and isinstance(x[1], dtype) for x in out]) else []


cdef list _blocks(Op op, PyObject** slots):
    """The memory blocks of the inputs: a result that shares one of them is copied."""
    cdef int i
    out = []
    for i in range(op.n_params):
        value = <object>slots[i]
        for x in (value if isinstance(value, (list, tuple)) else (value,)):
            if isinstance(x, Tensor) and (<Tensor>x).layout.storage.where.kind == ACCELERATOR:
                out.append((<Tensor>x).layout.storage.owner)
    return out


cdef Layout _result(Op op, object array, int code, int half, device where, list blocks, bint keep_order):
    cdef dtype have, want
    table = where.table
    array = table.as_array(array, where.index)
    have = from_numpy(array.dtype)
    want = final_dtype(op, code, array, half)
    if want is None:
        want = have
    if want.code == C32:
        raise Lacking("results of dtype complex32")
    return adopt_array(where, cast_on(table, array, have, want), want, keep_order, blocks)


cdef Layout _in_iterated_order(Op op, PyObject** slots, Layout result):
    """A pointwise result with torch's strides."""
    cdef int64_t strides[64]
    cdef Layout out
    if not iterated_strides(op, slots, result, strides):
        return result
    out = new_layout(storage_on(result.storage.where, bytes_of(result.dtype, result.ndim, result.shape)),
                     result.dtype, result.ndim, result.shape, strides, 0)
    result.storage.where.table.assign(out.array_there(), result.array_there())
    return out


# These are computed in main memory with the device's generator and then uploaded: random numbers, draws from distributions with
# tensor parameters, and the derivatives of such draws.
cdef frozenset _DRAWN = frozenset(("_standard_gamma", "_standard_gamma_grad", "_sample_dirichlet", "_dirichlet_grad", "poisson",
                                   "_binomial"))


cdef object _on_accelerator(Op op, PyObject** slots, int code, device where):
    cdef int half
    cdef list args, blocks
    table = where.table
    if op.name in _DRAWN:
        return _on_host(op, slots, where)
    ctx = enter_quiet()
    try:
        with table.on(where.index):
            args = _arguments(op, slots, code, where, &half)
            blocks = _blocks(op, slots)
            form = table.forms.get(op.name)
            result = None if form is None else form(table.xp, *args)
            if result is None:                        # no native form, or not for such arguments
                result = call_declared(op, [table.xp, *args], 1)
            if isinstance(result, tuple):
                keep = op.kind != REDUCTION and not op.info.get("contiguous")
                several, told = [], _told(op, slots) if op.half_raw and half >= 0 else []
                for x in result:
                    wide = len(several) < len(told) and not narrow((<dtype>told[len(several)]).code)
                    several.append(_result(op, x, code, -1 if wide else half, where, blocks, keep))
                    blocks.append((<Layout>several[-1]).storage.owner)
                return several
            out = _result(op, result, code, half, where, blocks, op.kind != REDUCTION)
            return _in_iterated_order(op, slots, out) if op.kind == POINTWISE else out
    except Exception as error:
        if not table.lacks(error, sys.exc_info()[2]):
            raise
        if not table.may_use_host():
            raise NotImplementedError(table.lacking_text(op.name, error)) from error
    finally:
        end_quiet(ctx)
    table.note_host_use(op.name)
    return _on_host(op, slots, where)


cdef object _on_host(Op op, PyObject** slots, device where):
    """Run on copies in main memory, and upload the result."""
    cdef int i
    cdef PyObject* copies[24]
    cdef list held = []
    cdef object out, follow = None
    for i in range(op.n_params):
        if op.params[i] == "generator":
            twin, follow = where.table.host_twin(<object>slots[i], where)
            held.append(twin)
        else:
            held.append(_hosted(<object>slots[i]))
        copies[i] = <PyObject*>held[i]
    out = compute_native(op, copies)
    if follow is not None:
        follow()
    return [_back(<Layout>x, where) for x in out] if isinstance(out, list) else _back(<Layout>out, where)


cdef object _hosted(object value):
    if isinstance(value, Tensor):
        return new_tensor(to_host((<Tensor>value).layout))
    if isinstance(value, (list, tuple)):
        enter_recursion(b" in an argument")
        try:
            return type(value)([_hosted(x) for x in value])
        finally:
            leave_recursion()
    return value


cdef Layout _back(Layout v, device where):
    return adopt_array(where, array_on(v, where), v.dtype, True, [])


run_off_cpu_by(_on_accelerator)
