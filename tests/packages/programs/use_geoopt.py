"""Riemannian optimization: geoopt's manifolds, their maps, and optimizers that stay on them."""
import geoopt
import torch
from report import tell


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    for manifold, shape in ((geoopt.PoincareBall(), (4, 3)), (geoopt.Sphere(), (4, 3)), (geoopt.Stiefel(), (4, 3)),
                            (geoopt.SymmetricPositiveDefinite(), (3, 3)), (geoopt.Euclidean(1), (4, 3))):
        torch.manual_seed(1)
        with torch.no_grad():
            start = manifold.random(*shape)
        target = manifold.projx(torch.rand(*shape) + start.detach() * 0.5)
        for kind in (geoopt.optim.RiemannianSGD, geoopt.optim.RiemannianAdam):
            point = geoopt.ManifoldParameter(start.clone(), manifold=manifold)
            optimizer = kind([point], lr=1e-2)
            for _ in range(3):
                optimizer.zero_grad()
                loss = (point - target).pow(2).sum()
                loss.backward()
                optimizer.step()
            tell(f"{manifold.name} {kind.__name__}", loss)
            tell("point", point)
        tell("kept", bool(manifold.check_point_on_manifold(point)))
    tell("type", type(point).__name__)


main()
