"""Rosenbrock's function by methods with exact derivatives, least squares, and optimizers over a network."""
import torch
from report import tell
from torch import nn
from torchmin import Minimizer, ScipyMinimizer, least_squares, minimize, minimize_constr


def rosen(x):
    return torch.sum(100 * (x[..., 1:] - x[..., :-1] ** 2) ** 2 + (1 - x[..., :-1]) ** 2)


def main():
    torch.manual_seed(0)
    start = torch.tensor([1.3, 0.7, 0.8, 1.9, 1.2], dtype=torch.float64)
    for method in ("bfgs", "l-bfgs", "cg", "newton-cg", "newton-exact", "trust-ncg", "trust-exact"):
        found = minimize(rosen, start, method=method, max_iter=8)
        tell(f"{method}, x", found.x)
        tell(f"{method}, value", found.fun)
    t = torch.linspace(0, 1, 12, dtype=torch.float64)
    y = 2 * torch.exp(-3 * t) + 0.1 * torch.sin(9 * t)
    found = least_squares(lambda p: p[0] * torch.exp(p[1] * t) - y, torch.tensor([1., -1.], dtype=torch.float64), method="trf")
    tell("least squares", found.x)
    tell("cost", found.cost)
    found = minimize_constr(rosen, start, constr={"fun": lambda x: x.square().sum(), "ub": 1.0}, max_iter=6)
    tell("constrained", found.x)
    x = torch.randn(30, 3, dtype=torch.float64)
    target = (x[:, 0] * x[:, 1]).unsqueeze(1)
    for name, make in (("Minimizer", lambda p: Minimizer(p, method="bfgs", max_iter=5)),
                       ("ScipyMinimizer", lambda p: ScipyMinimizer(p, method="L-BFGS-B", options={"maxiter": 5}))):
        torch.manual_seed(1)
        net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)).double()
        optimizer = make(net.parameters())

        def closure(net=net, optimizer=optimizer):
            optimizer.zero_grad()
            return nn.functional.mse_loss(net(x), target)

        tell(name, optimizer.step(closure))
        tell(f"{name}, weights", net[0].weight)


main()
