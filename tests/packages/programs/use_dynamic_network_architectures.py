"""U-Nets of nnU-Net: plain and residual, in two and three dimensions, with deep supervision."""

import torch
from dynamic_network_architectures.architectures.unet import PlainConvUNet, ResidualEncoderUNet
from report import tell


def main():
    for cls, op, dim in ((PlainConvUNet, torch.nn.Conv2d, 2), (ResidualEncoderUNet, torch.nn.Conv3d, 3)):
        torch.manual_seed(0)
        kw = dict(n_conv_per_stage=2) if cls is PlainConvUNet else dict(n_blocks_per_stage=1)
        m = cls(
            1,
            3,
            [4, 8, 8],
            op,
            3,
            [1, 2, 2],
            num_classes=2,
            n_conv_per_stage_decoder=1,
            conv_bias=True,
            norm_op=torch.nn.InstanceNorm2d if dim == 2 else torch.nn.InstanceNorm3d,
            norm_op_kwargs={"eps": 1e-5, "affine": True},
            nonlin=torch.nn.LeakyReLU,
            nonlin_kwargs={"inplace": True},
            deep_supervision=True,
            **kw,
        ).double()
        x = torch.randn(1, 1, *([16] * dim), dtype=torch.float64)
        y = m(x)
        for o in y:
            tell("o", o)
        sum(o.pow(2).mean() for o in y).backward()
        tell("g", [p.grad for p in m.parameters() if p.grad is not None][0])


main()
