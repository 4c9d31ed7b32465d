from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class Factory:
    __name__: str
    reported: Any
    info: dict[str, Any]
    @property
    def __wrapped__(self) -> Callable: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def method_form(self) -> Factory: ...

def as_factory(fn: Callable, name: str | None = None, takes_none: bool = False) -> Factory: ...
