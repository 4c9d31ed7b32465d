"""Tables and counts of networks: torchsummary, torchview, fvcore, thop and ptflops on one convolutional network."""
import contextlib
import io

import torch
from fvcore.nn import parameter_count
from ptflops import get_model_complexity_info
from report import tell
from thop import profile
from torchsummary import summary
from torchview import draw_graph


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2))
        self.head = torch.nn.Linear(8 * 64, 5)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def main():
    torch.manual_seed(0)
    model = Net()
    x = torch.randn(1, 3, 16, 16)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        summary(model, (3, 16, 16), device="cpu")
    tell("summary", printed.getvalue().splitlines())
    tell("thop", [float(v) for v in profile(model, (x,), verbose=False)])
    for backend in ("pytorch", "aten"):
        with contextlib.redirect_stdout(io.StringIO()):
            tell(f"ptflops {backend}", list(get_model_complexity_info(Net(), (3, 16, 16), as_strings=False, print_per_layer_stat=False, backend=backend)))
    graph = draw_graph(Net(), input_data=x, device="cpu")
    tell("edges", sorted(str(len(line)) for line in graph.visual_graph.source.splitlines()))
    tell("parameters", dict(parameter_count(model)))


main()
