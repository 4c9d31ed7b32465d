"""Training steps of whole models: time, and the memory they take at their peak."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from workloads import workload


def products(*sizes: tuple[int, int]) -> float:
    """Floating point operations of a training step, from (multiplications, how often) of its matrix products: once
    forward, once for the gradient of the weights, and once for that of the input if it has one."""
    return sum(2.0 * size * times for size, times in sizes)


def step_of(torch: ModuleType, model: object, loss: Callable[[], object]) -> Callable[[], object]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def run() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    return run


GPT = products((1024 * (4 * 128 * (384 + 128 + 2 * 512) + 128 * 256), 3),
               (4 * 64 * 64 * 64 * 32 // 2, 7))                          # attention scores, half of them masked
CNN = products((64 * 28 * 28 * 16 * 9, 2), (64 * 14 * 14 * 32 * 16 * 9, 3), (64 * 32 * 49 * 10, 3))
LSTM = products((16 * 50 * 32 * 256, 2), (16 * 50 * 64 * 256, 3))
VAE = products((64 * 784 * 256, 2), (64 * (256 * 32 + 16 * 256 + 256 * 784), 3))


@workload("GPT: 4 layers, 128 wide, 64 long, batch 16", 0.6, flops=GPT)
def gpt(torch: ModuleType) -> Callable[[], object]:
    nn, f = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(128), nn.LayerNorm(128)
            self.qkv, self.out = nn.Linear(128, 384), nn.Linear(128, 128)
            self.mlp = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))

        def forward(self, x: object) -> object:
            q, k, v = (t.view(16, 64, 4, 32).transpose(1, 2) for t in self.qkv(self.ln1(x)).split(128, dim=2))
            y = f.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(16, 64, 128))
            return x + self.mlp(self.ln2(x))

    class Gpt(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = nn.Embedding(256, 128), nn.Embedding(64, 128)
            self.blocks, self.head = nn.Sequential(*(Block() for _ in range(4))), nn.Linear(128, 256)

        def forward(self, ids: object) -> object:
            return self.head(self.blocks(self.token(ids) + self.place(torch.arange(64))))

    model, ids = Gpt(), torch.randint(0, 256, (16, 65))
    return step_of(torch, model, lambda: f.cross_entropy(model(ids[:, :-1]).reshape(-1, 256), ids[:, 1:].reshape(-1)))


@workload("CNN: 28x28, two blocks, batch 64", 0.9, flops=CNN)
def cnn(torch: ModuleType) -> Callable[[], object]:
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Flatten(), nn.Linear(32 * 49, 10))
    x, y = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
    return step_of(torch, model, lambda: nn.functional.cross_entropy(model(x), y))


@workload("LSTM: (16, 50, 32) to 64", 0.4, flops=LSTM)
def lstm(torch: ModuleType) -> Callable[[], object]:
    model = torch.nn.LSTM(32, 64, batch_first=True)
    x = torch.randn(16, 50, 32)
    return step_of(torch, model, lambda: model(x)[0].square().mean())


@workload("VAE 784-256-16, batch 64", 0.6, flops=VAE)
def vae(torch: ModuleType) -> Callable[[], object]:
    nn = torch.nn
    encode = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 32))
    decode = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 784))
    x = torch.rand(64, 784)

    def loss() -> object:
        mean, log_var = encode(x).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        seen = nn.functional.binary_cross_entropy_with_logits(decode(z), x, reduction="sum")
        return (seen - 0.5 * (1 + log_var - mean ** 2 - log_var.exp()).sum()) / 64
    return step_of(torch, nn.ModuleList([encode, decode]), loss)
