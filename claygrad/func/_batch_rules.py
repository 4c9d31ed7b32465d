"""How each operation works on a whole batch: by family, the families from the declarations where they tell.

A rule gets a Call: the arguments as they are inside the level, where batches have their axis first, and which of them
are batches. It returns tensors with the batch as first axis. `each`, which runs an operation once per example and
stacks the results, serves what has no rule; the tests compare every rule with it.
"""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from claygrad.autograd._batched import value_at
from claygrad.core import Tensor, op_named
from claygrad.func import _batch_draws
from claygrad.ops._registry import NAMESPACES

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.autograd._batched import Call

DRAWS, draw, draw_batch, make = (_batch_draws.DRAWS, _batch_draws.draw, _batch_draws.draw_batch, _batch_draws.make)
RULES: dict[str, Callable[[Call], Any]] = {}
ops = NAMESPACES["torch"]


def rule(*names: str) -> Callable[[Callable[[Call], Any]], Callable[[Call], Any]]:
    """Say that a function is the rule of operations of these names."""
    def kept(function: Callable[[Call], Any]) -> Callable[[Call], Any]:
        for name in names:
            RULES[name] = function
        return function
    return kept


def answer(call: Call) -> Any:
    """The result of the operation on the batch."""
    found = RULES.get(call.name)
    if found is not None:
        result = found(call)
        if result is not NotImplemented:
            return result
    elif call.operation.kind == "pointwise":
        return elementwise(call)
    elif call.operation.op.info["declaration"].kind == "reduction":
        return reduced(call)
    return each(call)


# --- tools -----------------------------------------------------------------------------------------------------

def rank(call: Call, i: int) -> int:
    """How many axes an example of the i-th argument has."""
    return call.values[i].ndim - bool(call.flags[i])


def axis(dim: int, n: int) -> int:
    """The number of an example's axis, from the front."""
    room = max(n, 1)
    if not -room <= dim < room:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-room}, {room - 1}], but got {dim})")
    return dim % room


def full(call: Call, i: int) -> Tensor:
    """The i-th argument as a batch."""
    value: Tensor = call.values[i]
    if call.flags[i]:
        return value
    made: Tensor = value.unsqueeze(0).expand(call.size, *value.shape)
    return made


def raised(value: Tensor, n: int) -> Tensor:
    """A batch with axes of length one behind that of the batch, until an example has n."""
    while value.ndim - 1 < n:
        value = value.unsqueeze(1)
    return value


def where_is(call: Call, name: str) -> int:
    """The number of a parameter."""
    return call.params.index(name)


def tensors(call: Call) -> list[int]:
    """The numbers of the arguments that are tensors."""
    return [i for i, value in enumerate(call.values) if isinstance(value, Tensor)]


def with_values(call: Call, **changed: Any) -> list[Any]:
    """The arguments with others in some places."""
    values = list(call.values)
    for name, value in changed.items():
        values[call.params.index(name)] = value
    return values


def each(call: Call) -> Any:
    """Once per example."""
    if call.operation.kind in ("view", "views"):
        raise NotImplementedError(f"vmap: {call.name} has no rule for batches")
    if call.name in _DYNAMIC:
        raise RuntimeError(f"vmap: We do not support batching operators that can output dynamic shape. Attempted to "
                           f"vmap over aten::{call.name}. Please file an issue at "
                           "https://github.com/pytorch/pytorch/issues if you need this feature.")
    if call.size == 0:
        results = [call.run([_example(call, i, None) for i in range(len(call.values))])]
    else:
        results = [call.run([_example(call, i, k) for i in range(len(call.values))]) for k in range(call.size)]
    if call.operation.in_place:
        return call.values[0]
    first = results[0]
    if not isinstance(first, (tuple, list)):
        return _stacked(results, call.size)
    parts = [_stacked(list(column), call.size) for column in zip(*results, strict=True)]
    return tuple(parts) if type(first) in (tuple, list) else type(first)(parts)


_DYNAMIC = frozenset("nonzero masked_select _unique2 unique_consecutive unique_dim bincount interleaved".split())


def _example(call: Call, i: int, k: int | None) -> Any:
    value, flag = call.values[i], call.flags[i]
    if isinstance(flag, list):
        return [_one(x, k) if batch else x for x, batch in zip(value, flag, strict=True)] if any(flag) else value
    return _one(value, k) if flag else value


