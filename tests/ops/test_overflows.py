"""Products of sizes and sums of whole numbers that wrap around. `make sanitize` runs these with every overflow watched."""

from __future__ import annotations

import numpy
import pytest

import claygrad as torch
from claygrad.nn import functional as F

HUGE = 2**29
LOW = -4702111234474983746

POOLS = {
    "adaptive max": lambda x: F.adaptive_max_pool2d(x, HUGE),
    "adaptive max, places": lambda x: F.adaptive_max_pool2d(x, HUGE, return_indices=True)[1],
    "adaptive mean": lambda x: F.adaptive_avg_pool2d(x, HUGE),
    "max": lambda x: F.max_pool2d(x, 1),
    "mean": lambda x: F.avg_pool2d(x, 1),
}


@pytest.mark.parametrize("name", POOLS)
def test_an_empty_batch_may_become_as_large_as_it_likes(name):
    made = POOLS[name](torch.ones(0, 2, 6, 5))
    assert made.shape[:2] == (0, 2)
    assert made.numel() == 0


@pytest.mark.parametrize("pool", [F.adaptive_max_pool2d, F.adaptive_avg_pool2d])
def test_so_do_its_gradients(pool):
    x = torch.ones(0, 2, 6, 5, requires_grad=True)
    pool(x, HUGE).sum().backward()
    assert x.grad.shape == x.shape


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["trace", "sum", "prod", "cumsum", "cumprod", "mul", "add", "sub", "neg", "abs", "square", "matmul"])
def test_whole_numbers_wrap_around(name):
    a = numpy.full((5, 5), LOW)
    a[0, 0] = numpy.iinfo(numpy.int64).min
    x = torch.from_numpy(a.copy())
    wanted, found = {
        "trace": lambda: (a.trace(), x.trace()),
        "sum": lambda: (a.sum(1), x.sum(1)),
        "prod": lambda: (a.prod(1), x.prod(1)),
        "cumsum": lambda: (a.cumsum(1), x.cumsum(1)),
        "cumprod": lambda: (a.cumprod(0), x.cumprod(0)),
        "mul": lambda: (a * a, x * x),
        "add": lambda: (a + a, x + x),
        "sub": lambda: (a - 5 - a.T * 3, x - 5 - x.T * 3),
        "neg": lambda: (-a, -x),
        "abs": lambda: (abs(a), x.abs()),
        "square": lambda: (a * a, x.square()),
        "matmul": lambda: (a @ a, x @ x),
    }[name]()
    assert (found.numpy() == wanted).all()


def test_normal_looks_at_each_standard_deviation_once():
    std = torch.tensor([[1.0], [2.0]]).expand(2, 2**59)
    with pytest.raises(RuntimeError, match=r"memory|allocate|too large|overflow"):
        torch.normal(0.0, std)
    with pytest.raises(RuntimeError, match=r"normal expects all elements of std >= 0\.0"):
        torch.normal(0.0, torch.tensor([[1.0], [-2.0]]).expand(2, 2**59))
    assert torch.normal(0.0, torch.tensor(1.0)).shape == ()
