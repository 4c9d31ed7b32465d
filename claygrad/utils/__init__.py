"""Things around training: hooks, data, checkpoints, summaries."""
from claygrad._lazy import lazy
from claygrad.utils import hooks, model_summary

__all__ = ["hooks", "model_summary"]

__getattr__ = lazy(__name__, ("benchmark", "checkpoint", "data", "deterministic", "dlpack", "model_zoo", "pytree",
                              "tensorboard"))
