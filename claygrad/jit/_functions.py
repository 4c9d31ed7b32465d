"""`script`, `trace` and their decorators: Python stays Python."""
from __future__ import annotations

import builtins
import contextlib
import enum
import functools
import inspect
import typing
from typing import TYPE_CHECKING, Any, NoReturn

from claygrad.jit._files import no_file, no_graph
from claygrad.jit._modules import (
    RecursiveScriptModule,
    ScriptModule,
    TopLevelTracedModule,
    scripted,
)
from claygrad.nn.modules.module import Module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from claygrad.futures import Future


class ScriptFunction:
    """A function that was scripted or traced: it runs as it is written."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def name(self) -> str:
        """The function's name."""
        return self.__name__                    # type: ignore[attr-defined]

    @property
    def qualified_name(self) -> str:
        """The function's name with those of its modules."""
        return f"__torch__.{self.__module__}.{self.__qualname__}"        # type: ignore[attr-defined]

    def save(self, f: Any, **kwargs: Any) -> NoReturn:
        """Refused: a scripted function cannot be written to a file."""
        raise no_file("ScriptFunction.save")

    @property
    def graph(self) -> NoReturn:
        """Refused: there is no graph."""
        raise no_graph("ScriptFunction.graph")

    @property
    def inlined_graph(self) -> NoReturn:
        """Refused: there is no graph."""
        raise no_graph("ScriptFunction.inlined_graph")

    @property
    def code(self) -> NoReturn:
        """Refused: there is no code but the function's own."""
        raise no_graph("ScriptFunction.code")

    @property
    def schema(self) -> NoReturn:
        """Refused: the function's signature is Python's."""
        raise no_graph("ScriptFunction.schema")

    def graph_for(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: there is no graph."""
        raise no_graph("ScriptFunction.graph_for")

    def __reduce__(self) -> str:
        return self.__qualname__                # type: ignore[attr-defined]

    def __deepcopy__(self, memo: Any) -> ScriptFunction:
        return self


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """A function, module or class for TorchScript, which here stays Python and runs as it is written."""
    if isinstance(obj, ScriptFunction | ScriptModule):
        return obj
    if builtins.isinstance(obj, Module):
        if hasattr(obj, "__prepare_scriptable__"):
            obj = obj.__prepare_scriptable__()
        return scripted(obj, RecursiveScriptModule, {})
    if inspect.isclass(obj):
        if issubclass(obj, Module):
            raise RuntimeError(f"Type '{obj}' cannot be compiled since it inherits from nn.Module, consider passing an "
                               "instance instead")
        return obj
    if builtins.isinstance(obj, dict | list | enum.Enum):
        return obj
    if inspect.ismethod(obj) or inspect.isfunction(obj):
        return ScriptFunction(obj)
    if callable(obj):
        return ScriptFunction(obj) if hasattr(obj, "__name__") else obj
    return obj


def trace(func: Any, example_inputs: Any = None, optimize: Any = None, check_trace: bool = True,
          check_inputs: Any = None, check_tolerance: float = 1e-5, strict: bool = True, _force_outplace: bool = False,
          _module_class: Any = None, _compilation_unit: Any = None, example_kwarg_inputs: Any = None,
          _store_inputs: bool = True) -> Any:
    """The function or module, after a run with the example's inputs; its branches stay Python's."""
    if isinstance(func, ScriptFunction | ScriptModule):
        return func
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("example_kwarg_inputs should be a dict" if isinstance(func, Module) else
                           "example_inputs and example_kwarg_inputs are both None")
    from claygrad.autograd import no_grad
    with no_grad():
        if example_kwarg_inputs is not None:
            func(**example_kwarg_inputs)
        else:
            func(*(example_inputs if isinstance(example_inputs, tuple | list) else (example_inputs,)))
    if builtins.isinstance(func, Module):
        return scripted(func, TopLevelTracedModule, {})
    return ScriptFunction(func)


def trace_module(mod: Module, inputs: dict[str, Any], optimize: Any = None, check_trace: bool = True,
                 check_inputs: Any = None, check_tolerance: float = 1e-5, strict: bool = True,
                 _force_outplace: bool = False, _module_class: Any = None, _compilation_unit: Any = None,
                 example_inputs_is_kwarg: bool = False, _store_inputs: bool = True) -> Any:
    """The module, after a run of each named method with its inputs."""
    if not builtins.isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    from claygrad.autograd import no_grad
    with no_grad():
        for name, given in inputs.items():
            method = mod if name == "forward" else getattr(mod, name)
            if example_inputs_is_kwarg:
                method(**given)
            else:
                method(*(given if isinstance(given, tuple) else (given,)))
    return scripted(mod, TopLevelTracedModule, {})


def script_method(fn: Any) -> Any:
    """A method of a `ScriptModule`, as it is."""
    return fn


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function as it is: there is no tracing."""
    return fn


def export(fn: Any) -> Any:
    """A method that is scripted beside `forward`: as it is."""
    fn._torchscript_modifier = "export"
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A method that scripting leaves to Python, as everything is."""
    if callable(drop):
        drop._torchscript_modifier = "ignore"
        return drop

    def mark(fn: Any) -> Any:
        fn._torchscript_modifier = "unused" if drop else "ignore"
        return fn

    return mark


def unused(fn: Any) -> Any:
    """A method that scripting replaces by an error; here it runs."""
    if isinstance(fn, property):
        for part in (fn.fget, fn.fset):
            if part is not None:
                part._torchscript_modifier = "unused"
        return fn
    fn._torchscript_modifier = "unused"
    return fn


def _overload(func: Any) -> Any:
    """One of several signatures of a function; the last definition is the one that runs."""
    return func


def _overload_method(func: Any) -> Any:
    """One of several signatures of a method; the last definition is the one that runs."""
    return func


def interface(obj: type) -> type:
    """A class that says which methods a module has."""
    if not inspect.isclass(obj):
        raise RuntimeError("interface must be applied to a class")
    obj.__torch_script_interface__ = True       # type: ignore[attr-defined]
    return obj


def is_scripting() -> bool:
    """Never: what is scripted runs as Python."""
    return False


def is_tracing() -> bool:
    """Never: what is traced runs as Python."""
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    """A value whose type TorchScript should know."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value has a type, containers with the types of what they hold: `List[int]`, `Dict[str, Tensor]`, …"""
    if builtins.isinstance(target_type, tuple | list):
        return any(isinstance(obj, one) for one in target_type)
    origin, inner = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return target_type is Any or builtins.isinstance(obj, target_type or type(None))
    if origin is typing.Union or builtins.isinstance(target_type, type(int | str)):
        return any(isinstance(obj, one) for one in inner)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is tuple:
        if len(inner) == 2 and inner[1] is ...:
            return all(isinstance(one, inner[0]) for one in obj)
        return len(obj) == len(inner) and all(isinstance(one, kind) for one, kind in zip(obj, inner))
    if origin is dict:
        return all(isinstance(key, inner[0]) and isinstance(value, inner[1]) for key, value in obj.items())
    if origin is list:
        return all(isinstance(one, inner[0]) for one in obj)
    return True


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """A future with the function's result, which is computed at once."""
    from claygrad.futures import Future
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """The result of a future."""
    return future.wait()


def freeze(mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Any:
    """A scripted module in evaluation mode, as it is."""
    if not isinstance(mod, ScriptModule):
        raise RuntimeError("Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace "
                           "to script your 'nn.Module'.")
    if mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on "
                           "your module before freezing.")
    return mod


def run_frozen_optimizations(mod: Any, optimize_numerics: bool = True, preserved_methods: Any = None) -> None:
    """Nothing to optimize: the module runs as it is written."""


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """A scripted module in evaluation mode, as it is."""
    if not isinstance(mod, ScriptModule):
        raise RuntimeError("optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script or "
                           "torch.jit.trace to script your 'nn.Module'.")
    return mod.eval()


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The strategy that was in force: nothing is fused."""
    return []


def enable_onednn_fusion(enabled: bool) -> None:
    """There is nothing to fuse."""


def onednn_fusion_enabled() -> bool:
    """Never."""
    return False


def last_executed_optimized_graph() -> NoReturn:
    """Refused: there is no graph."""
    raise no_graph("torch.jit.last_executed_optimized_graph")


@contextlib.contextmanager
def fuser(name: str) -> Iterator[None]:
    """A context with another fuser: there is none."""
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3", "none"):
        raise Exception(f"unrecognized fuser option (name: {name})")
    yield


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A context in which scripted code is optimized or not: there is none."""
    yield


@contextlib.contextmanager
def strict_fusion() -> Iterator[None]:
    """A context in which everything must be fused: scripted code alone is meant."""
    yield
