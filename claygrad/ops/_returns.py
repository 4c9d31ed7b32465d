"""Named results: `claygrad.return_types.max(values=..., indices=...)`."""
from __future__ import annotations

from operator import itemgetter

from claygrad.core import prefix

TYPES: dict[str, type] = {}


class NamedResult(tuple):
    """What operations with several results give; its classes have the names of the operations."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"{prefix()}.return_types.{type(self).__name__}(\n{parts})"

    @classmethod
    def of_out(cls, out: tuple) -> tuple:
        """The tensors given as out=, under the names of the results."""
        return named_tuple(f"{cls.__name__}_out", cls._fields)(out)

    def __reduce__(self) -> tuple:
        return _restore, (type(self).__name__, tuple(self))


def _restore(name: str, values: tuple) -> tuple:
    return TYPES[name](values)


def named_tuple(name: str, fields: tuple[str, ...]) -> type:
    """The class of an operation's results, made once per name."""
    if name not in TYPES:
        members = {"__slots__": (), "_fields": tuple(fields), "__module__": "claygrad.return_types",
                   "n_fields": len(fields), "n_sequence_fields": len(fields)}
        members |= {field: property(itemgetter(i)) for i, field in enumerate(fields)}
        TYPES[name] = type(name, (NamedResult,), members)
    return TYPES[name]
