"""Tensor networks: tntorch's compressed tensors, torchTT's solvers and sums, layers of tednet."""
import tednet.tnn.tensor_ring as ring
import tednet.tnn.tucker2 as tucker
import tntorch as tn
import torch
import torchtt as tt
from report import tell


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    full = torch.sin(torch.arange(4 * 5 * 6).double()).reshape(4, 5, 6)
    t = tn.Tensor(full, ranks_tt=3)
    tell("tntorch", [tn.relative_error(full, t).item(), tn.mean(t).item(), tn.norm(t).item(), tn.var(t).item()])
    tell("tntorch.sum", (t + t * t)[1, 2:4].torch())
    learnt = tn.rand([4, 5, 6], ranks_tt=3, requires_grad=True)
    tn.optimize(learnt, lambda it: tn.relative_error(full, it), tol=1e-3, max_iter=30, verbose=False)
    tell("tntorch.fitted", tn.relative_error(full, learnt))
    tell("tntorch.sobol", tn.sobol(t, tn.only(tn.symbols(3)[0])))

    x = tt.TT(full, eps=1e-10)
    tell("torchtt", [x.norm().item(), (x + x).full().sum().item(), *x.R])
    tell("torchtt.rounded", (x * x).round(1e-4).full())
    tell("torchtt.product", tt.random([(3, 4), (2, 5)], [1, 2, 1], dtype=torch.float64).full().shape)
    a = tt.eye([4, 5, 6]) * 2.0
    tell("torchtt.solve", tt.solvers.amen_solve(a, x, eps=1e-8, verbose=False).full())
    torch.set_default_dtype(torch.float32)

    image = torch.randn(2, 1, 28, 28)
    for model in (ring.TRLeNet5(10, [6, 6, 6, 6]), tucker.TK2LeNet5(10, [2, 5, 2, 5])):
        torch.manual_seed(2)
        loss = torch.nn.functional.cross_entropy(model(image), torch.tensor([3, 7]))
        loss.backward()
        tell(type(model).__name__, [loss.item(), sum(p.grad.abs().sum().item() for p in model.parameters())])


main()
