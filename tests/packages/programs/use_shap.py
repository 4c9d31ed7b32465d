"""Explanations of shap for a network: expected gradients and DeepLIFT through its hooks."""
import warnings

import numpy as np
import shap
import torch
from report import tell
from torch import nn


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
    x = torch.randn(20, 5)
    deep = shap.DeepExplainer(net, x[:10])
    tell("deep", np.asarray(deep.shap_values(x[10:13], check_additivity=False)))
    tell("expected", np.asarray(deep.expected_value))
    picture = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 2))
    seen = torch.randn(6, 1, 8, 8)
    tell("pictures", np.asarray(shap.DeepExplainer(picture, seen[:4]).shap_values(seen[4:], check_additivity=False)))
    gradients = shap.GradientExplainer(net, x[:10])
    tell("gradients", np.asarray(gradients.shap_values(x[10:12], nsamples=16, rseed=3)))


main()
