"""Moving and casting modules."""

from __future__ import annotations

import pytest

from tests.nn.behaviour.layers import affine, nested
from tests.support import raises, silent, warns


@pytest.mark.parametrize(("how", "name"), [("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("float", "float32")])
def test_casts_concern_floating_tensors_and_keep_parameters(lib, how, name):
    m = affine(lib)
    weight = m.weight
    m(lib.ones(1, 3)).sum().backward()
    grad = weight.grad
    assert getattr(m, how)() is m
    assert m.weight is weight
    assert weight.dtype is getattr(lib, name)
    assert m.count.dtype is lib.int64
    assert weight.grad is grad
    assert grad.dtype is weight.dtype
    assert weight.requires_grad
    assert weight.is_leaf


@pytest.mark.parametrize(("args", "kwargs"), [
    (("float64",), {}), (("cpu", "float64"), {}), ((), {"dtype": "float64"}), ((), {"device": "cpu", "dtype":
    "float64"}), ((None, "float64"), {}), (("cpu", "float64", True), {}), ((), {"dtype": "float64", "non_blocking": True})])
def test_the_forms_of_to(lib, args, kwargs):
    def real(value):
        return lib.float64 if value == "float64" else value

    m = nested(lib).to(*map(real, args), **{key: real(value) for key, value in kwargs.items()})
    assert all(p.dtype is lib.float64 for p in m.parameters())


def test_to_a_tensor(lib):
    m = affine(lib).to(lib.ones(1, dtype=lib.float64))
    assert m.weight.dtype is lib.float64
    assert m.count.dtype is lib.int64


def test_to_a_memory_format(lib):
    m = lib.nn.Module()
    m.w, m.v = lib.nn.Parameter(lib.ones(2, 3, 4, 4)), lib.nn.Parameter(lib.ones(2, 3))
    m.to(memory_format=lib.channels_last)
    assert m.w.is_contiguous(memory_format=lib.channels_last)
    assert m.v.is_contiguous()


def test_what_to_refuses(lib):
    m = affine(lib)
    with raises(lib, TypeError, "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                "dtype=torch.int32"):
        m.to(lib.int32)
    with raises(lib, RuntimeError, ".to() does not accept copy argument"):
        m.to("cpu", copy=True)
    with warns(lib, "Complex modules are a new feature under active development …"):
        assert m.to(lib.complex64).weight.dtype is lib.complex64


def test_type(lib):
    assert affine(lib).type(lib.float64).count.dtype is lib.float64


def test_meta_and_back(lib):
    m = affine(lib)
    old = m.weight
    m.to("meta")
    assert m.weight is not old
    assert m.weight.is_meta
    assert m.weight.requires_grad
    assert m.count.is_meta
    assert type(m.weight) is lib.nn.Parameter
    with raises(lib, NotImplementedError, "Cannot copy out of meta tensor; no data! Please use "
                "torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module from meta to a "
                "different device."):
        m.to("cpu")
    assert m.to_empty(device="cpu") is m
    assert m.weight.shape == (4, 3)
    assert not m.weight.is_meta
    inner = nested(lib).to("meta")
    inner.to_empty(device="cpu", recurse=False)
    assert inner[0].weight.is_meta


def test_a_module_made_on_meta(lib):
    with lib.device("meta"):
        m = affine(lib)
    assert m.weight.is_meta
    assert m(lib.ones(2, 3, device="meta")).shape == (2, 4)


def test_cpu_keeps_parameters(lib):
    m = affine(lib)
    weight = m.weight
    with silent():
        assert m.cpu() is m
    assert m.weight is weight


def test_share_memory(lib):
    m = affine(lib)
    assert m.share_memory() is m
    assert m.weight.is_shared()


def test_cuda_without_a_gpu(lib):
    with raises(lib, AssertionError, "Torch not compiled with CUDA enabled"):
        affine(lib).cuda()


def test_gradients_move_with_their_parameters(lib):
    m = affine(lib)
    m(lib.ones(1, 3)).sum().backward()
    m.to("meta")
    assert m.weight.grad.is_meta
    assert m.weight.grad.shape == (4, 3)
