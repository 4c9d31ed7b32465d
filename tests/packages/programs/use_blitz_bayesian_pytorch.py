"""A Bayesian network of blitz: losses with sampled weights, their divergence, training, frozen predictions."""
import torch
from blitz.modules import BayesianConv2d, BayesianLinear
from blitz.utils import variational_estimator
from report import tell
from torch import nn


@variational_estimator
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.one, self.two = BayesianConv2d(1, 3, (3, 3)), BayesianLinear(3 * 16, 8), BayesianLinear(8, 1)

    def forward(self, x):
        return self.two(self.one(self.conv(x).relu().flatten(1)).relu())


def main():
    torch.manual_seed(0)
    net, x = Net(), torch.randn(8, 1, 6, 6)
    y = x.mean((1, 2, 3))[:, None]
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(4):
        optimizer.zero_grad()
        # One sample at a time: blitz draws the next one into the memory that the last one is recorded with, and PyTorch
        # then gives the gradient of another function than the one that was computed.
        loss = net.sample_elbo(x, y, nn.MSELoss(), sample_nbr=1, complexity_cost_weight=1e-3)
        loss.backward()
        optimizer.step()
        tell("loss", loss)
    tell("gradient", net.one.weight_rho.grad)
    with torch.no_grad():
        tell("several samples", net.sample_elbo(x, y, nn.MSELoss(), sample_nbr=3, complexity_cost_weight=1e-3))
    tell("divergence", net.nn_kl_divergence())
    net.freeze_()
    tell("frozen", net(x))


main()
