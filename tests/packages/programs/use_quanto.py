"""Weights and activations of a network quantized to eight bits by optimum-quanto: predictions, frozen and not."""
import torch
from optimum.quanto import freeze, qint8, quantize
from report import tell


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3))
    x = torch.randn(5, 8)
    tell("float", model(x))
    quantize(model, weights=qint8)
    tell("quantized", model(x))
    model(x).sum().backward()
    tell("gradient", model[0].weight.grad)
    freeze(model)
    tell("frozen", model(x))


main()
