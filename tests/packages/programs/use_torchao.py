"""torchao: scales and rounded numbers of a matrix, there and back, and a network with weights of eight bits."""
import copy

import torch
from report import tell
from torchao.quantization import Int8WeightOnlyConfig, quantize_
from torchao.quantization.quant_primitives import MappingType, choose_qparams_affine, dequantize_affine, quantize_affine


def main():
    torch.manual_seed(0)
    x = torch.randn(4, 32)
    scale, zero = choose_qparams_affine(x, MappingType.SYMMETRIC, (1, 32), torch.int8, -128, 127)
    q = quantize_affine(x, (1, 32), scale, zero, torch.int8, -128, 127)
    tell("scale", scale)
    tell("quantized", q)
    tell("back", dequantize_affine(q, (1, 32), scale, zero, torch.int8, -128, 127))
    model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8)).eval()
    tell("before", model(x))
    small = copy.deepcopy(model)
    quantize_(small, Int8WeightOnlyConfig())
    tell("after", small(x))


main()
