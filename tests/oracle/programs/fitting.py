"""A damped oscillation fitted by LBFGS, its Hessian, and the heat equation solved by a network."""

import torch

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
t = torch.linspace(0, 5, 80)
true = torch.tensor([1.3, 0.4, 2.1, 0.3])
y = true[0] * torch.exp(-true[1] * t) * torch.cos(true[2] * t + true[3]) + 0.02 * torch.randn(80)
p = torch.nn.Parameter(torch.tensor([1.0, 0.2, 1.8, 0.0]))
opt = torch.optim.LBFGS([p], lr=1, max_iter=20, history_size=10, line_search_fn="strong_wolfe", tolerance_grad=1e-09)


def closure():
    if torch.is_grad_enabled():
        opt.zero_grad()
    loss = ((p[0] * torch.exp(-p[1] * t) * torch.cos(p[2] * t + p[3]) - y) ** 2).mean()
    if loss.requires_grad:
        loss.backward()
    return loss


for i in range(8):
    print(i, opt.step(closure).item())
print(p.tolist())
H = torch.autograd.functional.hessian(
    lambda q: ((q[0] * torch.exp(-q[1] * t) * torch.cos(q[2] * t + q[3]) - y) ** 2).mean(), p.detach()
)
print(torch.linalg.eigvalsh(H).tolist())
J = torch.autograd.functional.jacobian(lambda q: q[0] * torch.exp(-q[1] * t), p.detach())
print(J.sum().item())
net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
o = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=5)
X = torch.rand(40, 2, requires_grad=True)


def c2():
    o.zero_grad()
    u = net(X)
    (g,) = torch.autograd.grad(u, X, torch.ones_like(u), create_graph=True)
    ux, ut = (g[:, :1], g[:, 1:])
    uxx = torch.autograd.grad(ux, X, torch.ones_like(ux), create_graph=True)[0][:, :1]
    loss = (ut - 0.1 * uxx).pow(2).mean() + (
        net(torch.cat([X[:, :1], torch.zeros(40, 1)], 1)) - torch.sin(3.14159 * X[:, :1])
    ).pow(2).mean()
    loss.backward()
    return loss


for _ in range(6):
    print("pinn", o.step(c2).item())
