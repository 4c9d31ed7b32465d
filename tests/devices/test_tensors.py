"""Tensors on an accelerator: creation and moves, views, writes, gradients, what is said of them."""

from __future__ import annotations

import copy
import pickle

import numpy
import pytest

import claygrad as torch


def test_factories_make_tensors_there(there):
    for made in (torch.zeros(2, 3, device=there), torch.ones(3, device=there), torch.full((2,), 1.5, device=there),
                 torch.arange(4, device=there), torch.linspace(0, 1, 3, device=there), torch.eye(2, device=there),
                 torch.tensor([1, 2], device=there), torch.rand(3, device=there), torch.randn(20, device=there),
                 torch.empty(2, device=there), torch.tril_indices(3, 3, device=there), torch.hann_window(4, device=there),
                 torch.zeros_like(torch.ones(2, device=there)), torch.ones(2, device=there).new_zeros(3)):
        assert str(made.device) == f"{there}:0"
    assert torch.full((2,), 1.5, device=there).tolist() == [1.5, 1.5]
    assert torch.eye(2, device=there).tolist() == [[1, 0], [0, 1]]
    assert torch.tensor(numpy.arange(6).reshape(2, 3).T, device=there).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_a_device_has_its_number_and_an_unknown_one_is_refused(there):
    assert torch.zeros(1, device=there).device == torch.device(there, 0)
    assert torch.zeros(1, device=f"{there}:0").get_device() == 0
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.zeros(1, device=f"{there}:7")


def test_to_and_back_keeps_values_strides_and_dtype(there):
    for kind in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool,
                 torch.complex64):
        x = (torch.arange(6).reshape(2, 3) % 2).to(kind).t()
        y = x.to(there)
        assert y.dtype is kind
        assert y.stride() == x.stride()
        assert torch.equal(y.cpu(), x)
        assert y.to(there) is y
        assert y.to(there, copy=True) is not y
    assert torch.ones(2).to(there, torch.float64).dtype is torch.float64
    assert torch.ones(2, device=there).to(torch.int64).tolist() == [1, 1]


def test_the_way_there_and_back_is_differentiable(there):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.to(there)
    assert y.grad_fn.name() == "ToCopyBackward0"
    (y * y).cpu().sum().backward()
    assert x.grad.tolist() == [2, 4]
    assert x.grad.device.type == "cpu"


def test_copy_goes_between_devices_with_its_gradient(there):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.zeros(2, device=there)
    y.copy_(x)
    (y * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]
    z = torch.zeros(2, 2)
    z[0] = torch.ones(2, device=there)
    assert z.tolist() == [[1, 1], [0, 0]]
    z.copy_(torch.full((2,), 2, device=there))
    assert z.tolist() == [[2, 2], [2, 2]]


def test_views_share_memory_and_writes_show_in_all_of_them(there):
    x = torch.arange(6.0, device=there).reshape(2, 3)
    row, turned = x[1], x.t()
    row.mul_(10)
    x[0, 1] = 7
    assert turned.tolist() == [[0, 30], [7, 40], [2, 50]]
    assert row.storage_offset() == 3
    assert x.untyped_storage().nbytes() == 24
    assert x[:, 1:].is_contiguous() is False
    assert x[torch.tensor([1, 0], device=there)].tolist() == [[30, 40, 50], [0, 7, 2]]
    assert x[x > 20].tolist() == [30, 40, 50]
    assert x[torch.tensor([1])].tolist() == [[30, 40, 50]]           # indices may be on the CPU, as in PyTorch
    x[torch.tensor([0]), 0] = torch.tensor(-1.0)
    x.masked_fill_(x == 7, torch.tensor(8.0))
    assert x[0].tolist() == [-1, 8, 2]


def test_an_overwritten_value_keeps_its_gradient(there):
    w = torch.tensor([1.0, 2.0, 3.0], device=there, requires_grad=True)
    y = w * 1
    loss = (y * y).sum()
    y.zero_()
    loss.backward()
    assert w.grad.tolist() == [2, 4, 6]
    w.grad = None
    y = w.exp()
    loss = (y * 2).sum()
    y.data.fill_(0)
    y[0] = 5
    loss.backward()
    assert torch.allclose(w.grad, 2 * w.detach().exp())


def test_a_write_to_a_view_rewrites_the_history_of_its_base(there):
    x = torch.ones(3, device=there, requires_grad=True)
    y = x * 2
    y[1:].mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [2, 6, 6]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.add_(1)


def test_gradients_accumulate_in_memory_of_their_own(there):
    x = torch.ones(2, device=there, requires_grad=True)
    g = torch.tensor([1.0, 2.0], device=there)
    x.backward(g)
    x.backward(g)
    assert x.grad.tolist() == [2, 4]
    assert g.tolist() == [1, 2]
    assert x.grad.device == x.device


