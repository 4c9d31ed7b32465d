"""Lie groups of pypose: rotations and poses, their maps with gradients, a pose found by Levenberg-Marquardt."""
import pypose as pp
import torch
from report import tell


class Inverse(torch.nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self.pose = pp.Parameter(pp.randn_SE3(*shape))

    def forward(self, wanted):
        return (self.pose @ wanted).Log().tensor()


def main():
    torch.manual_seed(0)
    for name in ("SO3", "SE3", "Sim3", "RxSO3"):
        x = getattr(pp, f"randn_{name}")(3, requires_grad=True)
        value = (x.Log().tensor() ** 2).sum() + (x.Inv() @ x).Log().tensor().sum()
        value.backward()
        tell(name, value)
        tell("gradient", x.grad)
        tell("points", x.Act(torch.ones(3, 3)))
        tell("matrix", x.matrix())
        tell("type", type(x * x).__name__)
    algebra = pp.randn_so3(2, requires_grad=True)
    algebra.Exp().tensor().sum().backward()
    tell("algebra", algebra.grad)
    model = Inverse(2)
    wanted = pp.randn_SE3(2)
    optimizer = pp.optim.LM(model)
    for _ in range(3):
        tell("left", optimizer.step(wanted))


main()
