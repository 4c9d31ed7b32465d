"""Special functions of accelerators, which are array code, against the CPU's kernels: over the range, and where they end."""

from __future__ import annotations

import math

import pytest

import claygrad as torch

NAMES = ("bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 "
         "scaled_modified_bessel_k1").split()
ENDS = [0.0, -0.0, 1e-300, 1e-30, 1e-9, 1e-7, -1.0, -3.3, math.inf, -math.inf, math.nan, 24.999, 25.001, 1e3, 1e5]


def _alike(mine: torch.Tensor, other: torch.Tensor, scale: torch.Tensor) -> None:
    assert mine.isnan().tolist() == other.isnan().tolist()
    assert mine.isinf().tolist() == other.isinf().tolist()
    usual = other.isfinite()
    off = (mine - other).abs()[usual] / scale[usual]
    assert off.max().item() < 2e-12
    assert torch.equal(mine[other.isinf()], other[other.isinf()])


@pytest.mark.parametrize("name", NAMES)
def test_bessel(name, there):
    x = torch.cat([torch.linspace(0.003, 60, 700, dtype=torch.float64), torch.tensor(ENDS, dtype=torch.float64)])
    call = getattr(torch.special, name)
    mine, other = call(x.to(there)).cpu(), call(x)
    wave = (2 / (math.pi * x.abs().clamp(min=1e-2))).sqrt()                 # waves have zeros: their error is that of the wave
    _alike(mine, other, torch.maximum(other.abs(), wave * (0 if "modified" in name else 1)).clamp(min=1e-300))
    assert call(x.float().to(there)).dtype == torch.float32


def test_airy(there):
    x = torch.cat([torch.linspace(-60, 20, 900, dtype=torch.float64), torch.linspace(-2.1, 2.1, 300, dtype=torch.float64),
                   torch.tensor([0.0, -0.0, 1e-300, -1e-9, 103.8, 103.9, 110.0, 1e300, -1e3, -1e4, -12.19, -12.15, math.inf, -math.inf, math.nan],
                                dtype=torch.float64)])
    mine, other = torch.special.airy_ai(x.to(there)).cpu(), torch.special.airy_ai(x)
    wave = (x.clamp(max=-1).abs() ** -0.25) / math.sqrt(math.pi) * (x < -1)
    _alike(mine, other, torch.maximum(other.abs(), wave * (1 + x.abs().clamp(max=1e5) ** 1.5 / 100)).clamp(min=1e-300))
    assert torch.special.airy_ai(x.float().to(there)).dtype == torch.float32


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma(name, there):
    torch.manual_seed(0)
    a = torch.cat([torch.rand(400, dtype=torch.float64) * 30 + 0.01, torch.rand(50, dtype=torch.float64) * 200,
                   torch.tensor([0, 0, 1, math.inf, 1, math.inf, -1, 2, math.nan], dtype=torch.float64)])
    x = torch.cat([torch.rand(400, dtype=torch.float64) * 50, torch.rand(50, dtype=torch.float64) * 250,
                   torch.tensor([0, 1, 0, 1, math.inf, math.inf, 1, -1, 1], dtype=torch.float64)])
    call = getattr(torch, name)
    _alike(call(a.to(there), x.to(there)).cpu(), call(a, x), torch.ones_like(a))


def test_what_is_no_fraction_is_refused_as_on_the_cpu(there):
    x = torch.tensor([1, 2])
    with pytest.raises(NotImplementedError) as here:
        torch.igamma(x, x)
    with pytest.raises(NotImplementedError) as elsewhere:
        torch.igamma(x.to(there), x.to(there))
    assert str(elsewhere.value).splitlines()[0] == str(here.value).splitlines()[0]
