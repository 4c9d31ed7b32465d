"""What the examples share: their options, a loop with a progress bar and a checkpoint to go on from, a curve."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tqdm import tqdm

import claygrad as torch

EVERY = 250        # steps between two checkpoints


def options(about: str, steps: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--steps", type=int, default=steps, help="how long to train (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder of the picture and the checkpoint")
    parser.add_argument("--fresh", action="store_true", help="begin anew, whatever checkpoint there is")
    return parser.parse_args()


def train(name: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer, step: Callable[[int], torch.Tensor],
          told: argparse.Namespace, schedule: object = None, notes: list[float] | None = None) -> list[float]:
    """Minimise what `step` returns, told how many came before it. Goes on from the checkpoint if there is one.

    A run that was cut short and went on ends as one that was not: random numbers are in the checkpoint too, as are the
    schedule of the rate and the numbers that `step` notes down.
    """
    told.out.mkdir(parents=True, exist_ok=True)
    path, losses = told.out / f"{name}.pt", []
    if path.exists() and not told.fresh:
        saved = torch.load(path)
        if schedule is not None and saved["steps"] != told.steps:
            raise SystemExit(f"{path} is of a run of {saved['steps']} steps, for which its rate was planned: "
                             f"--steps {saved['steps']} goes on with it, or --fresh begins anew")
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        if schedule is not None:
            schedule.load_state_dict(saved["schedule"])
        if notes is not None:
            notes[:] = saved["notes"]
        losses = saved["losses"]
        torch.set_rng_state(saved["rng"])
    with tqdm(total=told.steps, initial=len(losses), unit="step") as bar:
        while len(losses) < told.steps:
            optimizer.zero_grad()
            loss = step(len(losses))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if schedule is not None:
                schedule.step()
            losses.append(loss.item())
            bar.update()
            if len(losses) % 20 == 0:
                bar.set_postfix(loss=f"{np.mean(losses[-50:]):.4f}", refresh=False)
            if len(losses) % EVERY == 0 or len(losses) == told.steps:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "losses": losses,
                            "schedule": schedule and schedule.state_dict(), "steps": told.steps, "notes": notes,
                            "rng": torch.get_rng_state()}, path)
    return losses


def figure(*sizes: float, **settings: object) -> tuple:
    """matplotlib's subplots, for a file and not a window."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=sizes, layout="constrained", **settings)


def draw_losses(axes: object, losses: list[float], label: str = "loss", *, log: bool = True) -> None:
    wide = max(1, len(losses) // 50)
    smooth = np.convolve(losses, np.full(wide, 1 / wide), mode="valid")
    (axes.semilogy if log else axes.plot)(np.arange(len(smooth)) + wide - 1, smooth)
    axes.set(xlabel="step", ylabel=label)
