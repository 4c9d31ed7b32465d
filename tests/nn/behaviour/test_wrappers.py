"""What programs written for GPUs say, on a machine without one: models wrapped, kernels chosen, old names imported."""

from __future__ import annotations

import importlib

import pytest

from tests.support import raises, warns


@pytest.mark.parametrize("devices", [None, [0, 1], []])
def test_a_model_wrapped_for_many_gpus_is_called_as_it_is(lib, devices):
    model = lib.nn.Linear(2, 3)
    wrapped = lib.nn.DataParallel(model, device_ids=devices)
    x = lib.ones(4, 2)
    assert lib.equal(wrapped(x), model(x))
    assert wrapped.module is model
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    assert wrapped.device_ids == []


def test_without_a_gpu_inputs_are_not_spread(lib):
    with raises(lib, RuntimeError, "device type could not be determined"):
        lib.nn.parallel.data_parallel(lib.nn.Linear(1, 1), lib.ones(1, 1))


@pytest.mark.parametrize("name", ["xpu", "cuda", "mtia"])
def test_modules_do_not_move_to_what_there_is_not(lib, name):
    with raises(lib, AssertionError, f"Torch not compiled with {name.upper()} enabled…"):
        getattr(lib.nn.Linear(1, 1), name)()


def test_kernels_of_attention_are_chosen_in_a_context(lib):
    attention = importlib.import_module(f"{lib.__name__}.nn.attention")
    q = lib.randn(1, 2, 3, 4)
    plain = lib.nn.functional.scaled_dot_product_attention(q, q, q)
    with attention.sdpa_kernel([attention.SDPBackend.MATH]):
        assert not lib.backends.cuda.flash_sdp_enabled()
        assert lib.allclose(lib.nn.functional.scaled_dot_product_attention(q, q, q), plain, atol=1e-6)
    assert lib.backends.cuda.flash_sdp_enabled()
    assert repr(attention.SDPBackend.MATH) == "<SDPBackend.MATH: 0>"
    text = "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got int"
    with raises(lib, AssertionError, text), attention.sdpa_kernel(3):
        pass


@pytest.mark.parametrize("place", ["cuda", "cpu"])
def test_mixed_precision_under_its_old_names(lib, place):
    old = importlib.import_module(f"{lib.__name__}.{place}.amp")
    assert getattr(lib, place).amp is old
    text = f"`torch.{place}.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('{place}', args...)` instead."
    with warns(lib, text, FutureWarning):
        casting = old.autocast(enabled=place == "cpu")
    with casting:
        assert (lib.ones(2, 2) @ lib.ones(2, 2)).dtype == (lib.bfloat16 if place == "cpu" else lib.float32)


def test_there_is_one_cpu(lib):
    assert (lib.cpu.is_available(), lib.cpu.device_count(), lib.cpu.current_device()) == (True, 1, "cpu")
    lib.cpu.synchronize()
    stream = lib.cpu.Stream()
    before = lib.cpu.current_stream()
    with lib.cpu.stream(stream):
        assert lib.cpu.current_stream() is stream
    assert lib.cpu.current_stream() is before


def test_options_of_layers_written_by_users(lib):
    made = lib.nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": lib.float64}})
    assert made == {"device": "cpu", "dtype": lib.float64}
    assert lib.nn.factory_kwargs(None) == {}
    with raises(lib, TypeError, "device specified twice, in **kwargs and in factory_kwargs"):
        lib.nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"device": "cpu"}})
    with raises(lib, TypeError, "unexpected kwargs {'x'}"):
        lib.nn.factory_kwargs({"x": 1})
