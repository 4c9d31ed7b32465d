"""Normalizing flows: masked autoregressive and coupling spline transforms fitted to two moons."""
import torch
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import (
    MaskedAffineAutoregressiveTransform,
    MaskedPiecewiseRationalQuadraticAutoregressiveTransform,
)
from nflows.transforms.base import CompositeTransform
from nflows.transforms.permutations import ReversePermutation
from report import tell


def main():
    torch.manual_seed(0)
    angle = torch.rand(128) * 3.14159
    points = torch.stack([angle.cos(), angle.sin()], 1) + 0.1 * torch.randn(128, 2)
    for kind in (lambda: MaskedAffineAutoregressiveTransform(2, 8),
                 lambda: MaskedPiecewiseRationalQuadraticAutoregressiveTransform(2, 8, num_bins=4, tails="linear", tail_bound=3.0)):
        torch.manual_seed(1)
        flow = Flow(CompositeTransform([part for _ in range(2) for part in (ReversePermutation(2), kind())]), StandardNormal([2]))
        optimizer = torch.optim.Adam(flow.parameters(), 1e-2)
        for _ in range(5):
            loss = -flow.log_prob(points).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tell("loss", loss)
        with torch.no_grad():
            tell("drawn", flow.sample(5))
            tell("noise", flow.transform_to_noise(points[:5]))


main()
