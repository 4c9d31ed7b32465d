"""Spectrograms as layers: nnAudio's STFT, Mel, MFCC and constant-Q, with gradients to the sound and trainable kernels."""
import torch
from nnAudio import features
from report import tell


def main():
    torch.manual_seed(0)
    sound = torch.sin(torch.linspace(0, 400, 4000))[None] + 0.1 * torch.randn(1, 4000)
    sound.requires_grad_()
    layers = {
        "stft": features.STFT(n_fft=256, hop_length=64, output_format="Magnitude", verbose=False),
        "mel": features.MelSpectrogram(sr=4000, n_fft=256, n_mels=16, hop_length=64, verbose=False),
        "mfcc": features.MFCC(sr=4000, n_mfcc=8, n_fft=256, n_mels=16, hop_length=64, verbose=False),
        "cqt": features.CQT1992v2(sr=4000, hop_length=64, fmin=220, n_bins=24, verbose=False),
    }
    for name, layer in layers.items():
        out = layer(sound)
        tell(name, out)
        tell("gradient", torch.autograd.grad(out.pow(2).mean(), sound)[0])
    learnt = features.STFT(n_fft=64, hop_length=16, trainable=True, output_format="Complex", verbose=False)
    optimizer = torch.optim.SGD(learnt.parameters(), 1e-3)
    for _ in range(2):
        loss = learnt(sound.detach()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell("loss", loss)


main()
