"""Things around training: hooks, data, checkpoints, summaries."""
from claygrad.utils import hooks, model_summary

__all__ = ["hooks", "model_summary"]

_LAZY = ("checkpoint", "data", "deterministic", "dlpack", "pytree", "tensorboard")


def __getattr__(name: str) -> object:
    if name in _LAZY:
        import importlib
        return importlib.import_module(f"claygrad.utils.{name}")
    raise AttributeError(f"module 'claygrad.utils' has no attribute '{name}'")
