"""Write claygrad/compat/names.txt: the names of PyTorch that are only asked for, with what each of them is.

    python -m tests.oracle.names.make

Public modules give their public names; what is private is listed where packages ask for it (tests/compat/asked.txt).
What claygrad has itself is never looked up in this table.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import io
import pkgutil
import re
import sys
import types
import typing
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import torch

from claygrad.compat.names import reexports

ROOT = Path(__file__).parents[3]
ASKED = ROOT / "tests/compat/asked.txt"
TABLE = ROOT / "claygrad/compat/names.txt"

# Parts of PyTorch whose public modules are listed whole.
PARTS = """accelerator ao backends compiler cpu cuda distributed export futures fx hub jit library monitor mps mtia
    multiprocessing nested onnx package profiler quantization xpu nn.attention nn.backends nn.intrinsic nn.parallel nn.qat
    nn.quantizable nn.quantized utils types nativert numa""".split()
# ... and these modules, whose names are private by their modules alone.
MODULES = """_dynamo _dynamo.config _dynamo.eval_frame _dynamo.exc _dynamo.trace_rules _dynamo.utils _export.config _export.error _export.utils
    _inductor _inductor.codecache _inductor.config _inductor.constant_folding _inductor.custom_graph_pass _inductor.decomposition
    _inductor.freezing_utils _inductor.ir _inductor.lowering _inductor.metrics _inductor.pattern_matcher _inductor.select_algorithm
    _inductor.utils _inductor.virtualized _higher_order_ops.associative_scan _higher_order_ops.flex_attention _higher_order_ops.map _higher_order_ops.out_dtype
    _higher_order_ops.scan _higher_order_ops.wrap _higher_order_ops.while_loop _prims_common.wrappers autograd.profiler_util distributed._functional_collectives distributed._symmetric_memory
    utils._ordered_set _utils _utils_internal _tensor _tensor_str _jit_internal _ops
    _prims_common _decomp _subclasses _subclasses.fake_tensor _subclasses.functional_tensor _higher_order_ops _guards _functorch
    _functorch.config _functorch.aot_autograd _functorch.apis _functorch.eager_transforms _functorch.vmap
    _functorch.functional_call _functorch.pyfunctorch _functorch.compilers _lazy _logging _vmap_internals _weights_only_unpickler
    _storage_docs _custom_op _custom_ops _export _classes _linalg_utils _lowrank _lobpcg _sources _streambase _namedtensor_internals
    _library _library.custom_ops _library.fake_class_registry _library.infer_schema _VF _deploy _size_docs _tensor_docs _torch_docs
    _appdirs _awaits _compile _environment _python_dispatcher _thread_safe_fork
    torch_version""".split()
# Public modules whose private functions and classes packages import to build their own; those that work are answers.
PRIVATE = """autograd autograd.function autograd.functional autograd.gradcheck autograd.grad_mode autograd.graph autograd.profiler
    autograd.variable distributed.distributed_c10d distributed.utils functional fx.graph fx.graph_module fx.node fx.proxy
    hub jit.annotations jit.frontend _jit_internal multiprocessing.reductions nn.functional nn.modules.conv nn.modules.lazy
    nn.modules.module nn.utils.parametrize nn.utils.rnn nn.utils.stateless optim.adam optim.sgd profiler.profiler random
    serialization storage utils.checkpoint utils.data.dataloader utils.data._utils.pin_memory utils.data._utils.signal_handling
    utils.data._utils.worker utils.flop_counter utils._pytree utils._python_dispatch utils.weak _tensor _utils _ops
    _weights_only_unpickler nn.utils._per_sample_grad sparse._triton_ops sparse._triton_ops_meta sparse.semi_structured
    testing._comparison testing._creation""".split()
# Private or useless modules below the parts: machinery of machinery.
SKIPPED = re.compile(r"\._|torch\.utils\.(hipify|tensorboard|model_dump|benchmark\.examples|benchmark\.op_fuzzers)|torch\.onnx\.ops|"
                     r"torch\.distributed\.(examples|benchmarks|launcher)|torch\.fx\.experimental\.(migrate|unify)|torch\.ao\.(ns|pruning\.scheduler|pruning\.sparsifier)|"
                     r"torch\.quantization\.fx|torch\.fx\.passes\.tests|torch\.distributed\.pipelining\._|\.__main__")


# What claygrad has itself, and gains by declarations and modules of its own, not by names.
REAL = re.compile(r"torch\.(ops|distributions|optim|functional|func$|overrides|serialization|nn\.functional|nn\.init|nn\.modules|nn\.utils|nn$|autograd|amp|linalg|fft|special|"
                  r"utils\.data$|utils\.data\.(dataloader|dataset|sampler|distributed|_utils|backward)|utils\.checkpoint|Tensor|testing|multiprocessing|storage|sparse)")


def find(name: str) -> Any:
    """What a name of PyTorch is there; LookupError if it is not."""
    value: Any = torch
    path = "torch"
    for part in name.split(".")[1:]:
        path += f".{part}"
        if path != name and path in sys.modules:             # a function of that name may hide the module
            value = sys.modules[path]
            continue
        try:
            value = getattr(value, part)
        except (AttributeError, RuntimeError, NotImplementedError, ImportError):
            try:
                value = importlib.import_module(path)
            except Exception:
                raise LookupError(name) from None
    return value


def find_module(path: str | None) -> types.ModuleType | None:
    """A module by its path, where no other name hides it."""
    try:
        value = find(path or "")
    except LookupError:
        return None
    return value if isinstance(value, types.ModuleType) and value.__name__ == path else None


def modules() -> list[str]:
    found = {f"torch.{name}" for name in MODULES}
    for part in PARTS:
        root = importlib.import_module(f"torch.{part}")
        found.add(root.__name__)
        for info in pkgutil.walk_packages(getattr(root, "__path__", []), f"torch.{part}.", onerror=lambda name: None):
            if not SKIPPED.search(info.name) and not REAL.match(info.name):
                found.add(info.name)
    return sorted(found)


def public(module: types.ModuleType) -> set[str]:
    """The names that a module offers: those of `__all__`, or those that are PyTorch's own."""
    if hasattr(module, "_config") and hasattr(module, "shallow_copy_dict"):          # settings, with their defaults
        return {name for name in module._config if name.isidentifier() and not name.startswith("_save_config")}
    if hasattr(module, "__all__"):
        return {name for name in module.__all__ if name.isidentifier() and not name.startswith("__")}
    package = hasattr(module, "__path__")
    names = set()
    for name, value in vars(module).items():
        home = getattr(value, "__module__", None)
        own = isinstance(home, str) and (home == module.__name__ or (package and home.startswith("torch")))
        if not name.startswith("_") and (own or name.isupper()):
            names.add(name)
    return names


