"""`finfo` and `iinfo`: the limits of a dtype."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from claygrad.core import default_dtype, parse_dtype, prefix

if TYPE_CHECKING:
    from claygrad.core import dtype

#                                eps, largest, smallest normal, decimal resolution
_FLOATS = {"float16": (2.0**-10, 65504.0, 2.0**-14, 1e-3),
           "bfloat16": (2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 1e-2),
           "float32": (2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 1e-6),
           "float64": (2.0**-52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 1e-15),
           "float8_e4m3fn": (2.0**-3, 448.0, 2.0**-6, 1.0), "float8_e5m2": (2.0**-2, 57344.0, 2.0**-14, 1.0),
           "float8_e4m3fnuz": (2.0**-3, 240.0, 2.0**-7, 1.0), "float8_e5m2fnuz": (2.0**-3, 57344.0, 2.0**-15, 1.0),
           "float8_e8m0fnu": (1.0, 2.0**127, 2.0**-127, 1.0)}


class _Info:
    """What both have in common: they are values, and cannot be changed."""

    __slots__ = ()
    __hash__: ClassVar[None]  # type: ignore[assignment]
    _shown: ClassVar[tuple[str, ...]]
    bits: int
    dtype: str

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        kind = f"{prefix()}.{type(self).__name__}"
        if hasattr(self, name):
            raise AttributeError(f"attribute '{name}' of '{kind}' objects is not writable")
        raise AttributeError(f"'{kind}' object has no attribute '{name}'")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.dtype == self.dtype

    def __repr__(self) -> str:
        limits = "".join(f"{name}={getattr(self, name):g}, " for name in self._shown)
        return f"{type(self).__name__}({limits}dtype={self.dtype})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle '{prefix()}.{type(self).__name__}' object")


def _asked(name: str, given: Any) -> dtype:
    found = parse_dtype(given)
    if found is None:
        raise TypeError(f"{name}(): argument 'type' (position 1) must be {prefix()}.dtype, not {type(given).__name__}")
    return found


class finfo(_Info):
    """The limits of a floating dtype, the default one if none is given; of a complex dtype, those of its parts.

    >>> claygrad.finfo(claygrad.float32).eps
    1.1920928955078125e-07
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")
    _shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
    eps: float
    max: float
    min: float
    resolution: float
    smallest_normal: float
    tiny: float

    def __init__(self, type: Any = ...) -> None:
        kind = (default_dtype() if type is ... else _asked("finfo", type)).to_real()
        if kind.name == "float4_e2m1fn_x2":
            raise TypeError("bad argument type for built-in operation\n"
                            f"  {prefix()}.finfo knows no limits of {kind.name}")
        if kind.name not in _FLOATS:
            raise TypeError(f"{prefix()}.finfo() requires a floating point input type. Use {prefix()}.iinfo to handle "
                            f"'{prefix()}.finfo'")
        eps, largest, smallest, resolution = _FLOATS[kind.name]
        self._set(bits=8 * kind.itemsize, dtype=kind.name, eps=eps, max=largest,
                  min=-largest if kind.is_signed else smallest, resolution=resolution,
                  smallest_normal=smallest, tiny=smallest)


class iinfo(_Info):
    """The limits of an integer dtype.

    >>> claygrad.iinfo(claygrad.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    __slots__ = ("bits", "dtype", "max", "min")
    _shown = ("min", "max")
    max: int
    min: int

    def __init__(self, type: Any = ...) -> None:
        if type is ...:
            raise TypeError('iinfo() missing 1 required positional arguments: "type"')
        kind = _asked("iinfo", type)
        if kind.is_floating_point or kind.is_complex:
            raise TypeError(f"{prefix()}.iinfo() requires an integer input type. Use {prefix()}.finfo to handle "
                            f"'{prefix()}.iinfo'")
        if kind.name[0] == "q":
            raise NotImplementedError(f"\"dtype\" not implemented for '{kind.legacy}'")
        if kind.numpy.names:
            raise TypeError(f"{prefix()}.iinfo() requires an integer input type. Use {prefix()}.finfo to handle "
                            f"'{prefix()}.iinfo'")
        if kind.name == "bool":
            raise TypeError(f"{prefix()}.bool is not supported by {prefix()}.iinfo")
        bits = 8 * kind.itemsize
        values = bits - kind.is_signed
        self._set(bits=bits, dtype=kind.name, max=2**values - 1, min=-(2**values) if kind.is_signed else 0)
