"""Parameters as functions of other parameters: `module.weight` is computed whenever somebody asks for it."""
from __future__ import annotations

import copyreg
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any

from claygrad.autograd import no_grad
from claygrad.core import Tensor
from claygrad.nn.modules.container import ModuleDict, ModuleList
from claygrad.nn.modules.module import Module
from claygrad.nn.parameter import Parameter

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]

_cache_enabled = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Inside, every parametrized tensor is computed once: for layers that use their weight several times."""
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register(module: Module, name: str, tensor: Any) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _kind(value: object) -> str:
    return type(value).__name__


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied one after the other, and the parameters that they start from.

    Those are `original`, or `original0`, `original1`, ... if the first one takes several.
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            start: Any = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):     # without one it starts from the present value
                        start = module.right_inverse(start)
        if not isinstance(start, (Tensor, Sequence)):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                             f"{_kind(start)}")
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1 if isinstance(start, Tensor) else len(start)
        if isinstance(start, Tensor):
            self._start_from(original, start)
        else:
            self._start_from_several(original, start)
        if not unsafe:
            _check_result(self(), dtype, shape)

    def _start_from(self, original: Tensor, start: Tensor) -> None:
        for what in ("dtype", "device"):
            if getattr(original, what) != getattr(start, what):
                raise ValueError(f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                                 f"original.{what}: {getattr(original, what)}\n"
                                 f"right_inverse(original).{what}: {getattr(start, what)}")
        with no_grad():
            original.set_(start)            # the same object, so that optimizers which know it go on
        _register(self, "original", original)

    def _start_from_several(self, original: Tensor, start: Sequence[Any]) -> None:
        for i, tensor in enumerate(start):
            if not isinstance(tensor, Tensor):
                raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                                 f"element {i} of the sequence with type {_kind(tensor)}.")
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            tensor.requires_grad_(original.requires_grad)
            _register(self, f"original{i}", tensor)

    def right_inverse(self, value: Tensor) -> None:
        """Give the originals values for which the parametrized tensor has this one."""
        new: Any = value
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {_kind(module)} does not implement right_inverse.")
                new = module.right_inverse(new)
            if self.is_tensor:
                if not isinstance(new, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {_kind(new)}")
                if new.dtype != self.original.dtype:
                    raise ValueError(f"The tensor returned by `right_inverse` has dtype {new.dtype} while `original` "
                                     f"has dtype {self.original.dtype}")
                self.original.set_(new)
                return
            if not isinstance(new, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {_kind(new)}.")
            if len(new) != self.ntensors:
                raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a "
                                 f"sequence of length {len(new)}.")
            for i, tensor in enumerate(new):
                original = getattr(self, f"original{i}")
                if not isinstance(tensor, Tensor):
                    raise ValueError("'right_inverse' must return a sequence of tensors or reference-type opaques. Got "
                                     f"element {i} of type {_kind(tensor)}.")
                if original.dtype != tensor.dtype:
                    raise ValueError(f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} while "
                                     f"`original{i}` has dtype {original.dtype}")
                original.set_(tensor)

    def forward(self) -> Tensor:
        first, *others = self
        if self.is_tensor:
            value = first(self.original)
        else:
            value = first(*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in others:
            value = module(value)
        return value


def _check_result(value: Any, dtype: Any, shape: Any) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {_kind(value)}.")
    for what, former in (("dtype", dtype), ("shape", shape)):
        if getattr(value, what) != former:
            raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` "
                             f"flag is enabled.\nunparametrized {what}: {former}\n"
                             f"parametrized {what}: {getattr(value, what)}")


# --- the module's class ------------------------------------------------------------------------------------------
def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    """As for any module; but its class can only be called by what it was made from, and so is not pickled."""
    if id(self) in memo:
        return memo[id(self)]
    copy = memo[id(self)] = self.__new__(type(self))
    copy.__dict__ = deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(type(self)):     # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(copy, slot, deepcopy(getattr(self, slot), memo))
    return copy


def _getstate(self: Any) -> Any:
    raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See:\n"
                       "https://pytorch.org/tutorials/beginner/saving_loading_models.html#saving-loading-a-general-"
                       "checkpoint-for-inference-and-or-resuming-training")


def _inject_new_class(module: Module) -> None:
    """Give a module a class of its own, which can then have properties."""
    cls = type(module)
    members: dict[str, Any] = {"__getstate__": _getstate}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Module, name: str) -> None:
    if hasattr(module, name):
        raise AssertionError(f"Module already has an attribute named '{name}'")

    def compute(self: Any) -> Tensor:
        parametrization = self.parametrizations[name]
        if not _cache_enabled:
            return parametrization()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def assign(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(compute, assign))


# --- registering -------------------------------------------------------------------------------------------------
def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
                             ) -> Module:
    """Make a parameter or buffer of a module the result of a parametrization, after those that it has already.

    The parametrization is a module whose forward takes the tensor and returns one of the same dtype and shape, which is
    tried out unless `unsafe`. Its `right_inverse`, if it has one, is what assigning to the tensor does.
    """
    parametrization.train(module.training)
    owner: Any = module
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _try_out(parametrization, getattr(module, tensor_name), tensor_name)
        owner.parametrizations[tensor_name].append(parametrization)
        owner.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        out = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            owner.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        owner.parametrizations[tensor_name] = out
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")
    return module


def _try_out(parametrization: Any, present: Tensor, name: str) -> None:
    value = parametrization(present)
    if not isinstance(value, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {_kind(value)}.")
    for what in ("dtype", "shape"):
        if getattr(value, what) != getattr(present, what):
            raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless the "
                             f"`unsafe` flag is enabled.\nmodule.{name}.{what}: {getattr(present, what)}\n"
                             f"parametrization(module.{name}).{what}: {getattr(value, what)}")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(value)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {_kind(back)}")
    for what in ("dtype", "shape"):
        if getattr(back, what) != getattr(present, what):
            raise ValueError(f"The tensor returned by parametrization.right_inverse must have the same {what} as "
                             f"module.{name}, unless the `unsafe` flag is enabled.\n"
                             f"module.{name}.{what}: {getattr(present, what)}\nreturned {what}: {getattr(back, what)}")


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of a module is parametrized, or any of them."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a tensor an ordinary parameter or buffer again, with its present value, or that of its original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    owner: Any = module
    out = owner.parametrizations[tensor_name]
    if out.is_tensor:
        original = out.original
        if leave_parametrized:
            with no_grad():
                original.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in "
                         "terms of a sequence of tensors.")
    delattr(type(module), tensor_name)
    del owner.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del owner.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before any of its tensors was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Module, to_module: Module, tensor_name: str | None = None
                                         ) -> Module:
    """Give a module the parametrizations of another one, or those of one tensor, and the parameters they start from."""
    if not is_parametrized(from_module):
        return to_module
    given, target_list = (lambda: from_module.parametrizations), (lambda: to_module.parametrizations)
    for name in list(given()) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in given()[name]:
            register_parametrization(to_module, name, parametrization)
        source, target = given()[name], target_list()[name]
        for original in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
            setattr(target, original, getattr(source, original))
    return to_module
