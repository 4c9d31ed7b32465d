"""Write the types of all operations, from their declarations.

    python tools/make_stubs.py            # claygrad/__init__.pyi, claygrad/core/_operations.pyi and the namespaces
    python tools/make_stubs.py --check    # only say whether they are up to date

Operations are attached to `claygrad` and to `Tensor` when claygrad is imported, so no type checker can read them off
the source. The compiled core's own stubs (`claygrad/core/tensor.pyi` and its neighbours) are written by hand.
"""

from __future__ import annotations

import inspect
import keyword
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import claygrad
from claygrad.core import dtype
from claygrad.ops._registry import METHODS, NAMESPACES, REGISTRY, Declaration
from claygrad.ops._returns import TYPES

PACKAGE = Path(__file__).parents[1] / "claygrad"
NOTE = "# Written by tools/make_stubs.py from the declarations in claygrad/ops; do not edit.\n"
# `int`, `float`, `bool`, `device` and others are names of claygrad or methods of Tensor too, hence the aliases.
HEAD = '''from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

from claygrad import return_types as _results
from claygrad.core.data.device import device as _device
from claygrad.core.data.dtype import dtype as _dtype
from claygrad.ops._formats import layout as _layout
from claygrad.ops._formats import memory_format as _memory_format
{imports}

_bool: TypeAlias = builtins.bool
_complex: TypeAlias = builtins.complex
_float: TypeAlias = builtins.float
_int: TypeAlias = builtins.int
_str: TypeAlias = builtins.str
_Number: TypeAlias = builtins.float | builtins.complex

'''
# Annotations in declarations, and what they are in stubs; others are written as they are.
WORDS = {
    "Number": "_Number",
    "bool": "_bool",
    "complex": "_complex",
    "float": "_float",
    "int": "_int",
    "str": "_str",
    "ints": "_int | Sequence[_int]",
    "tuple[int, ...]": "Sequence[_int]",
    "list[Tensor]": "Sequence[Tensor]",
    "list[Tensor | None]": "Sequence[Tensor | None]",
    "Device": "_device | _str | _int | None",
    "dtype": "_dtype",
    "device": "_device",
    "layout": "_layout",
    "memory_format": "_memory_format",
    "np.ndarray": "Any",
    "object": "Any",
}
KNOWN = {"Tensor", "Storage", "Generator", "Size", "Any", "Callable", "Sequence", "None", "tuple", "list", "_int",
         "_float", "_bool", "_str", "_complex", "_Number", "_dtype", "_device", "_layout", "_memory_format"}


def type_text(words: str) -> str:
    """The annotation of a parameter in a stub."""
    def known(word: str) -> str:
        return WORDS.get(word) or re.sub(r"\b\w+", lambda match: WORDS.get(match[0], match[0]), word)

    text = " | ".join(known(word) for word in words.split(" | "))
    return text if set(re.findall(r"[A-Za-z_]\w*", text)) <= KNOWN else "Any"


def result_text(said: Declaration) -> str:
    if said.options.get("returns") and "Tensor | tuple" not in said.fn.__annotations__.get("return", ""):
        return f"_results.{said.label}"
    annotated = said.fn.__annotations__.get("return")
    if said.kind == "composite" and annotated:
        # A union would make every `x.max().item()` a type error: the result depends on the arguments.
        return "Any" if "Tensor | tuple" in annotated else type_text(annotated)
    if said.kind == "multi_view":
        return "tuple[Tensor, ...]"
    return "Any" if said.kind == "composite" else "Tensor"


def default_text(value: object) -> str:
    return repr(value) if value is None or isinstance(value, bool | int | str) or value == float(0) else "..."


