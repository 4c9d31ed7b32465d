"""Neural differential equations of torchdyn: fixed and adaptive solvers, the adjoint, trained a little."""
import torch
from report import tell
from torchdyn.core import NeuralODE
from torchdyn.numerics import odeint


def main():
    torch.manual_seed(0)
    x = torch.randn(16, 2)
    for sensitivity, solver in (("autograd", "rk4"), ("adjoint", "dopri5"), ("autograd", "tsit5")):
        torch.manual_seed(1)
        field = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
        model = NeuralODE(field, sensitivity=sensitivity, solver=solver, atol=1e-4, rtol=1e-4)
        optimizer = torch.optim.Adam(field.parameters(), 1e-2)
        for _ in range(2):
            _, path = model(x, torch.linspace(0, 1, 5))
            loss = (path[-1] - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tell(f"{sensitivity} {solver}", loss)
    times, path = odeint(lambda t, y: -y, x, torch.linspace(0, 1, 3), solver="euler")
    tell("euler", path)


main()
