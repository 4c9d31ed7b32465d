"""Ten small programs: each makes a model and data on the CPU, and says what a training step is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import claygrad as torch
from claygrad import nn
from claygrad.nn import functional as F

PROGRAMS: dict[str, Callable[[], tuple[nn.Module, list[Any], Callable[..., Any]]]] = {}


def program(make: Callable) -> Callable:
    PROGRAMS[make.__name__] = make
    return make


@program
def perceptron() -> tuple:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    return model, [torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])], lambda m, x, y: F.cross_entropy(m(x), y)


@program
def convolutional() -> tuple:
    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(36, 2))
    return model, [torch.randn(3, 1, 6, 6), torch.tensor([0, 1, 1])], lambda m, x, y: F.nll_loss(m(x).log_softmax(1), y)


class _Tagger(nn.Module):
    def __init__(self, cell: type) -> None:
        super().__init__()
        self.words, self.cell, self.out = nn.Embedding(9, 4), cell(4, 5, batch_first=True), nn.Linear(5, 3)

    def forward(self, x):
        return self.out(self.cell(self.words(x))[0])


@program
def lstm_tagger() -> tuple:
    return _Tagger(nn.LSTM), [torch.randint(0, 9, (2, 4)), torch.randint(0, 3, (2, 4))], \
        lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1), y.flatten())


@program
def gru_tagger() -> tuple:
    return _Tagger(nn.GRU), [torch.randint(0, 9, (2, 4)), torch.randint(0, 3, (2, 4))], \
        lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1), y.flatten())


@program
def transformer() -> tuple:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2), [torch.randn(2, 5, 8)], lambda m, x: (m(x) ** 2).mean()


class _Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mean, self.spread, self.back = nn.Linear(6, 2), nn.Linear(6, 2), nn.Linear(2, 6)

    def forward(self, x, noise):
        mean, spread = self.mean(x), self.spread(x)
        return self.back(mean + noise * (spread / 2).exp()), mean, spread


@program
def variational_autoencoder() -> tuple:
    def step(m, x, noise):
        made, mean, spread = m(x, noise)
        return F.binary_cross_entropy_with_logits(made, x) - 0.5 * (1 + spread - mean**2 - spread.exp()).mean()

    return _Autoencoder(), [torch.rand(4, 6), torch.randn(4, 2)], step


@program
def upsampling() -> tuple:
    model = nn.Sequential(nn.ConvTranspose2d(3, 4, 2, stride=2), nn.GroupNorm(2, 4), nn.GELU(),
                          nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(4, 1, 1))
    return model, [torch.randn(2, 3, 3, 3), torch.randn(2, 1, 12, 12)], lambda m, x, y: F.mse_loss(m(x), y)


@program
def attention() -> tuple:
    model = nn.MultiheadAttention(8, 2, batch_first=True)
    return model, [torch.randn(2, 4, 8)], lambda m, x: m(x, x, x)[0].pow(2).sum()


@program
def matrix_factors() -> tuple:
    model = nn.ParameterDict({"rows": torch.randn(5, 2), "columns": torch.randn(2, 4)})
    return model, [torch.randn(5, 4)], lambda m, x: (m["rows"] @ m["columns"] - x).abs().mean() + torch.linalg.svdvals(
        m["rows"]).sum() * 0.01


class _Graph(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 6), nn.Linear(6, 2)

    def forward(self, x, edges):
        for layer in (self.first, self.second):
            x = layer(x)
            x = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]]).relu() + x
        return x


@program
def graph_network() -> tuple:
    return _Graph(), [torch.randn(4, 3), torch.tensor([[0, 1, 2, 3, 1], [1, 0, 3, 2, 2]])], \
        lambda m, x, edges: m(x, edges).logsumexp(1).sum()


def losses(name: str, device: str, steps: int = 3) -> list[float]:
    """The losses of a few training steps."""
    torch.manual_seed(0)
    model, data, step = PROGRAMS[name]()
    model.to(device)
    data = [x.to(device) for x in data]
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = step(model, *data)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found
