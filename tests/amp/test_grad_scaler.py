"""GradScaler on the CPU."""

from __future__ import annotations

import pickle

import pytest

from tests.support import leaf, raises, warns


def started(lib, fused=False, **options):
    p = leaf(lib, [1.0, 2.0])
    optimizer = lib.optim.SGD([p], lr=0.5, fused=fused)
    return p, optimizer, lib.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2, **options)


@pytest.mark.parametrize("fused", [False, True])
def test_gradients_are_scaled_and_the_step_is_not(lib, fused):
    p, optimizer, scaler = started(lib, fused)
    loss = (p * 3).sum()
    assert scaler.scale(loss).item() == 8 * loss.item()
    scaler.scale(loss).backward()
    assert p.grad.tolist() == [24.0, 24.0]
    scaler.step(optimizer)
    assert p.tolist() == [-0.5, 0.5]
    scaler.update()
    assert scaler.get_scale() == 8.0
    assert not hasattr(optimizer, "grad_scale") or fused is False


@pytest.mark.parametrize("fused", [False, True])
def test_the_factor_grows_after_good_steps_and_falls_after_a_bad_one(lib, fused):
    p, optimizer, scaler = started(lib, fused)
    scales = []
    for bad in (False, False, True, False, False, True):
        optimizer.zero_grad()
        scaler.scale((p * (float("inf") if bad else 1.0)).sum()).backward()
        before = p.tolist()
        scaler.step(optimizer)
        assert (p.tolist() == before) is bad
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [8.0, 16.0, 8.0, 8.0, 16.0, 8.0]


def test_unscale_before_clipping(lib):
    p, optimizer, scaler = started(lib)
    scaler.scale((p * 3).sum()).backward()
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [3.0, 3.0]
    lib.nn.utils.clip_grad_norm_([p], 1.0)
    scaler.step(optimizer)
    assert p.tolist() == pytest.approx([1 - 0.5 / 2 ** 0.5, 2 - 0.5 / 2 ** 0.5], rel=1e-4)
    with raises(lib, RuntimeError, "step() has already been called since the last update()."):
        scaler.step(optimizer)
    with raises(lib, RuntimeError, "unscale_() is being called after step()."):
        scaler.unscale_(optimizer)
    scaler.update()


def test_orders_that_make_no_sense(lib):
    p, optimizer, scaler = started(lib)
    text = ("Attempted {} but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier in "
            "the iteration.")
    with raises(lib, AssertionError, text.format("step")):
        scaler.step(optimizer)
    with raises(lib, AssertionError, text.format("update")):
        scaler.update()
    scaler.scale(p.sum()).backward()
    with raises(lib, AssertionError, "No inf checks were recorded prior to update."):
        scaler.update()
    scaler.unscale_(optimizer)
    with raises(lib, RuntimeError, "unscale_() has already been called on this optimizer since the last update()."):
        scaler.unscale_(optimizer)
    with raises(lib, RuntimeError, "Closure use is not currently supported if GradScaler is enabled."):
        scaler.step(optimizer, closure=lambda: None)
    with raises(lib, AssertionError, "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end "
                                     "after scaler.update()."):
        pickle.dumps(scaler)
    with raises(lib, ValueError, "outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale(3)
    h = lib.ones(1, dtype=lib.float16, requires_grad=True)
    other = lib.optim.SGD([h], lr=0.1)
    h.grad = lib.ones(1, dtype=lib.float16)
    with raises(lib, ValueError, "Attempting to unscale FP16 gradients."):
        scaler.unscale_(other)


def test_nested_losses_and_new_scales(lib):
    p, _optimizer, scaler = started(lib)
    a, (b, c) = scaler.scale([p.sum(), (p.prod(), p[0])])
    assert (a.item(), b.item(), c.item()) == (24.0, 16.0, 8.0)
    scaler.update(4.0)
    assert scaler.get_scale() == 4.0
    scaler.update(lib.tensor(2.0))
    assert scaler.get_scale() == 2.0
    with raises(lib, AssertionError, "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                                     "requires_grad=False."):
        scaler.update(lib.ones(2))


def test_saving_and_loading(lib):
    p, optimizer, scaler = started(lib)
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    saved = scaler.state_dict()
    assert saved == {"scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2, "_growth_tracker": 1}
    other = lib.amp.GradScaler("cpu")
    other.load_state_dict(saved)
    assert other.state_dict() == saved
    assert pickle.loads(pickle.dumps(scaler)).state_dict() == saved
    with raises(lib, RuntimeError, "The source state dict is empty, possibly because it was saved from a disabled instance of "
                                   "GradScaler."):
        other.load_state_dict({})
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(7)
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (3.0, 0.25, 7)


def test_disabled_it_does_nothing(lib):
    p, optimizer, scaler = started(lib, enabled=False)
    loss = p.sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0.5, 1.5]
    assert scaler.state_dict() == {}
    assert scaler.get_scale() == 1.0
    assert not scaler.is_enabled()
    with warns(lib, "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."):
        assert not lib.amp.GradScaler().is_enabled()
    with raises(lib, AssertionError, "The growth factor must be > 1.0."):
        lib.amp.GradScaler("cpu", growth_factor=1.0)
    with raises(lib, AssertionError, "The backoff factor must be < 1.0."):
        lib.amp.GradScaler("cpu", backoff_factor=1.0)
