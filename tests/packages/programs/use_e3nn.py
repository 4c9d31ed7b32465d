"""Equivariant layers: spherical harmonics, tensor products and gates, and that rotations commute with them."""
import torch
from e3nn import o3
from e3nn.nn import Gate
from report import tell


def main():
    torch.manual_seed(0)
    x = torch.randn(6, 3)
    harmonics = o3.spherical_harmonics([0, 1, 2], x, normalize=True, normalization="component")
    tell("harmonics", harmonics)
    product = o3.FullyConnectedTensorProduct("8x0e + 4x1o", "1x0e + 1x1o + 1x2e", "8x0e + 4x1o")
    features = torch.randn(6, 20, requires_grad=True)
    out = product(features, harmonics)
    tell("product", out)
    out.square().mean().backward()
    tell("gradient", features.grad)
    gate = Gate("8x0e", [torch.tanh], "4x0e", [torch.sigmoid], "4x1o")
    tell("gated", gate(torch.randn(6, gate.irreps_in.dim)))
    rotation = o3.rand_matrix()
    tell("turned", o3.Irreps("1x1o + 1x2e").D_from_matrix(rotation))
    tell("linear", o3.Linear("8x0e + 4x1o", "4x0e + 2x1o")(features))


main()
