"""Files of claygrad's read by PyTorch, files of PyTorch's read by claygrad, and both refusing the same ones."""

from __future__ import annotations

import argparse
import decimal
import io
import os
import pickle
from collections import Counter, OrderedDict
from types import ModuleType

import pytest

import claygrad
from tests.serialization.test_hostile import archive, word

torch = pytest.importorskip("torch")
WAYS = [pytest.param(claygrad, torch, id="to torch"), pytest.param(torch, claygrad, id="from torch")]
DTYPES = ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bfloat16", "complex64", "complex128",
          "bool"]


def carry(thing: object, writer: ModuleType, reader: ModuleType, **options: object) -> object:
    file = io.BytesIO()
    writer.save(thing, file)
    file.seek(0)
    return reader.load(file, **options)


@pytest.mark.parametrize(("writer", "reader"), WAYS)
class TestWays:
    @pytest.mark.parametrize("name", DTYPES)
    def test_dtypes(self, writer, reader, name):
        back = carry(writer.tensor([[0, 1, 2], [3, 5, 7]]).to(getattr(writer, name)), writer, reader)
        assert back.dtype == getattr(reader, name)
        assert back.tolist() == writer.tensor([[0, 1, 2], [3, 5, 7]]).to(getattr(writer, name)).tolist()

    def test_views_and_shared_memory(self, writer, reader):
        x = writer.arange(24.).reshape(4, 6)
        things = [x, x.t(), x[1:, ::2], x[2, 3], x[:0], x[1].expand(3, 6), writer.tensor(5), writer.empty(0, 3)]
        back = carry(things, writer, reader)
        for mine, theirs in zip(things, back, strict=True):
            assert tuple(theirs.shape) == tuple(mine.shape)
            assert theirs.stride() == mine.stride()
            assert theirs.storage_offset() == mine.storage_offset()
            assert theirs.tolist() == mine.tolist()
        back[0].zero_()
        assert back[1].sum() == back[3] == 0

    def test_values_around_tensors(self, writer, reader):
        def things(lib):
            return {"none": None, "bool": True, "int": 3, "huge": 2 ** 100, "float": 0.1, "complex": 2j, "text": "é", "bytes": b"\xff",
                    "bytearray": bytearray(b"\xfe"), "tuple": (1, (2, [3])), "set": {1, 2}, "counter": Counter("aab"), 7: "seven",
                    "ordered": OrderedDict(b=1, a=2), "size": lib.Size([2, 3]), "device": lib.device("cpu"),
                    "dtypes": [getattr(lib, name) for name in DTYPES], "layout": lib.strided}
        back = carry(things(writer), writer, reader)
        assert back == things(reader)

    def test_parameters_buffers_meta_and_attributes(self, writer, reader):
        p, x = writer.nn.Parameter(writer.ones(2)), writer.ones(2, requires_grad=True)
        tagged, noted = writer.ones(3), writer.nn.Parameter(writer.ones(1))
        tagged.note = noted.note = "n"
        back = carry({"p": p, "x": x, "b": writer.nn.Buffer(writer.ones(1)), "t": tagged, "n": noted,
                      "f": writer.nn.Parameter(writer.ones(1), requires_grad=False),
                      "m": writer.empty(3, 4, device="meta", dtype=writer.float16).t()}, writer, reader)
        assert type(back["p"]) is reader.nn.Parameter
        assert (back["p"].requires_grad, back["x"].requires_grad, back["f"].requires_grad) == (True, True, False)
        assert isinstance(back["b"], reader.nn.Buffer)
        assert (back["t"].note, back["n"].note) == ("n", "n")
        assert (back["m"].device.type, back["m"].stride(), back["m"].dtype) == ("meta", (1, 4), reader.float16)

    def test_a_model_and_its_metadata(self, writer, reader):
        def model(lib):
            nn = lib.nn
            return nn.Sequential(nn.Conv1d(2, 3, 3), nn.BatchNorm1d(3), nn.Flatten(), nn.Linear(18, 4), nn.LSTM(4, 5))
        writer.manual_seed(0)
        mine, theirs = model(writer), model(reader)
        state = mine.state_dict()
        back = carry(state, writer, reader)
        assert type(back) is OrderedDict
        assert back._metadata == state._metadata
        theirs.load_state_dict(back)
        for name, value in theirs.state_dict().items():
            assert value.tolist() == state[name].tolist()

    @pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop",
                                      "Rprop", "ASGD", "LBFGS", "Adafactor", "Muon"])
    def test_optimizers_go_on_in_the_other_library(self, writer, reader, name):
        def run(weights, optimizer):
            def close():
                optimizer.zero_grad()
                loss = ((weights - 1) ** 4).sum()
                loss.backward()
                return loss
            for _ in range(4):
                optimizer.step(close)

        options = {"momentum": 0.9} if name == "SGD" else {}
        mine = writer.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
        first = getattr(writer.optim, name)([mine], lr=0.01, **options)
        run(mine, first)
        back = carry({"w": mine, "o": first.state_dict()}, writer, reader)
        second = getattr(reader.optim, name)([back["w"]], lr=0.5, **options)
        second.load_state_dict(back["o"])
        run(mine, first)
        run(back["w"], second)
        assert back["w"].detach().numpy() == pytest.approx(mine.detach().numpy(), rel=1e-5)

    def test_schedules(self, writer, reader):
        def schedule(lib):
            optimizer = lib.optim.SGD([lib.ones(1, requires_grad=True)], lr=1.)
            return optimizer, lib.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
        optimizer, first = schedule(writer)
        for _ in range(4):
            optimizer.step()
            first.step()
        _, second = schedule(reader)
        second.load_state_dict(carry(first.state_dict(), writer, reader))
        assert second.get_last_lr() == first.get_last_lr()

    def test_mapped(self, writer, reader, tmp_path):
        x = writer.arange(10_000.)
        writer.save({"x": x, "y": x[5:7]}, tmp_path / "x.pt")
        back = reader.load(tmp_path / "x.pt", mmap=True)
        back["x"][5] = -1
        assert back["y"].tolist() == [-1, 6]
        assert reader.load(tmp_path / "x.pt")["x"][5] == 5

    @pytest.mark.parametrize("place", ["cpu", "meta"])
    def test_places(self, writer, reader, place):
        for told in (place, reader.device(place), {"cpu": place}):
            assert carry(writer.ones(2), writer, reader, map_location=told).device == reader.device(place)

    def test_random_states(self, writer, reader):
        writer.manual_seed(5)
        writer.rand(3)
        state = writer.get_rng_state()
        numbers = writer.rand(5).tolist()
        reader.set_rng_state(carry(state, writer, reader))
        assert reader.rand(5).tolist() == numbers