def _one(value: Tensor, k: int | None) -> Tensor:
    made: Tensor = value.new_zeros(value.shape[1:]) if k is None else value.select(0, k)
    return made


def _stacked(parts: list[Any], size: int) -> Any:
    if not isinstance(parts[0], Tensor):
        return parts[0]
    return ops["stack"](parts)[:size]


# --- elementwise -----------------------------------------------------------------------------------------------

def elementwise(call: Call) -> Any:
    """All examples have as many axes as the one with the most; then shapes broadcast as they are."""
    at = tensors(call)
    n = max(rank(call, i) for i in at)
    values = list(call.values)
    for i in at:
        if call.flags[i]:
            values[i] = raised(_as_number(call, i, n), n)
    result = call.run(values)
    if isinstance(result, Tensor) and result.ndim == n:              # it reads nothing of what is a batch
        result = result.unsqueeze(0).expand(call.size, *result.shape)
    return result


def _as_number(call: Call, i: int, n: int) -> Tensor:
    """A batch of numbers does not decide on the dtype beside tensors with axes, as a single number would not."""
    value: Tensor = call.values[i]
    if n == 0 or rank(call, i) > 0 or (value.dtype.is_floating_point is False and value.dtype.is_complex is False \
            and value.element_size() == 1):
        return value
    others = [x.dtype for k, x in enumerate(call.values) if isinstance(x, Tensor) and rank(call, k) > 0]
    kind = others[0]
    for other in others[1:]:
        kind = ops["promote_types"](kind, other)
    same = kind.is_floating_point == value.dtype.is_floating_point and kind.is_complex == value.dtype.is_complex
    return value.to(kind) if same and kind != value.dtype else value


def aligned(call: Call) -> Any:
    """Matrices behind axes of a batch: those of one more batch are in front."""
    at = tensors(call)
    n = max(rank(call, i) for i in at)
    values = list(call.values)
    for i in at:
        values[i] = raised(full(call, i), n)
    return call.run(values)


# --- reductions ------------------------------------------------------------------------------------------------

def reduced(call: Call) -> Any:
    """Over axes of the example; without any named, over all of them as one."""
    value, n = call.values[0], rank(call, 0)
    if not call.flags[0] or "dim" not in call.params:
        return each(call)
    at = where_is(call, "dim")
    dim = call.values[at]
    keep = "keepdim" in call.params and bool(call.values[where_is(call, "keepdim")])
    values = list(call.values)
    if dim is None or dim == () or dim == []:
        values[0] = value.flatten(1) if n != 0 else value.unsqueeze(1)
        values[at] = (1,)
        if "keepdim" in call.params:
            values[where_is(call, "keepdim")] = False
        return _reshaped(call.run(values), (call.size, *[1] * n)) if keep else call.run(values)
    if n == 0:
        values[0] = value.unsqueeze(1)
        if "keepdim" in call.params:
            values[where_is(call, "keepdim")] = False
    values[at] = tuple(axis(d, n) + 1 for d in dim)
    return call.run(values)


