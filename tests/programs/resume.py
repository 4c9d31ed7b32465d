"""Training stops in the middle and goes on from a checkpoint, to the same end: model, optimizer, schedule, generators."""
import os
import random
import tempfile

import numpy as np
import torch
from torch import nn


def build():
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.SiLU(), nn.Dropout(0.2), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=20)
    return model, optimizer, scheduler


def train(model, optimizer, scheduler, x, y, begin, end):
    model.train()
    for step in range(begin, end):
        rows = torch.randperm(len(x))[:16]
        noise = torch.from_numpy(np.random.randn(16, 6).astype(np.float32)) * 0.01 * random.random()
        loss = nn.functional.mse_loss(model(x[rows] + noise), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 4 == 3:
            print(f"step {step} loss {loss.item():.5f} lr {scheduler.get_last_lr()[0]:.5f}")


def save(path, model, optimizer, scheduler, step):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(), "step": step,
                "rng": torch.get_rng_state(), "numpy": np.random.get_state(), "python": random.getstate()}, path)


def load(path, model, optimizer, scheduler):
    kept = torch.load(path, map_location="cpu", weights_only=False)
    model.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])
    scheduler.load_state_dict(kept["scheduler"])
    torch.set_rng_state(kept["rng"])
    np.random.set_state(kept["numpy"])
    random.setstate(kept["python"])
    return kept["step"]


torch.manual_seed(0)
np.random.seed(0)
random.seed(0)
x = torch.randn(128, 6)
y = x.pow(2).sum(1, keepdim=True).sqrt()
parts = build()
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "checkpoint.pt")
    train(*parts, x, y, 0, 10)
    save(path, *parts, 10)
    train(*parts, x, y, 10, 20)
    torch.manual_seed(99)
    again = build()
    begin = load(path, *again)
    train(*again, x, y, begin, 20)
    weights = torch.load(path, weights_only=False)["model"]
    torch.save(weights, path)
    print(sorted(torch.load(path, weights_only=True)))
for a, b in zip(parts[0].state_dict().values(), again[0].state_dict().values()):
    assert torch.equal(a, b)
parts[0].eval()
print(parts[0](x[:3]).flatten())
