"""Transforms, windows, special functions and statistics by their laws; and what dense tensors say about layouts."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from tests.support import lend


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    import claygrad

    yield from lend(claygrad)


def close(a: Any, b: Any) -> bool:
    return bool((a - b).abs().max() < 1e-9)


def noise(lib: ModuleType, *shape: int) -> Any:
    lib.manual_seed(3)
    return lib.randn(*shape, dtype=lib.float64, requires_grad=True)


# --- transforms -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "rfft", "ihfft", "fft2", "rfft2", "fftn", "rfftn", "ihfftn"])
def test_the_inverse_gives_the_input_back(lib, name, norm):
    x = noise(lib, 3, 4, 5)
    back = name[1:] if name.startswith("i") else "i" + name
    sizes = {} if name.startswith("fft") else {"n": 5} if not name.endswith(("2", "n")) else {"s": (4, 5) if name.endswith("2") else (3, 4, 5)}
    again = getattr(lib.fft, back)(getattr(lib.fft, name)(x, norm=norm), norm=norm, **sizes)
    assert close(again.real if again.is_complex() else again, x)


def test_energy_is_kept(lib):
    x = noise(lib, 16)
    assert close(lib.fft.fft(x, norm="ortho").abs().square().sum(), x.square().sum())


def test_the_gradient_of_energy_in_a_spectrum(lib):
    x = noise(lib, 16)
    (g,) = lib.autograd.grad(lib.fft.fft(x).abs().square().sum(), x)
    assert close(g, 2 * 16 * x)


def test_single_precision_stays_single(lib):
    x = lib.randn(4, 6)
    assert lib.fft.rfft(x).dtype == lib.complex64
    assert lib.fft.irfftn(lib.fft.rfftn(x)).dtype == lib.float32


@pytest.mark.parametrize("window", ["hann_window", "hamming_window"])
@pytest.mark.parametrize("center", [True, False])
def test_a_signal_survives_frames(lib, window, center):
    x = noise(lib, 2, 64)
    w = getattr(lib, window)(16, dtype=lib.float64) + 0.1
    there = lib.stft(x, 16, 4, window=w, center=center, return_complex=True)
    assert close(lib.istft(there, 16, 4, window=w, center=center, length=64), x)


def test_windows_that_are_one(lib):
    for name in ("hann", "hamming", "blackman", "bartlett"):
        old, new = getattr(lib, name + "_window"), getattr(lib.signal.windows, name)
        assert close(old(9, dtype=lib.float64), new(9, sym=False, dtype=lib.float64))


# --- special functions ----------------------------------------------------------------------------------------------
def test_polynomials_are_what_their_names_say(lib):
    x = lib.linspace(-0.9, 0.9, 7, dtype=lib.float64)
    angle, s = x.arccos(), lib.special
    for n in (0, 1, 2, 5, 9, 20):
        assert close(s.chebyshev_polynomial_t(x, n), (n * angle).cos())
        assert close(s.chebyshev_polynomial_u(x, n), ((n + 1) * angle).sin() / angle.sin())
        assert close(s.shifted_chebyshev_polynomial_t((x + 1) / 2, n), (n * angle).cos())
    assert close(s.legendre_polynomial_p(x, 3), (5 * x**3 - 3 * x) / 2)
    assert close(s.hermite_polynomial_h(x, 3), 8 * x**3 - 12 * x)
    assert close(s.hermite_polynomial_he(x, 3), x**3 - 3 * x)
    assert close(s.laguerre_polynomial_l(x, 2), (x * x - 4 * x + 2) / 2)
    assert close(s.legendre_polynomial_p(x, lib.tensor([-1, 0, 1, 1, 1, 1, 1])), lib.cat([x[:2] * 0 + lib.tensor([0, 1]), x[2:]]))


def test_halves_of_gamma(lib):
    a, x = noise(lib, 9).detach().abs() + 0.1, noise(lib, 9).detach().square()
    assert close(lib.igamma(a, x) + lib.igammac(a, x), lib.ones(9, dtype=lib.float64))
    assert close(lib.igamma(lib.ones(9, dtype=lib.float64), x), 1 - (-x).exp())


def test_floats_taken_apart(lib):
    x = noise(lib, 20).detach() * 1000
    mantissa, exponent = lib.frexp(x)
    assert close(lib.ldexp(mantissa, exponent), x)
    assert bool((lib.nextafter(x, x + 1) > x).all())
    half = lib.tensor([1.0, 0.0, -2.0]).half()
    assert lib.nextafter(half, half + 4).tolist() == [1.0009765625, 2.0**-24, -1.9990234375]


# --- statistics -----------------------------------------------------------------------------------------------------
def test_quantiles_of_a_ladder(lib):
    x = lib.arange(11.0)
    q = lib.tensor([0.0, 0.25, 0.5, 1.0])
    assert lib.quantile(x, q).tolist() == [0.0, 2.5, 5.0, 10.0]
    assert lib.nanquantile(lib.cat([x, lib.tensor([float("nan")])]), q).tolist() == [0.0, 2.5, 5.0, 10.0]
    assert bool(lib.quantile(lib.cat([x, lib.tensor([float("nan")])]), 0.5).isnan())


def test_a_histogram_counts_every_element_once(lib):
    x = noise(lib, 1000).detach()
    hist, edges = lib.histogram(x, 17)
    assert hist.sum() == 1000
    by_edges = lib.histogram(x, edges).hist
    assert bool((by_edges == hist).all())
    assert close((lib.histogram(x, 17, density=True).hist * edges.diff()).sum(), lib.ones((), dtype=lib.float64))
    assert lib.histogramdd(x.view(500, 2), [4, 5]).hist.sum() == 500


def test_the_derivative_of_a_parabola_is_exact(lib):
    x = lib.tensor([0.0, 0.5, 2.0, 3.0, 7.0], dtype=lib.float64)
    (slope,) = lib.gradient(x * x, spacing=(x,), edge_order=2)
    assert close(slope, 2 * x)


def test_what_a_mask_leaves_out_has_no_gradient(lib):
    x, mask = noise(lib, 4, 5), noise(lib, 5).detach() > 0
    for name in ("sum", "mean", "amax", "var", "logsumexp"):
        (g,) = lib.autograd.grad(getattr(lib.masked, name)(x, 1, mask=mask).sum(), x)
        assert not bool(g[:, ~mask].any())
        assert close(getattr(lib.masked, name)(x, 1, mask=mask), getattr(lib.masked, name)(x[:, mask], 1))


# --- layouts --------------------------------------------------------------------------------------------------------
def test_fill_diagonal(lib):
    x = lib.zeros(7, 3)
    assert x.fill_diagonal_(1) is x
    assert x.sum() == 3
    assert lib.zeros(7, 3).fill_diagonal_(1, wrap=True).tolist()[4:] == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    with pytest.raises(RuntimeError, match="all dimensions of input must be of equal length"):
        lib.zeros(2, 3, 4).fill_diagonal_(1)
    y = noise(lib, 3, 3)
    (g,) = lib.autograd.grad((y * 1).fill_diagonal_(0).sum(), y)
    assert g.diagonal().sum() == 0
    assert g.sum() == 6


def test_a_storage_shares_the_memory(lib):
    x = lib.arange(6.0).view(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        line = x[1].storage()
        line[0] = 7.0
        assert x[0, 0] == 7
        assert len(line) == 6
        assert line.tolist() == [7.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        assert line.data_ptr() == x.const_data_ptr() == x.data_ptr()


def test_dense_tensors_answer_for_sparse_ones(lib):
    x = lib.zeros(2, 3)
    assert (x.sparse_dim(), x.dense_dim(), x.dim_order(), x.t().dim_order()) == (0, 2, (0, 1), (1, 0))
    for name in ("is_coalesced", "coalesce", "indices", "values", "crow_indices", "ccol_indices"):
        with pytest.raises(RuntimeError, match=f"{name} expected sparse"):
            getattr(x, name)()


def test_pieces_that_may_be_written_to(lib):
    x = noise(lib, 4) * 1
    for part in lib.unsafe_split(x, 2):
        part.mul_(2)


WITHOUT = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "scipy":
            raise ImportError("not installed")
sys.meta_path.insert(0, Block())
import claygrad as lib
x = lib.arange(6.0)
assert lib.fft.irfft(lib.fft.rfft(x)).sub(x).abs().max() < 1e-5
assert lib.special.legendre_polynomial_p(x, 2)[2] == 5.5
assert abs(lib.special.bessel_j0(x)[1].item() - 0.7651977) < 1e-6
try:
    lib.special.gammainc(lib.tensor(1e5), x)
except ImportError as error:
    assert str(error) == "torch.igamma needs SciPy, which is not installed: pip install claygrad[science]"
else:
    raise AssertionError("who computed it?")
"""


def test_without_scipy():
    subprocess.run([sys.executable, "-c", WITHOUT], check=True)
