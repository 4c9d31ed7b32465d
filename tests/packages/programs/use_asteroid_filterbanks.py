"""Filterbanks of asteroid: free, STFT, analytic and parametrized sinc encoders with their decoders, trained to give sound back."""
import torch
from asteroid_filterbanks import (
    STFTFB,
    AnalyticFreeFB,
    Decoder,
    Encoder,
    FreeFB,
    ParamSincFB,
    make_enc_dec,
)
from asteroid_filterbanks.transforms import apply_mag_mask, mag
from report import tell


def main():
    torch.manual_seed(0)
    sound = torch.sin(torch.linspace(0, 60, 512))[None, None] + 0.1 * torch.randn(2, 1, 512)
    for bank in (FreeFB, STFTFB, AnalyticFreeFB, ParamSincFB):
        encoder = Encoder(bank(n_filters=32, kernel_size=32 if bank is not ParamSincFB else 33, stride=16))
        decoder = Decoder(bank(n_filters=32, kernel_size=32 if bank is not ParamSincFB else 33, stride=16))
        optimizer = torch.optim.Adam([p for p in (*encoder.parameters(), *decoder.parameters()) if p.requires_grad] or
                                     [torch.zeros(1, requires_grad=True)], 1e-2)
        for _ in range(2):
            back = decoder(encoder(sound))
            loss = (back - sound[..., :back.shape[-1]]).square().mean()
            if loss.requires_grad:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            tell(bank.__name__, loss)
    encoder, decoder = make_enc_dec("stft", n_filters=64, kernel_size=64, stride=32)
    seen = encoder(sound)
    tell("magnitudes", mag(seen))
    tell("masked", decoder(apply_mag_mask(seen, torch.sigmoid(mag(seen)))))


main()
