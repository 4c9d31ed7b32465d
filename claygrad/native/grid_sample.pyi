from typing import Any

def run(name: str, grid: Any, a: Any, b: Any | None, made: Any, shape: tuple[int, ...], mode: int, padding: int,
        align: bool) -> bool: ...
