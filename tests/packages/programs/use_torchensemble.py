"""Ensembles of torchensemble: voting, bagging, gradient boosting and snapshots of small networks."""
import logging

import torch
from report import tell
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchensemble import BaggingRegressor, GradientBoostingRegressor, SnapshotEnsembleClassifier, VotingClassifier

logging.disable(logging.CRITICAL)


class Net(nn.Module):
    def __init__(self, out=1):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, out))

    def forward(self, x):
        return self.net(x)


def main():
    torch.manual_seed(0)
    x = torch.randn(48, 4)
    number, label = x.sum(1, keepdim=True), (x.sum(1) > 0).long()
    for kind, y, out, options in ((BaggingRegressor, number, 1, {}), (GradientBoostingRegressor, number, 1, {}),
                                  (VotingClassifier, label, 2, {}), (SnapshotEnsembleClassifier, label, 2, {})):
        torch.manual_seed(1)
        model = kind(estimator=Net, estimator_args={"out": out}, n_estimators=2, cuda=False, **({} if kind is GradientBoostingRegressor or kind is SnapshotEnsembleClassifier else {"n_jobs": 1}))
        model.set_optimizer("Adam", lr=1e-2)
        model.set_criterion(nn.MSELoss() if out == 1 else nn.CrossEntropyLoss())
        loader = DataLoader(TensorDataset(x, y), 16)
        model.fit(loader, epochs=2, save_model=False)
        tell(kind.__name__, model.predict(x))
        tell("score", model.evaluate(loader))


main()
