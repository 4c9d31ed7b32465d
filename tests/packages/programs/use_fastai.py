"""fastai's Learner on generated data: a tabular-like network and a small convolution, one-cycle training, metrics, callbacks."""
import numpy as np
import torch
from fastai.callback.all import *  # noqa: F403
from fastai.data.all import *  # noqa: F403
from fastai.learner import Learner, load_learner  # noqa: F401
from fastai.metrics import accuracy, error_rate
from fastai.optimizer import Adam, ranger
from fastai.torch_core import TensorBase, set_seed
from report import tell
from torch import nn


def main():
    set_seed(5)
    x = torch.randn(256, 8)
    y = (x[:, :2].sum(-1) > 0).long()
    train = list(zip(x[:192], y[:192], strict=True))
    valid = list(zip(x[192:], y[192:], strict=True))
    dls = DataLoaders.from_dsets(train, valid, bs=32, num_workers=0)  # noqa: F405
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.BatchNorm1d(16), nn.Linear(16, 2))
    learner = Learner(dls, model, loss_func=nn.CrossEntropyLoss(), metrics=[accuracy, error_rate], opt_func=Adam)
    with learner.no_bar(), learner.no_logging():
        learner.fit_one_cycle(3, 1e-2)
    tell("losses", [float(v) for v in learner.recorder.losses])
    tell("values", np.array([list(map(float, row)) for row in learner.recorder.values]))
    with learner.no_bar(), learner.no_logging():
        learner.opt_func = ranger
        learner.create_opt()
        learner.fit_flat_cos(1, 1e-3)
        tell("validated", [float(v) for v in learner.validate()])
        predictions, targets = learner.get_preds()
    tell("predictions", predictions)
    kept = TensorBase(torch.arange(6.0))
    tell("kept", type(kept * 2).__name__)


main()
