"""What belongs to a device: the default, random streams, memory, modules and files, and what it lacks."""

from __future__ import annotations

import gc
import io

import pytest

import claygrad as torch
from claygrad import nn


def test_a_device_as_default_and_as_context(there):
    with torch.device(there):
        assert torch.zeros(2).device.type == there
        assert torch.tensor([1.0]).device.type == there
        assert nn.Linear(2, 2).weight.device.type == there
        assert torch.get_default_device() == torch.device(there, 0)
    assert torch.zeros(2).device.type == "cpu"
    torch.set_default_device(there)
    try:
        assert torch.arange(3).device.type == there
        assert torch.randn(2).device.type == there
        assert torch.ones(2, device="cpu").device.type == "cpu"
    finally:
        torch.set_default_device(None)


def test_random_streams_belong_to_devices(there):
    torch.manual_seed(3)
    first = torch.rand(4, device=there).tolist()
    host = torch.rand(4).tolist()
    torch.manual_seed(3)
    assert torch.rand(4).tolist() == host                       # drawing there changed nothing here
    assert torch.rand(4, device=there).tolist() == first
    with torch.random.fork_rng(devices=[0], device_type=there):
        torch.rand(2, device=there)
        torch.manual_seed(9)
    follows = torch.rand(4, device=there).tolist()
    torch.manual_seed(3)
    torch.rand(4, device=there)
    assert torch.rand(4, device=there).tolist() == follows


def test_a_generator_draws_for_its_own_device(there):
    generator = torch.Generator(device=there).manual_seed(5)
    assert generator.device == torch.device(there, 0)
    x = torch.randn(3, device=there, generator=generator)
    state = generator.get_state()
    y = torch.randn(3, device=there, generator=generator)
    generator.set_state(state)
    assert torch.equal(torch.randn(3, device=there, generator=generator), y)
    assert not torch.equal(x, y)
    with pytest.raises(RuntimeError, match=f"Expected a '{there}' device type for generator but found 'cpu'"):
        torch.zeros(3, device=there).normal_(generator=torch.Generator())


@pytest.mark.parametrize("draw", [
    lambda d: torch.bernoulli(torch.full((5,), 0.5, device=d)), lambda d: torch.randperm(6, device=d),
    lambda d: torch.randint(0, 9, (4,), device=d), lambda d: torch.multinomial(torch.ones(4, device=d), 2),
    lambda d: torch.poisson(torch.full((3,), 2.0, device=d)), lambda d: torch.normal(torch.zeros(3, device=d), 1.0),
    lambda d: torch.empty(3, device=d).exponential_(), lambda d: nn.functional.dropout(torch.ones(8, device=d)),
    lambda d: torch.distributions.Gamma(torch.ones(2, device=d), torch.ones(2, device=d)).sample()])
def test_draws_are_made_there(there, draw):
    torch.manual_seed(0)
    x = draw(there)
    torch.manual_seed(0)
    assert x.device.type == there
    assert torch.equal(draw(there), x)


def test_memory_is_counted(there):
    table = torch.zeros(1, device=there).device.table
    gc.collect()
    before = table.counted(0).used
    x = torch.zeros(1000, device=there)
    y = x + 1
    assert table.counted(0).used == before + 8000
    del x, y
    gc.collect()
    assert table.counted(0).used == before
    assert table.counted(0).peak >= before + 8000


def test_modules_move_with_their_gradients_and_state(there):
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
    weight = model[0].weight
    model.to(there)
    assert model[0].weight is weight                            # the same parameter, elsewhere
    assert {t.device.type for t in model.state_dict().values()} == {there}
    model(torch.ones(5, 3, device=there)).sum().backward()
    assert weight.grad.device.type == there
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    assert {t.device.type for t in torch.load(file).values()} == {there}
    file.seek(0)
    state = torch.load(file, map_location="cpu")
    assert {t.device.type for t in state.values()} == {"cpu"}
    other = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1)).to(there)
    other.load_state_dict(state)
    assert torch.equal(other[0].weight, weight)
    file.seek(0)
    assert torch.load(file, map_location=lambda storage, place: storage)["0.weight"].device.type == "cpu"
    model.cpu()
    assert weight.device.type == "cpu"
    assert weight.grad.device.type == "cpu"
    model(torch.ones(5, 3)).sum().backward()


