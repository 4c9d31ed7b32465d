"""Transforms of vectors and matrices, and of slices by transforms of their own."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from claygrad._info import finfo
from claygrad.core import Size
from claygrad.distributions import constraints
from claygrad.distributions._transform import Plain, Transform
from claygrad.distributions._transform_each import clipped_sigmoid
from claygrad.distributions.utils import lazy_property, sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix
from claygrad.ops.activation import logsigmoid, softplus
from claygrad.ops.fill import eye
from claygrad.ops.join import cat, stack
from claygrad.ops.linalg_cholesky import cholesky
from claygrad.ops.pad import pad

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from claygrad.core import Tensor


def _deep_enough(shape: Any, least: int) -> None:
    if len(shape) < least:
        raise ValueError("Too few dimensions on input")


class CorrCholeskyTransform(Transform):
    """D (D - 1) / 2 numbers to the Cholesky factor of a correlation matrix of D variables.

    tanh takes the numbers to (-1, 1), where they are partial correlations. Row by row, the square of each is the share
    that it takes of what the entries before it leave of the row's unit length.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial**2).sqrt().cumprod(-1)
        diagonal = eye(partial.shape[-1], dtype=partial.dtype, device=partial.device)
        return (partial + diagonal) * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - (-t).log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: object = None) -> Tensor:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        return 0.5 * left.log().sum(-1) - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _deep_enough(shape, 1)
        n = shape[-1]
        d = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], d, d))

    def inverse_shape(self, shape: Any) -> Any:
        _deep_enough(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class SoftmaxTransform(Plain):
    """y = softmax(x), with log(y) as its inverse: no bijection, but good to optimize in."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        _deep_enough(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Plain):
    """n numbers to n + 1 shares: each number's sigmoid is the part taken of what is left of a stick."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _offset(like: Tensor, count: int) -> Tensor:
        """Logarithms of how many shares are still to come: zeros give equal shares."""
        return (count + 1 - like.new_ones(count).cumsum(-1)).log()

    def _call(self, x: Tensor) -> Tensor:
        part = clipped_sigmoid(x - self._offset(x, x.shape[-1]))
        left = (1 - part).cumprod(-1)
        return pad(part, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        shares = y[..., :-1]
        left = (1 - shares.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return shares.log() - left.log() + self._offset(y, shares.shape[-1])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x, x.shape[-1])
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _deep_enough(shape, 1)
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        _deep_enough(shape, 1)
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(Plain):
    """Matrices to lower triangular ones whose diagonal is the exponential of theirs."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Plain):
    """Matrices to positive definite ones, through their Cholesky factors."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(cholesky(y))


def _need(right: bool, text: str) -> None:
    if not right:
        raise AssertionError(text)


class _Slices(Transform):
    """Transforms of slices along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        _need(all(isinstance(t, Transform) for t in tseq), "All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> bool:
        return all(t.bijective for t in self.transforms)

    def _in_range(self, value: Tensor, name: str, length: int, words: str) -> None:
        _need(-value.dim() <= self.dim < value.dim(),
              f"dim {self.dim} out of range for {name} with {value.dim()} dimensions")
        found = value.shape[self.dim]
        short = name if name in ("x", "y") else words.split()[0]
        _need(found == length, f"{short}.size({self.dim}) = {found} must equal {words.split(' ', 1)[1]} {length}")


class CatTransform(_Slices):
    """Transforms of pieces of some lengths, joined as by cat()."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None,
                 cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        _need(len(self.lengths) == len(self.transforms),
              f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> CatTransform:
        return self if self._cache_size == cache_size else CatTransform(self.transforms, self.dim, self.lengths,
                                                                        cache_size)

    def _pieces(self, value: Tensor, letter: str, name: str = "tensor") -> Sequence[Tensor]:
        self._in_range(value, name, self.length, f"{letter} length")
        return value.split(self.lengths, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return cat([t(piece) for t, piece in zip(self.transforms, self._pieces(x, "x"), strict=True)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return cat([t.inv(piece) for t, piece in zip(self.transforms, self._pieces(y, "y"), strict=True)], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        terms = []
        for t, before, after in zip(self.transforms, self._pieces(x, "x", "x"), self._pieces(y, "y", "y"), strict=True):
            terms.append(sum_rightmost(t.log_abs_det_jacobian(before, after), max(self.event_dim - t.event_dim, 0)))
        dim = (self.dim if self.dim < 0 else self.dim - x.dim()) + self.event_dim
        return cat(terms, dim=dim) if dim < 0 else sum(terms)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Slices):
    """Transforms of slices, joined as by stack()."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size: int = 1) -> StackTransform:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, value: Tensor, letter: str, name: str = "tensor") -> Sequence[Tensor]:
        self._in_range(value, name, len(self.transforms), f"{letter} len(transforms)")
        return value.unbind(self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return stack([t(part) for t, part in zip(self.transforms, self._slices(x, "x"), strict=True)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return stack([t.inv(part) for t, part in zip(self.transforms, self._slices(y, "y"), strict=True)], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        pairs = zip(self.transforms, self._slices(x, "x", "x"), self._slices(y, "y", "y"), strict=True)
        return stack([t.log_abs_det_jacobian(before, after) for t, before, after in pairs], self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
