"""Bodies: smplx's skinning of joints and rotations."""

import torch
from report import tell
from smplx.lbs import batch_rodrigues, lbs


def main():
    torch.manual_seed(0)
    v, j = 20, 5
    pose = torch.randn(2, j * 3, requires_grad=True)
    o, jt = lbs(
        torch.randn(2, 4),
        pose,
        torch.randn(v, 3),
        torch.randn(v, 3, 4),
        torch.randn((j - 1) * 9, v * 3),
        torch.rand(j, v),
        torch.tensor([-1, 0, 1, 1, 0]),
        torch.rand(v, j).softmax(-1),
    )
    tell("o", o)
    tell("j", jt)
    o.pow(2).sum().backward()
    tell("g", pose.grad)
    tell("r", batch_rodrigues(torch.randn(4, 3)))


main()
