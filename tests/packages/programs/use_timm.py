"""Image models of timm: a ResNet, a vision transformer and a ConvNeXt, trained a little, with timm's optimizer, loss and schedule."""
import timm
import torch
from report import tell
from timm.data import Mixup
from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV3, accuracy


def train(name, **options):
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=4, **options)
    size = options.get("img_size", 32)
    x, y = torch.randn(4, 3, size, size), torch.tensor([0, 1, 2, 3])
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
    schedule = CosineLRScheduler(optimizer, t_initial=3, warmup_t=1)
    average = ModelEmaV3(model, decay=0.9)
    criterion = LabelSmoothingCrossEntropy(0.1)
    losses = []
    for step in range(3):
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step(step + 1)
        average.update(model)
        losses.append(loss.item())
    tell(f"{name} losses", losses)
    model.eval()
    with torch.no_grad():
        logits = model(x)
        tell(f"{name} logits", logits)
        tell(f"{name} averaged", average.module.eval()(x))
        tell(f"{name} accuracy", [float(a) for a in accuracy(logits, y, topk=(1, 2))])
        tell(f"{name} features", model.forward_features(x))
    tell(f"{name} parameters", sum(p.numel() for p in model.parameters()))


def main():
    torch.set_default_dtype(torch.float64)     # BatchNorm over 4 numbers magnifies how float32 rounds, in PyTorch as much
    train("resnet18")
    train("vit_tiny_patch16_224", img_size=32, patch_size=8, depth=2, embed_dim=48)
    train("convnext_atto")
    train("mobilenetv3_small_050")
    import numpy as np
    np.random.seed(0)
    x, soft = Mixup(mixup_alpha=0.5, num_classes=4)(torch.randn(4, 3, 8, 8), torch.tensor([0, 1, 2, 3]))
    tell("mixup", soft)
    tell("soft loss", SoftTargetCrossEntropy()(torch.randn(4, 4), soft))


main()
