"""An ordinary training program: no checker has anything to say about it."""
from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import claygrad as torch
from claygrad import Tensor, nn, optim
from claygrad.autograd import Function
from claygrad.nn import functional as F
from claygrad.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, StepLR
from claygrad.utils.data import DataLoader, Dataset, TensorDataset, random_split


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        x: Tensor = ctx.saved_tensors[0]
        return g * 2 * x


class Net(nn.Module):
    def __init__(self, hidden: int = 16) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Dropout(0.1), nn.BatchNorm1d(hidden))
        self.head = nn.Linear(hidden, 3)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.body(x))
        return out * self.scale


class Numbers(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, n: int) -> None:
        self.x = torch.randn(n, 4)
        self.y = torch.randint(0, 3, (n,))

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.x[index], self.y[index]


def train(model: nn.Module, loader: DataLoader[Any], epochs: int = 1) -> Iterator[float]:
    optimizer = optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    schedule = StepLR(optimizer, step_size=2, gamma=0.5)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    for _ in range(epochs):
        model.train()
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            yield loss.item()
        schedule.step()


@torch.no_grad()
def accuracy(model: nn.Module, loader: DataLoader[Any]) -> float:
    model.eval()
    hits: list[float] = [(model(x).argmax(dim=1) == y).float().mean().item() for x, y in loader]
    return sum(hits) / len(hits)


@torch.compile
def scaled(x: Tensor, by: float = 2.0) -> Tensor:
    return x * by


def main() -> None:
    torch.manual_seed(0)
    model = Net()
    handle = model.head.register_forward_hook(lambda module, args, out: None)
    losses = list(train(model, DataLoader(Numbers(32), batch_size=8, shuffle=True)))
    handle.remove()
    print(accuracy(model, DataLoader(Numbers(8))), scaled(model.scale).shape)
    path = Path(tempfile.gettempdir()) / "model.pt"
    torch.save(model.state_dict(), path)
    model.load_state_dict(torch.load(path, weights_only=True))
    model.eval()
    with torch.no_grad():
        x = torch.linspace(0, 1, 12).reshape(3, 4)
        values, indices = model(x).softmax(dim=-1).max(dim=-1)
        mask = values > 0.5
        chosen = x[mask, 1:].sum(dim=0, keepdim=True)
        x[:, 0] = 1.0
        print(len(losses), chosen.shape[-1], indices.tolist(), x[..., None].size(0))
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Square.apply(w)
    (g,) = torch.autograd.grad(y.sum(), w)
    sgd = optim.SGD([{"params": [w], "lr": 0.1}], lr=0.01, momentum=0.9)
    by_epoch, cosine = LambdaLR(sgd, lambda epoch: 0.9 ** epoch), CosineAnnealingLR(sgd, T_max=10)
    sgd.step()
    by_epoch.step()
    cosine.step()
    first, second = random_split(TensorDataset(x, x), [2, 1])
    print(F.relu(g).mean().item(), len(first), len(second), torch.cat([x, x]).numpy().shape, float(y[0].detach()))


if __name__ == "__main__":
    main()
