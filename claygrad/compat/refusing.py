"""What stands for a name that is only a name: it may be mentioned and subclassed, and refuses to be used."""
from __future__ import annotations

import types
from typing import Any, NoReturn

from claygrad.compat.absent import explanation


def refusal(name: str) -> NotImplementedError:
    """The error that the use of a name raises, with the reason and the way out."""
    return NotImplementedError("\n  ".join([f"{name} is only a name in claygrad", *explanation(name)]))


def refusing_function(name: str) -> Any:
    """A function that raises when it is called."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise refusal(name)

    refuse.__module__, _, refuse.__name__ = name.rpartition(".")
    refuse.__qualname__ = refuse.__name__
    refuse.only_a_name = name                   # type: ignore[attr-defined]
    refuse.__doc__ = "\n".join([f"{name} is only a name in claygrad.", *explanation(name)])
    return refuse


def refusing_class(name: str, base: type = object) -> type:
    """A class that raises when it is instantiated; a subclass with an `__init__` of its own is its own affair."""
    home, _, last = name.rpartition(".")

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        raise refusal(name)

    body = {"only_a_name": name, "__module__": home, "__qualname__": last, "__doc__": refusing_function(name).__doc__}
    if not issubclass(base, BaseException):
        body.update(__init__=__init__, __class_getitem__=classmethod(types.GenericAlias))
    return type(base)(last, (base,), body)


def always(answer: Any) -> Any:
    """A function that gives one answer whatever it is asked."""

    def answering(*args: Any, **kwargs: Any) -> Any:
        return answer

    answering.__doc__ = f"Always {answer!r}."
    return answering


def unchanged(function: Any = None, *args: Any, **kwargs: Any) -> Any:
    """A decorator, with or without arguments, that leaves the function as it is."""
    return function if callable(function) else unchanged


def registering(*args: Any, **kwargs: Any) -> Any:
    """A decorator with arguments that tells a compiler of a function, which stays as it is: nothing is compiled."""
    return unchanged


def module_of(name: str, names: dict[str, Any], doc: str) -> types.ModuleType:
    """A module that holds just these names."""
    made = types.ModuleType(name, doc)
    vars(made).update(names)
    return made


def is_only_a_name(value: Any) -> bool:
    """Whether a value can be mentioned and not used; a user's subclass of such a class is not one."""
    if isinstance(value, type):
        return "only_a_name" in vars(value)
    return isinstance(value, RefusingObject) or "only_a_name" in getattr(value, "__dict__", {})


class RefusingObject:
    """An object of PyTorch's that is only a name: it can be held and compared, not used."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __repr__(self) -> str:
        return f"<{self._name}, only a name in claygrad>"

    def __getattr__(self, name: str) -> Any:
        first = f"'{self.__dict__['_name']}' has no attribute '{name}'"
        raise AttributeError("\n  ".join([first, *explanation(self.__dict__["_name"])]), name=name, obj=self)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise refusal(self._name)

    def __getitem__(self, kind: Any) -> RefusingObject:
        return self         # in an annotation, as in BroadcastingList2[int]

    def __iter__(self) -> NoReturn:          # else Python would ask for item after item, without end
        raise refusal(self._name)

    def __contains__(self, item: Any) -> NoReturn:
        raise refusal(self._name)

    def __len__(self) -> NoReturn:
        raise refusal(self._name)

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> NoReturn:
        raise refusal(self._name)

    def __exit__(self, *exc: object) -> None:
        """Never entered."""
