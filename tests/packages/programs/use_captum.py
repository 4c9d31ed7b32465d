"""Attributions of captum for a small network: gradients, integrated gradients, DeepLift, occlusion, layers, Shapley values."""
import numpy as np
import torch
from captum.attr import (
    DeepLift,
    FeatureAblation,
    GradientShap,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    LayerConductance,
    LayerGradCam,
    NeuronConductance,
    NoiseTunnel,
    Occlusion,
    Saliency,
    ShapleyValueSampling,
)
from report import tell
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.relu, self.second = nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)

    def forward(self, x):
        return self.second(self.relu(self.first(x)))


def main():
    torch.manual_seed(0)
    net, x = Net().eval(), torch.randn(4, 5)
    base = torch.zeros(4, 5)
    tell("saliency", Saliency(net).attribute(x.clone().requires_grad_(), target=1))
    values, delta = IntegratedGradients(net).attribute(x, base, target=1, return_convergence_delta=True)
    tell("integrated", values)
    tell("delta", delta)
    tell("deep lift", DeepLift(net).attribute(x, base, target=1))
    tell("input times gradient", InputXGradient(net).attribute(x.clone().requires_grad_(), target=2))
    tell("guided", GuidedBackprop(net).attribute(x.clone().requires_grad_(), target=2))
    tell("ablation", FeatureAblation(net).attribute(x, target=0))
    tell("conductance", LayerConductance(net, net.first).attribute(x, base, target=1))
    tell("neuron", NeuronConductance(net, net.first).attribute(x, 2, base, target=1))
    torch.manual_seed(1)
    tell("shapley", ShapleyValueSampling(net).attribute(x, target=1, n_samples=5))
    torch.manual_seed(2)
    np.random.seed(2)
    tell("gradient shap", GradientShap(net).attribute(x, base, target=0, n_samples=4))
    tell("noise tunnel", NoiseTunnel(Saliency(net)).attribute(x, nt_samples=3, stdevs=0.1, target=1))
    torch.manual_seed(3)
    images = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 3))
    picture = torch.randn(2, 1, 8, 8)
    tell("grad-cam", LayerGradCam(images, images[0]).attribute(picture, target=1))
    tell("occlusion", Occlusion(images).attribute(picture, (1, 4, 4), strides=(1, 2, 2), target=1))


main()
