"""Behaviour that PyTorch's own test files describe, one expression each, on both libraries."""
from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch

import claygrad
from claygrad.compat.refusing import RefusingObject

CASES = """
nn.MultiMarginLoss(reduction="none")(torch.arange(8.), torch.tensor([3]))
nn.MultiMarginLoss(reduction="none")(torch.arange(8.), torch.tensor(3))
nn.MultiMarginLoss(reduction="none")(torch.ones(1, 8), torch.tensor(3))
nn.MultiMarginLoss(reduction="none")(torch.ones(1, 8).half(), torch.tensor([3]))
[type(n) for n in torch.Size([2, True])]
torch.Size((True, torch.tensor(3)))
{kind.is_xpu for kind in torch._tensor_classes}
torch._VF._add_relu(torch.tensor([1., -3.]), torch.tensor([1., 1.]))
torch._VF.unique_dim(torch.tensor([[1., 1.], [1., 1.], [0., 2.]]), 0, True, True, True)
torch._C._nn.thnn_conv2d(torch.ones(1, 1, 1, 1), torch.ones(1, 1), [], padding=[1, 1], stride=[1, 1])
torch._C._nn.thnn_conv2d(torch.ones(1, 1, 1, 1), torch.ones(1, 1), [1, 1], padding=[1, 1], stride=[])
torch._C._nn.slow_conv3d(torch.ones(1, 1, 1, 1, 1), torch.ones(1, 1, 1, 1, 1), [1, 1], padding=1)
torch.autograd.functional._construct_standard_basis_for((), ())
torch.autograd.functional._construct_standard_basis_for((torch.ones(2), torch.ones(1, 3).double()), (2, 3))
type(torch.profiler.itt.is_available())
ran(torch, lambda a, b: a.sin() * b.cos())
ran(torch, lambda a, b: a.sin() * a.cos())
ran(torch, lambda a, b: (a * 2).sin() + (a * 2).cos() * b)
ran(torch, lambda a, b: (c := a * b).sin() + c.exp() * c)
torch.complex(torch.ones(2).half(), torch.tensor([3., 4.]).half())
torch.polar(torch.ones(2).half(), torch.ones(2).half())
torch.empty([0, 4, 2**61])
torch.zeros([3, 0, 2**62, 2])
torch.empty([0, 4, 2**59]).shape
torch.Storage.__name__
F.hardshrink(torch.tensor([0.3008, -0.3008, 0.302, float("nan")], dtype=torch.bfloat16), 0.3)
F.hardshrink(torch.tensor([0.1, 0.09998, -0.1], dtype=torch.float16), 0.1)
torch.kaiser_window(1024, False, dtype=torch.bfloat16).isnan().any()
torch.eye(2).to_sparse().dim_order()
torch.empty(3, 4, 1, 2).permute(3, 0, 1, 2).dim_order()
torch.empty(2, 1, 3, 1).to(memory_format=torch.channels_last).dim_order()
torch.empty(1, 2, 2, 2).dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last])
torch.empty(2, 2, 2, 1).to(memory_format=torch.channels_last).dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last])
torch.empty(4).expand(3, 4).dim_order()
torch.empty(4).expand(3, 4).dim_order(ambiguity_check=True)
torch.empty(3, 4).t().dim_order(ambiguity_check=True)
torch.UntypedStorage(4)._swap_data_ptr_(torch.UntypedStorage(8))
torch.UntypedStorage(4)._swap_data_ptr_(torch.UntypedStorage(4, device="meta"))
torch.UntypedStorage(4)._swap_data_ptr_(5)
swapped(torch, torch.zeros(3), torch.arange(3.))
swapped(torch, torch.zeros(0), torch.arange(3.))
torch._debug_has_internal_overlap(torch.ones(3).expand(2, 3))
torch._debug_has_internal_overlap(torch.ones(10).as_strided([2, 1, 5], [1, 0, 2]))
torch._debug_has_internal_overlap(torch.ones(20).as_strided((2, 1, 5), (10, 0, 2)))
torch._debug_has_internal_overlap(torch.ones(3, 4).t())
torch._assert_async(torch.tensor([]))
torch._assert_async(torch.tensor([0, 1]))
torch._assert_async(torch.tensor(0))
torch._masked_softmax(torch.arange(6.).view(2, 3), torch.tensor([[True, False, False], [False, True, True]]), 1, 2)
torch._masked_softmax(torch.arange(16.).view(2, 2, 2, 2), torch.tensor([[True, False], [False, False]]), 3, 1)
torch._masked_softmax(torch.arange(16.).view(2, 2, 2, 2), torch.tensor([[True, False], [False, False]]), 3, 0)
torch._masked_softmax(torch.arange(6.).view(2, 3), torch.ones(3, dtype=torch.bool), 1, 2)
torch._masked_softmax(torch.arange(6.).view(2, 3), torch.ones(2, 3), 1, 2)
torch._masked_softmax(torch.arange(6.).view(2, 3), torch.ones(2, 3, dtype=torch.bool), 1, 7)
torch._add_relu(torch.tensor([1., -3.]), torch.tensor([1., 1.]), alpha=2)
torch.batch_norm_update_stats(torch.arange(12.).view(3, 2, 2), torch.zeros(2), torch.ones(2), 0.1)
torch._C._nn.replication_pad1d(torch.ones(1, 2, 3), (1, 2))
torch._C._nn.reflection_pad2d(torch.arange(9.).view(1, 3, 3), (1, 1, 0, 2))
torch._C._nn.upsample_nearest1d(torch.arange(3.).view(1, 1, 3), [6])
torch._C._nn.upsample_nearest2d(torch.arange(4.).view(1, 1, 2, 2), None, [2.0, 1.5])
torch._C._nn.upsample_nearest2d(torch.arange(4.).view(1, 2, 2), [3, 3])
torch.TypedStorage(3, dtype=0, _internal=True)
torch.scalar_tensor(1, dtype=0)
nn.UninitializedParameter(dtype=0)
torch.set_autocast_dtype("cpu", 0)
torch._foreach_norm([torch.ones(2)], 2, dtype=0)
torch.ones(2).is_contiguous(memory_format=0)
torch.empty(2, memory_format="x")
torch.ones(2).type(torch.float64, memory_format=0)
torch.ones(2).double(memory_format="x")
torch.ones(2).resize_(3, memory_format=0)
torch.asarray([1], copy=0)
torch.nonzero(torch.ones(2), as_tuple=0)
torch.nonzero(torch.ones(2), out=0)
torch.ones(2).to(0, 3)
torch.isclose(torch.tensor([1., 2.]).to(torch.float8_e5m2), torch.tensor([1., 3.]).to(torch.float8_e5m2), 0., 0.)
torch.isclose(torch.tensor([1., float("nan")]).to(torch.float8_e5m2), torch.tensor([1., float("nan")]).to(torch.float8_e5m2), 0., 0., True)
torch.isclose(torch.tensor([1., 2.]).to(torch.float8_e4m3fn), torch.tensor([1., 2.]).to(torch.float8_e4m3fn), 0., 0.1)
torch.allclose(torch.tensor([1., 2.]).to(torch.float8_e4m3fn), torch.tensor([1., 2.]).to(torch.float8_e4m3fn), 0, 0)
[torch.histc(torch.full((3,), v), 4) for v in (3.4028234663852886e+38, -3.4028234663852886e+38, 1e30, 16777216.)]
[torch.histc(torch.full((3,), v, dtype=torch.float64), 4) for v in (1.7976931348623157e+308, -1.7976931348623157e+308, 1e300)]
torch.histc(torch.full((3,), float("inf")), 4)
torch.histc(torch.full((3,), float("-inf")), 4)
torch.cuda.Stream()
torch.cuda.Event()
torch.cuda.CUDAGraph()
torch.set_default_tensor_type(torch.cuda.FloatTensor)
torch.set_default_tensor_type("torch.cuda.FloatTensor")
torch.view_as_real(torch.tensor([[1+2j, 0], [0, 3j]]).to_sparse()).to_dense()
torch.tensor([[1+2j, 0], [0, 3j]]).to_sparse().real.to_dense()
torch.tensor([[1+2j, 0], [0, 3j]]).to_sparse().imag.to_dense()
torch.ones(2, 2).to_sparse().imag
torch.view_as_complex(torch.sparse_coo_tensor(torch.tensor([[0, 1]]), torch.tensor([[1., 2.], [3., 4.]]), (2, 2))).to_dense()
torch.view_as_complex(torch.ones(2, 2).to_sparse())
torch.batch_norm_update_stats(torch.rand(0, 1), torch.rand(1), torch.rand(1), 0.)
[torch.masked._reduction_identity(name, torch.ones(2)) for name in ("sum", "prod", "amax", "argmin", "logsumexp", "median", "var")]
[torch.masked._reduction_identity(name, torch.ones(2).int()) for name in ("sum", "masked.prod", "amax", "amin", "mean")]
torch.masked._reduction_identity("norm", torch.ones(2), float("-inf"))
torch.masked._reduction_identity("softmax", torch.ones(2))
unscaled(torch, [64000., 32., 64000.])
unscaled(torch, [64., 32., 64.])
group_norm_bias(torch, torch.bfloat16)
group_norm_bias(torch, torch.float16)
""".strip().splitlines()