def _reshaped(result: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(result, Tensor):
        return result.reshape(shape)
    return type(result)([x.reshape(shape) for x in result])


@rule("max", "min", "median", "nanmedian")
def _whole_or_along(call: Call) -> Any:
    if "dim" in call.params:
        return along(call)
    value = call.values[0]
    value = value.unsqueeze(1) if value.ndim == 1 else value.flatten(1)
    if call.name in ("max", "min"):
        return ops["amax" if call.name == "max" else "amin"](value, 1)
    return ops[call.name](value, 1).values


@rule("_softmax", "_log_softmax", "_softmax_backward_data", "_log_softmax_backward_data", "cumsum", "cumprod", "cummax",
      "cummin", "logcumsumexp", "cumsum_from_end", "sort", "argsort", "topk", "kthvalue", "mode", "glu", "glu_backward",
      "gather", "scatter_add", "recurrence", "shift")
def along(call: Call) -> Any:
    """Operations along one axis, on tensors that have as many."""
    at = tensors(call)
    n = max(rank(call, i) for i in at)
    if any(rank(call, i) not in (n, 0) for i in at):
        return each(call)
    values = list(call.values)
    for i in at:
        values[i] = full(call, i)
        while values[i].ndim < max(n, 1) + 1:
            values[i] = values[i].unsqueeze(1)
    values[where_is(call, "dim")] = axis(values[where_is(call, "dim")], n) + 1
    if n == 0 and "keepdim" in call.params:
        values[where_is(call, "keepdim")] = False
        return call.run(values)
    result = call.run(values)
    return result if n else _reshaped(result, (call.size,)) if not call.operation.in_place else result


@rule("scatter", "scatter_reduce")
def _scattered(call: Call) -> Any:
    index = where_is(call, "index")
    if rank(call, 0) == 0 or rank(call, index) != rank(call, 0):
        return each(call)
    return along(call)


# --- views -----------------------------------------------------------------------------------------------------

@rule("_conj", "_neg_view")
def _by_bit(call: Call) -> Any:
    """Computed: a tensor that stands for a batch has no bit that says to conjugate."""
    return call.run(call.values).resolve_conj().resolve_neg()


@rule("masked_fill")
def _masked_fill(call: Call) -> Any:
    if not call.flags[2]:
        return elementwise(call)
    if rank(call, 2) != 0:
        raise RuntimeError("masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{rank(call, 2)} dimension(s).")
    if call.operation.in_place:
        return each(call)

    def filled(x: Tensor, mask: Tensor, value: Tensor) -> Tensor:
        made: Tensor = ops["where"](mask, value.to(x.dtype), x)
        return made

    return call.by_examples(filled, 0, 1, 2)


@rule("alias", "view_as_real", "clone", "_ones", "named_copy", "delayed_error")
def _same(call: Call) -> Any:
    values = list(call.values)
    if "memory_format" in call.params:
        values[where_is(call, "memory_format")] = None
    return call.run(values)


@rule("to_copy")
def _to_copy(call: Call) -> Any:
    return call.run(with_values(call, memory_format=None))


@rule("view_as_complex")
def _view_as_complex(call: Call) -> Any:
    return each(call) if rank(call, 0) == 0 else call.run(call.values)


@rule("select", "slice", "narrow_view", "unfold")
def _along_one(call: Call) -> Any:
    value, n = call.values[0], rank(call, 0)
    if not call.flags[0] or any(call.flags[1:]):
        return _chosen_by_batch(call)
    name = "dimension" if "dimension" in call.params else "dim"
    if n == 0:
        if call.name == "select":
            raise IndexError("select() cannot be applied to a 0-dim tensor.")
        if call.name == "unfold":
            axis(call.values[1], 0)
            return value.unsqueeze(1).narrow(1, 0, call.values[2])
        value = value.unsqueeze(1)
    return call.run(with_values(call, **{call.params[0]: value, name: axis(call.values[where_is(call, name)], n) + 1}))


def _chosen_by_batch(call: Call) -> Any:
    if call.name != "select":
        raise RuntimeError(f"vmap: {call.name} takes numbers that are the same for all examples")
    dim = axis(call.values[1], rank(call, 0))
    index = value_at(call.given[2], call.level, call.size)
    at = ops["arange"](call.size)
    moved = full(call, 0).movedim(dim + 1, 1)
    return ops["index"](moved, [at, index]) if "index" in ops else moved[at, index]


@rule("transpose")
def _transpose(call: Call) -> Any:
    n = rank(call, 0)
    first, second = axis(call.values[1], n) + 1, axis(call.values[2], n) + 1
    return op_named("alias")(call.values[0]) if n == 0 else call.run([call.values[0], first, second])


@rule("t")
def _t(call: Call) -> Any:
    n = rank(call, 0)
    if n > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {n}D")
    return call.values[0].transpose(1, 2) if n == 2 else op_named("alias")(call.values[0])


@rule("permute")
def _permute(call: Call) -> Any:
    n = rank(call, 0)
    dims = call.values[1]
    if len(dims) != n:
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
                           f"the desired ordering of dimensions i.e. input.dim() = {n} is not equal to len(dims) = "
                           f"{len(dims)}")
    return call.run([call.values[0], (0, *(axis(d, n) + 1 for d in dims))])


@rule("unsqueeze")
def _unsqueeze(call: Call) -> Any:
    n = rank(call, 0)
    return call.run([call.values[0], axis(call.values[1], n + 1) + 1])


