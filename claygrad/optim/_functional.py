"""The steps of all optimizers as functions over lists."""
from claygrad.optim.adadelta import adadelta
from claygrad.optim.adagrad import adagrad
from claygrad.optim.adam import adam
from claygrad.optim.adamax import adamax
from claygrad.optim.adamw import adamw
from claygrad.optim.asgd import asgd
from claygrad.optim.nadam import nadam
from claygrad.optim.radam import radam
from claygrad.optim.rmsprop import rmsprop
from claygrad.optim.rprop import rprop
from claygrad.optim.sgd import sgd

__all__ = ["adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd"]
