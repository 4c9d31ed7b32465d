"""Elementwise kernels for operands of any shapes, strides and dtypes, and numbers: what claygrad/kernels/elementwise/plan.hpp runs.

A kernel is a line in a table of the family "each" and its name in a declaration; the families "unary", "binary" and "compare",
whose own paths (native/elementwise.pyx) know contiguous operands of one dtype, run here for all others.
"""
from cpython.object cimport PyObject
from libc.stdint cimport INT8_MAX, INT16_MAX, INT32_MAX, int64_t

from claygrad.core.op cimport FAMILY_BINARY, FAMILY_COMPARE, FAMILY_UNARY, P_TENSOR_NUM_OPT, POINTWISE, Op, fast_t, run_check
from claygrad.core.data.dtype cimport (BF16, BOOL, C32, C64, CAT_FLOAT, CAT_INT, F16, F32, F64, I8, I16, I32, I64, N_NATIVE, U8,
                                       dtype, of_code)
from claygrad.core.data.scalar cimport Number, bound_of, cast_between, cast_fn, operand_of
from claygrad.core.dispatch.reference cimport iterated_order
from claygrad.core.data.layout cimport Layout, by_stride, fresh, fresh_strided, row_major, same_view
from claygrad.native.elementwise cimport fresh_run, same_run, is_permuted
from claygrad.core.dispatch.promotion cimport broadcast, result_code
from claygrad.core.dispatch.registry cimport STRIDED_TABLE, offer_table
from claygrad.core.tensor cimport Tensor

cdef extern from "platform/dtypes.hpp" namespace "clay" nogil:
    ctypedef struct Kernel:
        void* function
        int result
        int64_t grain
        bint refuses, lines

cdef extern from "platform/api.hpp" namespace "clay" nogil:
    const Kernel* find_entry(const char* family, const char* name, int dtype) noexcept

cdef extern from "elementwise/plan.hpp" namespace "clay" nogil:
    enum:
        RUN_NONE
        RUN_EACH
        RUN_UNARY
        RUN_BINARY
        RUN_CAST
        RUN_LINES
    ctypedef struct Numbers:
        double value[4]
        unsigned int given
    ctypedef struct EachOperand:
        const char* data
        int64_t steps[64]
        int64_t size
        cast_fn cast, alone
    ctypedef struct EachPlan:
        void* kernel
        int kind, operands, ndim
        Numbers numbers
        int64_t shape[64]
        EachOperand inputs "in"[4]
        char* out
        bint apart
        int64_t out_steps[64]
        int64_t size, computed_size, out_size
        cast_fn cast
        int64_t grain
    bint run_each(EachPlan& plan) noexcept

cdef extern from "platform/threads.hpp" namespace "clay" nogil:
    const int64_t COSTLY

# Elements above which a kernel runs without the interpreter lock.
cdef enum:
    RELEASE = 32768
    FEW = 1000                          # elements up to which recomputing is faster than reading an optional operand


cdef double _largest_exact(int code) noexcept:
    """The largest integer of a dtype that a double holds exactly."""
    return 0xff if code == U8 else INT8_MAX if code == I8 else INT16_MAX if code == I16 else INT32_MAX if code == I32 else 2.0 ** 53


cdef bint _attributes(Op op, PyObject** slots, int code, Numbers* out) except -1:
    """Read the parameters declared as `...`; False if the others do not have the values that the kernel is for.
    Integer kernels take whole numbers within the range of their dtype, up to sign."""
    cdef int i, n = 0
    cdef bint whole = of_code(code).category <= CAT_INT
    out.given = 0
    for i in range(op.n_kernel_if):
        value = <object>slots[op.kernel_if_at[i]]
        want = <object>(<tuple>op.kernel_if)[i]
        if want is ...:
            out.value[n] = 0
            if value is not None:
                if type(value) is not int and (whole or type(value) is not float):
                    return False
                out.value[n] = value
                if whole and not -_largest_exact(code) <= out.value[n] <= _largest_exact(code):
                    return False
                out.given |= 1U << n
            n += 1
        elif value is not want and (value != want or isinstance(value, bool)):
            return False
    return True


cdef bint _passes(Op op, PyObject** slots) except -1:
    """Whether the operation's check passes; if not, the reference raises the error."""
    try:
        run_check(op, slots)
    except Exception:
        return False
    return True


