"""Parametrizations: orthogonal matrices, weights of spectral norm one, weights as length times direction."""
from __future__ import annotations

from enum import Enum, auto
from typing import Any

from claygrad._info import finfo
from claygrad.autograd import no_grad
from claygrad.core import Tensor
from claygrad.nn.modules.module import Module
from claygrad.nn.utils import parametrize
from claygrad.nn.utils.spectral_norm import as_matrix, output_axis, unit
from claygrad.nn.utils.weight_norm import norm_except_dim, normed
from claygrad.ops._registry import NAMESPACES

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_ops: dict[str, Any] = NAMESPACES["torch"]
_linalg: dict[str, Any] = NAMESPACES["linalg"]


# --- orthogonal --------------------------------------------------------------------------------------------------
def _is_orthogonal(q: Tensor) -> bool:
    n, k = q.shape[-2:]
    one = _ops["eye"](k, dtype=q.dtype, device=q.device)
    return bool(_ops["allclose"](q.mH @ q, one, atol=10.0 * n * finfo(q.dtype).eps))


def _make_orthogonal(a: Tensor) -> Tensor:
    """The orthogonal factor that belongs to a triangle with a positive diagonal."""
    x, tau = _ops["geqrf"](a)
    return _linalg["householder_product"](x, tau) * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """Matrices with orthonormal rows or columns, whichever are fewer, from any matrix.

    With a trivialisation, the map is composed with multiplication by `base`, so that it starts at the given weight.
    """

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        x = X.mT if wide else X
        n, k = x.shape[-2:]
        if self.orthogonal_map is _OrthMaps.householder:
            a = x.tril(diagonal=-1)
            q = _linalg["householder_product"](a, 2.0 / (1.0 + (a * a).sum(dim=-2)))
            # The diagonal holds signs. As integers they are constants, of which there is no derivative.
            q = q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            x = x.tril()
            if n != k:
                x = _ops["cat"]([x, x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)], dim=-1)
            skew = x - x.mH
            if self.orthogonal_map is _OrthMaps.matrix_exp:
                q = _linalg["matrix_exp"](skew)
            else:
                one = _ops["eye"](n, dtype=skew.dtype, device=skew.device)
                q = _linalg["solve"](one - skew * 0.5, one + skew * 0.5)
            q = q[..., :k] if n != k else q
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def right_inverse(self, Q: Tensor) -> Tensor:
        """What gives this matrix, or one near it if it is not orthogonal."""
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape "
                             f"{Q.shape}.")
        with no_grad():
            wide = Q.size(-2) < Q.size(-1)
            q = Q.mT if wide else Q
            if hasattr(self, "base"):
                return self._rebase(Q, q)
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley "
                                          "parametrizations when use_trivialization=False.")
            a, tau = _ops["geqrf"](q)
            signs = a.diagonal(dim1=-2, dim2=-1)
            signs.copy_(_ops["where"](tau == 0.0, -signs.sign(), signs.sign()))
            return a.mT if wide else a

    def _rebase(self, given: Tensor, q: Tensor) -> Tensor:
        n, k = q.shape[-2:]
        if n != k:
            noise = _ops["randn"](*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
            q = _make_orthogonal(_ops["cat"]([q, noise], dim=-1))
        elif _is_orthogonal(q):
            q = q.clone()
        else:
            q = _make_orthogonal(q)
        self.base = q
        # What all three maps take to the identity; for reflections the diagonal has to be of signs.
        start = _ops["zeros_like"](given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
               ) -> Any:
    """Keep a matrix, or a batch of them, orthogonal: its rows or its columns, whichever are fewer, are orthonormal.

    `orthogonal_map` is "matrix_exp", "cayley" or "householder".
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1) or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    selected = getattr(_OrthMaps, orthogonal_map, None)
    if selected is None:
        raise ValueError('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
                         f"{orthogonal_map}")
    out = _Orthogonal(weight, selected, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, out, unsafe=True)
    return module


# --- weight norm -------------------------------------------------------------------------------------------------
class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return normed(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Make a weight the product of its lengths along an axis, `original0`, and its direction, `original1`."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_old_names(state_dict: Any, prefix: str, *_: Any) -> None:
        g, v = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if g in state_dict and v in state_dict:
            for i, key in enumerate((g, v)):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(take_old_names)
    return module


# --- spectral norm -----------------------------------------------------------------------------------------------
class _SpectralNorm(Module):
    """A weight divided by an estimate of its largest singular value, which every forward in training improves."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got "
                             f"n_power_iterations={n_power_iterations}")
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            with no_grad():
                matrix = as_matrix(weight, self.dim)
                rows, columns = matrix.shape
                self.register_buffer("_u", unit(matrix.new_empty(rows).normal_(0, 1), eps))
                self.register_buffer("_v", unit(matrix.new_empty(columns).normal_(0, 1), eps))
            self._power_method(matrix, 15)

    def _power_method(self, matrix: Tensor, n_power_iterations: int) -> None:
        with no_grad():
            for _ in range(n_power_iterations):
                self._u.copy_(unit(matrix.mv(self._v), self.eps))
                self._v.copy_(unit(matrix.mH.mv(self._u), self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return unit(weight, self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()     # the next forward writes into the buffers
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Any:
    """Keep the largest singular value of a weight at one."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    out = _SpectralNorm(weight, n_power_iterations, output_axis(module) if dim is None else dim, eps)
    parametrize.register_parametrization(module, name, out)
    return module
