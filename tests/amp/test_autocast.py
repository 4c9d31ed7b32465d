"""Autocast: which dtype operations compute in, contexts, decorators, custom functions."""

from __future__ import annotations

import threading

import pytest

from tests.amp.calls import CALLS
from tests.support import leaf, raises, warns

LOWER = ("matmul matmul-function mm bmm addmm addbmm baddbmm einsum tensordot inner multi_dot vecdot linear conv1d conv2d "
         "conv_transpose2d prelu attention").split()
AS_THEY_ARE = "mv dot outer bilinear add exp relu softmax layer_norm sum mean max_pool2d embedding".split()
FULL = [name for name in CALLS if name not in LOWER and name not in AS_THEY_ARE]


def dtype_of(lib, name, given, lower):
    lib.manual_seed(0)

    def numbers(*shape):
        made = lib.rand(*shape)
        return (made + lib.eye(shape[0]) if len(shape) == 2 and shape[0] == shape[1] else made).to(given)

    with lib.autocast("cpu", dtype=lower):
        return CALLS[name](lib, lib.nn.functional, numbers).dtype


@pytest.mark.parametrize("name", LOWER)
def test_products_in_lower_precision(lib, name):
    assert dtype_of(lib, name, lib.float32, lib.bfloat16) is lib.bfloat16
    assert dtype_of(lib, name, lib.float64, lib.bfloat16) is lib.float64
    if name != "vecdot":
        assert dtype_of(lib, name, lib.float32, lib.float16) is lib.float16


@pytest.mark.parametrize("name", FULL)
def test_what_needs_it_in_full(lib, name):
    assert dtype_of(lib, name, lib.bfloat16, lib.bfloat16) is lib.float32


@pytest.mark.parametrize("name", AS_THEY_ARE)
def test_the_rest_as_its_inputs_are(lib, name):
    assert dtype_of(lib, name, lib.float32, lib.bfloat16) is lib.float32
    assert dtype_of(lib, name, lib.bfloat16, lib.bfloat16) is lib.bfloat16


def test_joining_in_the_widest(lib):
    low, full = lib.ones(2, dtype=lib.bfloat16), lib.ones(2)
    with lib.autocast("cpu"):
        assert lib.cat([low, full]).dtype is lib.float32
        assert lib.stack([low, low]).dtype is lib.bfloat16
        with raises(lib, RuntimeError, "Unexpected floating ScalarType in at::autocast::prioritize"):
            lib.cat([low, full.half()])


def test_gradients_come_in_the_dtype_of_the_weights(lib):
    w, x = leaf(lib, [[1.0, 2.0], [3.0, 4.0]]), lib.ones(3, 2)
    with lib.autocast("cpu"):
        y = lib.nn.functional.linear(x, w).float().sum()
    y.backward()
    assert w.grad.dtype is lib.float32
    assert w.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_a_model_trains_under_autocast(lib):
    lib.manual_seed(0)
    model = lib.nn.Sequential(lib.nn.Linear(4, 16), lib.nn.Tanh(), lib.nn.Linear(16, 1))
    optimizer = lib.optim.Adam(model.parameters(), lr=0.05)
    x = lib.randn(32, 4)
    goal = x.sum(1, keepdim=True)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        with lib.autocast("cpu"):
            out = model(x)
            assert out.dtype is lib.bfloat16
            loss = lib.nn.functional.mse_loss(out, goal)
        assert loss.dtype is lib.float32
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10


def test_blocks_nest_and_end(lib):
    a = lib.ones(2, 2)
    with lib.autocast("cpu"):
        assert lib.is_autocast_enabled("cpu")
        with lib.autocast("cpu", enabled=False):
            assert (a @ a).dtype is lib.float32
            assert not lib.is_autocast_enabled("cpu")
        with lib.autocast("cpu", dtype=lib.float16):
            assert (a @ a).dtype is lib.float16
            assert lib.get_autocast_dtype("cpu") is lib.float16
        assert (a @ a).dtype is lib.bfloat16
    assert (a @ a).dtype is lib.float32
    with pytest.raises(ZeroDivisionError), lib.autocast("cpu"):
        raise ZeroDivisionError
    assert not lib.is_autocast_enabled("cpu")


