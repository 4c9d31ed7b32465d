"""Explanations judged: quantus's measures of saliency, and time-interpret's attributions of a recurrent network."""
import numpy as np
import quantus
import torch
from captum.attr import Saliency
from report import tell
from tint.attr import AugmentedOcclusion, TemporalIntegratedGradients, TimeForwardTunnel


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 3))

    def forward(self, x):
        return self.body(x)


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRU(3, 6, batch_first=True)
        self.head = torch.nn.Linear(6, 2)

    def forward(self, x):
        return self.head(self.cell(x)[0][:, -1])


def saliency(model, inputs, targets, **options):
    x = torch.as_tensor(np.asarray(inputs), dtype=torch.float32)
    return Saliency(model).attribute(x, torch.as_tensor(np.asarray(targets)).long()).numpy()


def main():
    torch.manual_seed(0)
    model, x, y = Net().eval(), torch.rand(4, 1, 8, 8).numpy(), np.array([0, 1, 2, 0])
    a = saliency(model, x, y)
    for name, measure in {"sparseness": quantus.Sparseness(disable_warnings=True), "complexity": quantus.Complexity(disable_warnings=True),
                          "sensitivity": quantus.MaxSensitivity(nr_samples=3, disable_warnings=True),
                          "flipping": quantus.PixelFlipping(features_in_step=16, disable_warnings=True)}.items():
        np.random.seed(1)
        torch.manual_seed(1)
        tell(name, np.asarray(measure(model=model, x_batch=x, y_batch=y, a_batch=a, explain_func=saliency, device="cpu"), dtype=float))
    torch.manual_seed(2)
    network, series = Recurrent().eval(), torch.randn(2, 5, 3)
    tell("temporal", TemporalIntegratedGradients(network).attribute(series, baselines=series * 0, target=1, n_steps=8))
    tell("tunnel", TimeForwardTunnel(Saliency(network)).attribute(series, target=0))
    torch.manual_seed(3)
    tell("occlusion", AugmentedOcclusion(network, data=torch.randn(20, 5, 3)).attribute(series, sliding_window_shapes=(1, 1), target=0))


main()
