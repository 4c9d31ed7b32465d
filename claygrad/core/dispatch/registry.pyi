from typing import final

from claygrad.core.op import Op

@final
class reference_only:
    def __enter__(self) -> reference_only: ...
    def __exit__(self, *_: object) -> None: ...

def has_native_form(op: Op) -> bool: ...
