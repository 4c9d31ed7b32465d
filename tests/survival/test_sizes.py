"""Shapes of too many dimensions, sizes whose product wraps around, and numbers that would keep a loop busy for ever."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest

from tests.serialization.test_hostile import FLOATS, archive, tensor

ONES = (1,) * 100
INF = [[math.inf, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]

# More than 64 dimensions: every entry refuses in one sentence, before anything is written
DEEP = """
lib.ones(7).resize_(ONES)
lib.ones(7).set_(lib.ones(3).untyped_storage(), 0, ONES, ONES)
lib.ones(1).as_strided(ONES, ONES)
lib.ones(1).view(ONES)
lib.ones(1).reshape(ONES)
lib.ones(1).expand(ONES)
lib.empty(ONES)
lib.zeros((1,) * 65)
lib.full(ONES, 1.0)
lib.rand(ONES)
lib.ones(1).new_empty(ONES)
lib.empty_strided(ONES, ONES)
lib.empty(ONES, device="meta")
lib.empty(3, device="meta").repeat((1,) * 300)
lib.ones(1).repeat(ONES)
lib.ones(1).tile(ONES)
deep[None]
deep[..., None]
deep[None, None, 0]
deep[lib.zeros((1, 1, 1), dtype=lib.int64)]
deep.unsqueeze(0)
deep.unsqueeze(-1)
deep.unflatten(0, (1, 1))
deep.unfold(0, 1, 1)
lib.stack([deep, deep])
lib.diag_embed(deep)
lib.view_as_real(deep.to(lib.complex64))
lib.tensordot(deep, deep, 0)
lib.meshgrid(*[lib.ones(1)] * 70)
lib.cartesian_prod(*[lib.ones(1)] * 70)
lib.nn.functional.embedding(deep.long(), lib.ones(2, 3))
lib.nn.functional.one_hot(deep.long())
deep.to("meta")[None]
"""

# Sizes in elements, or in bytes, that 64 bits do not hold, and more memory than there is
HUGE = """
lib.ones(2, 4).t()[:, :, None].expand(4, 2, 2**59).neg()
lib.ones(2, 4).t()[:, :, None].expand(4, 2, 2**59) + 1
lib.ones(2, 4).t()[:, :, None].expand(4, 2, 2**59).exp()
many.clone()
many.contiguous()
many.double()
many * lib.ones(1)
lib.where(many > 0, 1, 2)
many.unbind()
many.sort()
many.roll(1)
lib.zeros_like(many)
lib.rand_like(many)
lib.ones(3)[many.to(lib.int64)]
lib.nn.functional.dropout(many)
lib.nn.functional.pad(lib.ones(1, 2, 3, 4).to(memory_format=lib.channels_last), (2**30 - 1, 0, 2**30 - 1, 0))
lib.nn.functional.unfold(lib.ones(1, 2, 3, 4), 1, padding=2**29)
lib.nn.functional.fold(lib.ones(1, 8, 3), (2**31, 2**31), 2)
lib.kron(lib.ones(1).expand(2**33), lib.ones(1).expand(2**33))
lib.kron(lib.ones(1, 1).expand(2**33, 2), lib.ones(1, 1).expand(2**33, 2))
lib.ones(1).expand(67280421310721).repeat(274177)
lib.ones(1).expand(2**33, 1) @ lib.ones(1).expand(1, 2**33)
lib.tril_indices(2**40, 2**40)
lib.eye(2**62)
lib.arange(2**62)
lib.linspace(0, 1, 2**62)
lib.fft.fft(lib.ones(3), 2**62)
lib.nn.functional.interpolate(lib.ones(1, 1, 3), scale_factor=2**62)
lib.nn.functional.one_hot(lib.tensor([1]), 2**62)
lib.bincount(lib.tensor([1]), minlength=2**62)
lib.bincount(lib.tensor([2**63 - 1, 0, 1]), minlength=4)
lib.repeat_interleave(lib.tensor([2**62] * 4 + [3]))
lib.ones(3).resize_(2**60)
lib.empty_strided((2, 2), (2**62, 1))
lib.cat([many, many])
lib.tensor_split(lib.ones(3), 2**62)
lib.mvlgamma(lib.ones(3) * 1e20, 2**62)
lib.special.laguerre_polynomial_l(lib.ones(3), 2**62)
lib.special.legendre_polynomial_p(lib.ones(3) * 0.5, 2**62)
"""

# More than 64 bits of an integer
LONG = """
lib.round(lib.ones(3), decimals=10**30)
lib.tensor_split(lib.ones(3), 2**63)
lib.mvlgamma(lib.ones(3), 2**63)
lib.chunk(lib.ones(3), 2**63)
lib.rot90(lib.ones(2, 2), 2**63)
lib.diff(lib.ones(3), 2**63)
lib.linalg.matrix_power(lib.eye(2), 10**30)
"""

CYCLES = "lib.tensor(own) lib.as_tensor(own) lib.asarray(own) lib.ones(3)[own] lib.ones(3)[(own,)] lib.ones(3).new_tensor(own)"


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


def run(lib, program: str):
    own: list = []
    own += [own, own]
    deep = lib.ones((1,) * 64) if "deep" in program else None
    many = lib.ones(1).expand(2**62) if "many" in program else None
    return eval(program, {"lib": lib, "ONES": ONES, "deep": deep, "many": many, "own": own})


@pytest.mark.parametrize("program", lines(DEEP))
def test_more_than_64_dimensions_are_refused(lib, program):
    with pytest.raises(RuntimeError, match=r"tensors of more than 64 dimensions are not supported, got [0-9]+\n.*PyTorch"):
        run(lib, program)


def test_a_file_with_a_tensor_of_70_dimensions_is_refused():
    import claygrad

    ones = b"(" + b"K\x01" * 70 + b"t"
    with pytest.raises(RuntimeError, match="tensors of more than 64 dimensions are not supported, got 70"):
        claygrad.load(archive(tensor(size=ones, stride=ones), FLOATS))


def test_64_dimensions_are_enough(lib):
    x = lib.ones((1,) * 63)[None]
    assert x.dim() == 64
    assert (x + x.movedim(0, 63)).exp().sum().item() == pytest.approx(math.exp(2))


@pytest.mark.parametrize("program", lines(HUGE))
def test_sizes_that_cannot_be_had_are_refused(lib, program):
    with pytest.raises(RuntimeError):
        run(lib, program)


@pytest.mark.parametrize("program", lines(LONG))
def test_integers_of_more_than_64_bits_are_refused(lib, program):
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        run(lib, program)


@pytest.mark.parametrize("program", CYCLES.split())
def test_lists_that_contain_themselves_are_refused(lib, program):
    with pytest.raises((ValueError, TypeError), match=r"too many dimensions|self-referential"):
        run(lib, program)


@pytest.mark.parametrize("name", "svd svdvals pinv lstsq cond matrix_rank eigh qr matrix_exp matrix_norm".split())
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_decompositions_of_matrices_with_an_infinity_end(lib, name, dtype):
    a = lib.tensor(INF, dtype=getattr(lib, dtype))
    more = (lib.ones(3, 1, dtype=a.dtype),) if name == "lstsq" else (2,) if name == "matrix_norm" else ()
    with suppress(RuntimeError):                 # LAPACK may say that it did not converge
        getattr(lib.linalg, name)(a, *more)


def test_singular_values_beside_an_infinity_are_those_without_it(lib):
    both = lib.tensor([INF, [[3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]]])
    S = lib.linalg.svdvals(both)
    assert S[0].isnan().all()
    assert S[1].tolist() == pytest.approx([3.0, 2.0, 1.0])


@pytest.mark.parametrize("pivots", [[100, 2, 3], [-100, -100, 3], [0, 0, 0], [-(2**31), 2**31 - 1, 3], [1, -2, 3]])
def test_pivots_out_of_range_are_refused(lib, pivots):
    at = lib.tensor(pivots, dtype=lib.int32)
    for solve in (lib.linalg.ldl_solve, lib.linalg.lu_solve):
        with pytest.raises(RuntimeError, match="Pivots given to"):
            solve(lib.eye(3), at, lib.ones(3, 1))


def test_kernels_much_larger_than_what_they_pool(lib):
    functional = lib.nn.functional
    x = lib.arange(16.0).view(1, 1, 4, 4)
    assert functional.max_pool2d(x, 2**30 - 1, padding=2**29 - 1).item() == 15
    assert functional.avg_pool1d(x[0], 2**30 - 1, padding=2**29 - 1).shape == (1, 4, 1)
    values, places = functional.max_pool1d(lib.arange(4.0).view(1, 1, 4), 9, 2, padding=4, return_indices=True)
    assert (values.tolist(), places.tolist()) == ([[[3.0, 3.0]]], [[[3, 3]]])
    assert functional.avg_pool1d(lib.arange(4.0).view(1, 1, 4), 9, 2, padding=4).tolist() == [[[pytest.approx(2 / 3)] * 2]]
    assert functional.local_response_norm(x, 2**31).shape == x.shape


def test_steps_that_are_never_taken_may_be_as_large_as_they_like(lib):
    x = lib.ones(1, 1, 4)
    assert lib.nn.functional.conv1d(x, lib.ones(1, 1, 2), stride=2**62).tolist() == [[[2.0]]]
    assert lib.nn.functional.conv1d(x, lib.ones(1, 1, 1), dilation=2**62).shape == (1, 1, 4)
    assert lib.ones(3)[:: 2**63 - 1].tolist() == [1.0]
    assert lib.triu_indices(3, 3, 2**63 - 1).shape == (2, 0)