cdef bint _is_row_major(Layout v, int ndim, const int64_t* shape) noexcept:
    """Whether the strides are row-major, so that the result is contiguous."""
    cdef int i
    if v.contiguous:
        return True
    for i in range(ndim):
        if shape[i] == 1:                            # its stride does not matter
            return False
    return row_major(v)


cdef bint _apart(Layout v, Layout target) noexcept:
    """Whether an operand may be read while the target is written: other memory, or the same elements."""
    return v.storage is not target.storage or same_view(v, target)


cdef bint _by_memory(Layout v, int* axes) noexcept:
    """The axes by decreasing stride; False if elements may overlap."""
    cdef int i
    cdef int64_t reach = 0
    by_stride(v, v.ndim, axes)
    for i in range(v.ndim - 1, -1, -1):
        if v.shape[axes[i]] > 1:
            if v.strides[axes[i]] <= reach:
                return False
            reach += v.strides[axes[i]] * (v.shape[axes[i]] - 1)
    return True


cdef inline bint _bounds(PyObject* low, PyObject* high) noexcept:
    """Whether clamp has a bound, and two bounds are both tensors or both numbers."""
    if low == <PyObject*>None or high == <PyObject*>None:
        return low != high
    return isinstance(<object>low, Tensor) == isinstance(<object>high, Tensor)


cdef int _computed_in(Op op, int code, bint same_dtype) noexcept:
    """The compute dtype: half precision in float32, narrow integers in wider ones; -1: no kernel."""
    if (code == F16 or code == BF16) and op.each_kinds[code] != RUN_EACH:
        if not same_dtype or op.half_raw:
            return -1
        if op.each_kinds[code] == RUN_LINES:
            return code
        return F32 if op.each_kinds[F32] != RUN_NONE and (op.each_results[F32] == F32 or op.each_results[F32] == BOOL) else -1
    if code == C32:
        return -1 if op.half_raw or op.each_kinds[C64] == RUN_NONE else C64
    if op.each_kinds[code] != RUN_NONE:
        return code
    if (code == U8 or code == I8 or code == I16 or code == I32) and op.each_kinds[I64] != RUN_NONE:
        return I64
    return -1


