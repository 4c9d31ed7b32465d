"""Private names of `torch.nn.modules.utils` that layers of other packages are made of."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def _reverse_repeat_tuple(t: Sequence[Any], n: int) -> tuple[Any, ...]:
    """The elements from the last to the first, each `n` times: paddings of a layer as `pad` takes them."""
    turned: list[Any] = []
    for one in reversed(t):
        turned += [one] * n
    return tuple(turned)


def _list_with_default(out_size: Any, defaults: Sequence[int]) -> Any:
    """Sizes of a result, where None is that of the input; a single number as it is."""
    if isinstance(out_size, int):
        return out_size
    count = len(out_size)
    if count >= len(defaults):
        raise ValueError(f"Input dimension should be at least {count + 1}")
    return [usual if size is None else size for size, usual in zip(out_size, defaults[len(defaults) - count:])]