def swapped(lib: ModuleType, x: Any, y: Any) -> Any:
    view = x[1:]
    x.untyped_storage()._swap_data_ptr_(y.untyped_storage())
    return x, view, y.untyped_storage().nbytes(), x.untyped_storage().nbytes()


def unscaled(lib: ModuleType, values: list[float]) -> Any:
    """Entries in half precision at one place: finite ones, of which the sum need not be."""
    where = lib.tensor([[0, 1, 0], [2, 0, 2]])
    p = lib.ones(2, 3, dtype=lib.float16).to_sparse()
    p.grad = lib.sparse_coo_tensor(where, lib.tensor(values), (2, 3), dtype=lib.float16)
    scaler = lib.amp.GradScaler("cpu", init_scale=1.0)
    found = scaler._unscale_grads_(lib.optim.SGD([p], lr=1.0), lib.tensor(0.25), lib.tensor(0.0), True)
    return list(found.values()), p.grad.is_coalesced()


def group_norm_bias(lib: ModuleType, kind: Any) -> Any:
    """The gradient of a float32 bias beside an input of halves is added in float32."""
    layer = lib.nn.GroupNorm(2, 4)
    x = lib.linspace(-3, 3, 200).reshape(2, 4, 5, 5).to(kind).requires_grad_()
    g = lib.linspace(-1, 7, 200).sin().reshape(2, 4, 5, 5).to(kind)
    layer(x).backward(g)
    assert (layer.bias.grad - g.float().sum((0, 2, 3))).abs().max() < 1e-5
    return str(layer.bias.grad.dtype).partition(".")[2]