BASES = ("torch.nn.modules.module.Module", "torch.optim.optimizer.Optimizer", "torch.utils.data.dataset.Dataset")


def base_of(cls: type) -> str:
    """The nearest base that matters to `except` and `isinstance`."""
    for base in cls.__mro__[1:]:
        name = f"{base.__module__}.{base.__qualname__}"
        if name in BASES:
            return f"({name})"
        if base.__module__ == "builtins" and issubclass(base, BaseException):
            return f"({base.__name__})"
    return ""


def members(cls: type) -> dict[str, Any]:
    found = getattr(cls, "__members__", None)
    if isinstance(found, dict | types.MappingProxyType):
        return {name: value.value if isinstance(value, enum.Enum) else int(value) for name, value in found.items()}
    if cls.__name__ == "ReduceOp":
        return members(cls.RedOpType)
    return {}


def entry(name: str, value: Any) -> tuple[str, str] | None:
    """The kind of a name and the text that follows the kind."""
    if isinstance(value, types.ModuleType):
        return ("module", name) if value.__name__.startswith("torch") else None
    if isinstance(value, type):
        if not value.__module__.startswith("torch") and value.__module__ != "builtins":
            return None
        known = members(value)
        if known:
            words = [f"{key}={one!r}" if isinstance(one, int | str) and " " not in repr(one) else key
                     for key, one in known.items()]
            return "enum", " ".join([name, *words])
        if getattr(value, "_is_protocol", False):
            return "protocol", name
        return f"class{base_of(value)}", name
    if isinstance(value, bool | int | str | float | types.NoneType):
        text = repr(value)
        return ("value", f"{name} {text}") if len(text) < 60 and text.isprintable() and "\\" not in text and "/" not in text and value == value else None
    if typing.get_origin(value) is not None or isinstance(value, typing.TypeVar | types.UnionType) or value is Any:
        return "any", name
    if callable(value) and (inspect.isroutine(value) or inspect.isfunction(value)):
        return "function", name
    return "object", name


def groups(module: types.ModuleType) -> list[str]:
    """Settings under a name with a point, `triton.cudagraphs`: a line for each first name, with a dictionary of the rest."""
    found: dict[str, dict[str, Any]] = {}
    for name, setting in getattr(module, "_config", {}).items():
        first, point, rest = name.partition(".")
        if point and rest.isidentifier():
            plain = isinstance(setting.default, bool | int | str | float) and "/" not in str(setting.default)
            found.setdefault(first, {})[rest] = setting.default if plain else None
    return [f"{first} {values!r}" for first, values in sorted(found.items())]


