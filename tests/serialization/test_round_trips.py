"""What is saved is what is loaded: values, dtypes, layouts, what shares memory with what, and everything around tensors."""

from __future__ import annotations

import io
import os
import pathlib
import pickle
import zipfile
from collections import Counter, OrderedDict

import pytest

import claygrad as torch
from claygrad import nn
from claygrad.core import DTYPES
from claygrad.serialization import _archive


def trip(thing, **options):
    file = io.BytesIO()
    torch.save(thing, file)
    file.seek(0)
    return torch.load(file, **options)


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype(name):
    kind = DTYPES[name]
    x = torch.arange(2 * 3 * kind.itemsize, dtype=torch.uint8).reshape(2, -1).view(kind)
    if name == "bool":
        x = torch.tensor([[True, False], [False, True]])
    back = trip(x)
    assert back.dtype == x.dtype
    assert back.shape == x.shape
    assert torch.equal(back.view(torch.uint8), x.view(torch.uint8))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3, 4)], ids=str)
def test_every_shape(shape):
    x = torch.rand(shape)
    back = trip(x)
    assert back.shape == x.shape
    assert torch.equal(back, x)


@pytest.mark.parametrize("change", [lambda x: x.t(), lambda x: x[1:, ::2], lambda x: x[1], lambda x: x[2, 3],
                                    lambda x: x[:, 1:2].expand(4, 7), lambda x: x[4:]])
def test_a_view_keeps_its_strides_and_its_place_in_the_storage(change):
    x = change(torch.arange(20.).reshape(4, 5))
    back = trip(x)
    assert (back.stride(), back.storage_offset()) == (x.stride(), x.storage_offset())
    assert back.untyped_storage().nbytes() == 80
    assert torch.equal(back, x)


def test_tensors_that_share_memory_still_do():
    x = torch.arange(6.)
    a, b, again = trip([x, x[2:4], x])
    assert again is a
    b.zero_()
    assert a.tolist() == [0, 1, 0, 0, 4, 5]


def test_one_storage_is_written_once():
    x = torch.zeros(100_000)
    file = io.BytesIO()
    torch.save([x, x[1:], x.view(100, 1000)], file)
    assert len(file.getvalue()) < 402_000


def test_one_storage_of_two_dtypes_is_refused_and_leaves_no_file(tmp_path):
    x = torch.zeros(4)
    with pytest.raises(RuntimeError, match=r"^Cannot save multiple tensors or storages that view the same data as different"):
        torch.save([x, x.view(torch.int32)], tmp_path / "x.pt")
    assert os.listdir(tmp_path) == []


def test_gradients_wanted_parameters_and_buffers():
    class Held(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.b = nn.Parameter(torch.ones(2)), nn.Buffer(torch.zeros(1))
    held = Held()
    leaf = torch.ones(2, requires_grad=True)
    back = trip({"leaf": leaf, "not leaf": leaf * 2, "p": held.w, "frozen": nn.Parameter(torch.ones(1), False), "b": held.b})
    assert back["leaf"].requires_grad
    assert back["leaf"].grad is None
    assert back["not leaf"].is_leaf
    assert type(back["p"]) is nn.Parameter
    assert not back["frozen"].requires_grad
    assert isinstance(back["b"], nn.Buffer)


def test_attributes_of_a_tensor():
    x, p = torch.ones(2), nn.Parameter(torch.ones(2))
    x.note, p.note = "mine", [1, 2]
    x, p = trip((x, p))
    assert (x.note, p.note, type(p)) == ("mine", [1, 2], nn.Parameter)


def test_meta_tensors_keep_their_layout():
    x = torch.empty(3, 4, device="meta", dtype=torch.float16).t()
    back = trip(x)
    assert (back.device.type, back.shape, back.stride(), back.dtype) == ("meta", x.shape, x.stride(), torch.float16)


def test_values_that_are_no_tensors():
    things = {"none": None, "yes": True, "int": 3, "huge": -2 ** 200, "float": 0.1, "complex": 1 - 2j, "text": "é\ud83d\n",
              "bytes": b"\x00\xff", "bytearray": bytearray(b"\xfe"), "tuple": (1, (2,)), "set": {1, "a", (1, 2)},
              "counter": Counter("aab"), "ordered": OrderedDict(b=1, a=2), "size": torch.Size([2, 3]), 5: [{}, []],
              "device": torch.device("cpu"), "dtype": torch.bfloat16, "layout": torch.strided, "frozen": frozenset([2])}
    back = trip(things)
    assert back == things
    assert {key: type(value) for key, value in back.items()} == {key: type(value) for key, value in things.items()}
    assert list(back["ordered"]) == ["b", "a"]


def test_lists_that_hold_themselves():
    a: list = [1]
    a.append(a)
    back = trip(a)
    assert back[1] is back


def test_a_state_dict_with_its_metadata():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    state = model.state_dict()
    back = trip(state)
    assert type(back) is OrderedDict
    assert back._metadata == state._metadata
    assert nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).load_state_dict(back).missing_keys == []


