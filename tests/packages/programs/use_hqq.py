"""Weights of few bits: hqq's quantizer and its linear layer."""

import torch
from hqq.core.quantize import BaseQuantizeConfig, HQQLinear
from report import tell


def main():
    for bits in (8, 4, 3, 2):
        torch.manual_seed(0)
        layer = torch.nn.Linear(64, 32)
        q = HQQLinear(
            layer,
            BaseQuantizeConfig(nbits=bits, group_size=32),
            compute_dtype=torch.float32,
            device="cpu",
            del_orig=False,
        )
        tell(str(bits), q(torch.randn(2, 64)))
        tell("w", q.dequantize())


main()
