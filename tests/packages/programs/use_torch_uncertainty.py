"""Losses, metrics and Bayesian layers of torch-uncertainty."""
import torch
from report import tell
from torch_uncertainty.layers import PackedLinear
from torch_uncertainty.losses import DECLoss
from torch_uncertainty.metrics import BrierScore, CalibrationError, CategoricalNLL
from torch_uncertainty.metrics.classification import AURC


def main():
    torch.manual_seed(0)
    p, y = torch.rand(40, 3).softmax(1), torch.randint(0, 3, (40,))
    for metric in (BrierScore(3), CategoricalNLL(), CalibrationError(task="multiclass", num_classes=3), AURC()):
        metric.update(p, y)
        tell(type(metric).__name__, metric.compute())
    evidence = torch.randn(6, 3, requires_grad=True)
    loss = DECLoss(reg_weight=0.1)(evidence, torch.arange(6) % 3)
    loss.backward()
    tell("evidential", loss)
    tell("gradient", evidence.grad)
    layer = PackedLinear(8, 4, alpha=2, num_estimators=2, first=True, last=True)
    tell("packed", layer(torch.randn(5, 8)))


main()