@rule("squeeze")
def _squeeze(call: Call) -> Any:
    value, n = call.values[0], rank(call, 0)
    dim = call.values[1]
    if dim is None:
        axes = tuple(range(1, n + 1))
    else:
        axes = tuple(axis(d, n) + 1 for d in (dim if isinstance(dim, (tuple, list)) else (dim,))) if n else ()
    return call.run([value, axes]) if axes else op_named("alias")(value)


def sizes(call: Call, i: int) -> tuple[int, ...]:
    """A size that is asked for, with the one that is left open computed from an example."""
    wanted = call.values[i]
    size = [int(k) for k in (wanted if isinstance(wanted, (tuple, list)) else (wanted,))]
    if size.count(-1) == 1:
        rest = math.prod(k for k in size if k != -1)
        numel = math.prod(call.values[0].shape[1:])
        if rest > 0 and numel % rest == 0:
            size[size.index(-1)] = numel // rest
        elif rest == 0:
            raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {size} because the unspecified "
                               "dimension size -1 can be any value and is ambiguous")
        else:
            raise RuntimeError(f"shape '{size}' is invalid for input of size {numel}")
    return tuple(size)


@rule("view", "reshape_alias", "_unsafe_view", "unsafe_view")
def _view(call: Call) -> Any:
    at = where_is(call, "size")
    if call.values[at] is None or not isinstance(call.values[at], (tuple, list, int)):
        return each(call) if rank(call, 0) == 0 else call.run(call.values)
    return call.run(with_values(call, size=(call.size, *sizes(call, at))))


@rule("expand")
def _expand(call: Call) -> Any:
    wanted = call.values[1]
    size = tuple(wanted if isinstance(wanted, (tuple, list)) else (wanted,))
    value = raised(call.values[0], len(size))
    return call.run(with_values(call, **{call.params[0]: value, "size": (call.size, *size)}))


@rule("as_strided")
def _as_strided(call: Call) -> Any:
    value = call.values[0]
    offset = call.values[3]
    return call.run([value, (call.size, *call.values[1]), (value.stride(0), *call.values[2]),
                     value.storage_offset() if offset is None else offset])


@rule("diagonal", "diag_embed", "diagonal_scatter", "linalg_diagonal")
def _diagonal(call: Call) -> Any:
    n = rank(call, 0) + (call.name == "diag_embed")
    if call.name == "diagonal_scatter":
        call.values[0], call.values[1] = full(call, 0), full(call, 1)
    return call.run(with_values(call, dim1=axis(call.values[where_is(call, "dim1")], n) + 1,
                                dim2=axis(call.values[where_is(call, "dim2")], n) + 1))


@rule("split_evenly", "split_with_sizes", "unbind")
def _split(call: Call) -> Any:
    n = rank(call, 0)
    if n == 0:
        return each(call)
    return call.run(with_values(call, dim=axis(call.values[where_is(call, "dim")], n) + 1))


# --- rearranging -----------------------------------------------------------------------------------------------

@rule("cat", "stack")
def _joined(call: Call) -> Any:
    given, flags = call.values[0], call.flags[0]
    parts = [x if batch else x.unsqueeze(0).expand(call.size, *x.shape) for x, batch in zip(given, flags, strict=True)]
    if call.name == "cat" and any(x.ndim != 2 for x in parts):
        parts = [x for x in parts if not (x.ndim == 2 and x.shape[1] == 0)]          # empty vectors count for nothing
    n = parts[0].ndim - 1
    return call.run(with_values(call, tensors=parts, dim=axis(call.values[1], n + (call.name == "stack")) + 1))


@rule("flip", "roll", "rot90")
def _over_axes(call: Call) -> Any:
    n = rank(call, 0)
    dims = call.values[where_is(call, "dims")]
    if n == 0 or dims is None or dims in ((), []):
        return each(call)
    given = dims if isinstance(dims, (tuple, list)) else (dims,)
    return call.run(with_values(call, dims=tuple(axis(d, n) + 1 for d in given)))


@rule("repeat")
def _repeat(call: Call) -> Any:
    wanted = call.values[1]
    many = tuple(wanted if isinstance(wanted, (tuple, list)) else (wanted,))
    return call.run([raised(call.values[0], len(many)), (1, *many)])


