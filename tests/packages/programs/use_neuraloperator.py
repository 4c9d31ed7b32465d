"""A Fourier neural operator learns a map between fields; a factorized linear layer of tensorly-torch learns beside it."""
import tltorch
import torch
from neuralop.models import FNO
from report import tell


def train(name, model, x, y):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(4):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        tell(f"{name}, loss {step}", loss)


def main():
    torch.manual_seed(0)
    model = FNO(n_modes=(4, 4), in_channels=1, out_channels=1, hidden_channels=8, n_layers=2)
    train("FNO", model, torch.randn(2, 1, 8, 8), torch.randn(2, 1, 8, 8))
    layer = tltorch.FactorizedLinear(in_tensorized_features=(2, 3), out_tensorized_features=(2, 2), bias=True, factorization="cp", rank=2)
    train("factorized", layer, torch.randn(4, 6), torch.randn(4, 4))
    tensor = tltorch.FactorizedTensor.new((4, 4, 4), rank=3, factorization="CP")
    tensor.normal_(0, 0.1)
    tell("tensor", tensor.to_tensor())


main()
