"""The Lion optimizer, beside an averaged copy of the weights and a warmed-up rate, of three small packages."""
import pytorch_warmup as warmup
import torch
from ema_pytorch import EMA
from lion_pytorch import Lion
from report import tell
from torch import nn


def main():
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), torch.randn(32, 4)
    optimizer = Lion(net.parameters(), lr=1e-2, weight_decay=1e-2)
    average = EMA(net, beta=0.9, update_after_step=1, update_every=1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    warm = warmup.LinearWarmup(optimizer, 4)
    for _ in range(8):
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update()
        with warm.dampening():
            schedule.step()
        tell("loss", loss)
        tell("rate", optimizer.param_groups[0]["lr"])
    tell("averaged", average(x))


main()
