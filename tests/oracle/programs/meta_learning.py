"""Learning to learn: gradients through steps of gradient descent; functions with derivatives of their own."""

import copy
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(OrderedDict([("l1", nn.Linear(1, 20)), ("act", nn.Tanh()), ("l2", nn.Linear(20, 1))]))
meta = torch.optim.Adam(net.parameters(), lr=0.01)


def task():
    a, p = (torch.rand(1) * 4 + 0.1, torch.rand(1) * 3.14)
    x = torch.rand(10, 1) * 10 - 5
    return (x, a * torch.sin(x + p))


for it in range(15):
    total = 0.0
    for _ in range(3):
        x, y = task()
        params = OrderedDict(net.named_parameters())
        for _ in range(2):
            loss = F.mse_loss(functional_call(net, params, (x,)), y)
            grads = torch.autograd.grad(loss, params.values(), create_graph=True)
            params = OrderedDict(((n, p - 0.01 * g) for (n, p), g in zip(params.items(), grads)))
        total = total + F.mse_loss(functional_call(net, params, (x,)), y)
    meta.zero_grad()
    total.backward()
    meta.step()
    print(it, total.item())


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        r = i.exp()
        ctx.save_for_backward(r)
        return r

    @staticmethod
    def backward(ctx, g):
        (r,) = ctx.saved_tensors
        return g * r


x = torch.randn(4, dtype=torch.double, requires_grad=True)
print(torch.autograd.gradcheck(Exp.apply, x), torch.autograd.gradgradcheck(Exp.apply, x))


class STE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, g):
        return g.clone()


lin = nn.Linear(4, 3)
o = torch.optim.SGD(lin.parameters(), lr=0.1)
for _i in range(5):
    out = STE.apply(lin(torch.randn(8, 4)))
    loss = (out - 0.5).pow(2).mean()
    o.zero_grad()
    loss.backward()
    o.step()
    print("ste", loss.item(), lin.weight.grad.norm().item())
m2 = copy.deepcopy(net)
print(torch.equal(m2.l1.weight, net.l1.weight), m2.l1.weight is net.l1.weight)
hv = torch.autograd.functional.hvp(lambda w: (w**3).sum(), torch.arange(3.0), torch.ones(3))
print(hv)
vj = torch.autograd.functional.vjp(lambda w: w**2, torch.arange(3.0), torch.ones(3))
print(vj)
