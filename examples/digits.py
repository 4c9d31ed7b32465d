"""Teach a small network to read handwritten digits, with tensors and autograd alone.

    python examples/digits.py                # a few seconds; writes out/digits.png

The import below is the only line that is not also a PyTorch program.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from tqdm import tqdm

import claygrad as torch

DATA = Path(__file__).parent / "data" / "optdigits" / "optdigits.csv.gz"
HIDDEN = 96
TEST = 447          # images kept apart; 1,350 remain to learn from
BATCH = 45
MOMENTUM = 0.9


def load() -> tuple[torch.Tensor, torch.Tensor]:
    """The images as (1797, 64) floats between 0 and 1, and the (1797,) digits they show."""
    rows = torch.from_numpy(np.loadtxt(DATA, delimiter=",", dtype=np.int64))
    return rows[:, :64].float() / 16, rows[:, 64]


def make_parameters() -> list[torch.Tensor]:
    """Two layers: weights drawn so that signals keep their size, biases at zero."""
    w1 = torch.randn(64, HIDDEN) * (2 / 64) ** 0.5
    w2 = torch.randn(HIDDEN, 10) * (2 / HIDDEN) ** 0.5
    return [p.requires_grad_() for p in (w1, torch.zeros(HIDDEN), w2, torch.zeros(10))]


def scores(images: torch.Tensor, parameters: list[torch.Tensor]) -> torch.Tensor:
    """Ten scores per image: (n, 64) → (n, HIDDEN) → (n, 10)."""
    w1, b1, w2, b2 = parameters
    return (images @ w1 + b1).relu() @ w2 + b2


def loss_of(scores: torch.Tensor, digits: torch.Tensor) -> torch.Tensor:
    """Cross entropy: the mean surprise at the right answer."""
    return -scores.log_softmax(1).gather(1, digits[:, None]).mean()


def train(
    images: torch.Tensor, digits: torch.Tensor, epochs: int, rate: float
) -> tuple[list[torch.Tensor], list[float]]:
    """Gradient descent with momentum, the step written out. Returns the parameters and the loss after each batch."""
    parameters = make_parameters()
    velocities = [torch.zeros_like(p) for p in parameters]
    losses = []
    with tqdm(range(epochs), unit="epoch") as bar:
        for epoch in bar:
            lr = rate * (1 - epoch / epochs)                # down to zero, in a straight line
            for batch in torch.randperm(len(images)).split(BATCH):
                loss = loss_of(scores(images[batch], parameters), digits[batch])
                loss.backward()
                with torch.no_grad():
                    for p, v in zip(parameters, velocities, strict=True):
                        v.mul_(MOMENTUM).add_(p.grad)
                        p -= lr * v
                        p.grad = None
                losses.append(loss.item())
            bar.set_postfix(loss=f"{np.mean(losses[-len(images) // BATCH:]):.4f}", refresh=False)
    return parameters, losses


def draw(losses: list[float], images: torch.Tensor, digits: torch.Tensor, guesses: torch.Tensor, path: Path) -> None:
    """The loss curve, and forty test digits with the network's answers: mistakes come first, in red."""
    import matplotlib

    matplotlib.use("Agg")                                   # a file is wanted, not a window
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.25))
    axes = left.subplots()
    smooth = np.convolve(losses, np.full(30, 1 / 30), mode="valid")
    axes.semilogy(losses, color="0.8", label="each batch")
    axes.semilogy(np.arange(len(smooth)) + 29, smooth, color="C0", label="mean of 30")
    axes.set(xlabel="batch", ylabel="cross entropy", title=f"Learning from {len(losses)} batches of {BATCH}")
    axes.legend(frameon=False)

    order = (guesses == digits).long().argsort(stable=True)[:40].tolist()
    right.suptitle("Test digits and the network's answers")
    for place, i in zip(right.subplots(4, 10).flat, order, strict=True):
        place.imshow(images[i].view(8, 8).numpy(), cmap="gray_r", vmin=0, vmax=1)
        guess, digit = int(guesses[i]), int(digits[i])
        place.set_title(f"{guess}" if guess == digit else f"{guess}, is {digit}",
                        color="black" if guess == digit else "crimson", fontsize=9)
        place.axis("off")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> float:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--rate", type=float, default=0.2, help="step size at the start (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/digits.png"))
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    images, digits = load()
    order = torch.randperm(len(images))
    learn, test = order[TEST:], order[:TEST]
    parameters, losses = train(images[learn], digits[learn], options.epochs, options.rate)

    with torch.no_grad():
        guesses = scores(images[test], parameters).argmax(1)
    accuracy = (guesses == digits[test]).float().mean().item()
    draw(losses, images[test], digits[test], guesses, options.out)
    print(f"test accuracy {accuracy:.1%} on {TEST} digits that it never saw; loss curve and answers: {options.out}")
    return accuracy


if __name__ == "__main__":
    main()
