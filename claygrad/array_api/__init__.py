"""The array API standard, 2024.12: functions with the names, arguments and dtypes that many libraries agree on.

`x.__array_namespace__()` is this module for every tensor x. Its functions take tensors and give
tensors of the class `Array`, whose operators follow the standard too. Gradients are recorded.

>>> from claygrad import array_api as xp
>>> xp.sum(xp.asarray([[1, 2], [3, 4]], dtype=xp.uint8), axis=1)
Array([3, 7], dtype=claygrad.uint64)
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.array_api import _creation, _dtypes, _elementwise, _manipulation, _reductions, fft, linalg
from claygrad.array_api._array import Array, publish as _publish
from claygrad.array_api._creation import *  # noqa: F403
from claygrad.array_api._dtypes import *  # noqa: F403
from claygrad.array_api._dtypes import __array_namespace_info__
from claygrad.array_api._elementwise import *  # noqa: F403
from claygrad.array_api._manipulation import *  # noqa: F403
from claygrad.array_api._reductions import *  # noqa: F403
from claygrad.core import DTYPES as _DTYPES

if TYPE_CHECKING:
    from typing import Any

    def __getattr__(name: str) -> Any: ...          # functions of elements come from a table

for _module in (_creation, _dtypes, _elementwise, _manipulation, _reductions):
    _publish(globals(), _module.__all__)
for _module in (fft, linalg):
    _publish(vars(_module), _module.__all__)

__array_api_version__ = "2024.12"
bool, int8, int16, int32, int64 = (_DTYPES[_name] for _name in ("bool", "int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = (_DTYPES[_name] for _name in ("uint8", "uint16", "uint32", "uint64"))
float32, float64, complex64, complex128 = (
    _DTYPES[_name] for _name in ("float32", "float64", "complex64", "complex128"))
e, inf, nan, newaxis, pi = 2.718281828459045, float("inf"), float("nan"), None, 3.141592653589793
