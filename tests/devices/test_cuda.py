"""The table of `cuda` over a stand-in for CuPy: no GPU is at hand. What is left to test is CuPy itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import claygrad as torch
from claygrad.devices import use
from claygrad.devices._cuda import Cuda
from tests.devices.compare import differences
from tests.devices.fake_cupy import FakeCupy, _data, errstate
from tests.devices.models import PROGRAMS, losses
from tests.devices.strict import Array
from tests.devices.test_operations import KEYS, LACKING


@pytest.fixture(autouse=True)
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Array, "data", property(_data), raising=False)
    monkeypatch.setattr(Array, "device", property(lambda self: FakeCupy.cuda.Device(0)), raising=False)
    use("cuda", lambda: Cuda(FakeCupy(), errstate))
    yield
    use("cuda", None)


@pytest.mark.parametrize("key", KEYS[::5])
def test_an_operation_does_there_what_it_does_on_the_cpu(key):
    found = list(differences(key, "cuda", most=2))
    assert {word for word, _ in found} <= ({"lacks"} if key in LACKING else set()), found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_trains_as_on_the_cpu(name):
    assert losses(name, "cuda") == pytest.approx(losses(name, "cpu"), rel=2e-4)


def test_the_module():
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 1
    assert torch.cuda.current_device() == 0
    assert torch.cuda.get_device_name() == "stand-in"
    assert torch.cuda.get_device_capability() == (9, 0)
    assert torch.cuda.get_device_properties(0).total_memory == 1 << 30
    assert torch.cuda.mem_get_info() == (1 << 29, 1 << 30)
    x = torch.ones(3).cuda()
    assert x.is_cuda
    assert torch.cuda.memory_allocated() >= 12
    torch.cuda.manual_seed(3)
    first = torch.rand(2, device="cuda").tolist()
    torch.cuda.manual_seed(3)
    assert torch.rand(2, device="cuda").tolist() == first
    with torch.cuda.device(0), torch.cuda.stream(torch.cuda.Stream()):
        y = x * 2
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    end.record()
    torch.cuda.synchronize()
    assert begin.elapsed_time(end) >= 0
    assert y.cpu().tolist() == [2, 2, 2]
    torch.cuda.empty_cache()


def test_a_checkpoint_of_the_device_loads_where_there_is_none(tmp_path):
    torch.save({"x": torch.ones(2, device="cuda")}, tmp_path / "x.pt")
    use("cuda", None)
    with pytest.raises(RuntimeError, match=r"Attempting to deserialize object on a CUDA device but torch\.cuda"):
        torch.load(tmp_path / "x.pt")
    assert torch.load(tmp_path / "x.pt", map_location="cpu")["x"].tolist() == [1, 1]
