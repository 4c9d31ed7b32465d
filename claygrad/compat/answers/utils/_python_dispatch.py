"""Answers of `torch.utils._python_dispatch`: nothing is dispatched by Python, and no tensor is a wrapper that a
compiler could open. Modes can be subclassed and made; entering one is refused."""
from __future__ import annotations

from typing import Any, NoReturn

from claygrad.compat.refusing import always, refusal

is_traceable_wrapper_subclass = is_traceable_wrapper_subclass_type = always(False)
is_in_torch_dispatch_mode = is_in_any_mode_without_ignore_compile_internals = always(False)
any_torch_dispatch_mode_on_stack = always(False)
_get_current_dispatch_mode = always(None)


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes that are entered: none."""
    return []


class TorchDispatchMode:
    """Sees every operation below autograd in PyTorch. Here it cannot be entered."""

    only_a_name = "torch.utils._python_dispatch.TorchDispatchMode"

    def __init__(self, _dispatch_key: Any = None) -> None:
        """Nothing is kept."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> NoReturn:
        raise refusal(TorchDispatchMode.only_a_name)

    def __exit__(self, *error: object) -> None:
        """Never entered."""

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Make one."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it is a part of PyTorch's own machinery."""
        return False


BaseTorchDispatchMode = TorchDispatchMode
