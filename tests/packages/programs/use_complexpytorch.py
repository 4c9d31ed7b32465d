"""Complex layers of complexPyTorch: convolutions, batch normalisation, pooling, with gradients."""

import torch
from complexPyTorch.complexFunctions import complex_avg_pool2d, complex_max_pool2d, complex_relu
from complexPyTorch.complexLayers import (
    ComplexBatchNorm2d,
    ComplexConv2d,
    ComplexConvTranspose2d,
    ComplexLinear,
    NaiveComplexBatchNorm2d,
)
from report import tell


def main():
    torch.manual_seed(0)
    m = torch.nn.ModuleList([ComplexConv2d(1, 4, 3), ComplexBatchNorm2d(4), ComplexLinear(36, 3)])
    x = torch.randn(4, 1, 8, 8, dtype=torch.complex64)
    h = complex_max_pool2d(complex_relu(m[1](m[0](x))), 2, 2)
    tell("h", h)
    y = m[2](h.flatten(1))
    tell("y", y)
    y.abs().pow(2).sum().backward()
    tell("g", m[0].conv_r.weight.grad)
    tell("cov", m[1].running_covar)
    tell("naive", NaiveComplexBatchNorm2d(1)(x))
    tell("t", ComplexConvTranspose2d(1, 2, 3)(x))
    tell("avg", complex_avg_pool2d(x, 2))


main()
