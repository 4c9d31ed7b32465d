"""Variational autoencoders of pythae: five kinds, trained and sampled."""
import torch
from pythae.models import (
    IWAE,
    RHVAE,
    VAE,
    VQVAE,
    WAE_MMD,
    BetaVAE,
    BetaVAEConfig,
    IWAEConfig,
    RHVAEConfig,
    VAEConfig,
    VQVAEConfig,
    WAE_MMD_Config,
)
from pythae.samplers import NormalSampler
from report import tell


def main():
    x = torch.rand(16, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    for kind, config, options in ((VAE, VAEConfig, {}), (BetaVAE, BetaVAEConfig, {"beta": 2.0}), (IWAE, IWAEConfig, {"number_samples": 3}),
                                  (WAE_MMD, WAE_MMD_Config, {}), (RHVAE, RHVAEConfig, {}),
                                  (VQVAE, VQVAEConfig, {"num_embeddings": 8})):
        torch.manual_seed(1)
        model = kind(config(input_dim=(1, 4, 4), latent_dim=4, **options))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for _ in range(3):
            optimizer.zero_grad()
            out = model({"data": x})
            out.loss.backward()
            optimizer.step()
            tell(kind.__name__, out.loss)
        if kind is VAE:
            tell("drawn", NormalSampler(model).sample(num_samples=2, return_gen=True, output_dir=None))


main()
