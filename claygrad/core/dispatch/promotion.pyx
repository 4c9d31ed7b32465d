"""What a call's operands agree on: dtype, shape and device, or the error that says why they do not."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.op cimport POINTWISE, PROMOTE_FLOAT, PROMOTE_NONE, PROMOTE_SUM, Op, promotion_of
from claygrad.core.data.device cimport ACCELERATOR, CPU, apart, device
from claygrad.core.data.dtype cimport (BOOL, C32, C64, C128, CAT_COMPLEX, CAT_FLOAT, CAT_INT, F16, F64, I64, category_of, default_float,
                                       default_of_category, dtype, no_common_type, of_code, promote)
from claygrad.core.data.layout cimport Layout
from claygrad.core.tensor cimport CUT, Tensor, requires


cdef int _number_code(object value) except -2:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return I64
    if isinstance(value, float):
        return default_of_category(CAT_FLOAT)
    if isinstance(value, complex):
        return default_of_category(CAT_COMPLEX)
    return -1


cdef int _over(int higher, int lower) except -2:
    """Combine the dtype of a group with that of a weaker group (-1: the group is empty): torch's type promotion."""
    cdef int ch, cl
    if higher < 0:
        return lower
    if lower < 0:
        return higher
    ch = category_of(higher)
    cl = category_of(lower)
    if ch == CAT_COMPLEX:
        return higher
    if ch == CAT_FLOAT:
        if cl == CAT_COMPLEX:
            return C128 if higher == F64 else C32 if higher == F16 else C64
        return higher
    if cl == CAT_COMPLEX and ch == CAT_INT:
        return lower
    if higher == BOOL or cl >= CAT_FLOAT:
        return _common(higher, lower)
    return higher


cdef inline int _common(int a, int b) except -2:
    cdef int found = promote(a, b)
    if found < 0:
        raise no_common_type(a, b)
    return found


cdef class _Types:
    """Collects operands: tensors with dimensions decide, then 0-dim tensors, then Python numbers."""
    cdef int dims, zero, number

    def __cinit__(self):
        self.dims = self.zero = self.number = -1

    cdef int add(self, object value) except -1:
        cdef Layout v
        cdef int code
        if isinstance(value, Tensor):
            v = (<Tensor>value).layout
            code = v.dtype.code
            if v.ndim:
                self.dims = code if self.dims < 0 else _common(self.dims, code)
            else:
                self.zero = code if self.zero < 0 else _common(self.zero, code)
        elif value is not None:
            code = _number_code(value)
            if code >= 0:
                self.number = code if self.number < 0 else _common(self.number, code)
        return 0

    cdef int result(self) except -2:
        return _over(self.dims, _over(self.zero, self.number))


def result_type(*operands):
    """The dtype of an operation on these tensors and numbers."""
    cdef _Types types = _Types()
    for x in operands:
        types.add(x)
    return of_code(types.result())


cdef int result_code(Op op, PyObject** slots) except? -2:
    cdef _Types types
    cdef int i, code
    cdef int promote_ = promotion_of(op, slots)
    if promote_ == PROMOTE_NONE:
        return -1
    types = _Types()
    for i in range(op.n_tensors):
        if op.kept[op.tensors[i]]:
            continue
        value = <object>slots[op.tensors[i]]
        if i == op.list_at and not isinstance(value, Tensor):
            for x in value:
                types.add(x)
        else:
            types.add(value)
    code = types.result()
    if op.dtype_at >= 0 and <object>slots[op.dtype_at] is not None:
        return (<dtype>(<object>slots[op.dtype_at])).code
    if promote_ == PROMOTE_FLOAT and category_of(code) < CAT_FLOAT:
        return default_float().code
    if promote_ == PROMOTE_SUM and category_of(code) < CAT_FLOAT:
        return I64
    return code


