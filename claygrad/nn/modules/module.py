"""`Module`: parameters, buffers and other modules under names, and a forward."""
from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from claygrad._lazy import lazy
from claygrad._legacy import typename
from claygrad.core import Tensor
from claygrad.core.graph.module_call import prepare, use_native_call
from claygrad.nn.modules import _hooks
from claygrad.nn.modules._calling import CALL_HOOKS, Calling
from claygrad.nn.modules._conversion import Convertible
from claygrad.nn.modules._hooks import (
    _global_backward_hooks,  # noqa: F401 (programs reset these)
    _global_backward_pre_hooks,  # noqa: F401
    _global_buffer_registration_hooks,
    _global_forward_hooks,  # noqa: F401
    _global_forward_hooks_always_called,  # noqa: F401
    _global_forward_hooks_with_kwargs,  # noqa: F401
    _global_forward_pre_hooks,  # noqa: F401
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    _WrappedHook,  # noqa: F401 (pickles of lazy modules name it)
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from claygrad.nn.modules._state import Stateful
from claygrad.nn.parameter import Buffer, Parameter

if TYPE_CHECKING:
    from typing import Self

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

# What an instance starts with. The order is that of PyTorch's `__dict__`, and of pickles.
_TABLES: tuple[tuple[str, Callable[[], Any]], ...] = (
    ("training", lambda: True),
    ("_parameters", dict),
    ("_buffers", dict),
    ("_non_persistent_buffers_set", set),
    ("_backward_pre_hooks", OrderedDict),
    ("_backward_hooks", OrderedDict),
    ("_is_full_backward_hook", lambda: None),
    ("_forward_hooks", OrderedDict),
    ("_forward_hooks_with_kwargs", OrderedDict),
    ("_forward_hooks_always_called", OrderedDict),
    ("_forward_pre_hooks", OrderedDict),
    ("_forward_pre_hooks_with_kwargs", OrderedDict),
    ("_state_dict_hooks", OrderedDict),
    ("_state_dict_pre_hooks", OrderedDict),
    ("_load_state_dict_pre_hooks", OrderedDict),
    ("_load_state_dict_post_hooks", OrderedDict),
    ("_modules", dict),
)
_TABLES += tuple((name, OrderedDict) for name in CALL_HOOKS if name not in dict(_TABLES))


class Module(Calling, Stateful, Convertible):
    """The base of all layers and models: assign parameters, tensors and modules to attributes, and write `forward`.

    >>> class Double(claygrad.nn.Module):
    ...     def forward(self, x):
    ...         return x * 2
    >>> Double()(claygrad.ones(2))
    tensor([2., 2.])
    """

    dump_patches: bool = False
    training: bool
    call_super_init: bool = False   # whether __init__ goes on to the next class with its arguments
    _modules: dict[str, Module | None]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        use_native_call(cls)

    def _replicate_for_data_parallel(self) -> Self:
        """A module with the same buffers and submodules and without parameters, which are assigned anew."""
        replica = type(self).__new__(type(self))
        vars(replica).update(vars(self), _parameters={}, _buffers=dict(self._buffers), _modules=dict(self._modules),
                             _is_replica=True)
        return replica

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                                f"'{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} "
                                "were given")
        own = self.__dict__
        for name, make in _TABLES:
            own[name] = make()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # --- registering -------------------------------------------------------------------------------------------
    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a buffer: a tensor of the module's state that is not trained. Unless `persistent`, `state_dict` leaves it
        out."""
        _check_name(self, "buffer", "_buffers", name)
        if tensor is not None and not isinstance(tensor, Tensor) and not hasattr(tensor, "__torch_function__"):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None "
                            "required)")
        self._buffers[name] = registered(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; None reserves the name."""
        _check_name(self, "parameter", "_parameters", name)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter "
                                "or None required)")
            if param.grad_fn is not None:
                raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                                 f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                                 "the value in the forward() method.")
            param = registered(_global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module under a name; None reserves the name."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = registered(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of `add_module`."""
        self.add_module(name, module)

    # --- by path -----------------------------------------------------------------------------------------------
    def get_submodule(self, target: str) -> Module:
        """The submodule at a path such as `"encoder.layers.0"`; this module for the empty path."""
        module: Any = self
        for name in target.split(".") if target else ():
            module = _member(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Set the submodule at a path; with `strict`, there must be one already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if (strict or hasattr(parent, name)) and not isinstance(_member(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as `"encoder.layers.0.weight"`."""
        path, _, name = target.rpartition(".")
        found = _member(self.get_submodule(path), name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = _member(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    # --- attributes --------------------------------------------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            found = own.get(table)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        parameters = own.get("_parameters")
        tensor = isinstance(value, Tensor)      # cheap to ask, unlike the two that follow from it
        if tensor and isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            _forget(self, name, own, self._buffers, self._modules)
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None "
                                "expected)")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in own:
                raise AttributeError("cannot assign module before Module.__init__() call")
            _forget(self, name, own, self._parameters, self._buffers)
            self._modules[name] = registered(_global_module_registration_hooks, self, name, value)
        elif name in own.get("_modules", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None "
                                "expected)")
            self._modules[name] = registered(_global_module_registration_hooks, self, name, value)
        elif name in own.get("_buffers", ()) or (tensor and isinstance(value, Buffer)):
            _set_buffer(self, name, value)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name, make in _TABLES:          # pickles from before there was such a table
            if name not in ("training", "_parameters", "_buffers", "_modules", "_forward_hooks", "_backward_hooks"):
                self.__dict__.setdefault(name, make())

    # --- going through -----------------------------------------------------------------------------------------
    def _named_members(self, get_members_fn: Callable[[Module], Any], prefix: str = "", recurse: bool = True,
                       remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once, for example to pass them to an optimizer."""
        for _, value in self.named_parameters(recurse=recurse):
            yield value

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
                         ) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their full names; a parameter with several names comes once, unless
        remove_duplicate=False."""
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once."""
        for _, value in self.named_buffers(recurse=recurse):
            yield value

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
                      ) -> Iterator[tuple[str, Tensor]]:
        """All buffers with their full names."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """The child modules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The child modules with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all its submodules, parents before children."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
                      ) -> Iterator[tuple[str, Module]]:
        """This module and all its submodules with their full names; its own name is the prefix."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    # --- training ----------------------------------------------------------------------------------------------
    def train(self, mode: bool = True) -> Self:
        """Set this module and all submodules to training mode, or with False to evaluation mode. Dropout and batch norm
        depend on it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set this module and all submodules to evaluation mode: `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of all parameters: False freezes the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None or, with set_to_none=False, to zero."""
        for parameter in self.parameters():
            grad = parameter.grad
            if grad is None:
                continue
            if set_to_none:
                parameter.grad = None
                continue
            if grad.grad_fn is not None:
                grad.detach_()
            else:
                grad.requires_grad_(False)
            grad.zero_()

    def compile(self, *, fullgraph: bool = False, dynamic: bool | None = None, backend: Any = "inductor",
                mode: str | None = None, options: dict[str, Any] | None = None, disable: bool = False) -> None:
        """Does nothing: claygrad compiles nothing, and the module runs as it is."""

    # --- text --------------------------------------------------------------------------------------------------
    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The text that `repr` shows for this module, besides its children. To be overridden."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) == 1 and not self._modules:
            return f"{self._get_name()}({extra})"
        lines += [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        inside = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({inside})"


prepare(Module, CALL_HOOKS)


# Helpers are functions, not methods: a name taken in Module is a name that a user's class cannot have.
def _check_name(module: Module, kind: str, table: str, name: Any) -> None:
    if table not in module.__dict__:
        raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."')
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if name not in module.__dict__[table] and hasattr(module, name):
        raise KeyError(f"attribute '{name}' already exists")


def _member(module: Module, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)


def _forget(module: Module, name: str, *tables: dict[str, Any]) -> None:
    """Make room for a name that another table is to hold."""
    for table in tables:
        table.pop(name, None)
    module._non_persistent_buffers_set.discard(name)


def _set_buffer(module: Module, name: str, value: Any) -> None:
    if value is not None and not isinstance(value, Tensor) and not hasattr(value, "__torch_function__"):
        raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or "
                        "None expected)")
    if isinstance(value, Buffer):
        persistent: bool = value.persistent     # type: ignore[attr-defined]
    else:
        persistent = name not in module._non_persistent_buffers_set
    if type(module).register_buffer is not Module.register_buffer:
        import inspect

        if "persistent" not in inspect.signature(module.register_buffer).parameters:
            if not persistent:
                raise RuntimeError("Registering a non-persistent buffer on a Module subclass that implements "
                                   "register_buffer() without the persistent argument is not allowed.")
            module.register_buffer(name, value)
            return
    module.register_buffer(name, value, persistent)


def _addindent(text: str, spaces: int) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])


class _WithGlobalHooks(ModuleType):
    """This module. Programs reset the tables of global hooks by assigning to its `_global_...` names, as PyTorch lets
    them; the tables are also held elsewhere, natively too, so that assigning one gives the other new contents."""

    @property
    def _global_is_full_backward_hook(self) -> bool | None:
        return _hooks._global_is_full_backward_hook

    @_global_is_full_backward_hook.setter
    def _global_is_full_backward_hook(self, value: bool | None) -> None:
        _hooks._global_is_full_backward_hook = value

    def __setattr__(self, name: str, value: Any) -> None:
        table = vars(_hooks).get(name)
        if not name.startswith("_global_") or not isinstance(table, OrderedDict):
            super().__setattr__(name, value)
        elif table is not value:
            entries = list(value.items())
            table.clear()
            table.update(entries)


sys.modules[__name__].__class__ = _WithGlobalHooks

__getattr__ = lazy(__name__)
