"""What SummaryWriter writes is in the files that TensorBoard reads."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import claygrad as torch
from claygrad.utils.tensorboard import SummaryWriter

pytest.importorskip("tensorboardX")


def events(folder: Path) -> dict[str, list]:
    """The values by tag, read back from the records of the event files."""
    import struct

    from tensorboardX.proto import event_pb2

    found: dict[str, list] = {}
    for path in folder.rglob("*tfevents*"):
        data = path.read_bytes()
        while data:
            length, = struct.unpack("<Q", data[:8])
            event = event_pb2.Event.FromString(data[12:12 + length])
            data = data[16 + length:]
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value))
    return found


def test_numbers_histograms_and_pictures(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for n in range(3):
            writer.add_scalar("loss", torch.tensor(n / 2, requires_grad=True), n)
        writer.add_scalars("both", {"a": torch.tensor(1.0), "b": 2.0}, 0)
        writer.add_histogram("weights", torch.randn(100).to(torch.bfloat16), global_step=1)
        writer.add_image("picture", torch.rand(3, 4, 5), 0)
        writer.add_text("words", "text", 0)
        writer.flush()
    found = events(tmp_path)
    assert [(step, value.simple_value) for step, value in found["loss"]] == [(0, 0.0), (1, 0.5), (2, 1.0)]
    assert found["weights"][0][1].histo.num == 100
    assert (found["picture"][0][1].image.height, found["picture"][0][1].image.width) == (4, 5)
    assert "both/a" in found or any("both" in tag for tag in found)


def test_the_folder(tmp_path):
    writer = SummaryWriter(str(tmp_path / "run"))
    assert writer.get_logdir() == writer.log_dir == str(tmp_path / "run")
    writer.close()


def test_what_there_is_not(tmp_path):
    writer = SummaryWriter(str(tmp_path))
    with pytest.raises(AttributeError, match=r"no attribute 'add_nothing'"):
        writer.add_nothing
    with pytest.raises(NotImplementedError, match=r"add_graph"):
        writer.add_graph(torch.nn.Linear(1, 1))
    writer.close()


def test_without_the_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install claygrad\[tensorboard\]"):
        SummaryWriter("nowhere")
    assert not Path("nowhere").exists()
