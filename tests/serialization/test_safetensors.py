"""Tensors in safetensors files, through the library of that name."""

from __future__ import annotations

import json
import sys

import pytest

import claygrad as torch
from claygrad import nn
from claygrad.serialization import safetensors as st

pytest.importorskip("safetensors")


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
                                  "float64", "complex64"])
def test_every_dtype(tmp_path, name):
    x = torch.tensor([[0, 1, 2], [3, 5, 7]]).to(getattr(torch, name))
    st.save_file({"x": x, "none": x[:0], "one": x[1, 2].clone()}, tmp_path / "a.safetensors", {"made": "here"})
    back = st.load_file(tmp_path / "a.safetensors")
    assert back["x"].dtype == x.dtype
    assert torch.equal(back["x"], x)
    assert back["none"].shape == (0, 3)
    assert torch.equal(back["one"], x[1, 2])


def test_metadata_is_in_the_file():
    data = st.save({"x": torch.ones(2)}, {"made": "here"})
    length = int.from_bytes(data[:8], "little")
    assert json.loads(data[8:8 + length])["__metadata__"] == {"made": "here"}


def test_what_is_refused():
    x = torch.ones(2, 3)
    with pytest.raises(ValueError, match=r"^You are trying to save a non contiguous tensor: `x`"):
        st.save({"x": x.t()})
    with pytest.raises(RuntimeError, match=r"^Some tensors share memory"):
        st.save({"x": x, "y": x[:1]})
    with pytest.raises(ValueError, match=r"^Key `x` is invalid, expected torch.Tensor"):
        st.save({"x": 1})
    with pytest.raises(ValueError, match=r"^Expected a dict of \[str, torch.Tensor\]"):
        st.save([x])
    with pytest.raises(ValueError, match=r"no code for"):
        st.save({"x": x.to(torch.complex128)})


def test_a_damaged_file_is_refused():
    data = st.save({"x": torch.ones(200)})
    for wrong in (b"", data[:4], data[:100], data[:-1], b"\xff" * 8 + data[8:]):
        with pytest.raises(Exception, match=r"(?i)header|deserializ"):
            st.load(wrong)


def test_models_whose_parameters_are_tied(tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
            self.b.weight = self.a.weight
    one, other = Tied(), Tied()
    st.save_model(one, tmp_path / "m")
    assert st.load_model(other, tmp_path / "m") == (set(), [])
    x = torch.rand(2, 3)
    assert torch.equal(one.b(one.a(x)), other.b(other.a(x)))
    assert other.a.weight is other.b.weight
    with pytest.raises(RuntimeError, match=r"Missing key"):
        st.load_model(nn.Sequential(nn.Linear(3, 3)), tmp_path / "m")


def test_without_the_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match=r"pip install claygrad\[safetensors\]"):
        st.save({})