def ran(lib: ModuleType, function: Any) -> Any:
    """Which nodes a backward is going to run, in order."""
    a, b, told = lib.tensor(1.0, requires_grad=True), lib.tensor(2.0, requires_grad=True), []
    out = function(a, b)
    out.register_hook(lambda g: told.extend(node.name() for node in lib._C._current_graph_task_execution_order()))
    with lib.autograd.set_multithreading_enabled(False):
        out.backward()
    return told


def plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [plain(part) for part in value]
    if isinstance(value, (torch.Tensor, claygrad.Tensor)):
        return [str(value.dtype).partition(".")[2], list(value.shape), str(value.tolist()) if not value.is_floating_point() else
                [format(part, ".5g") for part in value.double().flatten().tolist()]]
    return value


def outcome(lib: ModuleType, text: str) -> Any:
    names = {"torch": lib, "F": lib.nn.functional, "nn": lib.nn, "swapped": swapped, "unscaled": unscaled,
             "group_norm_bias": group_norm_bias, "ran": ran}
    try:
        return plain(eval(text, names))
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0].replace("claygrad", "torch")


@pytest.mark.filterwarnings("ignore:ComplexHalf support", "ignore:.*experimental")
@pytest.mark.parametrize("text", CASES)
def test_the_outcome_is_pytorchs(text: str) -> None:
    assert outcome(claygrad, text) == outcome(torch, text)


@pytest.mark.parametrize("mode", ["missing", "named"])
def test_names_that_only_refuse_end(mode: str) -> None:
    if mode == "named":
        with pytest.raises(NotImplementedError, match="only a name"):
            list(RefusingObject("torch.backends.some.name"))
    else:
        with pytest.raises(AttributeError):
            _ = claygrad.backends.quantized.no_such_name


@pytest.mark.parametrize("shared", [False, True])
def test_a_mapped_file_tells_its_name_where_writes_reach_it(shared: bool, tmp_path: Any) -> None:
    path = str(tmp_path / "numbers")
    with open(path, "wb") as file:
        file.write(bytes(32))

    def told(lib: ModuleType) -> list[Any]:
        return [lib.from_file(path, shared, 4, dtype=lib.float64).untyped_storage().filename,
                lib.UntypedStorage.from_file(path, shared, 32).filename]
    assert told(claygrad) == told(torch)


@pytest.mark.parametrize("save_size", [False, True])
def test_bytes_of_a_storage_are_written(save_size: bool, tmp_path: Any) -> None:
    def written(lib: ModuleType) -> bytes:
        path = tmp_path / lib.__name__
        with open(path, "wb") as file:
            lib.arange(5, dtype=lib.int32).untyped_storage()._write_file(file, True, save_size, 4)
        return path.read_bytes()
    assert written(claygrad) == written(torch)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        claygrad.empty(2, device="meta").untyped_storage()._write_file(None, False, False, 4)
