"""`torch.sparse`: tensors that keep the places and values of few elements, in coordinates or by rows."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad._lazy import lazy
from claygrad.core import DTYPES
from claygrad.core.cpython.entry_points import guard_package
from claygrad.sparse import _arithmetic, _products
from claygrad.sparse._make import (
    check_sparse_tensor_invariants,
    described,
    rebuilt,
    sparse_bsc_tensor,
    sparse_bsr_tensor,
    sparse_compressed_tensor,
    sparse_coo_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
    sparse_mask,
    spdiags,
    to_sparse,
    unchecked_coo,
)
from claygrad.sparse._parts import TORCH, empty, is_sparse
from claygrad.sparse._products import hspmm, sampled_addmm

if TYPE_CHECKING:
    from claygrad.core import Tensor

__all__ = ["addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags", "sum"]

_sparse_coo_tensor_unsafe = unchecked_coo
spmm = TORCH["mm"]


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of matrices, of which one or both are sparse; `reduce` of one by rows: sum, mean, amax or amin."""
    return TORCH["mm"](mat1, mat2) if reduce is None else _products.reduced_mm(mat1, mat2, reduce)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2), where mat1 is sparse."""
    return TORCH["addmm"](mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Tensor, dim: int | tuple[int, ...] | None = None, dtype: Any = None) -> Tensor:
    """The sum of a sparse tensor, of all elements or over dimensions."""
    if not is_sparse(input):
        raise RuntimeError("sparse.sum: expected a sparse tensor")
    return TORCH["sum"](input, dtype=dtype) if dim is None else TORCH["sum"](input, dim, dtype=dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax over a dimension of a sparse tensor, where absent entries count as minus infinity."""
    return _arithmetic.softmax(input, dim, dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    return _arithmetic.softmax(input, dim, dtype, True)


def as_sparse_gradcheck(gradcheck: Any) -> Any:
    """Refused: `gradcheck` takes functions of dense tensors."""
    raise NotImplementedError("as_sparse_gradcheck: gradcheck takes functions of dense tensors; build sparse ones "
                              "inside the function")


class _Legacy(type):
    """The class of PyTorch's old names for sparse tensors of a dtype: it makes them, and knows its own."""

    dtype: Any

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        given = args or ((0,),)
        sizes = all(isinstance(one, int) for one in args)
        return sparse_coo_tensor(tuple(args) if args and sizes else given[0], *([] if sizes else given[1:]),
                                 dtype=cls.dtype, device=device)

    def __instancecheck__(cls, x: Any) -> bool:
        return is_sparse(x) and x.is_sparse and x.dtype is cls.dtype


for _kind in ("float16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64"):
    _name = f"{DTYPES[_kind].legacy}Tensor"
    globals()[_name] = _Legacy(_name, (), {"dtype": DTYPES[_kind], "is_sparse": True, "__module__": __name__,
                                           "__doc__": f"Sparse tensors of {_kind}, under an old name."})

__getattr__ = lazy(__name__)
guard_package(__name__)          # Note [Entry points]
