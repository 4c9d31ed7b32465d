"""What a network is made of: torchviz's graph and pytorch-model-summary's table."""
import torch
from pytorch_model_summary import summary
from report import tell
from torchviz import make_dot


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 2))
    x = torch.randn(1, 1, 8, 8)
    tell("summary", summary(model, x, show_input=True).splitlines()[-6:])
    graph = make_dot(model(x).sum(), params=dict(model.named_parameters())).source
    tell("nodes", [graph.count(word) for word in ("ReluBackward0", "AddmmBackward0", "ConvolutionBackward0", "SumBackward0", "AccumulateGrad", "->")])


main()