def test_conjugated_and_negated_views_of_torch_are_computed():
    z = torch.tensor([1 + 2j, 3 - 1j])
    assert carry(z.conj(), torch, claygrad).tolist() == [1 - 2j, 3 + 1j]
    assert carry(z.conj().imag, torch, claygrad).tolist() == [-2, 1]


@pytest.mark.parametrize("name", ["uint16", "uint64", "complex32", "float8_e5m2", "float8_e4m3fn"])
def test_dtypes_that_few_operations_know(name: str):
    back = carry(torch.ones(2, dtype=getattr(torch, name)), torch, claygrad)
    assert back.dtype is getattr(claygrad, name)
    assert back.to(claygrad.complex64).tolist() == [1, 1]


def test_whole_modules_of_torch_become_modules_of_claygrad():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    back = carry(model, torch, claygrad, weights_only=False)
    assert isinstance(back[0], claygrad.nn.Linear)
    assert back(claygrad.ones(3)).tolist() == pytest.approx(model(torch.ones(3)).tolist())


REFUSED = {
    "os.system": b"\x80\x02cos\nsystem\n" + word("true") + b"\x85R.",
    "posix": b"\x80\x02cposix\nsystem\n" + word("true") + b"\x85R.",
    "eval": b"\x80\x02c__builtin__\neval\n" + word("1") + b"\x85R.",
    "a class": b"\x80\x02cfractions\nFraction\n" + word("1") + b"\x85R.",
    "numpy": b"\x80\x02cnumpy._core.multiarray\nscalar\n)R.",
    "build of a list": b"\x80\x02]}b.",
    "append to a dict": b"\x80\x02}K\x01a.",
    "items of a list": b"\x80\x02]K\x01K\x01s.",
    "a text called": b"\x80\x02" + word("a") + b")R.",
    "an old instruction": b"\x80\x02I1\n.",
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_same_pickles_are_refused_with_the_same_first_line(case):
    lines = []
    for lib in (torch, claygrad):
        with pytest.raises(pickle.UnpicklingError) as caught:
            lib.load(archive(REFUSED[case]))
        lines.append(str(caught.value).splitlines()[0])
    history = "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`."
    now = "The default value of the `weights_only` argument in `torch.load` is `True`."
    assert lines[0].split("Please file")[0].strip().replace(history, now) == lines[1].strip()


def test_the_names_of_what_is_refused_are_said_alike():
    texts = []
    for lib in (torch, claygrad):
        with pytest.raises(pickle.UnpicklingError) as caught:
            lib.load(archive(REFUSED["a class"]))
        texts.append(str(caught.value))
    start, end = "Unsupported global: GLOBAL", "if you trust this class/function."
    assert len({text[text.index(start):text.index(end)] for text in texts}) == 1


@pytest.mark.parametrize("how", ["missing folder", "missing file", "no file", "pickle_module", "mmap", "same data", "cuda"])
def test_errors_begin_alike(how, tmp_path):
    def go(lib):
        file = io.BytesIO()
        lib.save(lib.ones(2), file)
        file.seek(0)
        x = lib.zeros(4)
        return {"missing folder": lambda: lib.save(1, str(tmp_path / "none" / "x")),
                "missing file": lambda: lib.load(tmp_path / "none"), "no file": lambda: lib.save(1, 3),
                "pickle_module": lambda: lib.load(file, pickle_module=pickle, weights_only=True),
                "mmap": lambda: lib.load(file, mmap=True),
                "same data": lambda: lib.save([x, x.view(lib.int32)], io.BytesIO()),
                "cuda": lambda: lib.load(file, map_location="cuda")}[how]()
    found = []
    for lib in (torch, claygrad):
        with pytest.raises((RuntimeError, OSError, AttributeError, ValueError)) as caught:
            go(lib)
        found.append((caught.type, str(caught.value).splitlines()[0].split(". ")[0]))
    assert found[0] == found[1]


def test_safetensors(tmp_path):
    theirs = pytest.importorskip("safetensors.torch")
    from claygrad.serialization import safetensors as ours
    for name in [name for name in DTYPES if name != "complex128"]:
        x = torch.tensor([[0, 1], [3, 5]]).to(getattr(torch, name))
        theirs.save_file({"x": x, "y": x[:0].clone()}, tmp_path / "t")
        ours.save_file({"x": claygrad.tensor([[0, 1], [3, 5]]).to(getattr(claygrad, name)), "y": claygrad.empty(
            0, 2, dtype=getattr(claygrad, name))}, os.fspath(tmp_path / "c"))
        assert (tmp_path / "t").read_bytes() == (tmp_path / "c").read_bytes()
        assert ours.load_file(tmp_path / "t")["x"].tolist() == x.tolist()
        assert torch.equal(theirs.load_file(tmp_path / "c")["x"], x)


@pytest.mark.parametrize("protocol", [2, 3])
def test_names_that_would_be_refused_are_told_alike(protocol):
    thing = {"a": argparse.Namespace(x=torch.ones(2)), "b": [decimal.Decimal(1), print, Counter("ab")], "c": set()}
    file = io.BytesIO()
    torch.save(thing, file, pickle_protocol=protocol)
    found = []
    for lib in (torch, claygrad):
        file.seek(0)
        found.append(sorted(lib.serialization.get_unsafe_globals_in_checkpoint(file)))
        with lib.serialization.safe_globals([argparse.Namespace]):
            file.seek(0)
            found[-1].append(sorted(lib.serialization.get_unsafe_globals_in_checkpoint(file)))
        with pytest.raises(ValueError, match=r"^Expected input to be a checkpoint returned by torch.save(\n|$)"):
            lib.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"nothing"))
    assert found[0] == found[1]
    assert found[0][:3] == ["argparse.Namespace", "builtins.print", "decimal.Decimal"]


def test_the_order_of_bytes_in_files_that_do_not_say_it():
    file = io.BytesIO()
    claygrad.save(claygrad.arange(2), file, _disable_byteorder_record=True)
    for lib in (torch, claygrad):
        ends = lib.serialization.LoadEndianness
        with pytest.raises(TypeError, match=r"^Invalid argument type in function set_default_load_endianness(\n|$)"):
            lib.serialization.set_default_load_endianness("big")
        for end, told in [(ends.BIG, [0, 1 << 56]), (ends.LITTLE, [0, 1]), (ends.NATIVE, [0, 1]), (None, [0, 1])]:
            file.seek(0)
            lib.serialization.set_default_load_endianness(end)
            assert lib.serialization.get_default_load_endianness() is end
            assert lib.load(file).tolist() == told
