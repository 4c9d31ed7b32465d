"""An LSTM forecasts a noisy wave: two periods that beat against each other, a trend, and noise.

    python examples/forecast.py              # half a minute; writes out/forecast.png
"""

from __future__ import annotations

from argparse import Namespace

from workbench import draw_losses, figure, options, train

import claygrad as torch
from claygrad import nn

SEEN, AHEAD, BATCH = 60, 20, 32


def series(length: int = 2000) -> torch.Tensor:
    t = torch.arange(length, dtype=torch.float32)
    return torch.sin(t * 0.21) + 0.6 * torch.sin(t * 0.34 + 1) + 0.05 * torch.randn(length)


class Forecaster(nn.Module):
    """Reads SEEN values, says the AHEAD next."""

    def __init__(self) -> None:
        super().__init__()
        self.memory, self.say = nn.LSTM(1, 48, batch_first=True), nn.Linear(48, AHEAD)

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        states, _ = self.memory(seen[..., None])
        return self.say(states[:, -1])


def learn(told: Namespace) -> tuple[Forecaster, torch.Tensor, list[float]]:
    torch.manual_seed(told.seed)
    values = series()
    windows = values.unfold(0, SEEN + AHEAD, 1)                   # a view: every window, nothing copied
    learning = windows[:1500]
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def step(_: int) -> torch.Tensor:
        rows = learning[torch.randint(len(learning), (BATCH,))]
        return nn.functional.mse_loss(model(rows[:, :SEEN]), rows[:, SEEN:])

    return model, windows[1600:], train("forecast", model, optimizer, step, told)


def main() -> float:
    told = options(__doc__ or "", 800)
    model, test, losses = learn(told)
    model.eval()
    with torch.no_grad():
        said = model(test[:, :SEEN])
    error = nn.functional.mse_loss(said, test[:, SEEN:]).sqrt().item()
    lazy = (test[:, SEEN - 1:SEEN] - test[:, SEEN:]).square().mean().sqrt().item()

    sheet, (left, right) = figure(11, 3.5, ncols=2)
    draw_losses(left, losses, "squared error")
    right.plot(test[0].numpy(), label="what came")
    right.plot(range(SEEN, SEEN + AHEAD), said[0].numpy(), label="forecast")
    right.legend(frameon=False)
    sheet.savefig(told.out / "forecast.png", dpi=110)
    print(f"error {error:.3f} over {AHEAD} steps ahead (saying the last value again: {lazy:.3f}; the noise is 0.05); "
          f"{told.out / 'forecast.png'}")
    return error


if __name__ == "__main__":
    main()
