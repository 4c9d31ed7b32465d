"""U-Nets with learnt and with bilinear upsampling; ways to resize and to sample pictures."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


class DoubleConv(nn.Module):
    def __init__(self, i, o, mid=None):
        super().__init__()
        mid = mid or o
        self.double_conv = nn.Sequential(
            nn.Conv2d(i, mid, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid, o, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, i, o, bilinear):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(i, o, i // 2)
        else:
            self.up = nn.ConvTranspose2d(i, i // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(i, o)

    def forward(self, a, b):
        a = self.up(a)
        dy, dx = (b.size()[2] - a.size()[2], b.size()[3] - a.size()[3])
        a = F.pad(a, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([b, a], dim=1))


class UNet(nn.Module):
    def __init__(self, bilinear):
        super().__init__()
        f = 2 if bilinear else 1
        self.inc = DoubleConv(1, 4)
        self.d1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(4, 8))
        self.d2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(8, 16 // f))
        self.u1 = Up(16, 8 // f, bilinear)
        self.u2 = Up(8, 4, bilinear)
        self.out = nn.Conv2d(4, 2, 1)

    def forward(self, x):
        a = self.inc(x)
        b = self.d1(a)
        c = self.d2(b)
        return self.out(self.u2(self.u1(c, b), a))


def dice(p, t, eps=1e-06):
    p = F.softmax(p, 1)
    t = F.one_hot(t, 2).permute(0, 3, 1, 2).float()
    inter = 2 * (p * t).sum(dim=(-1, -2))
    s = p.sum(dim=(-1, -2)) + t.sum(dim=(-1, -2))
    s = torch.where(s == 0, inter, s)
    return 1 - ((inter + eps) / (s + eps)).mean()


for bil in (True, False):
    net = UNet(bil).double()
    opt = torch.optim.RMSprop(net.parameters(), lr=0.0001, weight_decay=1e-08, momentum=0.9, foreach=True)
    for i in range(6):
        x = torch.randn(2, 1, 18, 14).double()
        t = (x[:, 0] > 0.3).long()
        out = net(x)
        loss = F.cross_entropy(out, t, weight=torch.tensor([1.0, 2.0]).double()) + dice(out, t)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        print(bil, i, loss.item())
    net.eval()
    with torch.inference_mode():
        m = net(x).argmax(1)
        print(torch.bincount((t * 2 + m).flatten(), minlength=4).tolist())
x = torch.randn(1, 2, 5, 7)
for mode, kw in (
    ("nearest", {}),
    ("bilinear", {"align_corners": False}),
    ("bicubic", {"align_corners": True}),
    ("area", {}),
    ("nearest-exact", {}),
):
    print(
        mode,
        F.interpolate(x, size=(8, 3), mode=mode, **kw).sum().item(),
        F.interpolate(x, scale_factor=1.7, mode=mode, **kw).abs().sum().item(),
    )
g = F.affine_grid(torch.tensor([[[1.0, 0.1, 0], [0, 1, 0.2]]]), (1, 2, 5, 7), align_corners=False)
print(
    F.grid_sample(x, g, align_corners=False, padding_mode="border").sum().item(),
    F.unfold(x, 2).sum().item(),
    F.pixel_shuffle(torch.arange(16.0).view(1, 4, 2, 2), 2).flatten().tolist(),
)
