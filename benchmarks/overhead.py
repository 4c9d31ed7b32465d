"""Overhead: small tensors, where the library's own work takes nearly all of the time."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from workloads import workload


@workload("recorded add, 10 floats", 0.20)
def recorded_add(torch: ModuleType) -> Callable[[], object]:
    a, b = torch.randn(10, requires_grad=True), torch.randn(10)
    return lambda: a + b


@workload("unrecorded add, 10 floats", 0.15)
def unrecorded_add(torch: ModuleType) -> Callable[[], object]:
    a, b = torch.randn(10), torch.randn(10)
    return lambda: a + b


@workload("add of a Python number", 0.15)
def scalar_add(torch: ModuleType) -> Callable[[], object]:
    a = torch.randn(10)
    return lambda: a + 1.5


@workload("broadcast multiply, (8, 10) by (10,)", 0.25)
def broadcast_multiply(torch: ModuleType) -> Callable[[], object]:
    a, b = torch.randn(8, 10), torch.randn(10)
    return lambda: a * b


@workload("rfft of 64 floats", 0.6)
def small_rfft(torch: ModuleType) -> Callable[[], object]:
    x = torch.randn(64)
    return lambda: torch.fft.rfft(x)


@workload("slice `x[1:5]`", 0.25)
def slice_rows(torch: ModuleType) -> Callable[[], object]:
    x = torch.randn(10, 10)
    return lambda: x[1:5]


@workload("row gather `x[index]`, 4 of 10 rows", 0.35)
def gather_rows(torch: ModuleType) -> Callable[[], object]:
    x, index = torch.randn(10, 10), torch.tensor([7, 1, 4, 1])
    return lambda: x[index]


@workload("`(w*b).sum().backward()`, 10 floats", 0.08)
def tiny_backward(torch: ModuleType) -> Callable[[], object]:
    w, b = torch.randn(10, requires_grad=True), torch.randn(10)

    def run() -> None:
        (w * b).sum().backward()
    return run


@workload("100 multiplications and backward", 0.20)
def long_chain(torch: ModuleType) -> Callable[[], object]:
    w, b = torch.randn(10, requires_grad=True), torch.ones(10)

    def run() -> None:
        y = w
        for _ in range(100):
            y = y * b
        y.sum().backward()
    return run


@workload("in-place chain of 10 and backward", 0.20)
def inplace_chain(torch: ModuleType) -> Callable[[], object]:
    w, b = torch.randn(10, requires_grad=True), torch.ones(10)

    def run() -> None:
        y = w * 1.0
        for _ in range(10):
            y.add_(b)
        y.sum().backward()
    return run


@workload("custom Function, forward and backward", 0.20)
def custom_function(torch: ModuleType) -> Callable[[], object]:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return g * (2 * x)

    w = torch.randn(10, requires_grad=True)

    def run() -> None:
        Square.apply(w).sum().backward()
    return run


@workload("double backward of `(w**3).sum()`", 0.20)
def double_backward(torch: ModuleType) -> Callable[[], object]:
    w = torch.randn(10, requires_grad=True)

    def run() -> object:
        g, = torch.autograd.grad((w ** 3).sum(), w, create_graph=True)
        return torch.autograd.grad(g.sum(), w)
    return run


@workload("MLP (32×64, 64, 10), forward and backward", 0.25)
def mlp(torch: ModuleType) -> Callable[[], object]:
    x, labels = torch.randn(32, 64), torch.randint(0, 10, (32, 1))
    w1 = (torch.randn(64, 64) / 8).requires_grad_()
    w2 = (torch.randn(64, 10) / 8).requires_grad_()
    b1, b2 = torch.zeros(64, requires_grad=True), torch.zeros(10, requires_grad=True)
    parameters = (w1, b1, w2, b2)

    def run() -> None:
        scores = (x @ w1 + b1).relu() @ w2 + b2
        loss = -scores.log_softmax(1).gather(1, labels).mean()
        loss.backward()
        for p in parameters:
            p.grad = None
    return run
