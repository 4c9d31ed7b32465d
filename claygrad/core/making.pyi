from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class Factory:
    @property
    def __wrapped__(self) -> Callable: ...
    def __init__(self, fn: Callable, name: str) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
