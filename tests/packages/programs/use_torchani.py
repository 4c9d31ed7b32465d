"""Energies and forces of molecules: torchani's features and networks of random weights, in batches, with gradients."""
import warnings

import torch
from report import tell


def main():
    warnings.simplefilter("ignore")
    import torchani
    torch.manual_seed(0)
    computer = torchani.AEVComputer.like_1x() if hasattr(torchani.AEVComputer, "like_1x") else torchani.AEVComputer.cover_linearly
    computer = computer.double()
    species = torch.tensor([[1, 0, 0, 0, 0], [3, 0, 0, -1, -1]])
    places = torch.randn(2, 5, 3, dtype=torch.float64) * 1.5
    places.requires_grad_()
    features = computer(species, places)
    features = features[1] if isinstance(features, tuple) else features
    tell("features", features)
    net = torch.nn.Sequential(torch.nn.Linear(features.shape[-1], 8), torch.nn.CELU(0.1), torch.nn.Linear(8, 1)).double()
    energy = (net(features)[..., 0] * (species >= 0)).sum(1)
    tell("energy", energy)
    tell("forces", -torch.autograd.grad(energy.sum(), places)[0])


main()
