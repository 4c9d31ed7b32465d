"""What SummaryWriter writes is in the files that TensorBoard reads."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import claygrad as torch
from claygrad.utils.tensorboard import SummaryWriter
from tests.support.library import fresh

INSTALLED = [name for name in ("tensorboardX", "tensorboard") if importlib.util.find_spec(name) is not None]


@pytest.fixture(params=INSTALLED, autouse=True)
def library(request, monkeypatch) -> str:
    """Each of the packages that are there, with the other one hidden."""
    if request.param == "tensorboard":
        monkeypatch.setitem(sys.modules, "tensorboardX", None)
    return request.param


def events(folder: Path, library: str) -> dict[str, list]:
    """The values by tag, read back from the records of the event files."""
    import struct

    place = "tensorboardX.proto" if library == "tensorboardX" else "tensorboard.compat.proto"
    event_pb2 = importlib.import_module(f"{place}.event_pb2")
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


def test_numbers_histograms_and_pictures(tmp_path, library):
    with SummaryWriter(tmp_path) as writer:
        for n in range(3):
            writer.add_scalar("loss", torch.tensor(n / 2, requires_grad=True), n)
        writer.add_scalars("both", {"a": torch.tensor(1.0), "b": 2.0}, 0)
        writer.add_histogram("weights", torch.randn(100).to(torch.bfloat16), global_step=1)
        writer.add_image("picture", torch.rand(3, 4, 5), 0)
        writer.add_images("pictures", torch.rand(9, 1, 4, 5))
        writer.add_text("words", "text", 0)
        writer.add_pr_curve("curve", torch.tensor([0, 1, 1]), torch.tensor([0.1, 0.9, 0.4]))
        writer.add_hparams({"rate": 0.1, "kind": "a", "many": torch.tensor(3)}, {"best": torch.tensor(0.5)})
        writer.flush()
    found = events(tmp_path, library)
    assert [(step, value.simple_value) for step, value in found["loss"]] == [(0, 0.0), (1, 0.5), (2, 1.0)]
    assert found["weights"][0][1].histo.num == 100
    assert (found["picture"][0][1].image.height, found["picture"][0][1].image.width) == (4, 5)
    assert (found["pictures"][0][1].image.height, found["pictures"][0][1].image.width) == (8, 40)      # in rows of eight
    assert found["words/text_summary"][0][1].tensor.string_val == [b"text"]
    assert sorted(value.simple_value for tag in found if "both" in tag for _, value in found[tag]) == [1.0, 2.0]
    assert found["curve"][0][1].metadata.plugin_data.plugin_name == "pr_curves"
    assert found["best"][0][1].simple_value == 0.5
    assert b"rate" in found["_hparams_/session_start_info"][0][1].metadata.plugin_data.content


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


def test_without_the_libraries_the_error_says_what_to_install(tmp_path):
    told = fresh(torch, f"""
        sys.modules["tensorboardX"] = sys.modules["tensorboard"] = None
        from claygrad.utils.tensorboard import SummaryWriter
        try:
            SummaryWriter({str(tmp_path / "nowhere")!r})
        except ModuleNotFoundError as error:
            print(error)
    """)
    assert "pip install claygrad[tensorboard]" in told
    assert not (tmp_path / "nowhere").exists()


def test_histograms_have_their_edges(tmp_path, library):
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("plain", torch.tensor([0.0, 1.0, 1.0, 4.0]), bins=[0.0, 1.0, 2.0, 3.0, 5.0, 9.0])
    histogram = events(tmp_path, library)["plain"][0][1].histo
    assert (list(histogram.bucket), list(histogram.bucket_limit)) == ([0, 1, 2, 0, 1], [0.0, 1.0, 2.0, 3.0, 5.0])
    assert (histogram.num, histogram.sum, histogram.sum_squares) == (4, 6.0, 18.0)


def test_what_tensorboard_alone_does_not_write(tmp_path, library):
    if library == "tensorboard":
        with SummaryWriter(tmp_path) as writer, pytest.raises(NotImplementedError, match=r"pip install tensorboardX"):
            writer.add_audio("sound", torch.zeros(1, 10))
