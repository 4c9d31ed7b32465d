"""A policy learns to balance a pole on a cart by trying: REINFORCE, with the physics in twenty lines.

    python examples/cartpole.py              # a minute; writes out/cartpole.png
"""

from __future__ import annotations

import math
from argparse import Namespace

from workbench import draw_losses, figure, options, train

import claygrad as torch
from claygrad import nn

LIMIT = 200         # steps after which a pole counts as balanced
MANY = 16           # carts at once
DISCOUNT = 0.99


def push(state: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
    """A fiftieth of a second later. A row is a cart: place, speed, angle of its pole, turn of the pole."""
    place, speed, angle, turn = state.unbind(1)
    force = action * 20.0 - 10.0
    sine, cosine = angle.sin(), angle.cos()
    pull = (force + 0.05 * turn.square() * sine) / 1.1
    bend = (9.8 * sine - cosine * pull) / (0.5 * (4 / 3 - 0.1 * cosine.square() / 1.1))
    rush = pull - 0.05 * bend * cosine / 1.1
    return torch.stack([place + 0.02 * speed, speed + 0.02 * rush, angle + 0.02 * turn, turn + 0.02 * bend], 1)


def play(policy: nn.Module) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities of what was done, and whether each cart still stood, both (time, cart)."""
    state, standing = torch.rand(MANY, 4) * 0.1 - 0.05, torch.ones(MANY)
    logs, alive = [], []
    for _ in range(LIMIT):
        scores = policy(state).log_softmax(1)
        action = torch.multinomial(scores.detach().exp(), 1)
        logs.append(scores.gather(1, action)[:, 0])
        alive.append(standing)
        state = push(state, action[:, 0])
        upright = (state[:, 0].abs() < 2.4) & (state[:, 2].abs() < 12 * math.pi / 180)
        standing = standing * upright
        if not standing.any():
            break
    return torch.stack(logs), torch.stack(alive)


def learn(told: Namespace) -> tuple[nn.Module, list[float], list[float]]:
    torch.manual_seed(told.seed)
    policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    lengths: list[float] = []

    def step(_: int) -> torch.Tensor:
        logs, alive = play(policy)
        lengths.append(alive.sum(0).mean().item())
        returns, to_come = [], torch.zeros(MANY)
        for reward in alive.flip(0):
            to_come = reward + DISCOUNT * to_come
            returns.append(to_come)
        gain = torch.stack(returns).flip(0)
        mean = (gain * alive).sum() / alive.sum()
        spread = ((gain - mean).square() * alive).sum().div(alive.sum()).sqrt() + 1e-6
        return -(logs * (gain - mean) / spread * alive).sum() / alive.sum()

    return policy, train("cartpole", policy, optimizer, step, told, notes=lengths), lengths


def main() -> float:
    told = options(__doc__ or "", 200)
    policy, _, lengths = learn(told)
    with torch.no_grad():
        balanced = play(policy)[1].sum(0).mean().item()
    sheet, axes = figure(6, 3.5)
    draw_losses(axes, lengths, f"steps balanced, of {LIMIT}", log=False)
    sheet.savefig(told.out / "cartpole.png", dpi=110)
    print(f"balanced for {balanced:.0f} of {LIMIT} steps on average; {told.out / 'cartpole.png'}")
    return balanced


if __name__ == "__main__":
    main()
