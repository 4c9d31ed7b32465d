"""Training saved in the middle and gone on with; a model saved whole; states that fit in part."""

import io
import os
import tempfile

import torch
from torch import nn

torch.manual_seed(9)
d = tempfile.mkdtemp()
path = os.path.join(d, "ck.pt")


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 8)
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.h = nn.Linear(8, 1)
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x):
        self.steps += 1
        return self.h(self.lstm(torch.relu(self.a(x)))[0][:, -1])


def fresh():
    m = M()
    o = torch.optim.NAdam(m.parameters(), lr=0.01)
    s = torch.optim.lr_scheduler.StepLR(o, 5, 0.5)
    return (m, o, s)


m, o, s = fresh()


def run(m, o, s, n):
    for _i in range(n):
        x = torch.randn(8, 5, 4)
        loss = nn.functional.huber_loss(m(x), x.sum((1, 2))[:, None])
        o.zero_grad()
        loss.backward()
        o.step()
        s.step()
        print(m.steps.item(), loss.item(), s.get_last_lr())


run(m, o, s, 8)
torch.save(
    {
        "epoch": 8,
        "model_state_dict": m.state_dict(),
        "optimizer_state_dict": o.state_dict(),
        "sched": s.state_dict(),
        "rng": torch.get_rng_state(),
    },
    path,
)
run(m, o, s, 4)
ck = torch.load(path, map_location=torch.device("cpu"), weights_only=True)
m2, o2, s2 = fresh()
print(m2.load_state_dict(ck["model_state_dict"]))
o2.load_state_dict(ck["optimizer_state_dict"])
s2.load_state_dict(ck["sched"])
torch.set_rng_state(ck["rng"])
m2.train()
run(m2, o2, s2, 4)
print(all((torch.equal(a, b) for a, b in zip(m.state_dict().values(), m2.state_dict().values()))), ck["epoch"])
missing, unexpected = M().load_state_dict(
    {k: v for k, v in ck["model_state_dict"].items() if "lstm" not in k} | {"extra": torch.ones(1)}, strict=False
)
print(missing, unexpected)
torch.save(m, os.path.join(d, "whole.pt"))
w = torch.load(os.path.join(d, "whole.pt"), weights_only=False)
print(torch.equal(w.a.weight, m.a.weight), type(w).__name__)
b = io.BytesIO()
torch.save(m.state_dict(), b)
b.seek(0)
print(list(torch.load(b))[:3])
