"""Where a network looks: grad-cam's maps, torchcam's, and zennit's relevance, on one small network."""
import numpy as np
import torch
from pytorch_grad_cam import EigenCAM, GradCAM, GradCAMPlusPlus, HiResCAM, LayerCAM, ScoreCAM, XGradCAM
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
from report import tell
from torchcam.methods import LayerCAM as Layer
from torchcam.methods import SmoothGradCAMpp
from zennit.attribution import Gradient, IntegratedGradients, SmoothGrad
from zennit.composites import EpsilonGammaBox, EpsilonPlusFlat


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 3), torch.nn.ReLU(), torch.nn.Conv2d(6, 8, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(2),
                                torch.nn.Flatten(), torch.nn.Linear(32, 4)).eval()
    x = torch.rand(2, 3, 16, 16)
    for kind in (GradCAM, GradCAMPlusPlus, XGradCAM, EigenCAM, LayerCAM, HiResCAM, ScoreCAM):
        with kind(model=model, target_layers=[model[2]]) as cam:
            tell(kind.__name__, np.asarray(cam(input_tensor=x, targets=[ClassifierOutputTarget(1)] * 2)))
    for kind in (Layer, SmoothGradCAMpp):
        torch.manual_seed(1)
        with kind(model, target_layer="2") as extract:
            tell(f"torchcam {kind.__name__}", extract(1, model(x[:1]))[0])
    for composite in (EpsilonGammaBox(low=0.0, high=1.0), EpsilonPlusFlat()):
        with Gradient(model=model, composite=composite) as attributor:
            out, relevance = attributor(x, torch.eye(4)[[1, 2]])
            tell(type(composite).__name__, relevance)
    with IntegratedGradients(model=model, n_iter=5) as attributor:
        tell("integrated", attributor(x, torch.eye(4)[[1, 2]])[1])
    torch.manual_seed(2)
    with SmoothGrad(model=model, n_iter=3) as attributor:
        tell("smooth", attributor(x, torch.eye(4)[[1, 2]])[1])


main()
