"""Files that are damaged or mean harm: a clear error or the true values, nothing runs, nothing falls over."""

from __future__ import annotations

import io
import os
import pickle
import struct
import subprocess
import sys
import zipfile

import pytest

import claygrad as torch
from claygrad import nn

CLEAR = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError)


def archive(data: bytes, records: dict[str, bytes] | None = None, how: int = zipfile.ZIP_STORED) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as made:
        made.writestr("archive/data.pkl", data)
        made.writestr("archive/byteorder", b"little")
        made.writestr("archive/version", b"3\n")
        for name, content in (records or {}).items():
            made.writestr(f"archive/{name}", content)
    file.seek(0)
    return file


def refused(data: bytes, match: str, records: dict[str, bytes] | None = None, kind: type = pickle.UnpicklingError) -> None:
    with pytest.raises(kind, match=match):
        torch.load(archive(data, records))


def word(text: str) -> bytes:
    raw = text.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def tensor(count: int = 2, size: bytes = b"K\x02\x85", stride: bytes = b"K\x01\x85", offset: bytes = b"K\x00",
           key: str = "0", kind: str = "FloatStorage") -> bytes:
    """The pickle of a tensor of floats, each part of which can be made wrong."""
    return (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((" + word("storage") + b"ctorch\n" + kind.encode() + b"\n" + word(key)
            + word("cpu") + b"J" + struct.pack("<i", count) + b"tQ" + offset + size + stride
            + b"\x89ccollections\nOrderedDict\n)RtR.")


FLOATS = {"data/0": struct.pack("<2f", 1, 2)}


def test_the_handmade_tensor_is_one():
    assert torch.load(archive(tensor(), FLOATS)).tolist() == [1, 2]


# Code

@pytest.mark.parametrize("module", ["os", "posix", "nt", "sys"])
def test_blocked_modules(module):
    text = f"^Weights only load failed. The default value(?s:.*)Trying to load unsupported GLOBAL {module}.system whose module"
    refused(b"\x80\x02c" + module.encode() + b"\nsystem\n" + word("exit 1") + b"\x85R.", text)
    with torch.serialization.safe_globals([(os.system, f"{module}.system")]):
        refused(b"\x80\x02c" + module.encode() + b"\nsystem\n" + word("exit 1") + b"\x85R.", text)


@pytest.mark.parametrize("name", ["builtins eval", "builtins exec", "__builtin__ eval", "builtins getattr", "builtins __import__",
                                  "builtins open", "subprocess Popen", "importlib import_module", "shutil rmtree", "ctypes CDLL",
                                  "claygrad load", "torch load", "torch.hub load", "functools partial", "operator attrgetter",
                                  "torch.storage _load_from_bytes", "numpy load", "pickle loads", "copyreg _reconstructor",
                                  "types CodeType", "claygrad.serialization._rebuild filled"])
@pytest.mark.parametrize("way", ["global", "stack", "inst"])
def test_names_that_are_not_allowed(name, way, tmp_path):
    module, function = name.split()
    path = tmp_path / "ran"
    argument = word(f"open({str(path)!r}, 'w')")
    if way == "global":
        data = b"\x80\x02c" + f"{module}\n{function}\n".encode() + argument + b"\x85R."
    elif way == "stack":
        data = b"\x80\x04" + word(module) + word(function) + b"\x93" + argument + b"\x85R."
    else:
        data = b"\x80\x02(" + argument + b"i" + f"{module}\n{function}\n".encode() + b"."
    refused(data, "^Weights only load failed")
    assert not path.exists()


def test_an_object_with_a_reduce_of_its_own_runs_nothing(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)
    for protocol in (2, 3, 4, 5):
        refused(pickle.dumps({"a": [Evil()]}, protocol), "^Weights only load failed")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("data", "text"), [
    (b"ctorch\nTensor\nK\x05\x85R.", "Trying to call reduce for unrecognized function"),
    (b"ctorch.nn.parameter\nParameter\n)R.", "Trying to call reduce for unrecognized function"),
    (b"ctorch\nfloat32\n)R.", "Trying to call reduce for unrecognized function"),
    (b"ctorch\nFloatStorage\nK\x05\x85R.", "Trying to call reduce for unrecognized function"),
    (word("a") + b")R.", "Trying to call reduce for unrecognized function"),
    (b"]" + b")R.", "Trying to call reduce for unrecognized function"),
    (b"cbuiltins\nset\n]R.", "Trying to call reduce"),
    (b"ctorch\nTensor\nJ\xff\xff\xff\x7f\x85\x81.", "Can only create new object"),
    (b"cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R.", "a bytearray is filled from a int"),
    (b"cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85\x81.", "Can only create new object"),
    (b"ccollections\nOrderedDict\n]\x85R.", "a OrderedDict is filled from a list"),
    (b"c_codecs\nencode\n" + word("a") + word("rot13") + b"\x86R.", "bytes are written as text in latin1"),
    (b"]}b.", "Can only build Tensor, Parameter, OrderedDict or types allowlisted"),
    (b"ctorch\nTensor\n}b.", "Can only build"),
    (b"ctorch\nSize\n)R}b.", "Can only build"),
    (b"K\x01K\x02a.", "Can only append to lists"),
    (b"}(K\x02e.", "Can only extend lists"),
    (b"]K\x01K\x02s.", "Can only SETITEM for dict"),
    (b"ctorch\nTensor\n(K\x01K\x02u.", "Can only SETITEMS for dict"),
    (b"](K\x01\x90.", "Can only add to sets"),
    (b"}]K\x01s.", "unhashable"),
    (b"}(K\x01u.", "damaged"),
    (b"K\x01Q.", "not the reference of a storage"),
    (b"(K\x01K\x01tQ.", "not the reference of a storage"),
    (b"h\x07.", "Memo value not found"), (b"j\xff\xff\xff\xff.", "Memo value not found"), (b"R.", "damaged"), (b".", "damaged"), (b"", "damaged"),
    (b"t.", "damaged"), (b"\x82\x01.", "Unsupported operand"), (b"I99\n.", "Unsupported operand"),
    (b"P1\n.", "Unsupported operand"), (b"\x80\xff.", "damaged"), (b"X\xff\xff\xff\xffab.", "damaged: EOFError"),
    (b"\x8d" + b"\xff" * 8 + b"ab.", "Weights only"), (b"\x8e" + b"\x7f" * 8 + b".", "Weights only"),
    (b"\x95" + b"\x7f" * 8 + b".", "Weights only"), (b"\x96" + b"\x7f" * 8 + b".", "Weights only"),
    (b"\x8b\xff\xff\xff\xff.", "Weights only"), (b"ctorch\n", "Weights only"), (b"c\xff\n\xff\n.", "Weights only"),
])
def test_nonsense(data, text):
    refused(b"\x80\x02" + data, text)


def test_an_index_of_the_memo_may_be_huge_and_costs_nothing():
    assert torch.load(archive(b"\x80\x02]r\xff\xff\xff\xff0j\xff\xff\xff\xff.".replace(b"0j", b"j"))) == []


def test_rebuilding_by_what_rebuilds_no_tensor():
    head = b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n("
    refused(head + b"cbuiltins\nset\nctorch\nTensor\n)}tR.", "rebuilt by something that rebuilds no tensors")
    nested = b"ctorch._tensor\n_rebuild_from_type_v2\n"
    refused(head + nested + b"ctorch\nTensor\n(cbuiltins\nset\nctorch\nTensor\n)}t}tR.", "rebuilt by something")
    refused(head + b"ctorch._utils\n_rebuild_tensor_v2\nccollections\nOrderedDict\n)}tR.", "rebuilt by something")
    refused(head + b"tR.", "damaged")


def run(program: str) -> subprocess.CompletedProcess:
    """In a process of its own, because what is feared is that it dies."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)})


BOMBS = {
    "tuples in tuples, as a key": "b'\\x80\\x02}' + b')' + b'\\x85' * 400000 + b'Ns.'",
    "tuples in tuples, in a set": "b'\\x80\\x04\\x8f(' + b')' + b'\\x85' * 400000 + b'\\x90.'",
    "tuples in tuples, in a set by its name": "b'\\x80\\x02cbuiltins\\nset\\n])' + b'\\x85' * 400000 + b'a\\x85R.'",
    "a tuple of twice the last, as a key": "b'\\x80\\x02})' + b'q\\x01h\\x01\\x86' * 200 + b'Ns.'",
    "a tuple of twice the last, as a size":
        "b'\\x80\\x02ctorch._utils\\n_rebuild_meta_tensor_no_storage\\nctorch\\nfloat32\\n)' + b'q\\x01h\\x01\\x86' * 200 + b')\\x89(tR.'",
    "a tuple of twice the last, as a storage": "b'\\x80\\x02)' + b'q\\x01h\\x01\\x86' * 200 + b'Q.'",
    "lists in lists": "b'\\x80\\x02' + b']' * 400000 + b'a' * 399999 + b'Q.'",
    "many marks": "b'\\x80\\x02' + b'(' * 400000 + b'.'",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_nesting_without_end(bomb):
    done = run(f"""
import io, pickle, resource, zipfile, claygrad
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
file = io.BytesIO()
with zipfile.ZipFile(file, "w") as made:
    made.writestr("archive/data.pkl", {BOMBS[bomb]})
file.seek(0)
try:
    claygrad.load(file)
except pickle.UnpicklingError as error:
    print("refused", str(error)[:25] )
""")
    assert (done.returncode, done.stdout) == (0, "refused Weights only load failed.\n"), done.stderr[-500:]


# Tensors that reach beyond their storage

@pytest.mark.parametrize(("change", "text", "kind"), [
    ({"size": b"K\x03\x85"}, "^setStorage: sizes", RuntimeError),
    ({"offset": b"K\x01"}, "^setStorage: sizes", RuntimeError),
    ({"stride": b"J\xff\xff\xff\x7f\x85"}, "^setStorage: sizes", RuntimeError),
    ({"stride": b"J\xff\xff\xff\xff\x85"}, "^mismatch in length of strides and shape", RuntimeError),
    ({"offset": b"J\xff\xff\xff\xff"}, "^mismatch in length", RuntimeError),
    ({"size": b"J\xff\xff\xff\xff\x85"}, "^mismatch in length", RuntimeError),
    ({"size": b"\x8a\x0a" + b"\x7f" * 10 + b"\x85", "stride": b"K\x00\x85"}, None, CLEAR),
    ({"size": b"(J\xff\xff\xff\x7fJ\xff\xff\xff\x7fJ\xff\xff\xff\x7ft", "stride": b"(K\x00K\x00K\x00t"}, None, CLEAR),
    ({"size": b"(K\x00\x8a\x0a" + b"\x7f" * 10 + b"t", "stride": b"K\x01K\x01\x86"}, None, CLEAR),
    ({"size": b"K\x02K\x01\x86"}, "^mismatch in length", RuntimeError),
    ({"size": word("2")}, "sizes are whole numbers", pickle.UnpicklingError),
    ({"size": b"\x88\x85"}, "sizes are whole numbers", pickle.UnpicklingError),
    ({"offset": b"N"}, "^mismatch in length", RuntimeError),
    ({"count": 3}, "storage 0 has 8 bytes in the file, not the 12", RuntimeError),
    ({"count": 1}, "storage 0 has 8 bytes in the file, not the 4", RuntimeError),
    ({"count": -1}, "not the reference of a storage", pickle.UnpicklingError),
    ({"kind": "DoubleStorage"}, "storage 0 has 8 bytes in the file, not the 16", RuntimeError),
    ({"key": "1"}, "locating file data/1: file not found", RuntimeError),
    ({"key": "../data.pkl"}, "file not found", RuntimeError),
    ({"kind": "UntypedStorage", "count": 8}, "a tensor is said to lie in a Storage", pickle.UnpicklingError),
])
def test_a_tensor_never_reaches_beyond_its_storage(change, text, kind):
    with pytest.raises(kind, match=text):
        torch.load(archive(tensor(**change), FLOATS))


# Archives

def whole() -> bytes:
    file = io.BytesIO()
    torch.save({"x": torch.arange(4.), "y": torch.tensor([True, False]), "n": 5}, file)
    return file.getvalue()


def same(found: object) -> bool:
    return (isinstance(found, dict) and list(found) == ["x", "y", "n"] and found["x"].tolist() == [0, 1, 2, 3]
            and found["y"].tolist() == [True, False] and found["n"] == 5)


def test_cut_off_at_every_length():
    data = whole()
    for length in range(len(data)):
        with pytest.raises(CLEAR):
            torch.load(io.BytesIO(data[:length]))


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xff])
def test_every_byte_changed(flip):
    data = whole()
    for place in range(len(data)):
        wrong = bytearray(data)
        wrong[place] ^= flip
        try:
            found = torch.load(io.BytesIO(bytes(wrong)))
        except CLEAR:
            continue
        assert same(found), place


def test_every_byte_changed_of_a_mapped_file(tmp_path):
    """Numbers are not looked at before they are used, so these may differ; all else is as above."""
    data, path = whole(), tmp_path / "x.pt"
    for place in range(len(data)):
        wrong = bytearray(data)
        wrong[place] ^= 0xff
        path.write_bytes(wrong)
        try:
            found = torch.load(path, mmap=True)
        except CLEAR:
            continue
        assert (found["x"].shape, found["x"].dtype, found["y"].shape, found["n"]) == ((4,), torch.float32, (2,), 5), place
        found["x"].sum().item()


def test_compressed_records_are_refused_before_they_unfold():
    bomb = archive(tensor(1 << 24, b"J\x00\x00\x00\x01\x85"), {"data/0": bytes(1 << 26)}, zipfile.ZIP_DEFLATED)
    assert len(bomb.getvalue()) < 100_000
    with pytest.raises(RuntimeError, match=r"the record is compressed"):
        torch.load(bomb)


def test_a_size_that_no_file_has_is_refused_before_memory_is_asked_for():
    data = bytearray(archive(tensor(1 << 28, b"J\x00\x00\x00\x10\x85"), FLOATS).getvalue())
    start = data.rindex(b"PK\x01\x02")               # the last record of the directory
    struct.pack_into("<II", data, start + 20, 1 << 30, 1 << 30)
    with pytest.raises(RuntimeError, match=r"would end at byte"):
        torch.load(io.BytesIO(bytes(data)))


def test_records_that_overlap_are_refused():
    data = archive(tensor(), {"data/0": b"a" * 100, "data/1": b"b" * 8}).getvalue()
    raw = bytearray(data)
    first, second = raw.index(b"PK\x03\x04", raw.index(b"version")), raw.index(b"PK\x03\x04", raw.index(b"aaaa"))
    start = raw.rindex(b"PK\x01\x02")
    struct.pack_into("<I", raw, start + 42, first + 40)
    with pytest.raises(RuntimeError, match=r"overlap"):
        torch.load(io.BytesIO(bytes(raw)))
    assert second > first


@pytest.mark.parametrize(("names", "text"), [
    ([], "locating file data.pkl"), (["data.pkl"], "locating file data.pkl"), (["a/b/data.pkl"], "locating file data.pkl"),
    (["a/data.pkl", "b/data.pkl"], "locating file data.pkl"), (["a/version"], "locating file data.pkl"),
])
def test_other_archives(names, text):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name in [*names, "zz"]:
            made.writestr(name, b"\x80\x02N.")
    with pytest.raises(RuntimeError, match=f"^PytorchStreamReader failed {text}"):
        torch.load(file if file.seek(0) == 0 else None)


def test_two_records_of_one_name():
    with pytest.warns(UserWarning, match=r"Duplicate"):
        file = archive(b"\x80\x02N.", {"data.pkl": b"\x80\x02K\x01."})
    with pytest.raises(RuntimeError, match=r"two records of one name"):
        torch.load(file)


@pytest.mark.parametrize("data", [b"", b"P", b"not a zip at all", b"\x80\x02N.", b"PK\x03\x04", b"PK\x03\x04" + b"\0" * 100])
def test_what_is_no_archive(data):
    with pytest.raises(CLEAR):
        torch.load(io.BytesIO(data))


def test_an_unknown_order_of_bytes():
    file = archive(tensor(), FLOATS).getvalue().replace(b"little", b"middle")
    with pytest.raises((RuntimeError, ValueError), match=r"endianness|checksum"):
        torch.load(io.BytesIO(file))


def test_numbers_of_the_other_order_of_bytes(monkeypatch):
    other = {"little": "big", "big": "little"}[sys.byteorder]
    file = io.BytesIO()
    with monkeypatch.context() as told:
        told.setattr(sys, "byteorder", other)
        torch.save([torch.tensor([1, 256]), torch.tensor([1 + 2j]), torch.tensor([True, False])], file)
    file.seek(0)
    numbers, complexes, truths = torch.load(file)
    assert numbers.tolist() == [1 << 56, 1 << 48]
    assert complexes.view(torch.float32).view(torch.int32).tolist() == [0x803f, 0x40]
    assert truths.tolist() == [True, False]


# Around a failing load

def test_a_failing_load_leaves_the_model_as_it_was(tmp_path):
    model, path = nn.Linear(3, 4), tmp_path / "m.pt"
    torch.save(nn.Linear(3, 4).state_dict(), path)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CLEAR):
        model.load_state_dict(torch.load(path))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_names_that_the_user_vouches_for():
    file = io.BytesIO()
    torch.save({"r": range(3), "s": slice(1, 2)}, file)
    for given in ([], [range]):
        file.seek(0)
        with torch.serialization.safe_globals(given), pytest.raises(pickle.UnpicklingError, match=r"GLOBAL (range|slice) was"):
            torch.load(file)
    file.seek(0)
    with torch.serialization.safe_globals([range, slice]):
        assert torch.load(file) == {"r": range(3), "s": slice(1, 2)}
    assert torch.serialization.get_safe_globals() == []


def test_classes_that_the_user_vouches_for():
    file = io.BytesIO()
    torch.save([Mine(3)], file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"Mine was not an allowed global by default"):
        torch.load(file)
    torch.serialization.add_safe_globals([Mine])
    try:
        file.seek(0)
        assert torch.load(file)[0].value == 3
    finally:
        torch.serialization.clear_safe_globals()


class Mine:
    def __init__(self, value):
        self.value = value
