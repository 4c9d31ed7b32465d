"""Options of the wrong type are refused: none is ignored, and none reaches the compiled code unchecked."""
from __future__ import annotations

from typing import Any

import pytest

import claygrad as torch
from claygrad import nn
from claygrad.nn import functional as F

x = torch.ones(2, 2)
sparse = torch.eye(2).to_sparse()

DTYPE = {
    "zeros": lambda d: torch.zeros(2, dtype=d), "full": lambda d: torch.full((2,), 1.0, dtype=d),
    "empty": lambda d: torch.empty(2, dtype=d), "arange": lambda d: torch.arange(3, dtype=d),
    "linspace": lambda d: torch.linspace(0, 1, 3, dtype=d), "logspace": lambda d: torch.logspace(0, 1, 3, dtype=d),
    "eye": lambda d: torch.eye(3, dtype=d), "scalar_tensor": lambda d: torch.scalar_tensor(1, dtype=d),
    "empty_strided": lambda d: torch.empty_strided((3,), (1,), dtype=d),
    "empty_permuted": lambda d: torch.empty_permuted((3,), (0,), dtype=d),
    "tensor": lambda d: torch.tensor([1], dtype=d), "asarray": lambda d: torch.asarray([1], dtype=d),
    "frombuffer": lambda d: torch.frombuffer(b"12345678", dtype=d),
    "rand": lambda d: torch.rand(3, dtype=d), "randint": lambda d: torch.randint(3, (2,), dtype=d),
    "randperm": lambda d: torch.randperm(3, dtype=d), "rand_like": lambda d: torch.rand_like(x, dtype=d),
    "zeros_like": lambda d: torch.zeros_like(x, dtype=d), "empty_like": lambda d: torch.empty_like(x, dtype=d),
    "new_zeros": lambda d: x.new_zeros(3, dtype=d), "new_tensor": lambda d: x.new_tensor([3], dtype=d),
    "new_empty_strided": lambda d: x.new_empty_strided((3,), (1,), dtype=d),
    "hann_window": lambda d: torch.hann_window(3, dtype=d), "kaiser_window": lambda d: torch.kaiser_window(3, dtype=d),
    "fftfreq": lambda d: torch.fft.fftfreq(3, dtype=d), "tril_indices": lambda d: torch.tril_indices(2, 2, dtype=d),
    "windows.hann": lambda d: torch.signal.windows.hann(3, dtype=d),
    "sum": lambda d: x.sum(dtype=d), "cumsum": lambda d: x.cumsum(0, dtype=d), "softmax": lambda d: x.softmax(0, dtype=d),
    "norm": lambda d: torch.linalg.norm(x, dtype=d), "masked.sum": lambda d: torch.masked.sum(x, dtype=d),
    "to": lambda d: x.to(dtype=d), "view": lambda d: x.view(dtype=d),
    "sparse_coo_tensor": lambda d: torch.sparse_coo_tensor(torch.tensor([[0]]), torch.ones(1), dtype=d),
    "sparse_coo_tensor of a size": lambda d: torch.sparse_coo_tensor((2, 2), dtype=d),
    "sparse.new_zeros": lambda d: sparse.new_zeros((2, 2), dtype=d),
    "sparse.sum": lambda d: torch.sparse.sum(sparse, dtype=d),
    "Linear": lambda d: nn.Linear(2, 2, dtype=d), "LazyLinear": lambda d: nn.LazyLinear(2, dtype=d),
    "UninitializedParameter": lambda d: nn.UninitializedParameter(dtype=d),
    "UninitializedBuffer": lambda d: nn.UninitializedBuffer(dtype=d),
    "materialize": lambda d: nn.UninitializedParameter().materialize((2,), dtype=d),
    "set_autocast_dtype": lambda d: torch.set_autocast_dtype("cpu", d),
    "_foreach_norm": lambda d: torch._foreach_norm([x], 2, dtype=d),
    "TypedStorage": lambda d: torch.TypedStorage(3, dtype=d), "TypedStorage of data": lambda d: torch.TypedStorage([3], dtype=d),
    "softmin": lambda d: F.softmin(x, 0, dtype=d),
}
FORMAT = {
    "to": lambda f: x.to(memory_format=f), "clone": lambda f: x.clone(memory_format=f),
    "contiguous": lambda f: x.contiguous(memory_format=f), "is_contiguous": lambda f: x.is_contiguous(memory_format=f),
    "empty": lambda f: torch.empty(2, memory_format=f), "empty_like": lambda f: torch.empty_like(x, memory_format=f),
    "zeros_like": lambda f: torch.zeros_like(x, memory_format=f), "rand_like": lambda f: torch.rand_like(x, memory_format=f),
    "float": lambda f: x.float(memory_format=f), "double": lambda f: x.double(memory_format=f),
    "type": lambda f: x.type(torch.float64, memory_format=f), "cpu": lambda f: x.cpu(memory_format=f),
    "resize_": lambda f: torch.ones(2).resize_(3, memory_format=f), "Module.to": lambda f: nn.Linear(2, 2).to(memory_format=f),
}


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("wrong", [0, "float33", 2.5, object, [torch.float32]], ids=repr)
@pytest.mark.parametrize("name", DTYPE)
def test_a_wrong_dtype_is_refused(name: str, wrong: Any) -> None:
    kinds = {"TypedStorage": RuntimeError, "TypedStorage of data": RuntimeError, "windows.hann": ValueError}
    with pytest.raises(kinds.get(name, TypeError)):
        DTYPE[name](wrong)


@pytest.mark.parametrize("wrong", [0, "channels", object], ids=repr)
@pytest.mark.parametrize("name", FORMAT)
def test_a_wrong_memory_format_is_refused(name: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match="memory_format"):
        FORMAT[name](wrong)


def test_type_takes_a_memory_format() -> None:
    y = torch.ones(2, 3, 4, 4).type(torch.float64, memory_format=torch.channels_last)
    assert y.stride() == (48, 1, 12, 3)
    assert y.dtype is torch.float64


def test_wrong_switches_are_refused() -> None:
    for call in (lambda: torch.asarray([1], copy=0), lambda: torch.asarray([1], requires_grad=0),
                 lambda: torch.nonzero(x, as_tuple=0), lambda: torch.nonzero(x, out=0), lambda: x.to(0, 3)):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
@pytest.mark.parametrize(("args", "named"), [((0, 1), {}), ((0, "no"), {}), ((True, True), {}), ((0, True), {"correction": 1}), ((True,), {"correction": 1})])
def test_a_variance_is_told_of_one_bool_or_of_a_correction(name, args, named):
    with pytest.raises(TypeError, match=rf"^{name}\(\) received an invalid combination of arguments"):
        getattr(torch, name)(x, *args, **named)
