"""Optimizers of small packages: Prodigy, AdaBelief, D-Adaptation; and a search for the learning rate by torch-lr-finder."""
import contextlib
import io

import torch
from adabelief_pytorch import AdaBelief
from dadaptation import DAdaptAdaGrad, DAdaptAdam, DAdaptLion, DAdaptSGD
from prodigyopt import Prodigy
from report import tell
from torch_lr_finder import LRFinder


def main():
    torch.manual_seed(0)
    x, y = torch.randn(32, 6), torch.randn(32, 2)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8)
    for kind in (Prodigy, AdaBelief, DAdaptAdam, DAdaptSGD, DAdaptAdaGrad, DAdaptLion):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
        with contextlib.redirect_stdout(io.StringIO()):
            optimizer = kind(model.parameters(), **({"lr": 1e-3, "print_change_log": False} if kind is AdaBelief else {}))
        for _ in range(4):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            tell(kind.__name__, loss)
    torch.manual_seed(1)
    model = torch.nn.Linear(6, 2)
    finder = LRFinder(model, torch.optim.SGD(model.parameters(), 1e-4), torch.nn.MSELoss(), device="cpu")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        finder.range_test(data, end_lr=1, num_iter=10)
    tell("found", finder.history["loss"])


main()
