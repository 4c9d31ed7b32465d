"""Functions with gradients of their own, hooks on tensors and modules, second derivatives, Jacobians, parametrized weights."""
import torch
import torch.nn as nn
import torch.nn.utils.parametrize as parametrize
from torch.autograd import Function, gradcheck


class LegendrePolynomial3(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


class Quantize(Function):
    """Rounds forward and lets the gradient through."""

    @staticmethod
    def forward(ctx, x, levels):
        ctx.mark_non_differentiable(index := (x * levels).round())
        return index / levels, index

    @staticmethod
    def backward(ctx, grad, _):
        return grad, None


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)


torch.manual_seed(0)
a, b, c, d = (torch.full((), v, dtype=torch.float64, requires_grad=True) for v in (0.0, -1.0, 0.0, 0.3))
x = torch.linspace(-3.14159, 3.14159, 200, dtype=torch.float64)
y = torch.sin(x)
P3 = LegendrePolynomial3.apply
for t in range(200):
    loss = (a + b * P3(c + d * x) - y).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= 5e-6 * p.grad
            p.grad = None
print(f"Result: y = {a.item():.6f} + {b.item():.6f} * P3({c.item():.6f} + {d.item():.6f} x), loss {loss.item():.5f}")
print("gradcheck", gradcheck(P3, (torch.randn(4, dtype=torch.float64, requires_grad=True),)))

w = torch.randn(5, requires_grad=True)
q, index = Quantize.apply(w, 4)
(q * torch.arange(5.0)).sum().backward()
print(index, w.grad, index.requires_grad)

net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
seen = []
handles = [net[0].register_forward_hook(lambda m, args, out: seen.append(("forward", tuple(out.shape)))),
           net[2].register_full_backward_hook(lambda m, gin, gout: seen.append(("backward", round(gout[0].sum().item(), 5)))),
           net[1].register_forward_pre_hook(lambda m, args: (args[0] * 2,)),
           net[0].weight.register_hook(lambda g: g.clamp(-0.1, 0.1))]
z = torch.randn(6, 3, requires_grad=True)
z.register_hook(lambda g: seen.append(("input", round(g.norm().item(), 5))))
net(z).pow(2).mean().backward()
print(seen, net[0].weight.grad.abs().max().item())
for handle in handles:
    handle.remove()

(first,) = torch.autograd.grad(net(z).sin().sum(), z, create_graph=True)
(second,) = torch.autograd.grad(first.pow(2).sum(), z)
print(second[0])
print(torch.autograd.functional.jacobian(lambda v: net(v), torch.ones(3)))
print(torch.autograd.functional.hessian(lambda v: net(v).pow(2).sum(), torch.ones(3)))

layer = nn.Linear(3, 3, bias=False)
parametrize.register_parametrization(layer, "weight", Symmetric())
print(torch.equal(layer.weight, layer.weight.T), layer(torch.ones(3)))
with torch.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
    out = (w * w.detach().exp()).sum()
out.backward()
print(w.grad)
