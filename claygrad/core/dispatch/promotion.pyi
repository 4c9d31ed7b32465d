from types import CodeType
from typing import Any

from claygrad.core.data.dtype import dtype

def facts(t: Any) -> tuple[tuple[int, ...], str, str, tuple[CodeType, int] | None, bool, bool]: ...
def result_type(*operands: Any) -> dtype: ...