def test_it_is_of_one_thread(lib):
    seen = []
    with lib.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((lib.ones(2, 2) @ lib.ones(2, 2)).dtype))
        thread.start()
        thread.join()
    assert seen == [lib.float32]


def test_in_place_and_out_are_left_alone(lib):
    a, b = lib.ones(2, 2), lib.ones(2, 2)
    with lib.autocast("cpu"):
        assert a.addmm_(b, b).dtype is lib.float32
        assert a.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_decorated_functions(lib):
    @lib.autocast("cpu")
    def product(a):
        """Says what it does."""
        return a @ a

    assert product(lib.ones(2, 2)).dtype is lib.bfloat16
    assert product.__doc__ == "Says what it does."
    with raises(lib, TypeError, "autocast()(func) requires a callable, but got int. …"):
        lib.autocast("cpu")(3)


def test_weights_are_cast_once_in_a_block(lib):
    w = leaf(lib, [[1.0, 2.0], [3.0, 4.0]])
    x = lib.ones(1, 2)
    for cache in (True, False):
        with lib.autocast("cpu", cache_enabled=cache):
            assert lib.is_autocast_cache_enabled() is cache
            first, second = x @ w, x @ w
        (first.float() + second.float()).sum().backward()
    assert w.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]
    assert lib.is_autocast_cache_enabled()


def test_a_weight_changed_between_blocks_is_seen(lib):
    w = leaf(lib, [[1.0]])
    for expected in (1.0, 5.0):
        with lib.autocast("cpu"):
            assert (lib.ones(1, 1) @ w).item() == expected
        w.data.fill_(5.0)


def test_what_autocast_refuses(lib):
    with raises(lib, ValueError, "Expected `device_type` of type `str`, got: `<class 'int'>`"):
        lib.autocast(5)
    with raises(lib, RuntimeError, "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, "
                                   "lazy, vulkan, mps, meta, hpu, mtia, privateuseone device type at start of device string: "
                                   "xyz"):
        lib.autocast("xyz")
    with warns(lib, "In CPU autocast, but the target dtype is not supported. Disabling autocast.\nCPU Autocast only supports dtypes "
                    "of torch.bfloat16, torch.float16 currently."):
        context = lib.autocast("cpu", dtype=lib.float32)
    with context:
        assert (lib.ones(2, 2) @ lib.ones(2, 2)).dtype is lib.float32
    with warns(lib, "CUDA is not available or torch_xla is imported. Disabling autocast."):
        lib.autocast("cuda")
    with raises(lib, TypeError, "is_autocast_enabled(): argument 'device_type' (position 1) must be str, not int"):
        lib.is_autocast_enabled(3)
    assert lib.amp.is_autocast_available("cpu")
    assert not lib.amp.is_autocast_available("meta")


@pytest.mark.parametrize("cast_inputs", [False, True])
def test_custom_functions(lib, cast_inputs):
    amp, seen = lib.amp, []
    options = {"cast_inputs": lib.float32} if cast_inputs else {}

    class Product(lib.autograd.Function):
        @staticmethod
        @amp.custom_fwd(device_type="cpu", **options)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            out = a @ b
            seen.append((a.dtype, out.dtype, lib.is_autocast_enabled("cpu")))
            return out

        @staticmethod
        @amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            seen.append(lib.is_autocast_enabled("cpu"))
            return g @ b.t().to(g.dtype), a.t().to(g.dtype) @ g

    a, b = leaf(lib, [[1.0, 2.0]]), leaf(lib, [[3.0], [4.0]])
    with lib.autocast("cpu"):
        out = Product.apply(a.bfloat16() if cast_inputs else a, b)
    out.float().sum().backward()
    full = (lib.float32, lib.float32, False)
    assert seen == [full if cast_inputs else (lib.float32, lib.bfloat16, True), not cast_inputs]
    assert a.grad.tolist() == [[3.0, 4.0]]


def test_names_of_old_for_a_gpu(lib):
    old = lib.cuda.amp
    with warns(lib, "`torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)` instead.",
               FutureWarning):
        context = old.autocast()
    with context:
        assert (lib.ones(2, 2) @ lib.ones(2, 2)).dtype is lib.float32
    assert not old.autocast(enabled=False)._enabled
    with warns(lib, "`torch.cuda.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('cuda', args...)` "
                    "instead.", FutureWarning):
        scaler = old.GradScaler()
    assert not scaler.is_enabled()
