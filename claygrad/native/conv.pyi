from collections.abc import Sequence
from typing import Any

def run(name: str, a: Any, b: Any, made: Any, x_shape: tuple[int, ...], w_shape: tuple[int, ...],
        out_shape: tuple[int, ...], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
        groups: int, bias: Any = None) -> bool: ...
