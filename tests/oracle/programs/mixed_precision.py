"""Mixed precision in bfloat16, and a network wholly in it."""

import torch
import torch.nn as nn

torch.manual_seed(6)
torch.backends.mkldnn.enabled = False      # its bfloat16 dies of an illegal instruction on some machines


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.ln = nn.LayerNorm(32)
        self.fc = nn.Linear(8 * 16, 32)
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv(x)))
        x = nn.functional.max_pool2d(x, 2)
        h = self.fc(x.flatten(1))
        self.kinds = (x.dtype, h.dtype)
        return self.head(nn.functional.gelu(self.ln(h)))


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=0.001)
scaler = torch.amp.GradScaler("cpu", enabled=False)
X, Y = (torch.randn(64, 1, 8, 8), torch.randint(0, 4, (64,)))
for step in range(20):
    opt.zero_grad(set_to_none=True)
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        out = net(X)
        loss = nn.functional.cross_entropy(out, Y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    print(
        step,
        f"{loss.item():.2f}",
        str(out.dtype).split(".")[1],
        str(loss.dtype).split(".")[1],
        [str(k).split(".")[1] for k in net.kinds],
        str(net.fc.weight.grad.dtype).split(".")[1],
    )
net2 = Net().to(torch.bfloat16)
o2 = torch.optim.SGD(net2.parameters(), lr=0.05)
for _ in range(5):
    loss = nn.functional.cross_entropy(net2(X.bfloat16()), Y)
    o2.zero_grad()
    loss.backward()
    o2.step()
    print("pure", f"{loss.item():.1f}")
with torch.autocast("cpu", dtype=torch.bfloat16):
    a = torch.randn(3, 3)
    print(
        (a @ a).dtype == torch.bfloat16,
        torch.exp(a).dtype == torch.float32,
        (a + a).dtype == torch.float32,
        torch.is_autocast_enabled("cpu"),
    )
    with torch.autocast("cpu", enabled=False):
        print((a @ a).dtype == torch.float32)
