"""A GAN of torchgan: the networks of DCGAN, a loss, attention, spectral norms and discrimination by batches."""

import torch
from report import tell
from torchgan.layers import MinibatchDiscrimination1d, SelfAttention2d, SpectralNorm2d
from torchgan.losses import (
    MinimaxGeneratorLoss,
)
from torchgan.models import DCGANDiscriminator, DCGANGenerator


def main():
    torch.manual_seed(0)
    g, d = DCGANGenerator(8, 16, 1, 4).double(), DCGANDiscriminator(16, 1, 4).double()
    z = torch.randn(4, 8, dtype=torch.float64)
    f = g(z)
    tell("f", f)
    s = d(f)
    tell("s", s)
    loss = MinimaxGeneratorLoss()(s)
    loss.backward()
    tell("loss", loss)
    tell("att", SelfAttention2d(8).double()(torch.randn(2, 8, 4, 4, dtype=torch.float64))[0])
    tell("sn", SpectralNorm2d(torch.nn.Conv2d(1, 2, 3))(torch.randn(1, 1, 5, 5)))
    tell("mb", MinibatchDiscrimination1d(4, 3)(torch.randn(5, 4)))


main()
