"""A generator and a discriminator play for the points of a ring."""
import math

import torch
import torch.nn as nn

torch.manual_seed(42)
latent = 4


def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, 0.0, 0.2)
        if m.bias is not None:
            nn.init.zeros_(m.bias)


def real_batch(n):
    angle = torch.rand(n) * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.02 * torch.randn(n, 2)


netG = nn.Sequential(nn.Linear(latent, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(True), nn.Linear(32, 32), nn.ReLU(True), nn.Linear(32, 2), nn.Tanh())
netD = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2, inplace=True), nn.Linear(32, 32), nn.LeakyReLU(0.2, inplace=True), nn.Linear(32, 1), nn.Sigmoid())
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCELoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
fixed_noise = torch.randn(6, latent)

for step in range(16):
    netD.zero_grad()
    real = real_batch(64)
    label = torch.full((64,), 1.0)
    output = netD(real).view(-1)
    errD_real = criterion(output, label)
    errD_real.backward()
    D_x = output.mean().item()
    fake = netG(torch.randn(64, latent))
    label.fill_(0.0)
    output = netD(fake.detach()).view(-1)
    errD_fake = criterion(output, label)
    errD_fake.backward()
    optimizerD.step()

    netG.zero_grad()
    label.fill_(1.0)
    output = netD(fake).view(-1)
    errG = criterion(output, label)
    errG.backward()
    optimizerG.step()
    if step % 5 == 0:
        print(f"[{step}] Loss_D: {(errD_real + errD_fake).item():.4f} Loss_G: {errG.item():.4f} D(x): {D_x:.4f} D(G(z)): {output.mean().item():.4f}")

netG.eval()
with torch.no_grad():
    print(netG(fixed_noise))