@rule("tril", "triu", "constant_pad_nd", "cholesky", "cholesky_inverse", "linalg_cholesky_ex", "linalg_det",
      "linalg_inv_ex", "linalg_lu", "linalg_lu_factor_ex", "linalg_matrix_exp", "linalg_qr", "linalg_slogdet",
      "linalg_svd", "linalg_eig", "linalg_eigh", "_eigvals", "_eigvalsh", "_svdvals", "linalg_ldl_factor_ex", "geqrf",
      "one_hot", "zero", "frexp", "safe_softmax")
def _in_front(call: Call) -> Any:
    """One tensor, of which the last axes alone matter."""
    if any(call.flags[1:]) and any(flag for flag in call.flags[1:] if not isinstance(flag, list) or any(flag)):
        return each(call)
    least = 2 if call.name.startswith("linalg") or call.name in ("tril", "triu", "cholesky", "geqrf") else 1
    if rank(call, 0) < least:
        return each(call)
    if call.name == "constant_pad_nd" and len(call.values[1]) > 2 * rank(call, 0):
        return each(call)
    if call.name == "one_hot" and call.values[1] < 0:
        raise RuntimeError(
            "one_hot: a class count that depends on the values is not known inside vmap\n  give num_classes")
    return _with_batch(call, call.run(call.values))


@rule("linalg_solve_triangular", "linalg_householder_product", "cholesky_solve", "linalg_ldl_solve", "linalg_lu_solve",
      "_cdist_forward", "_cdist_backward", "lu_unpack", "_euclidean_dist", "linalg_cross", "triangular_solve")
def _matrices(call: Call) -> Any:
    if call.name == "linalg_cross":
        n = max(rank(call, i) for i in tensors(call))
        call.values[2] = axis(call.values[2], n) + 1
        return aligned(call)
    at = tensors(call)
    core = {i: 1 if call.params[i] in _VECTORS else 2 for i in at}
    n = max(rank(call, i) - core[i] for i in at)
    if any(rank(call, i) < core[i] for i in at):
        return each(call)
    values = list(call.values)
    for i in at:
        values[i] = raised(full(call, i), n + core[i])
    return _with_batch(call, call.run(values))


_VECTORS = ("pivots", "LU_pivots", "tau")


def _with_batch(call: Call, result: Any) -> Any:
    """Results that are left out are empty, whatever the batch."""
    if isinstance(result, Tensor):
        return result
    return type(result)([x.new_empty((call.size, 0)) if x.ndim == 1 and x.numel() == 0 else x for x in result])


@rule("linalg_solve_ex")
def _solve(call: Call) -> Any:
    a, b = rank(call, 0), rank(call, 1)
    if b == a - 1:                                    # vectors, not matrices, where the shapes say so
        shape_a = call.values[0].shape[bool(call.flags[0]):]
        shape_b = call.values[1].shape[bool(call.flags[1]):]
        if b == 1 or tuple(shape_a[:-1]) == tuple(shape_b):
            values = [full(call, 0), full(call, 1), *call.values[2:]]
            return call.run(values) if values[2] else each(call)
    return aligned(call) if a == b else each(call)


@rule("fill")
def _fill(call: Call) -> Any:
    value = call.values[1]
    if not call.flags[1]:
        return call.run(call.values)
    target = full(call, 0) if not call.operation.in_place else call.values[0]
    many = raised(value, target.ndim - 1)
    if call.operation.in_place:
        return target.copy_(many.transpose(0, 0).reshape(call.size, *[1] * (target.ndim - 1)))
    return many.reshape(call.size, *[1] * (target.ndim - 1)).expand(target.shape).to(target.dtype).clone()


@rule("copy")
def _copy(call: Call) -> Any:
    target = full(call, 0)
    source = call.values[1]
    if call.flags[1]:
        source = raised(source, target.ndim - 1)
    return call.run([target, source, *call.values[2:]])


@rule("fft_c2c", "fft_c2r", "fft_r2c")
def _fft(call: Call) -> Any:
    n = rank(call, 0)
    given = call.values[1]
    dims = tuple(axis(d, n) + 1 for d in (given if isinstance(given, (tuple, list)) else (given,)))
    return call.run(with_values(call, dim=dims if isinstance(given, (tuple, list)) else dims[0]))


