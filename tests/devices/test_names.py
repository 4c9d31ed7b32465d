"""The names of `torch.cuda` and `torch.xpu` where there is a device: each answers, works, or says that it is not there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import claygrad as torch
from claygrad.compat.names import table
from claygrad.devices import use
from claygrad.devices._cuda import Cuda
from tests.devices.fake_cupy import FakeCupy, _data, errstate
from tests.devices.strict import Array, use_strict


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Array, "data", property(_data), raising=False)
    monkeypatch.setattr(Array, "device", property(lambda self: FakeCupy.cuda.Device(0)), raising=False)
    use("privateuseone", None)
    use("cuda", lambda: Cuda(FakeCupy(), errstate))
    yield
    use("cuda", None)
    use_strict()


def use_of(module: object, name: str) -> str:
    """What comes of asking for a name and calling it."""
    found = getattr(module, name)
    if not callable(found):
        return "value"
    try:
        found()
    except TypeError as error:
        assert "argument" in str(error) or "instantiate" in str(error), name
        return "wants more"
    except (NotImplementedError, RuntimeError) as error:
        assert "torch.cuda" in str(error) or "xpu" in str(error) or "only a name" in str(error), (name, error)
        return "not there"
    return "answers"


def check(module: object, names: list[str]) -> None:
    assert len(names) > 60
    uses = {name: use_of(module, name) for name in names if not name.startswith("_")}
    assert uses["device_count"] == uses["memory_stats_as_nested_dict"] == uses["get_rng_state"] == "answers"
    assert uses["memory_snapshot"] == uses["temperature"] == uses["MemPool"] == "not there"


def test_cuda_with_a_device(cuda):
    check(torch.cuda, [*table()["torch.cuda"]])


def test_xpu_with_a_device():
    pytest.importorskip("dpnp")
    check(torch.xpu, [*table()["torch.xpu"]])


def test_what_is_not_there_says_so_of_a_device_that_is(cuda):
    for name in ("CUDAGraph", "MemPool", "cudart", "graph", "host_memory_stats", "list_gpu_processes", "utilization"):
        with pytest.raises(NotImplementedError, match=f"torch.cuda.{name} is not there\n.*cupy.*docs/devices.md"):
            getattr(torch.cuda, name)()
    torch.cuda.set_sync_debug_mode("default")
    assert torch.cuda.get_sync_debug_mode() == 0
    with pytest.raises(NotImplementedError, match=r"torch\.cuda\.set_sync_debug_mode is not there"):
        torch.cuda.set_sync_debug_mode("error")
    use("cuda", None)
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.cuda.cudart()


def test_memory_in_words_and_nested(cuda):
    x = torch.zeros(1000, device="cuda")
    assert torch.cuda.max_memory_cached() >= torch.cuda.memory_cached() >= 4000
    assert torch.cuda.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["current"] == torch.cuda.memory_allocated()
    text = torch.cuda.memory_summary(abbreviated=True)
    assert text.splitlines()[0] == "claygrad's memory on cuda:0"
    assert f"{torch.cuda.memory_allocated():,}" in text
    assert torch.cuda.device_memory_used() == (1 << 30) - (1 << 29)
    del x
    with pytest.raises(ValueError, match=r"Invalid fraction value: 2\.0\. Allowed range: 0~1"):
        torch.cuda.set_per_process_memory_fraction(2.0)
    torch.cuda.set_per_process_memory_fraction(0.5)
    assert FakeCupy.pool.fraction == 0.5
    assert torch.cuda.is_tf32_supported()


def test_streams_of_others_and_generators(cuda):
    raw = FakeCupy.cuda.Stream()
    for stream in (torch.cuda.ExternalStream(raw.ptr), torch.cuda.get_stream_from_external(raw.ptr, 0)):
        assert isinstance(stream, torch.cuda.Stream)
        assert stream.cuda_stream == raw.ptr
        with torch.cuda.stream(stream):
            assert torch.cuda.current_stream() == stream
    assert torch.cuda.default_generators[0].device == torch.device("cuda", 0)
    torch.cuda.default_generators[0].manual_seed(3)
    first = torch.rand(2, device="cuda").tolist()
    torch.cuda.manual_seed(3)
    assert torch.rand(2, device="cuda").tolist() == first


def test_old_classes_of_tensors(cuda):
    x = torch.cuda.FloatTensor([1.0, 2.0])
    assert x.device == torch.device("cuda", 0)
    assert torch.cuda.LongTensor(2, 3).shape == (2, 3)
    assert isinstance(x, torch.cuda.FloatTensor)
    assert not isinstance(x, (torch.FloatTensor, torch.cuda.DoubleTensor))
    assert x.type().endswith(".cuda.FloatTensor")
    for kind in (torch.cuda.DoubleTensor, "torch.cuda.DoubleTensor"):
        there = x.cpu().type(kind)
        assert there.is_cuda
        assert there.dtype is torch.float64
    assert torch.ones(2).type(x.type()).is_cuda
    assert x.type(torch.FloatTensor).device.type == x.type("torch.LongTensor").device.type == "cpu"
    assert x.type(torch.float64).is_cuda
    try:
        with pytest.warns(UserWarning, match="deprecated as of PyTorch 2.1"):
            torch.set_default_tensor_type("torch.cuda.DoubleTensor")
        assert torch.zeros(1).device.type == "cuda"
        assert torch.zeros(1).dtype is torch.float64
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
