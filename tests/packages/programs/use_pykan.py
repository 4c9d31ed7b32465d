"""A Kolmogorov-Arnold network of pykan: splines on a grid, fitted by Adam, pruned by its importance."""
import torch
from kan import KAN
from report import tell


def main():
    torch.manual_seed(0)
    x = torch.rand(80, 2) * 2 - 1
    y = torch.exp(torch.sin(torch.pi * x[:, [0]]) + x[:, [1]] ** 2)
    model = KAN(width=[2, 3, 1], grid=3, k=3, seed=1, auto_save=False)
    tell("before", model(x))
    data = {"train_input": x[:60], "train_label": y[:60], "test_input": x[60:], "test_label": y[60:]}
    found = model.fit(data, opt="Adam", lr=0.02, steps=4, lamb=0.001, log=1)
    tell("train", [float(v) for v in found["train_loss"]])
    tell("test", [float(v) for v in found["test_loss"]])
    tell("after", model(x))


main()