# --- products --------------------------------------------------------------------------------------------------

@rule("mm", "bmm")
def _mm(call: Call) -> Any:
    a, b = call.values
    wanted = 2 if call.name == "mm" else 3
    if rank(call, 0) != wanted or rank(call, 1) != wanted:
        return each(call)
    if call.name == "bmm" and a.shape[-3] != b.shape[-3]:
        return each(call)
    return ops["matmul"](a, b)


@rule("mv")
def _mv(call: Call) -> Any:
    if rank(call, 0) != 2 or rank(call, 1) != 1:
        return each(call)
    return ops["matmul"](call.values[0], call.values[1].unsqueeze(-1)).squeeze(-1)


@rule("dot", "vdot")
def _dot(call: Call) -> Any:
    a, b = call.values
    if rank(call, 0) != 1 or rank(call, 1) != 1 or a.shape[-1] != b.shape[-1] or a.dtype != b.dtype:
        return each(call)
    if call.name == "vdot" and a.is_complex():
        a = a.conj()
    return ops["matmul"](a.unsqueeze(-2), b.unsqueeze(-1)).squeeze(-1).squeeze(-1)


_PRODUCTS = {"addmm": ("mm", 2), "addmv": ("mv", 1), "baddbmm": ("bmm", 3)}


@rule("addmm", "addmv", "addr", "baddbmm")
def _added(call: Call) -> Any:
    one, two, three, beta, alpha = call.values
    if call.operation.in_place or not one.dtype == two.dtype == three.dtype:
        return each(call)
    if call.name == "addr":
        n = 2
        if rank(call, 1) != 1 or rank(call, 2) != 1:
            return each(call)
    else:
        n = _PRODUCTS[call.name][1]
    if rank(call, 0) > n:
        return each(call)

    def sum_of(one: Tensor, two: Tensor, three: Tensor) -> Tensor:
        product = two.unsqueeze(1) * three.unsqueeze(0) if call.name == "addr" else \
            ops[_PRODUCTS[call.name][0]](two, three)
        one = one.expand(product.shape)
        product = product if alpha == 1 else product * alpha
        return product if beta == 0 else one + product if beta == 1 else one * beta + product

    return call.by_examples(sum_of, 0, 1, 2)


@rule("trace")
def _trace(call: Call) -> Any:
    return each(call) if rank(call, 0) != 2 else call.values[0].diagonal(0, 1, 2).sum(-1)


# --- indexing --------------------------------------------------------------------------------------------------

def _index_layout(call: Call) -> tuple[list[Any], int, int, bool] | None:
    """The indices with the batch's own in front, how many axes they make, where these stand in an example's result, and
    whether any index is a batch; None where an index is a mask."""
    given, flags = list(call.values[1]), call.flags[1]
    if any(x is not None and x.dtype.itemsize == 1 and not x.dtype.is_floating_point for x in given):
        return None
    k = max(x.ndim - batch for x, batch in zip(given, flags, strict=True) if x is not None)
    at = [i for i, x in enumerate(given) if x is not None]
    place = at[0] if at == list(range(at[0], at[-1] + 1)) else 0
    given = [raised(x, k) if batch else x for x, batch in zip(given, flags, strict=True)]
    return given, k, place, any(flags)


def _own(call: Call, k: int) -> Tensor:
    """The number of the example, as an index beside others of k axes."""
    device = call.values[0].device
    made: Tensor = ops["arange"](call.size, device=device).reshape(call.size, *[1] * k)
    return made


@rule("index")
def _index(call: Call) -> Any:
    if isinstance(call.flags[1], list) and any(batch and x.dtype.itemsize == 1 and not x.dtype.is_floating_point
                                               for x, batch in zip(call.values[1], call.flags[1], strict=True)):
        raise RuntimeError("vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. "
                           "We don't support that yet, please file an issue at "
                           "https://github.com/pytorch/pytorch/issues .")
    found = _index_layout(call)
    if found is None:
        return each(call)
    given, k, place, mapped = found
    index = op_named("index")
    if not mapped:
        n = len([x for x in given if x is not None])
        out = index(call.values[0], [None, *given])
        at = [i for i, x in enumerate(given) if x is not None]
        return out if at == list(range(at[0], at[0] + n)) else out.movedim(k, 0)
    if not call.flags[0]:
        return index(call.values[0], given).movedim(place, 0)
    out = index(call.values[0], [_own(call, k), *given])           # batch, indices, the rest
    return out if place == 0 else out.movedim(tuple(range(1, k + 1)), tuple(range(place + 1, place + k + 1)))


