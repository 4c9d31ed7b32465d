"""Tensors in the processes of joblib and Dask: by shared memory, or by buffers beside the pickle."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy
import pytest
from distributed.protocol import deserialize, serialize

import claygrad as torch
from tests.distributed.starting import start

JOBLIB = """
import claygrad as torch
from joblib import Parallel, delayed

def look(t, at):
    t[at] = at
    return t.is_shared(), t

if __name__ == "__main__":
    shared, own = torch.zeros(1000).share_memory_(), torch.zeros(1000)
    with Parallel(n_jobs=2) as parallel:
        there = parallel(delayed(look)(shared, at) for at in (1, 2))
        assert all(is_shared for is_shared, _ in there)
        assert shared[:3].tolist() == [0, 1, 2]                 # the workers wrote to this memory
        assert there[0][1].data_ptr() == shared.data_ptr()      # and what they send back is it
        there = parallel(delayed(look)(own, at) for at in (1, 2))
        assert not any(is_shared for is_shared, _ in there)
        assert own.tolist() == [0] * 1000                       # a copy each
        assert there[1][1][:3].tolist() == [0, 0, 2]
        view = shared.view(10, 100)[3]
        _, back = parallel([delayed(look)(view, 5)])[0]
        assert shared[305] == 5 and back.untyped_storage().data_ptr() == shared.untyped_storage().data_ptr()
    print("well")
"""


def test_shared_memory_stays_shared_in_joblib(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(JOBLIB)
    done = start([sys.executable, str(file)], 60)
    assert done.out == "well\n", done.err


def test_dask_sends_buffers_beside_the_pickle() -> None:
    model = torch.nn.Linear(300, 300)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 300)).sum().backward()
    optimizer.step()
    for value, tensors in ((torch.ones(1000, 100), 1), (model, 2), (optimizer, 6)):
        header, frames = serialize(value)
        assert header["serializer"] == "pickle"
        large = [frame for frame in frames if len(memoryview(frame).cast("B")) > 1000]
        assert len(frames) > tensors, "the tensors are inside the pickle"
        assert large
        deserialize(header, frames)
    t = torch.arange(1000.0)
    assert deserialize(*serialize(t)).data_ptr() == t.data_ptr()


def test_read_only_buffers_as_of_ray() -> None:
    """A tensor from memory that may only be read is a copy, which may be written to; an array over it is not copied."""
    buffers: list[pickle.PickleBuffer] = []
    t = torch.arange(1000.0)
    data = pickle.dumps(t, 5, buffer_callback=buffers.append)
    assert len(data) < 1000
    held = [memoryview(bytes(buffer.raw())) for buffer in buffers]
    back = pickle.loads(data, buffers=held)
    back += 1
    assert torch.equal(back, t + 1)
    array = numpy.frombuffer(held[0], numpy.float32)
    with pytest.warns(UserWarning, match="not writable"):
        seen = torch.from_numpy(array)
    assert seen.data_ptr() == array.ctypes.data
    assert torch.equal(seen, t)
