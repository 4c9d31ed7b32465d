"""Optimizers: `torch.optim`."""
from claygrad.core.cpython.entry_points import guard_package
from claygrad.optim import _functional as _functional
from claygrad.optim import lr_scheduler, swa_utils
from claygrad.optim._adafactor import Adafactor
from claygrad.optim._muon import Muon
from claygrad.optim._stateless import swap_in_optimizer_params_and_state
from claygrad.optim.adadelta import Adadelta
from claygrad.optim.adagrad import Adagrad
from claygrad.optim.adam import Adam
from claygrad.optim.adamax import Adamax
from claygrad.optim.adamw import AdamW
from claygrad.optim.asgd import ASGD
from claygrad.optim.lbfgs import LBFGS
from claygrad.optim.nadam import NAdam
from claygrad.optim.optimizer import Optimizer
from claygrad.optim.radam import RAdam
from claygrad.optim.rmsprop import RMSprop
from claygrad.optim.rprop import Rprop
from claygrad.optim.sgd import SGD
from claygrad.optim.sparse_adam import SparseAdam

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]

guard_package(__name__)          # Note [Entry points]
