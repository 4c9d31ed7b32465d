"""AdamP and SGDP of adamp, with weight decay and Nesterov's momentum."""
import adamp
import torch
from report import tell


def main():
    for kind, options in ((adamp.AdamP, {"weight_decay": 1e-2}), (adamp.SGDP, {"momentum": 0.9, "nesterov": True})):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 2)).double()
        x, y = torch.randn(16, 6, dtype=torch.float64), torch.randn(16, 2, dtype=torch.float64)
        optimizer = kind(model.parameters(), 1e-2, **options)
        for _ in range(4):
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        tell(kind.__name__, loss)
        tell("weights", model[0].weight)


main()
