"""Kernels for NVIDIA's GPUs: sources (`*.cu`), their launcher, and the native forms of operations that they are.

CuPy compiles a source with NVRTC when one of its kernels is first used, and keeps the result on disk.
"""
from __future__ import annotations

from typing import Any

from claygrad.cuda._kernels.forms import forms
from claygrad.cuda._kernels.launch import Kernels
from claygrad.cuda._kernels.steps import Steps


def install(table: Any) -> None:
    """Give the table of `cuda` its native forms."""
    kernels = Kernels(table.module)
    table.forms |= forms(kernels)
    table.steps = Steps(table, kernels)
