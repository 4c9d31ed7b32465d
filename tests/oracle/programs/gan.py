"""A convolutional GAN whose critic is normalised spectrally, and the gradient penalty of WGAN-GP."""

import torch
import torch.nn as nn
import torch.optim as optim
from torch.nn.utils import spectral_norm
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        w = getattr(m, "weight_orig", None)
        nn.init.normal_((w if w is not None else m.weight).data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class G(nn.Module):
    def __init__(self, nz=16, ngf=8):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 4),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 4, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(inplace=True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, x):
        return self.main(x)


class D(nn.Module):
    def __init__(self, ndf=8):
        super().__init__()
        self.main = nn.Sequential(
            spectral_norm(nn.Conv2d(1, ndf, 4, 2, 1, bias=False)),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.main(x).view(-1)


netG, netD = (G().apply(weights_init), D().apply(weights_init))
data = TensorDataset(torch.randn(96, 1, 16, 16).clamp(-1, 1))
loader = DataLoader(data, batch_size=16, shuffle=True, drop_last=True)
criterion = nn.BCELoss()
optD = optim.Adam(netD.parameters(), lr=0.0002, betas=(0.5, 0.999))
optG = optim.Adam(netG.parameters(), lr=0.0002, betas=(0.5, 0.999))
for epoch in range(3):
    for i, (real,) in enumerate(loader):
        netD.zero_grad()
        label = torch.full((real.size(0),), 1.0)
        out = netD(real)
        errD_real = criterion(out, label)
        errD_real.backward()
        D_x = out.mean().item()
        noise = torch.randn(real.size(0), 16, 1, 1)
        fake = netG(noise)
        label.fill_(0.0)
        out = netD(fake.detach())
        errD_fake = criterion(out, label)
        errD_fake.backward()
        optD.step()
        netG.zero_grad()
        label.fill_(1.0)
        out = netD(fake)
        errG = criterion(out, label)
        errG.backward()
        optG.step()
        print(f"{epoch} {i} {errD_real.item() + errD_fake.item():.6f} {errG.item():.6f} {D_x:.6f}")
alpha = torch.rand(16, 1, 1, 1)
inter = (alpha * real + (1 - alpha) * fake.detach()).requires_grad_(True)
gr = torch.autograd.grad(
    outputs=netD(inter).sum(), inputs=inter, create_graph=True, retain_graph=True, only_inputs=True
)[0]
gp = ((gr.view(gr.size(0), -1).norm(2, dim=1) - 1) ** 2).mean()
netD.zero_grad()
gp.backward()
print("gp", gp.item(), sum(p.grad.abs().sum().item() for p in netD.parameters() if p.grad is not None))
