"""Smaller networks: torch-pruning finds what depends on what, and takes channels away."""
import torch
import torch_pruning as tp
from report import tell


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3), torch.nn.Flatten(), torch.nn.Linear(8 * 16, 4))
    x = torch.randn(2, 3, 8, 8)
    pruner = tp.pruner.MagnitudePruner(model, x, importance=tp.importance.MagnitudeImportance(p=2), pruning_ratio=0.5, ignored_layers=[model[5]])
    pruner.step()
    tell("shapes", [list(p.shape) for p in model.parameters()])
    tell("out", model(x))
    model(x).pow(2).mean().backward()
    tell("gradient", model[0].weight.grad)
    tell("counts", [float(v) for v in tp.utils.count_ops_and_params(model, x)])


main()
