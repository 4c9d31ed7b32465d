"""torchinfo: the table of a network's layers, shapes, parameters and operations."""
import torch
from report import tell
from torch import nn
from torchinfo import summary


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.rnn = nn.LSTM(8 * 8, 12, batch_first=True)
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        y = self.conv(x).flatten(2).transpose(1, 2)
        return self.head(self.rnn(y.reshape(len(x), -1, 64))[0][:, -1])


def main():
    for depth in (1, 3):
        table = summary(Net(), input_size=(2, 3, 16, 16), depth=depth, verbose=0, device="cpu",
                        col_names=("input_size", "output_size", "num_params", "kernel_size", "mult_adds", "trainable"))
        for number, line in enumerate(str(table).splitlines()):
            tell(f"line {number} of depth {depth}", line)
        tell("parameters", table.total_params)
        tell("multiplications", table.total_mult_adds)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)
    tell("transformer", str(summary(encoder, input_data=torch.zeros(2, 5, 16), verbose=0)))


main()
