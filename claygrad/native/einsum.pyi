from collections.abc import Sequence
from typing import Any

from claygrad.core.tensor import Tensor

def einsum(equation: Any, operands: Sequence[Any]) -> Tensor | None: ...
