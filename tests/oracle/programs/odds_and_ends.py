"""Contrastive learning, graphs, distillation, pruning, parametrizations, hooks, CTC, a neural ODE."""

import itertools

import numpy as np
import torch
import torch.nn.functional as F
import torch.nn.utils.parametrize as parametrize
import torch.nn.utils.prune as prune
from torch import nn
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm

torch.manual_seed(6)
enc = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
opt = torch.optim.SGD(enc.parameters(), lr=0.05, momentum=0.9, weight_decay=0.0001)
for _i in range(5):
    x = torch.randn(16, 8)
    z = F.normalize(torch.cat([enc(x + 0.1 * torch.randn_like(x)), enc(x + 0.1 * torch.randn_like(x))]), dim=1)
    sim = z @ z.T / 0.5
    sim.fill_diagonal_(float("-inf")) if not sim.requires_grad else None
    sim = sim.masked_fill(torch.eye(32, dtype=torch.bool), float("-inf"))
    tgt = torch.arange(32).roll(16)
    loss = F.cross_entropy(sim, tgt)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("simclr", loss.item())
N = 10
ei = torch.randint(0, N, (2, 40))
deg = torch.zeros(N).scatter_add_(0, ei[1], torch.ones(40)).clamp(min=1)


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = (nn.Linear(5, 8), nn.Linear(8, 3))

    def prop(self, h):
        return torch.zeros(N, h.shape[1]).index_add_(0, ei[1], h[ei[0]]) / deg[:, None]

    def forward(self, x):
        return self.prop(self.b(F.dropout(F.elu(self.prop(self.a(x))), 0.3, self.training)))


g = GCN()
opt = torch.optim.Adagrad(g.parameters(), lr=0.1)
X, Y = (torch.randn(N, 5), torch.randint(0, 3, (N,)))
for _i in range(5):
    loss = F.nll_loss(g(X).log_softmax(-1)[:6], Y[:6])
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("gcn", loss.item())
t, s = (nn.Linear(6, 4), nn.Linear(6, 4))
opt = torch.optim.NAdam(s.parameters(), lr=0.01)
crit = nn.KLDivLoss(reduction="batchmean", log_target=True)
for _i in range(5):
    x, y = (torch.randn(12, 6), torch.randint(0, 4, (12,)))
    lam = torch.distributions.Beta(0.4, 0.4).sample().item()
    p = torch.randperm(12)
    xm = lam * x + (1 - lam) * x[p]
    o = s(xm)
    with torch.no_grad():
        to = t(xm)
    loss = (
        lam * F.cross_entropy(o, y)
        + (1 - lam) * F.cross_entropy(o, y[p])
        + crit(F.log_softmax(o / 2, 1), F.log_softmax(to / 2, 1)) * 4
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("distil", loss.item(), lam)
m = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 2))
prune.l1_unstructured(m[0], "weight", 0.4)
prune.ln_structured(m[2], "weight", 0.3, n=2, dim=1)
prune.global_unstructured([(m[0], "bias"), (m[2], "bias")], prune.L1Unstructured, amount=0.25)
opt = torch.optim.Adamax(m.parameters(), lr=0.01)
for _i in range(4):
    loss = m(torch.randn(8, 6)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("prune", loss.item(), [(n, int((p == 0).sum())) for n, p in m.named_buffers()])
prune.remove(m[0], "weight")
print((m[0].weight == 0).float().mean().item(), list(m.state_dict()))


class Sym(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)


symmetric = nn.Linear(4, 4)
parametrize.register_parametrization(symmetric, "weight", Sym())
o = orthogonal(nn.Linear(4, 4))
sn = spectral_norm(nn.Conv2d(2, 3, 3))
wn = weight_norm(nn.Linear(4, 2))
opt = torch.optim.RAdam([*symmetric.parameters(), *o.parameters(), *sn.parameters(), *wn.parameters()], lr=0.01)
for _i in range(4):
    loss = wn(o(symmetric(torch.randn(5, 4)))).pow(2).mean() + sn(torch.randn(1, 2, 5, 5)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("param", loss.item())
print(torch.allclose(symmetric.weight, symmetric.weight.T), torch.dist(o.weight @ o.weight.T, torch.eye(4)).item() < 1e-5)
print(symmetric)
feats = {}
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
h1 = net[1].register_forward_hook(lambda mod, i, o: feats.__setitem__("r", o.detach()))
h2 = net[2].register_full_backward_hook(lambda mod, gi, go: (gi[0] * 0.5,))
x = torch.randn(3, 4, requires_grad=True)
x.register_hook(lambda g: g * 2)
net(x).sum().backward()
print(feats["r"].sum().item(), x.grad.sum().item(), net[0].weight.grad.sum().item())
h1.remove()
h2.remove()
for p in net[0].parameters():
    p.requires_grad = False
print([n for n, p in net.named_parameters() if p.requires_grad], sum(p.numel() for p in net.parameters()))
net[2] = nn.Identity()
net.add_module("new", nn.Linear(4, 1))
del net[1]
print(net)
lg = torch.randn(5, 3, requires_grad=True)
y = F.gumbel_softmax(lg, tau=0.7, hard=True)
(y * torch.arange(3.0)).sum().backward()
print(y.sum(1).tolist(), lg.grad.abs().sum().item())
mu, rho = (nn.Parameter(torch.zeros(3)), nn.Parameter(torch.full((3,), -1.0)))
opt = torch.optim.Rprop([mu, rho], lr=0.01)
for _i in range(4):
    q = torch.distributions.Normal(mu, F.softplus(rho))
    w = q.rsample()
    loss = torch.distributions.kl_divergence(
        q, torch.distributions.Normal(0.0, 1.0)
    ).sum() - torch.distributions.Normal(w.sum(), 0.5).log_prob(torch.tensor(1.3))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("bbb", loss.item())
ctc = nn.CTCLoss(blank=0, zero_infinity=True)
am = nn.GRU(5, 6, bidirectional=True)
hd = nn.Linear(12, 6)
opt = torch.optim.ASGD([*am.parameters(), *hd.parameters()], lr=0.1)
for _i in range(4):
    x = torch.randn(12, 3, 5)
    lp = hd(am(x)[0]).log_softmax(2)
    tg = torch.randint(1, 6, (3, 4))
    loss = ctc(lp, tg, torch.tensor([12, 10, 9]), torch.tensor([4, 3, 2]))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("ctc", loss.item())
out = torch.randn(20, 6)
tt = torch.randint(0, 6, (20,))
_, pred = out.topk(3, 1, True, True)
corr = pred.t().eq(tt.view(1, -1).expand_as(pred.t()))
print(
    [corr[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100 / 20).item() for k in (1, 3)],
    np.asarray(out.detach()).mean().round(5),
    torch.from_numpy(np.arange(3.0)).dtype,
)
f = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adadelta(f.parameters())
y0 = torch.tensor([[2.0, 0.0]])
A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
ts = torch.linspace(0, 1, 11)
tr = torch.stack([y0 @ torch.matrix_exp(A * t) for t in ts])
for _i in range(4):
    y, ys = (y0, [y0])
    for t0, t1 in itertools.pairwise(ts):
        h = t1 - t0
        k1 = f(y**3)
        k2 = f((y + h * k1 / 2) ** 3)
        k3 = f((y + h * k2 / 2) ** 3)
        k4 = f((y + h * k3) ** 3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        ys.append(y)
    loss = (torch.stack(ys) - tr).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("ode", loss.item())
