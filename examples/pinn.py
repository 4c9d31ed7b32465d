"""A network solves a differential equation: the damped oscillator u'' + 2 d u' + w² u = 0, u(0) = 1, u'(0) = 0.

    python examples/pinn.py                  # half a minute; writes out/pinn.png beside the exact solution
"""

from __future__ import annotations

import math
from argparse import Namespace

from workbench import draw_losses, figure, options, train

import claygrad as torch
from claygrad import nn

DAMPING, FREQUENCY = 1.0, 6.0


def exact(t: torch.Tensor) -> torch.Tensor:
    turn = math.sqrt(FREQUENCY ** 2 - DAMPING ** 2)
    phase = math.atan(-DAMPING / turn)
    return torch.exp(-DAMPING * t) * torch.cos(turn * t + phase) / math.cos(phase)


def derivative(of: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad(of.sum(), by, create_graph=True)[0]


def learn(told: Namespace) -> tuple[nn.Module, list[float]]:
    torch.manual_seed(told.seed)
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, told.steps)
    inside = torch.linspace(0, 1.5, 64)[:, None].requires_grad_()
    start = torch.zeros(1, 1, requires_grad=True)

    def step(_: int) -> torch.Tensor:
        first = model(start)
        begin = (first - 1).square().sum() + 0.1 * derivative(first, start).square().sum()
        u = model(inside)
        slope = derivative(u, inside)
        wrong = derivative(slope, inside) + 2 * DAMPING * slope + FREQUENCY ** 2 * u
        return begin + 1e-2 * wrong.square().mean()

    return model, train("pinn", model, optimizer, step, told, schedule)


def main() -> float:
    told = options(__doc__ or "", 6000)
    model, losses = learn(told)
    t = torch.linspace(0, 1.5, 200)[:, None]
    with torch.no_grad():
        found, truth = model(t), exact(t)
    error = (found - truth).abs().max().item()
    sheet, (left, right) = figure(11, 3.5, ncols=2)
    draw_losses(left, losses)
    right.plot(t.numpy(), truth.numpy(), label="exact")
    right.plot(t.numpy(), found.numpy(), "--", label="network")
    right.legend(frameon=False)
    sheet.savefig(told.out / "pinn.png", dpi=110)
    print(f"largest error {error:.4f} against the exact solution; {told.out / 'pinn.png'}")
    return error


if __name__ == "__main__":
    main()
