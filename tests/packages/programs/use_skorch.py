"""skorch: networks as scikit-learn estimators, in a pipeline, a grid search and a cross validation."""
import numpy as np
import torch
from report import tell
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EarlyStopping, EpochScoring, LRScheduler
from torch import nn


class Net(nn.Module):
    def __init__(self, width=8, inputs=10, outputs=2):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(width, outputs))

    def forward(self, x):
        return self.body(x)


def main():
    x, y = make_classification(200, 10, n_informative=5, random_state=0)
    x, y = x.astype(np.float32), y.astype(np.int64)
    torch.manual_seed(0)
    net = NeuralNetClassifier(Net, criterion=nn.CrossEntropyLoss, optimizer=torch.optim.Adam, lr=0.01, max_epochs=4, verbose=0,
                              callbacks=[EarlyStopping(), LRScheduler("StepLR", step_size=2), EpochScoring("roc_auc", False)])
    pipe = make_pipeline(StandardScaler(), net)
    pipe.fit(x, y)
    tell("train losses", net.history[:, "train_loss"])
    tell("valid losses", net.history[:, "valid_loss"])
    tell("auc", [float(v) for v in net.history[:, "roc_auc"]])
    tell("probabilities", pipe.predict_proba(x[:20]))
    torch.manual_seed(1)
    plain = NeuralNetClassifier(Net, criterion=nn.CrossEntropyLoss, lr=0.1, max_epochs=2, verbose=0, train_split=None)
    search = GridSearchCV(plain, {"lr": [0.01, 0.1], "module__width": [4, 8]}, cv=2, scoring="neg_log_loss").fit(x, y)
    tell("scores", search.cv_results_["mean_test_score"])
    x, y = make_regression(100, 10, random_state=0)
    torch.manual_seed(2)
    net = NeuralNetRegressor(Net, module__outputs=1, lr=1e-4, max_epochs=2, verbose=0)
    tell("regression", cross_val_score(net, x.astype(np.float32), y.astype(np.float32)[:, None] / 100, cv=2))


main()
