"""Optimizers of torch-optimizer on one small network, five steps each."""
import torch
import torch_optimizer
from report import tell
from torch import nn

KINDS = ("AdaBelief", "AdaBound", "AdaMod", "AdamP", "DiffGrad", "Lamb", "MADGRAD", "NovoGrad", "QHAdam", "RAdam", "Ranger", "SGDP", "SGDW", "Yogi", "Apollo", "Lookahead")


def main():
    for name in KINDS:
        torch.manual_seed(0)
        net, x = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), torch.randn(32, 4)
        if name == "Lookahead":
            optimizer = torch_optimizer.Lookahead(torch.optim.SGD(net.parameters(), 0.1), k=2)
        else:
            optimizer = getattr(torch_optimizer, name)(net.parameters(), lr=1e-2)
        losses = []
        for _ in range(5):
            loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        tell(name, losses)


main()
