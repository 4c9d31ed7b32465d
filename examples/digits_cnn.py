"""A convolutional network reads 8x8 handwritten digits: 99 % of those it never saw.

    python examples/digits_cnn.py            # half a minute; writes out/digits_cnn.png
"""

from __future__ import annotations

import itertools
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from workbench import draw_losses, figure, options, train

import claygrad as torch
from claygrad import nn
from claygrad.utils.data import DataLoader, TensorDataset

DATA = Path(__file__).parent / "data" / "optdigits" / "optdigits.csv.gz"
TEST, BATCH = 360, 64


def load() -> tuple[TensorDataset, TensorDataset]:
    """1,437 digits to learn from, and 360 kept apart."""
    rows = torch.from_numpy(np.loadtxt(DATA, delimiter=",", dtype=np.int64))
    rows = rows[torch.randperm(len(rows))]
    images, digits = rows[:, :64].view(-1, 1, 8, 8) / 16, rows[:, 64]
    return TensorDataset(images[TEST:], digits[TEST:]), TensorDataset(images[:TEST], digits[:TEST])


def make_model() -> nn.Module:
    def block(inputs: int, outputs: int) -> list[nn.Module]:
        return [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]

    return nn.Sequential(*block(1, 32), *block(32, 32), nn.MaxPool2d(2), *block(32, 64), *block(64, 64),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.3), nn.Linear(256, 10))


def moved(images: torch.Tensor) -> torch.Tensor:
    """Each batch shifted by up to a pixel: a digit stays the same digit."""
    dx, dy = torch.randint(-1, 2, (2,)).tolist()
    return nn.functional.pad(images, (1, 1, 1, 1))[:, :, 1 + dy:9 + dy, 1 + dx:9 + dx]


def batches(data: TensorDataset, done: int) -> Iterator:
    """Batches without end, from the one after `done` on. The order of an epoch hangs on its number alone."""
    each = len(data) // BATCH
    for epoch in itertools.count(done // each):
        order = torch.Generator().manual_seed(epoch)
        loader = DataLoader(data, batch_size=BATCH, shuffle=True, drop_last=True, generator=order)
        yield from itertools.islice(loader, max(0, done - epoch * each), None)


def learn(told: Namespace) -> tuple[nn.Module, TensorDataset, list[float]]:
    torch.manual_seed(told.seed)
    learning, test = load()
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=told.steps + 1)
    coming: list[Iterator] = []

    def step(done: int) -> torch.Tensor:
        if not coming:
            coming.append(batches(learning, done))
        images, digits = next(coming[0])
        return nn.functional.cross_entropy(model(moved(images)), digits, label_smoothing=0.05)

    return model, test, train("digits_cnn", model, optimizer, step, told, schedule)


def main() -> float:
    told = options(__doc__ or "", 600)
    model, test, losses = learn(told)
    images, digits = test.tensors
    model.eval()
    with torch.no_grad():
        guesses = model(images).argmax(1)
    accuracy = (guesses == digits).float().mean().item()

    sheet, places = figure(11, 4, ncols=11, nrows=3)
    grid = places[0, 0].get_gridspec()
    for place in places[:, :4].flat:
        place.remove()
    draw_losses(sheet.add_subplot(grid[:, :4]), losses, "cross entropy")
    order = (guesses == digits).long().argsort(stable=True).tolist()       # mistakes first
    for place, i in zip(places[:, 4:].flat, order):
        place.imshow(images[i, 0].numpy(), cmap="gray_r")
        place.set_title(int(guesses[i]), color="black" if guesses[i] == digits[i] else "crimson", fontsize=9)
        place.axis("off")
    sheet.savefig(told.out / "digits_cnn.png", dpi=110)
    print(f"test accuracy {accuracy:.1%} on {len(digits)} digits; {told.out / 'digits_cnn.png'}")
    return accuracy


if __name__ == "__main__":
    main()
