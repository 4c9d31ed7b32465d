"""Neural controlled differential equations: splines through data, a solver driven by them, gradients."""
import torch
import torchcde
from report import tell


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4 * 3)

    def forward(self, t, z):
        return self.linear(z).tanh().view(-1, 4, 3)


def main():
    torch.manual_seed(0)
    x = torch.randn(5, 10, 3).cumsum(1)
    x[:, 3, 1] = float("nan")
    for name, coefficients in (("linear", torchcde.linear_interpolation_coeffs(x)),
                               ("hermite", torchcde.hermite_cubic_coefficients_with_backward_differences(x)),
                               ("natural", torchcde.natural_cubic_coeffs(x))):
        tell(name, coefficients)
        path = torchcde.LinearInterpolation(coefficients) if name == "linear" else torchcde.CubicSpline(coefficients)
        tell("value", path.evaluate(torch.tensor(2.5)))
        tell("slope", path.derivative(torch.tensor(2.5)))
    field = Field()
    first = torch.nn.Linear(3, 4)
    last = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*field.parameters(), *first.parameters(), *last.parameters()], 1e-2)
    path = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(x))
    for adjoint in (False, True):
        for _ in range(2):
            z0 = first(path.evaluate(path.interval[0]))
            z = torchcde.cdeint(X=path, z0=z0, func=field, t=path.interval, adjoint=adjoint, method="rk4", options={"step_size": 0.5})
            loss = (last(z[:, -1]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tell("loss", loss)
            tell("gradient", field.linear.weight.grad)


main()