cdef int broadcast(Layout a, int64_t* shape, int ndim) noexcept:
    """Broadcast `shape` (ndim sizes at the end of an array of 64) with the shape of a; -1 if they do not broadcast."""
    cdef int i
    cdef int64_t n, m
    for i in range(a.ndim):
        n = a.shape[a.ndim - 1 - i]
        if i >= ndim:
            shape[63 - i] = n
            continue
        m = shape[63 - i]
        if m == 1:
            shape[63 - i] = n
        elif n != 1 and n != m:
            return -1
    return a.ndim if a.ndim > ndim else ndim


cdef int check_broadcast(Op op, PyObject** slots) except -1:
    cdef int64_t shape[64]
    cdef int i, ndim = 0
    for i in range(op.n_tensors):
        value = <object>slots[op.tensors[i]]
        if isinstance(value, Tensor):
            ndim = broadcast((<Tensor>value).layout, shape, ndim)
            if ndim < 0:
                raise _mismatch(op, slots)
    return 0


cdef object _mismatch(Op op, PyObject** slots):
    """The error for operands that do not broadcast: their shapes and origins."""
    cdef int i
    tensors = [<object>slots[op.tensors[i]] for i in range(op.n_tensors) if isinstance(<object>slots[op.tensors[i]], Tensor)]
    so_far, ndim = {}, 0
    for t in tensors:
        for back, n in enumerate(reversed((<Tensor>t).layout.shape_tuple())):
            m = so_far.get(back, 1)
            if m != 1 and n != 1 and m != n:
                ndim = max([len((<Tensor>x).layout.shape_tuple()) for x in tensors])
                return RuntimeError(f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton dimension "
                                    f"{ndim - 1 - back}")
            so_far[back] = n if m == 1 else m
    return RuntimeError("shapes do not broadcast")


def facts(Tensor t):
    """What errors say about a tensor: shape, dtype, device, origin (code and instruction, or None), whether it was cut from a
    graph, and whether it requires grad. No code of a subclass runs."""
    cdef Tensor known = t if t.node is not None or t.code is not None or t.base is None else t.base
    origin = None
    if known.node is not None:
        origin = (known.node.code, known.node.lasti)
    elif known.code is not None:
        origin = (known.code, known.lasti)
    if origin is not None and origin[0] is None:
        origin = None
    return (t.layout.shape_tuple(), t.layout.dtype.name, str(t.layout.storage.where), origin, t.mark == CUT and t.node is None,
            requires(t))


# Operations that are not elementwise and take a 0-dim CPU tensor for a number, or indices on the CPU, as PyTorch does.
cdef frozenset _TAKE_SCALARS = frozenset(("fill", "fill_", "masked_fill", "masked_fill_", "index_fill", "index_fill_", "index_put",
                                          "index_put_", "_index_put_impl_"))
cdef frozenset _TAKE_INDICES = frozenset(("index", "index_put", "index_put_"))


cdef device common_device(Op op, PyObject** slots):
    """The device of all tensor arguments, or of the first if they may differ; a 0-dim CPU tensor goes anywhere."""
    cdef device found = None
    cdef Tensor first = None, t
    cdef int i
    for i in range(op.n_tensors):
        value = <object>slots[op.tensors[i]]
        for x in (value if isinstance(value, (list, tuple)) else (value,)):
            if not isinstance(x, Tensor):
                continue
            t = <Tensor>x
            if found is None:
                found = t.layout.storage.where
                first = t
            elif t.layout.storage.where is not found and apart(t.layout.storage.where, found):
                if op.info.get("across"):
                    continue
                if t.layout.storage.where.kind == CPU and (t.layout.ndim == 0 and (op.kind == POINTWISE or op.name in _TAKE_SCALARS)
                                                           or i == op.list_at and op.name in _TAKE_INDICES):
                    continue
                if first.layout.ndim == 0 and found.kind == CPU and op.kind == POINTWISE:
                    found = t.layout.storage.where
                    first = t
                    continue
                if t.layout.storage.where.kind == ACCELERATOR or found.kind == ACCELERATOR:
                    raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                                       f"{found} and {t.layout.storage.where}!")
                raise RuntimeError(f"Tensor on device {t.layout.storage.where} is not on the expected device {found}!")
            elif first.layout.ndim == 0:
                first = t                        # a tensor with dimensions decides
    return found