def parameters(said: Declaration, *, method: bool, in_place: bool) -> Iterator[str]:
    """The parameters as a stub writes them."""
    given = list(inspect.signature(said.fn, follow_wrapped=False).parameters.values())
    if said.kind not in ("view", "multi_view", "composite"):
        given = given[1:]       # the array module
    names = [p.name for p in given]
    keywords = False
    before = None
    collect = said.options.get("varargs")
    for i, p in enumerate(given):
        if p.name == "inplace" and (method or in_place):
            continue            # only the functions take it
        if method and i == 0:
            yield p.name        # the tensor itself; the name is what stubtest compares
            continue
        if before is p.POSITIONAL_ONLY and p.kind is not before:
            yield "/"
        if p.kind is p.KEYWORD_ONLY and not keywords:
            yield "*"
            keywords = True
        before = p.kind
        words = type_text(p.annotation) if isinstance(p.annotation, str) else "Any"
        if p.kind is p.VAR_POSITIONAL or p.name == collect:
            yield f"*{p.name}: {'_int | Sequence[_int]' if p.name == collect else words}"
            keywords = True
        elif p.kind is p.VAR_KEYWORD:
            yield f"**{p.name}: {words}"
        else:
            default = "" if p.default is p.empty else f" = {default_text(p.default)}"
            name = p.name.rstrip("_")
            yield f"{p.name if keyword.iskeyword(name) else name}: {words}{default}"
    if before is inspect.Parameter.POSITIONAL_ONLY:
        yield "/"
    if said.out and not in_place and not method and "out" not in names:
        if not keywords:
            yield "*"
        yield "out: Any = None" if said.options.get("returns") else "out: Tensor | None = None"


BY_FUNCTION = {id(said.op): said for said in REGISTRY.values()}


def declaration(out: object) -> Declaration | None:
    """What a callable was declared as; in-place and method forms are operations of their own that remember it."""
    info = getattr(out, "info", None) or {}
    return info.get("declaration") or BY_FUNCTION.get(id(out))


# Operations whose result is of another type in some calls: the parameters of each kind of call, and what it gives.
CALLS = {
    **{name: (("", "Tensor"), ("dim: _int, keepdim: _bool = False{out}", f"_results.{name}"),
              ("other: Tensor{one_out}", "Tensor")) for name in ("max", "min")},
    **{name: (("", "Tensor"), ("dim: _int, keepdim: _bool = False{out}", f"_results.{name}"))
       for name in ("median", "nanmedian")},
}
WHERE = {False: (("condition: Tensor", "tuple[Tensor, ...]"),
                 ("condition: Tensor, input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None",
                  "Tensor")),
         True: (("input, condition: Tensor, other: Tensor | _Number", "Tensor"),)}


def overloads(name: str, method: bool) -> list[str]:
    """A line for each kind of call, for operations in CALLS."""
    first, lines = "input" if method else "input: Tensor", []
    for words, result in CALLS[name]:
        words = words.format(out="" if method else ", *, out: Any = None",
                             one_out="" if method else ", *, out: Tensor | None = None")
        lines += ["@overload", f"def {name}({first}{', ' * bool(words)}{words}) -> {result}: ..."]
    return lines


def lines_of(name: str, said: Declaration, *, method: bool) -> list[str]:
    """What a stub says of an operation."""
    if name in CALLS and said.label == name:
        return overloads(name, method)
    if name == "where" and said.label == "where":
        kinds = WHERE[method]
        return [line for words, result in kinds
                for line in (*["@overload"] * (len(kinds) > 1), f"def where({words}) -> {result}: ...")]
    return [operation(name, said, method=method)]


def operation(name: str, said: Declaration, *, method: bool) -> str:
    in_place = name.endswith("_") and not said.name.endswith("_")
    arguments = ", ".join(parameters(said, method=method, in_place=in_place))
    return f"def {name}({arguments}) -> {'Tensor' if in_place else result_text(said)}: ..."


def methods() -> str:
    """The class from which the stub of Tensor has its operations."""
    lines = []
    for name, out in sorted(METHODS.items()):
        if hasattr(object, name):
            continue        # known to every type checker
        attribute = isinstance(out, property)
        said = declaration(out.fget if attribute else out)
        if attribute:
            lines += ["@property", f"def {name}(self) -> {result_text(said) if said else 'Any'}: ..."]
        elif said is not None:
            lines += lines_of(name, said, method=True)
        else:
            lines.append(f"def {name}(self, *args: Any, **kwargs: Any) -> Any: ...")
    imports = ("from claygrad.native.random import Generator\nfrom claygrad.core.data.storage import Storage\n"
               "from claygrad.core.tensor import Size, Tensor")
    return NOTE + HEAD.format(imports=imports) + "class Operations:\n" + "".join(f"    {line}\n" for line in lines)


