"""Integrals by torchquad: Monte Carlo, VEGAS, trapezoid, Simpson, Boole and Gauss rules, with gradients of the bounds."""
import torch
from report import tell
from torchquad import VEGAS, Boole, GaussLegendre, MonteCarlo, Simpson, Trapezoid, set_up_backend


def main():
    set_up_backend("torch", data_type="float64")
    torch.set_default_device("cpu")

    def bell(x):
        return torch.exp(-(x ** 2).sum(1)) * (1 + x[:, 0])

    for rule, n in ((Trapezoid, 121), (Simpson, 121), (Boole, 81), (GaussLegendre, 121), (MonteCarlo, 1000), (VEGAS, 2000)):
        torch.manual_seed(0)
        options = {"seed": 0} if rule in (MonteCarlo, VEGAS) else {}
        domain = torch.tensor([[0.0, 1.0], [-1.0, 2.0]], dtype=torch.float64, requires_grad=rule is not VEGAS)
        value = rule().integrate(bell, dim=2, N=n, integration_domain=domain, backend="torch", **options)
        tell(rule.__name__, value)
        if rule is not VEGAS:
            value.backward()
            tell("slope", domain.grad)


main()
