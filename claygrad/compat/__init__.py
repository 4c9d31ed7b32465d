"""Standing in for torch: programs and packages that `import torch` get claygrad.

    claygrad run train.py            # from the shell
    claygrad.as_torch()              # from inside a program, before anything imports torch
    with claygrad.as_torch(): ...    # for a while
"""
from claygrad.compat.standin import as_torch, stands_in

__all__ = ["as_torch", "stands_in"]