OPTIMIZERS = ["SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD", "LBFGS",
              "Adafactor", "Muon"]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_state_of_every_optimizer_goes_on_as_if_nothing_had_happened(name):
    def run(optimizer, weights, steps):
        def close():
            optimizer.zero_grad()
            loss = ((weights - 1) ** 4).sum()
            loss.backward()
            return loss
        for _ in range(steps):
            optimizer.step(close)
    options = {"momentum": 0.9} if name == "SGD" else {}
    weights = torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
    optimizer = getattr(torch.optim, name)([weights], lr=0.01, **options)
    run(optimizer, weights, 3)
    saved = trip({"w": weights, "o": optimizer.state_dict()})
    run(optimizer, weights, 3)
    other = getattr(torch.optim, name)([saved["w"]], lr=0.5, **options)
    other.load_state_dict(saved["o"])
    run(other, saved["w"], 3)
    assert torch.equal(weights, saved["w"])


def test_a_whole_module_needs_trust():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"^Weights only load failed. This file can still be loaded"):
        torch.load(file)
    file.seek(0)
    back = torch.load(file, weights_only=False)
    x = torch.rand(4, 2)
    assert torch.equal(back(x), model(x))


@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_paths(tmp_path, kind):
    path = kind(tmp_path / "weights.pt")
    torch.save(torch.arange(3), path)
    assert torch.load(path).tolist() == [0, 1, 2]
    assert os.listdir(tmp_path) == ["weights.pt"]
    assert zipfile.ZipFile(path).namelist()[0] == "weights/data.pkl"


def test_open_files(tmp_path):
    with open(tmp_path / "x", "w+b") as file:
        torch.save([torch.arange(3)], file)
        file.seek(0)
        assert torch.load(file)[0].tolist() == [0, 1, 2]


def test_a_file_that_can_only_be_written_to():
    class Sink:
        def __init__(self):
            self.all = b""

        def write(self, data):
            self.all += bytes(data)
            return len(data)

        def flush(self):
            pass
    sink = Sink()
    torch.save({"x": torch.arange(3)}, sink)
    assert torch.load(io.BytesIO(sink.all))["x"].tolist() == [0, 1, 2]


def test_what_is_no_file():
    with pytest.raises(AttributeError, match=r"^expected 'f' to be string, path, or a file-like object with a 'write' attr"):
        torch.save(1, 3)
    with pytest.raises(AttributeError, match=r"'int' object has no attribute 'seek'. You can only torch.load from a file that"):
        torch.load(3)
    with pytest.raises(FileNotFoundError):
        torch.load("there is no such file")


def test_records_lie_at_multiples_of_64(tmp_path):
    path = str(tmp_path / "a.pt")
    torch.save([torch.zeros(n, dtype=torch.uint8) for n in (1, 7, 64, 0, 1000)], path)
    reader = _archive.Reader(path)
    try:
        assert all(reader._begin(name.partition("/")[2]) % 64 == 0 for name in reader.infos)
    finally:
        reader.close()


