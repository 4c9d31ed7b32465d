"""Corners of the library where an exception has a type of its own, or a value was accepted that must not be."""
from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch

import claygrad

CASES = """
torch.randperm(256, dtype=torch.uint8).sort()[0]
torch.randperm(257, dtype=torch.uint8)
torch.randperm(128, dtype=torch.int8).sort()[0]
torch.randperm(129, dtype=torch.int8)
torch.randperm(2**11 + 1, dtype=torch.float16).shape
torch.randperm(2**11 + 2, dtype=torch.float16)
torch.randperm(2**24 + 2, dtype=torch.float32)
torch.randperm(2**24 + 2, out=torch.empty(0))
torch.ones(2) == 'a'
torch.ones(2) != None
torch.ones(2).__eq__('a')
torch.ones(2).__ne__(object())
torch.ones(2) < 'a'
torch.ones(2) >= [1, 2]
torch.sum(torch.ones(2, 3), 0, dtype=torch.int32, out=torch.empty(0))
torch.prod(torch.ones(2, 3), 0, dtype=torch.int32, out=torch.empty(0))
torch.cumsum(torch.ones(2, 3), 0, dtype=torch.int32, out=torch.empty(0))
torch.cumprod(torch.ones(2, 3), 0, dtype=torch.int32, out=torch.empty(0))
torch.sum(torch.ones(2, 3), 0, dtype=torch.int32, out=torch.empty(0, dtype=torch.int32))
torch.mode(torch.ones(3), out=(torch.empty(0), torch.empty(0, dtype=torch.int8)))
torch.mode(torch.ones(3), out=(torch.empty(0, dtype=torch.int8), torch.empty(0, dtype=torch.int64)))
torch.median(torch.ones(3), 0, out=(torch.empty(0), torch.empty(0, dtype=torch.int8)))
torch.median(torch.ones(3), 0, out=(torch.empty(0, dtype=torch.int8), torch.empty(0, dtype=torch.int64)))
torch.kthvalue(torch.ones(3), 1, out=(torch.empty(0), torch.empty(0, dtype=torch.int8)))
torch.histogram(torch.ones(3), 3, out=(torch.empty(0, dtype=torch.float64), torch.empty(0)))
torch.histogram(torch.ones(3), 3, out=(torch.empty(0), torch.empty(0, dtype=torch.float64)))
torch.histc(torch.tensor([1, 2, 3]), 4, 3, 1)
F.threshold(torch.tensor([1, 2, 3], dtype=torch.uint8), 2, -9)
F.threshold(torch.tensor([1, 2, 3], dtype=torch.int8), 1.5, 300)
F.threshold(torch.tensor([1, 2, 3], dtype=torch.int16), 1.5, 7)
torch.trapezoid(torch.ones(3), dx=1j)
torch.cumulative_trapezoid(torch.ones(3), dx=1j)
str(torch.logaddexp(torch.tensor([complex(math.inf, 1), complex(-math.inf, 0), complex(math.nan, 0), 1 + 2j]), torch.tensor([complex(math.inf, 2), complex(-math.inf, 0), 1 + 0j, 1 + 1j])))
F.pixel_shuffle(torch.ones(2, 16, 9, 3), 545460846592)
F.fold(torch.ones(1, 8, 1), (2, 2), (2**40, 2**40))
torch.rnn_tanh_cell(torch.ones(3, 10), torch.ones(3, 4), torch.ones(4, 10), torch.ones(5, 4))
torch.rnn_relu_cell(torch.ones(3, 10), torch.ones(3, 4), torch.ones(3, 10), torch.ones(4, 4))
torch.gru_cell(torch.ones(3, 10), torch.ones(3, 4), torch.ones(12, 10), torch.ones(11, 4))
torch.lstm_cell(torch.ones(3, 10), (torch.ones(3, 4), torch.ones(3, 4)), torch.ones(16, 10), torch.ones(16, 5))
torch.lstm_cell(torch.ones(3, 10), (torch.ones(3, 5), torch.ones(3, 5)), torch.ones(16, 10), torch.ones(16, 4))
torch.Size([1, 2]) + [1]
torch.Size([1, 2]) + (1,)
(1,) + torch.Size([1, 2])
torch.Size([1, 2]) + range(3)
torch.Size([1, 2]) + 3
torch.Size([1, 2]) + (1.5,)
torch.Size([1, 2]) + type('Any', (), {'__radd__': lambda self, other: 43})()
torch.set_num_threads(2**65)
torch.set_num_threads(1.5)
torch.set_num_interop_threads(2**65)
torch.ones(1).set_(torch.ones(1).untyped_storage(), 5, (3,), (2,)).untyped_storage().nbytes()
torch.ones(1).set_(torch.ones(1).untyped_storage(), 5, (1,))
torch.ones(2).set_(torch.ones(4).untyped_storage(), 3, (2,))
torch.ones(2).set_(torch.ones(4).untyped_storage(), 3, (2,), (1,))
torch.cummax(torch.tensor(1.0), 100)
torch.cummin(torch.tensor(1.0), -2)
torch.cummax(torch.ones(2), 1)
(lambda m: m[1:].masked_fill_(m[:-1], False))(torch.tensor([True, False, True]))
(lambda m: m.masked_fill_(m, False))(torch.tensor([True, False, True]))
(lambda x: x.masked_fill_(torch.tensor([True, False, True]), x[1]))(torch.tensor([1.0, 2.0, 3.0]))
torch.ones(3, dtype=torch.float64).copy_(0.1)
torch.ones(3).copy_(True)
torch.ones(3, dtype=torch.int64).copy_(2.75)
torch.ones(3, dtype=torch.complex64).copy_(1j)
torch.broadcast_shapes(1.5)
torch.broadcast_shapes((2,), 1.0)
torch.empty((), dtype=torch.float64).resize_([2, 4, 2**29, 2**29])
torch.empty((), dtype=torch.float64).resize_([8, 8, 2**29, 2**29])
torch.empty((), dtype=torch.float64).resize_([0, 4, 2**61])
torch.zeros(12).view((12,), torch.float32)
torch.zeros(12).reshape((12,), 3)
torch.zeros(1, 12).expand((12, 12), 3)
torch.ones(12).flip((0,), 0)
torch.view_as_complex(torch.ones(3, 1, 2).as_strided((3, 1, 2), (2, 1, 1))).stride()
torch.view_as_complex(torch.ones(6).as_strided((2, 2), (1, 1)))
torch.zeros(4, dtype=torch.int64).index_put_((torch.tensor([0]),), torch.tensor([1.5, 2.0]))
torch.zeros(4, dtype=torch.int64).index_put_((torch.tensor([0]),), torch.tensor([1.5]))
torch.zeros(4, dtype=torch.int64).index_put_((torch.tensor([True] * 4),), torch.tensor([]))
torch.empty(10, 0)[:, [1, 2]]
torch.empty(0, 10)[[1, 2]]
torch.empty(2, 0, 3)[torch.tensor([0, 1]), torch.tensor([0, 0])]
torch.empty(2, 0)[torch.tensor([5])].shape
torch.empty(2, 0, 3)[:, :, torch.tensor([5])].shape
torch.zeros(0, 3).index_put_((torch.tensor([0]),), torch.ones(3))
torch.zeros(2, 0).index_put_((torch.tensor([5]),), torch.ones(1, 0))
torch.add(torch.ones(2), np.ones(2))
torch.add(np.ones(2), torch.ones(2))
torch.ones(2).add_(np.ones(2))
torch.mul(torch.ones(2), np.array(2.0))
torch.mul(torch.ones(2), np.float64(2.0))
torch.sin(np.ones(2))
torch.eq(torch.ones(2), np.ones(2))
[f(3, device='cpu')._version for f in (torch.rand, torch.randn, torch.randperm, torch.zeros)]
[torch.randint(3, (2,), device='cpu')._version, torch.randint_like(torch.ones(2), 3)._version]
[torch.bernoulli(torch.ones(2))._version, torch.normal(torch.ones(2), 1.0)._version, torch.normal(0.0, 1.0, (2,))._version]
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
    (lambda lib: lib.bucketize(lib.ones(2, 3).t(), lib.ones(3)), "torch.searchsorted(): input value tensor is non-contiguous"),
    (lambda lib: lib.searchsorted(lib.ones(6)[::2], 1.0), "torch.searchsorted(): boundary tensor is non-contiguous, this"),
    (lambda lib: lib.ones(1, requires_grad=True).square().backward(create_graph=True), "Using backward() with create_graph"),
], ids=["from_numpy", "frombuffer", "cross", "bucketize", "searchsorted", "create_graph"])
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
