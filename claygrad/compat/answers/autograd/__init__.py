"""Answers of `torch.autograd` that other packages ask for."""
from claygrad.compat.refusing import always
from claygrad.core.engine import run_has_inputs

_profiler_enabled = kineto_available = always(False)


def _is_checkpoint_valid() -> bool:
    """Whether a reentrant checkpoint may run: not in a backward that was asked for some gradients only."""
    return not run_has_inputs()
