"""Modules that are computed once more in backward, in place of keeping what they compute."""

from claygrad._lazy import lazy

__getattr__ = lazy(__name__, ("checkpoint_wrapper",))
