"""What distributions share: parameters that broadcast, probabilities and their logarithms, properties computed once."""
from __future__ import annotations

import functools
from numbers import Number
from typing import TYPE_CHECKING

from claygrad._info import finfo
from claygrad._lazy import lazy
from claygrad.autograd import enable_grad
from claygrad.core import Tensor, get_default_dtype, prefix
from claygrad.ops.creation import tensor
from claygrad.ops.fill import empty
from claygrad.ops.random_fill import normal_
from claygrad.ops.ranges import arange
from claygrad.ops.view import broadcast_tensors

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from claygrad.core import Size

euler_constant = 0.57721566490153286060

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
           "vec_to_tril_matrix"]


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors of one shape; numbers become tensors of the dtype and on the device of the first tensor."""
    first = next((value for value in values if isinstance(value, Tensor)), None)
    dtype, device = (get_default_dtype(), None) if first is None else (first.dtype, first.device)
    out = []
    for value in values:
        if not isinstance(value, (Tensor, Number)):
            raise ValueError(f"Input arguments must all be instances of Number, {prefix()}.Tensor or objects "
                             "implementing __torch_function__.")
        out.append(value if isinstance(value, Tensor) else tensor(value, dtype=dtype, device=device))
    return broadcast_tensors(*out)


def standard_normal(shape: Size, like: Tensor) -> Tensor:
    return normal_(empty(shape, dtype=like.dtype, device=like.device))


def sum_rightmost(value: Any, count: int) -> Any:
    """The sum over the last `count` dimensions."""
    return value if count == 0 else value.reshape((*value.shape[:-count], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from log-odds (binary), or from logarithms of weights along the last dimension."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities off 0 and 1 by the dtype's epsilon."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds (binary) or logarithms of probabilities; 0 and 1 stay finite."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


class lazy_property:
    """A property computed when first asked for, and then an attribute like others."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def _lower(n: int, diag: int, device: object) -> Tensor:
    """Which entries of an n × n matrix lie on or below a diagonal."""
    place = arange(n, device=device)
    return place < place.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The entries on and below a diagonal, row by row."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _lower(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The square matrix whose entries on and below a diagonal are these; the others are zero."""
    count, odd = vec.shape[-1], 1 + 2 * diag
    side = (-odd + (odd**2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    n = round(side)
    if n - side > finfo(vec.dtype).eps:
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as "
                         "the lower triangular part of a square D x D matrix.")
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[..., _lower(n, diag, vec.device)] = vec
    return mat

__getattr__ = lazy(__name__)
