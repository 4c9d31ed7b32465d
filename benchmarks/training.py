"""Whole training steps of small models: modules, losses, backward, optimizers."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from workloads import workload


@workload("MLP 64-64-10, batch 32, with SGD", 0.20)
def mlp_sgd(torch: ModuleType) -> Callable[[], object]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))

    def run() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return run


@workload("MLP 16-32-32-1, batch 32, with Adam", 0.20)
def mlp_adam(torch: ModuleType) -> Callable[[], object]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randn(32, 16), torch.randn(32, 1)

    def run() -> None:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return run


@workload("policy of a batch of 1, forward", 0.20)
def policy(torch: ModuleType) -> Callable[[], object]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    x = torch.randn(1, 4)

    def run() -> object:
        with torch.no_grad():
            return torch.softmax(model(x), -1)
    return run


@workload("recurrent loop of 20 steps, forward and backward", 0.20)
def recurrent(torch: ModuleType) -> Callable[[], object]:
    w, u = (torch.randn(8, 16) / 4).requires_grad_(), (torch.randn(16, 16) / 4).requires_grad_()
    xs, start = torch.randn(20, 4, 8), torch.zeros(4, 16)

    def run() -> None:
        h = start
        for x in xs:
            h = torch.tanh(x @ w + h @ u)
        h.sum().backward()
        w.grad = u.grad = None
    return run


@workload("PINN step with second derivatives", 0.20)
def pinn(torch: ModuleType) -> Callable[[], object]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.linspace(0, 1, 64).reshape(-1, 1).requires_grad_()

    def run() -> None:
        optimizer.zero_grad()
        u = model(x)
        du, = torch.autograd.grad(u.sum(), x, create_graph=True)
        ddu, = torch.autograd.grad(du.sum(), x, create_graph=True)
        ((ddu + u) ** 2).mean().backward()
        optimizer.step()
    return run


@workload("`zero_grad` and `step` of 100 small parameters, SGD with momentum", 0.20)
def many_parameters(torch: ModuleType) -> Callable[[], object]:
    parameters = [torch.nn.Parameter(torch.randn(10)) for _ in range(100)]
    gradients = [torch.randn(10) for _ in parameters]
    optimizer = torch.optim.SGD(parameters, lr=1e-3, momentum=0.9)

    def run() -> None:
        for p, g in zip(parameters, gradients):
            p.grad = g
        optimizer.step()
        optimizer.zero_grad()
    return run


@workload("an epoch of a shuffled `TensorDataset`, 100,000 rows in batches of 64", 0.10)
def data_loader(torch: ModuleType) -> Callable[[], object]:
    data = torch.utils.data
    rows = data.TensorDataset(torch.randn(100_000, 20), torch.randint(0, 10, (100_000,)))
    loader = data.DataLoader(rows, batch_size=64, shuffle=True)

    def run() -> None:
        for _ in loader:
            pass
    return run
