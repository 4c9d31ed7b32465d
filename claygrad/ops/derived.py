"""Functions composed of other operations: membership, unravel_index, vander."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core import DTYPES, into, prefix
from claygrad.core import Tensor as TensorType
from claygrad.ops._formats import contiguous_strides
from claygrad.ops._registry import composite, op
from claygrad.ops.creation import tensor
from claygrad.ops.join import cat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claygrad.core import Tensor

_INT64 = DTYPES["int64"]


# --- membership -------------------------------------------------------------------------------------------------
def _check_isin(elements: Tensor, test_elements: Tensor) -> None:
    for given in (elements, test_elements):
        if given.dtype.is_complex or given.dtype.name == "bool":
            raise RuntimeError(f"Unsupported input type encountered for isin(): {given.dtype.legacy}")


@op(method=False, function=False, promote="common", check=_check_isin,
    meta=lambda elements: (elements.shape, DTYPES["bool"]),
    samples=lambda t: [t.args(t(3, 4), t(5)), t.args(t(), t(2, 3)), t.args(t(3), t(3), invert=True)])
def _isin(xp, elements: Tensor, test_elements: Tensor, assume_unique: bool = False, invert: bool = False):
    "Whether each element is among the test elements."
    return xp.isin(elements, test_elements, assume_unique=assume_unique, invert=invert)


_ISIN = "".join(f" * ({forms}, *, bool assume_unique = False, bool invert = False, Tensor out = None)\n" for forms in (
    "Tensor elements, Tensor test_elements", "Number element, Tensor test_elements",
    "Tensor elements, Number test_element"))


@composite(native="isin",
           method=False, samples=lambda t: [t.args(t(3, 4, dtype="int64"), t(5, dtype="int64")), t.args(t(3), 1.5)])
def isin(elements: Any = None, test_elements: Any = None, *, element: Any = None, test_element: Any = None,
         assume_unique: bool = False, invert: bool = False, out: Tensor | None = None) -> Tensor:
    """Whether each element is among the test elements (or, with `invert`, is not). Either may be a number, not both.

    >>> claygrad.isin(claygrad.tensor([[1, 2], [3, 4]]), claygrad.tensor([2, 3]))
    tensor([[False,  True],
            [ True, False]])
    """
    first = element if elements is None else elements
    second = test_element if test_elements is None else test_elements
    tensors = [value for value in (first, second) if isinstance(value, TensorType)]
    if not tensors or not all(isinstance(value, (TensorType, int, float, complex)) for value in (first, second)):
        got = ", ".join(type(value).__name__ for value in (first, second))
        raise TypeError(f"isin() received an invalid combination of arguments - got ({got}), but expected one of:\n"
                        f"{_ISIN}")
    result = _isin(_tensor_beside(first, tensors[0]), _tensor_beside(second, tensors[0]), assume_unique, invert)
    if out is None:
        return result
    if out.dtype.name != "bool":
        raise RuntimeError(f"Expected out tensor to have dtype bool, but got {out.dtype.c_name} instead")
    return into("isin", out, result)


def _tensor_beside(value: Any, other: Tensor) -> Tensor:
    """A number in the dtype of the tensor beside it, unless that cannot hold its kind: 257 is 1 in uint8."""
    if isinstance(value, TensorType):
        return value
    out = tensor(value, dtype=complex if isinstance(value, complex) else None, device=other.device)
    weak = out.dtype.category <= other.dtype.category and not isinstance(value, bool)
    return out.to(other.dtype) if weak else out


# --- indices and powers -----------------------------------------------------------------------------------------
@composite(method=False, raw=True,
           samples=lambda t: [t.args(t.index((4,), 6), (2, 3)), t.args(t.index((2, 2), 24), (2, 3, 4))],
           errors=lambda t: [(t.args(t(2), (2, 3)), TypeError, "expected 'indices' to be integer dtype, but got"),
                             (t.args(t.index((2,), 2), (2, -3)), ValueError, "'shape' cannot have negative values")])
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The coordinates, one tensor per axis of a shape, of elements counted row by row.

    >>> claygrad.unravel_index(claygrad.tensor([4, 5]), (2, 3))
    (tensor([1, 1]), tensor([1, 2]))
    """
    if indices.dtype.category != _INT64.category:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, str)) and (isinstance(shape, TensorType) or not hasattr(shape, "__getitem__")):
        named = f"<class '{prefix()}.Tensor'>" if isinstance(shape, TensorType) else type(shape)
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {named}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    if not sizes:
        return ()
    steps = tensor(contiguous_strides(sizes), device=indices.device)
    return (indices.to(_INT64).unsqueeze(-1).floor_divide(steps) % tensor(sizes, device=indices.device)).unbind(-1)


def _check_vander(x: Tensor, N: int | None) -> None:
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    if N is not None and N < 0:
        raise RuntimeError("N must be non-negative.")


# Samples without grad: PyTorch cannot differentiate its own vander, which changes in place what it saved.
@composite(method=False, samples=lambda t: [t.args(t(4, requires_grad=False)), t.args(t(3, requires_grad=False), 5),
                                            t.args(t(3, requires_grad=False), N=3, increasing=True)],
           errors=lambda t: [(t.args(t(2, 2)), RuntimeError, "x must be a one-dimensional tensor."),
                             (t.args(t(2), -1), RuntimeError, "N must be non-negative.")])
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    "The powers of a vector as columns, from the highest down unless increasing: out[i, j] = x[i] ** (N - 1 - j)."
    _check_vander(x, N)
    columns = x.numel() if N is None else N
    kind = x.dtype if x.dtype.category > _INT64.category else _INT64
    powers = x.new_ones((x.numel(), min(columns, 1)), dtype=kind)
    if columns > 1:
        powers = cat((powers, x.to(kind).unsqueeze(1).expand(-1, columns - 1).cumprod(1)), 1)
    return powers if increasing else powers.flip(1)
