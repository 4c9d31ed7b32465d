"""The table of `cuda` over a stand-in for CuPy, with claygrad's own kernels run on the host: no GPU is at hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import claygrad as torch
from claygrad.devices import table_of, use
from claygrad.devices._cuda import Cuda
from tests.devices.compare import differences
from tests.devices.fake_cupy import ASKED, FakeCupy, _data, errstate
from tests.devices.models import PROGRAMS, losses
from tests.devices.strict import Array, use_strict
from tests.devices.test_operations import KEYS, LACKING


@pytest.fixture(autouse=True)
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Array, "data", property(_data), raising=False)
    monkeypatch.setattr(Array, "device", property(lambda self: FakeCupy.cuda.Device(0)), raising=False)
    use("privateuseone", None)                            # cuda is the accelerator
    use("cuda", lambda: Cuda(FakeCupy(), errstate))
    yield
    use("cuda", None)
    use_strict()


@pytest.mark.parametrize("key", KEYS[::3])
def test_an_operation_does_there_what_it_does_on_the_cpu(key):
    found = list(differences(key, "cuda", most=2))
    assert {word for word, _ in found} <= ({"lacks"} if key in LACKING else set()), found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_trains_as_on_the_cpu(name):
    torch.set_default_dtype(torch.float64)
    try:
        assert losses(name, "cuda") == pytest.approx(losses(name, "cpu"), rel=1e-9)
    finally:
        torch.set_default_dtype(torch.float32)


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
    torch.cuda.current_stream().synchronize()
    assert begin.elapsed_time(end) >= 0
    assert y.cpu().tolist() == [2, 2, 2]
    torch.cuda.empty_cache()


def test_streams_order_work_without_waiting():
    first, second = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
    assert first != second
    assert torch.cuda.current_stream() == torch.cuda.default_stream() != first
    assert torch.cuda.default_stream().cuda_stream == 0
    assert second.raw.priority == -1
    ASKED.clear()
    with torch.cuda.stream(first):
        assert torch.cuda.current_stream() == first
        with torch.cuda.stream(second):
            assert torch.cuda.current_stream() == second
        assert torch.cuda.current_stream() == first
        with torch.cuda.stream(None):
            assert torch.cuda.current_stream() == first
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    second.wait_stream(first)
    (_, recorded, event), waits = ASKED
    assert (recorded, waits) == (first.stream_id, ("waits", second.stream_id, event))
    assert not first.query()
    first.synchronize()
    assert first.query()


def test_memory_lives_until_a_stream_is_done_with_it():
    stream = torch.cuda.Stream()
    table = table_of("cuda")
    x = torch.ones(3, device="cuda")
    event = stream.record_event()
    address = x.data_ptr()
    x.record_stream(stream)
    del x
    assert [held.data_ptr() for _, held in table.held] == [address]
    torch.ones(1, device="cuda").record_stream(stream)
    assert len(table.held) == 2                                     # the stream has not come so far
    stream.synchronize()
    assert event.query()
    torch.cuda.synchronize()
    assert table.held == []
    with pytest.raises(RuntimeError, match="record_stream: tensors on the CPU have no streams"):
        torch.ones(1).record_stream(stream)


def test_events_mark_a_stream():
    stream = torch.cuda.Stream()
    begin, end, late = (torch.cuda.Event(enable_timing=True) for _ in range(3))
    assert begin.query()
    with pytest.raises(ValueError, match="Both events must be recorded before calculating elapsed time"):
        begin.elapsed_time(end)
    with torch.cuda.stream(stream):
        begin.record()
    stream.record_event(end)
    with pytest.raises(ValueError, match="Both events must be completed before calculating elapsed time"):
        begin.elapsed_time(end)
    end.synchronize()
    begin.synchronize()
    assert begin.elapsed_time(end) >= 0
    ASKED.clear()
    late.wait()                                           # never recorded: nothing to wait for
    end.wait(stream)
    assert [word[0] for word in ASKED] == ["waits"]
    with pytest.raises(ValueError, match="enable_timing=True"):
        torch.cuda.Event().elapsed_time(end)
    assert begin.raw.disable_timing is False


def test_a_copy_from_pinned_memory_need_not_be_waited_for():
    x = torch.arange(6.0).view(2, 3)
    held = x.pin_memory()
    assert held.is_pinned()
    ASKED.clear()
    assert x.to("cuda", non_blocking=True).cpu().tolist() == x.tolist()                 # not pinned: as ever
    assert held.to("cuda").cpu().tolist() == x.tolist()
    assert ASKED == []
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for made in (held.to("cuda", non_blocking=True), held.cuda(non_blocking=True), held[1:].to("cuda", torch.float32, True)):
            assert made.cpu().tolist() == x.tolist()[-len(made):]
    assert [word[:2] for word in ASKED if word[0] == "copied"] == [("copied", stream.stream_id)] * 3
    assert len(table_of("cuda").under_way) == 3                # what they read is kept until they are done


def test_copies_to_the_host_come_after_the_work_of_their_stream():
    x = torch.arange(6.0).view(2, 3)
    held, other = x.pin_memory(), torch.cuda.Stream()
    target, pinned = torch.zeros(2, 3), torch.zeros(2, 3).pin_memory()
    with torch.cuda.stream(other):
        made = held.to("cuda", non_blocking=True)
        for read in (made.cpu, lambda: made.to("cpu", non_blocking=True), lambda: target.copy_(made, non_blocking=True),
                     lambda: pinned.copy_(made, non_blocking=True), lambda: made[1:].T.cpu().T):
            assert read().tolist()[-1] == [3, 4, 5]               # what is returned can be read at once
        assert pinned.is_pinned()


def test_copies_to_the_host_do_not_wait_for_other_streams():
    held = torch.arange(6.0).pin_memory()
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(first):
        made = held.to("cuda", non_blocking=True)
    ASKED.clear()
    with torch.cuda.stream(second):
        assert made.cpu().tolist() != held.tolist()               # as in PyTorch: nobody said that it comes after
        second.wait_stream(first)
        assert made.cpu().tolist() == held.tolist()
    assert [word[0] for word in ASKED] == ["recorded", "waits"]   # nobody stopped the host for a stream
    with torch.cuda.stream(first):
        late = (held + 1).pin_memory().to("cuda", non_blocking=True)
        done = first.record_event()
    assert not done.query()
    done.synchronize()
    assert late.cpu().tolist() == [1, 2, 3, 4, 5, 6]


def test_what_a_copy_reads_is_kept_until_it_is_done():
    stream, table = torch.cuda.Stream(), table_of("cuda")
    held = torch.full((1000,), 7.0).pin_memory()
    with torch.cuda.stream(stream):
        made = held.to("cuda", non_blocking=True)
    del held
    for _ in range(20):
        torch.zeros(1000).pin_memory()                            # would take its memory
    assert len(table.under_way) == 1
    stream.synchronize()
    assert made.cpu().unique().tolist() == [7]
    with torch.cuda.stream(stream):
        torch.ones(3).pin_memory().to("cuda", non_blocking=True)
    assert len(table.under_way) == 1                              # the first one is let go


def test_a_checkpoint_of_the_device_loads_where_there_is_none(tmp_path):
    torch.save({"x": torch.ones(2, device="cuda")}, tmp_path / "x.pt")
    use("cuda", None)
    with pytest.raises(RuntimeError, match=r"Attempting to deserialize object on a CUDA device but torch\.cuda"):
        torch.load(tmp_path / "x.pt")
    assert torch.load(tmp_path / "x.pt", map_location="cpu")["x"].tolist() == [1, 1]