def names() -> str:
    """What `import claygrad` gives: operations by signature, everything else by where it comes from."""
    imported, values, functions = ["from claygrad.core.tensor import Tensor as Tensor"], [], []
    for name in GIVEN:
        value = vars(claygrad)[name]
        said = declaration(value)
        if said is not None:
            functions += lines_of(name, said, method=False)
        elif isinstance(value, ModuleType):
            if value.__name__ == f"claygrad.{name}" and name not in claygrad._LAZY:
                imported.append(f"from claygrad import {name} as {name}")
        elif isinstance(value, dtype):
            values.append(f"{name}: _dtype")
        elif getattr(value, "__module__", "").startswith("claygrad.") and hasattr(value, "__name__"):
            if vars(claygrad).get(value.__name__) is value and value.__name__ != name:
                values.append(f"{name} = {value.__name__}")         # `import x as y` is not re-exported from a stub
            elif value.__name__ != name and isinstance(value, type):
                imported.append(f"from {value.__module__} import {value.__name__} as _{name}")
                values.append(f"{name} = _{name}")
            else:
                imported.append(f"from {value.__module__} import {value.__name__} as {name}")
        elif name != "Tensor" and (not name.startswith("_") or name == "__version__"):
            values.append(f"{name}: {type_text(type(value).__name__)}")
    imported += [f"from claygrad import {name} as {name}" for name in claygrad._LAZY]
    imported += [f"from claygrad.{module} import {name} as {name}" for name, module in claygrad._LAZY_NAMES.items()
                 if not name.startswith("_") and name not in claygrad._LAZY]
    head = HEAD.format(imports="\n".join(sorted(set(imported))))
    return NOTE + head + "\n".join(values) + "\n\n" + "\n".join(functions) + "\n"


def namespace(name: str, extra: str = "") -> str:
    """What a namespace such as `claygrad.linalg` gives."""
    lines = []
    for member, out in sorted(NAMESPACES[name].items()):
        said = declaration(out)
        lines += lines_of(member, said, method=False) if said is not None else [f"{member}: Any"]
    imports = ("from claygrad.native.random import Generator\nfrom claygrad.core.data.storage import Storage\n"
               "from claygrad.core.tensor import Size, Tensor" + extra)
    return NOTE + HEAD.format(imports=imports) + "\n".join(lines) + "\n"


def results() -> str:
    """The named tuples of operations with several results."""
    lines = [NOTE + "from typing import NamedTuple\n\nfrom claygrad.core.tensor import Tensor\n"]
    for name, kind in sorted(TYPES.items()):
        fields = "".join(f"    {field}: Tensor\n" for field in kind._fields)
        lines.append(f"class {name}(NamedTuple):\n{fields}")
    return "\n".join(lines)


# As imported, before an attribute access loads more modules.
GIVEN = sorted(name for name in vars(claygrad) if name != "annotations" and (name[0] != "_" or name == "__version__"))
FILES = {
    PACKAGE / "core" / "_operations.pyi": methods,
    PACKAGE / "__init__.pyi": names,
    PACKAGE / "return_types.pyi": results,
    PACKAGE / "nn" / "functional.pyi": lambda: namespace(
        "nn.functional", "\nfrom claygrad.nn import grad as grad"),
    PACKAGE / "linalg.pyi": lambda: namespace(
        "linalg", "\nfrom claygrad.ops._linalg import LinAlgError as LinAlgError"),
    PACKAGE / "signal" / "windows.pyi": lambda: namespace("signal.windows"),
    **{PACKAGE / f"{name}.pyi": lambda name=name: namespace(name) for name in ("fft", "special", "masked")},
}


def main() -> None:
    stale = [path for path, text in FILES.items() if not path.exists() or path.read_text() != text()]
    if "--check" in sys.argv[1:]:
        sys.exit("".join(f"{path.name} is out of date: run `make stubs`\n" for path in stale).rstrip() or None)
    for path in stale:
        path.write_text(FILES[path]())


if __name__ == "__main__":
    main()
