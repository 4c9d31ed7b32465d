"""Mixed precision on the CPU: autocast to bfloat16, a gradient scaler that is off, activations recomputed, averaged weights."""
import torch
from torch import nn
from torch.amp import GradScaler, autocast
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width), nn.GELU(), nn.Linear(width, width))

    def forward(self, x):
        return x + self.body(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Linear(10, 32), nn.BatchNorm1d(32)
        self.blocks = nn.ModuleList(Block(32) for _ in range(2))
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        x = self.norm(self.stem(x))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.head(x)


torch.manual_seed(11)
x = torch.randn(192, 10)
y = (x[:, :3] + x[:, 3:6]).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=48, shuffle=True)
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
averaged, schedule = AveragedModel(model), SWALR(optimizer, swa_lr=1e-3, anneal_epochs=2)
scaler = GradScaler("cpu", enabled=False)
kinds = set()
for epoch in range(4):
    total = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        with autocast("cpu", dtype=torch.bfloat16):
            logits = model(inputs)
            loss = nn.functional.cross_entropy(logits, targets)
        kinds.add((str(logits.dtype), str(loss.dtype)))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
    averaged.update_parameters(model)
    schedule.step()
    print(f"epoch {epoch} loss {total / len(loader):.2f} lr {optimizer.param_groups[0]['lr']:.5f}")
print(sorted(kinds))
update_bn(loader, averaged)
averaged.eval()
with torch.no_grad():
    print("accuracy", round((averaged(x).argmax(1) == y).float().mean().item(), 2))
print({str(p.dtype) for p in model.parameters()}, {str(p.grad.dtype) for p in model.parameters()})
