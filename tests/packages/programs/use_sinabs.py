"""Spiking networks of sinabs: leaky and adaptive neurons with surrogate gradients, over time."""
import sinabs.layers as sl
import torch
from report import tell


def main():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), sl.LIF(tau_mem=10.0), torch.nn.Linear(8, 8), sl.ALIF(tau_mem=10.0, tau_adapt=10.0),
                                torch.nn.Linear(8, 2), sl.ExpLeak(tau_mem=20.0))
    out = model(torch.rand(2, 12, 6) * 4)
    out.square().mean().backward()
    tell("sinabs", out)
    tell("sinabs.gradients", [p.grad.abs().sum().item() for p in model.parameters() if p.grad is not None])


main()
