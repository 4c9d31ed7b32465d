"""Proximal policy optimisation over actions of two kinds at once."""

import torch
import torch.nn as nn
from torch.distributions import Categorical, Independent, Normal, kl_divergence

torch.manual_seed(2)


class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.Tanh())
        self.mu = nn.Linear(32, 2)
        self.log_std = nn.Parameter(torch.zeros(2) - 0.5)
        self.v = nn.Linear(32, 1)
        self.pi = nn.Linear(32, 4)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.orthogonal_(m.weight, gain=2**0.5)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        h = self.body(x)
        return (
            Independent(Normal(self.mu(h), self.log_std.exp()), 1),
            Categorical(logits=self.pi(h)),
            self.v(h).squeeze(-1),
        )


ac = AC()
opt = torch.optim.Adam(ac.parameters(), lr=0.0003, eps=1e-05)
obs = torch.randn(64, 3)
for ep in range(8):
    with torch.no_grad():
        d, c, v = ac(obs)
        a, k = (d.sample(), c.sample())
        old = d.log_prob(a) + c.log_prob(k)
        r = -(a**2).sum(-1) + (k == 1).float()
        adv = torch.zeros_like(r)
        last = 0.0
        for t in reversed(range(64)):
            nv = v[t + 1] if t < 63 else torch.tensor(0.0)
            delta = r[t] + 0.99 * nv - v[t]
            last = delta + 0.99 * 0.95 * last
            adv[t] = last
        ret = adv + v
    for mb in torch.randperm(64).chunk(4):
        d2, c2, v2 = ac(obs[mb])
        ratio = (d2.log_prob(a[mb]) + c2.log_prob(k[mb]) - old[mb]).exp()
        A = (adv[mb] - adv[mb].mean()) / (adv[mb].std() + 1e-08)
        pl = -torch.min(ratio * A, ratio.clamp(0.8, 1.2) * A).mean()
        vl = 0.5 * (ret[mb] - v2).pow(2).mean()
        ent = (d2.entropy() + c2.entropy()).mean()
        loss = pl + 0.5 * vl - 0.01 * ent
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(ac.parameters(), 0.5)
        opt.step()
    kl = kl_divergence(d2, Independent(Normal(d.base_dist.loc[mb], d.base_dist.scale[mb]), 1)).mean()
    print(ep, loss.item(), pl.item(), vl.item(), ent.item(), kl.item(), ratio.max().item())
