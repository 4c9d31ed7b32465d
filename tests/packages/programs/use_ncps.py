"""Liquid networks of ncps: LTC and CfC cells on a wiring, trained on a sine."""
import torch
from ncps.torch import LTC, CfC
from ncps.wirings import AutoNCP
from report import tell


def main():
    t = torch.linspace(0, 6, 24)
    x = torch.stack([t.sin(), t.cos()], 1)[None]
    y = (2 * t).sin()[None, :, None]
    for kind in (LTC, CfC):
        torch.manual_seed(0)
        model = kind(2, AutoNCP(12, 1, seed=3))
        optimizer = torch.optim.Adam(model.parameters(), 0.01)
        for _ in range(3):
            loss = torch.nn.functional.mse_loss(model(x)[0], y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tell(f"{kind.__name__} loss", loss)
        tell("state", model(x)[1])


main()
