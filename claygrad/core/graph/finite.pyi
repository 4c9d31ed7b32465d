from typing import Any

from typing_extensions import disjoint_base

from claygrad.core.graph.observe import Call, Observer

def kinds(value: Any) -> set[str]: ...

@disjoint_base
class NonFiniteObserver(Observer):
    tolerant: bool
    def found(self, call: Call, kinds: set[str], given: bool) -> None: ...
