"""Layers of brevitas that train with quantized weights and activations."""
import brevitas.nn as qnn
import torch
from report import tell


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(qnn.QuantLinear(6, 12, bias=True, weight_bit_width=4), qnn.QuantReLU(bit_width=4),
                                qnn.QuantLinear(12, 2, bias=True, weight_bit_width=4))
    x, y = torch.randn(16, 6), torch.randn(16, 2)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(3):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell("loss", loss)
    tell("scale", model[0].quant_weight().scale)
    tell("weights", model[0].quant_weight().value)
    tell("out", model.eval()(x))


main()
