"""Metric learning of open-metric-learning: triplets with miners, ArcFace, measures of retrieval, a sampler."""
import torch
from oml.losses.arcface import ArcFaceLoss
from oml.losses.triplet import TripletLossPlain, TripletLossWithMiner
from oml.miners.inbatch_all_tri import AllTripletsMiner
from oml.miners.inbatch_hard_tri import HardTripletsMiner
from oml.samplers.balance import BalanceSampler
from report import tell


def main():
    torch.manual_seed(0)
    x = torch.randn(12, 8, requires_grad=True)
    y = torch.arange(12) // 3
    for name, loss in {"all": TripletLossWithMiner(0.2, AllTripletsMiner()), "hard": TripletLossWithMiner(0.2, HardTripletsMiner()),
                       "soft": TripletLossWithMiner(None, AllTripletsMiner())}.items():
        value = loss(x, y)
        tell(name, value)
        tell(f"{name}.gradient", torch.autograd.grad(value, x)[0])
    value = TripletLossPlain(0.3)(x)
    tell("plain", [value.item(), torch.autograd.grad(value, x)[0].abs().sum().item()])
    arc = ArcFaceLoss(8, 4, smoothing_epsilon=0.1)
    value = arc(x, y)
    value.backward()
    tell("arcface", [value.item(), arc.weight.grad.abs().sum().item()])
    tell("batches", len(list(BalanceSampler(y.tolist(), 2, 2))))


main()
