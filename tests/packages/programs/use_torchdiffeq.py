"""A neural differential equation: solvers of fixed and free step, gradients through the solver and by the adjoint."""
import torch
from report import tell
from torch import nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


def main():
    torch.manual_seed(0)
    start, times = torch.tensor([[2.0, 0.0]]), torch.linspace(0.0, 2.0, 12)
    true = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    with torch.no_grad():
        path = odeint(lambda t, y: (y**3) @ true, start, times, method="dopri5")
    tell("path", path)
    field = Field()
    optimizer = torch.optim.RMSprop(field.parameters(), 1e-3)
    for solve, method in ((odeint, "dopri5"), (odeint_adjoint, "dopri5"), (odeint, "rk4"), (odeint, "euler"), (odeint, "bosh3")):
        optimizer.zero_grad()
        loss = (solve(field, start, times, method=method) - path).abs().mean()
        loss.backward()
        optimizer.step()
        tell(f"{solve.__name__} {method}", loss)
        tell("gradient", field.net[0].weight.grad)
    when, state = odeint_event(lambda t, y: -torch.ones_like(y), torch.tensor([1.0]), torch.tensor(0.0), event_fn=lambda t, y: y.sum() - 0.25)
    tell("event", [when, state[-1]])


main()
