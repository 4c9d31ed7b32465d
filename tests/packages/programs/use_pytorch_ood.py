"""Detectors of pytorch-ood: scores of samples from elsewhere by softmax, energy, entropy and Mahalanobis distance."""
import torch
from pytorch_ood.detector import EnergyBased, Entropy, Mahalanobis, MaxLogit, MaxSoftmax
from report import tell
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    body, head = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh()), torch.nn.Linear(8, 3)
    model = torch.nn.Sequential(body, head)
    x, y = torch.randn(60, 4), torch.arange(60) % 3
    other = torch.randn(20, 4) * 3
    for kind in (MaxSoftmax, EnergyBased, Entropy, MaxLogit):
        detector = kind(model)
        tell(kind.__name__, detector(other))
        tell("known", detector(x))
    detector = Mahalanobis(body)
    detector.fit(DataLoader(TensorDataset(x, y), 20))
    tell("Mahalanobis", detector(other))


main()
