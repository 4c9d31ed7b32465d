"""`SummaryWriter` for TensorBoard, through tensorboardX or tensorboard, whichever is installed.

    writer = SummaryWriter("runs/first")
    writer.add_scalar("loss", loss, step)
"""
from __future__ import annotations

from typing import Any

from claygrad.core import Tensor

__all__ = ["SummaryWriter"]
__path__: list[str] = []        # a package in PyTorch: modules below it come from the tables of compat

_MORE = ("add_audio", "add_custom_scalars", "add_custom_scalars_marginchart", "add_custom_scalars_multilinechart",
         "add_embedding", "add_image_with_boxes", "add_mesh", "add_pr_curve_raw", "add_tensor", "add_video")


def _plain(value: Any) -> Any:
    """Tensors as arrays, in containers too: that is what the writers know."""
    if isinstance(value, Tensor):
        value = value.detach()
        return (value.float() if value.dtype.name == "bfloat16" else value).numpy()
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    return value


def _library() -> Any:
    """tensorboardX, which writes all that TensorBoard shows; without it, what `tensorboard` itself can."""
    import importlib

    for needed, writer in (("tensorboardX",) * 2, ("tensorboard.compat.proto", "claygrad.utils._event_writer")):
        try:
            importlib.import_module(needed)
        except ImportError:
            continue
        return importlib.import_module(writer)
    raise ModuleNotFoundError("No module named 'tensorboard'\n  SummaryWriter writes through tensorboardX or "
                              "tensorboard: pip install claygrad[tensorboard]", name="tensorboard")


class SummaryWriter:
    """Writes numbers, pictures, histograms and more to a folder that TensorBoard shows.

    All methods are those of tensorboardX's writer, which take tensors here. Through tensorboard alone there are
    numbers, histograms, pictures, figures, text, curves of precision and tables of hyperparameters.
    """

    def __init__(self, log_dir: str | None = None, comment: str = "", purge_step: int | None = None,
                 max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        self._writer = _library().SummaryWriter(
            log_dir, comment=comment, purge_step=purge_step, max_queue=max_queue, flush_secs=flush_secs,
            filename_suffix=filename_suffix)
        self.log_dir: str = self._writer.logdir

    def get_logdir(self) -> str:
        """The folder that is written to."""
        return self.log_dir

    def __getattr__(self, name: str) -> Any:
        if name == "add_graph":
            raise NotImplementedError("add_graph: claygrad has no traced graphs to draw")
        if name in _MORE and not hasattr(self._writer, name):
            raise NotImplementedError(f"{name}: tensorboard alone does not write it\n  pip install tensorboardX")
        if name == "_writer" or not hasattr(self._writer, name):
            raise AttributeError(f"'SummaryWriter' object has no attribute '{name}'")
        method = getattr(self._writer, name)
        if not callable(method):
            return method

        def call(*arguments: Any, **options: Any) -> Any:
            return method(*map(_plain, arguments), **{key: _plain(value) for key, value in options.items()})
        return call

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