def table() -> str:
    asked = [line.split()[0] for line in ASKED.read_text().splitlines()]
    wanted: dict[str, set[str]] = {}
    for path in modules():
        try:
            module = importlib.import_module(path)
        except BaseException as wrong:
            print(f"left out {path}: {type(wrong).__name__}", file=sys.__stderr__)
            continue
        wanted[path] = public(module)
    for path in (f"torch.{name}" for name in PRIVATE):
        home = importlib.import_module(path)
        wanted.setdefault(path, set()).update(
            name for name, value in vars(home).items() if getattr(value, "__module__", None) == path
            and not name.startswith("__") and name not in reexports().get(path, {})
            and (inspect.isroutine(value) or isinstance(value, type)))
    wanted["torch._C"] = {name for name, value in vars(torch._C).items() if isinstance(value, type) and name[0].isupper()}
    for name in asked:
        parent, _, last = name.rpartition(".")
        try:
            value = find(name)
            holder = sys.modules.get(parent) or find(parent)
        except LookupError:
            continue
        while not isinstance(holder, types.ModuleType):      # a member of a class: list the class
            parent, _, last = parent.rpartition(".")
            holder = find(parent)
        if isinstance(value, types.ModuleType) and not REAL.match(name) and name.count(".") > 1:
            wanted.setdefault(name, set())
        if parent not in ("", "torch") and not REAL.match(parent):
            wanted.setdefault(parent, set()).add(last)
    for path in list(wanted):                                # every module is a name of the one above it
        while path.count(".") > 1:
            path, _, last = path.rpartition(".")
            if REAL.match(path) and path != "torch.nn":
                continue
            wanted.setdefault(path, set()).add(last)
    lines = []
    for path in sorted(wanted):
        module = sys.modules.get(path) or find(path)
        if not isinstance(module, types.ModuleType):
            continue
        kinds: dict[str, list[str]] = {}
        for name in sorted(wanted[path]):
            try:
                value = find(f"{path}.{name}")
            except LookupError:
                continue
            made = entry(name, value)
            home = getattr(value, "__module__", None)
            if isinstance(value, type) and home != path and find_module(home) and getattr(value, "__name__", "") == name and name in wanted.get(home, ()):
                made = "same", f"{home}.{name}"             # one class under two names
            if name.startswith("__"):
                continue
            if made is not None and (made[0] != "module" or f"{path}.{name}" in wanted):
                kinds.setdefault(made[0], []).append(made[1])
        lines.append(path)
        kinds["group"] = groups(module)
        for kind in sorted(kinds):
            if kind in ("enum", "value", "group"):
                lines += [f"  {kind} {text}" for text in kinds[kind]]
            else:
                lines.append(f"  {kind} {' '.join(kinds[kind])}")
    return "\n".join(lines) + "\n"


def aten() -> str:
    """The overloads of PyTorch's own operators: a line for all operators that have the same. One that claygrad declares
    and that has a single overload is left out."""
    from claygrad.library._operators import _declared
    alike: dict[str, list[str]] = {}
    for name in sorted({one.removeprefix("aten::").partition(".")[0] for one in torch._C._dispatch_get_all_op_names()
                        if one.startswith("aten::")}):
        packet = getattr(torch.ops.aten, name, None)
        if packet is not None and (_declared(name) is None or packet.overloads() != ["default"]):
            alike.setdefault(" ".join(packet.overloads()), []).append(name)
    return "".join(f"{overloads}: {' '.join(names)}\n" for overloads, names in sorted(alike.items()))


def inner() -> str:
    """The overloads of the operators in PyTorch's other namespaces, each line with the namespace first."""
    for module in ("torch.ao.quantization.fx._decomposed", "torch.distributed._functional_collectives",
                   "torch.distributed.tensor", "torch._inductor.lowering"):
        importlib.import_module(module)                 # they register some
    alike: dict[str, list[str]] = {}
    for one in sorted({one.partition(".")[0] for one in torch._C._dispatch_get_all_op_names()}):
        space, _, name = one.partition("::")
        if space == "aten" or "test" in space:
            continue
        packet = getattr(getattr(torch.ops, space), name, None)
        if packet is not None:
            alike.setdefault(" ".join([space, *packet.overloads()]), []).append(name)
    return "".join(f"{words}: {' '.join(names)}\n" for words, names in sorted(alike.items()))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        text = table()
    TABLE.write_text(text)
    (ROOT / "claygrad/library/aten.txt").write_text(aten())
    (ROOT / "claygrad/library/inner.txt").write_text(inner())
    print(f"{text.count(chr(10))} lines, {len(text)} characters")
