"""Diffusion: a small U-Net learns to denoise, schedulers draw pictures, an autoencoder goes there and back."""
import torch
from diffusers import AutoencoderKL, DDIMScheduler, DDPMScheduler, UNet2DModel
from report import tell


def main():
    torch.manual_seed(0)
    net = UNet2DModel(sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(16, 32),
                      down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"), norm_num_groups=8)
    schedule, optimizer = DDPMScheduler(num_train_timesteps=20), torch.optim.AdamW(net.parameters(), 1e-3)
    clean = torch.randn(4, 1, 8, 8)
    for _ in range(3):
        noise, steps = torch.randn_like(clean), torch.randint(0, 20, (4,))
        loss = torch.nn.functional.mse_loss(net(schedule.add_noise(clean, noise, steps), steps).sample, noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        tell("loss", loss)
    net.eval()
    for kind in (DDPMScheduler, DDIMScheduler):
        torch.manual_seed(1)
        sampler = kind(num_train_timesteps=20)
        sampler.set_timesteps(5)
        picture = torch.randn(1, 1, 8, 8)
        with torch.no_grad():
            for step in sampler.timesteps:
                picture = sampler.step(net(picture, step).sample, step, picture).prev_sample
        tell(kind.__name__, picture)
    torch.manual_seed(2)
    coder = AutoencoderKL(in_channels=1, out_channels=1, block_out_channels=(8,), norm_num_groups=4, latent_channels=2)
    tell("there and back", coder(clean).sample)


main()
