"""Hooks of modules: those of all modules, and how a module's gradients reach the hooks that wait for them."""
from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from claygrad.autograd import Function
from claygrad.autograd.grad_mode import is_grad_enabled
from claygrad.core import Tensor
from claygrad.core.graph.handles import RemovableHandle
from claygrad.core.user_warnings import warn

Hook = Callable[..., Any]
ForwardHook = Callable[[Any, tuple[Any, ...], Any], Any] | Callable[[Any, tuple[Any, ...], dict[str, Any], Any], Any]
ForwardPreHook = Callable[[Any, tuple[Any, ...]], Any] | Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

_global_buffer_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_backward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_forward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_forward_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
_global_is_full_backward_hook: bool | None = None

_BOTH_KINDS = ("Cannot use both regular backward hooks and full backward hooks {}. Please use only one of them.")


# --- hooks of all modules ------------------------------------------------------------------------------------------
def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` whenever any module gets a buffer; what it returns is registered instead."""
    return RemovableHandle(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` whenever any module gets a child; what it returns is registered instead."""
    return RemovableHandle(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, parameter)` whenever any module gets one; what it returns is registered instead."""
    return RemovableHandle(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before every forward of every module; what it returns replaces the arguments."""
    return RemovableHandle(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
                                 ) -> RemovableHandle:
    """Call `hook(module, args, output)` after every forward of every module; what it returns replaces the output.

    `with_kwargs` adds the keyword arguments before the output; `always_call` calls it though forward failed.
    """
    handle = RemovableHandle(_global_forward_hooks, hook, extra_dict=[_global_forward_hooks_always_called,
                                                                      _global_forward_hooks_with_kwargs])
    if with_kwargs:
        _global_forward_hooks_with_kwargs[handle.id] = True
    if always_call:
        _global_forward_hooks_always_called[handle.id] = True
    return handle


def _choose_kind_of_global_hooks(full: bool) -> None:
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(_BOTH_KINDS.format("as a global Module hook"))
    _global_is_full_backward_hook = full


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` at the node of every module's output. Use the full form instead."""
    _choose_kind_of_global_hooks(full=False)
    return RemovableHandle(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` when the gradients of any module's output are known; it may replace them."""
    return RemovableHandle(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` when the gradients of any module's inputs are known."""
    _choose_kind_of_global_hooks(full=True)
    return RemovableHandle(_global_backward_hooks, hook)


def registered(hooks: dict[int, Hook], module: Any, name: str, value: Any) -> Any:
    """What is to be registered under a name, after the hooks for such registrations had their say."""
    for hook in hooks.values():
        out = hook(module, name, value)
        if out is not None:
            value = out
    return value


class _WrappedHook:
    """A hook that is given its module first, without keeping the module alive, and that can be pickled with it."""

    def __init__(self, hook: Hook, module: Any = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


# --- backward hooks ------------------------------------------------------------------------------------------------
class BackwardHookFunction(Function):
    """A gate in the graph through which all gradients of a module's inputs, or outputs, pass together."""

    @staticmethod
    def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*(arg for arg in args if not arg.requires_grad))
        return args

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        return grads


class BackwardHook:
    """The hooks of one call of a module, between a gate before its inputs and a gate behind its outputs.

    Backward meets the outer gate first: there the pre-hooks run, and grad_output is kept. When it reaches the inner
    gate, grad_input is known too, and the hooks run. Without an input that requires grad there is no inner gate: they
    run at the outer one.
    """

    def __init__(self, module: Any, user_hooks: list[Hook], user_pre_hooks: list[Hook]) -> None:
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs: Any = None
        self.inputs: list[int] | None = None       # which of the arguments are tensors, if any requires grad
        self.outputs: list[int] | None = None
        self.n_inputs = self.n_outputs = -1

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, seen through the inner gate."""
        self.n_inputs = len(args)
        args, self.inputs = self._through_gate(args, self._at_inputs)
        return args

    def setup_output_hook(self, args: Any) -> Any:
        """The result, seen through the outer gate."""
        parts = args if isinstance(args, tuple) else (args,)
        self.n_outputs = len(parts)
        parts, self.outputs = self._through_gate(parts, self._at_outputs)
        return parts if isinstance(args, tuple) else parts[0]

    def _through_gate(self, args: tuple[Any, ...], hook: Hook) -> tuple[tuple[Any, ...], list[int] | None]:
        where = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        if not (is_grad_enabled() and any(args[i].requires_grad for i in where)):
            return args, None
        behind = list(args)
        passed = BackwardHookFunction.apply(*(args[i] for i in where))
        for i, tensor in zip(where, passed):
            behind[i] = tensor
        next(t.grad_fn for t in passed if t.grad_fn is not None).register_hook(hook)
        return (tuple(behind) if type(args) is tuple else type(args)(*behind)), where

    def _at_inputs(self, grad_input: tuple[Any, ...], _: Any) -> Any:
        if self.grad_outputs is None:
            return None         # this gradient did not come through the outputs: of a second backward, say
        grads = _placed(self.inputs, grad_input, self.n_inputs)
        for hook in self.user_hooks:
            out = hook(self.module, grads, self.grad_outputs)
            if out is not None:
                if len(out) != len(grads):
                    raise RuntimeError("Backward hook returned an invalid number of grad_input, "
                                       f"got {len(out)}, but expected {len(grads)}")
                grads = out
        self.grad_outputs = None
        return tuple(grads[i] for i in self.inputs or ())

    _at_inputs.__name__ = "hook"        # as messages about what it returns call it

    def _at_outputs(self, _: Any, grad_output: tuple[Any, ...]) -> Any:
        self.grad_outputs = _placed(self.outputs, grad_output, self.n_outputs)
        for hook in self.user_pre_hooks:
            out = hook(self.module, self.grad_outputs)
            if out is not None:
                if len(out) != self.n_outputs:
                    raise RuntimeError("Backward pre hook returned an invalid number of grad_output, "
                                       f"got {len(out)}, but expected {self.n_outputs}")
                self.grad_outputs = out
        grads = self.grad_outputs
        if self.inputs is None:
            self._without_inputs()
        return tuple(grads[i] for i in self.outputs or ())

    _at_outputs.__name__ = "hook"

    def _without_inputs(self) -> None:
        warn("Full backward hook is firing when gradients are computed with respect to module outputs since "
             "no inputs require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module."
             "html#torch.nn.Module.register_full_backward_hook for more details.")
        for hook in self.user_hooks:
            out = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if out is not None and not (isinstance(out, tuple) and all(one is None for one in out)):
                raise RuntimeError("Backward hook for Modules where no input requires gradient should always return "
                                   "None or None for all gradients.")
        self.grad_outputs = None


def _placed(where: list[int] | None, values: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    placed: list[Any] = [None] * size
    for i, value in zip(where or (), values):
        placed[i] = value
    return tuple(placed)
