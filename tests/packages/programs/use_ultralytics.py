"""The YOLO of ultralytics from its description: boxes in float64, and the loss of a step with its gradients."""
import torch
from report import tell
from ultralytics.nn.tasks import DetectionModel


def main():
    torch.manual_seed(0)
    model = DetectionModel("yolov8n.yaml", ch=3, nc=3, verbose=False).double()
    x = torch.rand(1, 3, 64, 64, dtype=torch.float64)
    model.train()
    heads = model(x)
    for part in heads.values() if isinstance(heads, dict) else heads:
        if isinstance(part, torch.Tensor):
            tell("head", part)
    sum(part.square().mean() for part in (heads.values() if isinstance(heads, dict) else heads) if isinstance(part, torch.Tensor)).backward()
    tell("gradient", model.model[0].conv.weight.grad)
    model.eval()
    found = model(x)
    tell("boxes", found[0] if isinstance(found, tuple) else found)


main()
