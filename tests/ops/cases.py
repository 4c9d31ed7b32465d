"""What the generated tests share: the declared operations, their samples, and how to call and compare them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy

from tests.ops.factory import Build, Call, Factory


def declared() -> dict[str, Any]:
    """Every declaration that has samples, by its key in the registry."""
    import claygrad  # noqa: F401  (declares)
    from claygrad.ops._registry import REGISTRY

    return {key: said for key, said in REGISTRY.items() if said.samples is not None}


def samples(key: str, said: Any, seed: int = 0) -> list[Call]:
    return list(said.samples(Factory(key, seed)))


def is_property(said: Any) -> bool:
    return bool(said.options.get("property") or said.options.get("attribute"))


def only_in_place(said: Any) -> bool:
    """uniform_ and its kin have no other form."""
    return said.inplace and not said.public and not said.method


def namespace(lib: ModuleType, dotted: str) -> Any:
    place = lib
    for part in dotted.split(".") if dotted != "torch" else ():
        place = getattr(place, part)
    return place


def settled(function: Callable, said: Any) -> Callable:
    """The operation, its result turned into what is determined: a vector may be free in sign, values in order."""
    turn = said.options.get("settled")
    if turn is None or function is None:
        return function
    return lambda *args, **kwargs: turn(function(*args, **kwargs))


def theirs(torch: ModuleType, said: Any) -> Callable | None:
    """The same operation in torch, as a function of the same arguments, or None where torch has no such name."""
    return settled(in_torch(torch, said), said)


def in_torch(torch: ModuleType, said: Any) -> Callable | None:
    if is_property(said):
        return (lambda x: getattr(x, said.name)) if hasattr(torch.Tensor, said.name) else None
    if only_in_place(said):
        return getattr(torch.Tensor, said.name + "_", None)
    if said.public:
        for where in said.namespaces:
            found = getattr(namespace(torch, where), said.name, None)
            if found is not None:
                return found
    return getattr(torch.Tensor, said.name, None) if said.method else None


def ours(lib: ModuleType, said: Any, raw: bool = False) -> Callable:
    """The operation in claygrad, by its public name where it has one; `raw`: with what is free in its result."""
    if is_property(said):
        return lambda x: getattr(x, said.name)
    if only_in_place(said):
        return getattr(lib.Tensor, said.name + "_")
    found = getattr(namespace(lib, said.namespaces[0]), said.name) if said.public else said.op
    return found if raw else settled(found, said)


def flat(result: Any) -> Iterator[Any]:
    """The parts of a result, whether one, a tuple, a list or a named tuple."""
    if isinstance(result, list | tuple) and type(result).__name__ != "Size":
        for part in result:
            yield from flat(part)
    else:
        yield result


def is_tensor(value: Any) -> bool:
    return hasattr(value, "grad_fn")


def tensors(value: Any) -> list[Any]:
    return [part for part in flat(value) if is_tensor(part)]


def kind_of(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def numbers(tensor: Any) -> numpy.ndarray:
    """The values as an array; bfloat16 as float32. By way of a copy: nothing of the tensor is handed out."""
    t = tensor.detach()
    if kind_of(t.dtype) == "bfloat16" or kind_of(t.dtype).startswith("float8"):
        t = t.float()
    if kind_of(t.dtype) == "complex32":
        t = t.cfloat()
    t = t.resolve_conj().resolve_neg() if hasattr(t, "resolve_conj") else t
    return numpy.array(t.clone().contiguous().numpy())


TOLERANCES = {
    "float16": (1e-3, 1e-3),
    "complex32": (1e-3, 1e-3),
    "bfloat16": (1.6e-2, 1e-2),
    "float32": (2e-6, 1e-5),
    "complex64": (2e-6, 1e-5),
    "float64": (1e-7, 1e-9),
    "complex128": (1e-7, 1e-9),
}


def same_values(a: Any, b: Any, loose: float = 1.0) -> bool:
    """Equal shape, and values equal within the rounding of their dtype; NaN equals NaN, 0 equals -0."""
    x, y = numbers(a), numbers(b)
    if x.shape != y.shape:
        return False
    if x.dtype.kind in "biu" or kind_of(a.dtype) not in TOLERANCES:
        return bool(numpy.array_equal(x, y))
    rtol, atol = TOLERANCES[kind_of(a.dtype)]
    with numpy.errstate(all="ignore"):
        return bool(numpy.allclose(x, y, rtol=rtol * loose, atol=atol * loose, equal_nan=True))


def first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0].replace("claygrad.", "torch.")


def outcome(lib: ModuleType, function: Callable, call: Call, how: Build) -> Any:
    """The result of a call, or the exception it raised. The random stream starts afresh."""
    lib.manual_seed(0)
    try:
        args, kwargs = call.build(how)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)
    except Exception as error:
        return error


def show(tensor: Any) -> str:
    return (
        f"{kind_of(tensor.dtype)}{list(tensor.shape)} {numpy.array2string(numbers(tensor), threshold=20, precision=9)}"
    )


def difference(a: Any, b: Any, loose: float = 1.0, texts: bool = True) -> str | None:
    """How a result of claygrad differs from torch's, or None."""
    if isinstance(a, Exception) or isinstance(b, Exception):
        if not (isinstance(a, Exception) and isinstance(b, Exception)):
            return f"claygrad {_brief(a)}\n    torch    {_brief(b)}"
        names = type(a).__name__, type(b).__name__.lstrip("_")       # torch hides its LinAlgError
        if names[0] != names[1] or (texts and first_line(a) != first_line(b)):
            return f"claygrad {_brief(a)}\n    torch    {_brief(b)}"
        return None
    mine, other = list(flat(a)), list(flat(b))
    if len(mine) != len(other):
        return f"{len(mine)} results, torch {len(other)}"
    for x, y in zip(mine, other, strict=True):
        if is_tensor(x) != is_tensor(y):
            return f"{type(x).__name__}, torch {type(y).__name__}"
        if not is_tensor(x):
            if not _same_plain(x, y):
                return f"{x!r}, torch {y!r}"
            continue
        if kind_of(x.dtype) != kind_of(y.dtype) or tuple(x.shape) != tuple(y.shape):
            return f"claygrad {show(x)}\n    torch    {show(y)}"
        if x.requires_grad != y.requires_grad:
            return f"requires_grad {x.requires_grad}, torch {y.requires_grad}"
        if not same_values(x, y, loose):
            return f"claygrad {show(x)}\n    torch    {show(y)}"
    return None


def _brief(value: Any) -> str:
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {first_line(value)}"
    return " | ".join(show(t) if is_tensor(t) else repr(t) for t in flat(value))


def _same_plain(x: Any, y: Any) -> bool:
    if isinstance(x, float) and isinstance(y, float):
        return x == y or (math.isnan(x) and math.isnan(y)) or math.isclose(x, y, rel_tol=1e-6)
    return x == y if type(x) is type(y) else str(x).replace("claygrad.", "torch.") == str(y)


