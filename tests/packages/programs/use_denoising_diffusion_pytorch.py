"""Diffusion of lucidrains: a small U-Net learns to denoise pictures and sequences, a few steps of drawing."""
import torch
from denoising_diffusion_pytorch import GaussianDiffusion, GaussianDiffusion1D, Unet, Unet1D
from report import tell


def main():
    torch.manual_seed(0)
    model = Unet(dim=8, dim_mults=(1, 2), flash_attn=False, attn_heads=2, attn_dim_head=8)
    diffusion = GaussianDiffusion(model, image_size=16, timesteps=20, sampling_timesteps=3)
    optimizer = torch.optim.Adam(diffusion.parameters(), 1e-3)
    x = torch.rand(2, 3, 16, 16)
    for _ in range(2):
        loss = diffusion(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell("loss", loss)
    torch.manual_seed(1)
    tell("drawn", diffusion.sample(batch_size=1))
    line = GaussianDiffusion1D(Unet1D(dim=8, dim_mults=(1, 2), channels=4), seq_length=16, timesteps=10)
    loss = line(torch.rand(2, 4, 16))
    loss.backward()
    tell("line", loss)


main()
