"""Automatic differentiation: `backward` and `grad` over a recorded graph, and everything around them."""

from __future__ import annotations

from claygrad.core.cpython.entry_points import guard_package
from claygrad._lazy import lazy
from claygrad.autograd import functional, graph
from claygrad.autograd._run import backward, grad
from claygrad.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from claygrad.autograd.function import Function
from claygrad.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from claygrad.autograd.gradcheck import gradcheck, gradgradcheck
from claygrad.autograd.variable import Variable
from claygrad.core.graph.node import SavedTensor

__all__ = [
    "Function",
    "SavedTensor",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_multithreading_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

__getattr__ = lazy(__name__, ("forward_ad",))

guard_package(__name__)          # Note [Entry points]
