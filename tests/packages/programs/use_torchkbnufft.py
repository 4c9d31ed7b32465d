"""Transforms at places off the grid of torchkbnufft: forward, adjoint, density and gradient."""
import torch
import torchkbnufft
from report import tell


def main():
    torch.manual_seed(0)
    image = torch.randn(1, 1, 8, 8, dtype=torch.complex64, requires_grad=True)
    places = (torch.rand(2, 30) - 0.5) * 2 * torch.pi
    forward, adjoint = torchkbnufft.KbNufft((8, 8)), torchkbnufft.KbNufftAdjoint((8, 8))
    data = forward(image, places)
    tell("data", data)
    tell("adjoint", adjoint(data, places))
    tell("density", torchkbnufft.calc_density_compensation_function(places, (8, 8), num_iterations=3))
    data.abs().square().sum().backward()
    tell("gradient", image.grad)


main()
