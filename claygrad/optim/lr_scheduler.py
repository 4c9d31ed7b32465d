"""Learning-rate schedules: `torch.optim.lr_scheduler`."""
from claygrad.optim._combined_schedules import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from claygrad.optim._cyclic_schedules import CyclicLR, OneCycleLR
from claygrad.optim._schedule import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from claygrad.optim._schedule import LRScheduler
from claygrad.optim._schedule import _LRScheduler as _LRScheduler
from claygrad.optim._schedules import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
