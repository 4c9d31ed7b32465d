"""Embeddings: tables of vectors, looked up by index."""
from __future__ import annotations

from typing import Any, Self

from claygrad.autograd.grad_mode import no_grad
from claygrad.core import Tensor
from claygrad.nn import functional as F
from claygrad.nn import init
from claygrad.nn.modules.module import Module
from claygrad.nn.modules.utils import new_parameter
from claygrad.nn.parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """A table with a row for each index. Row `padding_idx` is initialized to zeros and gets no gradient."""

    weight: Tensor
    padding_idx: int | None
    _padding_text: str

    def _set(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None, max_norm: float | None,
             norm_type: float, scale_grad_by_freq: bool) -> None:
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < max(num_embeddings, 1):
                raise AssertionError(f"{self._padding_text} must be within num_embeddings")
            if padding_idx < 0:
                padding_idx += num_embeddings
        self.padding_idx = padding_idx
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq

    def _fill(self, weight: Tensor | None, requires_grad: bool, device: Any, dtype: Any) -> None:
        shape = (self.num_embeddings, self.embedding_dim)
        if weight is None:
            self.weight = new_parameter(shape, device, dtype)
            self.weight.requires_grad_(requires_grad)
            self.reset_parameters()
        elif tuple(weight.shape) != shape:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        else:
            self.weight = Parameter(weight, requires_grad=requires_grad)

    def reset_parameters(self) -> None:
        """Initialize all rows from the standard normal distribution."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """A table of `num_embeddings` vectors: every integer `i` of the input is replaced by row `i` of `weight`.

    An input of shape (*) gives an output of shape (*, embedding_dim). Row `padding_idx` starts as zeros and gets no
    gradient. With `max_norm`, rows with a larger norm are scaled down to it, in place. `scale_grad_by_freq` divides
    gradients by how often an index occurs in the input. With `sparse` the gradient of `weight` is a sparse tensor.
    """

    _padding_text = "Padding_idx"

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                 sparse: bool = False, _weight: Tensor | None = None, _freeze: bool = False, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self._set(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq)
        self._fill(_weight, not _freeze, device, dtype)
        self.sparse = sparse

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                           self.scale_grad_by_freq, self.sparse)

    def extra_repr(self) -> str:
        said = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            said += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            said += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            said += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            said += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        return said + ", sparse=True" if self.sparse is not False else said

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None,
                        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                        sparse: bool = False) -> Self:
        """A layer with the given table, whose memory it shares. It is not trained unless freeze=False."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight=embeddings,
                   _freeze=freeze)


class EmbeddingBag(_Table):
    """The sum, mean or maximum (`mode`) of the rows for each bag of indices, without storing the rows themselves."""

    _padding_text = "padding_idx"

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                 _weight: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self._set(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq)
        self._fill(_weight, True, device, dtype)
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset

    def forward(self, input: Tensor, offsets: Tensor | None = None,
                per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                               self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)

    def extra_repr(self) -> str:
        said = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            said += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            said += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            said += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        said += f", mode={self.mode!r}"
        return said if self.padding_idx is None else said + f", padding_idx={self.padding_idx}"

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None,
                        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
                        sparse: bool = False, include_last_offset: bool = False,
                        padding_idx: int | None = None) -> Self:
        """A layer with the given table, whose memory it shares. It is not trained unless freeze=False."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        out = cls(rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings,
                   include_last_offset, padding_idx)
        out.weight.requires_grad = not freeze
        return out
