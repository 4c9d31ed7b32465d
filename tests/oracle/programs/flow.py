"""A normalizing flow of coupling layers, as a transform of a distribution; other transforms and divergences."""

import torch
import torch.distributions as D
from torch import nn
from torch.distributions import constraints
from torch.distributions import transforms as T

torch.manual_seed(1)


class Coupling(T.Transform):
    domain = constraints.real_vector
    codomain = constraints.real_vector
    bijective = True

    def __init__(self, net, flip):
        super().__init__(cache_size=1)
        self.net, self.flip = (net, flip)

    def _split(self, x):
        a, b = x.chunk(2, -1)
        return (b, a) if self.flip else (a, b)

    def _join(self, a, b):
        return torch.cat((b, a) if self.flip else (a, b), -1)

    def _call(self, x):
        a, b = self._split(x)
        s, t = self.net(a).chunk(2, -1)
        s = torch.tanh(s)
        self._s = s
        return self._join(a, b * s.exp() + t)

    def _inverse(self, y):
        a, b = self._split(y)
        s, t = self.net(a).chunk(2, -1)
        s = torch.tanh(s)
        self._s = s
        return self._join(a, (b - t) * (-s).exp())

    def log_abs_det_jacobian(self, x, y):
        a, _ = self._split(x)
        s, _ = self.net(a).chunk(2, -1)
        return torch.tanh(s).sum(-1)


nets = nn.ModuleList([nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2)) for _ in range(4)])
base = D.Independent(D.Normal(torch.zeros(2), torch.ones(2)), 1)
trs = []
for i, n in enumerate(nets):
    trs += [Coupling(n, i % 2), T.AffineTransform(torch.zeros(2), torch.ones(2) * 1.1, event_dim=1)]
flow = D.TransformedDistribution(base, trs)
opt = torch.optim.Adam(nets.parameters(), lr=0.005)
theta = torch.rand(512) * 3.14159
x = torch.stack([torch.cos(theta), torch.sin(theta)], 1) + 0.1 * torch.randn(512, 2)
for step in range(60):
    idx = torch.randint(0, 512, (64,))
    loss = -flow.log_prob(x[idx]).mean()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if step % 5 == 0:
        print(step, loss.item())
s = flow.sample((5,))
print(s)
print(flow.rsample((3,)).requires_grad)
q = D.TransformedDistribution(
    D.Normal(torch.tensor(0.3), torch.tensor(0.5)),
    [T.SigmoidTransform(), T.AffineTransform(0.1, 2.0), T.PowerTransform(torch.tensor(2.0))],
)
v = q.rsample((4,))
print(q.log_prob(v), q.icdf(torch.tensor(0.3)), q.cdf(v))
print(
    D.kl_divergence(D.Gamma(torch.tensor(2.0), torch.tensor(3.0)), D.Exponential(torch.tensor(1.5))),
    D.kl_divergence(
        D.MultivariateNormal(torch.zeros(2), torch.eye(2)), D.MultivariateNormal(torch.ones(2), 2 * torch.eye(2))
    ),
)
print(
    T.ComposeTransform([T.ExpTransform(), T.AffineTransform(1.0, 2.0)]).inv(torch.tensor([3.0, 5.0])),
    T.StickBreakingTransform()(torch.randn(3)),
    T.CorrCholeskyTransform()(torch.randn(3)),
)
print(
    D.biject_to(D.Beta(1.0, 1.0).support)(torch.tensor(0.4)),
    D.transform_to(constraints.lower_cholesky)(torch.randn(2, 2)),
)
