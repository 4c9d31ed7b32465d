"""Corners of the library where an exception has a type of its own, or a value was accepted that must not be."""
from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch

import claygrad

CASES = """
torch.frombuffer([1], dtype=torch.int8)
torch.frombuffer(bytearray(), dtype=torch.int8)
torch.frombuffer(bytearray(4), dtype=torch.int8, offset=4)
torch.frombuffer(bytearray(4), dtype=torch.int8, count=0)
torch.frombuffer(bytearray(5), dtype=torch.int32)
torch.asarray(np.float64(0.5), copy=False)
torch.asarray(np.float64(0.5))
torch.Size([1.0])
torch.Size([2, 2.0])
torch.Size([torch.tensor(1.0)])
torch.Size(torch.ones(3))
torch.Size(torch.ones(3, dtype=torch.int64))
torch.Size([torch.tensor(3)])
torch.Size(['a'])
torch.Size('ab')
torch.Size([None])
torch.Size([True])
torch.Size([np.int64(3), np.uint8(2)])
torch.Size([np.float32(3)])
torch.Size((n for n in (1, 2)))
torch.Size(3)
torch.Tensor(torch.tensor([1.0]), device='cpu')
torch.tensor([1]).new(torch.tensor([1]), device='cpu')
torch.nonzero(torch.ones(2), as_tuple=True, out=torch.empty(0, dtype=torch.long))
float(torch.tensor(1.5j))
int(torch.tensor(1.5j))
float(torch.tensor(1.5 + 0j))
int(torch.tensor(2 + 0j))
complex(torch.tensor(2 + 1j))
F.cosine_similarity(torch.ones(2, 3), torch.ones(2, 3), eps=-1)
F.rrelu(torch.ones(2), upper=math.inf)
F.rrelu(torch.ones(2), upper=math.inf, training=True)
F.rrelu(torch.ones(2), lower=math.nan, upper=1.0, training=True)
torch.diff(torch.ones(2, 3), prepend=torch.zeros(3, 3))
torch.diff(torch.ones(2, 3), prepend=torch.zeros(3))
torch.diff(torch.ones(2, 3), append=torch.zeros(2, 3, 1))
torch.diff(torch.ones(2, 3), append=torch.zeros(2, 0))
torch.diff(torch.ones(2, 3), append=torch.zeros(5, 5), n=0)
F.fractional_max_pool2d(torch.ones(1, 1, 4, 4), (1,), output_size=(2, 2))
F.fractional_max_pool2d(torch.ones(1, 1, 4, 4), (), output_size=(2, 2))
F.fractional_max_pool2d(torch.ones(1, 1, 4, 4), 2, output_size=(2,))
F.fractional_max_pool3d(torch.ones(1, 1, 4, 4, 4), (1, 1), output_size=(2, 2, 2))
F.adaptive_avg_pool1d(torch.ones(1, 4, 10, requires_grad=True), 0).sum().backward()
F.adaptive_avg_pool2d(torch.ones(1, 4, 5, 4, requires_grad=True), 0).sum().backward()
F.adaptive_avg_pool3d(torch.ones(1, 4, 5, 4, 2, requires_grad=True), 0).sum().backward()
F.adaptive_max_pool1d(torch.ones(1, 4, 10, requires_grad=True), 0).sum().backward()
F.adaptive_max_pool2d(torch.ones(1, 4, 5, 4, requires_grad=True), 0).sum().backward()
F.adaptive_max_pool3d(torch.ones(1, 4, 5, 4, 2, requires_grad=True), 0).sum().backward()
torch.ones(2).__rdiv__(3)
torch.ones(2).double().type(torch.Tensor).dtype
torch.lu(torch.eye(2), get_infos=True).info
torch.lu(torch.eye(2), get_infos=True).pivots
torch.empty(2, 3, 1, 1).dim_order(ambiguity_check=True)
torch.empty(2, 3, 1, 1).dim_order(ambiguity_check=[torch.contiguous_format])
torch.empty(2, 3, 1, 1).dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last])
torch.empty(2, 1, 4).dim_order(ambiguity_check=[torch.contiguous_format])
torch.empty(3, 3).dim_order(ambiguity_check=True)
torch.empty(1).dim_order(ambiguity_check='no')
torch.empty(1).dim_order(ambiguity_check=['no'])
torch.empty(1).dim_order(ambiguity_check=1)
""".strip().split("\n")


def outcome(lib, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = eval(text, {"torch": lib, "F": lib.nn.functional, "np": np, "math": math})
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0].replace("claygrad.", "torch.")
    return made.tolist() if isinstance(made, lib.Tensor) else repr(made).replace("claygrad.", "torch.")


@pytest.mark.parametrize("text", CASES)
def test_the_outcome_is_pytorchs(text):
    assert outcome(claygrad, text) == outcome(torch, text)


@pytest.mark.parametrize("lib", [claygrad, torch], ids=["claygrad", "torch"])
@pytest.mark.parametrize(("make", "text"), [
    (lambda lib: lib.from_numpy(np.frombuffer(b"abcd", np.int8)), "The given NumPy array is not writable, and PyTorch does not"),
    (lambda lib: lib.frombuffer(b"abcd", dtype=lib.int8), "The given buffer is not writable, and PyTorch does not support"),
    (lambda lib: lib.cross(lib.ones(3), lib.ones(3)), "Using torch.cross without specifying the dim arg is deprecated."),
], ids=["from_numpy", "frombuffer", "cross"])
def test_warnings_given_once_are_given_every_time_when_asked(lib, make, text):
    def given():
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            make(lib)
        return [str(w.message)[:len(text)] for w in seen]

    lib.set_warn_always(False)      # whatever an earlier test left
    given()
    assert given() == []
    lib.set_warn_always(True)
    try:
        assert lib.is_warn_always_enabled()
        assert given() == [text]
        assert given() == [text]
    finally:
        lib.set_warn_always(False)
    assert given() == []
