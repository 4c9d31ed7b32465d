"""Metric learning: losses over pairs, triplets and proxies, miners, accuracy of the embedding."""
import torch
from pytorch_metric_learning import distances, losses, miners, reducers
from report import tell
from torch import nn


def main():
    torch.manual_seed(0)
    x, y = torch.randn(24, 6), torch.arange(24) % 4
    net = nn.Linear(6, 5)
    criteria = {"triplet": losses.TripletMarginLoss(distance=distances.CosineSimilarity(), reducer=reducers.ThresholdReducer(low=0)),
                "contrastive": losses.ContrastiveLoss(), "ntxent": losses.NTXentLoss(), "arcface": losses.ArcFaceLoss(4, 5),
                "multi": losses.MultiSimilarityLoss(), "proxy": losses.ProxyNCALoss(4, 5), "circle": losses.CircleLoss(), "supcon": losses.SupConLoss()}
    miner = miners.MultiSimilarityMiner()
    for name, criterion in criteria.items():
        optimizer = torch.optim.SGD([*net.parameters(), *criterion.parameters()], 0.1)
        embedded = net(x)
        loss = criterion(embedded, y, miner(embedded, y)) if name in ("triplet", "multi") else criterion(embedded, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell(name, loss)
    tell("weights", net.weight)


main()
