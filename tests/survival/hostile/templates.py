"""Valid programs to start from, as text: samples of every operation, every layer and distribution, and what is written below."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import claygrad
from claygrad.ops._registry import REGISTRY
from tests.distributions.cases import CASES as DISTRIBUTIONS
from tests.nn.layer_cases import CASES as LAYERS
from tests.nn.layer_cases import specs
from tests.ops.factory import Call, Data, Factory

from .programs import PROGRAMS
from .tool_programs import PROGRAMS as TOOL_PROGRAMS

# Loaded when they are first asked for: the surface below is of what is loaded.
LATE = ("array_api", "autograd.forward_ad", "autograd.functional", "debug", "distributed", "func", "fx", "jit", "library",
        "multiprocessing.reductions", "overrides", "profiler", "sparse", "utils._python_dispatch", "utils._pytree", "utils.flop_counter",
        "quasirandom", "serialization.safetensors", "futures", "masked", "nn.utils.stateless", "nn.attention.flex_attention", "compiler")
for _name in LATE:
    importlib.import_module(f"claygrad.{_name}")

# Functions that are not called at random: they wait, leave the process, write files, or hold as many threads as they are told.
LEFT_OUT = {"save", "load", "from_file", "set_num_threads", "set_num_interop_threads", "compile", "seed", "breakpoint", "export",
            "save_file", "load_file", "get_worker_info", "random_split", "SummaryWriter", "DataLoader", "main", "hub", "cli", "compat",
            "spawn", "start_processes", "Process", "Pool", "Manager", "SpawnContext", "ProcessContext", "set_start_method", "get_context",
            "SimpleQueue", "Queue", "JoinableQueue", "Barrier", "Event", "Condition", "Lock", "RLock", "Semaphore", "BoundedSemaphore",
            "init_process_group", "run", "set_executable", "log_to_stderr", "load_state_dict_from_url", "download_url_to_file",
            "core", "native", "ops", "UninitializedParameter", "UninitializedBuffer"}


class Unspeakable(Exception):
    """There is no text for it."""


def source(value: Any) -> str:
    """The text of an argument."""
    if isinstance(value, Data):
        return _tensor(value)
    if isinstance(value, specs.Data):
        return _drawn(value)
    if isinstance(value, specs.Values):
        return f"torch.tensor({value.numbers!r}, dtype=torch.{'float32' if value.dtype == 'float64' else value.dtype})"
    if isinstance(value, specs.Named):
        return f"torch.{value.path}"
    if isinstance(value, specs.Layer):
        return f"nn.{value.name}({_listed(value.args, value.options)})"
    if isinstance(value, float) and not np.isfinite(value):
        return f"float('{value}')"
    if value is None or value is Ellipsis or isinstance(value, bool | int | float | complex | str):
        return repr(value)
    if isinstance(value, slice):
        return f"slice({source(value.start)}, {source(value.stop)}, {source(value.step)})"
    if type(value) is list:
        return "[" + ", ".join(map(source, value)) + "]"
    if type(value) is tuple:
        return "(" + "".join(source(v) + ", " for v in value) + ")"
    if isinstance(value, claygrad.dtype | claygrad.device | claygrad.memory_format):
        return f"torch.device('{value}')" if isinstance(value, claygrad.device) else str(value).replace("claygrad.", "torch.")
    raise Unspeakable(type(value).__name__)


def _listed(args: Any, kwargs: dict[str, Any]) -> str:
    return ", ".join([*map(source, args), *(f"{key}={source(value)}" for key, value in kwargs.items())])


def _tensor(value: Data) -> str:
    array, dtype = value._array, value._dtype or "float32"
    if array.dtype.kind in "iub" and array.size <= 40:
        text = f"torch.tensor({array.tolist()!r}, dtype=torch.{dtype})"
    else:
        text = f"t({', '.join([*map(str, array.shape), f'dtype={dtype!r}'])})"
    for step in value._steps:
        text += f".{step[1]}({_listed(step[2], step[3])})" if step[0] == "call" else f"[{source(step[1])}]"
    return text


def _drawn(value: specs.Data) -> str:
    shape = "".join(f"{n}, " for n in value.shape)
    if value.kind in ("index", "places"):
        return f"ints({shape}high={int(value.high)})"
    if value.kind == "mask":
        return f"(t({shape}) > 1)"
    return f"{'leaf' if value.grad else 't'}({shape})" + (".sigmoid()" if value.kind == "uniform" else "")


def _of_operations() -> Iterator[str]:
    for key, said in REGISTRY.items():
        if said.samples is None or said.options.get("property"):
            continue
        for call in said.samples(Factory(key, 0)):
            try:
                yield from _forms(said, call)
            except Unspeakable:
                continue


def _forms(said: Any, call: Call) -> Iterator[str]:
    words = _listed(call.args, call.kwargs)
    if said.public:
        place = {"torch": "torch", "nn.functional": "F"}.get(said.namespaces[0], f"torch.{said.namespaces[0]}")
        yield f"{place}.{said.name}({words})"
        if said.out and said.kind != "composite":
            yield f"{place}.{said.name}({words}{', ' if words else ''}out=t(3))"
    if call.args and isinstance(call.args[0], Data):
        first, rest = source(call.args[0]), _listed(call.args[1:], call.kwargs)
        if said.method and "torch" in said.namespaces:
            yield f"{first}.{said.name}({rest})"
        if said.inplace:
            yield f"{first}.{said.name}_({rest})"


def _of_layers() -> Iterator[str]:
    for case in LAYERS:
        try:
            made = f"nn.{case.layer}({_listed(case.args, case.options)})"
            yield f"{made}({_listed(case.inputs, case.call)})"
        except Unspeakable:
            continue


class _Written:
    """Stands for the library while a distribution is made, and remembers the text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __getattr__(self, name: str) -> _Written:
        return _Written(f"{self.text}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> _Written:
        words = [self._word(a) for a in args] + [f"{key}={self._word(value)}" for key, value in kwargs.items()]
        return _Written(f"{self.text}({', '.join(words)})")

    def _word(self, value: Any) -> str:
        if isinstance(value, _Written):
            return value.text
        return "[" + ", ".join(map(self._word, value)) + "]" if isinstance(value, list) else source(value)


def _of_distributions() -> Iterator[str]:
    asked = ("sample((2,))", "rsample()", "log_prob(d.sample())", "cdf(d.sample())", "icdf(t(3).sigmoid())", "entropy()",
             "expand((4, 3))", "mean", "variance", "mode", "enumerate_support()", "support", "stddev", "perplexity()")
    for number, case in enumerate(DISTRIBUTIONS.values()):
        params = {name: _Written(f"torch.tensor({value!r})") for name, value in case.params.items()}
        try:
            made = case.build(_Written("torch"), params).text          # type: ignore[arg-type]
        except (Unspeakable, TypeError, AttributeError):
            continue
        for k in range(4):
            yield f"d = {made}\nd.{asked[(number * 4 + k) % len(asked)]}"


@cache
def surface() -> list[str]:
    """Every public callable, by the name that reaches it."""
    found: dict[int, str] = {}

    def walk(place: Any, text: str, depth: int) -> None:
        for name, value in sorted(vars(place).items()):
            if name in LEFT_OUT or (name.startswith("_") and not (isinstance(place, type) and name.startswith("__"))):
                continue
            if isinstance(value, types.ModuleType):
                if value.__name__.startswith("claygrad") and depth < 3 and "tensorboard" not in value.__name__:
                    walk(value, f"{text}.{name}", depth + 1)
            elif callable(value) and id(value) not in found:
                found[id(value)] = f"{text}.{name}"
                if isinstance(value, type) and str(value.__module__).startswith("claygrad") and depth < 3:
                    walk(value, f"{text}.{name}", depth + 3)

    walk(claygrad, "torch", 0)
    skipped = ("__class__", "__init_subclass__", "__subclasshook__", "__getattribute__")
    return [text for text in found.values() if not text.endswith(skipped)]


@cache
def properties() -> list[str]:
    return [name for name in dir(claygrad.Tensor) if not callable(getattr(claygrad.Tensor, name, None))]


@cache
def templates() -> list[list[str]]:
    """The programs in groups that are drawn from alike."""
    return [list(_of_operations()), list(_of_layers()), list(_of_distributions()), PROGRAMS, TOOL_PROGRAMS]
