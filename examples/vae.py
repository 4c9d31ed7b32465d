"""A variational autoencoder learns what handwritten digits look like, and draws some that nobody wrote.

    python examples/vae.py                   # twenty seconds; writes out/vae.png
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import numpy as np
from workbench import draw_losses, figure, options, train

import claygrad as torch
from claygrad import nn

DATA = Path(__file__).parent / "data" / "optdigits" / "optdigits.csv.gz"
LATENT, BATCH = 8, 64


class Vae(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 2 * LATENT))
        self.decode = nn.Sequential(nn.Linear(LATENT, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The loss of each image: what it takes to draw it again, and to say where it lies."""
        mean, log_var = self.encode(images).chunk(2, dim=1)
        place = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        drawn = nn.functional.binary_cross_entropy_with_logits(self.decode(place), images, reduction="none").sum(1)
        return drawn + 0.5 * (mean.square() + log_var.exp() - 1 - log_var).sum(1)


def learn(told: Namespace) -> tuple[Vae, list[float]]:
    torch.manual_seed(told.seed)
    images = torch.from_numpy(np.loadtxt(DATA, delimiter=",", dtype=np.float32)[:, :64]) / 16
    model = Vae()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def step(_: int) -> torch.Tensor:
        return model(images[torch.randint(len(images), (BATCH,))]).mean()

    return model, train("vae", model, optimizer, step, told)


def main() -> float:
    told = options(__doc__ or "", 4000)
    model, losses = learn(told)
    torch.manual_seed(1)
    with torch.no_grad():
        drawn = model.decode(torch.randn(60, LATENT)).sigmoid().view(-1, 8, 8)
    sheet, places = figure(11, 4, ncols=16, nrows=6)
    grid = places[0, 0].get_gridspec()
    for place in places[:, :6].flat:
        place.remove()
    draw_losses(sheet.add_subplot(grid[:, :6]), losses, "nats per image", log=False)
    for place, image in zip(places[:, 6:].flat, drawn):
        place.imshow(image.numpy(), cmap="gray_r", vmin=0, vmax=1)
        place.axis("off")
    sheet.savefig(told.out / "vae.png", dpi=110)
    last = sum(losses[-100:]) / len(losses[-100:])
    print(f"{losses[0]:.1f} nats an image at first, {last:.1f} now; 60 new digits: {told.out / 'vae.png'}")
    return last


if __name__ == "__main__":
    main()