def test_second_derivatives_and_hooks(there):
    x = torch.tensor([2.0], device=there, requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(g.device.type))
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [12]
    (x * 2).sum().backward()
    assert seen[-1] == there


def test_a_number_in_a_zero_dim_cpu_tensor_mixes_and_gets_its_gradient(there):
    x, scale = torch.arange(3.0, device=there), torch.tensor(2.0, requires_grad=True)
    y = x * scale + torch.tensor(1)
    assert y.device.type == there
    assert y.tolist() == [1, 3, 5]
    y.sum().backward()
    assert scale.grad.item() == 3
    assert scale.grad.device.type == "cpu"
    assert torch.where(x > 1, x, torch.tensor(-1.0)).tolist() == [-1, -1, 2]


def test_tensors_on_two_devices_are_refused_with_both_their_lines(there):
    x = torch.ones(3, device=there)
    y = torch.ones(3)
    with pytest.raises(RuntimeError) as caught:
        x + y
    text = str(caught.value)
    assert text.splitlines()[0] == (
        f"Expected all tensors to be on the same device, but found at least two devices, {there}:0 and cpu!")
    assert "x = torch.ones(3, device=there)" in text
    assert "y = torch.ones(3)" in text
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.nn.functional.linear(x, torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.cat([x, y])


def test_two_devices_of_one_type_are_two_devices(strict):
    x, y = torch.ones(2, device=f"{strict}:0"), torch.ones(2, device=f"{strict}:1")
    with pytest.raises(RuntimeError, match="found at least two devices, privateuseone:0 and privateuseone:1"):
        x + y
    assert (x + y.to(x.device)).tolist() == [2, 2]


def test_numpy_is_refused_as_in_torch(there):
    x = torch.ones(2, device=there)
    with pytest.raises(TypeError, match=f"can't convert {there}:0 device type tensor to numpy. Use Tensor.cpu\\(\\) to copy"):
        numpy.asarray(x)
    with pytest.raises(TypeError, match="can't convert"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1, 1]


def test_what_is_said_of_it(there):
    x = torch.tensor([1.5, 2.0], device=there, requires_grad=True)
    assert repr(x) == f"tensor([1.5000, 2.0000], device='{there}:0', requires_grad=True)"
    assert x[0].item() == 1.5
    assert f"{x[0].detach():.1f}" == "1.5"
    assert bool(x.sum() > 3)
    assert int(x.detach().sum()) == 3
    assert "x = torch.tensor([1.5, 2.0]" in str(x.origin)
    assert x.type() == f"claygrad.{there}.FloatTensor"
    assert (x.is_cpu, x.is_cuda, x.is_meta) == (False, False, False)
    assert x.data_ptr() != 0


def test_copies_and_pickles_stay_there(there):
    x = torch.arange(6.0, device=there).reshape(2, 3)
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps(x.t(), 2)).t(), x.clone()):
        assert str(y.device) == f"{there}:0"
        assert torch.equal(y, x)
        y.zero_()
    assert x.sum().item() == 15


def test_storages(there):
    x = torch.arange(4, dtype=torch.uint8, device=there)
    storage = x.untyped_storage()
    assert storage.device == x.device
    assert storage.cpu().tolist() == [0, 1, 2, 3]
    assert storage.clone().cpu().tolist() == [0, 1, 2, 3]
    storage.resize_(6)
    x.resize_(6)
    x[4:] = 9
    assert x.tolist() == [0, 1, 2, 3, 9, 9]
    storage.fill_(1)
    assert x.tolist() == [1] * 6
    assert torch.UntypedStorage(2).to(device=there).device == x.device


def test_an_out_of_another_device_is_refused(there):
    with pytest.raises(RuntimeError, match="Expected out tensor to have device"):
        torch.add(torch.ones(2, device=there), 1, out=torch.zeros(2))
    out = torch.zeros(2, device=there)
    torch.add(torch.ones(2, device=there), 1, out=out)
    assert out.tolist() == [2, 2]


def test_custom_functions_and_saved_tensor_hooks(there):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = torch.tensor([3.0], device=there, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.cpu(), lambda t: t.to(there)):
        Square.apply(x).sum().backward()
    assert x.grad.tolist() == [6]


def test_lazy_conjugates(there):
    z = torch.tensor([1 + 2j, 3 - 1j], device=there)
    assert z.conj().is_conj()
    assert z.conj().tolist() == [1 - 2j, 3 + 1j]
    assert (z.conj() * z).real.tolist() == [5, 10]
    assert z.conj().imag.tolist() == [-2, 1]
    assert z.conj().cpu().tolist() == [1 - 2j, 3 + 1j]
