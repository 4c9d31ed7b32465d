"""All parameters in one vector, and back."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from claygrad._legacy import typename
from claygrad.core import Tensor, prefix
from claygrad.ops._registry import NAMESPACES

__all__ = ["parameters_to_vector", "vector_to_parameters"]

_ops: dict[str, Any] = NAMESPACES["torch"]


def _on_one_device(parameters: Iterable[Tensor]) -> Iterator[Tensor]:
    where = None
    for parameter in parameters:
        here = parameter.get_device() if parameter.is_cuda else -1
        if where is not None and here != where:
            raise TypeError("Found two parameters on different devices, this is currently not supported.")
        where = here
        yield parameter


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after the other.

    >>> claygrad.nn.utils.parameters_to_vector([claygrad.ones(2), claygrad.zeros(1)])
    tensor([1., 1., 0.])
    """
    return _ops["cat"]([parameter.view(-1) for parameter in _on_one_device(parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parameters views of consecutive parts of a vector."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected {prefix()}.Tensor, but got: {typename(vec)}")
    start = 0
    for parameter in _on_one_device(parameters):
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end
