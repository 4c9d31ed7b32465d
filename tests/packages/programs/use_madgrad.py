"""Optimizers: MADGRAD and its mirror, Ranger with AdaBelief; fairscale's flattened and checkpointed modules."""
import torch
from fairscale.nn import checkpoint_wrapper
from fairscale.nn.misc import FlattenParamsWrapper
from madgrad import MADGRAD, MirrorMADGRAD
from ranger_adabelief import RangerAdaBelief
from report import tell
from torch import nn


def main():
    torch.manual_seed(0)
    x = torch.randn(16, 4)
    y = x.prod(1, keepdim=True)
    for name, make in {"madgrad": lambda p: MADGRAD(p, lr=1e-2), "mirror": lambda p: MirrorMADGRAD(p, lr=1e-2),
                       "ranger": lambda p: RangerAdaBelief(p, lr=1e-2)}.items():
        torch.manual_seed(1)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = make(net.parameters())
        for _ in range(6):
            loss = (net(x) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tell(name, loss)
        tell("weights", net[0].weight)
    net = checkpoint_wrapper(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
    flat = FlattenParamsWrapper(net)
    flat(x).square().mean().backward()
    tell("flat", flat.flat_param.grad)


main()
