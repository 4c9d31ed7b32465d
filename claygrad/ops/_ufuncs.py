"""NumPy's universal functions on tensors: `np.sin(x)`, `array * x`.

They compute with NumPy and give what they give in PyTorch: a tensor with NumPy's result. Where a gradient is to be
recorded (PyTorch refuses there), and for bfloat16, which NumPy does not know, the operation of the same meaning is
used, in the dtype that NumPy would compute in.
"""
from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.core import DTYPES, Tensor, dtype_of_numpy, promote_types
from claygrad.core.graph.modes import get_grad_enabled

if TYPE_CHECKING:
    from collections.abc import Callable

# By the names of NumPy's functions, and of SciPy's; most of ours are called the same.
_OTHER_NAMES = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "negative": "neg", "absolute": "abs",
    "fabs": "abs", "power": "pow", "pow": "pow", "mod": "remainder", "rint": "round", "conjugate": "conj",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "degrees": "rad2deg", "radians": "deg2rad", "psi": "digamma", "gammaln": "lgamma",
    "expit": "sigmoid"}
_SAME_NAMES = frozenset(
    "add remainder fmod floor_divide float_power positive sign floor ceil trunc conj exp exp2 expm1 log log2 log10 "
    "log1p sqrt square reciprocal sin cos tan sinh cosh tanh asin acos atan atan2 asinh acosh atanh deg2rad rad2deg "
    "hypot logaddexp logaddexp2 maximum minimum fmax fmin copysign heaviside matmul xlogy logit erf erfc erfinv "
    "digamma abs".split())
_TAKE_NUMBERS = frozenset(("add", "sub", "mul", "div", "pow", "remainder", "floor_divide"))
_SPECIAL = frozenset("erfcx i0 i0e i1 i1e entr ndtr ndtri log_ndtr xlog1py zeta".split())
# NumPy's functions that are made of several of ours: of the library and the inputs.
_COMPOSED: dict[str, Callable[..., Any]] = {
    "cbrt": lambda library, x: library.copysign(library.pow(library.abs(x), 1 / 3), x.detach()),
    "divmod": lambda library, x, y: (library.div(x, y, rounding_mode="floor"), library.remainder(x, y)),
    "modf": lambda library, x: (library.where(library.isinf(x), library.copysign(library.zeros_like(x), x.detach()),
                                              library.frac(x)), library.trunc(x)),
    "frexp": lambda library, x: tuple(library.frexp(x)),
    "ldexp": lambda library, x, power: library.ldexp(x, library.as_tensor(power)),
    "vecdot": lambda library, x, y: (library.conj(x) * y).sum(-1),
    "matvec": lambda library, x, y: library.matmul(x, y.unsqueeze(-1)).squeeze(-1),
    "vecmat": lambda library, x, y: library.matmul(library.conj(x).unsqueeze(-2), y).squeeze(-2)}
_WITHOUT_GRADIENT = frozenset(
    "equal not_equal less less_equal greater greater_equal isnan isinf isfinite isnat signbit logical_and logical_or "
    "logical_xor logical_not".split())
_COMPARED = {"equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}
_OPERATORS = _COMPARED | {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "true_divide": "truediv",
    "floor_divide": "floordiv", "remainder": "mod", "power": "pow", "bitwise_and": "and_", "bitwise_or": "or_",
    "bitwise_xor": "xor", "left_shift": "lshift", "right_shift": "rshift"}
_BFLOAT16 = DTYPES["bfloat16"]


def apply(ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """What NumPy asks of `Tensor.__array_ufunc__`."""
    tensors = [x for x in inputs if isinstance(x, Tensor)]
    name = ufunc.__name__
    if method == "__call__" and not kwargs and _like_an_operator(name, inputs[0]):
        return _operator(name, *inputs)
    if (any(x.requires_grad for x in tensors) and get_grad_enabled()) or any(x.dtype is _BFLOAT16 for x in tensors):
        out = _as_operation(name, method, inputs, kwargs)
        if out is not NotImplemented:
            return out
    if any(isinstance(x, Tensor) for x in kwargs.get("out", ())):
        raise TypeError("return arrays must be of ArrayType\n  a tensor is no place for NumPy's results: leave out=")
    if method == "at" and isinstance(inputs[0], Tensor):
        raise TypeError("first operand must be array")
    if isinstance(kwargs.get("where"), Tensor):
        kwargs["where"] = np.asarray(kwargs["where"])
    out = getattr(ufunc, method)(*(np.asarray(x) if isinstance(x, Tensor) else x for x in inputs), **kwargs)
    if kwargs.get("out") is not None or method in ("at", "outer") or not tensors:
        return out
    return tuple(map(tensors[0].__array_wrap__, map(np.asarray, out))) if isinstance(out, tuple) else (
        tensors[0].__array_wrap__(np.asarray(out)))


def _like_an_operator(name: str, first: Any) -> bool:
    """`scalar * x` and `array < x` cannot be told from np.multiply(scalar, x) and np.less(array, x); the operators are
    written more often, and mean what they mean for Python's numbers and for tensors."""
    if isinstance(first, np.generic):
        return name in _OPERATORS
    return name in _COMPARED and isinstance(first, np.ndarray) and not first.dtype.hasobject


def _operator(name: str, first: Any, second: Tensor) -> Any:
    import operator
    if isinstance(first, np.generic):
        return getattr(operator, _OPERATORS[name])(first.item(), second)
    from claygrad.ops.creation import as_tensor
    return getattr(operator, _OPERATORS[name])(as_tensor(first), second)


def _as_operation(name: str, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """The same by an operation of claygrad; NotImplemented where there is none."""
    if name in _WITHOUT_GRADIENT and method == "__call__":
        function: Any = getattr(np, name)
        return function(*(x.detach().float() if isinstance(x, Tensor) and x.dtype is _BFLOAT16 else
                          x.detach() if isinstance(x, Tensor) else x for x in inputs), **kwargs)
    given = {key: value for key, value in kwargs.items() if value is not None and value is not True}
    ours = _OTHER_NAMES.get(name, name)
    if method != "__call__" or given:
        return NotImplemented
    library: Any = sys.modules["claygrad"]
    if name in _COMPOSED:
        several = len(inputs) > 1 and name != "ldexp"
        return _COMPOSED[name](library, *(_in_one_dtype(inputs, False) if several else inputs))
    if ours not in _SAME_NAMES | _SPECIAL and name not in _OTHER_NAMES:
        return NotImplemented
    function = getattr(library.special if ours in _SPECIAL else library, ours)
    return function(*_in_one_dtype(inputs, ours in _TAKE_NUMBERS)) if len(inputs) > 1 else function(*inputs)


def _in_one_dtype(inputs: tuple, numbers: bool) -> list[Any]:
    """Tensors and arrays in the dtype that NumPy would compute in, Python's numbers too, unless they may stay."""
    from claygrad.ops.creation import as_tensor
    found = [as_tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in inputs]
    kinds = [x.dtype for x in found if isinstance(x, Tensor)]
    common = functools.reduce(promote_types, kinds) if _BFLOAT16 in kinds else \
        dtype_of_numpy(np.result_type(*(kind.numpy for kind in kinds)))
    return [x.to(common) if isinstance(x, Tensor) else x if numbers else as_tensor(x, dtype=common) for x in found]
