"""Distances of point clouds: Sinkhorn's, energy and Gaussian, with gradients that move the points."""
import torch
from geomloss import SamplesLoss
from report import tell


def main():
    torch.manual_seed(0)
    x, y = torch.rand(40, 2, requires_grad=True), torch.rand(50, 2) * 0.5 + 0.5
    for kind in ("sinkhorn", "energy", "gaussian", "laplacian"):
        loss = SamplesLoss(kind, p=2 if kind == "sinkhorn" else 1, blur=0.1, backend="tensorized")(x, y)
        (gradient,) = torch.autograd.grad(loss, x)
        tell(kind, loss)
        tell("gradient", gradient)


main()
