"""Quadratic programs as a layer, of qpth, and sorting networks with gradients, of diffsort."""
import torch
from diffsort import DiffSortNet
from qpth.qp import QPFunction
from report import tell


def main():
    torch.manual_seed(0)
    root = torch.randn(2, 4, 4, dtype=torch.float64, requires_grad=True)
    linear = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    bounded, bounds = torch.randn(2, 6, 4, dtype=torch.float64), torch.ones(2, 6, dtype=torch.float64)
    equal, to = torch.randn(2, 1, 4, dtype=torch.float64), torch.zeros(2, 1, dtype=torch.float64)
    quadratic = root @ root.mT + 0.1 * torch.eye(4, dtype=torch.float64)
    solution = QPFunction(verbose=-1)(quadratic, linear, bounded, bounds, equal, to)
    tell("solution", solution)
    solution.pow(2).sum().backward()
    tell("root", root.grad)
    tell("linear", linear.grad)
    for kind in ("bitonic", "odd_even"):
        for distribution in ("logistic_phi", "cauchy", "optimal", "logistic", "gaussian", "reciprocal"):
            x = torch.randn(3, 8, requires_grad=True)
            ordered, permutation = DiffSortNet(kind, 8, steepness=5, distribution=distribution)(x)
            (ordered * torch.arange(8.0)).sum().backward()
            tell(f"{kind} {distribution}", ordered)
            tell("permutation", permutation)
            tell("gradient", x.grad)


main()
