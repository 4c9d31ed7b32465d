"""Operations of PyTorch that are written with an underscore, or under a former name, and that other packages call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import claygrad
from claygrad.core import Tensor
from claygrad.core.user_warnings import warn

_REMOVED = "This function was deprecated since version {} and is now removed. {}\n  instead: use `torch.linalg.{}`"


def _removed(name: str, since: str, instead: str) -> Callable[..., Any]:
    """A function that PyTorch no longer has, under its name."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            _REMOVED.format(since, f"`torch.{name}` is deprecated in favor of `torch.linalg.{instead}`.", instead)
        )

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


solve = _removed("solve", "1.9", "solve")
symeig = _removed("symeig", "1.9", "eigh")
eig = _removed("eig", "1.9", "eig")
lstsq = _removed("lstsq", "1.9", "lstsq")
matrix_rank = _removed("matrix_rank", "1.9", "matrix_rank")

has_lapack = has_spectral = True
has_mkl = has_openmp = False
legacy_contiguous_format = claygrad.contiguous_format
newaxis = None
dsmm = claygrad.mm


def _cast(kind: str) -> Callable[..., Tensor]:
    return lambda input, non_blocking=False: input.to(getattr(claygrad, kind))


_cast_Byte, _cast_Char, _cast_Short, _cast_Int, _cast_Long = map(_cast, ("uint8", "int8", "int16", "int32", "int64"))
_cast_Half, _cast_Float, _cast_Double = map(_cast, ("float16", "float32", "float64"))


def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """softmax; of half precision with a float result, PyTorch's is of CUDA alone."""
    if half_to_float:
        raise RuntimeError("softmax with half to float conversion is not supported on CPU")
    return self.softmax(dim)


def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """log_softmax, as above."""
    if half_to_float:
        raise RuntimeError("softmax with half to float conversion is not supported on CPU")
    return self.log_softmax(dim)


def _safe_softmax(self: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """softmax that is zero where all scores are -inf."""
    self = self if dtype is None else self.to(dtype)
    dead = self.isneginf().all(dim, keepdim=True)
    return self.masked_fill(dead, 0).softmax(dim).masked_fill(dead, 0)


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of softmax from its result."""
    weighted = grad_output * output
    return (weighted - output * weighted.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of log_softmax from its result."""
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)


