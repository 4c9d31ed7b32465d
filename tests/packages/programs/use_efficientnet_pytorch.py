"""EfficientNet of efficientnet-pytorch, in float64: a training step, features, gradients."""
import torch
from efficientnet_pytorch import EfficientNet
from report import tell


def main():
    torch.manual_seed(0)
    model = EfficientNet.from_name("efficientnet-b0", num_classes=5, image_size=64).double()
    optimizer = torch.optim.RMSprop(model.parameters(), 1e-4, momentum=0.9)
    x, y = torch.randn(4, 3, 64, 64, dtype=torch.float64), torch.tensor([0, 1, 2, 3])
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell("loss", loss)
    tell("gradient", model._conv_stem.weight.grad)
    model.eval()
    tell("features", model.extract_features(x[:1]))
    model.set_swish(memory_efficient=False)
    tell("scores", model(x[:1]))


main()
