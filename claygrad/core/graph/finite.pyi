from typing import Any

from claygrad.core.graph.observe import Call, Observer

def kinds(value: Any) -> set[str]: ...

class NonFiniteObserver(Observer):
    tolerant: bool
    def found(self, call: Call, kinds: set[str], given: bool) -> None: ...
