"""Invertible networks of FrEIA: coupling blocks of four kinds, permutations, a graph with conditions; trained by likelihood."""
import FrEIA.framework as Ff
import FrEIA.modules as Fm
import numpy as np
import torch
from report import tell
from torch import nn


def subnet(c_in, c_out):
    return nn.Sequential(nn.Linear(c_in, 16), nn.ReLU(), nn.Linear(16, c_out))


def main():
    torch.manual_seed(0)
    x = torch.randn(32, 4)
    x[:, 1] += x[:, 0].square()
    for block in (Fm.AllInOneBlock, Fm.RNVPCouplingBlock, Fm.GLOWCouplingBlock, Fm.NICECouplingBlock):
        torch.manual_seed(1)
        np.random.seed(1)            # it turns its channels by a matrix of SciPy
        flow = Ff.SequenceINN(4)
        for _ in range(2):
            flow.append(block, subnet_constructor=subnet, **({"permute_soft": True} if block is Fm.AllInOneBlock else {}))
        optimizer = torch.optim.Adam([p for p in flow.parameters() if p.requires_grad], 1e-2)
        for _ in range(3):
            z, log_det = flow(x)
            loss = (0.5 * z.square().sum(1) - log_det).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tell(block.__name__, loss)
        back, _ = flow(flow(x)[0], rev=True)
        tell("back", (back - x).abs().max() < 1e-3)
    condition = Ff.ConditionNode(2, name="c")
    nodes = [Ff.InputNode(4, name="in")]
    nodes.append(Ff.Node(nodes[-1], Fm.GLOWCouplingBlock, {"subnet_constructor": subnet}, conditions=condition, name="one"))
    nodes.append(Ff.Node(nodes[-1], Fm.PermuteRandom, {"seed": 1}, name="two"))
    graph = Ff.GraphINN([*nodes, condition, Ff.OutputNode(nodes[-1], name="out")], verbose=False)
    out, log_det = graph(x, c=[torch.ones(32, 2)])
    tell("graph", out)
    tell("volume", log_det)


main()
