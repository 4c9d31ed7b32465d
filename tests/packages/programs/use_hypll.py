"""Hyperbolic layers of hypll on the Poincaré ball: linear and convolution layers, trained by Riemannian descent."""
import torch
from hypll import nn as hnn
from hypll.manifolds.poincare_ball import Curvature, PoincareBall
from hypll.optim import RiemannianSGD
from hypll.tensors import TangentTensor
from report import tell


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    manifold = PoincareBall(c=Curvature(requires_grad=True))
    net = torch.nn.Sequential(hnn.HLinear(4, 8, manifold=manifold), hnn.HReLU(manifold=manifold), hnn.HLinear(8, 3, manifold=manifold))
    optimizer = RiemannianSGD(net.parameters(), lr=1e-2)
    x, y = torch.randn(16, 4), torch.randint(3, (16,))
    for _ in range(4):
        tangents = TangentTensor(data=x, man_dim=1, manifold=manifold)
        out = net(manifold.expmap(tangents))
        loss = torch.nn.functional.cross_entropy(out.tensor, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell("loss", loss)
    tell("weights", net[0].z.tensor if hasattr(net[0].z, "tensor") else net[0].z)
    picture = manifold.expmap(TangentTensor(data=torch.randn(2, 3, 8, 8) * 0.1, man_dim=1, manifold=manifold))
    conv = hnn.HConvolution2d(3, 4, 3, manifold=manifold)
    tell("convolution", conv(picture).tensor)


main()
