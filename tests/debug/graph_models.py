"""Models whose graphs the tests draw."""
from __future__ import annotations

import claygrad
from claygrad import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 2 * width)
        self.fc2 = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.fc2(self.fc1(self.norm(x)).relu())


class Net(nn.Module):
    def __init__(self, width=8, depth=12):
        super().__init__()
        self.embed = nn.Linear(4, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3))

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Attention(nn.Module):
    def __init__(self, width, factor):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, factor * width), nn.GELU(), nn.Linear(factor * width, width))

    def forward(self, x):
        h = self.before(x)
        weights = (self.query(h) @ self.key(h).transpose(-1, -2)).softmax(-1)
        x = x + self.out(weights @ self.value(h))
        return x + self.mlp(self.between(x))


class Large(nn.Module):
    """Over a thousand operations, of blocks that differ, so that not all can be folded."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Attention(8, 1 + i % 7) for i in range(40))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def net_loss(model):
    return nn.functional.cross_entropy(model(claygrad.ones(5, 4)), claygrad.tensor([0, 1, 2, 0, 1]))