@rule("index_put")
def _index_put(call: Call) -> Any:
    found = _index_layout(call)
    if found is None:
        return each(call)
    given, k, place, _ = found
    target = call.values[0] if call.operation.in_place else full(call, 0)
    rest = [n for n, x in zip(target.shape[1:], [*given, *[None] * target.ndim], strict=False) if x is None]
    put = call.values[2]
    if isinstance(put, Tensor):
        put = raised(full(call, 2), k + len(rest))
        if place:
            shape = (call.size, *rest[:place], *[1] * k, *rest[place:])
            broad = ops["broadcast_shapes"](tuple(put.shape), shape)
            put = put.expand(broad).movedim(tuple(range(place + 1, place + k + 1)), tuple(range(1, k + 1)))
    return call.run([target, [_own(call, k), *given], put, *call.values[3:]])


@rule("index_select")
def _index_select(call: Call) -> Any:
    n = rank(call, 0)
    if n == 0:
        return each(call)
    dim = axis(call.values[1], n)
    if not call.flags[2]:
        return call.run([call.values[0], dim + 1, call.values[2]])
    index = call.values[2]
    index = index if index.ndim == 2 else index.unsqueeze(1)
    moved = full(call, 0).movedim(dim + 1, 1)
    return op_named("index")(moved, [_own(call, 1), index]).movedim(1, dim + 1)


@rule("index_add", "index_copy", "index_fill")
def _index_write(call: Call) -> Any:
    n = rank(call, 0)
    if n == 0 or call.flags[2] or (call.name == "index_fill" and call.flags[3]):
        return each(call)
    values = list(call.values)
    values[0] = full(call, 0)
    if isinstance(values[3], Tensor) and call.name != "index_fill":
        values[3] = full(call, 3)
        if values[3].ndim != values[0].ndim:
            return each(call)
    values[1] = axis(values[1], n) + 1
    return call.run(values)


@rule("select_backward", "slice_backward", "unfold_backward")
def _backward_of_part(call: Call) -> Any:
    n = len(call.values[1])
    if n == 0:
        return call.values[0].sum(1)
    return call.run(with_values(call, shape=(call.size, *call.values[1]),
                                dim=axis(call.values[where_is(call, "dim")], n) + 1))


@rule("diagonal_backward")
def _backward_of_diagonal(call: Call) -> Any:
    n = len(call.values[1])
    return call.run(with_values(call, shape=(call.size, *call.values[1]), dim1=axis(call.values[3], n) + 1,
                                dim2=axis(call.values[4], n) + 1))


@rule("select_scatter", "slice_scatter")
def _scatter_part(call: Call) -> Any:
    n = rank(call, 0)
    return call.run(with_values(call, **{call.params[0]: full(call, 0), "src": full(call, 1),
                                         "dim": axis(call.values[2], n) + 1}))


@rule("take")
def _take(call: Call) -> Any:
    if call.flags[0]:
        return each(call)
    return call.run(call.values)


# --- new tensors like others -----------------------------------------------------------------------------------

@rule("empty_like", "full_like", "ones_like", "zeros_like")
def _like(call: Call) -> Any:
    if any(call.flags[1:]):
        return each(call)
    return call.run(with_values(call, memory_format=None) if "memory_format" in call.params else call.values)


@rule("new_empty", "new_full", "new_ones", "new_zeros", "new_empty_strided")
def _new(call: Call) -> Any:
    wanted = call.values[1]
    size = tuple(wanted) if isinstance(wanted, (tuple, list)) else (wanted,)
    if any(flag is True for flag in call.flags[1:]):
        fill = call.values[2]
        made = call.values[0].new_empty((call.size, *size))
        return made.copy_(fill.reshape(call.size, *[1] * len(size)))
    if call.name == "new_empty_strided":
        return each(call)
    return call.run(with_values(call, size=(call.size, *size)))
