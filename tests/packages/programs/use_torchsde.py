"""Stochastic differential equations: paths of a process, gradients through the solver, a latent drift fitted."""
import torch
import torchsde
from report import tell
from torch import nn


class Process(nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.mu, self.sigma = nn.Linear(3, 3), nn.Parameter(torch.full((3,), 0.2))

    def f(self, t, y):
        return self.mu(y)

    def g(self, t, y):
        return self.sigma * torch.ones_like(y)


def main():
    torch.manual_seed(0)
    process, start, times = Process(), torch.full((4, 3), 0.1), torch.linspace(0, 1, 6)
    optimizer = torch.optim.Adam(process.parameters(), 1e-2)
    for method in ("euler", "milstein", "srk"):
        motion = torchsde.BrownianInterval(0.0, 1.0, size=(4, 3), entropy=7, levy_area_approximation="space-time")
        path = torchsde.sdeint(process, start, times, bm=motion, dt=0.05, method=method)
        loss = (path[-1] - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell(method, loss)
        tell("path", path)
    tell("weights", process.mu.weight)


main()