def _convert_indices_from_coo_to_csr(self: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where the entries of each row begin, from sorted rows."""
    counted = claygrad.bincount(self, minlength=size).cumsum(0)
    return claygrad.cat([counted.new_zeros(1), counted]).to(claygrad.int32 if out_int32 else claygrad.int64)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """Rows and columns, from where the entries of each row begin."""
    rows = claygrad.arange(crow_indices.numel() - 1).repeat_interleave(crow_indices.diff())
    pair = [col_indices, rows] if transpose else [rows, col_indices]
    return claygrad.stack([x.to(claygrad.int32 if out_int32 else claygrad.int64) for x in pair])


def _int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    """A product of matrices of int8, summed in int32."""
    for x in (self, mat2):
        if x.dtype is not claygrad.int8:
            raise RuntimeError(
                f"Expected {'self' if x is self else 'mat2'}.dtype() == at::kChar to be true, but got false."
            )
    return self.to(claygrad.int32) @ mat2.to(claygrad.int32)


def _unique(self: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, Tensor]:
    """unique, with an empty tensor for what is not asked for."""
    if return_inverse:
        values, inverse = claygrad.unique(self, sorted, True)
        return values, inverse
    return claygrad.unique(self, sorted), claygrad.empty(0, dtype=claygrad.int64)


def _unique2(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The same with counts."""
    none = claygrad.empty(0, dtype=claygrad.int64)
    values, inverse, counts = claygrad.unique(self, sorted, True, True)
    return values, inverse if return_inverse else none, counts if return_counts else none


def _is_all_true(self: Tensor) -> Tensor:
    """all, of bools."""
    return self.all()


def _is_any_true(self: Tensor) -> Tensor:
    """any, of bools."""
    return self.any()


def _euclidean_dist(x1: Tensor, x2: Tensor) -> Tensor:
    """Distances of all pairs by products, as `cdist` computes them for many points."""
    return claygrad.cdist(x1, x2, compute_mode="use_mm_for_euclid_dist")


def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> bool:
    """Whether one could take the place of the other: both are dense tensors on the CPU, or neither is."""
    return input.device.type == from_.device.type and input.layout == from_.layout


def frobenius_norm(self: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The root of the sum of squares."""
    warn(
        "at::frobenius_norm is deprecated and it is just left for JIT compatibility. It will be removed in a future "
        "PyTorch release. "
        "Please use `linalg.vector_norm(A, 2., dim, keepdim)` instead"
    )
    return claygrad.linalg.vector_norm(self, 2, dim, keepdim)


def nuclear_norm(self: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum of singular values."""
    warn(
        "at::nuclear_norm is deprecated and it is just left for JIT compatibility. It will be removed in a future "
        "PyTorch release. "
        "Please use `linalg.matrix_norm(A, 'nuc', dim, keepdim)` instead"
    )
    return claygrad.linalg.matrix_norm(self, "nuc", (-2, -1) if dim is None else dim, keepdim)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all axes but one, which keeps its place; over all with -1."""
    if dim == -1:
        return v.norm(pow)
    return (
        v.transpose(0, dim).reshape(v.size(dim), -1).norm(pow, 1).view([-1 if n == dim else 1 for n in range(v.dim())])
    )


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """A weight by its length and direction."""
    return v * (g / norm_except_dim(v, 2, dim))


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """One of two functions, by a condition."""
    return (true_fn if pred else false_fn)(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """A function again and again, as long as a condition holds."""
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        result = body_fn(*carried)
        carried = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    return carried


_REDUCED = {"sum": 0.0, "mean": float("nan"), "max": float("-inf"), "min": float("inf"), "prod": 1.0}


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Tensor:
    """Sums, means, products or extremes of stretches of an axis, given by their lengths or their ends."""
    if reduce not in _REDUCED:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}\n"
            f"  it takes {', '.join(_REDUCED)}"
        )
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    counts = lengths if lengths is not None else offsets.diff(dim=-1)  # type: ignore[union-attr]
    if axis != counts.dim() - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of lengths but got {axis}.")
    if not unsafe and bool((counts < 0).any()):
        raise RuntimeError("lengths contains negative value!")
    if axis:
        return claygrad.stack(
            [
                segment_reduce(row, reduce, lengths=of, axis=axis - 1, unsafe=unsafe, initial=initial)
                for row, of in zip(data, counts)
            ]
        )
    if not unsafe and lengths is not None and int(counts.sum()) != data.size(0):
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) "
            "when !unsafe."
        )
    first = 0 if offsets is None else int(offsets[0])
    return claygrad.stack(
        [
            _segment(part, reduce, initial)
            for part in data[first:].split([*counts.tolist(), data.size(0) - first - int(counts.sum())])[:-1]
        ]
    )


def _segment(part: Tensor, reduce: str, initial: Any) -> Tensor:
    """One stretch, and what was there before it; a mean is of the elements, as PyTorch divides."""
    start = _REDUCED[reduce] if initial is None else initial
    if not part.size(0):
        return part.new_full(part.shape[1:], start)
    if reduce == "mean":
        return part.mean(0) if initial is None else (part.sum(0) + initial) / part.size(0)
    done = (
        part.sum(0)
        if reduce == "sum"
        else part.prod(0)
        if reduce == "prod"
        else part.amax(0)
        if reduce == "max"
        else part.amin(0)
    )
    if initial is None:
        return done
    if reduce in ("sum", "prod"):
        return done + initial if reduce == "sum" else done * initial
    return done.clamp(min=initial) if reduce == "max" else done.clamp(max=initial)


NAMES = {
    name: value
    for name, value in list(globals().items())
    if not name.startswith("__")
    and name
    not in (
        "annotations",
        "Callable",
        "Any",
        "claygrad",
        "Tensor",
        "warn",
        "_REMOVED",
        "_removed",
        "_cast",
        "_REDUCED",
        "_segment",
    )
}
