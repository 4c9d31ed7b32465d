from typing import Any

from claygrad.core.dtypes import dtype

def result_type(*operands: Any) -> dtype: ...
