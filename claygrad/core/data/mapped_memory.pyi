from typing import final

@final
class Mapping: ...

def map_file(descriptor: int, nbytes: int, *, private: bool = False, keep: bool = False, fixed: bool = False,
             name: str | None = None, path: str | None = None) -> Mapping: ...
