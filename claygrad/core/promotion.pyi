from collections.abc import Sequence
from typing import Any

from claygrad.core.dtypes import dtype

def describe(tensors: Sequence[Any]) -> str: ...
def result_type(*operands: Any) -> dtype: ...
