"""A training program with the imports that most programs have, and modules named in full."""
from __future__ import annotations

import claygrad as torch
import claygrad.nn as nn
import claygrad.nn.functional as F
import claygrad.optim as optim
from claygrad import Tensor
from claygrad.nn import Module, Parameter
from claygrad.nn.utils.rnn import pad_sequence
from claygrad.optim.lr_scheduler import CosineAnnealingLR
from claygrad.utils.data import DataLoader, Dataset


class Points(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, n: int) -> None:
        self.x = torch.randn(n, 4)
        self.y = (self.x.sum(dim=1) > 0).long()

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor]:
        return self.x[i], self.y[i]


class Net(Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 16)
        self.b = torch.nn.Linear(16, 2)
        self.scale = Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        h: Tensor = F.relu(self.a(x))
        out: Tensor = self.b(F.dropout(h, 0.1, self.training))
        return out * self.scale


def train(model: nn.Module) -> float:
    loader = DataLoader(Points(64), batch_size=16, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    slow = optim.SGD(model.parameters(), lr=1e-3)
    schedule = CosineAnnealingLR(optimizer, T_max=10)
    loss = torch.zeros(())
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        slow.step()
    schedule.step()
    return loss.item()


def agree(a: Tensor, b: Tensor) -> bool:
    return (a == b).all().item()


def hits(model: nn.Module, x: Tensor, y: Tensor) -> tuple[int, list[int]]:
    correct = 0
    found = model(x).argmax(dim=1)
    correct += (found == y).sum().item()
    return correct, found.tolist()


def main() -> None:
    torch.manual_seed(0)
    model = Net()
    print(train(model), torch.__version__, torch.version.__version__, torch.cuda.is_available())
    with torch.no_grad(), torch.autograd.set_detect_anomaly(False):
        p = F.softmax(model(torch.randn(3, 4)), dim=-1)
    padded = pad_sequence([p[0], p[1, :1]], batch_first=True)
    values, indices = torch.linalg.qr(p), torch.fft.fft(p).abs()
    print(agree(p, p), hits(model, torch.randn(3, 4), torch.zeros(3)), padded.shape, values.Q.shape, indices.shape, p.numpy().dtype)
    checkpoint: dict[str, Tensor] = model.state_dict()
    print(sorted(checkpoint), torch.distributions.Normal(0.0, 1.0).sample((2,)).shape)


if __name__ == "__main__":
    main()
