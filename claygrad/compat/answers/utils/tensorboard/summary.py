"""`torch.utils.tensorboard.summary`: parts of event files, made by tensorboardX's functions of the same names."""
from __future__ import annotations

from typing import Any


def hparams(hparam_dict: dict[str, Any] | None = None, metric_dict: dict[str, Any] | None = None,
            hparam_domain_discrete: dict[str, list[Any]] | None = None) -> tuple[Any, Any, Any]:
    """Three summaries that say which hyperparameters and metrics a run has."""
    try:
        from tensorboardX.summary import hparams as made
    except ImportError:
        raise ModuleNotFoundError("torch.utils.tensorboard.summary.hparams needs tensorboardX\n"
                                  "  pip install tensorboardX") from None
    if hparam_domain_discrete:
        raise NotImplementedError("hparam_domain_discrete: tensorboardX has no counterpart\n  leave it out")
    summaries: tuple[Any, Any, Any] = made(hparam_dict, metric_dict)
    return summaries
