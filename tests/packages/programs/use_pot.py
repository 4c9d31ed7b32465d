"""Optimal transport of POT on torch's tensors: exact, entropic, unbalanced and sliced, with gradients."""
import ot
import torch
from report import tell


def main():
    torch.manual_seed(0)
    x = torch.randn(8, 2, dtype=torch.float64, requires_grad=True)
    y = torch.randn(10, 2, dtype=torch.float64) + 1
    a, b = torch.full((8,), 1 / 8, dtype=torch.float64), torch.full((10,), 1 / 10, dtype=torch.float64)
    cost = ot.dist(x, y)
    for name, value in (("exact", ot.emd2(a, b, cost)), ("entropic", ot.sinkhorn2(a, b, cost, 0.5)), ("stable", ot.sinkhorn2(a, b, cost, 0.5, method="sinkhorn_log")),
                        ("unbalanced", ot.unbalanced.sinkhorn_unbalanced2(a, b, cost, 0.5, 1.0)), ("sliced", ot.sliced_wasserstein_distance(x, y, seed=0)),
                        ("gromov", ot.gromov.gromov_wasserstein2(ot.dist(x, x), ot.dist(y, y), a, b)), ("solve", ot.solve(cost, a, b, reg=0.3).value)):
        tell(name, value)
        tell("gradient", torch.autograd.grad(value.sum(), x, retain_graph=True)[0])
    tell("plan", ot.emd(a, b, cost.detach()))


main()
