"""Sequences and time series of small packages: a conditional random field, a Mamba in plain torch, k-means, averages of weights."""
import torch
from mambapy.mamba import Mamba, MambaConfig
from report import tell
from torch_ema import ExponentialMovingAverage
from torch_kmeans import KMeans
from torchcrf import CRF


def main():
    torch.manual_seed(0)
    crf = CRF(4, batch_first=True)
    scores = torch.randn(3, 6, 4, requires_grad=True)
    tags, mask = torch.randint(4, (3, 6)), torch.ones(3, 6, dtype=torch.bool)
    mask[1, 4:] = False
    loss = -crf(scores, tags, mask=mask)
    loss.backward()
    tell("crf", loss)
    tell("gradient", scores.grad)
    tell("best", [len(path) for path in crf.decode(scores, mask=mask)])
    model = Mamba(MambaConfig(d_model=8, n_layers=2, d_state=4))
    average = ExponentialMovingAverage(model.parameters(), decay=0.9)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    x = torch.randn(2, 8, 8)
    for _ in range(3):
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update()
        tell("mamba", loss)
    with average.average_parameters():
        tell("averaged", model(x))
    torch.manual_seed(1)
    found = KMeans(n_clusters=3, seed=1, verbose=False)(torch.randn(1, 30, 2))
    tell("centers", found.centers)


main()
