"""Functional optimizers of torchopt, and a gradient through its differentiable Adam."""
import torch
import torchopt
from report import tell


def main():
    torch.manual_seed(0)
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    for make in (torchopt.adam, torchopt.rmsprop, torchopt.sgd, torchopt.adamw):
        torch.manual_seed(1)
        model = torch.nn.Linear(3, 1)
        optimizer = torchopt.Optimizer(model.parameters(), make(lr=0.05))
        for _ in range(3):
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        tell(make.__name__, model.weight)
    model = torch.nn.Linear(3, 1)
    rate = torch.tensor(0.5, requires_grad=True)
    inner = torchopt.MetaAdam(model, lr=0.1)
    for _ in range(2):
        inner.step(rate * torch.nn.functional.mse_loss(model(x), y) + (1 - rate) * model.weight.square().sum())
    outer = torch.nn.functional.mse_loss(model(x), y)
    tell("outer", outer)
    tell("gradient", torch.autograd.grad(outer, rate)[0])


main()
