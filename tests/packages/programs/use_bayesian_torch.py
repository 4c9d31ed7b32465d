"""Bayesian layers by reparameterization and flipout, and a network turned Bayesian, of bayesian-torch."""
import torch
from bayesian_torch.layers import Conv2dReparameterization, LinearFlipout, LinearReparameterization
from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss
from report import tell
from torch import nn


def main():
    torch.manual_seed(0)
    x = torch.randn(8, 6)
    for kind in (LinearReparameterization, LinearFlipout):
        layer = kind(6, 3)
        out, kl = layer(x)
        (out.square().mean() + kl).backward()
        tell(kind.__name__, out)
        tell("kl", kl)
        tell("gradient", layer.rho_weight.grad)
    out, kl = Conv2dReparameterization(1, 2, 3)(torch.randn(2, 1, 6, 6))
    tell("conv", out)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    dnn_to_bnn(net, {"prior_mu": 0.0, "prior_sigma": 1.0, "posterior_mu_init": 0.0, "posterior_rho_init": -3.0, "type": "Reparameterization",
                     "moped_enable": True, "moped_delta": 0.5})
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(3):
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean() + get_kl_loss(net) / 8
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell("loss", loss)


main()
