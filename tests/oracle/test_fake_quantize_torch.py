"""Numbers rounded as if they were quantized: values, gradients, dtypes and wrong arguments."""
from __future__ import annotations

import itertools

import pytest
import torch

import claygrad

PAIR = (torch, claygrad)
VALUES = [-3.0, -0.26, 0.0, 0.25, 0.75, 1.5, 200.0, float("nan"), float("inf"), -float("inf")]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("zero_point", [0, 3, 10])
@pytest.mark.parametrize("given", ["numbers", "tensors"])
def test_per_tensor(dtype, zero_point, given) -> None:
    results = []
    for lib in PAIR:
        x = lib.tensor(VALUES, dtype=getattr(lib, dtype), requires_grad=True)
        scale, zero = (0.5, zero_point) if given == "numbers" else (lib.tensor(0.5), lib.tensor(zero_point, dtype=lib.int32))
        out = lib.fake_quantize_per_tensor_affine(x, scale, zero, 0, 10)
        out.backward(lib.arange(1.0, len(VALUES) + 1).to(out.dtype))
        results.append(([] if out.dtype is getattr(lib, dtype) else [out.dtype], out.tolist(), x.grad.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("zero_dtype", ["int32", "float32"])
def test_per_channel(axis, zero_dtype) -> None:
    numbers = [[((7 * row + 3 * column) % 11 - 5) / 4 for column in range(4)] for row in range(3)]
    results = []
    for lib in PAIR:
        x = lib.tensor(numbers, requires_grad=True)
        size = x.shape[axis]
        scale, zero = lib.arange(1.0, size + 1) / 8, lib.arange(size).to(getattr(lib, zero_dtype))
        out = lib.fake_quantize_per_channel_affine(x, scale, zero, axis, 0, 6)
        out.pow(2).sum().backward()
        results.append((out.tolist(), x.grad.tolist()))
    assert results[0] == results[1]


def _wrong(lib):
    x, i32 = lib.ones(2, 3), lib.int32
    scales = lib.ones(2), lib.ones(3), lib.ones(1, 2), lib.ones(2).double()
    zeros = lib.ones(2, dtype=i32), lib.ones(3, dtype=i32), lib.ones(1, 2, dtype=i32), lib.ones(2).long(), lib.full((2,), 11, dtype=i32)
    for scale, zero, axis, bounds in itertools.product(scales, zeros, (0, 1, 2, -1), ((0, 10), (10, 0))):
        yield lib.fake_quantize_per_channel_affine, x, scale, zero, axis, *bounds
    for zero, bounds in itertools.product((3, 11, -1), ((0, 10), (10, 0))):
        yield lib.fake_quantize_per_tensor_affine, x, 0.5, zero, *bounds
    yield lib.fake_quantize_per_tensor_affine, lib.arange(3), 0.5, 3, 0, 10


def test_wrong_arguments() -> None:
    told = []
    for lib in PAIR:
        told.append([])
        for function, *arguments in _wrong(lib):
            try:
                function(*arguments)
                told[-1].append("fine")
            except Exception as error:
                told[-1].append((type(error), str(error).splitlines()[0]))
    assert told[0] == told[1]