def test_deferred_initialisation(there):
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    model = model.to_empty(device=there)
    for layer in model:
        layer.reset_parameters()
    assert model(torch.ones(2, 3, device=there)).device.type == there


@pytest.mark.parametrize("make", [
    lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True), lambda p: torch.optim.Adam(p, lr=0.01),
    lambda p: torch.optim.AdamW(p, lr=0.01), lambda p: torch.optim.RMSprop(p, lr=0.01), lambda p: torch.optim.Adagrad(p, lr=0.1),
    lambda p: torch.optim.Adadelta(p), lambda p: torch.optim.NAdam(p), lambda p: torch.optim.RAdam(p),
    lambda p: torch.optim.Adamax(p), lambda p: torch.optim.ASGD(p), lambda p: torch.optim.Rprop(p),
    lambda p: torch.optim.LBFGS(p, lr=0.1)])
def test_optimizers_step_as_on_the_cpu(there, make):
    ends = []
    for device in ("cpu", there):
        x = torch.tensor([1.0, -2.0, 3.0], device=device, requires_grad=True)
        optimizer = make([x])

        def closure(x=x, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (x * x * torch.arange(1.0, 4.0, device=x.device)).sum()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
        torch.nn.utils.clip_grad_norm_([x], 1.0)
        state = optimizer.state_dict()
        optimizer.load_state_dict(state)
        ends.append(x.detach().cpu())
    assert torch.allclose(*ends, atol=1e-5)


def test_what_a_device_lacks_names_the_operation_and_the_way_out(there, monkeypatch):
    monkeypatch.delenv("CLAYGRAD_ENABLE_HOST_FALLBACK", raising=False)
    x = torch.tensor([[2.0, 1.0], [1.0, 3.0]], device=there)
    with pytest.raises(NotImplementedError) as caught:
        torch.linalg.ldl_factor(x)
    text = str(caught.value)
    assert text.startswith(f"The operator 'aten::linalg_ldl_factor_ex' is not currently implemented for the {there} device.")
    assert "CLAYGRAD_ENABLE_HOST_FALLBACK=1" in text
    monkeypatch.setenv("CLAYGRAD_ENABLE_HOST_FALLBACK", "1")
    with pytest.warns(UserWarning, match="will fall back to run on the CPU"):
        y = torch.linalg.ldl_factor(x).LD
    assert y.device == x.device
    assert torch.allclose(y.cpu(), torch.linalg.ldl_factor(x.cpu()).LD)


def test_the_module_of_the_accelerator(strict):
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() == torch.device(strict)
    assert torch.accelerator.device_count() == 2
    torch.accelerator.synchronize()
    assert torch.accelerator.current_device_index() == 0
    with torch.accelerator.device_index(1):
        assert torch.zeros(1, device=strict).device.index == 1
    assert torch.device(1) == torch.device(strict, 1)
    assert torch.accelerator.memory_allocated() >= 0


def test_types_that_are_not_there():
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.zeros(1, device="cuda")
    with pytest.raises(RuntimeError, match="device type 'hpu' is not supported by claygrad"):
        torch.zeros(1, device="hpu")
    assert torch.cuda.is_available() is False
    assert torch.cuda.device_count() == 0
    assert torch.cuda.memory_allocated() == 0
    for name in ("current_device get_device_name get_device_properties max_memory_allocated synchronize manual_seed "
                 "empty_cache Stream Event amp device").split():
        assert getattr(torch.cuda, name) is not None


def test_pinned_memory(there):
    x = torch.arange(6.0).reshape(2, 3)
    y = x.t().pin_memory()
    assert y.is_pinned()
    assert not x.is_pinned()
    assert y.pin_memory() is y
    assert torch.equal(y.to(there, non_blocking=True).cpu(), x.t())
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        x.to(there).pin_memory()
    data = torch.utils.data.TensorDataset(x, torch.arange(2))
    for rows, numbers in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True):
        assert rows.is_pinned()
        assert numbers.is_pinned()
        assert torch.equal(rows, x)
