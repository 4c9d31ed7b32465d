"""Hyperdimensional computing with torch-hd: hypervectors bound and bundled, a classifier of centroids."""
import torch
import torchhd
from report import tell


def main():
    torch.manual_seed(0)
    for kind in ("MAP", "FHRR", "HRR"):
        a, b, c = torchhd.random(3, 64, vsa=kind)
        both = torchhd.bind(a, b)
        tell(f"{kind} bound", torchhd.cosine_similarity(torchhd.bind(both, torchhd.inverse(a)), torch.stack([a, b, c])))
        tell(f"{kind} bundled", torchhd.cosine_similarity(torchhd.bundle(a, c), torch.stack([a, b, c])))
        tell(f"{kind} permuted", torchhd.permute(a, shifts=3).as_subclass(torch.Tensor))
    codes = torchhd.embeddings.Projection(5, 128)
    x = torch.randn(30, 5) + torch.arange(3).repeat(10)[:, None]
    y = torch.arange(3).repeat(10)
    model = torchhd.models.Centroid(128, 3)
    with torch.no_grad():
        encoded = torchhd.hard_quantize(codes(x))
        model.add(encoded, y)
        tell("votes", model(encoded, dot=True))


main()
