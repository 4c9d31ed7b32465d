from collections.abc import Sequence
from typing import Any

def run(name: str, a: Any, made: Any, places: Any | None, size: tuple[int, ...], out: tuple[int, ...],
        kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
        counted: bool = True, divisor: int = 0) -> bool: ...
