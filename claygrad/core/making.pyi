from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class Factory:
    @property
    def __wrapped__(self) -> Callable: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def made_by(fn: Callable, name: str) -> Factory: ...