def test_records_of_many_gigabytes_have_longer_headers_and_lie_as_well(tmp_path, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)
    path = str(tmp_path / "a.pt")
    x = torch.arange(1000.)
    torch.save([x, torch.ones(2)], path)
    back, mapped = torch.load(path), torch.load(path, mmap=True)
    assert torch.equal(back[0], x)
    assert torch.equal(mapped[0], x)
    reader = _archive.Reader(path)
    try:
        assert [reader._begin(f"data/{n}") % 64 for n in (0, 1)] == [0, 0]
    finally:
        reader.close()


# mmap

def test_mapped_tensors_come_from_the_file_and_do_not_change_it(tmp_path):
    path = tmp_path / "x.pt"
    x = torch.arange(50_000.)
    torch.save({"x": x, "row": x[10:20], "empty": torch.empty(0), "small": torch.tensor(True)}, path)
    before = path.read_bytes()
    back = torch.load(path, mmap=True)
    assert torch.equal(back["x"], x)
    back["x"].mul_(2)
    assert back["row"].tolist() == list(range(20, 40, 2))
    assert (back["empty"].shape, back["small"].item()) == ((0,), True)
    assert path.read_bytes() == before
    os.unlink(path)
    assert back["x"].sum().item() == 2 * x.sum().item()


def test_a_mapped_file_may_be_saved_over(tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.ones(20_000), path)
    old = torch.load(path, mmap=True)
    torch.save(old * 2, path)
    assert (old.sum().item(), torch.load(path).sum().item()) == (20_000, 40_000)


def test_mapping_wants_a_path():
    file = io.BytesIO()
    torch.save(1, file)
    with pytest.raises(ValueError, match=r"^f must be a file path in order to use the mmap argument"):
        torch.load(file, mmap=True)


# map_location

@pytest.mark.parametrize("place", [None, "cpu", torch.device("cpu"), {"cpu": "cpu"}, {"cuda:0": "cpu"},
                                   lambda storage, where: storage, lambda storage, where: None], ids=lambda place: getattr(place, "__name__", str(place)))
def test_places_that_are_the_cpu(place):
    assert trip(torch.arange(3), map_location=place).tolist() == [0, 1, 2]


@pytest.mark.parametrize("place", ["meta", torch.device("meta"), {"cpu": "meta"}], ids=str)
def test_places_that_are_meta(place):
    back = trip([torch.ones(2, 3).t()], map_location=place)[0]
    assert (back.device.type, back.shape, back.stride()) == ("meta", (3, 2), (1, 3))


def test_a_function_is_told_where_a_storage_was():
    asked = []
    trip([torch.zeros(4)], map_location=lambda storage, where: asked.append((storage.nbytes(), where)))
    assert asked == [(16, "cpu")]


def test_places_that_are_not_there():
    with pytest.raises(RuntimeError, match=r"^Attempting to deserialize object on a CUDA device but torch.cuda.is_available"):
        trip(torch.ones(1), map_location="cuda")
    with pytest.raises(RuntimeError, match=r"^don't know how to restore data location of .* \(tagged with moon\)"):
        trip(torch.ones(1), map_location="moon")


# arguments

def test_arguments_that_are_refused():
    with pytest.raises(RuntimeError, match=r"^Can not safely load weights when explicit pickle_module is specified"):
        torch.load(io.BytesIO(), pickle_module=pickle, weights_only=True)
    with pytest.raises(RuntimeError, match=r"Python's own pickle"):
        torch.save(1, io.BytesIO(), pickle_module=io)
    with pytest.raises(RuntimeError, match=r"zip format"):
        torch.save(1, io.BytesIO(), _use_new_zipfile_serialization=False)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol(protocol):
    file = io.BytesIO()
    torch.save({"x": torch.arange(3), "b": b"1", "s": {1}, "t": "a" * 300, "f": bytearray(b"x")}, file, pickle_protocol=protocol)
    file.seek(0)
    back = torch.load(file)
    assert (back["x"].tolist(), back["b"], back["s"], back["f"]) == ([0, 1, 2], b"1", {1}, bytearray(b"x"))