cdef Layout run(Op op, PyObject** slots, Layout target):
    cdef EachPlan plan
    cdef Number numbers[4]
    cdef PyObject* layouts[4]
    cdef int64_t sizes[64]
    cdef int64_t* shape
    cdef int64_t result
    cdef int i, k, at, code, computed, ndim = 0, n = op.n_tensors
    cdef int axes[64]
    cdef int64_t strides[64]
    cdef bint same_dtype = True, all_contiguous = True, whole, mixed = False, by_number = False, half, ok
    cdef Layout v, first = None, out
    cdef dtype kept
    for k in range(n):
        value = <object>slots[op.tensors[k]]
        layouts[k] = NULL
        if isinstance(value, Tensor):
            v = (<Tensor>value).layout
            if v.numel == 0:
                return None
            layouts[k] = <PyObject*>v
            if first is None:
                first = v
            elif v.dtype is not first.dtype:
                same_dtype = False
            all_contiguous = all_contiguous and v.contiguous
            ndim = broadcast(v, sizes, ndim)
            if ndim < 0:
                return None
        elif type(value) is complex or type(value) is bool:
            same_dtype = False
    if first is None:
        return None
    code = first.dtype.code
    if not same_dtype or first.dtype.category < CAT_FLOAT:
        code = result_code(op, slots)
        if code < 0:
            if not same_dtype:
                return None
            code = first.dtype.code
    computed = _computed_in(op, code, same_dtype)
    if computed < 0 or (op.n_kernel_if and not _attributes(op, slots, code, &plan.numbers)):
        return None
    if target is not None and op.each_refuses[computed]:
        return None                                  # computed in new memory, then copied
    if n > 2 and op.kinds[op.tensors[n - 2]] == P_TENSOR_NUM_OPT and not _bounds(slots[op.tensors[n - 2]], slots[op.tensors[n - 1]]):
        return None
    if op.check is not None and not (op.checks_dtypes and same_dtype and first.dtype.category == CAT_FLOAT) and not _passes(op, slots):
        return None
    half = op.each_kinds[computed] == RUN_LINES and (computed == F16 or computed == BF16)      # single elements are passed as floats
    kept = of_code(code if op.each_results[computed] == computed else F16 if code == C32 and op.each_results[computed] == F32
                   else op.each_results[computed])
    shape = sizes + 64 - ndim
    whole = False                                    # the operands are dense with the same strides
    plan.apart = target is not None and not target.contiguous
    for i in range(ndim):
        axes[i] = i
    if plan.apart:
        if target.ndim != ndim or not _by_memory(target, axes):
            return None
    elif not all_contiguous:
        for k in range(n):
            if layouts[k] != NULL and not _is_row_major(<Layout>layouts[k], ndim, shape):
                whole = True
        if whole:
            for k in range(n):
                v = <Layout>layouts[k] if layouts[k] != NULL else None
                if v is None or v.numel == 1 and v.ndim == 0:
                    continue
                if not (is_permuted(first) if v is first else same_run(v, first)):
                    mixed = True                     # different orders of axes, or gaps
            if target is not None:
                return None
            mixed = mixed or first.ndim == 0
            whole = not mixed
    if mixed:
        iterated_order(op, slots, ndim, shape, axes)
        for i in range(ndim // 2):
            axes[i], axes[ndim - 1 - i] = axes[ndim - 1 - i], axes[i]
    plan.operands = n
    plan.size = of_code(computed).itemsize
    if whole:
        plan.ndim = 1
        plan.shape[0] = first.numel
    else:
        plan.ndim = ndim
        for i in range(ndim):
            plan.shape[i] = shape[axes[i]]
    for k in range(n):
        if layouts[k] == NULL:
            value = <object>slots[op.tensors[k]]
            ok = (bound_of(k == n - 1, F32 if half else computed, &numbers[k]) if value is None
                  else operand_of(value, code, F32 if half else computed, op.tensors[k] != op.wide_at, &numbers[k]))
            if not ok:
                return None
            if k == 1 and op.number_kernels[computed] != NULL:       # a separate kernel for numbers
                if n != 2 or computed != F32 and computed != F64:
                    return None
                by_number = True
                plan.operands = 1
                plan.numbers.value[0] = numbers[k].f32 if computed == F32 else numbers[k].f64
            plan.inputs[k].data = <const char*>&numbers[k]
            plan.inputs[k].size = plan.size
            plan.inputs[k].cast = plan.inputs[k].alone = NULL
            for i in range(plan.ndim):
                plan.inputs[k].steps[i] = 0
            continue
        v = <Layout>layouts[k]
        if (computed != code and v.dtype.code != code and v.dtype.category == CAT_INT
                and v.dtype.itemsize >= of_code(code).itemsize):
            return None                              # the number must be wrapped first
        plan.inputs[k].data = v.data()
        plan.inputs[k].size = v.dtype.itemsize
        plan.inputs[k].cast = NULL
        if v.dtype.code != computed:
            plan.inputs[k].cast = cast_between(v.dtype.code, computed)
            if plan.inputs[k].cast == NULL:
                return None
        plan.inputs[k].alone = cast_between(computed, F32) if half else plan.inputs[k].cast
        if whole:
            plan.inputs[k].steps[0] = v.dtype.itemsize if v.ndim else 0
        else:
            for i in range(ndim):
                at = axes[i] - (ndim - v.ndim)
                plan.inputs[k].steps[i] = 0 if at < 0 or v.shape[at] == 1 else v.strides[at] * v.dtype.itemsize
        if target is not None and not _apart(v, target):
            return None
    plan.computed_size = of_code(op.each_results[computed]).itemsize
    plan.cast = NULL
    if kept.code != op.each_results[computed]:
        plan.cast = cast_between(computed, kept.code)
        if plan.cast == NULL:
            return None
    if mixed:
        result = 1
        for i in range(ndim - 1, -1, -1):
            strides[axes[i]] = result
            result *= shape[axes[i]]
        out = fresh_strided(kept, ndim, shape, strides)
    elif target is None:
        out = fresh_run(first, kept) if whole else fresh(kept, ndim, shape)
    else:
        out = target
        if out.dtype is not kept or out.ndim != ndim:
            return None
        for i in range(ndim):
            if out.shape[i] != shape[i]:
                return None
    plan.out = out.data()
    plan.out_size = kept.itemsize
    if plan.apart:
        for i in range(ndim):
            plan.out_steps[i] = out.strides[axes[i]] * kept.itemsize
    plan.kernel = op.each_kernels[computed]
    plan.kind = op.each_kinds[computed]
    plan.grain = op.each_grains[computed]
    if by_number:
        plan.kernel, plan.kind = op.number_kernels[computed], RUN_UNARY
    if out.numel > RELEASE:
        with nogil:
            ok = run_each(plan)
    else:
        ok = run_each(plan)
    return out if ok else None


cdef int cast_apart(cast_fn f, Layout x, Layout out) except -1:
    cdef EachPlan plan
    cdef int i
    plan.kernel, plan.kind, plan.operands, plan.ndim, plan.grain = <void*>f, RUN_CAST, 1, x.ndim, COSTLY
    plan.apart = False
    plan.cast = plan.inputs[0].cast = plan.inputs[0].alone = NULL
    plan.size = plan.inputs[0].size = x.dtype.itemsize
    plan.computed_size = plan.out_size = out.dtype.itemsize
    plan.inputs[0].data, plan.out = x.data(), out.data()
    for i in range(x.ndim):
        plan.shape[i] = x.shape[i]
        plan.inputs[0].steps[i] = 0 if x.shape[i] == 1 else x.strides[i] * x.dtype.itemsize
    with nogil:
        run_each(plan)
    return 0


cdef Layout _otherwise(Op op, PyObject** slots, Layout target):
    """The native form of its family, else this one; some parameter values select a variant of the operation."""
    cdef Layout out = <Layout>op.own_fast(op, slots, target) if op.own_fast != NULL else None
    cdef Op other
    if out is None:
        out = run(op, slots, target)
    if out is None and op.variants is not None:
        value = <object>slots[op.variant_at]
        other = (<dict>op.variants).get(value if type(value) is str else ...)
        if other is not None and (target is None or target.contiguous or other.fast_any):
            return other.fast(other, slots, target)
    return out


cdef Layout _sparing(Op op, PyObject** slots, Layout target):
    """With the optional last operand; without it for few elements and for half precision."""
    cdef Layout v
    if isinstance(<object>slots[0], Tensor):
        v = (<Tensor><object>slots[0]).layout
        if v.numel > FEW and (v.dtype.code == F32 or v.dtype.code == F64):
            return run(op, slots, target)
    return op.without_last.fast(op.without_last, slots, target)


cdef bint _table(Op op, str kernel, bint has_form) except -1:
    """Give an operation the strided kernel of this name, tried after its other native form."""
    cdef int code
    cdef const Kernel* entry
    cdef bint found = False
    cdef bytes name = kernel.encode()
    if op.kind != POINTWISE or op.n_tensors > 4 or op.n_tensors == 0 or op.list_at >= 0:
        return False
    for code in range(N_NATIVE):
        entry = find_entry(b"each", name, code)
        if entry != NULL:
            op.each_kernels[code], op.each_grains[code] = entry.function, entry.grain
            op.each_kinds[code] = RUN_LINES if entry.lines else RUN_EACH
            op.each_results[code] = code if entry.result < 0 else entry.result
            op.each_refuses[code] = entry.refuses
        elif op.kernels[code] != NULL and op.family == FAMILY_UNARY and op.n_tensors == 1:
            op.each_kernels[code], op.each_kinds[code], op.each_grains[code] = op.kernels[code], RUN_UNARY, COSTLY
            op.each_results[code] = code
        elif op.kernels[code] != NULL and (op.family == FAMILY_BINARY or op.family == FAMILY_COMPARE) and op.n_tensors == 2:
            op.each_kernels[code], op.each_kinds[code], op.each_grains[code] = op.kernels[code], RUN_BINARY, COSTLY
            op.each_results[code] = BOOL if op.family == FAMILY_COMPARE else code
        found = found or op.each_kinds[code] != RUN_NONE
    if not found:
        return False
    op.checks_dtypes = op.info.get("check_of") == "dtypes"
    variants = op.info.get("variants")
    if variants is not None:
        op.variant_at = op.params.index(variants[0])
        op.variants = variants[1]
    op.without_last = op.info.get("without_last")
    if op.without_last is not None:
        op.fast, op.fast_any = <fast_t>_sparing, True
    elif op.fast == NULL and op.variants is None:
        op.fast, op.fast_any = <fast_t>run, True
    elif op.fast == NULL or op.family:
        op.own_fast = op.fast
        op.fast, op.fast_any = <fast_t>_otherwise, True
    return True


offer_table(STRIDED_TABLE, _table)
