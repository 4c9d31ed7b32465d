"""`torch._vmap_internals`: vmap by its former names."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.func import vmap

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["_vmap", "vmap"]


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0,
          allow_none_pass_through: bool = False) -> Callable[..., Any]:
    """As `vmap`; with `allow_none_pass_through`, what the function returns may be None in places, and stays so."""
    if not allow_none_pass_through:
        return vmap(func, in_dims, out_dims)

    def mapped(*args: Any) -> Any:
        several: list[Any] = []

        def without(*examples: Any) -> Any:
            found = func(*examples)
            several[:] = [isinstance(found, tuple), [] if found is None else
                          [x is None for x in (found if isinstance(found, tuple) else (found,))]]
            return tuple(x for x in (found if isinstance(found, tuple) else (found,)) if x is not None)

        found = iter(vmap(without, in_dims, out_dims)(*args))
        made = tuple(None if absent else next(found) for absent in several[1])
        return made if several[0] else made[0] if made else None

    return mapped
