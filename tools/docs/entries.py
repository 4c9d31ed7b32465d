"""What the reference says of one name: its signature, its words, its other names."""

from __future__ import annotations

import enum
import inspect
import re
from dataclasses import dataclass, field

from claygrad.core import dtype
from claygrad.nn import Module
from claygrad.ops._registry import METHODS, REGISTRY, Declaration
from tools.docs.words import SIGNATURES

LONGEST = 24         # characters of a default that is worth showing
BY_FUNCTION = {id(said.op): said for said in REGISTRY.values()}


@dataclass
class Entry:
    """A public name."""

    name: str                        # as a program writes it: torch.add
    value: object
    signature: str = ""
    words: str = ""                  # the docstring
    in_place: str = ""               # the name of the form that writes into its first argument
    method: bool = False             # whether a tensor has it, too
    aliases: list[str] = field(default_factory=list)
    members: list[tuple[str, str]] = field(default_factory=list)        # of a class: signature, sentence

    @property
    def sentence(self) -> str:
        return first_sentence(self.words)


def declaration(value: object) -> Declaration | None:
    info = getattr(value, "info", None) or {}
    return info.get("declaration") or BY_FUNCTION.get(id(value))


def first_sentence(words: str) -> str:
    text = " ".join(words.strip().partition("\n\n")[0].split())
    match = re.match(r"(.+?[.!?])(?:\s|$)", text)
    return re.sub(r":$", ".", match[1] if match else text)


def signature(name: str, value: object) -> str:
    """How it is called, without annotations: `torch.add(input, other, *, alpha=1, out=None)`."""
    if name in SIGNATURES:
        return f"{name}{SIGNATURES[name]}"
    if isinstance(value, enum.EnumMeta) or (isinstance(value, type) and issubclass(value, BaseException)):
        return name
    if isinstance(value, type) and issubclass(value, Module) and value.__init__ is Module.__init__:
        return f"{name}()"
    try:
        found = inspect.signature(value)          # type: ignore[arg-type]
    except (TypeError, ValueError):
        return f"{name}{written(value, name.startswith('Tensor.'))}"
    parts, marked, before = [], False, None
    for parameter in found.parameters.values():
        if parameter.name.startswith("_") and parameter.default is not parameter.empty:
            continue
        if before is parameter.POSITIONAL_ONLY and parameter.kind is not before and parts and parts != ["self"]:
            parts.append("/")
        before = parameter.kind
        if parameter.kind is parameter.KEYWORD_ONLY and not marked:
            parts.append("*")
            marked = True
        marked |= parameter.kind is parameter.VAR_POSITIONAL
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        parts.append(f"{stars}{parameter.name}{default(parameter)}")
    if name.startswith("Tensor.") and parts and parts[0] in ("input", "self"):
        parts = parts[2:] if parts[1:2] == ["/"] else parts[1:]          # the tensor itself
    return f"{name}({', '.join(part for part in parts if part not in ('self', 'cls'))})"


def written(value: object, method: bool) -> str:
    """A signature that Python cannot read, as it is written."""
    text = getattr(value, "__text_signature__", None) or ""
    if method:
        text = re.sub(r"^\((?:input|self)(?:, )?(?:/, )?", "(", text)          # the tensor itself
    return text.replace("claygrad.", "torch.")


def default(parameter: inspect.Parameter) -> str:
    value = parameter.default
    if value is parameter.empty:
        return ""
    text = f"torch.{value.__name__}" if isinstance(value, type) else repr(value).replace("claygrad.", "torch.")
    return f"={text}" if len(text) <= LONGEST and not text.startswith("<") else "=..."


def words_of(value: object, known: str | None = None) -> str:
    """What `known` says, or the docstring."""
    said = declaration(value)
    if known:
        return known
    text = said.fn.__doc__ if said is not None else getattr(value, "__doc__", None)
    if isinstance(value, dtype | int | float | str | tuple | dict) or text == getattr(type(value), "__doc__", None):
        text = None          # the words of a type are not those of its values
    if isinstance(value, type) and text and text.startswith(f"{value.__name__}("):
        text = None          # what dataclasses and named tuples write for themselves
    return inspect.cleandoc(text or "")


def members(value: object) -> list[tuple[str, str]]:
    """The public methods and properties that a class of ours defines, itself or in private bases, with a sentence."""
    if not isinstance(value, type) or issubclass(value, BaseException | enum.Enum) or not ours(value):
        return []
    found = []
    homes = [value, *(base for base in value.__mro__[1:] if base.__name__.startswith("_") and ours(base))]
    for name in sorted({name for home in homes for name in vars(home)}):
        member = inspect.getattr_static(value, name)
        words = getattr(member, "__doc__", None)
        if name.startswith("_") or not words:
            continue
        function = getattr(member, "__func__", member)
        if not callable(function) and not isinstance(member, property):
            continue
        how = name if isinstance(member, property) else signature(name, function)
        found.append((how, first_sentence(words)))
    return found


def ours(cls: type) -> bool:
    return cls.__module__.startswith("claygrad")


def is_method(name: str) -> bool:
    return name in METHODS
