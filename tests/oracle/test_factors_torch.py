"""Factors of layers that may be tensors, and then have gradients, as in PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402

CALLS = {
    "lp_pool1d": "F.lp_pool1d(x.abs(), w, 2)",
    "lp_pool2d": "F.lp_pool2d(x.abs(), w, 2)",
    "lp_pool3d": "F.lp_pool3d(x.abs()[None], w, 2)",
    "alpha": "F.local_response_norm(x, 3, w)",
    "beta": "F.local_response_norm(x, 3, 0.1, w)",
    "k": "F.local_response_norm(x, 3, 0.1, 0.5, w)",
    "normalize": "F.normalize(x, 2, 1, w)",
    "gumbel_softmax": "F.gumbel_softmax(x, w)",
}


@pytest.mark.parametrize("name", CALLS)
def test_the_gradient_of_a_factor(name):
    found = []
    for lib in (claygrad, torch):
        lib.manual_seed(0)
        x = lib.arange(-12.0, 12.0, dtype=lib.float64).reshape(2, 3, 4).div(7).requires_grad_()
        w = lib.tensor(2.5, dtype=lib.float64, requires_grad=True)
        y = eval(CALLS[name], {"F": lib.nn.functional, "x": x, "w": w})
        first = lib.autograd.grad((y * lib.arange(y.numel(), dtype=y.dtype).cos().reshape(y.shape)).sum(), [x, w])
        found.append([y.tolist(), *(g.tolist() for g in first)])
    for mine, other in zip(*found, strict=True):
        assert torch.allclose(torch.tensor(mine), torch.tensor(other), rtol=1e-6, atol=1e-9)
