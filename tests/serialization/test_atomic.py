"""Whenever a save is cut short, the old or the new file is whole; when one fails, the old one is there and nothing else."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import claygrad as torch

# A process that starts others, each saving without end, and kills them at moments of chance. What is in the file is
# always one whole save: all of its numbers are its number.
KILLER = """
import os, random, signal, sys, time
from pathlib import Path
import claygrad

path, times = Path(sys.argv[1]), int(sys.argv[2])
x = claygrad.zeros(250_000)

def save(number):
    claygrad.save({"number": number, "x": x.fill_(float(number)), "y": claygrad.ones(3)}, path)

save(0)
begin = time.perf_counter()
for _ in range(5):
    save(0)
takes = (time.perf_counter() - begin) / 5
chance, number, cut, seen = random.Random(0), 0, 0, set()
for _ in range(times):
    child = os.fork()
    if not child:
        while True:
            number += 1
            save(number)
    time.sleep(chance.random() * 4 * takes)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = claygrad.load(path)
    assert found["number"] >= number, "an older file came back"
    assert bool(found["x"].eq(found["number"]).all()) and found["y"].tolist() == [1, 1, 1], "two saves are mixed"
    number = found["number"]
    seen.add(number)
    for left in path.parent.glob(".*.part"):        # what a killed process leaves; it is never taken for the file
        cut += 1
        left.unlink()
assert len(list(path.parent.iterdir())) == 1
print(len(seen), cut)
"""


def kill_while_saving(path: Path, times: int) -> None:
    done = subprocess.run([sys.executable, "-c", KILLER, str(path), str(times)], capture_output=True, text=True, check=False,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    saved, cut = map(int, done.stdout.split())
    assert saved > times // 10, "almost all were killed before they had saved anything"
    assert cut > times // 10, "almost none was killed in the middle of a save"


def test_thirty_processes_killed_while_they_save(tmp_path):
    kill_while_saving(tmp_path / "x.pt", 30)


def test_what_killed_saves_left_is_removed_by_the_next_one(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    path = tmp_path / "x.pt"
    abandoned, alive = tmp_path / ".x.pt.0123456789ab.part", tmp_path / ".x.pt.ba9876543210.part"
    others = [tmp_path / name for name in (".y.pt.0123456789ab.part", ".x.pt.mine.part", "x.pt.0123456789ab.part")]
    for file in (abandoned, alive, *others):
        file.write_bytes(b"half a checkpoint")
    with alive.open("rb") as held:
        fcntl.flock(held.fileno(), fcntl.LOCK_EX)          # another process is writing it
        torch.save(torch.ones(3), path)
    assert sorted(tmp_path.iterdir()) == sorted([path, alive, *others])
    torch.save(torch.zeros(3), path)
    assert sorted(tmp_path.iterdir()) == sorted([path, *others])
    assert torch.load(path).tolist() == [0, 0, 0]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_thousand_processes_killed_while_they_save(tmp_path):
    kill_while_saving(tmp_path / "x.pt", 1000)


class Stopped(Exception):
    pass


def test_stopped_at_every_write(tmp_path, monkeypatch):
    """As if the process had ended after each call that changes the disk."""
    path = tmp_path / "x.pt"
    torch.save(torch.zeros(5), path)
    before = path.read_bytes()
    for name in ("fsync", "chmod", "replace"):
        def stop(*_):
            raise Stopped
        with monkeypatch.context() as patched:
            patched.setattr(os, name, stop)
            with pytest.raises(Stopped):
                torch.save(torch.ones(5), path)
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["x.pt"]


def test_a_full_disk(tmp_path):
    """A limit on the size of files answers as a full disk does: with an error in the middle of a write."""
    path = tmp_path / "x.pt"
    torch.save(torch.zeros(5), path)
    before = path.read_bytes()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limit[1]))
        with pytest.raises(RuntimeError, match=r"^PytorchStreamWriter failed writing file .*x.pt: File too large") as caught:
            torch.save([torch.ones(20_000), torch.ones(20_000)], path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, ignored)
    assert "untouched" in str(caught.value)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.pt"]


def test_no_space_left_is_said(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RuntimeError, match=r"No space left on device.\n(?s:.*)  The disk is full."):
        torch.save(1, tmp_path / "x.pt")
    assert os.listdir(tmp_path) == []


def test_folders_that_cannot_be_written_to(tmp_path):
    with pytest.raises(RuntimeError, match=r"^Parent directory .*none does not exist."):
        torch.save(1, tmp_path / "none" / "x.pt")
    with pytest.raises(RuntimeError, match=r"^File .* cannot be opened"):
        torch.save(1, tmp_path)


def test_a_folder_without_permission(tmp_path, monkeypatch):
    """Opening is refused, as it is for all but the superuser."""
    path = tmp_path / "x.pt"
    torch.save(torch.zeros(2), path)

    def refuse(name, *_):
        raise PermissionError(13, "Permission denied", name)
    with monkeypatch.context() as patched:
        patched.setattr("claygrad.serialization._archive.open", refuse, raising=False)
        with pytest.raises(RuntimeError, match=r"^File .*x.pt cannot be opened.\n(?s:.*)  Permission denied"):
            torch.save(torch.ones(2), path)
    assert torch.load(path).tolist() == [0, 0]
    assert os.listdir(tmp_path) == ["x.pt"]


def test_what_cannot_be_saved_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.pt"
    torch.save(3, path)
    with pytest.raises(Exception, match=r"lambda"):
        torch.save({"f": lambda: 0}, path)
    assert torch.load(path) == 3
    assert os.listdir(tmp_path) == ["x.pt"]


def test_permissions_stay_and_links_lead_on(tmp_path):
    path, link = tmp_path / "x.pt", tmp_path / "link.pt"
    torch.save(1, path)
    path.chmod(0o640)
    link.symlink_to(path)
    torch.save(2, link)
    assert link.is_symlink()
    assert torch.load(path) == 2
    assert path.stat().st_mode & 0o777 == 0o640


def test_devices_are_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdout.write(str(len(open(sys.argv[1], 'rb').read())))",
                               str(pipe)], stdout=subprocess.PIPE, text=True)
    torch.save(torch.zeros(100), pipe)
    assert int(reader.communicate(timeout=60)[0]) > 400
    assert pipe.is_fifo()


def test_a_name_as_long_as_names_may_be(tmp_path):
    path = tmp_path / ("x" * 252 + ".pt")
    torch.save(4, path)
    assert torch.load(path) == 4
