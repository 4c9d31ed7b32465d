from typing import TypeVar

from claygrad.core.op import Op
from claygrad.core.tensor import Tensor

_T = TypeVar("_T")

def conj(x: _T) -> _T: ...
def into(name: str, target: Tensor, result: Tensor) -> Tensor: ...
def install(op: Op) -> Op: ...
