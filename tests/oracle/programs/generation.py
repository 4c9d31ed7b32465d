"""A VQ-VAE with a codebook of moving averages, and a diffusion model of points in the plane."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(3)


class VQ(nn.Module):
    def __init__(self, n, d, decay=0.9):
        super().__init__()
        self.emb = nn.Embedding(n, d)
        self.emb.weight.data.uniform_(-1 / n, 1 / n)
        self.register_buffer("ema_cluster_size", torch.zeros(n))
        self.ema_w = nn.Parameter(self.emb.weight.data.clone(), requires_grad=False)
        self.decay = decay
        self.emb.weight.requires_grad_(False)

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        d = flat.pow(2).sum(1, keepdim=True) + self.emb.weight.pow(2).sum(1) - 2 * flat @ self.emb.weight.t()
        idx = d.argmin(1)
        enc = F.one_hot(idx, self.emb.num_embeddings).type(flat.dtype)
        q = self.emb(idx).view_as(x)
        if self.training:
            with torch.no_grad():
                self.ema_cluster_size.mul_(self.decay).add_(enc.sum(0), alpha=1 - self.decay)
                n = self.ema_cluster_size.sum()
                cs = (self.ema_cluster_size + 1e-05) / (n + self.emb.num_embeddings * 1e-05) * n
                self.ema_w.mul_(self.decay).add_(enc.t() @ flat, alpha=1 - self.decay)
                self.emb.weight.copy_(self.ema_w / cs.unsqueeze(1))
        loss = 0.25 * F.mse_loss(q.detach(), x)
        q = x + (q - x).detach()
        p = enc.mean(0)
        return (q, loss, torch.exp(-(p * (p + 1e-10).log()).sum()))


enc, dec, vq = (nn.Linear(6, 4), nn.Linear(4, 6), VQ(8, 4))
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=0.01)
X = torch.randn(64, 6)
for i in range(10):
    q, vl, perp = vq(enc(X))
    loss = F.mse_loss(dec(q), X) + vl
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item(), perp.item())
print(list(vq.state_dict()), [n for n, p in vq.named_parameters() if p.requires_grad])
T = 50
betas = torch.linspace(0.0001, 0.02, T)
ab = torch.cumprod(1 - betas, 0)


class Sin(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d

    def forward(self, t):
        f = torch.exp(torch.arange(self.d // 2) * (-math.log(10000) / (self.d // 2 - 1)))
        e = t[:, None].float() * f[None]
        return torch.cat((e.sin(), e.cos()), -1)


class Eps(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Sequential(Sin(16), nn.Linear(16, 32), nn.SiLU())
        self.i = nn.Linear(2, 32)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 32), nn.GELU(approximate="tanh")) for _ in range(2)
        )
        self.o = nn.Linear(32, 2)

    def forward(self, x, t):
        h = self.i(x) + self.t(t)
        for b in self.blocks:
            h = h + b(h)
        return self.o(h)


net = Eps()
ema = copy.deepcopy(net).requires_grad_(False)
opt = torch.optim.AdamW(net.parameters(), lr=0.002)
data = torch.randn(128, 2) * 0.2 + torch.tensor([1.0, -1.0])
for i in range(30):
    t = torch.randint(0, T, (32,))
    x0 = data[torch.randint(0, 128, (32,))]
    n = torch.randn_like(x0)
    xt = ab[t].sqrt()[:, None] * x0 + (1 - ab[t]).sqrt()[:, None] * n
    loss = F.smooth_l1_loss(net(xt, t), n)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for e, p in zip(ema.parameters(), net.parameters()):
            e.lerp_(p, 0.05)
    if i % 5 == 0:
        print("ddpm", i, loss.item())
x = torch.randn(4, 2)
with torch.no_grad():
    for t in reversed(range(T)):
        e = ema(x, torch.full((4,), t))
        a = 1 - betas[t]
        x = (x - betas[t] / (1 - ab[t]).sqrt() * e) / a.sqrt()
        if t:
            x += betas[t].sqrt() * torch.randn_like(x)
print(x)
