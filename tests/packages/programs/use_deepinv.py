"""Inverse problems of deepinv: blur and inpainting operators, their adjoints, a total-variation denoiser, gradient steps."""
import deepinv
import torch
from report import tell


def main():
    torch.manual_seed(0)
    x = torch.rand(1, 1, 16, 16)
    kernel = deepinv.physics.blur.gaussian_blur(sigma=(1.0, 1.0))
    blur = deepinv.physics.Blur(filter=kernel, padding="circular")
    y = blur(x)
    tell("blurred", y)
    tell("adjoint", blur.A_adjoint(y))
    mask = (torch.rand(1, 16, 16) > 0.3).float()
    holes = deepinv.physics.Inpainting((1, 16, 16), mask=mask)
    tell("holes", holes(x))
    tell("pseudo-inverse", holes.A_dagger(holes(x)))
    tell("variation", deepinv.models.TVDenoiser(n_it_max=20)(x, 0.1))
    fidelity = deepinv.optim.L2()
    found = y.clone()
    for _ in range(5):
        found = found - fidelity.grad(found, y, blur)
    tell("restored", found)
    tell("psnr", deepinv.metric.PSNR()(found, x))


main()
