"""Paths and solvers of flow matching, its likelihoods and discrete paths; autoregressive bijectors of flowtorch."""
import flowtorch.bijectors as bij
import flowtorch.distributions as dist
import flowtorch.parameters as params
import torch
from flow_matching.path import AffineProbPath, MixtureDiscreteProbPath
from flow_matching.path.scheduler import CondOTScheduler, PolynomialConvexScheduler
from flow_matching.solver import ODESolver
from flow_matching.utils import ModelWrapper
from report import tell
from torch import nn


class Velocity(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.SiLU(), nn.Linear(16, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, t.reshape(-1, 1).expand(len(x), 1)], -1))


class Wrapped(ModelWrapper):
    def forward(self, x, t, **extras):
        return self.model(x, t)


def main():
    torch.manual_seed(0)
    model = Velocity()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    path = AffineProbPath(scheduler=CondOTScheduler())
    for _ in range(4):
        x1 = torch.randn(16, 2) * 0.5 + 2
        sample = path.sample(t=torch.rand(16), x_0=torch.randn(16, 2), x_1=x1)
        loss = (model(sample.x_t, sample.t) - sample.dx_t).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell("flow matching", loss)
    solver = ODESolver(velocity_model=Wrapped(model))
    start = torch.randn(5, 2)
    tell("sampled", solver.sample(x_init=start, method="midpoint", step_size=0.1))
    _, log_p = solver.compute_likelihood(x_1=start, method="euler", step_size=0.25, exact_divergence=True,
                                         log_p0=lambda z: -z.pow(2).sum(-1) / 2)
    tell("likelihood", log_p)
    discrete = MixtureDiscreteProbPath(scheduler=PolynomialConvexScheduler(n=2.0))
    tell("discrete", discrete.sample(t=torch.rand(4), x_0=torch.zeros(4, 6, dtype=torch.long), x_1=torch.randint(1, 9, (4, 6))).x_t)
    flow = dist.Flow(torch.distributions.Independent(torch.distributions.Normal(torch.zeros(2), torch.ones(2)), 1),
                     bij.AffineAutoregressive(params_fn=params.DenseAutoregressive(hidden_dims=[8])))
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        loss = -flow.log_prob(torch.randn(32, 2) * 2 + 1).mean()
        loss.backward()
        optimizer.step()
        tell("bijectors", loss)


main()
